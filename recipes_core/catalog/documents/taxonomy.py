"""The vocabulary that recipes use: hardware, tasks, KV-cache options and stores, platforms."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from recipes_core.catalog.documents.base import (
    Args,
    Bool,
    Command,
    Companion,
    Document,
    Env,
    FeatureHardwareOverride,
    Version,
)


class HardwareProfile(Document):
    """A node of one kind of hardware."""

    brand: str
    generation: str
    display_name: str
    gpu_count: int = Field(ge=1)
    vram_gb: float = Field(gt=0)
    """GB of all GPUs of the node, as sold."""
    multi_node: Bool = False
    scalable: Bool = True
    """More such nodes can be added."""
    restricted: Bool = False
    """Offered only where a recipe names it."""
    compute_arch: str | None = None
    """Architecture of the compiler, such as ``sm_100`` or ``gfx950``."""
    gpu_bytes: int | None = None
    """Physical bytes of one GPU, as the driver reports them."""
    plugins: tuple[str, ...] = ()
    """vLLM plugins without which vLLM does not run there."""
    description: str | None = None

    @property
    def gpu_vram_gb(self) -> float:
        """GB of one GPU."""
        return self.vram_gb / self.gpu_count


class KvOffloadGroup(Document):
    """Options that share a row."""

    display_name: str
    label: str | None = None
    order: int = 0
    sub_row_label: str | None = None
    docs_url: str | None = None
    description: str | None = None


class KvOffloadOption(Document):
    """One way to keep KV blocks outside the GPU, by arguments alone."""

    display_name: str
    label: str | None = None
    group: str | None = None
    order: int = 0
    description: str | None = None
    requires_opt_in: Bool = False
    brands: tuple[str, ...] | None = None
    strategies: tuple[str, ...] | None = None
    args: Args = ()
    env: Env = {}
    install: str | None = None
    docs_url: str | None = None
    companion: Companion | None = None
    min_vllm_version: Version | None = None


class StoreRouter(Document):
    """The router in front of the instances of a store."""

    policy: str = "cache_aware"
    install: str = "uv pip install vllm-router"
    port: int = 30080


class StoreEngine(Document):
    """What a store adds to each engine."""

    vllm_args: Args = ()
    env: Env = {}
    install: dict[str, str] = {}
    """Package by brand in lower case."""
    port: int = 8000


class StorePools(Document):
    """A store's connector inside the pools of a PD cluster."""

    prefill: FeatureHardwareOverride = FeatureHardwareOverride()
    decode: FeatureHardwareOverride = FeatureHardwareOverride()


class StoreCommand(Document):
    """A process of a store, with the file that it reads, if any."""

    command: Command
    description: str | None = None
    config: dict[str, Any] = {}


class StoreClientConfig(Document):
    """The Mooncake client's file, read by each engine."""

    mode: str
    template: dict[str, Any] = {}
    description: str | None = None


class KvStore(Document):
    """One Mooncake topology."""

    name: str
    deploy_type: Literal["kv_store_lb"]
    display_name: str
    label: str | None = None
    description: str | None = None
    order: int = 0
    router: StoreRouter = StoreRouter()
    vllm: StoreEngine = StoreEngine()
    pd: StorePools = StorePools()
    mooncake_master: StoreCommand
    mooncake_store_config: StoreCommand | None = None
    mooncake_vllm_config: StoreClientConfig
    min_vllm_version: Version | None = None
    default_instances: int = Field(default=1, ge=1)


class Task(Document):
    """Something models are used for."""

    id: str
    display_name: str
    description: str | None = None


class Platform(Document):
    """A hosting platform."""

    id: str
    name: str
    url: str | None = None
    install: str | None = None
    description: str | None = None


class Provider(Document):
    """Who publishes models."""

    display_name: str
    url: str | None = None


class Taxonomy(Document):
    """The vocabulary that recipes use."""

    hardware_profiles: dict[str, HardwareProfile] = {}
    tasks: tuple[Task, ...] = ()
    strategies: tuple[str, ...] = ()
    """Strategy ids in the order of the page."""
    kv_offload_groups: dict[str, KvOffloadGroup] = {}
    kv_offload: dict[str, KvOffloadOption] = {}
    providers: dict[str, Provider] = {}
    """By the name that recipes use."""
