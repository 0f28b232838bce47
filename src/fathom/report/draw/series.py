"""The pictures of a series: the whole with its forecast, each component, and draws of the future."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathom.predictive import Predictive
from fathom.report.draw.scales import axis_ticks, limits, number_ticks
from fathom.report.draw.svg import MOST_DOTS, Panel, dot_size, picture, plot_box, small_panel, thinned
from fathom.report.facts.part import Z90, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Facts
from fathom.report.numbers import between
from fathom.report.words import phrases


@dataclass(frozen=True, eq=False)
class Series:
    """What the pictures of a series share: the facts, the observations in order, and the forecast of the whole."""

    facts: Facts
    order: np.ndarray  # of the rows, along the input
    x: np.ndarray
    y: np.ndarray
    places: np.ndarray
    whole: Predictive

    @property
    def axis(self) -> Axis:
        return self.facts.setting.axes[0]

    @property
    def end(self) -> float:
        return float(self.places[-1])

    @property
    def unit(self) -> str:
        """What the y axis counts: the unit or, without one, the name."""
        return self.facts.setting.unit or self.facts.setting.target

    @property
    def shown(self) -> slice:
        """Which observations are drawn."""
        return thinned(len(self.x), MOST_DOTS)

    def span(self) -> tuple[float, float]:
        return self.axis.low, self.end


# -- the whole -------------------------------------------------------------------------------------------------------


def hero(s: Series, narrow: bool) -> str:
    """Observations, the model's mean with its bands, and the forecast on a tinted ground."""
    width, height = (400.0, 300.0) if narrow else (780.0, 384.0)
    low90, high90 = s.whole.interval(0.9)
    low50, high50 = s.whole.interval(0.5)
    y = limits(s.y, low90, high90, around=s.y)
    ticks = number_ticks(*y, 6)
    panel = Panel(plot_box((width, height), ticks, 44, 32, not s.axis.rule), s.span(), y)
    panel.y_axis(ticks, s.facts.setting.label)
    panel.x_axis(axis_ticks(s.axis, *s.span(), 5 if narrow else 9), "" if s.axis.rule else s.axis.label)
    panel.band(s.places, low90, high90, "b90")
    panel.band(s.places, low50, high50, "b50")
    panel.curve(s.places, s.whole.mean(), "line main")
    panel.dots(s.x[s.shown], s.y[s.shown], dot_size(len(s.x[s.shown]), 2.8 if narrow else 4.2))
    _forecast_marks(panel, s, narrow)
    _end_labels(panel, s.whole)
    _data_label(panel, s)
    few = f", one in {s.shown.step} drawn" if s.shown.step > 1 else ""
    return picture(
        width,
        height,
        f"{s.facts.setting.target}: observations, model and forecast",
        f"{s.facts.setting.n_rows} observations{few} from {s.axis.seen(s.axis.low)} to {s.axis.seen(s.axis.high)},"
        f" the model's mean with 50 % and 90 % bands, continued to {s.axis.seen(s.end)}.",
        [panel.body],
        "model",
    )


def _forecast_marks(panel: Panel, s: Series, narrow: bool) -> None:
    """Where the observations end, and the interval that the headline speaks of."""
    if s.end <= s.axis.high:
        return
    panel.ground(s.axis.high, s.end)
    panel.upright(s.axis.high, "edge", -6)
    x = float(panel.x(s.axis.high))
    room = x + panel.left - 6.4 * len(s.facts.setting.label) - 16  # the name of the y axis stands on the same line
    last = s.axis.seen(s.axis.high)
    words = next((w for w in (f"last observation {last}", last) if 6.4 * len(w) <= room), "")
    panel.words(x - 5, -10, words, "note", "end")
    panel.words(x + 5, -10, "forecast", "note model")
    f = s.facts.forecast
    if f is None or f.cycle is None:  # then the headline speaks of the end, where the bands are labelled
        return
    what = f.peak
    at, high, low = (float(v) for v in (panel.x(what.at), panel.y(what.high), panel.y(what.low)))
    if not (high >= 0 and low <= panel.height):
        return
    panel.over.append(f'<path class="range" d="M{at - 4:.1f},{high:.1f}h8m-4,0V{low:.1f}m-4,0h8"/>')
    when = "" if narrow else f"{phrases.peak(f, s.axis)}: "
    panel.words(at - 9, high + 4, when + between(what.low, what.high, "", "to"), "note model strong", "end")


def _end_labels(panel: Panel, whole: Predictive) -> None:
    """Names beside the ends of the line and of its bands, as far as there is room for them."""
    taken: list[float] = []
    ends = [("mean", whole.mean()[-1])]
    for level in (0.9, 0.5):
        low, high = whole.interval(level)
        ends += [(f"{100 * level:.0f} %", high[-1]), (f"{100 * level:.0f} %", low[-1])]
    named: set[str] = set()
    for text, value in ends:
        y = float(panel.y(float(value)))
        if text not in named and 0 <= y <= panel.height and all(abs(y - other) >= 13 for other in taken):
            panel.words(panel.width + 6, y + 4, text, "note model")
            taken.append(y)
            named.add(text)


