"""Loops to convergence: L-BFGS-B from several starts.

An objective maps one parameter vector to (value, gradient); a batched objective maps a matrix of them, one row a
start, and is called once for all starts that are still running (what `jax.vmap` is good at).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fathom.base.linalg import NotPositiveDefinite

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
BatchedObjective = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
OPTIONS = {"maxcor": 20, "gtol": 1e-5}
FAILED = -1e25  # what the optimiser sees where the objective cannot be computed


@dataclass(frozen=True)
class Result:
    """The best point found. `status` is "converged", "iterations" (the limit was reached) or "failed"."""

    vector: np.ndarray
    value: float
    status: str
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Space:
    """Where to search: the vector is θ = start + scale·u, kept within the bounds (P, 2).

    Scales make the first step of every coordinate equally bold: the gradient in a log period is range/period times
    stiffer than the rest, and without them the first step leaves its basin.
    """

    scales: np.ndarray
    bounds: np.ndarray


def maximise(
    objective: Objective,
    starts: Sequence[np.ndarray],
    space: Space,
    max_iterations: int = 500,
    on_step: Callable[[int, float], None] | None = None,
    tolerance: float = 1e-10,
) -> Result:
    """The best of L-BFGS-B runs from each start, one after the other; a step that gains less than `tolerance` of the
    value is the last."""
    runs = [_climb(objective, start, space, max_iterations, i, on_step, tolerance) for i, start in enumerate(starts)]
    return _best(runs)


def maximise_together(
    objective: BatchedObjective, starts: Sequence[np.ndarray], space: Space, max_iterations: int = 500
) -> Result:
    """The same, all starts in step: each evaluation is one call of the batched objective."""
    return _best(climb_together(objective, starts, space, max_iterations))


def climb_together(
    objective: BatchedObjective,
    starts: Sequence[np.ndarray],
    space: Space,
    max_iterations: int = 500,
    tolerance: float = 1e-10,
) -> list[Result]:
    """What each start came to."""
    meeting = _Meeting(objective, np.stack(starts))
    runs: list[Result | None] = [None] * len(starts)

    def run(i: int) -> None:
        try:
            ask = functools.partial(meeting.evaluate, i)
            runs[i] = _climb(ask, starts[i], space, max_iterations, i, None, tolerance)
        except InterruptedError:
            return  # the reason is raised where it happened, in the serving thread
        finally:
            meeting.leave(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(starts))]
    for thread in threads:
        thread.start()
    meeting.serve()
    for thread in threads:
        thread.join()
    return [run for run in runs if run is not None]


def _climb(
    objective: Objective,
    start: np.ndarray,
    space: Space,
    max_iterations: int,
    index: int,
    on_step: Callable[[int, float], None] | None,
    tolerance: float = 1e-10,
) -> Result:
    low, high = space.bounds.T
    start = np.clip(start, low, high)
    best: dict[str, Any] = {"value": FAILED, "vector": start, "failures": 0}

    def negative(u: np.ndarray) -> tuple[float, np.ndarray]:
        vector = np.clip(start + space.scales * u, low, high)
        try:
            value, gradient = objective(vector)
        except NotPositiveDefinite:
            value, gradient = np.nan, np.zeros_like(vector)
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            best["failures"] += 1
            return -FAILED, np.zeros_like(vector)
        if value > best["value"]:
            best.update(value=float(value), vector=vector)
        return -value, -space.scales * gradient

    found = minimize(
        negative,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([(low - start) / space.scales, (high - start) / space.scales]),
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": tolerance} | OPTIONS,
        callback=(lambda _: on_step(index, best["value"])) if on_step else None,
    )
    status = "failed" if best["value"] == FAILED else ("iterations" if found.status == 1 else "converged")
    stats = {"evaluations": found.nfev, "iterations": found.nit, "failures": best["failures"]}
    return Result(best["vector"], best["value"], status, stats)


def _best(runs: list[Result]) -> Result:
    """The highest run, with what happened in all of them."""
    top = max(runs, key=lambda run: run.value)
    stats = {
        "restarts": len(runs),
        "values": [run.value for run in runs],
        "evaluations": sum(run.stats["evaluations"] for run in runs),
        "failures": sum(run.stats["failures"] for run in runs),
    }
    return Result(top.vector, top.value, top.status, stats)


class _Meeting:
    """Lets several optimisers, each in its thread, share one batched evaluation.

    An optimiser that asks waits until every other still running has asked too. Rows of optimisers that have
    finished keep their last vector, so the batch never changes shape and is compiled once.
    """

    def __init__(self, objective: BatchedObjective, vectors: np.ndarray):
        self.objective, self.vectors = objective, vectors.copy()
        self.asked: SimpleQueue[tuple[int, np.ndarray | None]] = SimpleQueue()
        # one queue for each: a condition that all wait for wakes every thread at every question
        self.answers: list[SimpleQueue[tuple[float, np.ndarray] | None]] = [SimpleQueue() for _ in vectors]

    def evaluate(self, i: int, vector: np.ndarray) -> tuple[float, np.ndarray]:
        self.asked.put((i, vector))
        answer = self.answers[i].get()
        if answer is None:
            raise InterruptedError("the evaluation of another start failed or was interrupted")
        return answer

    def leave(self, i: int) -> None:
        self.asked.put((i, None))

    def serve(self) -> None:
        """Runs in the calling thread until every optimiser has left."""
        running, waiting = len(self.vectors), list[int]()
        try:
            while running:
                i, vector = self.asked.get()
                if vector is None:
                    running -= 1
                else:
                    self.vectors[i] = vector
                    waiting.append(i)
                if waiting and len(waiting) == running:
                    self._answer(waiting)
                    waiting = []
        except BaseException:  # also an interrupt: let the waiting threads go before it travels on
            for answers in self.answers:
                answers.put(None)
            raise

    def _answer(self, waiting: list[int]) -> None:
        values, gradients = self.objective(self.vectors)
        for i in waiting:
            self.answers[i].put((float(values[i]), gradients[i].copy()))
