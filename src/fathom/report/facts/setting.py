"""What the reader calls things: the inputs with their units and dates, the target, and where the data come from."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from fathom.data import calendar
from fathom.data.calendar import DAYS
from fathom.data.dates import MONTHS
from fathom.data.timeaxis import BUSINESS, TimeRule
from fathom.report.numbers import number

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
_BUSINESS = (*_UNITS[:3], ("business day", BUSINESS, 2 * BUSINESS))
_PARTS = ("first", "second", "third", "fourth")


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
        return self.rule is not None and self.rule.in_years

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
        if not self.in_years or self.rule is None:
            return 1.0, self.unit or (f"units of {self.called}" if self.name else "units")
        daily = abs(self.rule.spacing * DAYS - 1) < 0.01  # nothing finer is seen of days
        known = _BUSINESS if self.rule.grid == "business days" else _UNITS[:4] if daily else _UNITS
        noun, size, _ = next((u for u in known if abs(value) >= 0.999 * u[2]), known[-1])
        return size, f"{noun}s"

    def stretch(self, value: float, digits: int = 1) -> str:
        """A distance along one of several inputs, which is therefore named: "6 days of age"."""
        text = self.length(value, digits)
        return text if not (self.in_years or self.unit) else f"{text} of {self.name}"

    def place(self, value: float) -> str:
        """A point on the axis: a date as people write it, or a number."""
        if self.rule is not None:
            return replace(self.rule, form=self.rule.spoken).format(value)
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
            place = self.place(step * round(value / step) if step else value)
            return place if self.rule is None else f"{place} {self.unit}".rstrip()
        if sd is not None and sd > 0.5:
            return f"about {math.floor(value + 1e-6)}"
        if span > 20:
            return f"{math.floor(value + 1e-6)}"
        if self.rule.kind == "decimal year":
            return f"{self.month(value)} {math.floor(value + 1e-6)}" if span > 2 else self.place(value)
        return replace(self.rule, form=_coarse(self.rule.spoken, span)).format(value)

    def day(self, value: float) -> str:
        """The day of a moment, written out."""
        return self.place(value) if self.rule is None else replace(self.rule, form="{d} {B} {Y}").format(value)

    def occasion(self, value: float, period: float) -> str:
        """A moment in a cycle, as fine as the cycle asks for: "July 1961", "Friday 7 June 2024, 14:00"."""
        day = "{A} {d} {B} {Y}"
        named = {"weekly": day, "daily": f"{day}, {{H:02}}:{{M:02}}"}.get(self._named(period) or "")
        if named and self.rule is not None and self.rule.kind == "date":
            return replace(self.rule, form=named).format(value)
        return self.around(value, span=min(self.span, 10 * period))

    def cycle(self, period: float, sd: float | None = None) -> tuple[str, str]:
        """A name for a repeating pattern, ("yearly", "") or ("", "about 10.8 years")."""
        return self._named(period) or "", "" if self._named(period) else f"about {self.length(period, 2, sd)}"

    def _named(self, period: float) -> str | None:
        size = DAYS if self.in_years else calendar.days_in(self.unit)
        if size is None:
            return None
        return next((name for name, days in calendar.PERIODS.items() if abs(period * size / days - 1) <= 0.02), None)

    def rate(self, slope: float) -> tuple[float, str]:
        """A slope per year as one per year, month, day or hour, whichever suits the record: (value, "a month")."""
        if not self.in_years:
            return slope, f"per {singular(self.unit)}" if self.unit else f"for each unit of {self.called}"
        choices = (("a year", 1.0, 2.0), ("a month", 1 / 12, 1 / 6), ("a day", 1 / DAYS, 2 / DAYS))
        words, size, _ = next((c for c in choices if self.span >= c[2]), ("an hour", 1 / DAYS / 24, 0.0))
        return slope * size, words

    def month(self, value: float) -> str:
        """The month a moment in years falls in."""
        if self.rule is not None and self.rule.kind == "date":
            return replace(self.rule, form="{B}").format(value)
        return MONTHS[math.floor(12 * (value % 1.0) + 1e-6) % 12]

    def phase(self, value: float, period: float) -> str:
        """When a moment comes round in a cycle of the calendar: "in December", "on Fridays", "around 18:00"; or ""."""
        name = self._named(period)
        if name is None or self.rule is None or not self.in_years:
            return ""
        month = MONTHS.index(self.month(value))
        if name == "yearly":
            quarterly = self.rule.grid == "months" and self.rule.step == 3
            return f"in the {_PARTS[month // 3]} quarter" if quarterly else f"in {MONTHS[month]}"
        if name == "half-yearly":
            return f"in {MONTHS[month % 6]} and {MONTHS[month % 6 + 6]}"
        if name == "quarterly":
            return f"in the {_PARTS[month % 3]} month of a quarter"
        if self.rule.kind != "date":
            return ""
        words = {"monthly": "around day {d} of the month", "weekly": "on {A}s", "daily": "around {H:02}:00"}[name]
        hour, first = (1 / 24 / DAYS, 1970.0) if name == "daily" else (self.rule.spacing, self.low)
        nearest = first + hour * round((value - first) / hour)  # between two observations there is nothing to see
        zone = f" ({self.rule.zone})" if name == "daily" and self.rule.zone else ""
        return replace(self.rule, form=words).format(nearest) + zone


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
    gaps: tuple[tuple[float, float], ...] = ()  # in the record: the observations on either side
    holidays: str = ""  # the country whose public holidays were asked for

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
    if unit == "business days":
        return "business day"
    first, _, rest = unit.partition(" ")
    known = first.lower() in ("years", "months", "weeks", "days", "hours", "minutes", "seconds", "quarters", "units")
    return f"{first[:-1]} {rest}".rstrip() if known else unit


def _coarse(form: str, span: float) -> str:
    """The form of a date less what is too fine for a record of `span` years: the day, or the time of day."""
    if span > 2 and "{d" in form:
        return "{B} {Y}"
    return re.split(r"[T ,]+\{H", form)[0] if span > 2 / 12 else form
