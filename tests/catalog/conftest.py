"""Small catalogs on disk, and the peer's whole one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.emit import dump_yaml
from recipes_core.catalog.loader import load_catalog

TAXONOMY: dict[str, Any] = {
    "hardware_profiles": {
        "h100": {
            "brand": "NVIDIA",
            "generation": "hopper",
            "display_name": "H100",
            "gpu_count": 8,
            "vram_gb": 640,
            "compute_arch": "sm_90",
        },
        "b200": {
            "brand": "NVIDIA",
            "generation": "blackwell",
            "display_name": "B200",
            "gpu_count": 8,
            "vram_gb": 1440,
        },
        "mi300x": {
            "brand": "AMD",
            "generation": "amd",
            "display_name": "MI300X",
            "gpu_count": 8,
            "vram_gb": 1536,
        },
    },
    "tasks": [{"id": "text", "display_name": "Text"}],
    "strategies": ["single_node_tp", "single_node_dep"],
    "kv_offload": {"simple": {"display_name": "Simple", "args": []}},
}


def recipe(model_id: str = "org/repo", **changes: Any) -> dict[str, Any]:
    """A valid recipe; ``a__b=value`` sets a nested key, None removes one."""
    data: dict[str, Any] = {
        "meta": {"title": "Repo", "provider": "Org", "tasks": ["text"]},
        "model": {
            "model_id": model_id,
            "min_vllm_version": "0.11.0",
            "architecture": "dense",
            "parameter_count": "8B",
        },
        "variants": {"default": {"precision": "bf16", "vram_minimum_gb": 20}},
        "compatible_strategies": ["single_node_tp"],
    }
    for name, value in changes.items():
        holder = data
        *parents, last = name.split("__")
        for parent in parents:
            holder = holder.setdefault(parent, {})
        if value is None:
            holder.pop(last, None)
        else:
            holder[last] = value
    return data


class Folder:
    """A catalog folder that a test fills."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str | bytes | Mapping[str, Any]) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        elif isinstance(content, str):
            target.write_text(content, encoding="utf-8")
        else:
            target.write_text(dump_yaml(content), encoding="utf-8")
        return target

    def vocabulary(self, **changes: Any) -> None:
        self.write("taxonomy.yaml", {**TAXONOMY, **changes})
        for index, name in enumerate(("single_node_tp", "single_node_dep")):
            self.write(
                f"strategies/{name}.yaml",
                f"name: {name}\ndeploy_type: single_node\ndisplay_name: Layout {index}\n",
            )

    def add(self, recipe_id: str = "org/repo", **changes: Any) -> Path:
        return self.write(f"models/{recipe_id}.yaml", recipe(recipe_id, **changes))

    def load(self, **options: Any) -> Catalog:
        return load_catalog(self.root, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with a vocabulary and no recipe."""
    made = Folder(tmp_path / "catalog")
    made.vocabulary()
    return made


@pytest.fixture
def new_folder(tmp_path: Path) -> Callable[[str], Folder]:
    """Makes further folders by name, without a vocabulary."""

    def make(name: str) -> Folder:
        root = tmp_path / name
        root.mkdir()
        return Folder(root)

    return make
