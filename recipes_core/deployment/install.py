"""Install steps: pip and Docker, by kind of hardware."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from recipes_core.applies import applies
from recipes_core.axes import release
from recipes_core.catalog.documents import Dependency, InstallTab
from recipes_core.configuration import Configuration
from recipes_core.deployment.container import kind_of, nightly
from recipes_core.deployment.model import Install, Step
from recipes_core.findings import Finding

NEWEST_RELEASE = "0.33.0"
"""Newest vLLM release that the project has looked at."""
ASCEND_NOTE = (
    "The host has to have the NPUs' driver and firmware: `npu-smi info` lists the NPUs. The"
    " container below takes them device by device."
)
OPTIONAL = "optional"
"""How the note of a step that may be left out begins."""
NIGHTLY = "https://wheels.vllm.ai/nightly"
TORCH = "https://download.pytorch.org/whl"
RELEASES = "https://github.com/vllm-project/vllm/releases/download"
DRIVERS = {"cu130": "CUDA 13: driver r580 or newer", "cu129": "CUDA 12.9: driver r575 or newer"}


def version_floor(config: Configuration) -> str | None:
    """The highest floor of model, variant, layout, features, KV store or option, and preset.

    None where only a nightly will do.
    """
    option = config.catalog.taxonomy.kv_offload.get(config.kv_offload or "")
    floors: Iterable[str | None] = (
        config.recipe.model.min_vllm_version,
        config.variant.min_vllm_version,
        config.strategy.min_vllm_version if config.strategy else None,
        *(config.recipe.features[name].min_vllm_version for name in config.features),
        config.kv_store.min_vllm_version if config.kv_store else None,
        option.min_vllm_version if option else None,
        config.preset.min_vllm_version if config.preset else None,
    )
    known = [(parsed, text) for text in floors if text and (parsed := release(text)) is not None]
    return max(known)[1] if known else None


def below_floor(config: Configuration) -> list[Finding]:
    """Say that the release that was asked is older than the configuration needs."""
    floor = version_floor(config)
    asked, least = release(config.vllm or ""), release(floor or "")
    if asked is None or least is None or asked >= least:
        return []
    message = f"vLLM {config.vllm} was asked, and this configuration needs {floor} or newer"
    return [Finding("error", "below-floor", message, "vllm", config.entry.source)]


def not_pinned(config: Configuration, install: Install, image: str | None) -> list[Finding]:
    """Say which part of an install does not follow the release that was asked."""
    if config.vllm is None:
        return []
    pip = install.tabs.get("pip")
    loose = ["the recipe's own pip command"] if pip and config.vllm not in pip.command else []
    if image is not None and config.vllm not in image:
        loose.append(f"the image {image}")
    if not loose:
        return []
    message = f"vLLM {config.vllm} was asked, and {' and '.join(loose)} cannot be pinned to it"
    return [Finding("warning", "not-pinned", message, "vllm", config.entry.source)]


def cuda_of(config: Configuration) -> str:
    """The CUDA release of wheels and images: asked, or what the recipe's image map has."""
    asked = config.install or ""
    if asked in DRIVERS:
        return asked
    image = config.variant.docker_image or config.recipe.model.docker_image
    if isinstance(image, dict):
        tags = image.get("nvidia", image)
        if isinstance(tags, dict) and "cu129" in tags and "cu130" not in tags:
            return "cu129"
    return "cu130"


