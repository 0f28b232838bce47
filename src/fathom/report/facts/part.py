"""What is known of one part of the model: its structure, its place, its shape and what it explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from fathom.report.facts.setting import Setting

PERIODIC, ROUGH = ("Per", "MacKay", "Cos"), ("Matern12",)
SMOOTH = ("SE", "RQ", "Matern32", "Matern52", *ROUGH)
SWITCHES = ("Before", "After", "Inside", "Outside")


@dataclass(frozen=True)
class Factor:
    """One factor of a product: its kind, as in the kernel language, and its parameters in the user's units."""

    kind: str
    inputs: tuple[int, ...]
    values: dict[str, tuple[float, ...]]

    def __getitem__(self, name: str) -> float:
        """The smallest entry of a parameter, which for most is the only one."""
        return min(self.values[name])


@dataclass(frozen=True)
class Edge:
    """Where a component begins or ends; over `width` its weight goes from 0.1 to 0.9, or back."""

    at: float
    width: float
    factor: int  # which factor of the component is the switch


@dataclass(frozen=True)
class Interval:
    """A stretch of an input between two edges; None where it is open."""

    low: Edge | None
    high: Edge | None

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends as numbers, infinite where there is no edge."""
        return (-math.inf if self.low is None else self.low.at, math.inf if self.high is None else self.high.at)


@dataclass(frozen=True)
class Region:
    """The stretches of one input on which a component applies, from left to right; empty: nowhere."""

    input: int
    intervals: tuple[Interval, ...]

    def holds(self, x: float) -> bool:
        """True where the component applies."""
        return any(low <= x <= high for low, high in (interval.ends for interval in self.intervals))

    def within(self, low: float, high: float) -> Region:
        """The region as seen on [low, high]: edges outside it are open, stretches outside it are gone."""
        kept = []
        for interval in self.intervals:
            left, right = interval.ends
            if right > low and left < high:
                kept.append(Interval(interval.low if left > low else None, interval.high if right < high else None))
        return Region(self.input, tuple(kept))


Z90 = 1.6448536269514722  # standard deviations from the mean to either end of a 90 % interval
Numbers = tuple[float, ...]
Direction = Literal["growing", "shrinking", "away"]
Way = Literal["steady", "growing", "shrinking", "smallest inside"]
Head = Literal["cycle", "noise", "smooth", "constant", "line", "polynomial", "step", "waves", "bend"]
Tag = Literal["predicts", "explains but does not predict", "noise", "doubtful"]


@dataclass(frozen=True)
class Growth:
    """How a linear factor scales the rest of its product: by nothing at `location`, and more the further from it."""

    input: int
    location: float
    direction: Direction


@dataclass(frozen=True)
class Course:
    """How the size of a part goes along its input, as measured: every sentence on growing and shrinking reads this.

    Of a cycle the size is its swing from trough to peak, first in the first whole period where it applies, last in the
    last; of noise its standard deviation and of anything else the root mean square, over the first and last third.
    """

    way: Way
    first: float
    last: float
    least_at: float | None = None  # where it is smallest, if that is inside


@dataclass(frozen=True)
class Cycle:
    """The last whole period of a cycle in the region where it applies."""

    period: float
    peak: float  # where it is highest and lowest, at a step of the data
    trough: float
    middle: float  # its mean


@dataclass(frozen=True)
class Jump:
    """How far all parts but cycles and noise move together where one of them begins or ends."""

    at: float
    change: float
    sd: float


@dataclass(frozen=True)
class Holidays:
    """The days on which a part applies that holds on listed days only."""

    seen: int  # how many of them are in the data
    next: float | None  # the first in the forecast


@dataclass(frozen=True)
class Shape:
    """Measurements of the posterior mean of a component that depends on one input, where it applies."""

    start: float  # the first and the last observation where it applies
    end: float
    strength: float  # the largest weight that switches give it at any observation, 1 without them
    monotone: Literal[-1, 0, 1]
    change: float  # of the posterior mean from start to end, and its posterior sd
    change_sd: float
    half_at: float | None  # where half of a monotone change has happened
    straight: float  # share of the variance of the mean that a straight line accounts for; 0 where there are too few
    bend: float  # slope of the second half of that stretch over the slope of the first; 1 where there is none
    low: float  # smallest and largest posterior mean at the observations
    high: float
    first: float  # posterior mean at start and end
    last: float
    size: float  # sd of the posterior mean over the observations, of very few its distance from zero; of noise its sd
    course: Course
    cycle: Cycle | None
    rhythm: float | None  # period at which a smooth part rises and falls of its own accord

    @property
    def slope(self) -> float:
        """The change for each unit of the input."""
        return self.change / (self.end - self.start) if self.end > self.start else 0.0


@dataclass(frozen=True)
class Estimate:
    """A parameter of one factor of a component in the user's units, with a 90 % interval if the data give one."""

    factor: int  # counted through `Component.all_factors`
    name: str
    entry: int  # which of several values: with one lengthscale for each input, which input
    value: float
    low: float | None
    high: float | None
    determined: bool | None  # None: not examined, for the model is not at an optimum or the data are too many
    fixed: bool = False  # not learnt: a period of the calendar, or a value that was given

    @property
    def sd(self) -> float | None:
        """Standard deviation that the 90 % interval implies; None without an interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / (2 * Z90)


@dataclass(frozen=True)
class Score:
    """What one component adds to those before it. R² and reductions are shares: 0.05 is five per cent."""

    gain: float  # of the held-out error of the level alone, how much this component removes
    r2: float  # of all components so far, in the fit
    delta_r2: float
    residual_r2: float  # of what the components before left over
    mae: float  # of all components so far, on held-out folds, in the unit of the target
    mae_reduction: float
    share: float  # cov(part, y)/var(y): free of the order; with noise, shares sum to 1
    tag: Tag


@dataclass(frozen=True)
class AtData:
    """Posterior at the observations: of a component, and of the level plus all components up to it ("total")."""

    mean: Numbers
    sd: Numbers
    total_mean: Numbers
    total_sd: Numbers
    low: float  # of the component's mean
    high: float
    size: float  # its standard deviation


@dataclass(frozen=True)
class Curve:
    """Posterior along one input, for drawing: of a component and, for a series, of the total up to it."""

    input: int
    x: Numbers
    mean: Numbers
    sd: Numbers
    total_mean: Numbers | None
    total_sd: Numbers | None


@dataclass(frozen=True)
class Surface:
    """The mean of a component of two inputs on a grid: `mean[i][j]` at x[i] of the first and y[j] of the second."""

    inputs: tuple[int, ...]
    x: Numbers
    y: Numbers
    mean: tuple[Numbers, ...]


@dataclass(frozen=True)
class Component:
    """One additive part of the model."""

    number: int  # its place in the report, from 1
    part: str  # the key of its part in `model.parts_`, by which its checks are found
    kernel: str  # with values, for the fine print
    structure: str  # without
    head: Head
    factors: tuple[Factor, ...]
    inputs: tuple[int, ...]  # on which it depends
    regions: tuple[Region, ...]  # one for each input with changepoints; empty: everywhere
    growths: tuple[Growth, ...]
    shape: Shape | None  # None when it depends on several inputs
    together: float | None  # how far all slow parts together change over the same stretch
    jumps: tuple[Jump, ...]  # at its edges within the data
    estimates: tuple[Estimate, ...]
    score: Score
    before: float  # held-out error before it was added
    at_data: AtData
    curve: Curve | None
    surface: Surface | None
    horizon: float | None  # where the drawn forecast ends
    setting: Setting
    also: tuple[tuple[Factor, ...], ...] = ()  # factors of the other products told with it: cycles of the same period
    holidays: Holidays | None = None  # for a part that applies on listed days

    @property
    def all_factors(self) -> tuple[Factor, ...]:
        """Its own factors and those of what is told with it."""
        return sum(self.also, self.factors)

    def of_kind(self, *kinds: str) -> tuple[int, ...]:
        """Which factors are of these kinds."""
        return tuple(i for i, f in enumerate(self.factors) if f.kind in kinds)

    def estimate(self, factor: int, name: str) -> Estimate:
        """A parameter of a factor with its uncertainty; of several entries, the smallest."""
        alike = [e for e in self.estimates if (e.factor, e.name) == (factor, name)]
        return min(alike, key=lambda e: e.value)
