"""``python -m recipes_core.cli``: the same as ``recipes``."""

from recipes_core.cli import main

main()
