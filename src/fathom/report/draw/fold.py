"""A cycle within one period, by month, weekday or hour: the picture that tells its shape."""

from __future__ import annotations

import numpy as np

from fathom.data.calendar import DAYS
from fathom.data.dates import MONTHS
from fathom.report.draw.scales import Tick, limits, number_ticks
from fathom.report.draw.svg import Panel, dot_size, normal_bands, picture, plot_box, thinned
from fathom.report.facts.fold import Fold, Lap
from fathom.report.facts.part import Z90, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Facts

CHANGED = 0.08  # of its swing: a first cycle that differs by less from the last is not drawn beside it
MOST_DOTS = 500
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_UNITS = (
    ("years", 1.0),
    ("months", 1 / 12),
    ("days", 1 / DAYS),
    ("hours", 1 / DAYS / 24),
    ("minutes", 1 / DAYS / 1440),
)


def folded(facts: Facts, c: Component, fold: Fold, x: np.ndarray, y: np.ndarray, name: str) -> tuple[str, str]:
    """The last cycle with its bands over the observations, the first where it differs, and what stands below."""
    phase, mean, sd = _lap(fold.last, fold.start)
    before, first, _ = _lap(fold.first, fold.first_start)
    differs = fold.first_start < fold.start and np.abs(first - mean).max() > CHANGED * np.ptp(mean)
    at, left = _alone(facts, c, fold, x, y)
    spread = np.quantile(left, [0.01, 0.99]) if len(left) else np.zeros(0)
    lines = [mean - Z90 * sd, mean + Z90 * sd, spread, first if differs else mean]
    width, height = 460.0, 256.0
    low, high = limits(*lines)
    y_ticks, (ticks, title) = number_ticks(low, high, 4), _ticks(facts.setting.axes[fold.input], fold)
    ends = (_left(fold), _left(fold) + fold.period)
    panel = Panel(plot_box((width, height), y_ticks, 18, titled=bool(title)), ends, (low, high))
    panel.y_axis(y_ticks, facts.setting.unit or facts.setting.target)
    panel.x_axis([tick for tick in ticks if ends[0] <= tick[0] <= ends[1]], title)
    panel.level(0.0, "zero")
    panel.dots(at, left, dot_size(len(at), 2.6), "dot faint")
    if differs:
        panel.curve(before, first, "line past")
    for lower, upper, shade in normal_bands(mean, sd):
        panel.band(phase, lower, upper, shade)
    panel.curve(phase, mean)
    if fold.per_cycle:
        panel.dots(phase, mean, 5.0, "dot own")
    if differs:
        _names(panel, facts.setting.axes[fold.input], fold, (before, first), (phase, mean))
    words = "One cycle of it, with 50 % and 90 % bands; dots are observations less all other parts."
    grey = "; in grey, the first" if differs else ""
    below = f"{'The last' if differs else 'One'} cycle, with bands of 50 % and 90 %{grey}"
    below += "; dots are the observations less all other parts"
    return picture(width, height, f"{name}: one cycle", words, [panel.body]), below


def _lap(lap: Lap, start: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where in the cycle, the mean and its sd."""
    return np.array(lap.x) - start, np.array(lap.mean), np.array(lap.sd)


def _alone(facts: Facts, c: Component, fold: Fold, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Observations of the last cycles less all other parts, by their place in the cycle."""
    others = [np.array(o.at_data.mean) for o in facts.components if o.number != c.number and o.head != "noise"]
    alone = y - facts.level - np.sum(others, axis=0) if others else y - facts.level
    region = next((r for r in c.regions if r.input == fold.input), None)
    rows = np.flatnonzero([region is None or region.holds(v) for v in x])
    if c.growths:  # earlier cycles are of another size
        rows = rows[x[rows] > fold.start - 3 * fold.period]
    rows = rows[thinned(len(rows), MOST_DOTS)]
    left = _left(fold) - 1e-6 * fold.period  # the first step of a cycle is never its last
    return (x[rows] - fold.start - left) % fold.period + left, alone[rows]


def _left(fold: Fold) -> float:
    """Where the picture begins: half a step before the first of a cycle that is drawn step by step."""
    if not fold.per_cycle:
        return 0.0
    step = fold.period / fold.per_cycle
    return (fold.last.x[0] - fold.start) % step - step / 2


def _names(
    panel: Panel, axis: Axis, fold: Fold, first: tuple[np.ndarray, np.ndarray], last: tuple[np.ndarray, np.ndarray]
) -> None:
    """Which cycle is which, above the peaks or below the troughs, wherever the two lie further apart."""
    span = 99.0 if fold.name == "yearly" else axis.span  # the year is enough
    texts = [axis.around(v + 1e-6 * fold.period, None, span) for v in (fold.first_start, fold.start)]
    peaks = [int(np.argmax(mean)) for _, mean in (first, last)]
    for (phase, mean), k, text, kind in zip((first, last), peaks, texts, ("note data", "note own halo"), strict=True):
        panel.words(float(panel.x(phase[k])), max(float(panel.y(mean[k])) - 7, 9), text, kind, "middle")


def _ticks(axis: Axis, fold: Fold) -> tuple[list[Tick], str]:
    """Where in a cycle one is, in the words of the calendar; otherwise in the unit of the input, with a title."""
    period, count = fold.period, fold.per_cycle
    names = {"yearly": [month[0] for month in MONTHS], "weekly": WEEKDAYS}.get(fold.name if axis.in_years else "", ())
    if names:  # at the observations of a name, or in the middle of its stretch
        step = period / len(names)
        first = _left(fold) + step / 2 if count == len(names) else 0.0 if 0 < count < len(names) else step / 2
        places = [(first + k * step, name) for k, name in enumerate(names)]
        if fold.name == "yearly" and 0 < count <= 4:
            quarters = axis.rule is not None and "{q" in axis.rule.form
            places = [(k * step, f"Q{k // 3 + 1}" if quarters else MONTHS[k][:3]) for k in range(0, 12, 3)]
        return places, ""
    if fold.name == "daily" and axis.in_years:
        return [(h / 24 * period, f"{h}:00") for h in range(0, 25, 6)], ""
    if fold.name == "monthly" and axis.in_years:
        return [((day - 1) / 30.44 * period, str(day)) for day in (1, 8, 15, 22, 29)], "day of the month"
    if not axis.in_years:
        return number_ticks(0.0, period, 5), f"within a cycle{f' ({axis.unit})' if axis.unit else ''}"
    noun, size = next((u for u in _UNITS if period / u[1] >= 2.5), _UNITS[-1])
    return [(v * size, text) for v, text in number_ticks(0.0, period / size, 6)], f"{noun} into the cycle"
