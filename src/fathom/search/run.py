"""How a search spends its time: levels, races, budget, resumption.

Each level expands the best kernels and races the candidates: a few iterations for all, more for those that can still
win, many only for the finalists. Every race is scored on all rows. Seeds belong to candidates, not to workers, so the
answer does not depend on how many there are.

A series too long for the evidence races on its lower bound, and after each stage those leave whose upper bound says
that they cannot win (Kim and Teh 2018): a few are kept all the same, for their parameters still move.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fathom.base.budget import Budget
from fathom.base.execute import OVER, Executor, Outcome, executor
from fathom.base.files import Facts
from fathom.base.optimise import FAILED
from fathom.kernels.base import Kernel
from fathom.kernels.leaves import WN
from fathom.search.calendar import settle
from fathom.search.criteria import bounded, judge
from fathom.search.grammar import Grammar, expand, normal_form
from fathom.search.inducing import inducing_rows, process_of
from fathom.search.score import (
    JUDGED,
    LONG,
    SCREEN,
    Attempt,
    Criterion,
    Problem,
    begin,
    climbed,
    criterion,
    only_best,
    penalty,
    period_pool,
    polish,
    proceed,
    reaches,
    retune,
)
from fathom.search.trace import BARE_MENTION, Level, Model, Trace, TraceError, keep_best

# (iterations, share of the candidates that go on, rows): measured to lose a level's winner about one time in six,
# by a few units of BIC, at a tenth of the cost of full fits
Race = tuple[tuple[int, float, int | None], ...]
RACE: Race = ((4, 0.5, SCREEN), (8, 0.25, None), (16, 0.12, None), (62, 0.05, None), (200, 1.0, None))
LONG_RACE: Race = ((12, 0.25, SCREEN), (12, 0.05, 2 * SCREEN), (35, 0.02, None), (60, 1.0, None))
# over several inputs a part of the rows ranks well: no period has to be in tune; concrete500, four levels: half the
# time of RACE for 3 units of BIC
WIDE_RACE: Race = ((4, 0.12, SCREEN), (12, 0.04, None), (100, 0.02, None), (200, 1.0, None))
LARGE_RACE: Race = ((20, 0.25, SCREEN), (12, 0.08, None), (35, 0.05, None), (25, 1.0, None))
FINALISTS = 4
CYCLES = {"Per", "Cos", "SM"}  # base kernels that need to know of periods
SHAKEN = 30  # iterations of a winner's climbs from other lengthscales
SETTLE = 30  # and of a finalist's with a period held
BUFFER, STEPS = 8, 10  # kept whatever their upper bound; steps that tighten it


@dataclass(frozen=True)
class Settings:
    """What decides the answer of a search."""

    grammar: Grammar = field(default_factory=Grammar)
    depth: int = 10
    criterion: Criterion = "bic"
    beam: int = 1
    seed: int = 0
    patience: float = BARE_MENTION  # a level must gain more than this
    calendar: tuple[tuple[float, ...], ...] = ()  # periods of the calendar, for each input, in its standard units

    def key(self, X: np.ndarray, y: np.ndarray) -> str:
        """Names this search of these data."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        for array in (X, y):
            digest.update(np.ascontiguousarray(array, dtype=float).tobytes())
        return digest.hexdigest()[:16]


OnLevel = Callable[[Trace], None]
OnStage = Callable[[int, int, int], None]  # (depth, candidates done, candidates in all)


def search(
    X: np.ndarray,
    y: np.ndarray,
    settings: Settings,
    pool: Executor,
    *,
    time_limit: Budget | float | None = None,
    paths: int = 1,
    trace_path: Path | None = None,
    on_level: OnLevel | None = None,
    on_stage: OnStage | None = None,
) -> Trace:
    """The best kernels for standardised data, and the path to them; resumes from `trace_path` if it is its own.

    Greedy paths are chaotic: several `paths` with other seeds may find more. A level that the time limit cuts short
    counts with what it has found, but goes into no file: resumed, it is done again as a whole.
    """
    budget = time_limit if isinstance(time_limit, Budget) else Budget.of(time_limit)

    def path(settings: Settings, known: Trace | None, own_file: bool) -> Trace:
        run = _Run(X, y, settings, pool, budget, on_stage)
        trace = known or run.opening()
        while trace.status == "running":
            before, trace = trace, run.level(trace)
            if own_file and trace_path is not None:
                (replace(before, status=trace.status) if run.cut else trace).write(trace_path)
            if on_level is not None:
                on_level(trace)
        return trace

    best = _resumed(trace_path, settings.key(X, y))
    if best is None or best.status == "running":
        best = path(settings, best, own_file=True)
    while best.paths < paths and best.status != "time limit":
        other = path(replace(settings, seed=settings.seed + best.paths), None, own_file=False)
        best = best.joined(other)
        if other.status == "time limit":
            return replace(best, status="time limit")
        if trace_path is not None:
            best.write(trace_path)
    return best


