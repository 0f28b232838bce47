"""Values and arrays from a file that anyone may have written: each of the kind that it must be, or it is damaged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from fathom.base.files import Facts

T = TypeVar("T")
KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


class Damaged(ValueError):
    """Something in a file is not what it must be; the message says what, in one line."""


def entry(facts: Facts, name: str, kind: type[T]) -> T:
    """The entry of a JSON object that has this name, of this kind; numbers are finite."""
    if name not in facts:
        raise Damaged(f"{name!r} is missing")
    return of_kind(facts[name], repr(name), kind)


def optional(facts: Facts, name: str, kind: type[T]) -> T | None:
    """The same where it may be null."""
    return None if facts.get(name, 0) is None else entry(facts, name, kind)


def entries(facts: Facts, name: str, kind: type[T]) -> list[T]:
    """The entries of a list, all of one kind."""
    return [of_kind(value, f"each of {name!r}", kind) for value in entry(facts, name, list)]


def of_kind(value: object, name: str, kind: type[T]) -> T:
    """The value, if it is of this kind."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e300 else math.inf
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Damaged(f"{name} must be {KINDS[kind]}, not {brief(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise Damaged(f"{name} must be finite, not {value}")
    return value


def numbers(facts: Facts, name: str, n: int | None = None) -> np.ndarray:
    """A list of finite numbers, as many as are wanted."""
    found = np.array(entries(facts, name, float), dtype=float)
    if n is not None and len(found) != n:
        raise Damaged(f"{name!r} has {len(found)} numbers, not {n}")
    return found


def array(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """The array of this name, if it is of this shape, where None is any size but zero."""
    if name not in arrays:
        raise Damaged(f"array {name!r} is missing")
    found = arrays[name]
    if found.ndim != len(shape) or any(_differ(*pair) for pair in zip(found.shape, shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise Damaged(f"array {name!r} has shape {found.shape}, not ({wanted})")
    return found


def _differ(size: int, wanted: int | None) -> bool:
    return size < 1 if wanted is None else size != wanted


def check_finite(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless all arrays hold finite numbers."""
    for name, found in arrays.items():
        if not np.issubdtype(found.dtype, np.floating):
            raise Damaged(f"array {name!r} holds {found.dtype}, not real numbers")
        if not np.isfinite(found).all():
            raise Damaged(f"array {name!r} holds NaN or infinity")


def brief(value: object) -> str:
    """A value in an error: short, and on one line."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
