"""What the slow parts of a series do together: a step or a rise of one may be made up for by another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathom.report.facts.part import PERIODIC, SMOOTH, Factor, Jump, Region, Tag
from fathom.report.facts.whole import Trend
from fathom.report.measure.anatomy import Anatomy
from fathom.report.measure.course import FEWEST_STEPS, shown
from fathom.report.measure.shape import applies, direction, head_of, straightness, weight_of

SLOW = 1 / 5  # of the record: a lengthscale below it is no trend
FADING = 1 / 4  # of the record: an edge that takes longer is no jump
ROOM = 0.02  # of its range: what a trend may fall and still be said to rise
MOST = 300  # places at which it is looked at
PLACES = 48  # in a period, over which a cycle is averaged


class Together:
    """Sums of the parts of a series without noise: a cycle counts by its middle, its mean over a period.

    `slow` are the parts that make a trend, and `quick` those that vary too fast for one. Either may step.
    """

    def __init__(self, anatomy: Anatomy, factors: Sequence[tuple[Factor, ...]]):
        self.anatomy, self.x = anatomy, np.unique(anatomy.X[:, 0])
        span = float(self.x[-1] - self.x[0])
        self.step = float(np.median(np.diff(self.x))) if len(self.x) > 1 else 0.0
        self.periods = {i: period for i, f in enumerate(factors) if (period := _period(f)) <= span}
        calm = [i for i, f in enumerate(factors) if head_of(f) != "noise" and i not in self.periods]
        self.slow = [i for i in calm if _lengthscale(factors[i], span) >= SLOW * span]
        self.quick = [i for i in calm if i not in self.slow]

    def change(self, i: int, start: float, end: float) -> float | None:
        """How far part i and the slow parts together change over a stretch; None for a cycle and for noise."""
        if i not in self.slow and i not in self.quick:
            return None
        return self._between(start, end, [i] if i in self.quick else [])[0]

    def jumps(self, i: int, region: Region | None) -> tuple[Jump, ...]:
        """How far all parts move at the edges of part i within the data; none for noise."""
        if region is None or self.anatomy.noisy[i]:
            return ()
        low, high = float(self.x[0]), float(self.x[-1])
        found = [edge for interval in region.within(low, high).intervals for edge in (interval.low, interval.high)]
        edges = sorted((e for e in found if e is not None and e.width <= FADING * (high - low)), key=lambda e: e.at)
        places = [low, *(e.at for e in edges), high]
        jumps = []
        for before, edge, after in zip(places, edges, places[2:], strict=False):
            room = max(edge.width, self.step)
            left, right = max(edge.at - room, (before + edge.at) / 2), min(edge.at + room, (edge.at + after) / 2)
            jumps.append(Jump(edge.at, *self._between(left, right, self.quick)))
        return tuple(jumps)

    def trend(self, tags: Sequence[tuple[int, Tag]], jumps: Sequence[Jump]) -> Trend | None:
        """Where the slow parts go together; `jumps` of several parts may be those of one edge."""
        if not self.slow and not self.periods:
            return None
        x = self.x[:: -(-len(self.x) // MOST)]
        x = x if x[-1] == self.x[-1] else np.append(x, self.x[-1])
        values = np.full(len(x), self.anatomy.level) + sum(self._middle(i, x) for i in self.periods)
        values = values + (self.anatomy.mean(self.slow, x[:, None]) if self.slow else 0.0)
        change, sd = self._between(float(x[0]), float(x[-1]), [])
        return Trend(
            first=float(values[0]),
            last=float(values[0]) + change,
            change_sd=sd,
            monotone=direction(values, ROOM * float(np.ptp(values))),
            straight=straightness(x, values),
            low=float(values.min()),
            high=float(values.max()),
            low_at=float(x[values.argmin()]),
            high_at=float(x[values.argmax()]),
            jumps=_distinct(jumps, float(x[-1] - x[0])),
            predicts=any(tag == "predicts" for i, tag in tags if not self.anatomy.noisy[i] and i not in self.quick),
        )

    def _between(self, start: float, end: float, others: list[int]) -> tuple[float, float]:
        """Mean and sd of the change of the slow parts, of the middles of cycles and of some others."""
        ends, signs = np.array([start, end]), np.array([-1.0, 1.0])
        terms = [(i, ends[:, None], signs) for i in [*self.slow, *others]]
        for i in self.periods:
            places, weights = self._window(i, ends)
            terms.append((i, places.reshape(-1, 1), (signs[:, None] * weights).ravel()))
        return self.anatomy.contrast(terms)

    def _window(self, i: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (n, k) of a period about each of x where part i applies, and their weights in its middle there."""
        weight = weight_of(self.anatomy, i, self.x)
        inside = self.x[applies(weight)]
        low, high = float(inside[0]), float(inside[-1])
        reach = min(shown(self.periods[i], self.step), high - low)
        centre = np.clip(x, low + reach / 2, high - reach / 2)
        around = self._around(reach)
        if len(around) < PLACES:  # at steps of the data: between them a short memory returns to zero
            centre = self.x[0] + self.step * np.round((centre - self.x[0] + around[0]) / self.step) - around[0]
        places = centre[:, None] + around
        return places, np.repeat(weight_of(self.anatomy, i, x)[:, None] / len(around), len(around), axis=1)

    def _around(self, reach: float) -> np.ndarray:
        """Where to look in a stretch about a place: at the steps of the data, if there are some but not too many."""
        count = round(reach / self.step) if self.step > 0 else 0
        if FEWEST_STEPS <= count < PLACES:
            return self.step * (np.arange(count) - (count - 1) / 2)
        return reach * ((np.arange(PLACES) + 0.5) / PLACES - 0.5)

    def _middle(self, i: int, x: np.ndarray) -> np.ndarray:
        """The middle of a cycle along x."""
        places, weights = self._window(i, x)
        values = self.anatomy.mean([i], places.reshape(-1, 1)).reshape(places.shape)
        return np.asarray((values * weights).sum(1))


def _period(factors: Sequence[Factor]) -> float:
    """The shortest period of a part; infinite of one without any."""
    return min((f["period"] for f in factors if f.kind in PERIODIC), default=np.inf)


def _lengthscale(factors: Sequence[Factor], span: float) -> float:
    """The shortest lengthscale of a part; of one without any, the record."""
    return min((f["lengthscale"] for f in factors if f.kind in SMOOTH), default=span)


def _distinct(jumps: Sequence[Jump], span: float) -> tuple[Jump, ...]:
    """The jumps from left to right, those at one place once."""
    found: list[Jump] = []
    for jump in sorted(jumps, key=lambda jump: jump.at):
        if not found or jump.at - found[-1].at > 0.01 * span:
            found.append(jump)
    return tuple(found)
