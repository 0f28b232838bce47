"""The picture of a deep GP: the composition, and every unit of every layer with its inducing points and draws.

As in the figures of the DGPS thesis, chapter 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fathom.base.compiling import precision
from fathom.plotting import style
from fathom.plotting.style import ACCENT, DATA, PARTS

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.data.columns import Scaler
    from fathom.deep.ensemble import Ensemble
    from fathom.deep.functions import Unit
    from fathom.deep.model import DeepGP

WHOLE = style.Layout(header=1.0, first=2.6, others=1.6, gap=0.85)
PLACES = 200
MARGIN = 0.15  # of the range, drawn on either side
DRAWS = 12


class Layered(Protocol):
    """What the picture needs of a fitted deep model."""

    n_features_in_: int
    scaler_: Scaler
    learnt_: Ensemble

    @property
    def inference(self) -> object:
        """The inference method, or its name."""

    @property
    def model_(self) -> DeepGP:
        """The layers of the heaviest model."""


def layers(
    model: Layered, X: Rows | None = None, y: Rows | None = None, *, n_draws: int = DRAWS, seed: int = 0
) -> Figure:
    """Draw a fitted deep model of one input: its predictive distribution with whole functions, then every unit.

    A unit of one input is drawn against that input, with its inducing points; a unit of several against the model's
    input, through the layers below it. `X` and `y` are shown if given. Works for every inference method.
    """
    if model.n_features_in_ != 1:
        raise ValueError(
            f"layers: the model has {model.n_features_in_} inputs, and only one can be drawn along an axis"
        )
    if (X is None) != (y is None):
        raise ValueError("layers: give both X and y, or neither")
    from fathom.deep.functions import units

    places = np.linspace(*_range(model, X), PLACES)[:, None]
    standard = model.scaler_.x(places)
    with precision(model.learnt_.dtype):
        paths = model.learnt_.functions(standard, n_draws, seed)
        each = units(model.model_, standard, seed, n_draws)
    with mpl.rc_context(style.STYLE):
        figure, panels = style.stack(len(each), WHOLE)
        _draw_whole(panels[0], model, places, paths, X, y)
        for i, (panel, unit) in enumerate(zip(panels[1:], each, strict=True)):
            _draw_unit(panel, unit, PARTS[i % len(PARTS)])
        for panel in panels:
            style.tidy(panel, True)
        _words(figure, model, n_draws)
        style.place(figure, panels, WHOLE)
    return figure


def _range(model: Layered, X: Rows | None) -> tuple[float, float]:
    if X is not None:
        low, high = float(np.min(X)), float(np.max(X))
    else:
        Z = model.scaler_.x_back(np.asarray(model.model_.layers[0].Z[0], dtype=float))
        low, high = float(Z.min()), float(Z.max())
    edge = MARGIN * ((high - low) or 1.0)
    return low - edge, high + edge


def _draw_whole(
    panel: Axes, model: Layered, places: np.ndarray, drawn: np.ndarray, X: Rows | None, y: Rows | None
) -> None:
    if hasattr(model, "predict_dist"):
        predictive = model.predict_dist(places)
        if np.ndim(predictive.mean()) == 1:
            style.curve(panel, places[:, 0], predictive, ACCENT)
        drawn = model.scaler_.y_mean + model.scaler_.y_sd * drawn
    for path in drawn:
        panel.plot(places[:, 0], path[:, 0], color=ACCENT, lw=0.5, alpha=0.5)
    if X is not None and y is not None and hasattr(model, "predict_dist"):
        panel.plot(np.ravel(np.asarray(X)), np.ravel(np.asarray(y)), ".", color=DATA, ms=3, zorder=0)
    panel.set_xlabel("input")
    panel.set_ylabel("output" if hasattr(model, "predict_dist") else "latent function")
    panel.set_xlim(places[0, 0], places[-1, 0])


def _draw_unit(panel: Axes, unit: Unit, colour: str) -> None:
    for path in unit.drawn:
        panel.plot(unit.at, path, color=colour, lw=0.6, alpha=0.55)
    panel.plot(unit.at, unit.mean, color=colour, lw=1.4)
    if unit.Z is not None and unit.u is not None:
        panel.plot(unit.Z, unit.u, "o", ms=4, mfc="white", mec=colour, mew=1.1, zorder=3)
    panel.set_xlim(unit.at.min(), unit.at.max())
    panel.set_title(unit.name, loc="left", fontsize=9, color=colour)
    panel.set_xlabel(unit.axis)


def _words(figure: Figure, model: Layered, n_draws: int) -> None:
    widths = ", ".join(str(w) for w in model.model_.widths) or "none"
    below = f"Mean with 50 % and 90 % bands, {n_draws} drawn functions; circles are inducing points.\n"
    n, share = len(model.learnt_.models), model.learnt_.weights[0]
    whose = f" of the heaviest of {n} averaged models ({share:.0%})" if n > 1 else ""
    title = f"A deep GP by {model.inference}, hidden widths: {widths}"
    style.heading(figure, title, f"{below}Layers{whose} are in standard units.")
