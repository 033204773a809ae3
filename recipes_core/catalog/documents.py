"""The documents of a catalog: what a YAML file may say, frozen and validated.

The format is the peer's, plus keys of ours. An argument list is a list of words, not quoted; a
variable's value is a string. Memory is in GB (10^9 bytes), as the declared figures of recipes are.
"""

from __future__ import annotations

import datetime
import shlex
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    WithJsonSchema,
)


class Document(BaseModel):
    """A frozen piece of a catalog; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else value


def _one_command(value: str) -> str:
    try:
        shlex.split(value)
    except ValueError as error:
        raise ValueError(f"a shell cannot read this command: {error}") from None
    return value


_WRITTEN = {"type": ["string", "number", "boolean"]}
Word = Annotated[str, BeforeValidator(_text), WithJsonSchema(_WRITTEN)]
"""A word of a command line or a value; a number or a boolean counts as its text."""
Bool = Annotated[bool, Field(strict=True)]
"""true or false; ``yes`` and ``on`` are words in YAML 1.2, and a fault here."""
Command = Annotated[str, AfterValidator(_one_command)]
"""One command as a shell reads it: its quotes close."""
Args = tuple[Word, ...]
Env = dict[str, Word]
HardwareKey = str
"""A hardware id, a generation, a brand in lower case, or ``default``."""
Support = Literal["verified", "supported", "unsupported"]
PoolMode = Literal["tp", "tep", "dep"]
RequestKind = Literal["chat", "completions", "embeddings", "rerank", "transcriptions"]
"""Endpoint of a first request; transcriptions take a file, the others JSON."""
Frontend = Literal["rust", "python"]
SizeOrMap = int | dict[HardwareKey, int]
Image = str | dict[str, str | dict[str, str]]
"""An image for NVIDIA, or images by brand, and below a brand by CUDA release (``cu130``)."""
Version = Annotated[
    str, Field(pattern=r"^(nightly|\d+\.\d+(\.\d+)?([abrc.+-].*)?)$"), BeforeValidator(_text)
]
"""A vLLM release, or ``nightly`` where no release will do."""
Selector = str | tuple[str, ...]


class Evidence(Document):
    """Where a claim comes from: a run that somebody really made."""

    source: str
    """Address or name of the report."""
    date: datetime.date | None = None
    """Day of the run."""
    vllm: Version | None = None
    """vLLM version of the run."""
    figures: dict[str, Word] = {}
    """What was measured, with units in the key or the value."""


class HardwareOverride(Document):
    """What one kind of hardware adds to a layer."""

    extra_args: Args = ()
    extra_env: Env = {}
    docker_image: Image | None = None
    """Image for exactly this hardware (variants only)."""
    plugins: tuple[str, ...] = ()
    """vLLM plugins that this hardware's image or arguments bring, beside the model's."""
    default_frontend: Frontend | None = None
    """HTTP front end on this hardware."""


class PrecisionHardware(Document):
    """The hardware that can compute in a variant's precision."""

    brand: str | None = None
    generation: str | None = None


class MemoryBudget(Document):
    """GPU-resident memory of a variant whose weights partly live in host memory."""

    gpu_resident_gb: float
    """GB that must fit the GPUs."""
    host_gb: float | None = None
    """GB of host memory that the rest takes."""
    note: str | None = None


