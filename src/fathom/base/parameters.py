"""What the parameters of a class may be: one table for each class, and one function that holds an object to it.

    parameter_constraints = {"n_restarts": [Integer(1)], "rate": [None, Number(above=0)], "mean": ["zero", "linear"]}

As in scikit-learn a row lists what is allowed: None, a text or number itself, a type, `callable`, or one of the kinds
below.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

LONGEST = 60  # letters of a value in a message


class ParameterError(ValueError, TypeError):
    """A parameter has a value that it may not have; the message names it and says what is allowed."""


@dataclass(frozen=True)
class Integer:
    """Whole numbers from `least` to `most`. True and False are none."""

    least: int
    most: int | None = None

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            return False
        return self.least <= int(value) and (self.most is None or int(value) <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"an integer of at least {self.least}"
        return f"an integer from {self.least} to {self.most}"


@dataclass(frozen=True)
class Number:
    """Finite numbers between limits that belong to them (`least`, `most`) or do not (`above`, `below`)."""

    least: float = -math.inf
    above: float = -math.inf
    most: float = math.inf
    below: float = math.inf

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            return False
        number = float(value)
        return math.isfinite(number) and self.least <= number <= self.most and self.above < number < self.below

    def __str__(self) -> str:
        limits = {"of at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        said = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit))
        return f"a number {said}"


@dataclass(frozen=True)
class Each:
    """Tuples and lists whose every entry is one of what is allowed; `what` they are called in messages."""

    what: str
    allowed: Sequence[Allowed]

    def __contains__(self, value: object) -> bool:
        return isinstance(value, tuple | list) and all(_fits(entry, self.allowed) for entry in value)

    def __str__(self) -> str:
        return f"a tuple of {self.what}"


@dataclass(frozen=True)
class Instance:
    """Objects of a class that is known by its full name and need not be imported for that."""

    name: str

    def __contains__(self, value: object) -> bool:
        return any(f"{kind.__module__}.{kind.__qualname__}" == self.name for kind in type(value).__mro__)

    def __str__(self) -> str:
        return _with_article(self.name.rpartition(".")[2])


Kind = Integer | Number | Each | Instance
Allowed = None | str | int | type | Callable[..., object] | Kind
Constraints = Mapping[str, Sequence[Allowed]]  # of each parameter: what it may be
RANDOM_STATE = (None, Integer(0, 2**32 - 1), np.random.Generator, np.random.RandomState)
PATH = (None, str, os.PathLike)
WORDS: dict[object, str] = {bool: "True or False", str: "text", os.PathLike: "a path", callable: "a callable"}


class Holder(Protocol):
    """An object in the manner of scikit-learn whose class has a table."""

    parameter_constraints: ClassVar[Constraints]

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


def check_parameters(holder: Holder) -> None:
    """Raise an error that names the first parameter with a value that its row does not allow."""
    table = holder.parameter_constraints
    for name, value in holder.get_params(deep=False).items():
        if name in table and not _fits(value, table[name]):
            raise ParameterError(f"{name} must be {_listed(table[name])}, not {shown(value)}")


def _fits(value: object, allowed: Sequence[Allowed]) -> bool:
    return any(_is_one(value, each) for each in allowed)


def _is_one(value: object, allowed: Allowed) -> bool:
    if isinstance(allowed, Kind):
        return value in allowed
    if allowed is bool:
        return isinstance(value, bool | np.bool_)
    if isinstance(allowed, type):
        return isinstance(value, allowed)
    if allowed is callable:
        return bool(callable(value))
    if allowed is None or isinstance(value, bool):
        return value is allowed
    return bool(np.isscalar(value) and value == allowed)


def _listed(allowed: Sequence[Allowed]) -> str:
    *said, last = map(_words, allowed)
    return f"{', '.join(said)} or {last}" if said else last


def _words(allowed: Allowed) -> str:
    if isinstance(allowed, Kind):
        return str(allowed)
    if allowed in WORDS:
        return WORDS[allowed]
    return _with_article(allowed.__name__) if isinstance(allowed, type) else repr(allowed)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def shown(value: object) -> str:
    """A value in one line of a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
