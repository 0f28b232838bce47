"""Figures of fitted models: their additive parts with a forecast, and the layers of a deep GP.

    >>> figure = fathom.plotting.components(model, dataset=data, horizon=24)
    >>> fathom.plotting.save(figure, "parts.svg")

matplotlib is used here only. May import every room but the command line.
"""

from fathom.plotting.deep import layers
from fathom.plotting.parts import components, save

__all__ = ["components", "layers", "save"]
