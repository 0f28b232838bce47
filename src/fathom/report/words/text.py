"""Numbers, spans, places and lists as a reader would write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.data.dates import MONTHS
from fathom.data.timeaxis import TimeRule

DAYS = 365.2425  # in a year
MINUS = "\N{MINUS SIGN}"
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
_COUNTS = {"hundreds": "hundred", "thousands": "thousand", "millions": "million", "billions": "billion"}


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
    def record(self) -> str:
        """What the range of the data is called."""
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
        if not self.in_years:
            text = number(value, sd, digits)
            return f"{text} {self.unit or self._nameless(text)}"
        noun, size, _ = next(u for u in _UNITS if abs(value) >= 0.999 * u[2])
        text = number(value / size, None if sd is None else sd / size, digits)
        return f"{text} {noun}" if text == "1" else f"{text} {noun}s"

    def _nameless(self, text: str) -> str:
        return f"unit{'' if text == '1' else 's'}{f' of {self.called}' if self.name else ''}"

    def stretch(self, value: float, digits: int = 1) -> str:
        """A distance of which the reader must be told on which of several inputs it lies: "6 days of age"."""
        text = self.length(value, digits)
        return text if not (self.in_years or self.unit) else f"{text} of {self.name}"

    def place(self, value: float) -> str:
        """A point on the axis: a date as the reader writes it, or a number."""
        return f"{value:.4g} {self.unit}".rstrip() if self.rule is None else self.rule.format(value)

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
            return slope, f"per {self.unit}" if self.unit else f"for each unit of {self.called}"
        choices = (("a year", 1.0, 2.0), ("a month", 1 / 12, 1 / 6), ("a day", 1 / DAYS, 2 / DAYS))
        words, size, _ = next((c for c in choices if self.span >= c[2]), ("an hour", 1 / DAYS / 24, 0.0))
        return slope * size, words

    def season(self, value: float) -> str:
        """The month a moment falls in, or its date when the axis does not show months."""
        if not self.in_years:
            return self.place(value)
        return MONTHS[math.floor(12 * (value % 1.0) + 1e-6) % 12]


def _coarse(form: str, span: float) -> str:
    """The form of a date without what no one reads on a record of so many years: the day, or the time of day."""
    if span > 2 and "{d" in form:
        return "{Y}-{m:02}" if form.startswith("{Y}") else "{B} {Y}"
    return re.split(r"[T ]+\{H", form)[0] if span > 2 / 12 else form


def round_to(value: float, sd: float | None, digits: int = 2) -> float:
    """A value with as many digits as its uncertainty allows, between one and four; without one, `digits`."""
    if value == 0 or not math.isfinite(value):
        return value
    size = math.floor(math.log10(abs(value)))
    if sd is not None and sd > 0 and math.isfinite(sd):
        digits = min(max(size - math.floor(math.log10(sd)) + 1, 1), 4)
    return float(f"{value:.{digits}g}")


def number(value: float, sd: float | None = None, digits: int = 2) -> str:
    """A number for a reader: 12,500, 0.034 or −7; two digits where the first is small (1.4, 8, 14)."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    leading = abs(value) / 10.0 ** math.floor(math.log10(abs(value)))
    value = round_to(value, sd, max(digits, 2 if leading < 3 else 1))
    text = f"{value:,.0f}" if 10 <= abs(value) < 1e9 and value == round(value) else f"{value:,.6g}"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        text = f"{value:.3g}"
    return text.replace("-", MINUS)


def quantity(value: float, unit: str = "", sd: float | None = None, digits: int = 2) -> str:
    """A number with its unit: "32 thousand", "4.5 g", "12 %"."""
    return with_unit(number(value, sd, digits), unit)


def with_unit(text: str, unit: str) -> str:
    """The unit after a number, counting words in the singular."""
    return f"{text} {_COUNTS.get(unit.lower(), unit)}".rstrip()


def between(low: float, high: float, unit: str = "", joint: str = "and") -> str:
    """Two numbers rounded alike, no coarser than a twentieth of what lies between them: "470 and 540 thousand"."""
    gap = abs(high - low) / 20
    place = 10.0 ** math.floor(math.log10(gap)) if gap > 0 else 0.0
    texts = [number(place * round(v / place), None, 9) if place else number(v) for v in (low, high)]
    if 1e-4 < place < 1 and max(abs(low), abs(high)) < 1e9:  # as many decimals in both
        texts = [f"{v:,.{round(-math.log10(place))}f}".replace("-", MINUS) for v in (low, high)]
    return f"{texts[0]} {joint} {with_unit(texts[1], unit)}"


def differing(first: float, second: float, unit: str = "") -> tuple[str, str] | None:
    """Two numbers, the unit after the second, in as many digits as they need to differ; None if six do not do."""
    for digits in range(2, 7):
        texts = [number(v, None, digits) for v in (first, second)]
        if texts[0] != texts[1]:
            return texts[0], with_unit(texts[1], unit)
    return None


def percent(share: float) -> str:
    """A share as a percentage, finer near the ends: "85 %", "99.2 %", "0.3 %", "less than 0.1 %"."""
    value = 100 * share
    if abs(value) < 0.05:
        return "less than 0.1 %"
    digits = 0 if 10 <= abs(value) <= 90 else 1
    if 99.95 <= value < 100 - 1e-7:
        return "more than 99.9 %"
    text = f"{value:.{digits}f}".removesuffix(".0") if value > 99.9 else f"{value:.{digits}f}"
    return f"{text} %".replace("-", MINUS)


def listed(items: Sequence[str], word: str = "and") -> str:
    """ "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def counted(n: int, noun: str) -> str:
    """ "one part", "three parts", "12 parts"."""
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return f"{small[n] if n < len(small) else n} {noun}{'' if n == 1 else 's'}"


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return capital(text.rstrip(".") + ".")


def capital(text: str) -> str:
    """The text with a capital."""
    return text[:1].upper() + text[1:]