class Variant(Document):
    """One checkpoint or precision of a model."""

    precision: str
    """``bf16``, ``fp8``, ``nvfp4``, ``int4`` …"""
    vram_minimum_gb: float = Field(ge=0)
    """Least memory, all GPUs together, in GB."""
    vram_source: Literal["computed", "measured", "declared"] | None = None
    """Where ``vram_minimum_gb`` comes from; absent = declared."""
    model_id: str | None = None
    """Checkpoint, where it is not the recipe's own."""
    label: str | None = None
    description: str | None = None
    min_vllm_version: Version | None = None
    nightly_required: Bool = False
    docker_image: Image | None = None
    plugins: tuple[str, ...] = ()
    """vLLM plugins that this checkpoint needs, beside the model's."""
    extra_args: Args = ()
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    """By exact hardware id, or by generation (then with the recipe's own)."""
    tp: SizeOrMap | None = None
    """Tensor-parallel size under single_node_tp."""
    gpus: dict[HardwareKey, int] = {}
    """GPUs of one node that suffice, per hardware; the rest of the node stays free."""
    nodes: dict[HardwareKey, int] = {}
    """Nodes that are needed, per hardware, where they are known better than by memory."""
    tp_divides: PositiveInt | dict[Literal["tp", "tep"], PositiveInt] | None = None
    """A tensor-parallel size must divide this number (FP8 blocks of the narrowest layer).

    One number for all shapes, or one by shape: under TEP experts stay whole.
    """
    precision_hardware: PrecisionHardware | None = None
    supported_hardware: tuple[str, ...] | None = None
    """Ids or ``arch:<compute_arch>``; absent = all."""
    default_modes: dict[str, str] = {}
    """Feature to mode: forces the feature on, in that mode."""
    cpu_offload: dict[HardwareKey, MemoryBudget] = {}
    """Memory budgets where weights are offloaded to the CPU, per hardware."""
    released: Bool = True
    """False: announced, weights not public yet."""
    request: RequestKind | None = None
    """What the first request to this checkpoint asks; absent = as the model says."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def memory_origin(self) -> str:
        """Where ``vram_minimum_gb`` comes from: computed, measured or declared."""
        return self.vram_source or "declared"


class Companion(Document):
    """A process beside the engine on the same node."""

    label: str
    command: Command
    """Shell text, as pasted."""
    start: Literal["before", "after"] = "before"
    install: str | None = None
    description: str | None = None
    port: int | None = None


class DpRouter(Document):
    """vllm-router in front of one engine that runs data parallel."""

    port: int = 8000
    """Port of the router."""
    engine_port: int = 8100
    """Port of the engine behind it."""
    policy: str = "consistent_hash"
    startup_timeout_s: int = 1800
    """Seconds that the router waits for the engine."""
    install: str = "uv pip install vllm-router"
    strategies: tuple[str, ...] = ()
    """Strategies that get it; empty = each that runs data parallel."""


class FeatureHardwareOverride(Document):
    """What a feature passes on one kind of hardware, in place of its own arguments."""

    args: Args = ()
    env: Env = {}


class FeatureMode(Document):
    """One way to have a feature; exactly one is active."""

    label: str | None = None
    description: str | None = None
    args: Args = ()
    env: Env = {}
    variants: tuple[str, ...] | None = None
    hardware: dict[HardwareKey, Support] = {}
    hardware_overrides: dict[HardwareKey, FeatureHardwareOverride] = {}


class Feature(Document):
    """Something a reader may turn on: arguments, variables, perhaps a helper process."""

    label: str | None = None
    description: str | None = None
    args: Args = ()
    env: Env = {}
    strategies: tuple[str, ...] | None = None
    """Strategies under which it adds anything; absent = all."""
    hardware: dict[HardwareKey, Support] = {}
    hardware_overrides: dict[HardwareKey, FeatureHardwareOverride] = {}
    variants: tuple[str, ...] | None = None
    """Variants under which it adds anything; absent = all."""
    modes: dict[str, FeatureMode] = {}
    default_mode: str | None = None
    excludes: tuple[str, ...] = ()
    """Features that cannot be on beside it; the one named first by the reader stays."""
    min_vllm_version: Version | None = None
    """Raises the floor while the feature is on, where its flags are newer than the model."""
    companion: Companion | None = None


class When(Document):
    """Where a note applies: each axis a value or a list; absent = always."""

    hardware: Selector | None = None
    generation: Selector | None = None
    brand: Selector | None = None
    strategy: Selector | None = None
    variant: Selector | None = None
    preset: Selector | None = None
    feature: Selector | None = None
    precision: Selector | None = None
    kv_offload: Selector | None = None


class Dependency(Document):
    """A further install step."""

    command: str
    note: str | None = None
    brand: str | None = None
    optional: Bool = False
    when: When | None = None
    """Configurations that need the step; absent = all."""
    install_modes: tuple[Literal["pip", "docker"], ...] = ("pip",)


class InstallTab(Document):
    """How one way to install differs from the usual."""

    command: str | None = None
    """In place of the usual command."""
    note: str | None = None


class DockerSource(Document):
    """A source tree that the container mounts."""

    mount_path: str


class Model(Document):
    """The facts of a model and the arguments that each of its commands has."""

    model_id: str
    min_vllm_version: Version
    architecture: Literal["dense", "moe"]
    parameter_count: Word | None = None
    active_parameters: Word | None = None
    context_length: int | None = Field(default=None, ge=0)
    """Tokens; 0 where the notion does not apply."""
    base_args: Args = ()
    base_env: Env = {}
    docker_image: Image | None = None
    docker_source: DockerSource | None = None
    install: dict[Literal["pip", "docker"], InstallTab | Literal[False] | None] = {}
    """Tabs in their order; false hides one."""
    nightly_required: Bool = False
    supports_dcp: Bool = False
    """Decode context parallelism works."""
    flashinfer_autotune: Bool = False
    """The start-up tuning of FlashInfer may be turned off."""
    default_frontend: Frontend | None = None
    license: str | None = None
    request: RequestKind | None = None
    """What the first request asks; absent = chat, or embeddings for that task."""
    plugins: tuple[str, ...] = ()
    """vLLM plugins that the model needs; they may add flags and parsers."""


class PlatformUse(Document):
    """A hosting platform on which somebody deployed the recipe."""

    id: str
    install: str | None = None
    script: str | None = None
    note: str | None = None


class Meta(Document):
    """What a list of recipes shows."""

    title: str
    provider: str
    slug: str | None = None
    description: str | None = None
    date_added: datetime.date | None = None
    date_updated: datetime.date | None = None
    difficulty: str | None = None
    tasks: tuple[str, ...] = ()
    related_recipes: tuple[str, ...] = ()
    hardware: dict[str, Support] = {}
    """By hardware id; ``verified`` = an end-to-end run is known."""
    evidence: dict[str, Evidence] = {}
    """By hardware id: the run behind ``verified``."""
    default_hardware: str | None = None
    platforms: tuple[PlatformUse, ...] = ()
    performance_headline: str | None = None
    links: dict[str, str] = {}


class PoolOverride(Document):
    """What a strategy, or a recipe under it, says of one pool."""

    nodes: SizeOrMap | None = None
    parallelism: PoolMode | None = None
    tp: int | None = None
    """Tensor-parallel size inside a DEP pool."""
    vllm_args: Args = ()
    extra_args: Args = ()
    env: Env = {}
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}


class RouterSettings(Document):
    """The router in front of pools."""

    policy: str | None = None
    intra_node_data_parallel_size: int | None = None
    install: str | None = None
    note: str | None = None


class StrategyOverride(Document):
    """What a recipe changes under one strategy."""

    tp: SizeOrMap | None = None
    extra_args: Args = ()
    vllm_args: Args = ()
    env: Env = {}
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    prefill: PoolOverride | None = None
    decode: PoolOverride | None = None
    pool_modes: tuple[PoolMode, ...] | None = None
    router: RouterSettings | None = None
    routers: tuple[str, ...] | None = None
    """Routers that work with it; absent = all that the strategy names."""
    default_frontend: Frontend | None = None


class TaskAxisOption(Document):
    """One choice of a task axis."""

    id: str
    label: str | None = None


class TaskAxis(Document):
    """An axis over which the tasks of an omni recipe are laid out."""

    id: str
    label: str | None = None
    options: tuple[TaskAxisOption, ...] = ()


class TaskHardwareOverride(Document):
    """What a task changes on one hardware."""

    extra_args: Args = ()
    extra_env: Env = {}
    curl: str | None = None
    vram_minimum_gb: float | None = None


class OmniTask(Document):
    """Something an omni model is asked to make."""

    id: str
    key: str | None = None
    """Name in the query, where ``id`` is not unique."""
    label: str | None = None
    description: str | None = None
    model_id: str | None = None
    vram_minimum_gb: float | None = None
    endpoint: str | None = None
    curl: str | None = None
    extra_args: Args = ()
    extra_env: Env = {}
    axes: dict[str, str] = {}
    hardware_overrides: dict[HardwareKey, TaskHardwareOverride] = {}
    benchmark: str | None = None


class Omni(Document):
    """The omni part of a recipe: tasks, each with its own command and request."""

    tasks: tuple[OmniTask | str, ...] = ()
    port: int | None = None
    task_axes: tuple[TaskAxis, ...] = ()
    task_label: str | None = None
    variant_label: str | None = None


class OperatingPoint(Document):
    """A point on a preset's curve; each is rendered on its own."""

    name: str
    args: Args = ()
    env: Env = {}
    concurrency: int | None = None
    note: str | None = None


