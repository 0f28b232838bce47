"""Scales and ticks of a drawing: round numbers, and on a time axis the dates a reader would choose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fathom.data.dates import DAY, MONTHS, day_in_month, write
from fathom.data.timeaxis import TimeRule
from fathom.report.facts.setting import Axis, singular
from fathom.report.numbers import MINUS, SUPERSCRIPTS

ROUND, ROUND_YEARS = (1, 2, 2.5, 5), (1, 2, 5)
MINUTE = 60_000_000  # microseconds
STEPS = (*(1, 2, 5, 10, 15, 30), *(60 * h for h in (1, 2, 3, 6, 12)), *(1440 * d for d in (1, 2, 5, 7, 14, 28, 56)))
MANY = 30  # shortest cycles in the unit in which frequencies are counted, or nearly
Tick = tuple[float, str]


@dataclass(frozen=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        """Pixels for values."""
        span = (self.high - self.low) or 1.0
        return self.start + (np.asarray(values, dtype=float) - self.low) / span * (self.end - self.start)


def number_ticks(low: float, high: float, most: int = 5) -> list[Tick]:
    """Round numbers between low and high, `most` at most."""
    step = _step(high - low, most, ROUND)
    if not step:
        return [(low, label(low, abs(low) or 1.0))]
    values = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [(float(v), label(float(v), step)) for v in values]


def axis_ticks(axis: Axis, low: float, high: float, most: int = 7) -> list[Tick]:
    """Ticks along an input: years, months, days or hours as an axis of dates asks for, else round numbers."""
    rule = axis.rule
    if axis.in_years and high - low >= 3:
        step = max(_step(high - low, most, ROUND_YEARS), 1.0)
        years = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return [(float(year), f"{year:.0f}") for year in years]
    if rule is not None and rule.kind == "date":
        if high - low >= 0.2:
            return month_ticks(rule, low, high, most)
        return clock_ticks(rule, low, high, max(most // 2, 2))
    plain = number_ticks(low, high, most)
    return [(v, text.replace(",", "")) for v, text in plain] if axis.in_years else plain


def label(value: float, step: float) -> str:
    """A tick in as many decimals as its step needs: 12,500, not 1.25e+04; of very large or small ones, 1.2 × 10⁹."""
    if value and (abs(value) >= 1e9 or abs(step) < 1e-6):
        size, _, power = f"{value:.4g}".partition("e")
        times = f" × 10{str(int(power)).translate(SUPERSCRIPTS)}" if power else ""
        return f"{size}{times}".replace("-", MINUS)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(step * 10**places - round(step * 10**places)) > 1e-6:  # steps of 2.5
        places += 1
    return f"{value:,.{places}f}".replace("-", MINUS) if round(value, places) else "0"


def _step(span: float, most: int, choices: tuple[float, ...]) -> float:
    """The smallest round step that gives no more than `most` ticks."""
    if not (span > 0 and math.isfinite(span)):
        return 0.0
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(c * power * scale for scale in (1, 10) for c in choices if span / (c * power * scale) <= most)


def month_ticks(rule: TimeRule, low: float, high: float, most: int, joint: str = " ") -> list[Tick]:
    """Starts of months, thinned to `most`; January and the first say their year, which `joint` sets off."""
    step = next(step for step in (1, 2, 3, 6, 12, 24) if (high - low) * 12 / step <= most or step == 24)
    found: list[Tick] = []
    for month in range(math.floor(low) * 12, math.ceil(high) * 12 + 1, step):
        place = _start(rule, month)
        if low <= place <= high:
            name = MONTHS[month % 12][:3]
            found.append((place, f"{name}{joint}{month // 12}" if not found or month % 12 == 0 else name))
    return found


def clock_ticks(rule: TimeRule, low: float, high: float, most: int) -> list[Tick]:
    """Days or, on a short axis, round hours and minutes, each named once: "3 Jan 2024", "12:00", "4 Jan"."""
    first, last = rule.moment(low), rule.moment(high)
    step = next((s * MINUTE for s in STEPS if last - first <= most * s * MINUTE), STEPS[-1] * MINUTE)
    found: list[Tick] = []
    for moment in range(-(-first // step) * step if step < DAY else -(-first // DAY) * DAY, last + 1, step):
        day = f"{{d}} {{b}}{'' if found else ' {Y}'}"
        form = day if moment % DAY == 0 else "{H:02}:{M:02}" if found else "{H:02}:{M:02}, " + day
        found.append((float(rule.value(np.array(moment))), write(moment, form)))
    return found


def lag_ticks(axis: Axis, high: float, most: int = 5) -> tuple[list[Tick], str]:
    """Ticks for distances from 0 along an input, and the unit they are in."""
    size, unit = axis.scale(high)
    return [(v * size, text) for v, text in number_ticks(0, high / size, most)], unit


def frequency_ticks(axis: Axis, high: float, most: int = 5) -> tuple[list[Tick], str]:
    """Ticks for frequencies from 0, and the unit in which cycles are counted."""
    size, unit = axis.scale(MANY / high)
    return [(v / size, text) for v, text in number_ticks(0, high * size, most)], singular(unit)


def _start(rule: TimeRule, month: int) -> float:
    """The number at which a month starts, counted in months from the year 0."""
    return month / 12 if rule.grid == "months" else float(rule.value(day_in_month(np.array(month), 1)))


def limits(*values: np.ndarray, around: np.ndarray | None = None, room: float = 0.05) -> tuple[float, float]:
    """From the lowest to the highest of finite values with a little room.

    `around` are values that must stay readable: what lies further from them than their own range is cut off.
    """
    known = np.concatenate([np.ravel(v)[np.isfinite(np.ravel(v))] for v in values])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if around is not None and around.size and np.ptp(around) > 0:
        span = float(np.ptp(around))
        low, high = max(low, float(around.min()) - span), min(high, float(around.max()) + span)
    gap = (high - low) or abs(high) or 1.0
    return low - room * gap, high + room * gap
