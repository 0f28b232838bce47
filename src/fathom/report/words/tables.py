"""Rows of numbers for a reader: the forecast step by step, and the observations that do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from fathom.data.forecast import Forecast
from fathom.report.facts.anomaly import Anomalies, Anomaly
from fathom.report.facts.setting import Setting
from fathom.report.facts.whole import Facts
from fathom.report.numbers import MINUS, SUPERSCRIPTS, number
from fathom.report.words.text import capital, counted

DIGITS = 20  # of a band, its numbers need not be told apart by less than this part of it
SHOWN = 24  # steps of the forecast that are seen at once
MOST_INPUTS = 3  # that are told of a row
MANY = 0.02  # of the rows: so many surprises are none


class Grid(NamedTuple):
    """A table: what its columns are called, which of them hold numbers, and its rows."""

    header: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: list[tuple[str, ...]]


class _Style(NamedTuple):
    """How the numbers of a table are written: all to the same place, very large or small ones as multiples."""

    place: float
    power: int

    @classmethod
    def of(cls, values: Iterable[float], gap: float) -> _Style:
        largest = max((abs(v) for v in values), default=0.0) or 1.0
        least = max(gap / DIGITS, 1e-7 * largest)
        extreme = largest >= 1e9 or largest < 1e-3
        power = 3 * math.floor(math.log10(largest) / 3 + 1e-9) if extreme else 0
        return cls(10.0 ** math.floor(math.log10(least)) / 10.0**power, power)

    def rounded(self, value: float) -> float:
        """The value as it is shown."""
        return self.place * round(value / 10.0**self.power / self.place) * 10.0**self.power

    def __call__(self, value: float, signed: bool = False) -> str:
        scaled = self.rounded(value) / 10.0**self.power
        places = max(0, -math.floor(math.log10(self.place) + 1e-9))
        return f"{scaled + 0.0:{'+' if signed else ''},.{places}f}".replace("-", MINUS)

    def unit(self, unit: str) -> str:
        """The unit with the power of ten that its numbers are multiples of."""
        ten = f"10{str(self.power).translate(SUPERSCRIPTS)}" if self.power else ""
        return " ".join(filter(None, (ten, unit)))


def _titled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


# -- the forecast ------------------------------------------------------------------------------------------------------


def steps(forecast: Forecast, setting: Setting) -> Grid:
    """The forecast for a reader: when, the mean, and the bands of 50 and 90 per cent."""
    column = {name: k for k, name in enumerate(forecast.header)}
    ends = [("q0.25", "q0.75"), ("q0.05", "q0.95")]
    table = [[float(row[column[name]]) for name in ("mean", *ends[0], *ends[1])] for row in forecast.rows]
    write = _Style.of((v for row in table for v in row), min(row[4] - row[3] for row in table))
    rows: list[tuple[str, ...]] = [
        (str(cells[0]), write(mean), f"{write(a)} to {write(b)}", f"{write(low)} to {write(high)}")
        for cells, (mean, a, b, low, high) in zip(forecast.rows, table, strict=True)
    ]
    header = (setting.axes[0].label, _titled("expected", write.unit(setting.unit)), "50 % band", "90 % band")
    return Grid(header, (False, True, True, True), rows)


# -- observations that do not fit --------------------------------------------------------------------------------------


def surprises(found: Anomalies, facts: Facts) -> Grid:
    """The most surprising observations: where, what was observed and expected, and how rare such a gap is."""
    setting = facts.setting
    values = [v for a in found.shown for v in (a.value, a.expected)]
    write = _Style.of(values, min((a.high - a.low for a in found.shown), default=1.0))
    rows: list[tuple[str, ...]] = []
    for a in found.shown:
        apart = write.rounded(a.value) - write.rounded(a.expected)  # of the numbers that are shown
        rows.append((*_where(a, facts), write(a.value), write(a.expected), write(apart, True), odds(a.p_value)))
    where = (setting.axes[0].label,) if setting.series else ("where",) if setting.time is not None else ("row", "where")
    header = (*where, _titled("observed", write.unit(setting.unit)), "expected", "apart", "how rare")
    return Grid(header, (*(False,) * len(where), True, True, True, False), rows)


def _where(a: Anomaly, facts: Facts) -> tuple[str, ...]:
    """The date or the value of the only input; of several, the number of the row and the inputs that matter most."""
    axes, time = facts.setting.axes, facts.setting.time
    if facts.setting.series:
        return (axes[0].place(a.at[0]),)
    told = [f"{axes[e.input].name} {axes[e.input].place(a.at[e.input])}" for e in facts.effects if e.input != time]
    if time is not None:
        return (", ".join([axes[time].place(a.at[time]), *told[:MOST_INPUTS]]),)
    return f"{a.row + 1:,}", ", ".join(told[:MOST_INPUTS])


def odds(p: float) -> str:
    """A small probability in words: "1 in 3,000"."""
    if p < 1e-9:
        return "less than 1 in a billion"
    size, noun = next((s, n) for s, n in ((1e6, " million"), (1.0, "")) if 1 / p >= s)
    return f"about 1 in {number(1 / p / size, None, 1)}{noun}"


def oddities(found: Anomalies, setting: Setting) -> str:
    """How many observations the model finds improbable, and what that means."""
    noun, record = ("observation", "record") if setting.series else ("row", "table")
    if not found.count:
        return f"No {noun} lies improbably far from what the others foretell."
    verb, them = ("lies", "it") if found.count == 1 else ("lie", "them")
    said = f"{capital(counted(found.count, noun))} {verb} improbably far from what the others foretell"
    if found.count > len(found.shown):
        said += f"; these are the {len(found.shown)} most surprising"
    if found.count > max(MANY * found.n_rows, len(found.shown)):
        return f"{said}. So many point to noise of another kind than the model assumes rather than to odd {noun}s."
    return f"{said}: fewer than one {record} in twenty would hold any if the model were right, so look {them} up."
