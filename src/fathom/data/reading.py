"""From a table of text to a `Dataset`: which column is what, and what is done about gaps, order and constants."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.data import doubts
from fathom.data import inputs as choosing
from fathom.data.columns import Columns
from fathom.data.dataset import Dataset
from fathom.data.dates import Dates, may_be_dates, read_dates
from fathom.data.inputs import Names, is_numeric
from fathom.data.messages import count, listing, quoted
from fathom.data.table import DataError, Table, read_table, split_unit, table_of_frame
from fathom.data.timeaxis import TimeRule, is_compact, is_time_name

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 3


@dataclass(frozen=True)
class Roles:
    """What each column of a table is for, by its index."""

    inputs: tuple[int, ...]
    targets: tuple[int, ...]
    time: int | None
    dates: Dates | None  # the time column, if it holds dates
    notes: tuple[str, ...]
    choice: tuple[str, ...] = ()  # sentences on columns that are no inputs


def load(
    path: str | Path, target: Names = None, time: str | None = None, drop: Names = None, inputs: Names = None
) -> Dataset:
    """See `fathom.data.load_csv`."""
    return assemble(read_table(path), target, time, drop, inputs)[0]


def assemble(
    table: Table, target: Names = None, time: str | None = None, drop: Names = None, inputs: Names = None
) -> tuple[Dataset, np.ndarray]:
    """The data set in a table, and which row of the table each of its rows was."""
    roles = choose_roles(table, target, time, drop, inputs)
    X, rule, understood = _inputs(table, roles)
    y = _targets(table, roles)
    rows, dropped = _complete_rows(table, roles, X, y)
    order, ordered = _time_order(table, roles, X[rows])
    rows = rows[order]
    X, y = X[rows], y[rows]
    _refuse_constant_targets(table, roles, y)
    varying, constant = _varying(table, roles, X)
    kept = [roles.inputs[k] for k in varying]
    unsure = doubts.remarks(table, [*(i for i in roles.inputs if i != roles.time or not roles.dates), *roles.targets])
    said = table.notes + roles.notes + roles.choice + understood + unsure
    dataset = Dataset(
        X=X[:, varying],
        y=y[:, 0] if y.shape[1] == 1 else y,
        names=tuple(table.names[i] for i in kept),
        target=tuple(table.names[i] for i in roles.targets),
        units={n: table.units[n] for i in (*kept, *roles.targets) if (n := table.names[i]) in table.units},
        time=None if roles.time is None else kept.index(roles.time),
        notes=said + dropped + ordered + constant + _duplicates(X, y),
        source=table.source,
        choice=roles.choice,
        rule=rule,
        dialect=table.dialect,
    )
    return dataset, rows


def inputs(source: str | Path | pd.DataFrame | Table, columns: Columns) -> np.ndarray:
    """See `fathom.data.read_inputs`."""
    if isinstance(source, Table):
        table = source
    else:
        table = read_table(source) if isinstance(source, str | Path) else table_of_frame(source)
    X = input_columns(table, columns)
    gaps = np.argwhere(np.isnan(X))
    if gaps.size:
        row, k = map(int, gaps[0])
        raise DataError(f"column {columns.names[k]!r}, {table.where(row)} has no value: fill it in or remove the row")
    return X


def input_columns(table: Table, columns: Columns) -> np.ndarray:
    """The columns of a table that a fitted model knows as its inputs, NaN where a value is missing."""
    table = replace(table, earlier=columns.dialect)
    X = np.empty((table.n_rows, len(columns.names)))
    for k, name in enumerate(columns.names):
        i = table.find(name)
        unit, expected = split_unit(table.headers[i])[1], columns.units.get(name, "")
        if unit and expected and unit != expected:
            raise DataError(f"column {name!r} is in {unit}, but the model was fitted in {expected}: convert it")
        if columns.rule and k == columns.time:
            X[:, k] = time_values(table, i, columns.rule)
        else:
            X[:, k] = table.numbers(i)
            doubts.refuse(table, i)
    return X


def time_values(table: Table, column: int, rule: TimeRule) -> np.ndarray:
    """A time column as numbers, by the rule of an earlier one."""
    cells, name = table.cells[column], table.names[column]
    if rule.grid != "numbers":
        return rule.read(cells, name, table.where)
    if read_dates(cells, name, table.where) is not None:
        first = next(cell for cell in cells if cell)
        raise DataError(
            f"column {name!r} holds dates ({quoted(first)}), but the model was fitted to numbers: write numbers"
        )
    doubts.refuse(table, column)
    return table.numbers(column)


def choose_roles(
    table: Table, target: Names = None, time: str | None = None, drop: Names = None, inputs: Names = None
) -> Roles:
    """Settle which columns are the time, the targets and the inputs: as told, else by unambiguous guesses."""
    if len(table.headers) == 1:
        spaced = "separate its columns by commas" if " " in table.headers[0] else "a model needs an input and a target"
        raise DataError(f"{table.source} has one column, {table.headers[0]!r}: {spaced}")
    left_out = _find_all(table, drop, "--drop")
    named = None if target is None else _find_all(table, target, "--target")
    asked = choosing.Asked.of(table, inputs)
    for i in named or ():
        if i in left_out:
            raise DataError(f"column {table.names[i]!r} is both --target and --drop: choose one")
    asked.check(table, [("--target", named or ()), ("--drop", left_out)])
    free = [i for i in range(len(table.headers)) if i not in left_out and i not in (named or ())]
    place, dates, notes = _choose_time(table, time, free)
    if named is None:
        others = [i for i in free if i != place and i not in asked.named]
        guessed, note = _guess_target(table, place, others)
        named, notes = (guessed,), (*notes, *note)
    free = [i for i in free if i not in named]
    chosen = choosing.choose(table, free, named, place, asked)
    if not chosen.inputs:
        raise DataError(
            f"no input column is left beside {listing([table.names[i] for i in named])}: drop fewer columns"
        )
    return Roles(chosen.inputs, named, place, dates, notes, chosen.notes)


def _find_all(table: Table, names: Names, option: str) -> tuple[int, ...]:
    listed = [names] if isinstance(names, str) else list(names or ())
    return tuple(dict.fromkeys(table.find(name, option) for name in listed))


def _dates(table: Table, i: int) -> Dates | None:
    name = table.names[i]
    return read_dates(table.cells[i], name, table.where, compact=is_compact(name))


def _choose_time(table: Table, time: str | None, free: list[int]) -> tuple[int | None, Dates | None, tuple[str, ...]]:
    if time is not None:
        i = table.find(time, "--time")
        if i not in free:
            raise DataError(f"--time {time!r} is also a target or dropped column: choose another")
        found = _dates(table, i)
        if found is None and not is_numeric(table, i):
            raise DataError(f"--time {time!r} holds neither dates nor numbers: choose another, or write YYYY-MM-DD")
        return i, found, ()
    dates = {i: found for i in free if (found := _dates(table, i)) is not None}
    candidates = list(dates) or [i for i in free if is_time_name(table.names[i]) and _is_monotone(table, i)]
    if len(candidates) > 1:
        names = [table.names[i] for i in candidates]
        drop = shlex.quote(names[1])
        raise DataError(
            f"columns {listing(names)} could each be the time: choose one with --time and leave out the others, "
            f"for example --drop {drop}"
        )
    if not candidates:
        return None, None, ()
    i = candidates[0]
    return i, dates.get(i), (f"Column {table.names[i]!r} was taken as the time.",)


def _is_monotone(table: Table, i: int) -> bool:
    try:
        values = table.numbers(i)
    except DataError:
        return False  # said again, and better, if the column turns out to be used
    steps = np.diff(values[~np.isnan(values)])
    return bool(steps.size) and bool(np.all(steps > 0) or np.all(steps < 0))


def _guess_target(table: Table, time: int | None, others: list[int]) -> tuple[int, tuple[str, ...]]:
    numeric = [i for i in others if is_numeric(table, i)]
    if len(numeric) == 1:
        return numeric[0], ()
    if not numeric:
        raise DataError(f"{table.source} has no numeric column to model beside {listing(table.names)}: add one")
    if time is not None:
        names = [table.names[i] for i in numeric]
        raise DataError(f"the target could be any of {listing(names)}: choose with --target")
    last = others[-1]
    if last not in numeric:
        raise DataError(f"the last column, {table.names[last]!r}, is not numeric: name the target with --target")
    return last, (f"The last column, {table.names[last]!r}, was taken as the target.",)


def _inputs(table: Table, roles: Roles) -> tuple[np.ndarray, TimeRule | None, tuple[str, ...]]:
    X = np.empty((table.n_rows, len(roles.inputs)))
    rule: TimeRule | None = None
    notes: tuple[str, ...] = ()
    for k, i in enumerate(roles.inputs):
        name = table.names[i]
        if i == roles.time and roles.dates is not None:
            rule = TimeRule.of_dates(roles.dates)
            X[:, k] = rule.encode(roles.dates)
            notes = (*roles.dates.notes, rule.sentence(name))
        else:
            X[:, k] = table.numbers(i)
        if i == roles.time and rule is None:
            rule = TimeRule.of_numbers(X[:, k], name, table.units.get(name, ""))
            notes = (rule.sentence(name), *_may_be_dates(table, i))
    return X, rule, notes


def _may_be_dates(table: Table, i: int) -> tuple[str, ...]:
    if not may_be_dates(table.cells[i]):
        return ()
    row = int(np.argmax(table.cells[i] != ""))
    cell = f"{table.cells[i][row]!r} (column {table.names[i]!r}, {table.where(row)})"
    return (f"{cell} was read as a number: if it is a date, write YYYY-MM or YYYY-MM-DD.",)


def _targets(table: Table, roles: Roles) -> np.ndarray:
    y = np.empty((table.n_rows, len(roles.targets)))
    for k, i in enumerate(roles.targets):
        y[:, k] = table.numbers(i)
    return y


def _complete_rows(table: Table, roles: Roles, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows with all inputs and a target, which is any target where there are several."""
    gaps = {table.names[i]: np.isnan(X[:, k]) for k, i in enumerate(roles.inputs)}
    target = ", ".join(table.names[i] for i in roles.targets)
    if roles.targets:
        gaps[target] = np.isnan(y).all(axis=1)
    missing = np.any(list(gaps.values()), axis=0)
    rows = np.flatnonzero(~missing)
    counts = {name: int(gap.sum()) for name, gap in gaps.items() if gap.any()}
    if not rows.size:
        worst = max(counts, key=lambda name: counts[name])
        remedy = "--target" if worst == target else f"--drop {shlex.quote(worst)}"
        raise DataError(
            f"every row misses a value, {counts[worst]} of {len(X)} in column {worst!r}: "
            f"fill the gaps or do without that column ({remedy})"
        )
    if rows.size < FEWEST_ROWS:
        raise DataError(
            f"{table.source} has {count(rows.size, 'complete row')}: add data, at least {FEWEST_ROWS} rows are needed"
        )
    return rows, (_dropped(counts, int(missing.sum()), len(X)),) if counts else ()


