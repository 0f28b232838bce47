"""How rows pass through the hidden layers of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Update = Literal["adf", "plug-in", "trajectory"]


@dataclass(frozen=True)
class Way:
    """How rows pass through hidden layers, and what a layer learns of its outputs.

    "adf": the pseudo-observation that takes their prior moments to their posterior ones; "plug-in": their posterior
    mean as if it had been observed; "trajectory": one particle, drawn by weight, through all layers.
    """

    n_particles: int = 100
    update: Update = "adf"
    logistic: bool = False  # layers see 1/(1 + exp(−h)) of the outputs h before them


ONE = Way(1)
