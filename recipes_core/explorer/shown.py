"""What is on screen: a configuration with its deployment, and what follows from the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, Process
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding

if TYPE_CHECKING:
    from recipes_core.sizing import Sizing


@dataclass(frozen=True, eq=False)
class Shown:
    """A configuration and its deployment.

    Memory and the judgement of vLLM's parser take longer than the commands: they are worked out
    when they are first asked for, so that the command need not wait.
    """

    configuration: Configuration
    deployment: Deployment

    @cached_property
    def _sized(self) -> tuple[list[tuple[Process, Sizing]], str]:
        from recipes_core.sizing.configuration import size_processes

        try:
            return size_processes(self.configuration, self.deployment), ""
        except RecipesError as error:
            return [], str(error)

    @property
    def sizings(self) -> list[tuple[Process, Sizing]]:
        """The memory of each engine that differs from the others."""
        return self._sized[0]

    @property
    def sizing_problem(self) -> str:
        """Why memory could not be computed; empty where it could."""
        return self._sized[1]

    @property
    def tightest(self) -> Sizing | None:
        """The engine that has the least room."""
        from recipes_core.sizing.configuration import tightest

        return tightest(sized for _, sized in self.sizings)

    @cached_property
    def findings(self) -> list[Finding]:
        """The deployment's findings, and what vLLM's own parser would say of its commands."""
        from recipes_core.render.beside import command_findings

        try:
            checked = command_findings(self.deployment)
        except RecipesError as error:
            checked = [Finding("error", "vllm-version", str(error), "vllm")]
        return [*self.deployment.findings, *checked]
