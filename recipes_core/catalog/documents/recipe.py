"""A recipe file: a model, its variants and features, and the settings that somebody tuned."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field

from recipes_core.catalog.documents.base import (
    Args,
    Bool,
    Companion,
    Document,
    Env,
    Evidence,
    FeatureHardwareOverride,
    Frontend,
    HardwareKey,
    HardwareOverride,
    Image,
    RequestKind,
    Selector,
    Support,
    Version,
    Word,
)
from recipes_core.catalog.documents.omni import Omni
from recipes_core.catalog.documents.strategies import (
    DpRouter,
    PoolOverride,
    RouterSettings,
    StrategyOverride,
)
from recipes_core.catalog.documents.variants import Variant


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
