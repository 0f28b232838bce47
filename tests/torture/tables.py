"""Odd tables from a seed: what is meant, as numbers and dates, and how somebody wrote it down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

Meant = float | datetime | str | None  # a number, a date, text, or nothing

SEPARATORS = (",", ",", ",", ";", ";", "\t", "|")
RARE = (":", "^", "~", " ", "/")  # which a first line has to name
GROUPING = ("", "", "", " ", "\u00a0", "\u2009", "\u202f", "'", "\u2019", "other", "other", "other", "_")
MISSING = ("", "", "NA", "nan", "NULL", "None", "-", ".", "?", "n/a", "#N/A", "--")
TEXTS = ("oops", "1.2.3", "5 kg", "12%", "$5", "(5)", "5-", "1e", "0x1F", "1_000", "1O", "--5", "<5", "5*", "1:30", "+")
WORDS = (
    "red",
    "dark blue",
    "a, b; c",
    "x|y",
    'say "hi"',
    "Größe",
    "tab\there",
    "5' 3",
    "two\nlines",
    "9,5 or so",
    "#1",
)
NAMES = ("x", "z", "CO2 (ppm)", "speed [m/s]", "Größe", "a b", "rate, net", "n;m", "u_1", 'the "q"', "w#", "pH", "área")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass
class Column:
    """What a column means, row by row, and its cells as text."""

    name: str
    meant: list[Meant]
    cells: list[str]
    role: str = "input"  # or "time", "target", "text" (which is left out)


@dataclass
class Style:
    """How a table is written."""

    separator: str
    point: str
    grouping: str
    missing: str
    quoting: str  # "needed", "all" or "text"
    encoding: str
    newline: str
    padding: str


@dataclass
class Odd:
    """A file, how to read it, and what it means."""

    columns: list[Column]
    style: Style
    suffix: str = ""
    content: bytes = b""
    oddities: list[str] = field(default_factory=list)  # what was done to it
    unsure: bool = False  # it may be refused
    shifts: list[int] = field(default_factory=list)  # minutes from UTC of each date, where they differ
    form: str = ""  # of its dates, where they can be written back as they were
    head: list[str] = field(default_factory=list)  # lines above the header
    drops: list[str] = field(default_factory=list)  # columns that were added, to be left out

    def did(self, what: str, unsure: bool = True) -> None:
        """Remember an oddity, after which the file may be refused (`unsure`) or not."""
        self.oddities.append(what)
        self.unsure |= unsure

    def named(self, role: str) -> list[str]:
        """The names by which columns of a role are asked for."""
        return [column.name for column in self.columns if column.role == role]


def odd_table(rng: Random) -> Odd:
    """A table in an odd dialect, with something wrong in it every other time."""
    style = _style(rng)
    n = rng.choice((4, 6, 9, 9, 14, 14, 30))
    columns = [_numbers(rng, style, name, n) for name in rng.sample(NAMES, rng.choice((1, 1, 2, 3)))]
    odd = Odd([*columns, _numbers(rng, style, "y", n)], style)
    odd.columns[-1].role = "target"
    odd.suffix = (
        rng.choice((".csv", ".tsv", ".txt")) if style.separator == "\t" else rng.choice((".csv", ".csv", ".txt", ""))
    )
    odd.head = [f"sep={style.separator}"] if style.separator in RARE else []
    if rng.random() < 0.6:
        _add_time(rng, odd, n)
    if rng.random() < 0.4:
        words = [rng.choice(WORDS) for _ in range(n)]
        odd.columns.insert(rng.randrange(len(odd.columns) + 1), Column("remark", list(words), words, "text"))
    for column in odd.columns:
        if column.role != "text" and rng.random() < 0.15:
            for row in rng.sample(range(n), rng.randint(1, max(1, n // 5))):
                column.meant[row], column.cells[row] = None, style.missing
    if style.grouping == "_" or (style.separator == "," and style.point == ","):
        odd.unsure = True  # is not how numbers are written
    return odd


def _style(rng: Random) -> Style:
    separator = rng.choice(SEPARATORS) if rng.random() < 0.97 else rng.choice(RARE)
    point = rng.choice(".," if separator != "," else "........,")
    grouping = rng.choice(GROUPING)
    grouping = {".": ",", ",": "."}[point] if grouping == "other" else grouping
    encodings = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")
    encoding = rng.choice(encodings[:-1] if grouping in "\u2009\u202f" and grouping else encodings)
    quoting = rng.choice(("needed", "needed", "needed", "all", "text"))
    newline = rng.choice(("\n", "\n", "\r\n", "\r"))
    padding = rng.choice(("", "", " ")) if separator != " " else ""
    return Style(separator, point, grouping, rng.choice(MISSING), quoting, encoding, newline, padding)


def _numbers(rng: Random, style: Style, name: str, n: int) -> Column:
    """Numbers of one kind: whole or with decimals, few digits or many, all written by one rule."""
    size = rng.choice((1, 2, 3, 4, 6, 9))
    digits = rng.choice((0, 0, 1, 2, 3, 3, 3, 5, 12))
    short = rng.random() < 0.3  # without trailing zeros
    grouped = rng.random() < 0.8
    power = rng.random() < 0.1
    signs = rng.choice((("",), ("",), ("", "-"), ("+", "-"), ("", "\u2212" if style.encoding != "cp1252" else "-")))
    meant: list[Meant] = []
    cells = []
    for _ in range(n):
        whole = str(rng.randrange(10 ** rng.randint(1, size)))
        fraction = "".join(rng.choices("0123456789", k=digits))
        fraction = fraction.rstrip("0") if short else fraction
        sign, exponent = rng.choice(signs), f"e{rng.randint(-40, 40)}" if power else ""
        meant.append(float(f"{sign}{whole}.{fraction}{exponent}".replace("\u2212", "-")))
        if grouped and style.grouping and not power:
            whole = f"{int(whole):,}".replace(",", style.grouping)
        cells.append(sign + whole + (style.point + fraction if fraction else "") + exponent)
    return Column(name, meant, cells)


def rewritten(rng: Random, odd: Odd) -> Odd:
    """Some rows of the inputs of a table, in another order and in another dialect."""
    inputs = [column for column in odd.columns if column.role in ("input", "time")]
    rows = [k for k in range(len(inputs[0].meant)) if all(column.meant[k] is not None for column in inputs)]
    rows = rng.sample(rows, rng.randint(min(1, len(rows)), len(rows)))
    style = replace(_style(rng), encoding="utf-8")
    if style.separator == odd.style.separator:  # of the same program
        style = replace(style, point=odd.style.point, grouping=odd.style.grouping)
    elif style.separator == ",":
        style = replace(style, point=".", grouping=style.grouping.replace(".", ","))
    other = Odd([], style, head=[f"sep={style.separator}"])
    for column in inputs:
        meant, cells = [column.meant[k] for k in rows], [column.cells[k] for k in rows]
        if not any(isinstance(value, datetime) for value in meant):
            grouped = rng.random() < 0.5
            cells = [_again(cell, odd.style, style, grouped and column.role == "input") for cell in cells]
        other.columns.append(replace(column, meant=meant, cells=cells))
    other.shifts = [odd.shifts[k] for k in rows] if odd.shifts else []
    return other


def _again(cell: str, old: Style, new: Style, grouped: bool) -> str:
    """A number in another style."""
    plain = cell.replace(old.grouping, "") if old.grouping else cell
    match = re.fullmatch(r"(\D?)(\d+)\.?(\d*)([eE].+)?", plain.replace(old.point, "."))
    assert match is not None, cell
    sign, whole, fraction, exponent = match.groups(default="")
    if grouped and new.grouping and not exponent:
        whole = f"{int(whole):,}".replace(",", new.grouping)
    return sign + whole + (new.point + fraction if fraction else "") + exponent


# -- dates -------------------------------------------------------------------------------------------------------

STEPS = ("day", "week", "month", "month", "quarter", "year", "hour", "minute", "odd")
DAYS = (
    ("%Y-%m-%d", "plain"),
    ("%Y-%m-%d", "plain"),
    ("%Y/%m/%d", "plain"),
    ("%Y/%-m/%-d", "plain"),
    ("%Y.%m.%d", "plain"),
    ("%d.%m.%Y", "plain"),
    ("%-d.%-m.%Y", "plain"),
    ("%m.%d.%Y", "guess"),
    ("%d/%m/%Y", "guess"),
    ("%m/%d/%Y", "guess"),
    ("%-m/%-d/%Y", "guess"),
    ("%d-%m-%Y", "guess"),
    ("%d-%b-%Y", "plain"),
    ("%-d %B %Y", "plain"),
    ("%b %-d, %Y", "plain"),
    ("%B %-d, %Y", "plain"),
    ("%Y %b %d", "plain"),
    ("%Y%m%d", "plain"),
    (("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%y-%m-%d"), "refuse"),
)
BY_MONTH = (
    ("%Y-%m", "plain"),
    ("%Y/%m", "plain"),
    ("%m/%Y", "plain"),
    ("%-m/%Y", "plain"),
    ("%b %Y", "plain"),
    ("%b-%Y", "plain"),
    ("%B %Y", "plain"),
    ("%b. %Y", "plain"),
    ("%Y %b", "plain"),
    ("%Y%m", "plain"),
    ("%m.%Y", "guess"),
    ("%-m.%Y", "guess"),
    ("%Y.%m", "guess"),
    ("%b-%y", "refuse"),
)
CLOCKS = (" %H:%M", " %H:%M:%S", "T%H:%M:%S", " %-I:%M %p", " %H:%M:%S.%f")
ZONES = ("", "", "", "", "Z", "+00:00", "+05:30", "-0330", "+99:00", "-23:59", "summer")


def _add_time(rng: Random, odd: Odd, n: int) -> None:
    """A time column of some structure: dates in one form of many, years, decimal years or a count."""
    n_columns = len(odd.columns)
    place = 0 if rng.random() < 0.8 else rng.randrange(n_columns)
    kind = rng.random()
    if kind < 0.7:
        column = _dates(rng, odd, n)
    else:
        start = rng.choice((0, 1, 1850, 1990))
        step = rng.choice((1, 1, 1 / 12, 0.25, 0.01)) if kind < 0.9 else 1
        digits = 0 if step == 1 else 2 if step == 0.01 else 4
        meant = [round(start + k * step, digits) for k in range(n)]
        cells = [f"{value:.{digits}f}".replace(".", odd.style.point) for value in meant]
        column = Column(rng.choice(("year", "time", "t", "Time (a)")), list(meant), cells)
    column.role = "time"
    if rng.random() < 0.15:
        order = rng.sample(range(n), n)
        column.meant, column.cells = [column.meant[k] for k in order], [column.cells[k] for k in order]
        odd.shifts = [odd.shifts[k] for k in order] if odd.shifts else []
    odd.columns.insert(place, column)


def _dates(rng: Random, odd: Odd, n: int) -> Column:
    step = rng.choice(STEPS)
    moments = _moments(rng, step, n)
    clock, zone = "", ""
    if step in ("month", "quarter", "year") and rng.random() < 0.6:
        form, sure = rng.choice(BY_MONTH)
        moments = [moment.replace(day=1) for moment in moments]
    elif step == "quarter" and rng.random() < 0.5:
        form, sure = rng.choice(("%Y-Q%q", "%YQ%q", "Q%q %Y")), "plain"
        moments = [moment.replace(day=1, month=(moment.month - 1) // 3 * 3 + 1) for moment in moments]
    else:
        form, sure = rng.choice(DAYS)
        form = form if isinstance(form, str) else rng.choice(form)
    if step in ("hour", "minute") and form != "%Y%m%d":
        clock = rng.choice(CLOCKS)
        zone = rng.choice(ZONES) if "%p" not in clock else ""
        moments = [m if "%f" in clock or "%S" in clock else m.replace(second=0) for m in moments]
    else:
        moments = [m.replace(hour=0, minute=0, second=0) for m in moments]
    if zone == "summer":
        odd.shifts = [60 if k < n // 2 else 120 for k in range(n)]
    if zone in ("+99:00", "-23:59"):
        sure = "refuse"
    cells = [write_date(moment, form + clock) + (zone if zone != "summer" else "") for moment in moments]
    if zone == "summer":
        cells = [f"{cell}+{shift // 60:02d}:00" for cell, shift in zip(cells, odd.shifts, strict=True)]
    case = rng.random()
    if case < 0.1 and "%b" in form.lower():
        cells = [cell.upper() if case < 0.05 else cell.lower() for cell in cells]
        sure = sure if "t" not in clock.lower() else "refuse"
    odd.unsure |= sure != "plain"
    odd.oddities.append(f"dates {form + clock + zone}")
    odd.form = "" if "%p" in clock or zone == "summer" else form + clock + zone
    if "%f" in clock:
        moments = [moment.replace(microsecond=250_000) for moment in moments]
    names = (
        ("date", "month", "period") if form.startswith("%Y") and sure == "plain" else ("date", "when", "Datum", "year")
    )
    return Column(rng.choice(names), list(moments), cells)


def _moments(rng: Random, step: str, n: int) -> list[datetime]:
    """Moments at even steps, or at odd ones."""
    start = datetime(rng.choice((1749, 1880, 1958, 2001, 2019)), rng.randint(1, 12), rng.randint(1, 28), 23, 58, 30)
    if step in ("month", "quarter", "year"):
        months = [
            12 * start.year + start.month - 1 + k * {"month": 1, "quarter": 3, "year": 12}[step] for k in range(n)
        ]
        return [start.replace(year=m // 12, month=m % 12 + 1) for m in months]
    if step == "odd":
        return [start + timedelta(days=k) for k in sorted(rng.sample(range(40 * n), n))]
    return [
        start + k * timedelta(days={"day": 1, "week": 7, "hour": 1 / 24, "minute": 1 / 1440}[step]) for k in range(n)
    ]


def write_date(moment: datetime, form: str) -> str:
    """A date in a form of `strftime` (with %-d, %-m, %-I for bare numbers and %q for quarters), in English."""
    parts = {
        "%-d": f"{moment.day}",
        "%-m": f"{moment.month}",
        "%-I": f"{(moment.hour - 1) % 12 + 1}",
        "%q": f"{(moment.month + 2) // 3}",
        "%Y": f"{moment.year:04d}",
        "%y": f"{moment.year % 100:02d}",
        "%m": f"{moment.month:02d}",
        "%d": f"{moment.day:02d}",
        "%b": MONTHS[moment.month - 1][:3],
        "%B": MONTHS[moment.month - 1],
        "%H": f"{moment.hour:02d}",
        "%M": f"{moment.minute:02d}",
        "%S": f"{moment.second:02d}",
        "%f": "250",
        "%p": "AM" if moment.hour < 12 else "PM",
    }
    for part, text in parts.items():
        form = form.replace(part, text)
    return form
