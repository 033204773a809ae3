"""The guide: notes that apply here, then the recipe's own guide, as harmless HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from recipes_core.applies import notes_of
from recipes_core.catalog.documents import Note
from recipes_core.configuration import Configuration
from recipes_core.errors import RecipesError
from recipes_core.explorer.links import read_link
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.page import harmless_html

if TYPE_CHECKING:
    from markdown_it.token import Token

    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState


ANCHOR = "rx-guide-"
"""Begins the id of a guide's heading, which is not to meet an id of the page."""


def guide_html(config: Configuration) -> str:
    """Notes, known issues and guide; author's tags are shown as text, nothing of them runs."""
    recipe = config.recipe
    parts = []
    for title, notes in (("Notes", recipe.notes), ("Known issues", recipe.known_issues)):
        parts += _notes(title, notes_of(notes, config), config)
    if recipe.guide:
        parts.append(_body(config, recipe.guide, 1))
    written = "".join(parts)
    links = "".join(
        f'<li><a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(name)}</a>'
        "</li>"
        for name, url in recipe.meta.links.items()
        if url.startswith(("https://", "http://")) and f'href="{escape(url)}"' not in written
    )
    if links:
        parts.append(f"<h3>Named by the recipe</h3><ul>{links}</ul>")
    if not parts:
        return '<p class="rx-empty">This recipe has no guide.</p>'
    return f'<div class="rx-prose">{"".join(parts)}</div>'


def _body(config: Configuration, text: str, levels: int = 2) -> str:
    """Markdown of an author, its code copyable, its links leading somewhere."""

    def lead(tokens: list[Token]) -> None:
        seen: Counter[str] = Counter()
        for heading, words in pairwise(tokens):
            if heading.type == "heading_open":
                anchor = _anchor(words)
                again = f"-{seen[anchor]}" if seen[anchor] else ""
                heading.attrSet("id", anchor + again)
                seen[anchor] += 1
        for token in tokens:
            if token.children:
                token.children = list(_links(config, token.children))

    return _copyable(str(harmless_html(text, levels, lead)))


def _anchor(heading: Token) -> str:
    shown = "".join(part.content for part in heading.children or ())
    return ANCHOR + "-".join(re.sub(r"[^\w\s-]", "", shown.lower()).split())


def _links(config: Configuration, parts: Sequence[Token]) -> Iterator[Token]:
    """A line's parts, where what a link cannot open here stays text with the address behind it."""
    from markdown_it.token import Token

    dead = ""
    for part in parts:
        if part.type == "link_open":
            address = str(part.attrGet("href") or "")
            leads = _target(config, address)
            if leads is None:
                dead = address
                continue
            part.attrSet("href", leads)
            if not leads.startswith("#"):
                part.attrSet("target", "_blank")
        elif part.type == "link_close" and dead:
            note = f'<span class="rx-source">({escape(dead)})</span>'
            yield Token("html_inline", "", 0, content=f" {note}")
            dead = ""
            continue
        yield part


def _target(config: Configuration, address: str) -> str | None:
    """Where a link leads from here: to a heading, out of the page, or to a recipe of the catalog.

    None for what is neither, such as a file beside the recipe.
    """
    if address.startswith("#"):
        return f"#{ANCHOR}{address[1:]}"
    if address.startswith(("https://", "http://", "mailto:")):
        return address
    try:
        recipe_id, query = read_link(address)
        config.catalog.find(recipe_id)
    except RecipesError:
        return None
    return "&".join(filter(None, (f"?model={recipe_id}", query)))


def _notes(title: str, notes: list[Note], config: Configuration) -> list[str]:
    if not notes:
        return []
    bodies = [f"<h4>{escape(note.title)}</h4>{_body(config, note.body)}" for note in notes]
    return [f"<h3>{title}</h3>", *bodies]


def _copyable(html: str) -> str:
    """Each code block with a button that copies it."""
    button = (
        '<button type="button" class="rx-button" data-rx-copy aria-label="Copy code">Copy</button>'
    )
    html = html.replace("<pre>", f'<div class="rx-copyable">{button}<pre tabindex="0">')
    return html.replace("</pre>", "</pre></div>")


class GuidePanel:
    """What the recipe's author has to say."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.text = kit.html()
        self.box = kit.box([self.text], "rx-panel")

    def refresh(self) -> None:
        """Show the guide."""
        if self.state.configuration is not None:
            self.text.value = guide_html(self.state.configuration)
