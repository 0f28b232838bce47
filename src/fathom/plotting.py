"""Figures of a fitted model: the data, the forecast, and the additive parts it is made of.

    >>> figure = fathom.plotting.components(model, dataset=data, horizon=24)
    >>> fathom.plotting.save(figure, "parts.svg")

Colour carries meaning: grey is data, one accent is the model, each part has its own from the Okabe-Ito set, which
colour-blind readers can tell apart; opacity is probability. The words are in `partnames.py`, the time ticks in
`timeticks.py`.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fathom.compare import named
from fathom.data import Columns, Dataset
from fathom.kernels.base import Kernel
from fathom.kernels.leaves import is_noise
from fathom.partnames import Axis, inputs_of, title
from fathom.predictive import Predictive
from fathom.timeticks import set_time_ticks

ACCENT = "#0072B2"
PARTS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe-Ito, less the accent and pale yellow
INK, SOFT, FAINT, DATA, GROUND = "#222222", "#666666", "#DDDDDD", "#8A8A8A", "#F6F3EC"
BANDS = ((0.9, 0.16), (0.5, 0.24))  # level, opacity: the inner band lies on the outer one
STYLE: Any = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with Matplotlib: text measures the same everywhere
    "font.monospace": ["DejaVu Sans Mono"],
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "svg.fonttype": "none",
    "svg.hashsalt": "fathom",
}
SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans'"

WIDTH, RIGHT, FOOTER = 8.0, 0.55, 0.72  # inches


@dataclass(frozen=True)
class _Layout:
    """Heights in inches, from the top."""

    header: float
    first: float
    others: float
    gap: float

    def figure(self, n_parts: int) -> float:
        return self.header + self.first + n_parts * (self.gap + self.others) + FOOTER


SERIES = _Layout(header=1.02, first=2.9, others=1.1, gap=0.5)
EFFECTS = _Layout(header=1.15, first=1.5, others=1.5, gap=0.9)
FINEST = 500  # places at which a curve is drawn


@dataclass(frozen=True)
class _View:
    """A model with the data to show beside it, and the reader's names for everything."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    columns: Columns

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, dataset: Dataset | None) -> _View:
        if (X is None) != (y is None):
            raise ValueError("components: give both X and y, or neither to show the training data")
        if model.posterior_.Y.shape[1] > 1:
            raise ValueError("components: the model has several targets; fit one at a time to see its parts")
        if X is None and dataset is not None:
            X, y = dataset.X, dataset.y
        elif X is None:
            X, y = model.scaler_.x_back(model.posterior_.X), model.scaler_.y_back(model.posterior_.Y)
        X = np.asarray(X, dtype=float)
        X = X[:, None] if X.ndim == 1 else X
        columns = dataset.columns if dataset is not None else getattr(model, "columns_", None)
        return cls(model, X, np.asarray(y, dtype=float).reshape(-1), columns or _plain_columns(model, X.shape[1]))

    def label(self, name: str) -> str:
        """A name with its unit."""
        return f"{name} ({self.columns.units[name]})" if name in self.columns.units else name

    @property
    def target(self) -> str:
        return self.columns.target[0] if self.columns.target else "y"

    @property
    def unit(self) -> str:
        return self.columns.units.get(self.target, "")

    def axis(self, i: int) -> Axis:
        name = self.columns.names[i]
        rule = self.columns.rule if i == self.columns.time else None
        return Axis(name, self.columns.units.get(name, ""), rule, float(self.X[:, i].min()), float(self.X[:, i].max()))

    def inputs(self, X: np.ndarray) -> Any:
        return named(X, getattr(self.model, "feature_names_in_", None))


def _plain_columns(model: Any, width: int) -> Columns:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = ["x"] if width == 1 else [f"x{i}" for i in range(width)]
    return Columns(tuple(map(str, names)), ("y",))


def components(model: Any, X: Any = None, y: Any = None, *, dataset: Dataset | None = None, horizon: int = 0) -> Figure:
    """The data, the forecast and every additive part of a fitted regressor.

    With one input: the data and the posterior, continued by `horizon` steps, above one panel for each part. With
    several: the effect of each part that depends on a single input. `dataset` lends names, units and dates; without
    it they come from the model, and without `X` and `y` so do the data.
    """
    view = _View.of(model, X, y, dataset)
    if horizon < 0:
        raise ValueError(f"horizon {horizon}: give the number of steps to continue, 0 or more")
    with mpl.rc_context(STYLE):
        return _series(view, horizon) if view.X.shape[1] == 1 else _effects(view)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as .svg (text stays text), .png or .pdf; the same figure gives the same bytes."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".svg", ".png", ".pdf"):
        raise ValueError(f"cannot draw {path.name!r}: end its name in .svg, .png or .pdf")
    dates: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[kind]
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(
            stream, format=kind[1:], dpi=160, facecolor="white", metadata={"Title": figure.get_label()} | dates
        )
    data = stream.getvalue()
    if kind == ".svg":  # text is measured in a font that ships with Matplotlib, but shown in the reader's own
        data = data.replace(b"'DejaVu Sans'", SYSTEM_FONTS.encode())
        data = re.sub(rb"(?<=\d\.\d\d)\d+", b"", data)  # hundredths of a point are enough, and half the size
    path.write_bytes(data)


