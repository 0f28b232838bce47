"""Figures of a fitted model: the data, the forecast, and the additive parts it is made of.

    >>> figure = fathom.plotting.components(model, dataset=data, horizon=24)
    >>> fathom.plotting.save(figure, "parts.svg")

Colour carries meaning: grey is data, one accent is the model, each part has its own from the Okabe-Ito set, which
colour-blind readers can tell apart; opacity is probability. The look is in `style.py`, the words are in
`report/words`, the time ticks in `ticks.py`.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fathom.data.columns import Columns
from fathom.data.dataset import Dataset
from fathom.data.table import listing
from fathom.kernels.base import Kernel
from fathom.kernels.leaves import is_noise
from fathom.plotting import style
from fathom.plotting.ticks import set_time_ticks
from fathom.predictive import Predictive
from fathom.report.facts.setting import Axis
from fathom.report.measure.anatomy import inputs_of
from fathom.report.model import Fitted, inputs, predict
from fathom.report.words.text import capital, title, uncapital

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

SERIES = style.Layout(header=1.02, first=2.9, others=1.1, gap=0.5)
EFFECTS = style.Layout(header=1.15, first=1.5, others=1.5, gap=0.9)
FINEST = 500  # places at which a curve is drawn
MOST_DOTS = 2000


@dataclass(frozen=True)
class _View:
    """A model with the data to show beside it, and the reader's names for everything."""

    model: Fitted
    X: np.ndarray
    y: np.ndarray
    columns: Columns

    @classmethod
    def of(cls, model: Fitted, X: Rows | None, y: Rows | None, dataset: Dataset | None) -> _View:
        if (X is None) != (y is None):
            raise ValueError("components: give both X and y, or neither to show the training data")
        if model.posterior_.Y.shape[1] > 1:
            raise ValueError("components: the model has several targets; fit one at a time to see its parts")
        if X is None and dataset is not None:
            X, y = dataset.X, dataset.y
        elif X is None:
            X, y = model.scaler_.x_back(model.posterior_.X), model.scaler_.y_back(model.posterior_.Y)
        X = np.asarray(X, dtype=float)
        X, y = X[:, None] if X.ndim == 1 else X, np.asarray(y, dtype=float).reshape(-1)
        if len(X) != len(y):
            raise ValueError(f"components: {len(y)} values of y for {len(X)} rows of X; give one for each")
        columns = dataset.columns if dataset is not None else getattr(model, "columns_", None)
        return cls(model, X, y, columns or _plain_columns(model, X.shape[1]))

    def label(self, name: str) -> str:
        """A name with its unit."""
        return f"{name} ({self.columns.units[name]})" if name in self.columns.units else name

    @property
    def target(self) -> str:
        return self.columns.target[0] if self.columns.target else "y"

    @property
    def unit(self) -> str:
        return self.columns.units.get(self.target, "")

    @property
    def thinning(self) -> int:
        """How many rows there are to one that is drawn: thousands more would be heavier, not clearer."""
        return -(-len(self.X) // MOST_DOTS)

    def axis(self, i: int) -> Axis:
        name = self.columns.names[i]
        rule = self.columns.rule if i == self.columns.time else None
        return Axis(name, self.columns.units.get(name, ""), rule, float(self.X[:, i].min()), float(self.X[:, i].max()))

    def inputs(self, X: np.ndarray) -> Rows:
        """Rows with the names that the model was fitted with."""
        return inputs(self.model, X)


def _plain_columns(model: Fitted, width: int) -> Columns:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = ["x"] if width == 1 else [f"x{i}" for i in range(width)]
    return Columns(tuple(map(str, names)), ("y",))


def components(
    model: Fitted,
    X: Rows | None = None,
    y: Rows | None = None,
    *,
    dataset: Dataset | None = None,
    horizon: int = 0,
) -> Figure:
    """Draw the data, the forecast and every additive part of a fitted regressor.

    With one input: the data and the posterior, continued by `horizon` steps, above one panel for each part. With
    several: the effect of each part that depends on a single input. `dataset` lends names, units and dates; without
    it they come from the model, and without `X` and `y` so do the data.
    """
    view = _View.of(model, X, y, dataset)
    if horizon < 0:
        raise ValueError(f"horizon {horizon}: give the number of steps to continue, 0 or more")
    if horizon and view.X.shape[1] > 1:
        raise ValueError("horizon: only a model of one input can be continued; leave it out")
    with mpl.rc_context(style.STYLE):
        return _series(view, horizon) if view.X.shape[1] == 1 else _effects(view)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as .svg (text stays text), .png or .pdf; the same figure gives the same bytes."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".svg", ".png", ".pdf"):
        raise ValueError(f"cannot draw {path.name!r}: end its name in .svg, .png or .pdf")
    date = {".svg": "Date", ".pdf": "CreationDate"}.get(kind)
    about = {"Title": figure.get_label()} | ({date: None} if date else {})
    stream = io.BytesIO()
    with mpl.rc_context(style.STYLE):
        figure.savefig(stream, format=kind[1:], dpi=160, facecolor="white", metadata=about)
    data = stream.getvalue()
    if kind == ".svg":  # text is measured in a font that ships with Matplotlib, but shown in the reader's own
        data = data.replace(b"'DejaVu Sans'", style.SYSTEM_FONTS.encode())
        data = re.sub(rb"<[^>]+>", _coarse, data)
    path.write_bytes(data)


def _coarse(tag: re.Match[bytes]) -> bytes:
    """An SVG tag with coordinates in hundredths of a point: as fine as can be seen, and half the size."""
    return re.sub(rb"(?<=\d\.\d\d)\d+", b"", tag.group())


# -- one input ---------------------------------------------------------------------------------------------------


def _series(view: _View, horizon: int) -> Figure:
    x, axis = view.X[:, 0], view.axis(0)
    end = _end(axis, x, horizon)
    places = _places(x, end)
    parts = _parts(view, places)
    figure, panels = style.stack(len(parts), SERIES)
    _draw_whole(panels[0], view, places)
    for panel, (part, predictive, colour) in zip(panels[1:], parts, strict=True):
        _draw_part(panel, view, part, axis, places, predictive, colour)
    for panel in panels:
        style.tidy(panel, bottom=panel is panels[-1])
        panel.set_xlim(axis.low, end)
        if end > axis.high:
            panel.axvspan(axis.high, end, facecolor=style.GROUND, edgecolor="none", zorder=-2)
            panel.axvline(axis.high, color=style.DATA, lw=0.7, zorder=-1)
    set_time_ticks(panels[-1].xaxis, axis.rule, axis.low, end)
    panels[-1].set_xlabel(view.label(axis.name))
    _head(figure, panels[0], view, axis, end)
    style.place(figure, panels, SERIES)
    return figure


def _end(axis: Axis, x: np.ndarray, horizon: int) -> float:
    if horizon == 0:
        return axis.high
    if axis.rule is not None:
        return float(axis.rule.future(axis.high, horizon)[-1])
    return axis.high + horizon * float(np.median(np.diff(np.unique(x))))


def _places(x: np.ndarray, end: float) -> np.ndarray:
    """Where curves are drawn: evenly, and at the data themselves unless there are too many to see."""
    own = np.unique(x)
    return np.union1d(np.linspace(own[0], end, FINEST), own if len(own) <= FINEST else own[:1])


def _parts(view: _View, places: np.ndarray) -> list[tuple[tuple[str, Kernel], Predictive, str]]:
    """Every part with its posterior and colour: those that move the most first, noise last."""
    kernels = view.model.parts_
    found = view.model.components(view.inputs(places[:, None]))
    inside = places <= view.X[:, 0].max()
    order = sorted(kernels, key=lambda name: (is_noise(kernels[name]), -float(np.std(found[name].mean()[inside]))))
    colours = iter(style.PARTS * len(order))
    return [((n, kernels[n]), found[n], style.DATA if is_noise(kernels[n]) else next(colours)) for n in order]


def _draw_whole(panel: Axes, view: _View, places: np.ndarray) -> None:
    predictive = predict(view.model, places[:, None])
    style.curve(panel, places, predictive, style.ACCENT)
    _dots(panel, view, view.y, 1.0)
    panel.set_ylabel(view.label(view.target))
    panel.margins(y=0.06)
    style.end_labels(panel, places[-1], predictive, style.ACCENT, SERIES.first, "mean")


def _draw_part(
    panel: Axes,
    view: _View,
    part: tuple[str, Kernel],
    axis: Axis,
    places: np.ndarray,
    predictive: Predictive,
    colour: str,
) -> None:
    name, kernel = part
    noise = is_noise(kernel)
    panel.axhline(0, color=style.FAINT, lw=0.8, zorder=-1)
    style.curve(panel, places, predictive, colour, line=not noise)
    if noise:  # at new inputs its mean is zero; what it explains is what the other parts leave over
        residual = view.y - view.model.predict(view.inputs(view.X))
        _dots(panel, view, residual, 0.8)
    words = title(kernel, axis)
    if noise and kernel.name == "WN":
        words += f" with a standard deviation of {style.number_text(np.sqrt(kernel.variance), 3)} {view.unit}".rstrip()
    style.caption(panel, words, name, style.SOFT if noise else colour)
    panel.set_ylabel(view.unit or view.target)
    style.end_labels(
        panel, places[-1], predictive, style.SOFT if noise else colour, SERIES.others, None if noise else ""
    )


def _head(figure: Figure, panel: Axes, view: _View, axis: Axis, end: float) -> None:
    ahead = f", and on to {axis.place(end)}" if end > axis.high else ""
    words = f"{view.target}, {axis.place(axis.low)} to {axis.place(axis.high)}{ahead}"
    few = f", one in {view.thinning}" if view.thinning > 1 else ""
    level = float(view.model.components(view.inputs(view.X[:1]))["constant"].mean()[0])
    style.heading(
        figure,
        capital(words),
        f"Dots are observations{few}; the line is what the model expects, with bands of 50 % and 90 %.\n"
        + f"The parts below add up to it, around a level of {style.number_text(level, 4)} {view.unit}".rstrip()
        + ".",
    )
    if end > axis.high:
        style.note(panel, axis.high, f"last observation {axis.place(axis.high)}", style.SOFT, left=True)
        style.note(panel, axis.high, "forecast", style.ACCENT, left=False)


# -- several inputs ----------------------------------------------------------------------------------------------


def _effects(view: _View) -> Figure:
    kernels = {name: part for name, part in view.model.parts_.items() if not is_noise(part)}
    chosen = {name: inputs_of(part, view.columns.names) for name, part in kernels.items()}
    single = [name for name in kernels if len(chosen[name]) == 1]
    if not single:
        raise ValueError(
            "components: no part of the kernel depends on one input alone; "
            'a sum such as "SE[0] + SE[1]" has parts that can be drawn'
        )
    figure, panels = style.stack(len(single) - 1, EFFECTS)
    for panel, name, colour in zip(panels, single, style.PARTS * len(single), strict=False):
        _draw_effect(panel, view, (name, kernels[name]), chosen[name][0], colour)
        style.tidy(panel, bottom=True)
    skipped = [name for name in kernels if name not in single]
    note = f"Not drawn, for they join several inputs: {listing(skipped, most=4)}." if skipped else ""
    about = "Each line is the effect of one input, with bands of 50 % and 90 %; ticks on the axis are rows of the data."
    style.heading(figure, f"What moves {view.target}", f"{about}\n{note}")
    style.place(figure, panels, EFFECTS)
    return figure


def _draw_effect(panel: Axes, view: _View, part: tuple[str, Kernel], i: int, colour: str) -> None:
    name, kernel = part
    axis = view.axis(i)
    places = np.linspace(axis.low, axis.high, 300)
    X = np.tile(view.X.mean(axis=0), (len(places), 1))  # the others do not matter to this part
    X[:, i] = places
    rug = view.X[:: view.thinning, i]
    panel.axhline(0, color=style.FAINT, lw=0.8, zorder=-1)
    style.curve(panel, places, view.model.components(view.inputs(X))[name], colour)
    panel.plot(rug, np.zeros(len(rug)), "|", color=style.DATA, ms=5, mew=0.5, transform=panel.get_xaxis_transform())
    panel.set_xlim(axis.low, axis.high)
    set_time_ticks(panel.xaxis, axis.rule, axis.low, axis.high)
    panel.set_xlabel(view.label(axis.name))
    panel.set_ylabel(view.unit or view.target)
    words = title(kernel, axis)
    style.caption(panel, f"{axis.name}: {uncapital(words)}", name, colour)


def _dots(panel: Axes, view: _View, values: np.ndarray, size: float) -> None:
    shown = slice(None, None, view.thinning)
    size *= float(np.clip(60 / np.sqrt(len(values[shown])), 1.5, 5))
    panel.plot(view.X[shown, 0], values[shown], ".", color=style.DATA, ms=size, mew=0, zorder=3, clip_on=False)
