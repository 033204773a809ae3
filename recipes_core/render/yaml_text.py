"""YAML for people: keys in our order, texts of several lines as blocks, one style everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Sequences indented below their key, no aliases, long lines left alone."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and not text.endswith(" ") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(document: Any) -> str:
    """One YAML document."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000
    )
    return text


def comment(lines: Iterable[str]) -> str:
    """Lines as a YAML or shell comment; nothing in them can leave it."""
    return "".join(f"# {' '.join(line.split())}".rstrip() + "\n" for line in lines)
