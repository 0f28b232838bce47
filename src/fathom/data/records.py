"""Lines of text into records: comments above the header, the separator, quotes, and rows of the wrong length."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fathom.data.columns import DataError
from fathom.data.messages import quoted
from fathom.data.numbers import is_number

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "--", "."})
MOST_CELLS = 100_000_000  # of text, each an object in memory
LONGEST_NAME = 1000  # characters

_SEPARATORS = ",;\t|"
_CHOSEN = re.compile(r'"?sep=([^\w\s".+-]|[ \t])"?', re.IGNORECASE)  # the first line of a spreadsheet's CSV
_DATE = re.compile(r"\d{4}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2}")
_SAMPLE = 50  # lines from which the separator is guessed


@dataclass(frozen=True)
class Records:
    """The header and the rows of a file, cut into fields, with the line on which each row begins."""

    header: list[str]
    rows: list[list[str]]  # of the same length as the header
    lines: np.ndarray
    separator: str
    notes: tuple[str, ...] = ()


def is_missing(field: str) -> bool:
    """True for what people write where a value is missing."""
    return len(field) < 5 and field.lower() in MISSING


def is_value(field: str) -> bool:
    """True for a number or the beginning of a date."""
    return is_number(field) or _DATE.match(field) is not None


def read_records(text: str, path: Path) -> Records:
    """Cut the text of a file into a header and rows, or say in one line why that cannot be done."""
    skipped, start, separator = _top(text)
    sample = list(islice(_lines(text, start), _SAMPLE))
    if not sample:
        raise DataError(f"{path} is empty: it needs a header line with column names and rows of values below it")
    if not separator:
        separator = "\t" if {".tsv", ".tab"} & set(path.suffixes) else _separator(sample)
    if text.count(separator) + text.count("\n") > MOST_CELLS:
        raise DataError(f"{path} holds more than {MOST_CELLS:,} cells: take a part of its rows or columns")
    rows, lines, notes = _cut(text, start, skipped, separator, path)
    header = [" ".join(name.split()) for name in rows.pop(0)]
    notes = (*notes, *_check_header(header, path, int(lines[0])))
    return _even(Records(header, rows, lines[1:], separator, notes), path)


def _lines(text: str, start: int = 0) -> Iterator[str]:
    """The lines of a text with their line feeds; `splitlines` would end some of them inside a cell."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _top(text: str) -> tuple[int, int, str]:
    """How many lines and characters stand above the header, and the separator that one of the lines may choose.

    Those are empty lines, comments and, as spreadsheets write it, `sep=;`.
    """
    skipped, start, separator = 0, 0, ""
    for line in _lines(text):
        chosen = None if separator else _CHOSEN.fullmatch(line.rstrip("\n").lstrip("\ufeff"))
        if chosen:
            separator = chosen[1]
        elif line.strip(_SEPARATORS + " \n") and not line.startswith("#"):
            break
        skipped, start = skipped + 1, start + len(line)
    return skipped, start, separator


