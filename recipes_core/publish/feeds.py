"""The sitemap and the Atom feed of a site; both name absolute addresses."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from urllib.parse import quote
from xml.etree import ElementTree as ET

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.pages import Page

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
ATOM = "http://www.w3.org/2005/Atom"
EPOCH = datetime.date(1970, 1, 1)
FEED_ENTRIES = 50


def day_of(entry: RecipeEntry) -> datetime.date | None:
    """The day on which a recipe last changed, as far as it says."""
    meta = entry.recipe.meta
    return meta.date_updated or meta.date_added


def _xml(root: ET.Element) -> bytes:
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def sitemap(pages: Iterable[Page], base_url: str) -> bytes:
    """``sitemap.xml``: the index and each page, with its day."""
    root = ET.Element("urlset", xmlns=SITEMAP)
    ET.SubElement(ET.SubElement(root, "url"), "loc").text = f"{base_url}/"
    for page in pages:
        url = ET.SubElement(root, "url")
        ET.SubElement(url, "loc").text = f"{base_url}/{quote(page.id)}/"
        day = day_of(page.entry)
        if day is not None:
            ET.SubElement(url, "lastmod").text = day.isoformat()
    return _xml(root)


def feed(catalog: Catalog, base_url: str) -> bytes:
    """``feed.xml``: the recipes that changed last, newest first.

    Its moment is the newest recipe's day, so that the same catalog gives the same feed.
    """
    dated = [(day_of(entry) or EPOCH, entry) for entry in catalog.recipes.values()]
    dated.sort(key=lambda item: (-item[0].toordinal(), item[1].id))
    newest = dated[0][0] if dated else EPOCH
    root = ET.Element("feed", xmlns=ATOM)
    ET.SubElement(root, "title").text = "vLLM serving recipes"
    ET.SubElement(root, "id").text = f"{base_url}/"
    ET.SubElement(root, "updated").text = _moment(newest)
    ET.SubElement(root, "link", rel="self", href=f"{base_url}/feed.xml")
    ET.SubElement(root, "link", href=f"{base_url}/")
    author = ET.SubElement(root, "author")
    ET.SubElement(author, "name").text = "vLLM serving recipes"
    for day, entry in dated[:FEED_ENTRIES]:
        address = f"{base_url}/{quote(entry.id)}/"
        item = ET.SubElement(root, "entry")
        meta = entry.recipe.meta
        ET.SubElement(item, "title").text = _text(meta.title)
        ET.SubElement(item, "id").text = address
        ET.SubElement(item, "updated").text = _moment(day)
        if meta.date_added is not None:
            ET.SubElement(item, "published").text = _moment(meta.date_added)
        ET.SubElement(item, "link", href=address)
        ET.SubElement(item, "summary").text = _text(meta.description or meta.title)
    return _xml(root)


def _moment(day: datetime.date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def _text(words: str) -> str:
    """A text without the control characters that XML has no place for."""
    return "".join(char for char in words if char.isprintable() or char in "\n\t")
