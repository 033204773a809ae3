"""What a rendered command says, read from its words alone."""

from __future__ import annotations

from typing import NamedTuple

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, Process, deploy
from recipes_core.flags import parse_args

NAMES = {
    "--tensor-parallel-size": "tp",
    "--pipeline-parallel-size": "pp",
    "--data-parallel-size": "dp",
    "--data-parallel-size-local": "local",
}


class Sizes(NamedTuple):
    tp: int = 1
    pp: int = 1
    dp: int = 1
    local: int | None = None

    @property
    def world(self) -> int:
        return self.tp * self.pp * self.dp


def sizes(process: Process) -> Sizes:
    """The parallel sizes on a command line."""
    found: dict[str, int] = {}
    for flag in parse_args(process.argv[3:]):
        if flag.name in NAMES:
            assert NAMES[flag.name] not in found, process.argv
            found[NAMES[flag.name]] = int(flag.values[0])
    return Sizes(**found)


def made(catalog: Catalog, recipe: str | RecipeEntry, query: str = "") -> Deployment:
    return deploy(configure(catalog, recipe, query))


def first(catalog: Catalog, recipe: str | RecipeEntry, query: str = "") -> Sizes:
    """The sizes of the first engine's command."""
    return sizes(next(p for p in made(catalog, recipe, query).processes if p.is_engine))


def values(process: Process, name: str) -> list[str]:
    """The values of a flag on a command line."""
    return [v for f in parse_args(process.argv) if f.name == name for v in f.values]


def has(process: Process, name: str) -> bool:
    return any(f.name == name and not f.negated for f in parse_args(process.argv))
