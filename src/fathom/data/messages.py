"""Pieces of messages about data: names in a list, a cell in quotes, the name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST = 60  # characters of a cell that a message quotes
_LONG = 200  # characters of a name that nobody mistypes


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" when a known name is close, whatever its case, and "" otherwise."""
    by_case = {k.lower(): k for k in known if len(k) <= _LONG}
    close = difflib.get_close_matches(name.lower(), list(by_case), n=1, cutoff=0.6) if len(name) <= _LONG else []
    return f" (did you mean {by_case[close[0]]!r}?)" if close else ""


def listing(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, cut short when there are many."""
    tail = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + tail


def together(names: Sequence[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"; many are cut short."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if 2 <= len(names) <= 12 else listing(names)


def quoted(cell: str) -> str:
    """A cell as a message quotes it, cut short when it is long."""
    return repr(cell) if len(cell) <= MOST else f"{cell[: MOST - 20]!r}... ({len(cell):,} characters)"


def count(number: int, noun: str) -> str:
    """A number of things: "1 row", "2 rows"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
