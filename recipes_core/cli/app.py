"""The subcommands of ``recipes`` and their options; what they do is in the modules beside."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from recipes_core.cli.common import CatalogOption, failing_politely, with_axes

app = typer.Typer(
    name="recipes",
    help="Exact vLLM commands for open models: which fit, why, and as what.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda word: word.replace("_", "-"),
        "max_content_width": 110,
    },
)
RAW = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


class Format(StrEnum):
    """What ``show`` prints."""

    shell = "shell"
    docker = "docker"
    markdown = "markdown"
    json = "json"
    argv = "argv"
    compose = "compose"
    kubernetes = "kubernetes"
    slurm = "slurm"
    vllm_config = "vllm-config"
    html = "html"
    script = "script"


HardwareFile = Annotated[
    Path | None,
    typer.Option("--hardware-file", metavar="FILE", help="Your own hardware, as YAML or JSON."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON in place of text.")]
Query = Annotated[
    str | None, typer.Option("--query", metavar="Q", help="Query string, or a whole link.")
]


def _version(value: bool) -> None:
    if value:
        from recipes_core import __version__

        typer.echo(f"recipes {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Exact vLLM commands for open models: which fit, why, and as what."""


@app.command("list")
@failing_politely
def list_(
    *,
    words: Annotated[list[str] | None, typer.Argument(help="Words to search for.")] = None,
    search: Annotated[str | None, typer.Option(help="The same as one option.")] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Task id; repeat for any of several.")
    ] = None,
    provider: Annotated[
        list[str] | None, typer.Option(help="Provider, as recipes name it.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="bf16, fp8, nvfp4 …")] = None,
    verified: Annotated[
        str | None, typer.Option(metavar="HARDWARE", help="Verified on this hardware.")
    ] = None,
    hardware: Annotated[
        str | None, typer.Option(help="Some variant fits one node of this hardware.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many.", min=1)] = None,
    as_json: AsJson = False,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """List recipes, best match first."""
    from recipes_core.cli.listing import run

    run(
        catalog, " ".join([*(words or ()), search or ""]), tasks=task or (),
        providers=provider or (), precision=precision, verified=verified, hardware=hardware,
        limit=limit, as_json=as_json,
    )  # fmt: skip


@app.command()
@failing_politely
@with_axes
def show(
    *,
    recipe: Annotated[str, typer.Argument(metavar="ID", help="org/repo, in any case.")],
    axes: dict[str, str],
    query: Query = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.shell,  # noqa: A002
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each flag where it comes from.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 if anything could not be had as asked.")
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Fill in a placeholder."),
    ] = None,
    model_path: Annotated[
        str | None, typer.Option(help="Folder or mirror in place of the checkpoint's id.")
    ] = None,
    hf_token_var: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable that holds the Hugging Face token.")
    ] = None,
    api_key_var: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable that holds the server's API key.")
    ] = None,
    cache_folder: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of downloaded checkpoints.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address that links begin with.")] = None,
    hardware_file: HardwareFile = None,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Print one configuration: the commands, or another form of them."""
    from recipes_core.cli.show import Asked, run

    run(
        Asked(
            recipe, query, axes, format.value, explain, strict, tuple(set_ or ()), model_path,
            hf_token_var, api_key_var, cache_folder, base_url, hardware_file, tuple(catalog),
        )
    )  # fmt: skip


@app.command()
@failing_politely
def check(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="Catalog to judge; ours if none is given."),
    ] = None,
    commands: Annotated[
        bool,
        typer.Option(help="Also check every recipe's commands against vLLM's own parsers."),
    ] = True,
    as_json: AsJson = False,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Check a catalog's files: errors and warnings, exit code 1 on an error."""
    from recipes_core.cli.checking import run

    run(folder, catalog, commands=commands, as_json=as_json)


