"""How a command keeps its time limit: what is left for the search when the page has its share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom.base.budget import Budget

if TYPE_CHECKING:
    from fathom.data.dataset import Dataset

FIXED = 1.0  # seconds of one free core for a page, or for loading what makes it
POSTERIORS = 40.0  # times that of a posterior on all rows, for the parts, their checks and held-out stretches
SLOWEST = 10.0  # times slower than a free core
LEAST = 1e-3  # seconds for a search, which fits noise in any case


@dataclass(frozen=True)
class Limit:
    """The time limit of a command from when it began."""

    budget: Budget = field(default_factory=Budget)
    begun: float = field(default_factory=time.perf_counter)
    worked: float = field(default_factory=time.process_time)

    @classmethod
    def of(cls, seconds: float | None) -> Limit:
        """So many seconds from now, or no limit."""
        return cls(Budget.of(seconds))

    def for_search(self, page: float) -> float | None:
        """Seconds for the search, when the page needs some."""
        return max(self.budget.left() - page, LEAST) if self.budget else None

    def for_page(self, dataset: Dataset) -> float:
        """Seconds that a page on these data will take, measured here and now: a machine may be shared."""
        return self.slowness() * FIXED + POSTERIORS * _posterior(dataset) if self.budget else 0.0

    def slowness(self) -> float:
        """How many times slower than on a core of its own the command has been so far."""
        worked = time.process_time() - self.worked
        return min(max((time.perf_counter() - self.begun) / max(worked, 1e-3), 1.0), SLOWEST)


def _posterior(dataset: Dataset) -> float:
    """Seconds for one posterior on all rows."""
    from fathom.data.columns import Scaler
    from fathom.gp.learn import posterior_of
    from fathom.kernels.syntax import parse

    y = dataset.y.reshape(len(dataset.y), -1)[:, :1]
    scaler = Scaler.fit(dataset.X, y)
    X, Y = scaler.x(dataset.X), scaler.y(y)
    start = time.perf_counter()
    posterior_of(parse("SE[0] + Lin[0]*SE[0] + WN"), X, Y, "zero").var(X, noise=True)
    return time.perf_counter() - start
