"""What a reader enters once: addresses, folders, names of secret variables, hardware; as a file.

What belongs to a checkpoint (its folder) or to a model (its served name) is kept under it: the
folder of one model must never stand in the command of another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from recipes_core.deployment import ReaderValues
from recipes_core.errors import RecipesError
from recipes_core.selection import Selection

SHARED = ("hf_token_var", "api_key_var", "cache_folder")
"""Fields of the values that hold for every model."""
VALUE_FIELDS = ("model_path", *SHARED)
SERVER_FIELDS = ("host", "port")
MAPPINGS = ("placeholders", "local_models", "served_names")
FILE_KEYS = (*MAPPINGS, *SHARED, *SERVER_FIELDS, "hardware", "nodes")


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays while models and configurations change."""

    shared: ReaderValues = field(default_factory=ReaderValues)
    """Values of every model; its ``model_path`` is empty."""
    local_models: Mapping[str, str] = field(default_factory=dict)
    """Folder or mirror by the checkpoint's id."""
    served_names: Mapping[str, str] = field(default_factory=dict)
    """Name that requests use, by recipe."""
    host: str | None = None
    port: int | None = None
    hardware: str | None = None
    """The reader's own GPUs in the short form, ``8xA100-80GB``."""
    nodes: int | None = None
    """How many nodes of them there are; None for one."""

    def values_of(self, checkpoint: str) -> ReaderValues:
        """The values for the commands of a checkpoint."""
        return replace(self.shared, model_path=self.local_models.get(checkpoint))

    def with_values(self, checkpoint: str, values: ReaderValues) -> Kept:
        """The same with other values; a folder of the model is that of the checkpoint."""
        folders = {key: path for key, path in self.local_models.items() if key != checkpoint}
        if values.model_path:
            folders[checkpoint] = values.model_path
        return replace(self, shared=replace(values, model_path=None), local_models=folders)

    def with_hardware(self, hardware: str, nodes: int = 1) -> Kept:
        """The same with GPUs of the reader's own; that there are several nodes of them stays."""
        most = max(nodes, (self.nodes or 1) if hardware == self.hardware else 1)
        return replace(self, hardware=hardware, nodes=most if most > 1 else None)

    def of(self, recipe_id: str, selection: Selection) -> Kept:
        """The same with what a selection says of the server."""
        names = {key: name for key, name in self.served_names.items() if key != recipe_id}
        if selection.served_name:
            names[recipe_id] = selection.served_name
        return replace(self, host=selection.host, port=selection.port, served_names=names)

    def fill(self, recipe_id: str, selection: Selection) -> Selection:
        """A selection with what is kept of the server wherever it says nothing itself."""
        kept = {"host": self.host, "port": self.port,
                "served_name": self.served_names.get(recipe_id)}  # fmt: skip
        asked = selection.asked()
        return selection.with_(**{key: value for key, value in kept.items() if key not in asked})


def kept_text(kept: Kept) -> str:
    """What is kept as a file; no secret is in it, only names of variables."""
    data = asdict(kept)
    data.update(data.pop("shared"))
    found = {key: data[key] for key in FILE_KEYS if data[key]}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def kept_from_text(text: str) -> Kept:
    """What a file of ``kept_text`` keeps.

    Raises:
        RecipesError: It is not JSON, or holds something that is no such value.
    """
    if len(text) > 65_536:
        raise RecipesError("a file of values has at most 65,536 characters")
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RecipesError(f"not a file of values: {error}") from None
    if not isinstance(data, dict):
        raise RecipesError("not a file of values: it should be an object")
    unknown = sorted(set(data) - set(FILE_KEYS))
    if unknown:
        raise RecipesError(f"unknown value {unknown[0]!r}; allowed: {', '.join(FILE_KEYS)}")
    parts = {name: _lines(name, data.get(name) or {}) for name in MAPPINGS}
    shared = make_values(parts["placeholders"], {name: data.get(name) for name in SHARED})
    for path in parts["local_models"].values():
        make_values({}, {"model_path": path})
    for name in parts["served_names"].values():
        read_choice("served_name", name)
    return Kept(
        shared,
        local_models=parts["local_models"],
        served_names=parts["served_names"],
        hardware=_lines("values", {"hardware": data.get("hardware")}).get("hardware"),
        nodes=read_choice("nodes", data.get("nodes")),
        **{name: read_choice(name, data.get(name)) for name in SERVER_FIELDS},
    )


def read_choice(name: str, value: object) -> Any:
    """A typed value (``host``, ``port``, ``served_name``, ``nodes``) as a selection has it.

    Raises:
        RecipesError: It is none.
    """
    text = "" if value is None else str(value).strip()
    read = Selection.from_query([(name, text)] if text else [])
    if read.unread:
        raise RecipesError(f"{name.replace('_', ' ')}: {read.unread[0].reason}")
    return getattr(read, name)


def make_values(placeholders: Mapping[str, object], fields: Mapping[str, object]) -> ReaderValues:
    """The reader's values from what was typed; empty fields are left out.

    Raises:
        RecipesError: A variable's name is none, or a value holds a line break.
    """
    given = _lines("placeholders", placeholders)
    rest = _lines("values", {name: fields.get(name) for name in VALUE_FIELDS})
    try:
        return ReaderValues(placeholders=given, **rest)
    except ValueError as error:
        raise RecipesError(str(error)) from None


def _lines(what: str, values: object) -> dict[str, str]:
    """Named lines of text without their blanks; those that are empty are left out."""
    if not isinstance(values, Mapping):
        raise RecipesError(f"{what} should be an object of names and values")
    found = {}
    for name, value in values.items():
        text = "" if value is None else str(value).strip()
        if len(text) > 1024 or any(ord(char) < 32 or ord(char) == 127 for char in text):
            raise RecipesError(f"{name}: one line of at most 1024 characters, please")
        if text:
            found[str(name)] = text
    return found
