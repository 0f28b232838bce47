"""The pictures of a series: each component alone and with those before it, and draws of the future."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fathom.predictive import Predictive
from fathom.report.draw.hover import told
from fathom.report.draw.scales import axis_ticks, limits, number_ticks
from fathom.report.draw.svg import (
    MOST_DOTS,
    Band,
    Panel,
    dot_size,
    normal_bands,
    picture,
    plot_box,
    small_panel,
    thinned,
)
from fathom.report.facts.fold import Fold
from fathom.report.facts.part import Z90, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Facts
from fathom.report.words import phrases

MOST_PLACES = 4000  # at which a component is drawn
FAINTEST = 0.03  # of the range of the data: smaller swings are not seen in a picture of the whole
MOST_CYCLES = 12  # in a sparkline


@dataclass(frozen=True, eq=False)
class Along:
    """What the model expects of observations at some places."""

    x: np.ndarray
    expected: Predictive

    def bands(self) -> list[Band]:
        """The 90 % and 50 % bands."""
        return [(*self.expected.interval(level), shade) for level, shade in ((0.9, "b90"), (0.5, "b50"))]


@dataclass(frozen=True, eq=False)
class Series:
    """What the pictures of a series share: the facts, the observations in order, and the forecast of the whole."""

    facts: Facts
    rows: np.ndarray  # the input, row by row
    order: np.ndarray  # of the rows, along the input
    x: np.ndarray
    y: np.ndarray
    whole: Along
    near: Along | None  # the last cycles and the first ahead, where the record has too many to be drawn
    answers: Along  # where a script tells numbers
    stepwise: bool  # True where the whole is drawn at the steps of the record, for its cycles have few
    folds: dict[str, Fold]  # the cycles, by the key of their part
    odd: np.ndarray  # rows of the data that the model finds improbable

    @property
    def axis(self) -> Axis:
        return self.facts.setting.axes[0]

    @property
    def end(self) -> float:
        return float(self.whole.x[-1])

    @property
    def unit(self) -> str:
        """What the y axis counts: the unit or, without one, the name."""
        return self.facts.setting.unit or self.facts.setting.target

    @cached_property
    def shown(self) -> np.ndarray:
        """Which observations are drawn."""
        return thinned(len(self.x), MOST_DOTS)

    @cached_property
    def seen(self) -> np.ndarray:
        """What was observed where a script tells numbers, NaN where nothing was."""
        places = np.minimum(np.searchsorted(self.x, self.answers.x), len(self.x) - 1)
        return np.where(self.x[places] == self.answers.x, self.y[places], np.nan)

    def span(self) -> tuple[float, float]:
        return self.axis.low, self.end


def cycle_of(c: Component) -> float:
    """The period of a cycle, infinite of another part."""
    return c.shape.cycle.period if c.head == "cycle" and c.shape is not None and c.shape.cycle else np.inf


def cycles(facts: Facts, y: np.ndarray) -> list[float]:
    """The periods of the cycles that show in a picture of the whole, the fastest first."""
    least = FAINTEST * float(np.ptp(y))
    shown = [c for c in facts.components if cycle_of(c) < np.inf and c.at_data.high - c.at_data.low > least]
    return sorted(cycle_of(c) for c in shown)


# -- a component -----------------------------------------------------------------------------------------------------


def sparkline(c: Component, name: str, fold: Fold | None = None) -> str:
    """The posterior mean of a component, very small; of a cycle that comes round often, twice round."""
    if c.curve is None:
        return ""
    x, mean = np.array(c.curve.x), np.array(c.curve.mean)
    words = "The shape of this part over the data."
    if c.head == "noise" and c.setting.series:
        mean = np.array(c.at_data.mean)[thinned(len(c.at_data.mean), 150)]
        x = np.linspace(0, 1, len(mean))
    elif fold is not None and c.setting.axes[fold.input].span > MOST_CYCLES * fold.period:
        x, mean = np.array(fold.recent.x), np.array(fold.recent.mean)
        words = "Two of its cycles."
    elif c.horizon is not None and c.curve.input == (c.setting.time or 0):
        seen = x <= c.setting.axes[c.curve.input].high + 1e-9
        x, mean = x[seen], mean[seen]
    panel = Panel((2, 2, 92, 30), (float(x[0]), float(x[-1])), limits(mean, room=0.04))
    if c.head == "noise" and c.setting.series:
        panel.dots(x, mean, 1.6, "dot own")
    else:
        panel.curve(x, mean, "line thin")
    return picture(96, 34, f"{name}, in small", words, [panel.body], "spark")


def drawn(s: Series, c: Component) -> dict[str, np.ndarray]:
    """The curves of a component and of the sum so far, at the observations too: a long record is drawn whole."""
    curve, own = c.curve, c.at_data
    assert curve is not None
    found = {"x": curve.x, "mean": curve.mean, "sd": curve.sd, "total": curve.total_mean, "total_sd": curve.total_sd}
    curves = {key: np.array(values) for key, values in found.items()}
    if s.stepwise:
        curves = {key: values[np.isin(curves["x"], s.whole.x)] for key, values in curves.items()}
    if c.head == "noise":  # which at the observations is what they leave over
        return curves
    rows = s.order[thinned(len(s.order), MOST_PLACES)]
    rows = rows[~np.isin(s.rows[rows], curves["x"])]
    at_rows = {"x": s.rows, "mean": own.mean, "sd": own.sd, "total": own.total_mean, "total_sd": own.total_sd}
    both = {key: np.concatenate([curves[key], np.array(values)[rows]]) for key, values in at_rows.items()}
    order = np.argsort(both["x"], kind="stable")
    return {key: values[order] for key, values in both.items()}


def part(s: Series, c: Component, name: str) -> tuple[str, str]:
    """The posterior of one component with its bands, and what stands below; of noise, what it takes of the data."""
    noise, own = c.head == "noise", np.array(c.at_data.mean)
    curves = drawn(s, c)
    x, mean, sd = (curves[key] for key in ("x", "mean", "sd"))
    edge = Z90 * np.array(c.at_data.sd)
    y = limits(
        mean - Z90 * sd, mean + Z90 * sd, own if noise else mean, around=np.concatenate([own - edge, own + edge])
    )
    width, height = 460.0, 256.0
    ticks = number_ticks(*y, 4)
    panel = Panel(plot_box((width, height), ticks, titled=not s.axis.rule), s.span(), y)
    panel.y_axis(ticks, s.unit)
    panel.x_axis(axis_ticks(s.axis, *s.span(), 5), "" if s.axis.rule else s.axis.label)
    panel.ground(s.axis.high, s.end)
    panel.level(0.0, "zero")
    if noise:
        panel.bands(x, mean, sd)
        panel.dots(s.x[s.shown], own[s.order][s.shown], dot_size(len(own), 3.4))
    else:
        _fit(panel, s, c, curves)
    _edges(panel, c, s.axis)
    words = "What it takes of each observation" if noise else "Its mean with 50 % and 90 % bands"
    more = "" if noise else _answers(panel, s, x, mean, sd, "this part")
    drawing = picture(width, height, f"{name}: this part alone", f"{words}, {s.axis.along}.", [panel.body], more=more)
    if panel.crowded(cycle_of(c)):
        return drawing, "This part alone: between which values it swings, with its 90 % band; tinted, the forecast"
    return drawing, words if noise else "This part alone, with bands of 50 % and 90 %; tinted, the forecast"


def _fit(panel: Panel, s: Series, c: Component, curves: dict[str, np.ndarray]) -> None:
    """The mean of a part with its bands; of a cycle that comes round too often, between which values it swings."""
    fold, period = s.folds.get(c.part), cycle_of(c)
    if fold is None or fold.swing is None or not panel.crowded(period):
        panel.fit(curves["x"], curves["mean"], normal_bands(curves["mean"], curves["sd"]), period)
        return
    x, low, high, low_sd, high_sd = (np.array(v) for v in vars(fold.swing).values())
    panel.swing(x, (low, high), (low - Z90 * low_sd, high + Z90 * high_sd))


def _sum(panel: Panel, s: Series, c: Component, curves: dict[str, np.ndarray]) -> bool:
    """The sum of the parts so far with its bands, and whether it is drawn by how far it swings."""
    x, mean, sd = (curves[key] for key in ("x", "total", "total_sd"))
    so_far = s.facts.components[: c.number]
    swings = {o.number: s.folds[o.part].swing for o in so_far if o.part in s.folds and panel.crowded(cycle_of(o))}
    known = [swing for swing in swings.values() if swing is not None]
    if not known:
        panel.fit(x, mean, normal_bands(mean, sd), min(map(cycle_of, so_far)), "line main")
        return panel.crowded(min(map(cycle_of, so_far)))
    slow = [np.array(o.curve.mean) for o in so_far if swings.get(o.number) is None and o.curve is not None]
    at = np.array(c.curve.x) if c.curve is not None else x
    base = s.facts.level + np.sum(slow, axis=0) if slow else np.full(len(at), s.facts.level)
    low, high = (base + sum(np.interp(at, w.x, getattr(w, end)) for w in known) for end in ("low", "high"))
    half = Z90 * np.interp(at, x, sd)
    panel.swing(at, (low, high), (low - half, high + half))
    return True


def _answers(panel: Panel, s: Series, x: np.ndarray, mean: np.ndarray, sd: np.ndarray, called: str) -> str:
    """What a script may tell of a curve."""
    at = s.answers.x
    middle, half = np.interp(at, x, mean), Z90 * np.interp(at, x, sd)
    seen = None if called == "this part" else s.seen
    return told(panel, s.facts.setting.unit, middle, middle - half, middle + half, seen, called)


def _edges(panel: Panel, c: Component, axis: Axis) -> None:
    """Where the component starts and stops, as ticks on the axis; labels that would overlap take turns in height."""
    seen = [interval for region in c.regions for interval in region.within(axis.low, axis.high).intervals]
    edges = [(i.low, "starts") for i in seen if i.low] + [(i.high, "stops") for i in seen if i.high]
    ends: list[float] = []  # of the labels, one for each line of them
    for edge, way in sorted(edges, key=lambda found: found[0].at):
        panel.upright(edge.at, "switch")
        x, text = float(panel.x(edge.at)), f"{way} {phrases.edge(c, edge)}"
        length = 6.8 * len(text)
        start = x + 5 if x + 5 + length <= panel.width else x - 5 - length
        line = next((k for k, end in enumerate(ends) if end < start), len(ends))
        ends[line : line + 1] = [start + length + 4]
        panel.words(start, 10 + 14 * line, text, "note own halo")


def running(s: Series, c: Component, name: str, widest: float) -> tuple[str, str]:
    """The sum of the components so far over the data, what it leaves over (up to `widest`), and what stands below."""
    curves = drawn(s, c)
    x, mean, sd = (curves[key] for key in ("x", "total", "total_sd"))
    left = s.y - np.array(c.at_data.total_mean)[s.order]
    y = limits(s.y, mean - Z90 * sd, mean + Z90 * sd, around=s.y)
    width, height, strip = 460.0, 256.0, 56.0
    ticks = number_ticks(*y, 4)
    a, top, w, h = plot_box((width, height), ticks, titled=not s.axis.rule)
    panel = Panel((a, top, w, h - strip - 12), s.span(), y)
    panel.y_axis(ticks, s.unit)
    below = Panel((a, top + h - strip, w, strip), s.span(), (-widest, widest))
    below.x_axis(axis_ticks(s.axis, *s.span(), 5), "" if s.axis.rule else s.axis.label)
    below.level(0.0, "zero")
    size = dot_size(len(s.x[s.shown]), 3.0)
    for area in (panel, below):
        area.ground(s.axis.high, s.end)
    swings = _sum(panel, s, c, curves)
    panel.dots(s.x[s.shown], s.y[s.shown], size)
    below.dots(s.x[s.shown], left[s.shown], size)
    below.words(4, 11, "left over", "note data")
    first = "this part" if c.number == 1 else f"parts 1 to {c.number}"
    words = f"The level and {first} with bands, over the observations; below, what they leave over."
    more, bodies = _answers(panel, s, x, mean, sd, "the sum so far"), [panel.body, below.body]
    drawing = picture(width, height, f"{name}: with the parts before it", words, bodies, "model", more)
    far = "; in colour, between which values the sum swings" if swings else ""
    so_far = "this part" if c.number == 1 else "all parts so far"
    return drawing, f"The level and {so_far}, over the observations{far}; below, what is left, on one scale throughout"


# -- futures ---------------------------------------------------------------------------------------------------------


def future(s: Series, x: np.ndarray, path: np.ndarray, every: np.ndarray, number: int) -> str:
    """One draw of what may come, after the last stretch of the data; `every` holds all draws, for one scale."""
    start, end = max(s.axis.low, s.axis.high - 2.5 * (s.end - s.axis.high)), s.end
    if s.near is not None:  # too many cycles to be seen
        start, end = float(s.near.x[0]), float(s.near.x[-1])
    recent, seen = s.x >= start, s.whole.x >= s.axis.high
    low, high = s.whole.expected.interval(0.9)
    y = limits(s.y[recent], every, low[seen], high[seen], around=s.y)
    panel, size = small_panel((start, end), y, s.unit, not s.axis.rule, 56.0)
    panel.ground(s.axis.high, s.end)
    panel.band(s.whole.x[seen], low[seen], high[seen], "b90")
    panel.curve(s.x[recent], s.y[recent], "line past")
    panel.curve(np.concatenate([s.x[-1:], x]), np.concatenate([s.y[-1:], path]), "line main")
    panel.x_axis(axis_ticks(s.axis, start, end, 4), "" if s.axis.rule else s.axis.label)
    words = "The last observations in grey, one draw from the model in colour, over its 90 % band."
    return picture(*size, f"A possible future, number {number}", words, [panel.body], "model")
