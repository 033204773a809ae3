"""The GPUs of the machine that runs the kernel, as its own tools report them."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections import Counter
from typing import NamedTuple

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.own_hardware import parse_hardware
from recipes_core.errors import RecipesError

TIMEOUT_S = 5.0
NEAR = 0.08
"""How far GB as sold may be from the GiB that the driver reports."""
_NVIDIA = (
    "nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits",
)  # fmt: skip
_AMD = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")


class Machine(NamedTuple):
    """What was found."""

    hardware: str | None
    """As a short form such as ``8xH200-141GB``; None where there is nothing to use."""
    text: str
    """One sentence for a person."""


def this_machine(catalog: Catalog) -> Machine:
    """The GPUs of this machine by ``nvidia-smi`` or ``rocm-smi``, whichever is there."""
    for command, read in ((_NVIDIA, read_nvidia), (_AMD, read_amd)):
        if shutil.which(command[0]) is None:
            continue
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Machine(None, f"{command[0]} failed: {error}")
        return of_cards(catalog, read(done.stdout), command[0])
    return Machine(None, "Neither nvidia-smi nor rocm-smi is on the machine that runs this page.")


def read_nvidia(text: str) -> list[tuple[str, float]]:
    """Name and GiB of each GPU in nvidia-smi's table (MiB)."""
    found = []
    for line in text.splitlines():
        name, _, size = line.rpartition(",")
        if name.strip() and size.strip().isdigit():
            found.append((_bare(name), int(size) / 1024))
    return found


def read_amd(text: str) -> list[tuple[str, float]]:
    """Name and GiB of each GPU in rocm-smi's JSON (bytes)."""
    try:
        data = json.loads(text)
    except ValueError:
        return []
    found = []
    for key, card in sorted(data.items()) if isinstance(data, dict) else ():
        if not str(key).startswith("card") or not isinstance(card, dict):
            continue
        folded = {str(k).casefold(): str(v) for k, v in card.items()}
        name = next((v for k, v in folded.items() if "card series" in k or "card model" in k), "")
        size = next((v for k, v in folded.items() if "vram total memory" in k), "")
        if name and size.isdigit():
            found.append((_bare(name), int(size) / (1 << 30)))
    return found


def of_cards(catalog: Catalog, cards: list[tuple[str, float]], tool: str) -> Machine:
    """The short form of some GPUs; the most frequent kind where they differ.

    Args:
        catalog: Whose hardware and cards are known.
        cards: Name and GiB of each GPU.
        tool: Who reports them.
    """
    if not cards:
        return Machine(None, f"{tool} reports no GPU.")
    kinds = Counter(name for name, _ in cards)
    name, number = kinds.most_common(1)[0]
    size = min(size for card, size in cards if card == name)
    said = f"{tool}: {number}× {name}, {size:.1f} GiB each"
    if number < len(cards):
        said += f" ({len(cards) - number} of another kind left out)"
    form = _form(catalog, number, name, size)
    return Machine(form, said if form else f"{said}; this card is not known, use a hardware file")


def _form(catalog: Catalog, number: int, name: str, size: float) -> str | None:
    """The form whose GB as sold are nearest to what is reported, the shortest name last."""
    words = name.split()
    for length in range(len(words), 0, -1):
        card = " ".join(words[:length])
        for form in (f"{number}x{card}", f"{number}x{card}-{math.ceil(size)}GB"):
            try:
                found = parse_hardware(catalog, form).profile
            except RecipesError:
                continue
            if abs(found.gpu_vram_gb - size) <= NEAR * size:
                return form
    return None


def _bare(name: str) -> str:
    """A product name without brand and form factor."""
    words = re.sub(r"\b(NVIDIA|AMD|Instinct|GeForce|Tesla|Graphics|Radeon)\b", " ", name)
    words = re.sub(r"\b(SXM\d*|PCIe|HBM\d\w*|OAM|\d+GB)\b|-(?=\s|$)", " ", words.replace("-", " "))
    return " ".join(words.split())
