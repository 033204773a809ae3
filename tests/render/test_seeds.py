"""Our Markdown against the two seeds: what ENGINE §8 calls equal is equal to the character."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recipes_core.render.markdown import to_markdown

SEEDS = {
    "ernie-4.5-vl.h200.md": ("baidu/ERNIE-4.5-VL-28B-A3B-PT", "hardware=h200"),
    "ernie-5.5-flash.gb200_low_latency.md": (
        "baidu/ERNIE-5.5-Flash",
        "hardware=gb200&strategy=single_node_dep&preset=gb200_low_latency",
    ),
}
BASE = {
    "ernie-4.5-vl.h200.md": (
        "https://vllm-recipes-git-preview-vllm-pr-60762-inferact-inc.vercel.app"
    ),
    "ernie-5.5-flash.gb200_low_latency.md": "https://recipes.vllm.ai",
}
BEFORE_GUIDE = "## Guide"


def sections(text: str) -> dict[str, str]:
    """The page's sections by heading, code blocks not mistaken for headings."""
    found: dict[str, list[str]] = {"": []}
    name, fenced = "", False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if not fenced and re.match(r"#{1,3} ", line):
            name = line
            found[name] = []
        else:
            found[name].append(line)
    return {key: "\n".join(lines).strip() for key, lines in found.items()}


def fences(text: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def lines_with(text: str, *starts: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(starts)]


@pytest.fixture(params=list(SEEDS), scope="module")
def pages(request, lay, shared: Path) -> tuple[str, str]:
    recipe, query = SEEDS[request.param]
    laid = lay(recipe, query)
    ours = to_markdown(laid.config, laid.deployment, BASE[request.param])
    return ours, (shared / "seeds" / request.param).read_text()


def test_has_the_same_sections_in_the_same_order(pages):
    ours, seed = (text.split(BEFORE_GUIDE)[0] for text in pages)
    headings = [[h for h in sections(text) if h] for text in (ours, seed)]
    assert headings[0] == headings[1]
    assert BEFORE_GUIDE in pages[0]


def test_the_configuration_line_is_equal(pages):
    ours, seed = pages
    assert lines_with(ours, "Configuration:") == lines_with(seed, "Configuration:")


def test_links_are_equal(pages):
    ours, seed = pages
    wanted = lines_with(seed, "- Interactive page:", "- This configuration as JSON:")
    assert lines_with(ours, "- Interactive page:", "- This configuration as JSON:") == wanted
    assert len(wanted) == 2


def test_other_configurations_list_the_same_ids(pages):
    ours, seed = (sections(text)["## Other configurations"] for text in pages)
    starts = ("- `hardware`", "- `variant`", "- `strategy`", "- `features`", "  - `")
    assert lines_with(ours, *starts) == lines_with(seed, *starts)
    keys = [[line.split(":")[0] for line in text.splitlines() if line.startswith("- ")]
            for text in (ours, seed)]  # fmt: skip
    assert keys[0] == keys[1]


@pytest.mark.parametrize("section", ["## Install", "## Serve"])
def test_commands_are_equal_to_the_character(pages, section):
    ours, seed = (sections(text)[section] for text in pages)
    assert fences(ours) == fences(seed)
    assert fences(seed)


def test_companions_have_the_same_command(pages):
    ours, seed = (sections(text) for text in pages)
    for heading, text in seed.items():
        if "start after vLLM" in heading or "start before vLLM" in heading:
            assert fences(ours[heading]) == fences(text)


def test_requirements_are_equal(pages):
    ours, seed = pages
    starts = ("Requires vLLM", "Docker image:", "Docker equivalent:")
    ours, seed = (text.split(BEFORE_GUIDE)[0] for text in (ours, seed))
    assert lines_with(ours, *starts) == lines_with(seed, *starts)


def test_the_presets_lines_are_equal(pages):
    ours, seed = pages
    starts = ("- Key:", "- Qualified on:", "- Builder choices", "- Every point")
    assert lines_with(ours, *starts) == lines_with(seed, *starts)


def prose(text: str) -> str:
    """A page without what has to be equal: headings, code, addresses, and the preset's lines."""
    text = re.sub(r"```.*?```", "\n", text.split("## Install")[1], flags=re.DOTALL)
    text = re.sub(
        r"^(#|- Key:|- Qualified on:|- Builder choices).*$", "|", text, flags=re.MULTILINE
    )
    return re.sub(r"`[^`]*`|https?://\S+", " | ", text)


def shingles(text: str) -> set[tuple[str, ...]]:
    found = set()
    for part in prose(text).lower().split("|"):
        words = re.findall(r"[a-z0-9']+", part)
        found |= {tuple(words[i : i + 8]) for i in range(len(words) - 7)}
    return found


def test_sentences_are_our_own(pages):
    ours, seed = map(shingles, pages)
    assert len(seed) > 40
    assert not ours & seed
