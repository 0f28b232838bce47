"""The first picture of a series: the whole with its forecast and, where its cycles are many, the last ones enlarged."""

from __future__ import annotations

import numpy as np

from fathom.report.draw.hover import told
from fathom.report.draw.scales import axis_ticks, limits, number_ticks
from fathom.report.draw.series import Series, cycles
from fathom.report.draw.svg import NARROWEST, Panel, dot_size, picture, plot_box
from fathom.report.facts.whole import Facts
from fathom.report.numbers import between
from fathom.report.words import phrases

WIDE, NARROW = (780.0, 384.0), (400.0, 300.0)
LOW, NARROW_LOW = (780.0, 210.0), (400.0, 190.0)  # where the last cycles are drawn apart
NEAR = "enlarged: the end"  # of the record
FEWEST, MOST = 6, 24  # cycles that are enlarged


def crowd(facts: Facts, y: np.ndarray, end: float, narrow: bool) -> float:
    """The period of the fastest cycle where there are too many to be drawn one by one; 0 where there are not."""
    fastest = min(cycles(facts, y), default=np.inf)
    width = (NARROW if narrow else WIDE)[0] - 90
    return fastest if fastest * width < NARROWEST * (end - facts.setting.axes[0].low) else 0.0


def window(facts: Facts, y: np.ndarray, end: float) -> tuple[float, float]:
    """What is enlarged: a few of the fastest cycles, of the next slower one two, and as much of the forecast."""
    periods = cycles(facts, y)
    slower = [2 * period for period in periods if 2 * period <= MOST * periods[0]]
    length = max([FEWEST * periods[0], *slower])
    now = facts.setting.axes[0].high
    return max(now - length, facts.setting.axes[0].low), min(end, now + length)


def hero(s: Series, narrow: bool) -> list[str]:
    """Observations, the model's mean with its bands, and the forecast on a tinted ground."""
    period = crowd(s.facts, s.y, s.end, narrow)
    if not period or s.near is None:
        return [_whole(s, narrow, NARROW if narrow else WIDE, 0.0)]
    size = NARROW_LOW if narrow else LOW
    return [_whole(s, narrow, size, period), _near(s, narrow, size)]


def _whole(s: Series, narrow: bool, size: tuple[float, float], period: float) -> str:
    bands = s.whole.bands()
    y = limits(s.y, *bands[0][:2], around=s.y)
    ticks = number_ticks(*y, 4 if period else 6)
    panel = Panel(plot_box(size, ticks, 44, 32, not s.axis.rule), s.span(), y)
    panel.y_axis(ticks, s.facts.setting.label)
    panel.x_axis(axis_ticks(s.axis, *s.span(), 5 if narrow else 9), "" if s.axis.rule else s.axis.label)
    panel.fit(s.whole.x, s.whole.expected.mean(), bands, period or np.inf, "line main")
    panel.dots(s.x[s.shown], s.y[s.shown], dot_size(len(s.shown), 2.8 if narrow else 4.2))
    _odd(panel, s)
    _forecast_marks(panel, s, narrow, not period, s.facts.setting.label)
    if not period:
        _end_labels(panel, s)
    _data_label(panel, s)
    few = f", {len(s.shown):,} of them drawn," if len(s.shown) < len(s.x) else ""
    return picture(
        *size,
        f"{s.facts.setting.target}: observations, model and forecast",
        f"{s.facts.setting.n_rows} observations{few} from {s.axis.seen(s.axis.low)} to {s.axis.seen(s.axis.high)},"
        f" the model's mean with 50 % and 90 % bands, continued to {s.axis.seen(s.end)}.",
        [panel.body],
        "model",
        _answers(panel, s),
    )


def _near(s: Series, narrow: bool, size: tuple[float, float]) -> str:
    """The last cycles and the first ahead, one by one."""
    assert s.near is not None
    ends = float(s.near.x[0]), float(s.near.x[-1])
    inside = s.x >= ends[0]
    bands = s.near.bands()
    y = limits(s.y[inside], *bands[0][:2])
    ticks = number_ticks(*y, 4)
    panel = Panel(plot_box(size, ticks, 44, 32, not s.axis.rule), ends, y)
    panel.y_axis(ticks, NEAR)
    panel.x_axis(axis_ticks(s.axis, *ends, 4 if narrow else 8), "" if s.axis.rule else s.axis.label)
    panel.fit(s.near.x, s.near.expected.mean(), bands, np.inf, "line main")
    panel.dots(s.x[inside], s.y[inside], dot_size(int(inside.sum()), 2.8 if narrow else 4.2))
    _odd(panel, s, ends[0])
    _forecast_marks(panel, s, narrow, True, NEAR)
    _end_labels(panel, s)
    words = "The last cycles of the record and the first of the forecast, with 50 % and 90 % bands."
    name = f"{s.facts.setting.target}: the end of the record, enlarged"
    return picture(*size, name, words, [panel.body], "model", _answers(panel, s))


def _answers(panel: Panel, s: Series) -> str:
    expected = s.answers.expected
    return told(panel, s.facts.setting.unit, expected.mean(), *expected.interval(0.9), s.seen)


def _odd(panel: Panel, s: Series, start: float = -np.inf) -> None:
    """Rings around the observations that the model finds improbable."""
    x, y = s.rows[s.odd], s.y[np.argsort(s.order)][s.odd]
    panel.rings(x[x >= start], y[x >= start])


def _forecast_marks(panel: Panel, s: Series, narrow: bool, peak: bool, title: str) -> None:
    """Where the observations end and, if asked, the interval that the headline speaks of."""
    if s.end <= s.axis.high:
        return
    panel.ground(s.axis.high, min(s.end, panel.x.high))
    panel.upright(s.axis.high, "edge", -6)
    x = float(panel.x(s.axis.high))
    room = x + panel.left - 6.4 * len(title) - 16  # which stands on the same line
    last = s.axis.seen(s.axis.high)
    words = next((w for w in (f"last observation {last}", last) if 6.4 * len(w) <= room), "")
    panel.words(x - 5, -10, words, "note", "end")
    panel.words(x + 5, -10, "forecast", "note model")
    f = s.facts.forecast
    if not peak or f is None or f.cycle is None:  # then the headline speaks of the end, where the bands are labelled
        return
    what = f.peak
    at, high, low = (float(v) for v in (panel.x(what.at), panel.y(what.high), panel.y(what.low)))
    if not (high >= 0 and low <= panel.height and at <= panel.width):
        return
    panel.over.append(f'<path class="range" d="M{at - 4:.1f},{high:.1f}h8m-4,0V{low:.1f}m-4,0h8"/>')
    when = "" if narrow else f"{phrases.peak(f, s.axis)}: "
    panel.words(at - 9, high + 4, when + between(what.low, what.high, "", "to"), "note model strong", "end")


def _end_labels(panel: Panel, s: Series) -> None:
    """Names beside the ends of the line and of its bands, as far as there is room for them."""
    whole = s.whole.expected
    k = int(np.searchsorted(s.whole.x, panel.x.high * (1 + 1e-12)) - 1)
    taken: list[float] = []
    ends = [("mean", whole.mean()[k])]
    for level in (0.9, 0.5):
        low, high = whole.interval(level)
        ends += [(f"{100 * level:.0f} %", high[k]), (f"{100 * level:.0f} %", low[k])]
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
