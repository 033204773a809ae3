"""Collect distinct rendered commands: of our catalog, of a list, or of the peer's renderings."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Rendered(NamedTuple):
    """One command of one process."""

    label: str
    """The recipe and what was chosen."""
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    floor: str | None
    """The least version that the recipe declares for it."""
    plugins: tuple[str, ...] = ()
    """Packages beside vLLM that the recipe names, or that its hardware needs."""


def distinct(commands: Iterable[Rendered]) -> list[Rendered]:
    """Each command once: the first of those with equal words, variables and floor."""
    found: dict[tuple[object, ...], Rendered] = {}
    for command in commands:
        found.setdefault((command.argv, command.env, command.floor, command.plugins), command)
    return list(found.values())


def filled(argv: Iterable[str]) -> list[str]:
    """The words as a real parser can read them on this machine.

    Every ``$NAME`` becomes 1, for it may be a number, and a template file that is not here becomes
    a template.
    """
    words = [re.sub(r"\$\{?[A-Za-z_]\w*\}?", "1", word) for word in argv]
    return ["{{ messages }}" if word.endswith(".jinja") else word for word in words]


def from_list(path: Path) -> Iterator[Rendered]:
    """A JSON list of words per line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            yield Rendered(f"{path.name}:{number}", tuple(json.loads(line)), (), None)


def from_conformance(path: Path) -> Iterator[Rendered]:
    """Every ``vllm serve`` in the peer's renderings, with the variables beside it."""

    def walk(value: object, env: dict[str, object]) -> Iterator[tuple[tuple[str, ...], dict]]:
        if isinstance(value, dict):
            inner = value.get("env") or env
            for one in value.values():
                yield from walk(one, inner)
        elif isinstance(value, list):
            if value[:2] == ["vllm", "serve"]:
                yield tuple(value), env
            else:
                for one in value:
                    yield from walk(one, env)
        elif isinstance(value, str) and value.startswith(("vllm serve", "vllm-router")):
            yield tuple(shlex.split(value.replace("\\\n", " "))), env

    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            for argv, env in walk(row["out"], row["out"].get("env") or {}):
                router = argv[0] == "vllm-router"
                pairs = () if router else tuple((name, str(text)) for name, text in env.items())
                yield Rendered(row["recipe"], argv, pairs, None)


def from_catalog(*folders: str, recipes: Iterable[str] = ()) -> Iterator[Rendered]:
    """Every process of every configuration that a catalog offers, one choice varied at a time.

    For each variant, hardware and strategy at its least nodes: the default choices, no feature, all
    features, each feature and mode, each KV option, each router and each preset.
    """
    from recipes_core.catalog.loader import load_catalog
    from recipes_core.configuration import configure
    from recipes_core.deployment import deploy
    from recipes_core.layers import plugins_of

    catalog = load_catalog(*folders)
    wanted = set(recipes)
    for recipe_id, entry in catalog.recipes.items():
        if wanted and recipe_id not in wanted:
            continue
        for selection in selections(catalog, entry):
            try:
                config = configure(catalog, entry, selection)
            except ValueError:
                continue
            deployment = deploy(config)
            for process in deployment.processes:
                if process.is_engine or process.role == "router":
                    yield Rendered(
                        f"{recipe_id}?{selection.to_query()}",
                        tuple(process.argv),
                        tuple(process.env.items()) if process.is_engine else (),
                        deployment.min_vllm_version,
                        plugins_of(config),
                    )


def selections(catalog, entry) -> Iterator:
    """The selections of from_catalog for one recipe."""
    from recipes_core.axes import rules_of
    from recipes_core.selection import Selection

    rules, recipe = rules_of(catalog, entry), entry.recipe
    for variant in recipe.variants:
        for hardware in rules.hardware_options(variant):
            if not hardware.enabled:
                continue
            base = Selection(variant=variant, hardware=hardware.id)
            profile = catalog.hardware[hardware.id]
            yield base
            for preset in recipe.presets:
                yield base.with_(preset=preset)
            for task in recipe.omni.tasks if recipe.omni else ():
                from recipes_core.axes import task_key

                yield base.with_(task=task_key(task))
            for name in rules.strategies:
                gate = rules.gate(name, hardware.id, profile)
                if gate.supported and gate.reachable:
                    chosen = base.with_(strategy=name, nodes=gate.min_nodes)
                    yield from _beside(chosen, recipe, catalog)


def _beside(chosen, recipe, catalog) -> Iterator:
    features = tuple(recipe.features)
    yield chosen
    yield chosen.with_(features=())
    yield chosen.with_(features=features)
    for name, feature in recipe.features.items():
        yield chosen.with_(features=(name,))
        for mode in getattr(feature, "modes", None) or ():
            yield chosen.with_(features=(name,), fmode=((name, mode),))
    for option in (*catalog.taxonomy.kv_offload, *catalog.kv_stores):
        yield chosen.with_(kv_offload=option)
    if "pd" in chosen.strategy:
        for router in ("vllm", "smg", "dynamo"):
            yield chosen.with_(router=router)


def add_sources(parser) -> None:
    """The options by which the scripts say where commands come from."""
    parser.add_argument("--file", type=Path, help="a JSON list of words per line")
    parser.add_argument("--conformance", type=Path, help="renderings.jsonl.gz of the peer")
    parser.add_argument("--catalog", action="append", help="a catalog folder (default: ours)")


def read_sources(args) -> list[Rendered]:
    """The commands that the options of add_sources name; ours where they name none."""
    if args.file:
        return distinct(from_list(args.file))
    if args.conformance:
        return distinct(from_conformance(args.conformance))
    return distinct(from_catalog(*(args.catalog or ())))