# -- one input ---------------------------------------------------------------------------------------------------


def _series(view: _View, horizon: int) -> Figure:
    x, axis = view.X[:, 0], view.axis(0)
    end = _end(axis, x, horizon)
    places = _places(x, end)
    parts = _parts(view, places)
    figure, panels = _stack(len(parts), SERIES)
    _draw_whole(panels[0], view, places)
    for panel, (part, predictive, colour) in zip(panels[1:], parts, strict=True):
        _draw_part(panel, view, part, axis, places, predictive, colour)
    for panel in panels:
        _tidy(panel, bottom=panel is panels[-1])
        panel.set_xlim(axis.low, end)
        if end > axis.high:
            panel.axvspan(axis.high, end, facecolor=GROUND, edgecolor="none", zorder=-2)
            panel.axvline(axis.high, color=DATA, lw=0.7, zorder=-1)
    set_time_ticks(panels[-1].xaxis, axis.rule, axis.low, end)
    panels[-1].set_xlabel(view.label(axis.name))
    _head(figure, panels[0], view, axis, end)
    _place(figure, panels, SERIES)
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
    colours = iter(PARTS * len(order))
    return [((n, kernels[n]), found[n], DATA if is_noise(kernels[n]) else next(colours)) for n in order]


def _draw_whole(panel: Axes, view: _View, places: np.ndarray) -> None:
    predictive = view.model.predict_dist(view.inputs(places[:, None]))
    _curve(panel, places, predictive, ACCENT)
    panel.plot(view.X[:, 0], view.y, ".", color=DATA, ms=_dot(len(view.y)), mew=0, zorder=3, clip_on=False)
    panel.set_ylabel(view.label(view.target))
    panel.margins(y=0.06)
    _end_labels(panel, places[-1], predictive, ACCENT, SERIES.first, "mean")


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
    panel.axhline(0, color=FAINT, lw=0.8, zorder=-1)
    _curve(panel, places, predictive, colour, line=not noise)
    if noise:  # at new inputs its mean is zero; what it explains is what the other parts leave over
        residual = view.y - view.model.predict(view.inputs(view.X))
        panel.plot(view.X[:, 0], residual, ".", color=DATA, ms=0.8 * _dot(len(residual)), mew=0, clip_on=False)
    words = title(kernel, axis)
    if noise and kernel.name == "WN":
        words += f" with a standard deviation of {_number(np.sqrt(kernel.variance), 3)} {view.unit}".rstrip()
    _caption(panel, words, name, SOFT if noise else colour)
    panel.set_ylabel(view.unit or view.target)
    _end_labels(panel, places[-1], predictive, SOFT if noise else colour, SERIES.others, None if noise else "")


def _head(figure: Figure, panel: Axes, view: _View, axis: Axis, end: float) -> None:
    ahead = f", and on to {axis.place(end)}" if end > axis.high else ""
    words = f"{view.target}, {axis.place(axis.low)} to {axis.place(axis.high)}{ahead}"
    words = words[:1].upper() + words[1:]
    level = float(view.model.components(view.inputs(view.X[:1]))["constant"].mean()[0])
    _heading(
        figure,
        words,
        "Dots are observations; the line is what the model expects, with bands of 50 % and 90 %.\n"
        + f"The parts below add up to it, around a level of {_number(level, 4)} {view.unit}".rstrip()
        + ".",
    )
    if end > axis.high:
        where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 8}
        panel.annotate(
            f"last observation {axis.place(axis.high)}", (axis.high, 1), (-4, 4), ha="right", color=SOFT, **where
        )
        panel.annotate("forecast", (axis.high, 1), (4, 4), ha="left", color=ACCENT, **where)


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
    figure, panels = _stack(len(single) - 1, EFFECTS)
    for panel, name, colour in zip(panels, single, PARTS * len(single), strict=False):
        _draw_effect(panel, view, (name, kernels[name]), chosen[name][0], colour)
        _tidy(panel, bottom=True)
    skipped = [name for name in kernels if name not in single]
    note = f"Not drawn, for they join several inputs: {', '.join(skipped)}." if skipped else ""
    about = "Each line is the effect of one input, with bands of 50 % and 90 %; ticks on the axis are rows of the data."
    _heading(figure, f"What moves {view.target}", f"{about}\n{note}")
    _place(figure, panels, EFFECTS)
    return figure


