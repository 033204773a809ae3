"""The operating points of a preset, each as a deployment of its own."""

from __future__ import annotations

from dataclasses import replace

from recipes_core.catalog.documents import OperatingPoint
from recipes_core.configuration import Configuration
from recipes_core.deployment import deploy
from recipes_core.deployment.model import Deployment, ReaderValues


def point_deployments(
    config: Configuration, values: ReaderValues | None = None
) -> list[tuple[OperatingPoint, Deployment]]:
    """Every point of the preset of a configuration, in the recipe's order.

    Args:
        config: A configuration under a preset; without one there are no points.
        values: What the reader fills in.
    """
    points = config.preset.points if config.preset else ()
    return [(point, deploy(replace(config, point=point), values)) for point in points]
