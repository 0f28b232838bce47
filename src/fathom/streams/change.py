"""Has the stream changed? A running score, and sums that say when errors have become other than foretold.

Standardised errors z of a model that holds are independent standard normals. Two-sided cumulative sums (Page 1954) of z
and of (z² − 1)/√2 grow with a shift of the mean, or of the spread, and are zero again and again without one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fathom.base.files import Facts

SLACK = 0.5  # half of the shift, in standard deviations, that is found soonest
ALARM = 12.0  # of a sum: a false alarm in some hundred thousand rows of each
CLIP = 4.0  # of an error: one outlier is no change
HALF = 0.97  # of the running score: rows 23 ago count half

Meaning = Literal["shift up", "shift down", "wider", "narrower"]
MEANINGS: tuple[Meaning, ...] = ("shift up", "shift down", "wider", "narrower")


@dataclass
class Watch:
    """A running score of what was foretold, and the changes found so far."""

    seen: int = 0
    score: float = 0.0  # running mean log density of a row
    sums: list[float] = field(default_factory=lambda: [0.0] * 4)
    changes: list[tuple[int, Meaning]] = field(default_factory=list)

    def look(self, z: np.ndarray, log_density: np.ndarray) -> None:
        """Take up the standardised errors (N, P) of further rows, NaN where nothing was observed, and densities."""
        known = (~np.isnan(z)).sum(1)
        root = np.sqrt(np.maximum(known, 1))
        shift = np.nansum(np.clip(z, -CLIP, CLIP), 1) / root
        spread = np.nansum((np.clip(z, -CLIP, CLIP) ** 2 - 1) / np.sqrt(2), 1) / root
        for i in np.flatnonzero(known):
            self.score = HALF * self.score + (1 - HALF) * float(log_density[i].sum())
            self._add(int(self.seen + i), float(shift[i]), float(np.clip(spread[i], -CLIP, CLIP)))
        self.seen += len(z)

    def _add(self, row: int, shift: float, spread: float) -> None:
        moves = (shift, -shift, spread, -spread)
        self.sums = [max(0.0, s + move - SLACK) for s, move in zip(self.sums, moves, strict=True)]
        top = int(np.argmax(self.sums))
        if self.sums[top] > ALARM:
            self.changes.append((row, MEANINGS[top]))
            self.sums = [0.0] * 4

    def to_facts(self) -> Facts:
        """Plain values for JSON."""
        return {"seen": self.seen, "score": self.score, "sums": self.sums, "changes": [list(c) for c in self.changes]}

    @classmethod
    def from_facts(cls, facts: Facts) -> Watch:
        """The inverse of `to_facts`."""
        changes = [(int(row), meaning) for row, meaning in facts["changes"]]
        return cls(int(facts["seen"]), float(facts["score"]), [float(s) for s in facts["sums"]], changes)