def _draw_effect(panel: Axes, view: _View, part: tuple[str, Kernel], i: int, colour: str) -> None:
    name, kernel = part
    axis = view.axis(i)
    places = np.linspace(axis.low, axis.high, 300)
    X = np.tile(view.X.mean(axis=0), (len(places), 1))  # the others do not matter to this part
    X[:, i] = places
    panel.axhline(0, color=FAINT, lw=0.8, zorder=-1)
    _curve(panel, places, view.model.components(view.inputs(X))[name], colour)
    panel.plot(
        view.X[:, i], np.zeros(len(view.X)), "|", color=DATA, ms=5, mew=0.5, transform=panel.get_xaxis_transform()
    )
    panel.set_xlim(axis.low, axis.high)
    set_time_ticks(panel.xaxis, axis.rule, axis.low, axis.high)
    panel.set_xlabel(view.label(axis.name))
    panel.set_ylabel(view.unit or view.target)
    words = title(kernel, axis)
    _caption(panel, f"{axis.name}: {words[:1].lower()}{words[1:]}", name, colour)


# -- drawing -----------------------------------------------------------------------------------------------------


def _curve(panel: Axes, x: np.ndarray, predictive: Predictive, colour: str, line: bool = True) -> None:
    for level, opacity in BANDS:
        lower, upper = predictive.interval(level)
        panel.fill_between(x, lower, upper, color=colour, alpha=opacity, lw=0)
    if line:
        panel.plot(x, predictive.mean(), color=colour, lw=1.3)


def _end_labels(panel: Axes, end: float, predictive: Predictive, colour: str, height: float, line: str | None) -> None:
    """Names beside the ends of the bands and of the line, if there is one, as far as there is room for them."""
    low, high = panel.get_ylim()
    least = 11 / (72 * height) * (high - low)  # apart: one line of text
    ends = [(line, float(predictive.mean()[-1]))] if line is not None else []
    ends += [(f"{100 * level:.0f} %", float(predictive.interval(level)[1][-1])) for level, _ in BANDS]
    taken: list[float] = []
    for text, value in ends:
        if low <= value <= high and all(abs(value - other) >= least for other in taken):
            where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
            panel.annotate(text, (end, value), (5, 0), color=colour, fontsize=8, **where)
            taken.append(value)


def _dot(n: int) -> float:
    return float(np.clip(60 / np.sqrt(n), 1.5, 5))


def _caption(panel: Axes, words: str, kernel: str, colour: str) -> None:
    where: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    crowded = 0.073 * len(words) + 0.06 * len(kernel) > 6.4  # inches on one line
    lines = textwrap.fill(words, 60) if crowded else words
    panel.annotate(lines, (0, 1), (0, 7), ha="left", color=colour, weight="bold", **where)
    panel.annotate(kernel, (1, 1), (0, 7), ha="right", color=SOFT, fontsize=7, family="monospace", **where)


def _heading(figure: Figure, words: str, below: str) -> None:
    figure.set_label(words)
    height = figure.get_figheight()
    figure.text(0.2 / WIDTH, 1 - 0.32 / height, words, fontsize=13, weight="bold", va="baseline")
    figure.text(0.2 / WIDTH, 1 - 0.44 / height, below, fontsize=8, color=SOFT, va="top", linespacing=1.5)


def _tidy(panel: Axes, bottom: bool) -> None:
    """Few ticks, faint lines, no box."""
    for side in ("top", "left", "right"):
        panel.spines[side].set_visible(False)
    panel.spines["bottom"].set_visible(bottom)
    panel.spines["bottom"].set_linewidth(0.8)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=5 if panel.get_label() == "whole" else 3, steps=[1, 2, 2.5, 5, 10]))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    panel.grid(axis="y", color=FAINT, lw=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(axis="both", length=0, labelsize=8, labelcolor=SOFT, labelfontfamily="sans-serif")
    panel.tick_params(axis="x", length=3 * bottom, width=0.8, color=SOFT, labelbottom=bottom)
    panel.yaxis.label.set_fontsize(8)
    panel.xaxis.label.set_fontsize(8)


def _number(value: float, digits: int = 6) -> str:
    value = float(f"{value:.{digits}g}")
    text = f"{value:,.12g}" if abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _stack(n_parts: int, layout: _Layout) -> tuple[Figure, list[Axes]]:
    """A figure with one panel over `n_parts` others, still to be placed."""
    figure = Figure(figsize=(WIDTH, layout.figure(n_parts)))
    labels = ["whole", *(f"part {i + 1}" for i in range(n_parts))]
    return figure, [figure.add_axes((0.1, 0.1, 0.8, 0.1), label=label) for label in labels]


def _place(figure: Figure, panels: Sequence[Axes], layout: _Layout) -> None:
    """Panels flush with each other; the left margin fits the longest number."""
    height = figure.get_figheight()
    longest = max(len(_number(tick)) for panel in panels for tick in panel.get_yticks())
    left = 0.4 + 0.075 * max(longest, 3)
    width = WIDTH - left - RIGHT
    top = height - layout.header
    for panel in panels:
        size = layout.first if panel is panels[0] else layout.others
        panel.set_position((left / WIDTH, (top - size) / height, width / WIDTH, size / height))
        panel.yaxis.set_label_coords(-(left - 0.22) / width, 0.5)
        top -= size + layout.gap
