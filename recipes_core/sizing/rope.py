"""The tables of rotary positions that a model keeps on each GPU."""

from __future__ import annotations

from recipes_core.sizing.fields import Fields
from recipes_core.sizing.shapes import Attention, CompressedAttention, Layer, Mla, RopeTable
from recipes_core.sizing.source import Source


def read_rope_tables(source: Source, layers: tuple[Layer, ...]) -> tuple[RopeTable, ...]:
    """One table per distinct rotary setting (vLLM 0.25 `rotary_embedding/__init__.py`).

    Returns:
        The tables in the order in which layers make them; none in a model without rotary
        positions.
    """
    text = source.text
    if source.model_type in ("nemotron_h", "jamba", "opt", "whisper"):
        return ()
    if text.text("position_embedding_type") == "nope" or text.flag("mla_use_nope"):
        return ()
    parts = {m: None for layer in layers for m in layer.mixers}
    tables: dict[tuple[object, ...], RopeTable] = {}
    for mixer in parts:
        if isinstance(mixer, Mla):
            width, kind = mixer.rope, "full_attention"
        elif isinstance(mixer, CompressedAttention):
            width = mixer.rope
            kind = "compressed" if mixer.ratio > 1 else "full_attention"
        elif isinstance(mixer, Attention):
            kind = "sliding_attention" if mixer.window else "full_attention"
            width = _width(source, mixer, kind)
        else:
            continue
        setting = _setting(source, kind)
        key = (width, setting, _base(source, kind))
        if width and key not in tables:
            tables[key] = RopeTable(setting, width)
    return tuple(tables.values())


def _section(source: Source, kind: str) -> Fields | None:
    """The rotary settings of one kind of layer."""
    parameters = source.text.section("rope_parameters") or source.text.section("rope_scaling")
    if parameters is None:
        return None
    nested = parameters.section(kind) if kind in parameters.data else None
    if nested is not None:
        return nested
    local = kind == "sliding_attention"
    if local and (source.model_type.startswith("gemma3") or source.model_type == "olmo3"):
        return None
    return parameters


def _width(source: Source, mixer: Attention, kind: str) -> int:
    """Rotated elements per head."""
    text = source.text
    section = _section(source, kind)
    if source.model_type.startswith("gemma4"):
        return mixer.head_dim
    if "rotary_dim" in text:
        return text.whole("rotary_dim")
    factor = text.number("partial_rotary_factor", default=1.0, high=1.0)
    if section is not None:
        factor = section.number("partial_rotary_factor", default=factor, high=1.0)
    return int(mixer.head_dim * factor)


def _base(source: Source, kind: str) -> object:
    """What makes two settings of equal size differ: the base frequency or the scaling."""
    text = source.text
    section = _section(source, kind)
    if kind == "sliding_attention":
        own = text.get("rope_local_base_freq", "swa_rope_theta")
        if own is not None:
            return own
    if kind == "compressed":
        return text.get("compress_rope_theta")
    theta = section.get("rope_theta") if section is not None else None
    scaled = section.get("rope_type", "type") if section is not None else None
    return (theta or text.get("rope_theta"), scaled)


def _setting(source: Source, kind: str) -> int:
    """Rows of the table."""
    text = source.text
    rows = text.whole("max_position_embeddings", "model_max_length", "n_positions", default=2048)
    section = _section(source, kind)
    if section is None:
        return rows
    form = section.text("rope_type", "type", default="default")
    if "mrope_section" in section:
        return rows * 4
    factor = section.number("factor", default=1.0)
    if form in ("yarn", "deepseek_yarn"):
        return int(section.whole("original_max_position_embeddings", default=rows) * factor)
    if form == "linear" or (form == "dynamic" and "alpha" not in section):
        return int(rows * factor)
    if form in ("longrope", "su"):
        original = text.whole("original_max_position_embeddings", default=rows)
        return rows + section.whole("original_max_position_embeddings", default=original)
    return rows
