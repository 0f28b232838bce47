"""What the reader calls things: the inputs with their units and dates, the target, and where the data come from."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from fathom.data.dates import MONTHS
from fathom.data.timeaxis import TimeRule
from fathom.report.numbers import number

DAYS = 365.2425  # in a year
# a span is counted in the first unit it is not too short for: 7 months rather than 0.6 years
_UNITS = (
    ("year", 1.0, 0.75),
    ("month", 1 / 12, 2 / 12),
    ("week", 7 / DAYS, 2 / 52),
    ("day", 1 / DAYS, 2 / DAYS),
    ("hour", 1 / DAYS / 24, 2 / DAYS / 24),
    ("minute", 1 / DAYS / 1440, 2 / DAYS / 1440),
    ("second", 1 / DAYS / 86400, 0.0),
)
_CYCLES = {"yearly": 1.0, "half-yearly": 1 / 2, "quarterly": 1 / 4, "monthly": 1 / 12, "weekly": 7 / DAYS}
_CYCLES["daily"] = 1 / DAYS
_IN_YEARS = {"month": 1 / 12, "week": 7 / DAYS, "day": 1 / DAYS, "d": 1 / DAYS, "hour": 1 / DAYS / 24}
_IN_YEARS |= {"h": 1 / DAYS / 24, "year": 1.0, "yr": 1.0}


@dataclass(frozen=True)
class Axis:
    """An input as the reader knows it, and the span of the data on it."""

    name: str
    unit: str
    rule: TimeRule | None
    low: float
    high: float

    @property
    def in_years(self) -> bool:
        """True when the numbers are years, whatever the reader wrote."""
        return self.rule is not None and self.rule.kind in ("date", "decimal year")

    @property
    def span(self) -> float:
        """The range of the data."""
        return self.high - self.low

    @property
    def label(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def record(self) -> str:
        """The noun for the range of the data: a "record" has a time."""
        return "record" if self.rule is not None else "range of the data"

    @property
    def along(self) -> str:
        """ "with time" or "with depth"."""
        return f"with {self.called}"

    @property
    def called(self) -> str:
        """ "time" or the name of the input."""
        return "time" if self.rule is not None else self.name

    def length(self, value: float, digits: int = 1, sd: float | None = None) -> str:
        """A distance along the axis: "8 months", "3.2 km"; of an input without a unit, "3.2 units of depth"."""
        size, unit = self.scale(value)
        text = number(value / size, None if sd is None else sd / size, digits)
        return f"{text} {singular(unit) if text == '1' else unit}"

    def scale(self, value: float) -> tuple[float, str]:
        """What a distance of this size is counted in: (size, plural unit)."""
        if not self.in_years:
            return 1.0, self.unit or (f"units of {self.called}" if self.name else "units")
        noun, size, _ = next(u for u in _UNITS if abs(value) >= 0.999 * u[2])
        return size, f"{noun}s"

    def stretch(self, value: float, digits: int = 1) -> str:
        """A distance along one of several inputs, which is therefore named: "6 days of age"."""
        text = self.length(value, digits)
        return text if not (self.in_years or self.unit) else f"{text} of {self.name}"

    def place(self, value: float) -> str:
        """A point on the axis: a date as the reader writes it, or a number."""
        if self.rule is not None:
            return self.rule.format(value)
        text = number(value, None, 4)
        return f"{text} {singular(self.unit) if text == '1' else self.unit}".rstrip()

    def seen(self, value: float) -> str:
        """A point of the data: as written, but no finer than the length of the record allows."""
        return self.around(value) if self.in_years else self.place(value)

    def around(self, value: float, sd: float | None = None, span: float | None = None) -> str:
        """A point that was estimated: no finer than its uncertainty and the length of the record allow.

        `span` is what decides instead of the length of the record, for moments of something that is shorter.
        """
        span = self.span if span is None else span
        if not self.in_years or self.rule is None:
            size = sd if sd else span / 50
            step = 10.0 ** math.floor(math.log10(size)) if size > 0 else 0.0
            return self.place(step * round(value / step) if step else value)
        if sd is not None and sd > 0.5:
            return f"about {math.floor(value + 1e-6)}"
        if span > 20:
            return f"{math.floor(value + 1e-6)}"
        if self.rule.kind == "decimal year":
            return f"{self.season(value)} {math.floor(value + 1e-6)}" if span > 2 else self.place(value)
        return replace(self.rule, form=_coarse(self.rule.form, span)).format(value)

    def cycle(self, period: float, sd: float | None = None) -> tuple[str, str]:
        """A name for a repeating pattern, ("yearly", "") or ("", "about 10.8 years")."""
        years = self._in_years(period)
        for name, length in _CYCLES.items():
            if years is not None and abs(years / length - 1) <= 0.02:
                return name, ""
        return "", f"about {self.length(period, 2, sd)}"

    def _in_years(self, value: float) -> float | None:
        if self.in_years:
            return value
        size = _IN_YEARS.get(self.unit.lower()) or _IN_YEARS.get(self.unit.lower().removesuffix("s"))
        return None if size is None else value * size

    def rate(self, slope: float) -> tuple[float, str]:
        """A slope per year as one per year, month, day or hour, whichever suits the record: (value, "a month")."""
        if not self.in_years:
            return slope, f"per {singular(self.unit)}" if self.unit else f"for each unit of {self.called}"
        choices = (("a year", 1.0, 2.0), ("a month", 1 / 12, 1 / 6), ("a day", 1 / DAYS, 2 / DAYS))
        words, size, _ = next((c for c in choices if self.span >= c[2]), ("an hour", 1 / DAYS / 24, 0.0))
        return slope * size, words

    def season(self, value: float) -> str:
        """The month or quarter a moment falls in, or its date when the axis does not show months."""
        if not self.in_years or self.rule is None:
            return self.place(value)
        if self.rule.kind == "date":
            return replace(self.rule, form="Q{q}" if "{q" in self.rule.form else "{B}").format(value)
        return MONTHS[math.floor(12 * (value % 1.0) + 1e-6) % 12]


@dataclass(frozen=True)
class Setting:
    """What the data are about: the target, the inputs, and how much of them there is."""

    target: str
    unit: str
    axes: tuple[Axis, ...]  # one for each input
    time: int | None  # which of them is the time
    spread: float  # standard deviation of the target
    n_rows: int
    source: str

    @property
    def label(self) -> str:
        """The target with its unit."""
        return f"{self.target} ({self.unit})" if self.unit else self.target

    @property
    def series(self) -> bool:
        """True with a single input."""
        return len(self.axes) == 1


def singular(unit: str) -> str:
    """One of a unit of time; other units as they are: "day", "unit of depth", "kg"."""
    first, _, rest = unit.partition(" ")
    known = first.lower() in ("years", "months", "weeks", "days", "hours", "minutes", "seconds", "quarters", "units")
    return f"{first[:-1]} {rest}".rstrip() if known else unit


def _coarse(form: str, span: float) -> str:
    """The form of a date less what is too fine for a record of `span` years: the day, or the time of day."""
    if span > 2 and "{d" in form:
        return "{Y}-{m:02}" if form.startswith("{Y}") else "{B} {Y}"
    return re.split(r"[T ]+\{H", form)[0] if span > 2 / 12 else form
