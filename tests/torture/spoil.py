"""What goes wrong when tables are written by hand, by spreadsheets and by programs: lines, quotes, headers, bytes."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from random import Random

from tests.torture.tables import TEXTS, Odd

Lines = list[list[str]]  # fields as they are written, with their quotes; a field with separators in it is a broken line


def write(rng: Random, odd: Odd) -> None:
    """Put the table, and something that is wrong with it every other time, into the bytes of a file."""
    if in_cells := rng.random() < 0.3:
        rng.choice(CELLS)(rng, odd)
    lines = lines_of(odd)
    if not in_cells and rng.random() < 0.45:
        rng.choice(LINES)(rng, odd, lines)
    serialise(rng, odd, lines)
    if rng.random() < 0.08:
        odd.content = gzip.compress(odd.content)
        if rng.random() < 0.3:
            odd.did("half of a gzip file")
            odd.content = odd.content[: len(odd.content) // 2]


def lines_of(odd: Odd) -> Lines:
    """The header and the rows as fields, in quotes where they need them."""
    lines = [[_quoted(odd, column.name, True) for column in odd.columns]]
    for row in range(len(odd.columns[0].cells)):
        lines.append([_quoted(odd, column.cells[row], column.role == "text") for column in odd.columns])
    return lines


def serialise(rng: Random, odd: Odd, lines: Lines) -> None:
    """Join fields and lines into the bytes of the file."""
    joined = odd.style.separator + odd.style.padding
    text = odd.style.newline.join(odd.head + [joined.join(fields) for fields in lines])
    text += rng.choice((odd.style.newline, odd.style.newline, "", 2 * odd.style.newline))
    odd.content = text.encode(odd.style.encoding, errors="replace")


def _quoted(odd: Odd, field: str, text: bool) -> str:
    style = odd.style
    needed = any(mark in field for mark in (style.separator, '"', "\n")) or field != field.strip()
    if needed or style.quoting == "all" or (style.quoting == "text" and text):
        return '"' + field.replace('"', '""') + '"'
    return field


# -- cells -------------------------------------------------------------------------------------------------------


def _place(rng: Random, odd: Odd, *roles: str):
    columns = [column for column in odd.columns if column.role in roles]
    column = rng.choice(columns)
    return column, rng.randrange(len(column.cells))


def text_among_numbers(rng: Random, odd: Odd) -> None:
    column, row = _place(rng, odd, "input", "target")
    column.cells[row] = rng.choice(TEXTS)
    column.meant[row] = column.cells[row]
    odd.did("text among numbers")


def other_decimal_mark(rng: Random, odd: Odd) -> None:
    if odd.style.grouping == {".": ",", ",": "."}[odd.style.point]:
        return text_among_numbers(rng, odd)  # where it groups thousands everywhere else, nobody could tell
    column, row = _place(rng, odd, "input", "target")
    whole, fraction = rng.choice(("0", "3", "12", "1234")), rng.choice(("5", "25", "125", "1250"))
    column.meant[row] = float(f"{whole}.{fraction}")
    column.cells[row] = whole + {".": ",", ",": "."}[odd.style.point] + fraction
    return odd.did("another decimal mark")


def grouped_by_the_decimal_mark(rng: Random, odd: Odd) -> None:
    """652 and 2.949 in one column, where the mark groups thousands."""
    column, _ = _place(rng, odd, "input", "target")
    for row in range(len(column.cells)):
        number = rng.randrange(100, 9999) if row else rng.randrange(1, 999)
        column.meant[row] = float(number)
        column.cells[row] = f"{number:,}".replace(",", odd.style.point)
    odd.did("grouped by the decimal mark")


def too_large(rng: Random, odd: Odd) -> None:
    column, row = _place(rng, odd, "input", "target")
    column.cells[row] = rng.choice(("1e200", "inf", "-Infinity", "9" * 400, "1e99999", "9" * 16_000))
    column.meant[row] = column.cells[row]
    odd.did("too large")


def very_small(rng: Random, odd: Odd) -> None:
    column, row = _place(rng, odd, "input", "target")
    cell = rng.choice(("1e-320", "1e-999", "0.000", "-0", "00007", "1e+05", "1E5"))
    column.meant[row] = float(cell)
    column.cells[row] = cell.replace(".", odd.style.point)
    odd.did("a number at the edge", unsure=False)


def endless_cell(rng: Random, odd: Odd) -> None:
    column, row = _place(rng, odd, "input", "target", "time")
    column.cells[row] = rng.choice(
        ("1" * 16_000 + "x", "1," * 9_000, "." * 20_000, "a" * 200_000, "2001-01-01 " * 4000)
    )
    column.meant[row] = column.cells[row]
    odd.did("an endless cell")


def wrong_date(rng: Random, odd: Odd) -> None:
    if not odd.named("time"):
        return text_among_numbers(rng, odd)
    column, row = _place(rng, odd, "time")
    column.cells[row] = rng.choice(
        ("2001-02-30", "31/04/1999", "13/13/2013", "1/2/03", "soon", "0000-00-00", "2001-1-1 25:00")
    )
    column.meant[row] = column.cells[row]
    return odd.did("a wrong date")


def same_name_twice(rng: Random, odd: Odd) -> None:
    column, _ = _place(rng, odd, "input")
    column.name = rng.choice(("y", f"{column.name} "))
    odd.did("a name of spaces" if column.name.endswith(" ") else "the same name twice", unsure=column.name == "y")


# -- lines -------------------------------------------------------------------------------------------------------


def _some_row(rng: Random, lines: Lines) -> int:
    return rng.randrange(1, len(lines))


def _mean(odd: Odd, row: int, place: int, said: str) -> None:
    """A cell that is overwritten means what is written, unless that is what it was."""
    if said in ("hello", "bye"):
        odd.columns[place].meant[row - 1] = said


def open_quote(rng: Random, odd: Odd, lines: Lines) -> None:
    """A quotation mark that opens a cell and swallows what follows, up to another one or the end."""
    row, place = _some_row(rng, lines), rng.randrange(len(lines[0]))
    said = rng.choice(("hello", lines[row][place].strip('"')))
    _mean(odd, row, place, said)
    lines[row][place] = f'"{said}'
    if rng.random() < 0.6:
        other = rng.randrange(row, len(lines))
        said = rng.choice(("bye", lines[other][-1].strip('"')))
        _mean(odd, other, -1, said)
        lines[other][-1] = rng.choice(('"', "")) + said + rng.choice(('"', '"', ""))
    odd.did("an open quotation mark")


def inch_marks(rng: Random, odd: Odd, lines: Lines) -> None:
    """Quotation marks inside an unquoted text, which are what they are."""
    for row, fields in enumerate(lines):
        fields.append("remarks" if row == 0 else rng.choice(('5"pipe', 'so-"called"', "plain")))
    odd.drops.append("remarks")
    odd.did("inch marks", unsure=False)


def long_row(rng: Random, odd: Odd, lines: Lines) -> None:
    lines[_some_row(rng, lines)].append(rng.choice(("9", "more")))
    odd.did("a row too long")


def short_row(rng: Random, odd: Odd, lines: Lines) -> None:
    row = _some_row(rng, lines)
    keep = rng.randrange(1, len(lines[0]))
    del lines[row][keep:]
    for column in odd.columns[keep:]:
        column.meant[row - 1] = None
    odd.did("a row too short", unsure=False)


def swallowed_field(rng: Random, odd: Odd, lines: Lines) -> None:
    """A field is left out, and those after it move to the left."""
    row, place = _some_row(rng, lines), rng.randrange(len(lines[0]))
    del lines[row][place]
    for column in odd.columns[place:]:
        column.meant[row - 1] = None
    odd.did("a field left out")
    odd.unsure = True


def unquoted(rng: Random, odd: Odd, lines: Lines) -> None:
    """No quotes at all, though numbers and texts have separators in them."""
    for fields in lines[1:]:
        fields[:] = [field.strip('"') for field in fields]
    odd.did("nothing quoted")


def remark_between(rng: Random, odd: Odd, lines: Lines) -> None:
    lines.insert(_some_row(rng, lines), [rng.choice(("# checked by hand", "Total", "end of part 1", "---", "=" * 40))])
    odd.did("a remark between rows")


def header_again(rng: Random, odd: Odd, lines: Lines) -> None:
    lines.insert(_some_row(rng, lines), list(lines[0]))
    odd.did("the header again")


def units_below(rng: Random, odd: Odd, lines: Lines) -> None:
    lines.insert(1, ["kg" for _ in lines[0]])
    odd.did("units below the header")


def title_above(rng: Random, odd: Odd, lines: Lines) -> None:
    lines.insert(0, ["Rainfall by month"])
    odd.did("a title above the header")


def no_header(rng: Random, odd: Odd, lines: Lines) -> None:
    del lines[0]
    odd.did("no header")


def row_names(rng: Random, odd: Odd, lines: Lines) -> None:
    """As R writes them: rows begin with a name that the header does not know."""
    names = rng.choice((str, lambda k: f'"{k}"', lambda k: f'"row {k}"'))
    for k, fields in enumerate(lines[1:], start=1):
        fields.insert(0, names(k))
    if rng.random() < 0.5:
        lines[0].insert(0, rng.choice(("", '""', '"Unnamed: 0"')))
    if "row" in lines[1][0]:
        odd.drops.append("column 1")
    odd.did("names of rows", unsure=False)


def blank_lines(rng: Random, odd: Odd, lines: Lines) -> None:
    for _ in range(rng.randint(1, 3)):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(([], [" "], ["" for _ in odd.columns])))
    odd.did("blank lines", unsure=not any(lines[0]) and bool(lines[0]))


def trailing_separators(rng: Random, odd: Odd, lines: Lines) -> None:
    for fields in lines[rng.choice((0, 1)) :]:
        fields += [""] * rng.randint(1, 1)
    odd.did("separators at the end", unsure=False)


def comments_above(rng: Random, odd: Odd, lines: Lines) -> None:
    odd.head += rng.choice((["# made by hand"], ["", "# one", '# two, "three'], ["#", "# sep=;"]))
    odd.did("comments above", unsure=False)


def chosen_separator(rng: Random, odd: Odd, lines: Lines) -> None:
    odd.head = [rng.choice(("sep={}", "SEP={}", '"sep={}"')).format(odd.style.separator)]
    odd.did("a line that chooses the separator", unsure=False)


def zero_bytes(rng: Random, odd: Odd, lines: Lines) -> None:
    row, place = _some_row(rng, lines), rng.randrange(len(lines[0]))
    lines[row][place] += "\x00"
    odd.did("a zero byte")


def many_columns(rng: Random, odd: Odd, lines: Lines) -> None:
    names = [f"c{k}" for k in range(rng.choice((300, 300, 300, 3000)))]
    for row, fields in enumerate(lines):
        fields += names if row == 0 else [str((k * row) % 7) for k in range(len(names))]
    odd.drops += names
    odd.did("many columns", unsure=False)


def multiline(rng: Random, odd: Odd, lines: Lines) -> None:
    """A remark on several lines, which look like rows."""
    inner = odd.style.separator.join("1" for _ in range(len(lines[0]) + 1))
    for row, fields in enumerate(lines):
        fields.append("remarks" if row == 0 else f'"{inner}\n{inner}"' if row == 1 else "none")
    odd.drops.append("remarks")
    odd.did("a cell of lines like rows", unsure=False)


Cells = Callable[[Random, Odd], None]
CELLS: tuple[Cells, ...] = (
    text_among_numbers,
    other_decimal_mark,
    other_decimal_mark,
    grouped_by_the_decimal_mark,
    grouped_by_the_decimal_mark,
    too_large,
    very_small,
    endless_cell,
    wrong_date,
    same_name_twice,
)
LINES: tuple[Callable[[Random, Odd, Lines], None], ...] = (
    open_quote,
    open_quote,
    open_quote,
    inch_marks,
    long_row,
    short_row,
    swallowed_field,
    unquoted,
    unquoted,
    remark_between,
    header_again,
    units_below,
    title_above,
    no_header,
    row_names,
    row_names,
    blank_lines,
    trailing_separators,
    comments_above,
    chosen_separator,
    zero_bytes,
    many_columns,
    multiline,
)
