"""What the slow parts of a series do together: a step or a rise of one may be made up for by another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathom.report.facts.part import SMOOTH, Factor, Jump, Region, Tag
from fathom.report.facts.whole import Trend
from fathom.report.measure.anatomy import Anatomy
from fathom.report.measure.shape import direction, head_of, straightness

SLOW = 1 / 5  # of the record: a lengthscale below it is no trend
FADING = 1 / 4  # of the record: an edge that takes longer is no jump
ROOM = 0.02  # of its range: what a trend may fall and still be said to rise
MOST = 400  # places at which it is looked at


class Together:
    """Sums of the parts of a series: `calm` are all but cycles and noise, `slow` those of them that make a trend."""

    def __init__(self, anatomy: Anatomy, factors: Sequence[tuple[Factor, ...]]):
        x = np.unique(anatomy.X[:, 0])
        self.anatomy, self.x = anatomy, x
        span = float(x[-1] - x[0])
        heads = [head_of(f) for f in factors]
        self.calm = [i for i, head in enumerate(heads) if head not in ("cycle", "noise")]
        self.slow = [i for i in self.calm if _lengthscale(factors[i], span) >= SLOW * span]

    def change(self, i: int, start: float, end: float) -> float | None:
        """How far part i and the slow parts together change over a stretch; None for a cycle and for noise."""
        if i not in self.calm:
            return None
        return self.anatomy.change(sorted({i, *self.slow}), np.array([[start], [end]]))[0]

    def jumps(self, i: int, region: Region | None) -> tuple[Jump, ...]:
        """How far the calm parts move at the edges of part i within the data."""
        if i not in self.calm or region is None:
            return ()
        low, high = float(self.x[0]), float(self.x[-1])
        step = float(np.median(np.diff(self.x))) if len(self.x) > 1 else 0.0
        found = [edge for interval in region.within(low, high).intervals for edge in (interval.low, interval.high)]
        edges = sorted((e for e in found if e is not None and e.width <= FADING * (high - low)), key=lambda e: e.at)
        places = [low, *(e.at for e in edges), high]
        jumps = []
        for before, edge, after in zip(places, edges, places[2:], strict=False):
            room = max(edge.width, step)
            left, right = max(edge.at - room, (before + edge.at) / 2), min(edge.at + room, (edge.at + after) / 2)
            jumps.append(Jump(edge.at, *self.anatomy.change(self.calm, np.array([[left], [right]]))))
        return tuple(jumps)

    def trend(self, tags: Sequence[tuple[int, Tag]], jumps: Sequence[Jump]) -> Trend | None:
        """Where the slow parts go together; `jumps` of several parts may be those of one edge."""
        if not self.slow:
            return None
        x = self.x[:: -(-len(self.x) // MOST)]
        x = x if x[-1] == self.x[-1] else np.append(x, self.x[-1])
        values = self.anatomy.mean(self.slow, x[:, None]) + self.anatomy.level
        change, sd = self.anatomy.change(self.slow, x[[0, -1], None])
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
            predicts=any(tag == "predicts" for i, tag in tags if i in self.slow),
        )


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
