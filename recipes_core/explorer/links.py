"""Links of all places: what they open, and what they say of the page around it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from recipes_core.configuration import Configuration
from recipes_core.errors import RecipesError
from recipes_core.explorer.compared import Compared, compared_in, compared_text
from recipes_core.link import json_query
from recipes_core.selection import MAX_QUERY, Unread

ENDINGS = (".md", ".json", ".yaml", ".yml")
PLACES = {"hw": "hardware", "strategies": "strategy", "presets": "preset"}
"""Parts of a path that say what a key of a query does: ``/org/repo/hw/b200.json``."""
CHECKPOINT_HOSTS = frozenset({"huggingface.co", "hf.co"})
"""Their paths go on after the id: ``/org/repo/tree/main``."""


def read_link(text: str) -> tuple[str, str]:
    """The recipe id and the query of a link.

    Args:
        text: A voila or Binder link of ours (``?model=…``), an address whose path ends in
            ``/org/repo`` (the peer's, or our server's) or in a page, a JSON or a recipe file of it,
            a checkpoint's page, or an id.

    Raises:
        RecipesError: There is no recipe in it.
    """
    text = text.strip(" \t\n<>\"'`")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise RecipesError(f"not a link: {error}") from None
    outer, rest, _ = outer_keys(parts.query)
    inner = outer.get("urlpath") or dict(rest).get("urlpath", "")
    if inner:
        return read_link(inner)
    if outer.get("model"):
        return outer["model"], urlencode(rest)
    path = unquote(parts.path).strip("/")
    for ending in ENDINGS:
        path = path.removesuffix(ending)
    words = path.split("/")
    if parts.hostname in CHECKPOINT_HOSTS:
        words = words[:2]
    while len(words) >= 4 and words[-2] in PLACES:
        rest = [(PLACES[words[-2]], words[-1]), *rest]
        words = words[:-2]
    if len(words) < 2 or not all(words[-2:]):
        raise RecipesError(f"no recipe in {text[:80]!r}: expected …/org/repo or ?model=org/repo")
    return "/".join(words[-2:]), urlencode(rest)


def outer_keys(query: str) -> tuple[dict[str, str], list[tuple[str, str]], list[Unread]]:
    """The page's own keys, the configuration's pairs, and what was not read."""
    text, unread = query.lstrip("?"), list[Unread]()
    if len(text) > MAX_QUERY:
        unread.append(Unread("", "", f"only the first {MAX_QUERY} characters were read"))
        text = text[:MAX_QUERY]
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return {}, [], [*unread, Unread("", "", "more than 200 keys; none was read")]
    outer = {key: value for key, value in pairs if key in {"model", "compare", "tab"}}
    return outer, [(key, value) for key, value in pairs if key not in outer], unread


def recipes_in(query: str) -> list[str]:
    """The recipe ids that a link's query names: the model, and what is compared with it."""
    outer, _, _ = outer_keys(query)
    names = [
        outer.get("model", "").strip(),
        *(i.recipe_id for i in compared_in(outer.get("compare", ""))),
    ]
    return [name for name in names if name]


def link_query(config: Configuration) -> str:
    """The query of a link that opens a configuration."""
    return "&".join(filter(None, (f"model={quote(config.entry.id, safe='/')}", json_query(config))))


def page_query(config: Configuration, compared: Iterable[Compared], tab: str) -> str:
    """The query of the page's address: the configuration, what is compared, the open panel."""
    listed = compared_text(compared)
    parts = [
        link_query(config),
        f"compare={quote(listed, safe='/')}" if listed else "",
        f"tab={tab}" if tab else "",
    ]
    return "&".join(filter(None, parts))
