"""What may have been misread by 1000: said in notes when a model is fitted, refused when one predicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.data.messages import count
from fathom.data.numbers import CALLED, parse_number
from fathom.data.table import Table

_MOST = 5  # columns that one sentence names


def remarks(table: Table, columns: Sequence[int]) -> tuple[str, ...]:
    """A sentence for each way in which numbers of these columns may have been misread, with the first such cell."""
    return (*_open_marks(table, columns), *_mixtures(table, columns))


def refuse(table: Table, column: int) -> None:
    """Refuse a number that may be wrong by 1000; but where commas separate, a point is the decimal mark."""
    for mark in CALLED:
        row = table.columns[column].first_open(mark) if table.marks.doubt(mark) else None
        if row is not None and not (mark == "." and table.separator in ("", ",")):
            raise table.open_error(column, row)


def _open_marks(table: Table, columns: Sequence[int]) -> Iterator[str]:
    marks = table.marks
    for mark, called in CALLED.items():
        if marks.doubt(mark) == "":
            continue
        if mark in marks.decimal + marks.grouping:
            why = f"other numbers of the file use the {called} both ways"
        elif mark == marks.point or not marks.decimal:
            why = f"no other number of the file tells whether the {called} is decimal or groups thousands"
        else:
            why = f"the {CALLED[marks.point]} is the decimal mark of the file"
        found = {c: row for c in columns if (row := table.columns[c].first_open(mark)) is not None}
        if found:
            cells = [_reading(table, *place) for place in found.items()]
            more = f", and so on in {count(len(cells) - _MOST, 'more column')}" if len(cells) > _MOST else ""
            yield f"{', '.join(cells[:_MOST])}{more}: {why}."


def _mixtures(table: Table, columns: Sequence[int]) -> Iterator[str]:
    mark = table.marks.point
    if table.marks.doubt(mark) != "":
        return  # said already
    for column in columns:
        row = table.columns[column].first_open(mark) if table.columns[column].mixes(mark) else None
        if row is not None:
            yield f"{_reading(table, column, row)}, beside whole numbers: if it is more than 1000, leave out its mark."


def _reading(table: Table, column: int, row: int) -> str:
    cell = table.cells[column][row]
    value = parse_number(cell, table.marks.point)
    return f"{cell!r} (column {table.names[column]!r}, {table.where(row)}) was read as {value:.15g}"
