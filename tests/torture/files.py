"""Ten thousand odd files: what is read is what was meant, or a note names the cell, or one clear line refuses.

The oracle knows every number and date that it wrote (`tables.py`) and what it spoilt (`spoil.py`).
"""

from __future__ import annotations

import re
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np

from fathom.data.columns import DataError
from fathom.data.dataset import Dataset, load_csv, read_inputs
from tests.torture import spoil
from tests.torture.tables import Column, Odd, odd_table, rewritten
from tests.torture.tally import Tally

FULL = 10_000
SLOW = 3.0  # seconds after which a small file counts as a hang

Row = list[object]


def run(cases: range, seed: int) -> Tally:
    """Try some of the files of a seed."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            odd = make(case, seed)
            path = Path(folder) / f"odd{odd.suffix}"
            path.write_bytes(odd.content)
            _try(odd, path, f"seed {seed}, case {case} ({', '.join(odd.oddities) or 'nothing odd'})", tally)
    return tally


def make(case: int, seed: int) -> Odd:
    """The file of a case, always the same."""
    rng = Random(f"{seed} {case}")
    odd = odd_table(rng)
    spoil.write(rng, odd)
    return odd


def _try(odd: Odd, path: Path, story: str, tally: Tally) -> None:
    start = time.perf_counter()
    try:
        with _alarm(5 * SLOW), warnings.catch_warnings():
            warnings.simplefilter("error")
            data = load_csv(path, **how(odd))
    except DataError as error:
        outcome = _judge_refusal(odd, str(error))
    except TimeoutError:
        outcome = "hang", "never ended"
    except Exception:
        outcome = "traceback", traceback.format_exc(limit=-2)
    else:
        outcome = judge(odd, data)
        if outcome == ("understood", ""):
            outcome = _predict(odd, data, path, Random(story))
    seconds = time.perf_counter() - start
    kind, what = ("hang", f"took {seconds:.1f} s") if seconds > SLOW else outcome
    tally.outcomes[kind if not what else "fault"] += 1
    if what:
        tally.fault(kind, f"{story}: {what}")


def how(odd: Odd) -> dict[str, object]:
    """The arguments with which the file is read."""
    times = odd.named("time")
    return {"target": "y", "time": times[0] if times else None, "drop": [*odd.named("text"), *odd.drops]} | (
        {"inputs": "all"} if times else {}
    )


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after some seconds, where the system can."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- the oracle --------------------------------------------------------------------------------------------------


def _judge_refusal(odd: Odd, message: str) -> tuple[str, str]:
    if "\n" in message or len(message) > 1500:
        return "traceback", f"not one clear line: {message[:300]!r}"
    if odd.unsure or _may_refuse(odd):
        return "refused", ""
    return "misread", f"refused, though it can be understood: {message}"


def _may_refuse(odd: Odd) -> bool:
    """True for data that no model can be fitted to, however they are written."""
    used = [column for column in odd.columns if column.role != "text"]
    if any(isinstance(value, str) for column in used for value in column.meant):
        return True
    rows = _complete(used)
    varies = {c.name: len({row[k] for row in rows}) > 1 for k, c in enumerate(used)}
    inputs = [varies[c.name] for c in used if c.role != "target"]
    times = [varies[c.name] for c in used if c.role == "time"]
    return len(rows) < 3 or not varies["y"] or not any(inputs) or not all(times)


def _complete(used: list[Column]) -> list[Row]:
    return [list(row) for row in zip(*(c.meant for c in used), strict=True) if None not in row]


def judge(odd: Odd, data: Dataset) -> tuple[str, str]:
    """Compare what was read with what was meant."""
    expected, found = _expected(odd, data), _found(data)
    wrong = [name for name in found if found[name] != expected.get(name)]
    if not wrong:
        return ("understood", "") if not (back := _written_otherwise(odd, data)) else ("misread", back)
    if any(_tells(note, odd, wrong) for note in data.notes):
        return "noted", ""
    if odd.oddities and _only_lacks_rows(expected, found, data, len(odd.columns[0].meant)):
        return "noted", ""
    name = wrong[0]
    return "misread", f"{name!r} is {found[name][:6]}, meant {expected.get(name, [])[:6]}, notes {data.notes}"


def _predict(odd: Odd, data: Dataset, path: Path, rng: Random) -> tuple[str, str]:
    """Read the inputs once more from a file in another dialect, as `fathom predict` does, which has no notes."""
    if odd.unsure or rng.random() < 0.5:
        return "understood", ""
    other = rewritten(rng, odd)
    spoil.serialise(rng, other, spoil.lines_of(other))
    path = path.with_name("new.csv")
    path.write_bytes(other.content)
    try:
        found = _named(data, read_inputs(path, data))
    except DataError:
        return "understood", ""
    columns = {_plain(column.name): column for column in _shifted(other, other.columns)}
    wrong = [name for name in found if found[name] != columns[name].meant]
    if not wrong:
        return "understood", ""
    return "misread", f"to predict, {wrong[0]!r} is {found[wrong[0]][:6]}, meant {columns[wrong[0]].meant[:6]}"


def _expected(odd: Odd, data: Dataset) -> dict[str, Row]:
    used = [column for column in odd.columns if column.role != "text"]
    rows = _complete(_shifted(odd, used))
    times = [k for k, column in enumerate(used) if column.role == "time"]
    if times:
        rows.sort(key=lambda row: row[times[0]])  # type: ignore[arg-type, return-value]
    return {_plain(column.name): [row[k] for row in rows] for k, column in enumerate(used)}


def _shifted(odd: Odd, used: list[Column]) -> list[Column]:
    """The columns with dates in UTC, where their offsets differ."""
    if len(set(odd.shifts)) < 2:
        return used

    def utc(column: Column) -> Column:
        shifted = [m and m - timedelta(minutes=s) for m, s in zip(column.meant, odd.shifts, strict=True)]  # type: ignore[operator]
        return replace(column, meant=shifted)

    return [utc(column) if column.role == "time" else column for column in used]


def _found(data: Dataset) -> dict[str, Row]:
    return _named(data, data.X) | {data.target[0]: list(map(float, data.y))}


def _named(data: Dataset, X: np.ndarray) -> dict[str, Row]:
    """Inputs by name, dates as dates."""
    found: dict[str, Row] = {name: list(map(float, X[:, k])) for k, name in enumerate(data.names)}
    if data.time is not None and data.rule is not None and data.rule.kind == "date":
        rule = replace(data.rule, form="{Y}-{m:02}-{d:02} {H:02}:{M:02}:{F}")
        texts = [rule.format(value) for value in X[:, data.time]]
        found[data.names[data.time]] = [datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f") for text in texts]
    return found


def _plain(name: str) -> str:
    return re.sub(r"\s*[\[(].*", "", name.strip())


def _tells(note: str, odd: Odd, wrong: list[str]) -> bool:
    """Whether a note names a cell of a column that was read otherwise, or the line that is doubtful."""
    if re.match(r"A cell that begins on line|Rows have one field more|Line \d+ (has|was)", note):
        return True
    cells = {cell for column in odd.columns if _plain(column.name) in wrong for cell in column.cells}
    return bool(cells & set(re.findall(r"'([^']*)' \(column", note))) or any(f"{c!r} (column" in note for c in cells)


def _only_lacks_rows(expected: dict[str, Row], found: dict[str, Row], data: Dataset, n: int) -> bool:
    """Whether all rows that were read are right, and a note counts the others among the `n` that were written."""
    rest = iter(zip(*(expected[name] for name in found), strict=True))
    right = all(row in rest for row in zip(*found.values(), strict=True))
    counts = [re.match(r"(\d+) rows? of (\d+) w.+ dropped for missing values", note) for note in data.notes]
    return right and any(c and int(c[2]) == n and int(c[1]) == n - data.n_rows for c in counts)


def _written_otherwise(odd: Odd, data: Dataset) -> str:
    """What is wrong with the dates when they are written back, "" if nothing is."""
    times = [column for column in odd.columns if column.role == "time"]
    if data.time is None or data.time_kind != "date" or not odd.form:
        return ""
    written = {data.format_time(value) for value in data.X[:, data.time]}
    strange = written - {cell.strip() for cell in times[0].cells}
    return f"dates are written back as {sorted(strange)[:3]}, not like {times[0].cells[:3]}" if strange else ""