@app.command()
@failing_politely
def batch(
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 on any adjustment.")
    ] = False,
    sizing: Annotated[bool, typer.Option(help="Add the memory figures to each row.")] = False,
    checks: Annotated[bool, typer.Option(help="Add what the command check finds.")] = False,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Read {"recipe": ID, "query": {…}} a line on stdin, write one JSON document a line."""
    from recipes_core.cli.batch import run

    run(catalog, strict=strict, sizing=sizing, checks=checks)


@app.command()
@failing_politely
def explain(
    command: Annotated[str, typer.Argument(help="A vllm serve command, or '-' for stdin.")],
    vllm: Annotated[
        str | None,
        typer.Option(metavar="X", help="Release; the container image's, else the newest."),
    ] = None,
    plugin: Annotated[list[str] | None, typer.Option(help="vLLM plugin that is installed.")] = None,
    as_json: AsJson = False,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Say what each flag of a command does, what it lays out, and which recipe is nearest."""
    from recipes_core.cli.explaining import run

    run(command, vllm, plugin or (), catalog, as_json=as_json)


@app.command(context_settings=RAW, add_help_option=False)
@failing_politely
def size(context: typer.Context) -> None:
    """GPU memory of a recipe or a config.json, to the token."""
    from recipes_core.sizing.command import run

    raise typer.Exit(run(context.args))


@app.command()
@failing_politely
def dashboard(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8866,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Serve the dashboard with voila, and each configuration over HTTP."""
    from recipes_core.cli.serving import serve_dashboard

    raise typer.Exit(serve_dashboard(port, host, catalog, browser=browser))


@app.command(context_settings=RAW, add_help_option=False)
@failing_politely
def lab(context: typer.Context) -> None:
    """Open the notebooks in JupyterLab; options go to it as they are."""
    from recipes_core.explorer import launch

    raise typer.Exit(launch.lab(context.args) or 0)


@app.command("import")
@failing_politely
def import_(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A checkout of the peer's data.")],
    into: Annotated[Path, typer.Option(metavar="DIR", help="Our catalog.")] = Path("recipes"),
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="Day of the checkout; today if not given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Take a peer's machine facts into a catalog of ours, or list what changed since."""
    from recipes_core.cli.authoring import take_over

    take_over(source, into, as_of, write=not dry_run)


@app.command()
@failing_politely
def new(
    recipe: Annotated[str, typer.Argument(metavar="ORG/REPO")],
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The checkpoint's config.json.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write it into this catalog.")
    ] = None,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Draft a recipe with everything that a config tells, and check it."""
    from recipes_core.cli.authoring import draft

    draft(recipe, config, into, catalog)


@app.command()
@failing_politely
def schema(
    output: Annotated[
        bool, typer.Option("--output", help="Of the JSON of a configuration, not of a recipe file.")
    ] = False,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Print the JSON Schema of a recipe file."""
    from recipes_core.cli.authoring import print_schema

    print_schema(catalog, output=output)


@app.command()
@failing_politely
def export(
    *,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New, or an older export.")],
    base_url: Annotated[
        str | None, typer.Option(help="Address of the site; without it links are relative.")
    ] = None,
    dashboard: Annotated[
        str | None, typer.Option(help="Address of a dashboard that pages link to.")
    ] = None,
    facts: Annotated[bool, typer.Option(help="Sizes and findings in every rendering.")] = True,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one per processor.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Fill in a placeholder.")
    ] = None,
    catalog: CatalogOption = [],  # noqa: B006
) -> None:
    """Write a whole catalog as a static site and JSON API."""
    from recipes_core.cli.common import placeholders_of
    from recipes_core.cli.exporting import run

    run(
        folder, catalog, base_url=base_url, dashboard=dashboard, facts=facts, jobs=jobs,
        placeholders=placeholders_of(set_ or ()),
    )  # fmt: skip


@app.command()
@failing_politely
def mcp(catalog: CatalogOption = []) -> None:  # noqa: B006
    """Answer agents over stdio (Model Context Protocol)."""
    from recipes_core import mcp as room

    room.run(tuple(catalog))


__all__: list[str] = ["app"]