def _reader(lines: Sequence[str] | Iterator[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator != " ")


def _separator(lines: Sequence[str]) -> str:
    """The separator that cuts most of the first lines like the header, into fields of which most can be read."""

    def score(separator: str) -> tuple[float, int]:
        try:
            records = [record for record in _reader(lines, separator) if record] or [[]]
        except csv.Error:
            return 0.0, 0
        width = len(records[0])
        same = float(np.mean([len(record) - width in (0, 1) for record in records]))
        fields = [field.strip() for record in records[1:11] for field in record[:_SAMPLE]]
        readable = sum(is_missing(field) or is_value(field) for field in fields) / max(1, len(fields))
        return (same * (0.1 + readable), width) if width > 1 else (0.0, 0)

    return max(_SEPARATORS, key=score)


def _cut(
    text: str, start: int, skipped: int, separator: str, path: Path
) -> tuple[list[list[str]], np.ndarray, tuple[str, ...]]:
    """Records, the line on which each begins, and what is to be said of them."""
    end = ["\n"]  # belongs to the last record if a quotation mark is open
    reader = _reader(chain(_lines(text, start), end), separator)
    try:
        rows = list(reader)
    except csv.Error:
        pass  # told below, where the record begins
    else:
        if reader.line_num == len(rows):
            return rows[:-1], skipped + np.arange(1, len(rows)), ()
    return _cut_slowly([*_lines(text, start), *end], skipped, separator, path)


def _cut_slowly(
    lines: list[str], skipped: int, separator: str, path: Path
) -> tuple[list[list[str]], np.ndarray, tuple[str, ...]]:
    """The same where some records span lines; each of them has to be quoted as it should be."""
    reader, proper = _reader(lines, separator), _proper(separator)
    rows: list[list[str]] = []
    starts: list[int] = []
    doubtful: list[tuple[int, int]] = []
    end = 0
    try:
        for record in reader:
            start, end = end, reader.line_num
            if end > start + 1:
                if not proper.fullmatch("".join(lines[start:end])):
                    raise _never_closed(path, skipped + start + 1)
                inner = _reader(lines[start + 1 : end], separator) if rows else ()
                if len(rows[0] if rows else record) in map(len, inner):
                    doubtful.append((skipped + start + 1, skipped + end))
            rows.append(record)
            starts.append(skipped + start + 1)
    except csv.Error:
        if reader.line_num > end + 1:
            raise _never_closed(path, skipped + end + 1) from None
        limit = f"{csv.field_size_limit():,} characters"
        raise DataError(f"{path}, line {skipped + end + 1} has a cell of more than {limit}: shorten it") from None
    return rows[:-1], np.array(starts[:-1]), _spanning(doubtful)


def _proper(separator: str) -> re.Pattern[str]:
    """Fields of which every quoted one ends at its closing quotation mark."""
    sep = re.escape(separator)
    quoted_field = rf'"[^"]*+(?:""[^"]*+)*+"[^\S\n{sep}]*+'
    field = rf'[ ]*+(?:{quoted_field}|[^"{sep}\n][^{sep}\n]*+|)'
    return re.compile(rf"{field}(?:{sep}{field})*+\n?")


def _never_closed(path: Path, line: int) -> DataError:
    return DataError(f"{path}, line {line} has a quotation mark that is never closed: close or remove it")


def _spanning(doubtful: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    if not doubtful:
        return ()
    (start, end), more = doubtful[0], len(doubtful) - 1
    others = f" So do {more} more." if more else ""
    return (
        f"A cell that begins on line {start} ends on line {end}, and its lines look like rows: "
        f"if they are, remove the quotation marks about them.{others}",
    )


def _check_header(header: Sequence[str], path: Path, line: int) -> tuple[str, ...]:
    """Refuse a line of values and endless names; a note if the line may have been a row with a text in it."""
    if all(is_value(name) or is_missing(name) for name in header):
        names = ",".join(["time", "y"] if len(header) == 2 else [f"x{i + 1}" for i in range(len(header) - 1)] + ["y"])
        example = names if len(header) <= _SAMPLE else "x1,x2,...,y"
        raise DataError(f"{path}, line {line} holds values, not column names: add a header line such as {example!r}")
    place, longest = max(enumerate(header, start=1), key=lambda item: len(item[1]))
    if len(longest) > LONGEST_NAME:
        raise DataError(
            f"{path}, line {line}: the name of column {place} has {len(longest):,} characters: "
            f"shorten it to {LONGEST_NAME:,} at most"
        )
    values = [name for name in header if is_value(name)]
    steps = {int(b) - int(a) for a, b in pairwise(values)} if all(name.isdecimal() for name in values) else {0, 1}
    if values and len(steps) != 1:  # as 1990, 2000, 2010 or the numbers of pixels would be
        return (f"Line {line} was taken as column names, though it holds values such as {values[0]!r}.",)
    return ()


def _even(records: Records, path: Path) -> Records:
    """Rows of the same length: short ones are filled up, of long ones empty fields are cut off."""
    header, rows, lines, notes = records.header, records.rows, records.lines, records.notes
    width = len(header)
    filled = [k for k, row in enumerate(rows) if any(field.strip() for field in row)]
    long = [k for k in filled if len(rows[k]) > width]
    beyond = [k for k in long if not all(is_missing(field.strip()) for field in rows[k][width:])]
    if beyond and _have_names(rows, filled, width):
        first = f"{quoted(rows[filled[0]][0])} on line {lines[filled[0]]}"
        notes = (*notes, f"Rows have one field more than the header names: the first, such as {first}, has no name.")
        header, width = ["", *header], width + 1
    elif beyond:
        k = beyond[0]
        raise DataError(
            f"{path}, line {lines[k]} has {len(rows[k])} fields where the header names {width}: "
            f"correct the line, or put quotes around a field that contains {records.separator!r}"
        )
    elif 0 < len(long) < len(filled):
        k = long[0]
        extra = f"{len(rows[k])} fields where the header names {width}"
        notes = (*notes, f"Line {lines[k]} has {extra}; those without a name are empty.")
    for k, row in enumerate(rows):
        if len(row) != width:
            rows[k] = row[:width] + [""] * (width - len(row))
    return Records(header, rows, lines, records.separator, notes)


def _have_names(rows: list[list[str]], filled: list[int], width: int) -> bool:
    """True if each row has a field more than the header, as R writes row names, and few lack the last one."""
    named = all(len(rows[k]) == width + 1 and rows[k][0].strip() for k in filled)
    return named and 2 * sum(bool(rows[k][width].strip()) for k in filled) > len(filled)
