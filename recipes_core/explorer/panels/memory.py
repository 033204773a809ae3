"""GPU memory: what each variant needs against what this hardware has."""

from __future__ import annotations

from recipes_core.configuration import Configuration
from recipes_core.explorer.panels.axes import gb
from recipes_core.explorer.widgets import escape


def declared_html(config: Configuration) -> str:
    """The recipe's own figures: each variant against this hardware, per GPU and per node."""
    node = config.node
    rows = []
    for name, variant in config.recipe.variants.items():
        needed = config.rules.memory_needed(variant, config.hardware, node)
        gpus = -(-needed // node.gpu_vram_gb)
        nodes = -(-needed // node.vram_gb)
        verdict = (
            f'<span class="rx-yes">fits on {gpus:.0f} GPU{"s" if gpus > 1 else ""}</span>'
            if nodes <= 1
            else f'<span class="rx-no">needs {nodes:.0f} nodes</span>'
        )
        now = ' class="rx-now"' if name == config.variant_id else ""
        label = escape(variant.label or name)
        rows.append(
            f"<tr{now}><td>{label}</td><td>{escape(variant.precision.upper())}</td>"
            f'<td class="rx-num">{gb(needed)}</td><td class="rx-num">{gb(node.gpu_vram_gb)}</td>'
            f'<td class="rx-num">{gb(node.vram_gb)}</td><td>{verdict}</td>'
            f'<td class="rx-source">{escape(variant.vram_source or "declared")}</td></tr>'
        )
    place = f"{node.brand} {node.display_name}"
    return (
        '<div class="rx-scroll"><table class="rx-table">'
        f"<caption class='rx-visually-hidden'>Declared memory of each variant on {escape(place)}"
        "</caption><thead><tr><th scope='col'>Variant</th><th scope='col'>Precision</th>"
        "<th scope='col' class='rx-num'>Needs at least</th>"
        "<th scope='col' class='rx-num'>One GPU has</th>"
        "<th scope='col' class='rx-num'>One node has</th>"
        f"<th scope='col'>On {escape(place)}</th><th scope='col'>Source</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="rx-source">GB are 10<sup>9</sup> bytes, as GPUs are sold. '
        "<b>declared</b>: the recipe says so; nothing was measured or computed for this figure.</p>"
    )