def _pip(config: Configuration) -> tuple[Step | None, str | None]:
    """The pip step of the kind of hardware, or why there is none."""
    kind = kind_of(config.profile)
    pin = config.vllm
    package = f"vllm=={pin}" if pin else "vllm"
    early = nightly(config) and pin is None
    head = "uv venv\nsource .venv/bin/activate\n"
    if kind == "nvidia":
        cuda = cuda_of(config)
        if early:
            command = (
                f"{head}uv pip install -U vllm --pre \\\n"
                f"  --extra-index-url {NIGHTLY}/{cuda} \\\n"
                f"  --extra-index-url {TORCH}/{cuda} \\\n"
                "  --index-strategy unsafe-best-match"
            )
        else:
            backend = cuda if config.install in DRIVERS else "auto"
            upgrade = "" if pin else "-U "
            command = f"{head}uv pip install {upgrade}{package} --torch-backend {backend}"
        return Step(command), None
    if kind == "amd":
        index = f"{NIGHTLY}/rocm" if early else "https://wheels.vllm.ai/rocm"
        pre = "--pre " if early else ""
        venv = "uv venv --python 3.12\nsource .venv/bin/activate\n"
        return Step(f"{venv}uv pip install {package} {pre}--extra-index-url {index}"), None
    if kind == "cpu":
        if early:
            return Step(
                f"{head}uv pip install vllm --extra-index-url {NIGHTLY}/cpu"
                " --index-strategy first-index --torch-backend cpu"
            ), None
        version = pin or NEWEST_RELEASE
        wheel = f"vllm-{version}+cpu-cp38-abi3-manylinux_2_35_x86_64.whl"
        return Step(f"{head}uv pip install {RELEASES}/v{version}/{wheel} --torch-backend cpu"), None
    names = {"tpu": "TPU", "xpu": "Intel GPU", "npu": "Ascend"}
    return None, f"no {names.get(kind, kind)} wheel is published: use the container"


def make_install(
    config: Configuration, image: str | None, reason: str | None, routers: Iterable[Step] = ()
) -> Install:
    """Tabs in the recipe's order, extras, and the driver floor."""
    install = Install()
    declared = config.recipe.model.install
    tabs: list[Literal["pip", "docker"]] = list(declared)
    tabs += [tab for tab in ("pip", "docker") if tab not in declared]
    for tab in tabs:
        if declared.get(tab) is False:
            install.tabs[tab] = None
            install.reasons[tab] = "the recipe does not offer it"
            continue
        if tab == "pip":
            step, why = _pip(config)
        else:
            note = ASCEND_NOTE if kind_of(config.profile) == "npu" else None
            step, why = (Step(f"docker pull {image}", note), None) if image else (None, reason)
        own = declared.get(tab)
        if isinstance(own, InstallTab):
            step, why = _own(config, own, step, why)
        install.tabs[tab] = step
        if why:
            install.reasons[tab] = why
    if kind_of(config.profile) == "nvidia":
        install.driver = DRIVERS[cuda_of(config)]
    install.extras = [*_dependencies(config), *_store_package(config), *routers]
    return install


def _own(
    config: Configuration, own: InstallTab, step: Step | None, why: str | None
) -> tuple[Step | None, str | None]:
    """The recipe's command in place of the usual one, or its note beside it."""
    if own.command and (step is not None or config.profile.brand == "NVIDIA"):
        return Step(own.command.strip(), own.note), None
    return (step._replace(note=own.note) if step is not None else None), why


def _dependencies(config: Configuration) -> list[Step]:
    brand = config.profile.brand.lower()
    return [
        Step(
            item.command.strip(),
            _note(item),
            docker="docker" in item.install_modes,
            pip="pip" in item.install_modes,
        )
        for item in config.recipe.dependencies
        if (item.brand is None or item.brand.lower() == brand) and applies(item.when, config)
    ]


def _note(item: Dependency) -> str | None:
    if not item.optional:
        return item.note
    return f"{OPTIONAL}: {item.note}" if item.note else OPTIONAL


def _store_package(config: Configuration) -> list[Step]:
    steps = []
    own = config.recipe.kv_offload_installs.get(config.kv_offload or "")
    option = config.catalog.taxonomy.kv_offload.get(config.kv_offload or "")
    if option is not None and (own or option.install):
        steps.append(Step(own or option.install or "", f"for {option.display_name}"))
    if config.kv_store is not None:
        command = own or config.kv_store.vllm.install.get(config.profile.brand.lower())
        if command:
            steps.append(Step(command, f"for {config.kv_store.display_name}"))
    return steps