class Preset(Document):
    """A setting that somebody tuned: hardware, strategy, features and arguments together."""

    label: str
    summary: str | None = None
    hardware: str
    strategy: str
    variants: tuple[str, ...] = ("default",)
    """Qualified on; the first is used when none is asked."""
    nodes: int | None = None
    gpus: int | None = None
    default: Bool = False
    """Applied when hardware, strategy and variant match and nothing else is asked."""
    features: tuple[str, ...] = ()
    feature_modes: dict[str, str | dict[str, str]] = {}
    """A mode, or one per variant."""
    args: Args = ()
    env: Env = {}
    router: RouterSettings | None = None
    pools: dict[Literal["prefill", "decode"], PoolOverride] = {}
    kv_offload: str | None = None
    min_vllm_version: Version | None = None
    points: tuple[OperatingPoint, ...] = ()
    evidence: Evidence | None = None
    """Absent = computed, not verified."""


class Note(Document):
    """A piece of Markdown that applies to some configurations."""

    title: str
    body: str
    when: When | None = None


class AdvancedOption(Document):
    """A recipe's own tuning switch."""

    id: str
    label: str | None = None
    description: str | None = None
    args: Args = ()


class Recipe(Document):
    """One recipe file."""

    meta: Meta
    model: Model
    variants: dict[str, Variant]
    features: dict[str, Feature] = {}
    opt_in_features: tuple[str, ...] = ()
    hardware_opt_in_features: dict[str, tuple[str, ...]] = {}
    compatible_strategies: tuple[str, ...] = ()
    default_strategy: str | None = None
    strategy_hardware: dict[str, dict[HardwareKey, Support]] = {}
    strategy_min_gpus: dict[str, int] = {}
    """By strategy id or hardware id."""
    strategy_overrides: dict[str, StrategyOverride] = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    kv_offload_support: dict[str, Support] = {}
    kv_offload_overrides: dict[str, dict[HardwareKey, FeatureHardwareOverride]] = {}
    """By KV option: arguments in place of its own, per hardware key."""
    kv_offload_installs: dict[str, str] = {}
    """By KV option or store: an install command in place of its own."""
    kv_cache_strategy_hardware: dict[str, dict[HardwareKey, Support]] = {}
    dependencies: tuple[Dependency, ...] = ()
    omni: Omni | None = None
    presets: dict[str, Preset] = {}
    notes: tuple[Note, ...] = ()
    known_issues: tuple[Note, ...] = ()
    advanced_options: tuple[AdvancedOption, ...] = ()
    dp_router: DpRouter | None = None
    guide: str | None = None
    """Markdown in our own words."""


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


class HardwareMatch(Document):
    """What the peer says a strategy needs; not read."""

    min_gpus: int | None = None
    max_gpus: int | None = None
    multi_node: Bool | None = None
    architecture: str | None = None


class Strategy(Document):
    """One parallel layout."""

    name: str
    deploy_type: Literal["single_node", "multi_node", "pd_cluster"]
    display_name: str
    short_name: str | None = None
    description: str | None = None
    orientation: str | None = None
    """What it favours: latency, balanced, throughput, production."""
    hardware_match: HardwareMatch | None = None
    parallelism: Literal["tp", "tep", "dep", "dpa_tp", "tp_pp", "tp_dp"] | None = None
    """Shape of the engine; absent = read from the name's ending."""
    parallel_flag: str | None = None
    vllm_args: Args = ()
    env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    prefill: PoolOverride | None = None
    decode: PoolOverride | None = None
    router: RouterSettings | None = None
    routers: tuple[str, ...] = ()
    """Routers that it can stand behind; empty = ``vllm`` alone."""
    min_vllm_version: Version | None = None
    """Raises the floor, where the layout's own flags are newer than a model."""
    dp_router: DpRouter | None = None


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
