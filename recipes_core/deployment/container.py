"""Containers: the image of a configuration and the ``docker run`` of a process."""

from __future__ import annotations

from recipes_core.catalog.documents import HardwareProfile, Image
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Container, Process, ReaderValues

CACHE = "$HF_CACHE:/root/.cache/huggingface"
IMAGES = {
    "nvidia": "vllm/vllm-openai:latest",
    "amd": "vllm/vllm-openai-rocm:latest",
    "tpu": "vllm/vllm-tpu:latest",
    "xpu": "vllm/vllm-openai-xpu:latest",
    "cpu": "vllm/vllm-openai-cpu:latest-x86_64",
}
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the device, not a place for files
ASCEND_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
"""What an NPU needs beside its own device: manager, memory, and the channel to the host."""
ASCEND_MOUNTS = (
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver/lib64/",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
)
"""The host's driver, which the image does not bring (installation guide of vllm-ascend)."""
CUDA_ORDER = ("cu130", "cu129")


def kind_of(profile: HardwareProfile) -> str:
    """``nvidia amd tpu xpu cpu npu``: what decides image, install, and container flags."""
    if profile.brand == "NVIDIA":
        return "nvidia"
    if profile.brand == "AMD":
        return "amd"
    return profile.generation


def nightly(config: Configuration) -> bool:
    """Whether no release serves this configuration."""
    return bool(
        config.recipe.model.nightly_required
        or config.variant.nightly_required
        or "nightly" in {config.recipe.model.min_vllm_version, config.variant.min_vllm_version}
    )


def _of_brand(image: Image | None, profile: HardwareProfile, cuda: str | None) -> str | None:
    """A variant's or model's image for this brand; a plain string is for NVIDIA alone."""
    if image is None:
        return None
    if isinstance(image, str):
        return image if profile.brand == "NVIDIA" else None
    found: str | dict[str, str] | None = image.get(profile.brand.lower())
    if found is None and profile.brand == "NVIDIA":
        found = {
            key: value
            for key, value in image.items()
            if key.startswith("cu") and isinstance(value, str)
        } or None
    if isinstance(found, dict):
        order = [cuda, *CUDA_ORDER] if cuda else list(CUDA_ORDER)
        return next((found[key] for key in order if key in found), next(iter(found.values()), None))
    return found


def image_of(config: Configuration) -> tuple[str | None, str | None]:
    """The image of a configuration, and why there is none.

    The first of: the variant's for exactly this hardware, the variant's, the model's, the usual
    one of the kind of hardware.
    """
    profile, variant = config.profile, config.variant
    cuda = config.install if (config.install or "").startswith("cu") else None
    exact = variant.hardware_overrides.get(config.hardware)
    image = None
    if exact is not None and exact.docker_image is not None:
        own = exact.docker_image
        image = own if isinstance(own, str) else _of_brand(own, profile, cuda)
    image = (
        image
        or _of_brand(variant.docker_image, profile, cuda)
        or _of_brand(config.recipe.model.docker_image, profile, cuda)
    )
    if image is not None:
        return _pinned(image.removeprefix("docker pull ").strip(), config), None
    kind = kind_of(profile)
    image = IMAGES.get(kind)
    if image is None:
        return None, f"there is no public vLLM image for {profile.brand}; the recipe pins none"
    if nightly(config) and kind in {"nvidia", "amd"}:
        image = image.replace(":latest", ":nightly")
    return _pinned(image, config), None


def _pinned(image: str, config: Configuration) -> str:
    version = config.vllm
    if version is None or not image.startswith("vllm/vllm-openai"):
        return image
    name, _, tag = image.partition(":")
    return f"{name}:v{version}" + ("-x86_64" if tag.endswith("-x86_64") else "")


def make_container(
    config: Configuration, process: Process, image: tuple[str | None, str | None], *, host: bool,
    values: ReaderValues,
) -> Container:  # fmt: skip
    """The container of an engine's process.

    Args:
        config: The configuration.
        process: An engine's process.
        image: The image, or None and the reason.
        host: Use the host's network: the process talks to other nodes.
        values: The reader's values.
    """
    name, reason = image
    if name is None:
        return Container(None, reason=reason)
    kind = kind_of(config.profile)
    if kind == "npu":
        return _ascend(config, process, name, host=host, values=values)
    host = host or kind == "tpu"
    publish = (
        ["--network", "host"] if host else ["-p", f"{process.port or 8000}:{process.port or 8000}"]
    )
    first, second = {
        "amd": (
            ["--device=/dev/kfd", "--device=/dev/dri"],
            ["--security-opt", "seccomp=unconfined", "--group-add", "video"],
        ),
        "cpu": (["--shm-size=16g"], []),
        "xpu": (
            ["--device", "/dev/dri"],
            ["-v", "/dev/dri/by-path:/dev/dri/by-path", "--shm-size=16g"],
        ),
        "tpu": (["--privileged", "--network", "host"], ["-v", f"{SHARED_MEMORY}:{SHARED_MEMORY}"]),
    }.get(kind, (["--gpus", "all"], []))
    common = ["--ipc=host"] if kind == "tpu" else ["--privileged", "--ipc=host", *publish]
    lines = [first, *([second] if second else []), common]
    return Container(name, lines, _volumes(config, process, values))


def _ascend(
    config: Configuration, process: Process, image: str, *, host: bool, values: ReaderValues
) -> Container:
    """NPUs are given to a container device by device; the image starts no server by itself."""
    own = [f"/dev/davinci{number}" for number in range(config.profile.gpu_count)]
    port = process.port or 8000
    lines = [
        [word for device in own for word in ("--device", device)],
        [word for device in ASCEND_DEVICES for word in ("--device", device)],
        *(["-v", f"{path}:{path}"] for path in ASCEND_MOUNTS),
        [
            "--privileged",
            "--ipc=host",
            *(["--network", "host"] if host else ["-p", f"{port}:{port}"]),
        ],
    ]
    return Container(image, lines, _volumes(config, process, values), entry=("vllm", "serve"))


def _volumes(config: Configuration, process: Process, values: ReaderValues) -> list[str]:
    cache = CACHE
    if values.cache_folder:
        cache = cache.replace("$HF_CACHE", values.cache_folder, 1)
    volumes = [cache]
    if "MOONCAKE_CONFIG_PATH" in process.env:
        path = process.env["MOONCAKE_CONFIG_PATH"]
        volumes.append(f"{path}:{path}:ro")
    model = values.model_path or config.model_id
    if model.startswith(("/", "./", "../")):
        volumes.append(f"{model}:{model}:ro")
    return volumes
