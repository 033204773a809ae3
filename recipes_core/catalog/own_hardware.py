"""A reader's own hardware: from a short form such as ``8xA100-80GB``, or from a file.

The result is a profile like any other, in a catalog of its own that shares all documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.documents import Bool, Document, HardwareProfile
from recipes_core.catalog.loader import builtin_dir
from recipes_core.catalog.messages import dotted, faults
from recipes_core.catalog.yaml_reader import parse_yaml, read_text
from recipes_core.errors import CatalogError, RecipesError, nearest

MAX_GPUS = 128
"""GPUs of one node that are believed."""
MAX_GB = 2048
"""GB of one GPU that are believed."""
_KEPT = 64
_FORM = re.compile(
    r"(?:(?P<count>\d{1,4})\s*[x×*]\s*)?(?P<card>.*?)(?:[\s_-]*(?P<gb>\d{1,4}(?:\.\d)?)\s*G[i]?B?)?",
    re.IGNORECASE,
)
_SIZE_IN_ID = re.compile(r"_\d+x\Z")


class Card(Document):
    """A GPU as it is sold."""

    brand: str
    generation: str
    compute_arch: str
    gb: tuple[int, ...] = Field(min_length=1)
    """GB of one device, each size that is sold."""
    names: tuple[str, ...] = ()
    """Further names."""
    gpu_bytes: dict[int, int] = Field(default_factory=dict)
    """By GB: bytes that the driver reports."""
    gpus: int = 1
    """Devices of one card."""


class _Cards(Document):
    cards: dict[str, Card]


class _File(Document):
    """What a hardware file may say."""

    id: str | None = None
    name: str | None = None
    brand: str
    generation: str | None = None
    compute_arch: str | None = None
    gpu_count: int = Field(ge=1, le=MAX_GPUS)
    vram_gb: float = Field(gt=0, le=MAX_GB)
    """GB of one GPU."""
    gpu_bytes: int | None = Field(default=None, gt=0)
    """Bytes of one GPU, as the driver reports them."""
    scalable: Bool = False
    """More such nodes can be added."""


class OwnHardware(NamedTuple):
    """A reader's hardware."""

    id: str
    profile: HardwareProfile


class _Known(NamedTuple):
    """A card with the name it is shown by."""

    name: str
    card: Card


@lru_cache(maxsize=1)
def cards() -> dict[str, Card]:
    """The well-known cards, by name."""
    path = builtin_dir() / "cards.yaml"
    data = parse_yaml(read_text(path, path.name), path.name)
    return _Cards.model_validate(data).cards


def _fold(text: str) -> str:
    plain = re.sub(r"[\s_\-]", "", text.casefold())
    return plain.removeprefix("nvidia").removeprefix("geforce").removeprefix("tesla")


@lru_cache(maxsize=1)
def _by_name() -> dict[str, _Known]:
    found = {}
    for name, card in cards().items():
        for other in (name, *card.names):
            found[_fold(other)] = _Known(name, card)
    return found


def _of_catalog(catalog: Catalog, name: str) -> HardwareProfile | None:
    """A profile whose GPU has this name: ``H200`` of ``h200``, ``RTX5090`` of ``rtx_5090_2x``."""
    for key, profile in catalog.hardware.items():
        if _fold(_stem(key)) == name:
            return profile
    return None


def _stem(hardware_id: str) -> str:
    """An id without the count of a workstation: ``rtx_5090`` of ``rtx_5090_2x``."""
    return _SIZE_IN_ID.sub("", hardware_id)


def looks_own(text: str) -> bool:
    """Whether a hardware text has the short form: a card with a count or its GB, or a card."""
    match = _FORM.fullmatch(text.strip())
    if match is None or not match["card"]:
        return False
    return bool(match["count"] or match["gb"]) or _fold(text) in _by_name()


