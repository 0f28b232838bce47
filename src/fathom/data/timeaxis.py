"""How a time column becomes numbers, and back: the time axis a model sees, in the reader's own words.

Dates at whole months (monthly, quarterly, yearly, at any fixed day or at month ends) lie at `year + (month − 1)/12`
plus a constant for the day, an exactly regular grid in years although months differ in length. Business days lie
evenly too, five to a week of 7/365.2425 years: Friday is as near to Monday as Monday to Tuesday. All other dates lie at
the time elapsed since 1970 in years of 365.2425 days, so that equal intervals are equal lags. Numbers stay as written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from fathom.data import calendar
from fathom.data.calendar import DAYS
from fathom.data.columns import DataError
from fathom.data.dates import DAY, Dates, Where, check_form, day_in_month, month_number, read_dates, write
from fathom.data.messages import quoted
from fathom.data.numbers import Cells

TimeKind = Literal["date", "decimal year", "number"]
Grid = Literal["months", "business days", "elapsed", "numbers"]

YEAR = 31_556_952_000_000  # microseconds in 365.2425 days, the mean Gregorian year
LAST = 31  # as a day of the month: its last
BUSINESS = 7 / 5 / DAYS  # years from one business day to the next
MONDAY = 3.8  # days before 1970 at which their numbers begin: halfway between where Mondays and Fridays would have them

_TIME = re.compile(
    r"times?|dates?|datetime|date time|timestamp|years?|yr|months?|days?|weeks?|quarter|hours?|minutes?|seconds?|t|when"
    r"|period|ds|decimal (date|year)|dec date|year ?month|yyyymm(dd)?"
)
_COMPACT = re.compile(r"dates?|months?|days?|period|ds|year ?month|yyyymm(dd)?")
_YEAR = re.compile(r"years?|yr|decimal (date|year)|dec date")


def is_time_name(name: str) -> bool:
    """True for the names people give to a time column."""
    return _TIME.fullmatch(_plain(name)) is not None


def is_compact(name: str) -> bool:
    """True when 194901 in a column of this name is a month rather than a number."""
    return _COMPACT.fullmatch(_plain(name)) is not None


@dataclass(frozen=True)
class TimeRule:
    """The map between a time column and numbers; small enough to be stored with a model."""

    kind: TimeKind
    grid: Grid
    step: float  # usual step: months, business days, microseconds or the column's own unit
    form: str = ""  # how dates are written, see `dates.write`
    day: int = 1  # of the month, on the grid of months
    clock: int = 0  # microseconds after midnight, on the grids of months and business days
    digits: int = 0  # decimals of a number

    @classmethod
    def of_dates(cls, dates: Dates) -> TimeRule:
        """The rule for a column of dates: months or business days if they fit that grid, elapsed time otherwise."""
        moments = np.unique(dates.moments[~dates.missing])
        months = month_number(moments)
        clock = moments % DAY
        day = (moments - day_in_month(months, 1)) // DAY + 1
        at_end = np.all(moments - clock == day_in_month(months, LAST))
        usual = LAST if at_end else int(day.max())
        fits = np.all(moments - clock == day_in_month(months, usual)) and not np.ptp(clock)
        if fits:
            return cls("date", "months", _median_step(months), dates.form, usual, int(clock[0]))
        if np.ptp(clock):
            return cls("date", "elapsed", _median_step(moments), dates.form)
        if calendar.are_business_days(moments):
            return cls("date", "business days", 1.0, dates.form, clock=int(clock[0]))
        return cls("date", "elapsed", DAY * _median_step(moments // DAY), dates.form)

    @classmethod
    def of_numbers(cls, values: np.ndarray, name: str = "", unit: str = "") -> TimeRule:
        """The rule for a numeric time column, which may hold (decimal) years."""
        times = np.unique(values[np.isfinite(values)])
        step = _number_step(times)
        finest = int(np.clip(2 - np.floor(np.log10(step)), 0, 12))
        exact = (k for k in range(finest) if np.allclose(np.round(times, k), times, rtol=0, atol=1e-9 * step))
        kind: TimeKind = "decimal year" if _are_years(times, name, unit) else "number"
        return cls(kind, "numbers", step, digits=next(exact, finest))

    @property
    def offset(self) -> float:
        """Where in a year the first point of the months grid lies."""
        return ((self.day - 1) * DAY + self.clock) / YEAR

    @property
    def in_years(self) -> bool:
        """True when the numbers are years, whatever the reader wrote."""
        return self.kind in ("date", "decimal year")

    @property
    def spacing(self) -> float:
        """The usual step in numbers."""
        return self.step * {"months": 1 / 12, "business days": BUSINESS, "elapsed": 1 / YEAR, "numbers": 1.0}[self.grid]

    @property
    def spoken(self) -> str:
        """The form for sentences: the reader's own, with a machine's days and hours written as people write them."""
        date, clock = (re.split(r"[T ,]+(?=\{H)", self.form, maxsplit=1) + [""])[:2]
        if date.startswith("{Y}") and "{d" in date:
            date = "{d} {B} {Y}"
        if not clock or self.grid != "elapsed" or self.step % DAY == 0:
            return date  # the time of day is always the same
        seconds = "" if self.step % 60_000_000 == 0 else ":{S}" if self.step % 1_000_000 == 0 else ":{F}"
        return f"{date}, {{H:02}}:{{M:02}}{seconds}"

    @property
    def zone(self) -> str:
        """The clock that times of day are told by, such as "UTC" or "UTC+01:00"; empty when the file does not say."""
        found = re.search(r"(?:Z|UTC|[-+]\d{2}:?\d{2})$", self.form)
        return "" if found is None else "UTC" + found.group().removeprefix("Z").removeprefix("UTC")

    def periods(self, unit: str = "") -> tuple[float, ...]:
        """The periods of the calendar in numbers; none for plain numbers whose unit is no unit of time."""
        size = DAYS if self.in_years else calendar.days_in(unit)
        return () if size is None else calendar.periods(size)

    def encode(self, dates: Dates) -> np.ndarray:
        """Numbers for dates, NaN where they are missing; dates between grid points are interpolated."""
        moments = dates.moments
        if self.grid == "months" and dates.by_month:
            moments = self._point(month_number(moments))  # "1961-01" on a grid of month ends is the end of January
        return np.where(dates.missing, np.nan, self.value(moments))

    def value(self, moments: np.ndarray) -> np.ndarray:
        """Numbers for moments."""
        if self.grid == "months":
            months = month_number(moments)
            months = np.where(moments < self._point(months), months - 1, months)
            low, high = self._point(months), self._point(months + 1)
            return (months + (moments - low) / (high - low)) / 12 + self.offset
        if self.grid == "business days":
            numbers = calendar.business_numbers(moments - self.clock)
            return self._of_business(numbers)
        return 1970 + moments / YEAR

    def read(self, cells: Cells, name: str, where: Where) -> np.ndarray:
        """Numbers for the cells of another column of dates, by the same rule."""
        dates = read_dates(cells, name, where, self.form, is_compact(name))
        if dates is None:
            example = write(0, self.form)
            first = next((cell for cell in cells if cell), "nothing")
            raise DataError(f"column {name!r} must hold dates such as {example}, not {quoted(first)}: write dates")
        return self.encode(dates)

    def format(self, value: float) -> str:
        """A time in the reader's own form; dates between grid points are cut to what the form shows."""
        if not np.isfinite(value):
            return str(float(value))
        if self.grid == "numbers":
            text = f"{value:.{self.digits}f}" if abs(value) < 1e15 else f"{value:.6g}"
            return text.removeprefix("-") if not float(text) else text
        return write(self.moment(value), self.form) if 0 <= value < 10_000 else f"{value:.0f}"

    def future(self, last: float, horizon: int) -> np.ndarray:
        """The `horizon` times that continue the usual step after `last`."""
        steps = np.arange(1, horizon + 1)
        if self.grid == "months":
            months = round((last - self.offset) * 12) + int(self.step) * steps
            return months / 12 + self.offset
        if self.grid == "business days":
            return self._of_business(round(self._business(last)) + int(self.step) * steps)
        if self.grid == "elapsed":
            return 1970 + (self.moment(last) + int(self.step) * steps) / YEAR
        return last + self.step * steps

    def sentence(self, name: str) -> str:
        """What was done with the column, for the fine print."""
        if self.grid == "months":
            often = {1: "monthly", 3: "quarterly", 6: "half-yearly", 12: "yearly"}
            what = often.get(int(self.step), "whole months apart")
            return f"Dates in {name!r} were understood as {what} and placed at year + (month - 1)/12."
        if self.grid == "business days":
            return f"Dates in {name!r} were understood as business days and placed evenly, five to a week."
        if self.grid == "elapsed":
            clock = f" Times of day are {self.zone}." if self.zone and ":" in self.spoken else ""
            return f"Dates in {name!r} were turned into years by elapsed time (365.2425 days to the year).{clock}"
        what = "decimal years" if self.kind == "decimal year" else "plain numbers"
        return f"Times in {name!r} were understood as {what}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TimeRule:
        """The inverse of `to_dict`."""
        rule = cls(**stored)
        check_form(rule.form)
        if rule.grid not in get_args(Grid) or rule.kind not in ("date", "decimal year", "number"):
            raise ValueError(f"unknown time rule {rule.grid!r}")
        return rule

    def _point(self, months: np.ndarray) -> np.ndarray:
        return day_in_month(months, self.day) + self.clock

    def _of_business(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers on the axis for business days."""
        return 1970 + BUSINESS * numbers - MONDAY / DAYS + self.clock / YEAR

    def _business(self, value: float) -> float:
        """The inverse: business days for a number on the axis."""
        return (value - 1970 - self.clock / YEAR + MONDAY / DAYS) / BUSINESS

    def moment(self, value: float) -> int:
        """The moment nearest to a value, to the second or, where the form shows them, the millisecond."""
        if self.grid == "elapsed":
            moment = (value - 1970) * YEAR
        elif self.grid == "business days":
            moment = calendar.business_moment(self._business(value)) + self.clock
        else:
            months = (value - self.offset) * 12
            whole = np.floor(months + 1e-6)  # a grid point less its rounding error is still that point
            low, high = self._point(np.array([whole, whole + 1], dtype=np.int64))
            moment = low + max(months - whole, 0.0) * (high - low)
        unit = 1_000 if "{F}" in self.form else 1_000_000
        return unit * round(moment / unit)


def time_cells(column: Sequence[Any] | np.ndarray) -> Cells:
    """Any sequence of dates or numbers as the text cells that a file would hold."""
    cells = np.empty(len(column), dtype=object)
    cells[:] = ["" if value is None or value != value else str(value).strip() for value in column]
    return cells


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[-_.]", " ", name.lower()).split())


def _median_step(values: np.ndarray) -> float:
    return float(max(1, round(float(np.median(np.diff(values)))))) if len(values) > 1 else 1.0


def _number_step(times: np.ndarray) -> float:
    if len(times) < 2:
        return 1.0
    mean = (times[-1] - times[0]) / (len(times) - 1)
    grid = times[0] + mean * np.arange(len(times))
    # Rounded times (1958.17, 1958.25) step unevenly about a regular grid; their median step would drift off it.
    regular = np.max(np.abs(times - grid)) < 0.3 * mean
    return float(mean if regular else np.median(np.diff(times)))


def _are_years(times: np.ndarray, name: str, unit: str) -> bool:
    if not len(times):
        return False
    if unit:
        return unit.lower() in ("year", "years", "yr", "a", "ce", "ad") and bool(times[0] > 0)
    if _YEAR.fullmatch(_plain(name)):
        return bool(times[0] >= 1 and times[-1] < 10_000)
    return bool(times[0] >= 1500 and times[-1] <= 2200)