def _data_label(panel: Panel, s: Series) -> None:
    """ "observations" above the dots, where there is the most room near the start."""
    where = np.linspace(s.axis.low, s.axis.high, 12)[1:5]
    half = 0.12 * (s.axis.high - s.axis.low)
    near = [s.y[np.abs(s.x - at) <= half] for at in where]
    tops = [float(v.max()) if len(v) else np.inf for v in near]
    k = int(np.argmin(tops))
    if np.isfinite(tops[k]):
        y = max(float(panel.y(tops[k])) - 12, 10)
        panel.words(float(panel.x(float(where[k]))), y, "observations", "note data", "middle")


# -- a component -----------------------------------------------------------------------------------------------------


def sparkline(c: Component, name: str) -> str:
    """The posterior mean of a component, very small."""
    if c.curve is None:
        return ""
    x, mean = np.array(c.curve.x), np.array(c.curve.mean)
    if c.head == "noise" and c.setting.series:
        mean = np.array(c.at_data.mean)[thinned(len(c.at_data.mean), 150)]
        x = np.linspace(0, 1, len(mean))
    elif c.horizon is not None and c.curve.input == (c.setting.time or 0):
        seen = x <= c.setting.axes[c.curve.input].high + 1e-9
        x, mean = x[seen], mean[seen]
    panel = Panel((2, 2, 92, 30), (float(x[0]), float(x[-1])), limits(mean, room=0.04))
    if c.head == "noise" and c.setting.series:
        panel.dots(x, mean, 1.6, "dot own")
    else:
        panel.curve(x, mean, "line thin")
    return picture(96, 34, f"{name}, in small", "The shape of this part over the data.", [panel.body], "spark")


def part(s: Series, c: Component, name: str) -> str:
    """The posterior of one component with its bands; for noise, what it takes of each observation."""
    assert c.curve is not None
    x, mean, sd = (np.array(v) for v in (c.curve.x, c.curve.mean, c.curve.sd))
    own = np.array(c.at_data.mean)
    noise = c.head == "noise"
    seen = np.concatenate([own - Z90 * np.array(c.at_data.sd), own + Z90 * np.array(c.at_data.sd)])
    y = limits(mean - Z90 * sd, mean + Z90 * sd, own if noise else mean, around=seen)
    width, height = 460.0, 256.0
    ticks = number_ticks(*y, 4)
    panel = Panel(plot_box((width, height), ticks, titled=not s.axis.rule), s.span(), y)
    panel.y_axis(ticks, s.unit)
    panel.x_axis(axis_ticks(s.axis, *s.span(), 5), "" if s.axis.rule else s.axis.label)
    panel.ground(s.axis.high, s.end)
    panel.level(0.0, "zero")
    panel.bands(x, mean, sd)
    if noise:
        panel.dots(s.x[s.shown], own[s.order][s.shown], dot_size(len(own), 3.4))
    else:
        panel.curve(x, mean)
    _edges(panel, c, s.axis)
    words = "What it takes of each observation" if noise else "Its mean with 50 % and 90 % bands"
    return picture(width, height, f"{name}: this part alone", f"{words}, {s.axis.along}.", [panel.body])


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


def running(s: Series, c: Component, name: str, widest: float) -> str:
    """The sum of the components so far over the data and, below, what it leaves over, up to `widest` either way."""
    assert c.curve is not None
    assert c.curve.total_mean is not None
    assert c.curve.total_sd is not None
    x, mean, sd = (np.array(v) for v in (c.curve.x, c.curve.total_mean, c.curve.total_sd))
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
    panel.bands(x, mean, sd)
    panel.curve(x, mean, "line main")
    panel.dots(s.x[s.shown], s.y[s.shown], size)
    below.dots(s.x[s.shown], left[s.shown], size)
    below.words(4, 11, "left over", "note data")
    first = "this part" if c.number == 1 else f"parts 1 to {c.number}"
    words = f"The level and {first} with bands, over the observations; below, what they leave over."
    return picture(width, height, f"{name}: with the parts before it", words, [panel.body, below.body], "model")


# -- futures ---------------------------------------------------------------------------------------------------------


def future(s: Series, x: np.ndarray, path: np.ndarray, every: np.ndarray, number: int) -> str:
    """One draw of what may come, after the last stretch of the data; `every` holds all draws, for one scale."""
    start = max(s.axis.low, s.axis.high - 2.5 * (s.end - s.axis.high))
    recent, seen = s.x >= start, s.places >= s.axis.high
    low, high = s.whole.interval(0.9)
    y = limits(s.y[recent], every, low[seen], high[seen], around=s.y)
    panel, size = small_panel((start, s.end), y, s.unit, not s.axis.rule)
    panel.ground(s.axis.high, s.end)
    panel.band(s.places[seen], low[seen], high[seen], "b90")
    panel.curve(s.x[recent], s.y[recent], "line past")
    panel.curve(np.concatenate([s.x[-1:], x]), np.concatenate([s.y[-1:], path]), "line main")
    panel.x_axis(axis_ticks(s.axis, start, s.end, 4), "" if s.axis.rule else s.axis.label)
    words = "The last observations in grey, one draw from the model in colour, over its 90 % band."
    return picture(*size, f"A possible future, number {number}", words, [panel.body], "model")