def parse_hardware(catalog: Catalog, text: str) -> OwnHardware:
    """Read a short form: ``8xA100-80GB``, ``4xL40S``, ``2 x RTX 4090``.

    A form that is exactly one of the catalog's profiles is that profile.

    Args:
        catalog: Its profiles' GPUs are known cards too.
        text: What the reader typed.

    Raises:
        RecipesError: The card is not known, its memory has to be said, or a number is absurd; the
            text names what is known.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or not match["card"].strip(" -_"):
        raise RecipesError(f"{text!r} is not of the form 8xA100-80GB (count, card, GB of one GPU)")
    count = int(match["count"] or 1)
    if not 1 <= count <= MAX_GPUS:
        raise RecipesError(f"{text!r}: a node has from 1 to {MAX_GPUS} GPUs")
    gb = float(match["gb"]) if match["gb"] else None
    if gb is not None and not 0 < gb <= MAX_GB:
        raise RecipesError(f"{text!r}: a GPU has up to {MAX_GB} GB")
    name = _fold(match["card"])
    known = _by_name().get(name)
    if known is not None:
        return _from_card(text, known, count, gb)
    base = _of_catalog(catalog, name)
    if base is None:
        raise RecipesError(_unknown_card(catalog, match["card"].strip(" -_")))
    return _from_profile(catalog, base, count, gb)


def _from_card(text: str, known: _Known, count: int, gb: float | None) -> OwnHardware:
    name, card = known
    if gb is None and len(card.gb) > 1:
        ways = " or ".join(f"{count}x{name}-{size}GB" for size in card.gb)
        raise RecipesError(f"{text!r}: {name} comes in several sizes; say {ways}")
    size = gb if gb is not None else float(card.gb[0])
    said = f"-{size:g}GB" if len(card.gb) > 1 or size not in card.gb else ""
    profile = HardwareProfile(
        brand=card.brand,
        generation=card.generation,
        display_name=f"{name} {size:g}GB" if said else name,
        gpu_count=count * card.gpus,
        vram_gb=size * count * card.gpus,
        scalable=False,
        compute_arch=card.compute_arch,
        gpu_bytes=card.gpu_bytes.get(int(size)) if size == int(size) else None,
    )
    return OwnHardware(f"{count}x{name}{said}", profile)


def _from_profile(
    catalog: Catalog, base: HardwareProfile, count: int, gb: float | None
) -> OwnHardware:
    size = gb if gb is not None else base.gpu_vram_gb
    stem = next(_stem(key) for key, profile in catalog.hardware.items() if profile is base)
    for key, twin in catalog.hardware.items():
        if _stem(key) == stem and (twin.gpu_count, twin.gpu_vram_gb) == (count, size):
            return OwnHardware(key, twin)
    name = stem.upper().replace("_", "")
    same = size == base.gpu_vram_gb
    said = "" if same else f"-{size:g}GB"
    shown = re.sub(r"\s+\d+x\Z", "", base.display_name)
    profile = base.model_copy(
        update={
            "display_name": shown if same else f"{shown} {size:g}GB",
            "gpu_count": count,
            "vram_gb": size * count,
            "scalable": False,
            "restricted": False,
            "gpu_bytes": base.gpu_bytes if same else None,
            "description": None,
        }
    )
    return OwnHardware(f"{count}x{name}{said}", profile)


def _unknown_card(catalog: Catalog, word: str) -> str:
    names: Iterable[str] = [*cards(), *catalog.hardware]
    near = nearest(word, names)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(cards())}."
    return f"no card {word!r} is known; {hint} Any other goes into a hardware file"


def with_hardware(catalog: Catalog, hardware_id: str, profile: HardwareProfile) -> Catalog:
    """A catalog with one more hardware, offered by every recipe; documents are shared.

    Args:
        catalog: The catalog, which stays as it is.
        hardware_id: Id of the hardware; one of the catalog's own is replaced.
        profile: Its profile.
    """
    if profile.restricted:
        profile = profile.model_copy(update={"restricted": False})
    profiles = {**catalog.hardware, hardware_id: profile}
    taxonomy = catalog.taxonomy.model_copy(update={"hardware_profiles": profiles})
    return replace(catalog, taxonomy=taxonomy, kept={})


class Admitted(NamedTuple):
    """A catalog in which a hardware text is an id, or why it is none."""

    catalog: Catalog
    hardware: str
    fault: str | None = None


def admit(catalog: Catalog, text: str, *, scalable: bool = False) -> Admitted:
    """Let a short form be a hardware of the catalog; any other text stays as it is.

    Args:
        catalog: The catalog; catalogs made here are kept in it.
        text: What was asked as hardware.
        scalable: The reader has more than one such node.

    Returns:
        The catalog to go on with and the id in it. ``fault`` says why a short form is none.
    """
    known = catalog.hardware
    if text in known or text.casefold() in {key.casefold() for key in known}:
        return Admitted(catalog, text)
    if not looks_own(text):
        return Admitted(catalog, text)
    kept = _kept(catalog)
    found = kept.get((text, scalable))
    if found is None:
        try:
            found = _admitted(catalog, parse_hardware(catalog, text), scalable=scalable)
        except RecipesError as error:
            found = Admitted(catalog, text, str(error))
        if len(kept) >= _KEPT:
            kept.clear()
        kept[text, scalable] = found
    return found


def _admitted(catalog: Catalog, own: OwnHardware, *, scalable: bool) -> Admitted:
    if own.id in catalog.hardware:
        if not own.profile.restricted:
            return Admitted(catalog, own.id)
        profile = own.profile
    else:
        profile = own.profile.model_copy(update={"scalable": scalable})
    return Admitted(with_hardware(catalog, own.id, profile), own.id)


def _kept(catalog: Catalog) -> dict[tuple[str, bool], Admitted]:
    kept = catalog.kept.setdefault("own hardware", {})
    assert isinstance(kept, dict)  # noqa: S101
    return kept


def read_hardware_file(path: str | Path) -> OwnHardware:
    """A reader's hardware from a YAML or JSON file.

    Keys: ``brand``, ``gpu_count`` and ``vram_gb`` (of one GPU) have to be there; ``id``, ``name``,
    ``generation``, ``compute_arch``, ``gpu_bytes`` (of one GPU) and ``scalable`` may be.

    Raises:
        CatalogError: The file cannot be read, or a key is wrong; it names file, line and key.
    """
    place = Path(path)
    label = str(path)
    text = read_text(place, label)
    if place.suffix.lower() == ".json":
        try:
            data: Any = json.loads(text)
        except ValueError as error:
            raise CatalogError(str(error), label) from None
        if not isinstance(data, dict):
            raise CatalogError("holds no object", label)
    else:
        data = parse_yaml(text, label)
    try:
        read = _File.model_validate(data)
    except ValidationError as error:
        first = faults(error, _File, data)[0]
        raise CatalogError(first.message, label, None, dotted(first.path)) from None
    return _from_file(read, place.stem)


def _from_file(read: _File, stem: str) -> OwnHardware:
    name = read.name or read.id or stem
    key = read.id or re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("_").lower() or "own"
    brand = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "huawei": "Huawei"}.get(
        read.brand.casefold(), read.brand
    )
    profile = HardwareProfile(
        brand=brand,
        generation=read.generation or ("amd" if brand == "AMD" else "unknown"),
        display_name=name,
        gpu_count=read.gpu_count,
        vram_gb=read.vram_gb * read.gpu_count,
        scalable=read.scalable,
        compute_arch=read.compute_arch,
        gpu_bytes=read.gpu_bytes,
    )
    return OwnHardware(key, profile)
