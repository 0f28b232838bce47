"""Dates as people write them: cells of text into moments, and the form to write them back in.

A moment is a whole number of microseconds since 1970-01-01, so that arithmetic on dates is exact. `timeaxis.py` says
how moments become the numbers a model sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.data.columns import DataError
from fathom.data.messages import quoted
from fathom.data.numbers import Cells

DAY = 86_400_000_000  # microseconds
# Not the locale's names: a report reads the same everywhere.
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_CLOCK = (
    r"(?:[T ]\s*(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))?"
    r"(?P<p>\s*[AaPp][Mm])?\s*(?P<z>(?i:Z|UTC)|[-+]\d{2}:?\d{2})?)?"
)
_WORD = (
    r"(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\.?"
)
_FAMILIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<Y>\d{4})(?:[-/](?P<m>\d{1,2})|(?P<s>[-/.])(?P<m2>\d{1,2})(?P=s)(?P<d>\d{1,2})" + _CLOCK + ")",
        r"(?P<i>\d{1,2})(?P<s>[-/.])(?P<j>\d{1,2})(?P=s)(?P<Y>\d{4})" + _CLOCK,
        r"(?P<m>\d{1,2})[-/](?P<Y>\d{4})",
        r"(?:(?P<d>\d{1,2})[-/ ])?" + _WORD + r"[-/ ](?:(?P<d2>\d{1,2}),? )?(?P<Y>\d{4})" + _CLOCK,
        r"(?P<Y>\d{4})[-/ ]" + _WORD + r"(?:[-/ ](?P<d>\d{1,2}))?" + _CLOCK,
        r"(?P<Y>\d{4})[-/ ]?[Qq](?P<q>[1-4])",
        r"[Qq](?P<q>[1-4])[-/ ]?(?P<Y>\d{4})",
    )
)
# A number unless one of the column begins with a zero.
_YEAR, _MONTH = r"(?P<Y>1[5-9]\d\d|20\d\d)", r"(?P<m>0[1-9]|1[0-2])"
_PADDED = re.compile(rf"{_MONTH}\.{_YEAR}")
# Numbers unless all of a column look so, and its name says that they are dates; of the next two, most.
_DOTTED = (re.compile(rf"(?P<m>0?[1-9]|1[0-2])\.{_YEAR}"), re.compile(rf"{_YEAR}\.{_MONTH}"))
_COMPACT = (re.compile(_YEAR + _MONTH), re.compile(_YEAR + _MONTH + r"(?P<d>0[1-9]|[12]\d|3[01])"), *_DOTTED)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?")
_SHORT_YEAR = re.compile(r"\d{1,2}([-/.])(\d{1,2}|[A-Za-z]{3})\1\d{2}(\s.*)?")
_FIELD = {"m": "{m:02}", "m2": "{m:02}", "d": "{d:02}", "d2": "{d:02}", "H": "{H:02}"}
_TOKEN = re.compile(r"\{(?:[YqSF]|[bB](?::upper|:lower)?|[mdHM](?::02)?)\}")
_OFFSET = re.compile(r"(?:(?i:Z|UTC)|[-+]\d{2}:?\d{2})$")  # at the end of a form
_FURTHEST = 16 * 60  # minutes between a local clock and UTC
_NOT_A_DATE = "is not a date written like the others: correct it, or write every date as YYYY-MM-DD"

Where = Callable[[int], str]  # row -> "line 7"


class _Name(str):
    """The name of a month, in capitals or in small letters if its field in a form says so."""

    __slots__ = ()

    def __format__(self, case: str) -> str:
        return str(self.upper() if case == "upper" else self.lower() if case == "lower" else self)


@dataclass(frozen=True)
class Dates:
    """Moments read from a column, which cells were missing, and how the dates were written."""

    moments: np.ndarray  # (N,) int64, microseconds since 1970-01-01; 0 where missing
    missing: np.ndarray  # (N,) bool
    form: str  # such as "{Y}-{m:02}", for `write`
    notes: tuple[str, ...] = ()

    @property
    def by_month(self) -> bool:
        """True when the dates name months or quarters but no day."""
        return "{d" not in self.form


@dataclass(frozen=True)
class _Column:
    """The filled cells of a column that all match one family of forms."""

    name: str
    where: Where
    cells: Cells
    rows: np.ndarray
    found: Sequence[re.Match[str]]

    def error(self, k: int, what: str) -> DataError:
        row = int(self.rows[k])
        return DataError(f"column {self.name!r}, {self.where(row)}: {quoted(self.cells[row])} {what}")

    def note(self, k: int, what: str) -> str:
        row = int(self.rows[k])
        return f"{self.cells[row]!r} (column {self.name!r}, {self.where(row)}) was read as {what}."

    def numbers(self, group: str) -> np.ndarray:
        return np.array([int(match[group]) for match in self.found])

    def has(self, group: str) -> bool:
        return group in self.found[0].re.groupindex


def read_dates(cells: Cells, name: str, where: Where, form: str = "", compact: bool = False) -> Dates | None:
    """Read a column of dates; None when it does not look like one.

    `form` is how an earlier column was written, which settles the order of day and month; `compact` accepts 194901,
    19490131, 1.1949 and 1949.01 too. When most cells are dates, but not all, the first other cell is an error.
    """
    rows = np.flatnonzero(cells != "")
    sample = cells[rows[:50]]
    numbers = 2 * sum(_NUMBER.fullmatch(cell) is not None for cell in sample) > len(sample)
    families = (*(() if numbers else _FAMILIES), _PADDED, *(_COMPACT if compact else ()))
    hits = [sum(family.fullmatch(cell) is not None for cell in sample) for family in families]
    if not rows.size or 2 * max(hits) < len(sample):
        _refuse_short_years(sample, name, where, rows)
        return None
    family = families[int(np.argmax(hits))]
    found = [match for cell in cells[rows] if (match := family.fullmatch(cell))]
    if family is _PADDED and not any(match["m"].startswith("0") for match in found):
        return None  # rates of exchange, such as 10.1523
    if len(found) < len(rows):
        if family in _DOTTED:
            return None  # plain numbers, some of which happen to look like dates
        other = next(k for k, cell in enumerate(cells[rows]) if not family.fullmatch(cell))
        raise _Column(name, where, cells, rows, ()).error(other, _NOT_A_DATE)
    return _assemble(_Column(name, where, cells, rows, found), form)


def may_be_dates(cells: Cells) -> bool:
    """True when all cells of a column look like 194901, 19490131, 1.1949 or 1949.01."""
    filled = cells[cells != ""]
    return any(all(family.fullmatch(cell) for cell in filled) for family in _COMPACT)


def write(moment: int, form: str) -> str:
    """Write a moment in a form; what the form does not show is cut off, not rounded."""
    day, clock = divmod(int(moment), DAY)
    month = int(np.datetime64(day, "D").astype("datetime64[M]").astype(int))
    first = int(np.datetime64(month, "M").astype("datetime64[D]").astype(int))
    seconds, micro = divmod(clock, 1_000_000)
    return form.format(
        Y=f"{1970 + month // 12:04d}",
        m=month % 12 + 1,
        b=_Name(MONTHS[month % 12][:3]),
        B=_Name(MONTHS[month % 12]),
        A=WEEKDAYS[(day + 3) % 7],  # 1970 began on a Thursday
        q=month % 12 // 3 + 1,
        d=day - first + 1,
        H=seconds // 3600,
        M=seconds // 60 % 60,
        S=f"{seconds % 60:02d}",
        F=f"{seconds % 60:02d}.{micro // 1000:03d}",
    )


def check_form(form: str) -> str:
    """Return a form that comes from a file if nothing but known fields stands in its braces."""
    if re.search(r"[{}]", _TOKEN.sub("", form)):
        raise ValueError(f"unknown date form {form!r}")
    return form


def month_number(moments: np.ndarray) -> np.ndarray:
    """Months since January of year 0."""
    return moments.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64) + 12 * 1970


def day_in_month(months: np.ndarray, day: int | np.ndarray) -> np.ndarray:
    """Moment at which a day of a month (numbered as above) starts; a day past its end is its last day."""
    start = np.asarray(months - 12 * 1970, dtype=np.int64).astype("datetime64[M]")
    first = start.astype("datetime64[D]").astype(np.int64)
    length = (start + 1).astype("datetime64[D]").astype(np.int64) - first
    return (first + np.minimum(day, length) - 1) * DAY


def _refuse_short_years(sample: Cells, name: str, where: Where, rows: np.ndarray) -> None:
    if sum(_SHORT_YEAR.fullmatch(cell) is not None for cell in sample) * 2 > len(sample):
        place = where(int(rows[0]))
        raise DataError(
            f"column {name!r}, {place}: {sample[0]!r} has a two-digit year: write the year with four digits"
        )


def _assemble(column: _Column, like: str) -> Dates:
    day_first, notes = _order(column, like)
    _refuse_seasons(column)
    fields = [_fields(match, day_first) for match in column.found]
    year, month, day, clock, zone = np.array(fields, dtype=np.int64).T
    months = 12 * year + month - 1
    moments = day_in_month(months, day)
    wrong = (month < 1) | (month > 12) | (day < 1) | (clock < 0) | (clock >= DAY) | _incomplete(column, zone)
    wrong |= moments != day_in_month(months, 1) + (day - 1) * DAY  # the 30th of February
    if wrong.any():
        raise column.error(int(np.argmax(wrong)), _NOT_A_DATE)
    form = _form(column, day_first)
    moments = moments + clock
    if (end := _OFFSET.search(like)) and column.has("z") and any(match["z"] for match in column.found):
        moments = moments - zone + 60_000_000 * _zone(end.group())  # by the clock of the earlier column
    elif np.ptp(zone):
        # Summer and winter time alternate: only a common clock keeps equal steps equal.
        moments = moments - zone
        remedy = "to follow the clock on the wall instead, write them without offsets"
        notes = (*notes, f"Times in {column.name!r} have several UTC offsets and were put in UTC; {remedy}.")
        form = _OFFSET.sub("Z", form)
    full = np.zeros(len(column.cells), dtype=np.int64)
    full[column.rows] = moments
    return Dates(full, column.cells == "", form, notes)


def _incomplete(column: _Column, zone: np.ndarray) -> np.ndarray:
    """Dates that lack the half of the day, or the UTC offset, that others of the column have."""
    lacking = np.zeros(len(column.found), dtype=bool)
    if column.has("H"):
        parts = {part: np.array([match[part] is not None for match in column.found]) for part in "Hpz"}
        lacking |= parts["H"] & ~parts["p"] & parts["p"].any()
        lacking |= ~parts["z"] & np.any(zone != 0)
    return lacking


def _refuse_seasons(column: _Column) -> None:
    """Refuse 2001-02, 2002-03, 2003-04: two years each, not months that lie thirteen apart."""
    if "m" not in column.found[0].re.groupindex or column.found[0].re.groupindex.get("Y") != 1:
        return
    years = {(int(match["Y"]), int(match["m"])) for match in column.found if match["m"]}
    if len(years) > 2 and all((year + 1) % 100 == month for year, month in years):
        raise column.error(0, "may be a month or a season of two years: write one year, or dates as YYYY-MM-DD")


def _fields(match: re.Match[str], day_first: bool) -> tuple[int, int, int, int, int]:
    """Year, month, day, microseconds into the day and UTC offset of one date; the clock is -1 if either is wrong."""
    group = match.groupdict()
    if "i" in group:
        month, day = (group["j"], group["i"]) if day_first else (group["i"], group["j"])
    else:
        month, day = group.get("m") or group.get("m2"), group.get("d") or group.get("d2") or 1
        day = 0 if group.get("d") and group.get("d2") else day  # 5 Jan 12, 2020
    if group.get("b"):
        month = 1 + next(k for k, name in enumerate(MONTHS) if name.lower().startswith(group["b"][:3].lower()))
    if group.get("q"):
        month = 3 * int(group["q"]) - 2
    zone = _zone(group.get("z"))
    clock = _clock(group) if abs(zone) < _FURTHEST else -1
    return int(group["Y"]), int(month or 0), int(day), clock, 60_000_000 * zone


def _clock(group: dict[str, str]) -> int:
    hour, minute = int(group.get("H") or 0), int(group.get("M") or 0)
    second = round(float(group.get("S") or 0) * 1e6)
    half = (group.get("p") or "").strip().lower()
    if half and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half == "pm")
    elif half and (half == "pm") != (hour > 12):  # 0:30 PM, 13:30 AM
        return -1
    if hour > 23 or minute > 59 or second >= 60_000_000:
        return -1
    return (60 * hour + minute) * 60_000_000 + second


def _zone(text: str | None) -> int:
    """Minutes ahead of UTC; more than there are if the text says 99 minutes."""
    if not text or text.upper() in ("Z", "UTC"):
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:])
    return (-1 if text[0] == "-" else 1) * (60 * hours + minutes if minutes < 60 else _FURTHEST)


def _order(column: _Column, like: str) -> tuple[bool, tuple[str, ...]]:
    """Whether 03/04/1949 is the third of April, judged from the whole column, and a note where it is a guess."""
    if not column.has("i"):
        dotted = column.found[0].re is _DOTTED[-1]
        return False, (column.note(0, "a month, not as a decimal year"),) if dotted else ()
    first, second = column.numbers("i"), column.numbers("j")
    day, month = np.any(first > 12), np.any(second > 12)
    if day and month:
        contrary = max(int(np.argmax(first > 12)), int(np.argmax(second > 12)))
        raise column.error(
            contrary, "has day and month in another order than dates above it: write dates as YYYY-MM-DD"
        )
    if day or month:
        return bool(day), ()
    if "{m" in like and "{d" in like and not like.startswith("{Y"):
        return like.index("{d") < like.index("{m"), ()
    # Points stand between day, month and year in that order, where they do. A forecast has no notes to say so.
    guess = np.array([match["s"] == "." for match in column.found]) & (not like)
    if np.any((first != second) & ~guess):
        raise column.error(
            int(np.argmax((first != second) & ~guess)),
            "may be day/month or month/day, and no other date tells which: write dates as YYYY-MM-DD",
        )
    notes = (column.note(int(np.argmax(first != second)), "day.month.year, which no other date confirms"),)
    return True, notes if np.any(first != second) else ()


def _form(column: _Column, day_first: bool) -> str:
    """The most detailed date of the column with its fields replaced by their names."""
    richest = max(column.found, key=lambda match: sum(group is not None for group in match.groups()))
    names = {"i": "d", "j": "m"} if day_first else {"i": "m", "j": "d"}
    spans = sorted((richest.span(group), group) for group in richest.re.groupindex if group not in "sz")
    pieces: list[str] = []
    end = 0
    for (start, stop), group in spans:
        if start >= 0:
            written = [match[group] for match in column.found if match[group]]
            pieces += [richest.string[end:start], _token(names.get(group, group), written)]
            end = stop
    form = "".join([*pieces, richest.string[end:]]).strip()
    return re.sub(r"(\{B[^}]*\})\.", r"\1", form)  # "Jan. 1949", but "March 1949"


def _token(group: str, written: Sequence[str]) -> str:
    if group == "p":
        return ""  # written back on the 24-hour clock
    if group == "b":
        whole = any(len(name) > 3 and name.capitalize() in MONTHS for name in written)
        case = next((case for case in ("upper", "lower") if all(getattr(n, "is" + case)() for n in written)), "")
        return "{" + "bB"[whole] + (f":{case}" if case else "") + "}"
    if group == "S":
        return "{F}" if any("." in text for text in written) else "{S}"
    if group in _FIELD and min(map(len, written)) == 2:
        return _FIELD[group]
    return "{M:02}" if group == "M" else "{" + group[0] + "}"