def _dropped(counts: dict[str, int], total: int, n_rows: int) -> str:
    detail = ", ".join(f"{name}: {count}" for name, count in counts.items())
    verb = "was" if total == 1 else "were"
    return f"{count(total, 'row')} of {n_rows} {verb} dropped for missing values ({detail})."


def _time_order(table: Table, roles: Roles, X: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    if roles.time is None:
        return np.arange(len(X)), ()
    times, name = X[:, roles.inputs.index(roles.time)], table.names[roles.time]
    if np.ptp(times) == 0:
        raise DataError(
            f"the time {name!r} is the same on every row: choose another with --time "
            f"or leave it out with --drop {shlex.quote(name)}"
        )
    order = np.argsort(times, kind="stable")
    sorted_note = () if np.all(np.diff(times) >= 0) else (f"Rows were sorted by {name!r}.",)
    repeated = len(times) - len(np.unique(times))
    again = f"{count(repeated, 'row')} {'repeats' if repeated == 1 else 'repeat'} the time of another; all are kept."
    return order, (*sorted_note, *((again,) if repeated else ()))


def _refuse_constant_targets(table: Table, roles: Roles, y: np.ndarray) -> None:
    for k, i in enumerate(roles.targets):
        values = y[~np.isnan(y[:, k]), k]
        name = table.names[i]
        if not values.size:
            raise DataError(f"target {name!r} has no values: choose another with --target")
        if np.all(values == values[0]):
            raise DataError(
                f"target {name!r} is constant ({values[0]:g}): there is nothing to model, choose another with --target"
            )


def _varying(table: Table, roles: Roles, X: np.ndarray) -> tuple[list[int], tuple[str, ...]]:
    constant = np.ptp(X, axis=0) == 0
    if not constant.any():
        return list(range(X.shape[1])), ()
    names = [table.names[i] for i, same in zip(roles.inputs, constant, strict=True) if same]
    if constant.all():
        raise DataError(f"every input is constant ({listing(names)}): add a column that varies")
    columns = "Constant column" if len(names) == 1 else f"{len(names)} constant columns"
    return [int(k) for k in np.flatnonzero(~constant)], (f"{columns} left out: {listing(names)}.",)


def _duplicates(X: np.ndarray, y: np.ndarray) -> tuple[str, ...]:
    both = np.ascontiguousarray(np.column_stack([X, y]))
    repeated = len(both) - len({row.tobytes() for row in both})
    verb = "repeats" if repeated == 1 else "repeat"
    return (f"{count(repeated, 'row')} {verb} another exactly; all are kept.",) if repeated else ()
