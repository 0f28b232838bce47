"""What a part of the torture tried, how it went, and what must not have happened."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

KINDS = ("traceback", "misread", "destroyed", "hang", "left running", "NaN")


@dataclass
class Tally:
    """Outcomes that are allowed, counted by name ("understood", "refused"), and faults, by kind with their stories."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)  # a kind of `KINDS`, and what happened in which case

    def fault(self, kind: str, story: str) -> None:
        """Record something that must not happen."""
        if kind not in KINDS:
            raise ValueError(f"no kind of fault is called {kind!r}")
        self.faults.append((kind, story))

    def count(self, kind: str) -> int:
        """How many faults of a kind there are."""
        return sum(found == kind for found, _ in self.faults)


def part(name: str):
    """The module of a part."""
    return importlib.import_module(f"tests.torture.{name}")


def chunk(name: str, cases: range, seed: int) -> Tally:
    """Run some cases of a part; here, since other processes cannot import it from `__main__`."""
    return part(name).run(cases, seed)


def together(tallies: Iterable[Tally]) -> Tally:
    """One tally of several."""
    whole = Tally()
    for tally in tallies:
        whole.outcomes += tally.outcomes
        whole.faults += tally.faults
    return whole
