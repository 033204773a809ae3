"""The GPUs of the machine itself, from what its own tools print."""

from __future__ import annotations

import pytest

from recipes_core import load_catalog
from recipes_core.explorer.machine import of_cards, read_amd, read_nvidia, this_machine


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(only=["openai/gpt-oss-120b"])


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("NVIDIA H100 80GB HBM3, 81559", "2xH100"),
        ("NVIDIA H200, 143771", "2xH200"),
        ("NVIDIA A100-SXM4-80GB, 81920", "2xA100-80GB"),
        ("NVIDIA A100-SXM4-40GB, 40960", "2xA100-40GB"),
        ("NVIDIA GeForce RTX 4090, 24564", "2xRTX 4090"),
        ("NVIDIA L40S, 46068", "2xL40S"),
        ("NVIDIA RTX 6000 Ada Generation, 49140", "2xRTX 6000 Ada"),
        ("NVIDIA GH200 480GB, 97871", "2xGH200-96GB"),
        ("NVIDIA Unheard Of 9000, 12345", None),
    ],
)
def test_nvidia_cards_become_a_short_form(catalog, line, form):
    found = of_cards(catalog, read_nvidia(f"{line}\n{line}\n"), "nvidia-smi")
    assert found.hardware == form
    assert "2×" in found.text
    assert form is not None or "not known" in found.text


def test_amd_cards_become_a_short_form(catalog):
    card = '{"Card Series": "AMD Instinct MI300X OAM", "VRAM Total Memory (B)": "206141652992"}'
    cards = read_amd(f'{{"card0": {card}, "card1": {card}, "system": {{}}}}')
    assert of_cards(catalog, cards, "rocm-smi").hardware == "2xMI300X"


def test_a_mixed_machine_says_what_is_left_out(catalog):
    cards = read_nvidia("NVIDIA H100, 81559\nNVIDIA H100, 81559\nNVIDIA L4, 23034")
    found = of_cards(catalog, cards, "nvidia-smi")
    assert found.hardware == "2xH100"
    assert "1 of another kind left out" in found.text


@pytest.mark.parametrize("text", ["", "no devices were found", "{", "[]", '{"card0": 3}'])
def test_what_is_no_list_of_cards_gives_none(catalog, text):
    assert of_cards(catalog, read_nvidia(text), "nvidia-smi").hardware is None
    assert of_cards(catalog, read_amd(text), "rocm-smi").hardware is None


def test_the_tool_is_really_asked(catalog, tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771'\necho 'NVIDIA H200, 143771'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert this_machine(catalog).hardware == "2xH200"
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert "nvidia-smi failed" in this_machine(catalog).text
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "Neither nvidia-smi nor rocm-smi" in this_machine(catalog).text
