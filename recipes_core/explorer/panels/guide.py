"""The guide: notes that apply here, then the recipe's own guide, as harmless HTML."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from recipes_core.applies import notes_of
from recipes_core.catalog.documents import Note
from recipes_core.configuration import Configuration
from recipes_core.errors import RecipesError
from recipes_core.explorer.links import read_link
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.page import markdown_html

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState


_HREF = re.compile(r'<a href="([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
_HEADING = re.compile(r"<(h[1-6])>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
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
    links = "".join(
        f'<li><a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(name)}</a>'
        "</li>"
        for name, url in recipe.meta.links.items()
        if url.startswith(("https://", "http://"))
    )
    if links:
        parts.append(f"<h3>Links</h3><ul>{links}</ul>")
    if not parts:
        return '<p class="rx-empty">This recipe has no guide.</p>'
    return f'<div class="rx-prose">{"".join(parts)}</div>'


def _body(config: Configuration, text: str, levels: int = 2) -> str:
    """Markdown of an author, its code copyable, its links leading somewhere."""
    html = _copyable(str(markdown_html(text, levels)))
    html = _HEADING.sub(lambda m: f'<{m[1]} id="{_anchor(m[2])}">{m[2]}</{m[1]}>', html)
    return _HREF.sub(lambda m: _link(config, unescape(m[1]), m[2], m[3]), html)


def _anchor(heading: str) -> str:
    words = re.sub(r"[^\w\s-]", "", unescape(_TAG.sub("", heading)).lower()).split()
    return ANCHOR + "-".join(words)


def _link(config: Configuration, address: str, attributes: str, text: str) -> str:
    """A link as it works from here: to a heading, to a recipe of the catalog, or out of the page.

    What is neither, such as a file beside the recipe, has nothing to open here and stays text.
    """
    if address.startswith("#"):
        return f'<a href="#{ANCHOR}{escape(address[1:])}">{text}</a>'
    if not address.startswith(("https://", "http://", "mailto:")):
        try:
            recipe_id, query = read_link(address)
            config.catalog.find(recipe_id)
        except RecipesError:
            return f"{text} <span class='rx-source'>({escape(address)})</span>"
        address = "&".join(filter(None, (f"?model={recipe_id}", query)))
    return f'<a href="{escape(address)}" target="_blank"{attributes}>{text}</a>'


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
