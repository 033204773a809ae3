"""``python -m recipes_core.server``: the public server, read-only, with no kernel and no login."""

from __future__ import annotations

import argparse
import sys

from recipes_core.catalog.loader import load_chosen
from recipes_core.errors import RecipesError
from recipes_core.server.standalone import serve


def main() -> int:
    """Read the command line and serve until interrupted; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m recipes_core.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8867, help="port to listen on")
    parser.add_argument("--base-url", default="/", help="path below which all is served")
    parser.add_argument("--site", default="", help="scheme and host for links in Markdown")
    parser.add_argument("--dashboard", help="address of a dashboard that pages link to")
    parser.add_argument(
        "--catalog", action="append", default=[], metavar="DIR", help="catalog; several stack"
    )
    asked = parser.parse_args()
    try:
        catalog = load_chosen(asked.catalog, lambda line: print(line, file=sys.stderr))
    except RecipesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"http://{asked.host}:{asked.port}{asked.base_url.rstrip('/')}/recipes/", flush=True)
    serve(
        catalog, asked.host, asked.port, asked.base_url, dashboard=asked.dashboard, site=asked.site
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
