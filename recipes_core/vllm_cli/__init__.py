"""What each vLLM release accepts: check a command, compute its floor, explain it.

The facts come from the releases' own parsers (``scripts/extract_vllm_cli.py``); nothing here runs
vLLM, a shell or the network.
"""

from recipes_core.vllm_cli.bench import check_bench
from recipes_core.vllm_cli.check import check, check_argv
from recipes_core.vllm_cli.command import Command, parse_command
from recipes_core.vllm_cli.explain import (
    Explanation,
    FlagExplained,
    Layout,
    Match,
    explain,
    nearest_recipe,
)
from recipes_core.vllm_cli.floors import Floor, check_floor, min_version
from recipes_core.vllm_cli.plugins import PLUGINS
from recipes_core.vllm_cli.tables import newest, table_for, versions

__all__ = [
    "PLUGINS",
    "Command",
    "Explanation",
    "FlagExplained",
    "Floor",
    "Layout",
    "Match",
    "check",
    "check_argv",
    "check_bench",
    "check_floor",
    "explain",
    "min_version",
    "nearest_recipe",
    "newest",
    "parse_command",
    "table_for",
    "versions",
]
