"""The guide: notes that apply here, then the recipe's own guide, as harmless HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.applies import notes_of
from recipes_core.catalog.documents import Note
from recipes_core.configuration import Configuration
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.page import markdown_html

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState


def guide_html(config: Configuration) -> str:
    """Notes, known issues and guide; author's tags are shown as text, nothing of them runs."""
    recipe = config.recipe
    parts = []
    for title, notes in (("Notes", recipe.notes), ("Known issues", recipe.known_issues)):
        parts += _notes(title, notes_of(notes, config))
    if recipe.guide:
        parts.append(_copyable(str(markdown_html(recipe.guide, 1))))
    links = "".join(
        f'<li><a href="{escape(url)}">{escape(name)}</a></li>'
        for name, url in recipe.meta.links.items()
        if url.startswith(("https://", "http://"))
    )
    if links:
        parts.append(f"<h3>Links</h3><ul>{links}</ul>")
    if not parts:
        return '<p class="rx-empty">This recipe has no guide.</p>'
    return f'<div class="rx-prose">{"".join(parts)}</div>'


def _notes(title: str, notes: list[Note]) -> list[str]:
    if not notes:
        return []
    found = [f"<h3>{title}</h3>"]
    for note in notes:
        body = _copyable(str(markdown_html(note.body)))
        found.append(f"<h4>{escape(note.title)}</h4>{body}")
    return found


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
