"""Figures of fitted models, in Matplotlib.

    >>> figure = fathom.plotting.components(model, dataset=data, horizon=24)
    >>> fathom.plotting.save(figure, "parts.svg")

- `parts`: the additive parts with a forecast, and saving. `deep`: the layers of a deep GP.
- `style`: colours, panels and the words on them. `ticks`: dates on an axis.

Matplotlib is used here only. May import every room up to `report`.
"""

from fathom.plotting.deep import layers
from fathom.plotting.parts import components, save

__all__ = ["components", "layers", "save"]
