"""What a search found, level by level: JSON that is written after every level and read again to go on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from fathom.base.files import Facts, replacing
from fathom.base.stored import entries, entry, of_kind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse, to_text
from fathom.search.score import Attempt

VERSION = 1


BARE_MENTION = 2.0  # a difference of 2 log p "not worth more than" one (Kass and Raftery 1995)


class TraceError(ValueError):
    """A trace file that cannot be read or belongs to another search; the message says so in one line."""


@dataclass(frozen=True)
class Model:
    """A fitted candidate: its kernel on standardised data, evidence, parameters counted, and score.

    In a search with inducing points `evidence` is a lower bound and `upper` an upper one.
    """

    kernel: str
    evidence: float
    n_parameters: int
    score: float
    upper: float | None = None

    @classmethod
    def of(cls, attempt: Attempt, score: float) -> Self:
        return cls(to_text(attempt.fitted), attempt.value, attempt.n_effective, score, attempt.upper)

    def parsed(self) -> Kernel:
        return parse(self.kernel)

    def structure(self) -> str:
        return to_text(self.parsed(), values=False)


@dataclass(frozen=True)
class Level:
    """One step of the search: what was best, what came close, what failed and why, and what it cost."""

    depth: int
    best: Model
    runners_up: tuple[Model, ...]
    n_candidates: int
    evaluations: int
    seconds: float
    failures: dict[str, int] = field(default_factory=dict)  # reason -> how many


@dataclass(frozen=True)
class Trace:
    """The whole path. `status` is "running", "converged", "depth", "time limit" or "interrupted"."""

    key: str  # of the data and settings: only the same search may resume
    settings: Facts
    levels: tuple[Level, ...] = ()
    kept: tuple[Model, ...] = ()  # the best distinct models seen: the chosen one, then the others by score
    status: str = "running"
    paths: int = 1  # with different seeds; the levels are those of the best
    approximation: str | None = None  # of the evidence in all scores: "inducing points: 300 of 5000 rows"

    @property
    def best(self) -> Model:
        return self.kept[0]

    @property
    def lowest(self) -> float:
        """The score to beat."""
        return min(model.score for model in self.kept)

    def joined(self, other: Trace) -> Trace:
        """This search and another path of it: the levels of the better one, the best models of both."""
        better = min((self, other), key=lambda trace: trace.lowest)
        kept = keep_best(self.kept, list(other.kept))
        return replace(self, levels=better.levels, kept=kept, paths=self.paths + other.paths)

    def near_ties(self, within: float = 10.0) -> tuple[Model, ...]:
        """Models whose score is within reach of the best: the data cannot tell them apart."""
        return tuple(model for model in self.kept[1:] if model.score - self.best.score <= within)

    def to_json(self) -> str:
        return json.dumps({"format": "fathom trace", "version": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str, name: str = "the trace") -> Self:
        try:
            stored = of_kind(json.loads(text), "a trace", dict)
            if stored.pop("format") != "fathom trace" or stored.pop("version") != VERSION:
                raise TraceError(f"{name} is a trace of another version of Fathom: remove it or name another file")
            levels = tuple(map(_level, entries(stored, "levels", dict)))
            settings, kept = entry(stored, "settings", dict), _models(stored, "kept")
            entry(settings, "seed", int)
            return cls(**{**stored, "settings": settings, "levels": levels, "kept": kept})
        except TraceError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            raise TraceError(f"{name} is not a trace of a search ({problem}): remove it or name another file") from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The trace in a file."""
        try:
            return cls.from_json(path.read_text(encoding="utf-8"), str(path))
        except UnicodeDecodeError:
            raise TraceError(f"{path} is not a trace of a search: remove it or name another file") from None

    def write(self, path: Path) -> None:
        """Whole or not at all: a trace cut short could not be resumed."""
        with replacing(path, TraceError) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")


def _level(stored: Facts) -> Level:
    best, others = _model(entry(stored, "best", dict)), _models(stored, "runners_up")
    entry(stored, "seconds", float)
    return Level(**{**stored, "best": best, "runners_up": others})


def _models(stored: Facts, name: str) -> tuple[Model, ...]:
    return tuple(map(_model, entries(stored, name, dict)))


def _model(stored: Facts) -> Model:
    parse(entry(stored, "kernel", str))
    for name in ("evidence", "score"):
        entry(stored, name, float)
    return Model(**stored)


def keep_best(kept: tuple[Model, ...], new: list[Model], n: int = 10) -> tuple[Model, ...]:
    """The n best distinct structures among those kept and the new ones, in front the one to choose.

    That is the one with fewest parameters of those within `BARE_MENTION` of the best: less is no reason for more.
    """
    found: dict[str, Model] = {}
    for model in sorted([*kept, *new], key=lambda m: m.score):
        if np.isfinite(model.score):
            found.setdefault(model.structure(), model)
    best = list(found.values())[:n]
    equal = [model for model in best if model.score <= best[0].score + BARE_MENTION]
    chosen = min(equal, key=lambda m: (m.n_parameters, m.score), default=None)
    return tuple(sorted(best, key=lambda m: (m is not chosen, m.score)))
