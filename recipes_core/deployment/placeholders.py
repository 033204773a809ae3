"""Values that the reader has to give: found in what was rendered, with a hint each."""

from __future__ import annotations

import re

from recipes_core.deployment.model import Deployment, Placeholder
from recipes_core.deployment.names import hint_of, names_in_text, placeholders_in


def find_placeholders(deployment: Deployment) -> list[Placeholder]:
    """Every ``$NAME`` that the processes and files use, in order of use."""
    names: dict[str, None] = {}
    for process in deployment.processes:
        words = [word for word in process.argv[: process.first] if word not in process.typed]
        for flag, source in process.flags:
            if source.layer != "reader":
                words += flag.tokens
        names |= placeholders_in(words)
        if process.text is not None:
            names |= names_in_text([process.text])
        names |= placeholders_in(process.env.values())
    for file in deployment.files:
        names |= names_in_text([file.path, *map(str, file.content.values())])
    given = deployment.values.placeholders
    return [Placeholder(name, hint_of(name), given.get(name)) for name in names]


def fill(deployment: Deployment) -> None:
    """Put the values that the reader gave in the place of their placeholders."""
    given = deployment.values.placeholders
    if not given:
        return
    pattern = re.compile(r"\$(" + "|".join(map(re.escape, given)) + r")(?![A-Za-z0-9_])")

    def put(text: str) -> str:
        return pattern.sub(lambda match: given[match.group(1)], text) if "$" in text else text

    for process in deployment.processes:
        process.argv = [put(word) for word in process.argv]
        process.env = {name: put(value) for name, value in process.env.items()}
        process.flags = [
            (
                flag._replace(
                    tokens=tuple(map(put, flag.tokens)), values=tuple(map(put, flag.values))
                )
                if source.layer != "reader"
                else flag,
                source,
            )
            for flag, source in process.flags
        ]
        if process.text is not None:
            process.text = put(process.text)
        if process.container is not None:
            process.container.volumes = [put(volume) for volume in process.container.volumes]
    deployment.files = [
        file._replace(
            path=put(file.path),
            content={
                key: put(value) if isinstance(value, str) else value
                for key, value in file.content.items()
            },
        )
        for file in deployment.files
    ]
