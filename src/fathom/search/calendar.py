"""Periods of the calendar: a cycle that may stand at one does, unless the evidence objects.

A year, a week or a day is known before the data are seen, and a fitted 1.003 years only says that the record is short.
So a period near one of the calendar is tried fixed there, where it is a parameter less. What an earlier level fixed is
tried free: with more of the data explained, a period is known better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fathom.base.optimise import FAILED
from fathom.kernels.base import Kernel, walk
from fathom.kernels.leaves import Per
from fathom.kernels.vector import to_vector, with_fields
from fathom.search.score import Attempt, Criterion, Problem, climbed, criterion

IN_STEP = 0.5  # of a cycle: by no more have two periods parted at the end of a record that cannot tell them apart


def nearest(period: float, calendar: Sequence[float], span: float) -> float | None:
    """The period of the calendar that a record of this span may not tell from a fitted one; None without any."""
    apart = [abs(1 / period - 1 / known) * span for known in calendar]
    return calendar[int(np.argmin(apart))] if apart and min(apart) <= IN_STEP else None


def settle(problem: Problem, attempt: Attempt, iterations: int, which: Criterion = "bic") -> Attempt:
    """The best fit with each period at the calendar's or free, the calendar's where both are as good."""
    cycles = [n for n, node in enumerate(walk(attempt.kernel)) if isinstance(node, Per)]
    best = attempt
    for n in cycles:
        kernel = _exchanged(best.fitted, n, problem)
        if kernel is None:
            continue
        vector = np.asarray(to_vector(kernel), dtype=float)
        start = replace(best, kernel=kernel, vectors=(vector,), values=(FAILED,), size=None, upper=None)
        other = climbed(problem, start, iterations)
        gain = criterion(best, len(problem.y), which) - criterion(other, len(problem.y), which)
        if gain >= 0 if _held(kernel, n) else gain > 0:
            best = other
        else:
            best = replace(best, evaluations=other.evaluations)
    return best


def _held(kernel: Kernel, n: int) -> bool:
    return "period" in list(walk(kernel))[n].fixed


def _exchanged(kernel: Kernel, n: int, problem: Problem) -> Kernel | None:
    """The kernel with the period of node n free if it was fixed, or fixed if one of the calendar is near; else None."""
    node = list(walk(kernel))[n]
    if "period" in node.fixed:
        return with_fields(kernel, {n: {"fixed": node.fixed - {"period"}}})
    column = int(node.inputs[0]) if node.inputs else 0
    known = nearest(float(node.period), problem.calendar[column], float(np.ptp(problem.all_X[:, column])))
    return None if known is None else with_fields(kernel, {n: {"fixed": node.fixed | {"period"}, "period": known}})
