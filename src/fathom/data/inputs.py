"""Which columns a model learns from: the time alone of a series, all of a table, and none that give the target away.

A column gives the target away when the target can be read off it and at most a few others: a copy, the same in another
unit, a total of which the target is a part. What such a column explains is bookkeeping, so it is an input only when it
is asked for by name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fathom.data.columns import DataError
from fathom.data.messages import together
from fathom.data.table import Table

Names = str | Sequence[str] | None

ALL = "all"
EXACT = 0.9999  # R², adjusted: what is left is the rounding of a file
IN_STEPS = 0.99  # and of the steps of a series, which rounding blurs: to share a trend is not to be told by it
NEAR = 0.999  # of the steps, while columns are dropped from a sum
FEW = 3  # columns of a relation with coefficients of any size; a sum may have more
WIDEST = 40  # columns among which sums are looked for
FEWEST_ROWS = 12  # by fewer a relation is not proved
_UNIT = 1e-3  # a coefficient this near to 1 is 1


class Asked(NamedTuple):
    """What `--inputs` says: columns by name, all of them, or nothing."""

    named: tuple[int, ...] = ()
    all: bool = False
    said: bool = True

    @classmethod
    def of(cls, table: Table, names: Names) -> Asked:
        """Columns from names, which one string may hold several of, separated by commas."""
        if names is None:
            return cls(said=False)
        named, every = [], False
        for name in _split(table, names):
            if name.lower() == ALL and name not in table.names:
                every = True
            else:
                named.append(table.find(name, "--inputs"))
        return cls(tuple(dict.fromkeys(named)), every)

    def check(self, table: Table, others: Iterable[tuple[str, Iterable[int]]]) -> None:
        """Refuse a column that another option has a different use for."""
        for option, columns in others:
            if both := sorted(set(self.named) & set(columns)):
                raise DataError(f"column {table.names[both[0]]!r} is both {option} and --inputs: choose one")


def _split(table: Table, names: str | Sequence[str]) -> list[str]:
    known, found = {*table.names, *table.headers}, list[str]()
    for text in [names] if isinstance(names, str) else names:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        if not all(parts):
            raise DataError(f"--inputs {text!r}: name columns separated by commas, or write {ALL}")
        found += parts
    return found


class Choice(NamedTuple):
    """The inputs, in the order of the file, and sentences on the columns that are not among them."""

    inputs: tuple[int, ...]
    notes: tuple[str, ...] = ()


def choose(table: Table, free: Sequence[int], targets: Sequence[int], time: int | None, asked: Asked) -> Choice:
    """The inputs among the columns that are free to be one.

    Of a series that is the time, and of a table all; `asked` adds to the time, or says which of the table.
    """
    if not targets:
        return Choice(tuple(i for i in free if asked.all or not asked.said or i in asked.named or i == time))
    others = [i for i in free if i != time]
    looked_at = [i for i in others if i in asked.named or _varies(table, i)]
    known = giveaways(table, looked_at, targets[0], time) if len(targets) == 1 else []
    if time is not None and not asked.said:
        left_out = {i for each in known for i in each.columns}
        usable = [i for i in looked_at if i not in left_out]
        return Choice((time,), (*_alone(table, time, usable), *(each.note(table, "") for each in known)))
    wanted = others if asked.all or not asked.said else list(asked.named)
    out = {i for each in known for i in each.columns} & set(wanted) - set(asked.named)
    inputs = tuple(i for i in free if i == time or (i in wanted and i not in out))
    if not inputs:  # a table is not left without any
        return Choice(tuple(wanted), tuple(each.remark(table) for each in known))
    kept = "" if time is not None else f"{ALL},"
    told = [each.note(table, kept) if out & set(each.columns) else each.remark(table) for each in known]
    seen = [note for each, note in zip(known, told, strict=True) if set(each.columns) & set(wanted)]
    return Choice(inputs, tuple(seen))


def is_numeric(table: Table, i: int) -> bool:
    """True for a column of numbers, flawed or not, that is not empty."""
    try:
        table.numbers(i)
    except DataError as error:
        return "holds text" not in str(error)  # a number column with a flaw is still one
    return bool(np.any(table.cells[i] != ""))


def _numbers(table: Table, i: int) -> np.ndarray | None:
    try:
        return table.numbers(i)
    except DataError:
        return None  # said again, and better, if the column is used


def _varies(table: Table, i: int) -> bool:
    values = _numbers(table, i)
    return values is not None and len(np.unique(values[~np.isnan(values)])) > 1


def _alone(table: Table, time: int, others: list[int]) -> tuple[str, ...]:
    if not others:
        return ()
    names = [table.names[i] for i in others]
    simple = len(names) <= 6 and not any("," in name for name in names)
    option = shlex.quote(",".join(names)) if simple else ALL
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return (f"The time alone is the input; {together(names)} {verb} left out (--inputs {option} adds {them}).",)


# -- what gives the target away ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Giveaway:
    """Columns to leave out, and the relation by which they tell the target."""

    columns: tuple[int, ...]
    relation: str

    def note(self, table: Table, kept: str) -> str:
        """That they are left out; `kept` stands before their names in the option that keeps them."""
        names = kept + ",".join(table.names[i] for i in self.columns)
        return f"{self.relation}: left out (--inputs {shlex.quote(names)} keeps {self._them})."

    def remark(self, table: Table) -> str:
        """That they are kept, and what that means."""
        return f"{self.relation}: with {self._them} as input, little is left to explain."

    @property
    def _them(self) -> str:
        return "it" if len(self.columns) == 1 else "them"


def giveaways(table: Table, columns: Sequence[int], target: int, time: int | None) -> list[Giveaway]:
    """What among the columns tells the target exactly, one relation after the other until none is left."""
    y, read = _numbers(table, target), {i: _numbers(table, i) for i in columns}
    if y is None:
        return []
    filled = {i: x for i, x in read.items() if x is not None and np.mean(np.isnan(x)) <= 0.1}
    rows = ~np.isnan(np.column_stack([y, *filled.values()])).any(axis=1)
    if rows.sum() < FEWEST_ROWS or np.ptp(y[rows]) == 0:
        return []
    rest = {i: x[rows] for i, x in filled.items() if np.ptp(x[rows]) > 0}
    found: list[Giveaway] = []
    while rest and (told := _relation(rest, y[rows], time is not None)) is not None:
        each = _described(table, target, *told)
        found.append(each)
        rest = {i: x for i, x in rest.items() if i not in each.columns}
    return found


class _Fit(NamedTuple):
    coefficients: np.ndarray
    constant: float


def _relation(columns: dict[int, np.ndarray], y: np.ndarray, steps: bool) -> tuple[tuple[int, ...], _Fit] | None:
    """The smallest set of columns that tells y, as a linear function of them; None if there is none."""
    z, w = {i: _standard(x) for i, x in columns.items()}, _standard(y)
    near = sorted(z, key=lambda i: -abs(float(z[i] @ w)))
    sets: list[tuple[int, ...]] = [(i,) for i in near if abs(float(z[i] @ w)) / len(w) > EXACT**0.5]
    if steps:
        z, w = {i: _standard(np.diff(x)) for i, x in z.items() if np.ptp(np.diff(x)) > 0}, _standard(np.diff(w))
    wide = [i for i in near if i in z][: min(WIDEST, len(w) // 3)]
    sets += _sparse(z, wide, w, NEAR if steps else EXACT)
    for chosen in sets:
        fit = _fitted([columns[i] for i in chosen], y)
        left = y - fit.constant - np.column_stack([columns[i] for i in chosen]) @ fit.coefficients
        exact = np.var(left) < (1 - EXACT) * np.var(y)
        along = not steps or np.var(np.diff(left)) < (1 - IN_STEPS) * np.var(np.diff(y))
        if exact and along and (len(chosen) <= FEW or _is_sum(fit)):
            return chosen, fit
    return None


def _sparse(z: dict[int, np.ndarray], columns: list[int], w: np.ndarray, enough: float) -> list[tuple[int, ...]]:
    """What is left when columns are dropped one by one, as long as the others still tell w."""
    if len(columns) < 2:
        return []
    Z = np.column_stack([z[i] for i in columns])
    gram, cross, n = Z.T @ Z / len(w), Z.T @ w / len(w), len(w)

    def tells(kept: list[int]) -> float:
        solution = np.linalg.lstsq(gram[np.ix_(kept, kept)], cross[kept], rcond=1e-12)[0]
        return 1 - (1 - float(cross[kept] @ solution)) * (n - 1) / (n - 1 - len(kept))

    kept = list(range(len(columns)))
    if tells(kept) < enough:
        return []
    while len(kept) > 1:
        best, place = max((tells([k for k in kept if k != j]), j) for j in kept)
        if best < enough:
            break
        kept.remove(place)
    return [tuple(sorted(columns[k] for k in kept))]


def _standard(x: np.ndarray) -> np.ndarray:
    centred = (x - x[0]) / (np.max(np.abs(x - x[0])) or 1.0)  # without overflow near 1e150
    centred = centred - centred.mean()
    standard: np.ndarray = centred / (centred.std() or 1.0)
    return standard


def _fitted(columns: list[np.ndarray], y: np.ndarray) -> _Fit:
    """The linear function by least squares, in the units of the columns."""
    spread = [float(x.std()) for x in columns]
    Z = np.column_stack([(x - x.mean()) / s for x, s in zip(columns, spread, strict=True)])
    a = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0] / spread
    constant = float(y.mean() - sum(c * x.mean() for c, x in zip(a, columns, strict=True)))
    return _Fit(a, constant if abs(constant) > 0.01 * float(y.std()) else 0.0)


def _is_sum(fit: _Fit) -> bool:
    return bool(np.all(np.abs(np.abs(fit.coefficients) - 1) < _UNIT)) and fit.constant == 0


def _described(table: Table, target: int, chosen: tuple[int, ...], fit: _Fit) -> Giveaway:
    """Of a sum with the target among its parts the total is left out, and of the target as the total all parts."""
    names, own = [table.names[i] for i in chosen], table.names[target]
    signs = fit.coefficients > 0
    if len(chosen) == 1:
        what = "is a copy of" if _is_sum(fit) and signs[0] else "is a linear function of"
        return Giveaway(chosen, f"{names[0]} {what} {own}")
    if not _is_sum(fit):
        return Giveaway(chosen, f"{own} is a linear function of {together(names)}")
    if signs.sum() == 1:
        total = int(np.argmax(signs))
        return Giveaway((chosen[total],), f"{names[total]} is {own} + {' + '.join(_but(names, total))}")
    if signs.all():
        return Giveaway(chosen, f"{own} is {' + '.join(names)}")
    signed = "".join(f" {'+' if s else '-'} {name}" for name, s in zip(names, signs, strict=True))
    return Giveaway(chosen, f"{own} is {signed.removeprefix(' + ').strip()}")


def _but(names: list[str], place: int) -> list[str]:
    return [name for i, name in enumerate(names) if i != place]
