"""The omni part of a recipe: tasks, each with a command and a request of its own."""

from __future__ import annotations

from recipes_core.catalog.documents.base import Args, Document, Env, HardwareKey


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