def _resumed(path: Path | None, key: str) -> Trace | None:
    if path is None or not path.exists():
        return None
    trace = Trace.read(path)
    if trace.key != key:
        raise TraceError(f"{path} belongs to a search of other data or settings: remove it or name another file")
    return replace(trace, status="running") if trace.status in ("time limit", "interrupted") else trace


class _Run:
    """One search in progress."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        settings: Settings,
        pool: Executor,
        budget: Budget,
        on_stage: OnStage | None,
    ):
        self.X, self.y, self.settings, self.pool = X, y, settings, pool
        self.key, self.budget, self.on_stage = settings.key(X, y), budget, on_stage
        self.cut = False  # the level at work had no time to be done as a whole
        self.inducing = inducing_rows(X)

    def opening(self) -> Trace:
        """Level 0: noise alone."""
        start = time.monotonic()
        problem = self.problem(None)
        attempts = self.race(problem, [normal_form(WN(), self.settings.grammar)], depth=0)
        rows = None if self.inducing is None else f"inducing points: {len(self.inducing)} of {len(self.y)} rows"
        return self.extended(Trace(self.key, asdict(self.settings), approximation=rows), attempts, 0, start)

    def level(self, trace: Trace) -> Trace:
        """Expand the beam by one step and race what comes out; decide whether to go on."""
        if self.budget.over():
            return replace(trace, status="time limit")
        start, depth = time.monotonic(), len(trace.levels)
        last = trace.levels[-1]
        beam = [m.parsed() for m in (last.best, *last.runners_up)[: self.settings.beam]]
        seen: dict[tuple[object, ...], Kernel] = {}
        for parent in beam:
            for candidate in expand(parent, self.settings.grammar):
                seen.setdefault(candidate.structure(), candidate)
        attempts = self.race(self.problem(beam[0]), list(seen.values()), depth)
        if self.cut and not min(map(self.score, attempts)) < trace.lowest:
            return replace(trace, status="time limit")
        grown = self.extended(trace, attempts, depth, start)
        if self.cut:
            return replace(grown, status="time limit")
        if trace.lowest - grown.lowest <= self.settings.patience:
            return replace(grown, status="converged")
        return replace(grown, status="depth") if depth >= self.settings.depth else grown

    def problem(self, parent: Kernel | None) -> Problem:
        """The data, with the periods that they and the parent's residual suggest."""
        residual, pools = self.y, tuple(np.zeros(0) for _ in range(self.X.shape[1]))
        if CYCLES & set(self.settings.grammar.base):
            if parent is not None:
                residual = self.y - process_of(parent, self.X, self.y).mean(self.X)[:, 0]
            known = self.settings.calendar or ((),) * self.X.shape[1]
            pools = tuple(period_pool(x, self.y, residual, own) for x, own in zip(self.X.T, known, strict=True))
        return Problem(self.X, self.y, pools, self.key, self.inducing, calendar=self.settings.calendar)

    def race(self, problem: Problem, kernels: list[Kernel], depth: int) -> list[Attempt]:
        """All candidates, fitted as far as each deserves and the time allows, the best first."""
        seeds = np.random.SeedSequence([self.settings.seed, depth]).generate_state(max(len(kernels), 1))
        attempts = [Attempt(kernel, int(seed)) for kernel, seed in zip(kernels, seeds, strict=False)]
        out: list[Attempt] = []
        large = problem.inducing is not None
        race = LARGE_RACE if large else LONG_RACE if len(problem.y) > LONG else RACE
        race = WIDE_RACE if race is RACE and problem.X.shape[1] > 1 else race
        for stage, (iterations, share, rows) in enumerate(race):
            if self.cut:
                break
            last = stage == len(race) - 1
            task = polish if last else partial(proceed if stage else begin, rows=rows)
            attempts = self._stage(task, problem, attempts, iterations, depth)
            attempts = self.ranked(attempts, rows)
            n = len(attempts) if last else max(FINALISTS, int(np.ceil(share * len(kernels))))
            out += [a for i, a in enumerate(attempts) if i >= n or a.reason is not None]
            attempts = [only_best(a) for a in attempts[:n] if a.reason is None]
            if large and stage and not last:
                attempts, hopeless = self.sandwich(problem, attempts, depth)
                out += hopeless
        if large and attempts and not self.cut:
            attempts[:1] = self._stage(retune, problem, attempts[:1], race[-1][0], depth)
        if any(self.settings.calendar):
            n = 1 if large or len(self.y) > LONG else len(attempts)  # a climb on many rows costs as much as all before
            attempts[:n] = self._stage(partial(settle, which=self.rate), problem, attempts[:n], SETTLE, depth)
            attempts.sort(key=self.racing)
        if race is RACE:
            attempts[:1] = self.shaken(problem, attempts[:1], depth)
        return sorted(self.judged(problem, attempts, depth) + out, key=self.score)

    def shaken(self, problem: Problem, winner: list[Attempt], depth: int) -> list[Attempt]:
        """The winner, or a better fit from half or twice one of its lengthscales: greedy paths go on from here, and
        which optimum a climb had come to hangs on rounding (mauna's second level: 100 nats apart)."""
        starts = [replace(a, vectors=(v,), values=(FAILED,), evaluations=0) for a in winner for v in reaches(a)]
        ends = winner + self._stage(climbed, problem, starts, SHAKEN, depth)
        best = sorted(ends, key=self.racing)[: len(winner)]
        return [replace(a, evaluations=sum(end.evaluations for end in ends)) for a in best]

    def ranked(self, attempts: list[Attempt], rows: int | None) -> list[Attempt]:
        """Best first. After a race on a part of a long series, by turns the best on all rows and on the part: what is
        known of a part is not yet in tune with a thousand rows, and a new cycle scores below no change at all."""
        by_whole = sorted(attempts, key=self.racing)
        if rows is None or len(self.y) <= LONG or any(a.part is None for a in attempts if a.reason is None):
            return by_whole
        rate = penalty(rows, self.settings.criterion)
        parts = [-2 * a.part + rate * a.n_effective if a.part is not None else np.inf for a in by_whole]
        by_part = [by_whole[i] for i in np.argsort(parts, kind="stable")]
        turns = {id(a): a for pair in zip(by_whole, by_part, strict=True) for a in pair if a.reason is None}
        return [*turns.values(), *(a for a in by_whole if a.reason is not None)]

    def sandwich(self, problem: Problem, attempts: list[Attempt], depth: int) -> tuple[list[Attempt], list[Attempt]]:
        """Those that go on and those whose upper bound cannot beat the best lower one; in order, best first."""
        if len(attempts) <= BUFFER:
            return attempts, []
        best, rate = self.racing(attempts[0]), penalty(len(self.y), self.settings.criterion)
        attempts = self._stage(partial(bounded, best=best, rate=rate), problem, attempts, STEPS, depth)
        hopes = [self.racing(replace(a, values=(a.upper,))) if a.upper is not None else np.inf for a in attempts]
        goes = [i < BUFFER or hope < best for i, hope in enumerate(hopes)]
        on = [a for a, going in zip(attempts, goes, strict=True) if going and a.reason is None]
        return on, [a for a in attempts if a not in on]

    def judged(self, problem: Problem, attempts: list[Attempt], depth: int) -> list[Attempt]:
        """The finalists with what the race could not afford: the upper bound, and the criterion asked for."""
        which = self.settings.criterion
        if problem.inducing is None and which not in JUDGED:
            return attempts
        return self._stage(partial(judge, which=which), problem, attempts, STEPS, depth)

    def _stage(
        self, task: Any, problem: Problem, attempts: list[Attempt], iterations: int, depth: int
    ) -> list[Attempt]:
        done = [0]

        def tick(*_: object) -> None:
            done[0] += 1
            if self.on_stage is not None:
                self.on_stage(depth, done[0], len(attempts))

        # noise alone is fitted here, before there is a worker: two that start one after the other take twice as long;
        # and whatever the limit, so that there is an answer
        pool = self.pool if depth else executor("serial")
        limit: Facts = {"budget": self.budget} if depth and self.budget else {}
        outcomes = pool.map(_Step(task, iterations), attempts, shared=problem, on_done=tick, **limit)
        self.cut = self.cut or any(outcome.error == OVER for outcome in outcomes)
        return [
            attempt if outcome.error == OVER and attempt.values else _result(attempt, outcome)
            for attempt, outcome in zip(attempts, outcomes, strict=True)
        ]

    @property
    def rate(self) -> Criterion:
        """The criterion by which candidates race before they are judged."""
        return "bic" if self.settings.criterion in JUDGED else self.settings.criterion

    def racing(self, attempt: Attempt) -> float:
        """What ranks candidates before they are judged."""
        return criterion(attempt, len(self.y), self.rate)

    def score(self, attempt: Attempt) -> float:
        return criterion(attempt, len(self.y), self.settings.criterion)

    def extended(self, trace: Trace, attempts: list[Attempt], depth: int, start: float) -> Trace:
        good = [a for a in attempts if np.isfinite(self.score(a))]
        models = [Model.of(a, self.score(a)) for a in good[:20]]
        if not models:
            raise ValueError("no candidate kernel could be fitted: " + str(_failures(attempts)))
        level = Level(
            depth,
            models[0],
            tuple(models[1:6]),
            len(attempts),
            sum(a.evaluations for a in attempts),
            time.monotonic() - start,
            _failures(attempts),
        )
        return replace(trace, levels=(*trace.levels, level), kept=keep_best(trace.kept, models))


@dataclass(frozen=True)
class _Step:
    """A stage as a task that pickles: task(problem, attempt)."""

    task: Callable[[Problem, Attempt, int], Attempt]
    iterations: int

    def __call__(self, problem: Problem, attempt: Attempt) -> Attempt:
        return self.task(problem, attempt, self.iterations)


def _result(attempt: Attempt, outcome: Outcome) -> Attempt:
    """What became of a candidate: further fitted, or out with the reason."""
    further: Attempt = outcome.value
    return further if outcome.error is None else replace(attempt, reason=outcome.error)


def _failures(attempts: list[Attempt]) -> dict[str, int]:
    return dict(Counter(a.reason for a in attempts if a.reason is not None))
