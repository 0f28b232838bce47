"""What a report states about a fitted model as a whole: the parts in order, the forecast, the inputs that matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

from fathom.report.facts.part import Component, Course, Jump
from fathom.report.facts.setting import Setting

LEVEL = 0.05  # at or below it a check has failed
Meaning = Literal[
    "missed periodicity",
    "weaker periodicity",
    "different rhythm",
    "one-way movement",
    "too smooth",
    "too rough",
    "missed memory",
    "heavy tails",
    "light tails",
    "skewed",
    "growing variance",
    "shrinking variance",
    "missed effect",
    "uneven variance",
    "different noise",
]
End = Literal["upper", "lower"]


class Detail(TypedDict, total=False):
    """What the sentence on a check needs beside its p-value; periods and lags are in the units of the input."""

    side: End
    quantile: float
    lag: float
    correlation: float
    frequency: float
    period: float
    cycles: float  # how many periods the record holds
    steps: float  # how many steps of the data a period takes
    own: bool  # that is the period of the part itself
    ratio: float
    input: str
    direction: Literal["up", "down"]


@dataclass(frozen=True)
class Check:
    """One check of a model: a statistic, what the model expects of it, and how surprising its value is.

    - `subject`: "whole", or the key of a part in `model.parts_`.
    - `statistic`: what was measured; for the whole "autocorrelation", "periodogram_max", "qq_high", "qq_low",
      "normality", "variance_drift", "input_dependence", "input_variance"; for a part "acf_min", "acf_min_lag",
      "periodogram_max", "periodogram_max_frequency", "qq_high", "qq_low", "mmd".
    - `expected`: 5 % and 95 % points of the statistic under the model.
    - `meaning`: what a small p-value would say of the model.
    - `detail`: numbers and names for the sentence.
    """

    subject: str
    statistic: str
    p_value: float
    observed: float
    expected: tuple[float, float]
    meaning: Meaning
    detail: Detail = field(default_factory=Detail)

    @property
    def failed(self) -> bool:
        """True when its result would surprise, were the model right."""
        return self.p_value <= LEVEL

    @property
    def key(self) -> str:
        """What tells it from all other checks of the model."""
        return f"{self.subject}: {self.statistic} {self.detail.get('input', '')}".rstrip()


@dataclass(frozen=True, eq=False)
class Curves:
    """Autocorrelation, periodogram and ordered values of the whitened residuals, with 90 % bands under the model.

    Bands hold point by point. Lags are in units of the input, frequencies in cycles per unit, powers in dB; where the
    residuals have no order (several inputs and no time), the first two are empty.
    """

    lag: np.ndarray
    acf: np.ndarray
    acf_low: np.ndarray
    acf_high: np.ndarray
    frequency: np.ndarray
    power: np.ndarray
    power_low: np.ndarray
    power_high: np.ndarray
    normal: np.ndarray  # quantiles of the standard normal distribution
    quantile: np.ndarray  # the residuals, in order
    quantile_low: np.ndarray
    quantile_high: np.ndarray


@dataclass(frozen=True)
class Outlook:
    """A future moment: the mean and the 90 % interval of an observation."""

    at: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """The forecast of a series: its end, and the highest and the lowest mean on the way there.

    `part` is the number of the cycle with the largest swings, if it lasts and comes round within the forecast, and
    `cycle` its period: then `peak` and `trough` are what is forecast for when this cycle is next highest and lowest.
    """

    start: float
    end: Outlook
    peak: Outlook
    trough: Outlook
    cycle: float | None
    part: int | None


@dataclass(frozen=True)
class Trend:
    """All slow parts of a series together, with the level: where it goes when cycles and noise are taken away."""

    first: float  # at the first observation and at the last
    last: float
    change_sd: float
    monotone: Literal[-1, 0, 1]
    straight: float  # share of its variance that a straight line accounts for
    low: float
    high: float
    low_at: float
    high_at: float
    jumps: tuple[Jump, ...]  # from left to right
    predicts: bool  # one of its parts lowers the error on held-out data

    @property
    def change(self) -> float:
        """From the first observation to the last."""
        return self.last - self.first


@dataclass(frozen=True)
class Effect:
    """How one input moves the target. Shares are of the variance of the model's mean over the data.

    `total` counts everything that is lost when the input is shuffled among the rows, interactions included (the
    total Sobol index for independent inputs); `alone` is the share of the parts that depend on nothing else.
    """

    input: int
    total: float
    alone: float
    x: tuple[float, ...]
    mean: tuple[float, ...]  # of the target, the other inputs averaged over the data
    monotone: Literal[-1, 0, 1]
    change: float  # from the smallest to the largest value of the input
    change_sd: float  # of that change, with the other inputs at their means
    width: float  # from the lowest to the highest point of the effect
    peak: float  # where the effect is highest and lowest
    trough: float
    half_at: float | None  # where half of a monotone change has happened

    @property
    def way(self) -> Literal[-1, 0, 1]:
        """The direction of a change in one direction that is larger than its uncertainty, else 0."""
        return self.monotone if abs(self.change) > 2 * self.change_sd else 0


@dataclass(frozen=True)
class OrderShare:
    """Share of the variance of the model's mean that parts with `order` inputs account for; shares sum to 1."""

    order: int
    share: float


@dataclass(frozen=True)
class Agreement:
    """How far the forecasts of models within reach lie apart.

    They agree as long as their means differ by less than the standard deviation of a forecast.
    """

    others: int  # models beside the best
    most: float | None = None  # the largest difference of two means ahead, in the unit of the target
    most_at: float | None = None
    relative: float | None = None  # to the mean there; None where the target changes its sign
    agree_until: float | None = None  # None: to the end


@dataclass(frozen=True)
class Facts:
    """Everything the report states."""

    setting: Setting
    kernel: str
    structure: str
    log_evidence: float
    level: float  # around which the components add up
    level_learnt: bool  # rather than the mean of the data
    lowest: float  # observation, and the highest
    highest: float
    noise_sd: float  # of a typical observation
    noise: Course  # of all noise together, along the record of a series
    trend: Trend | None
    explained: float  # R² of all components but noise, in the fit
    baseline_mae: float  # held-out error of the level alone, with the mean of every part
    jitter: float  # relative to the variance; 0 unless the covariance could hardly be factorised
    components: tuple[Component, ...]  # in the order of the report
    forecast: Forecast | None
    effects: tuple[Effect, ...]  # with several inputs: those that matter most first
    orders: tuple[OrderShare, ...]

    @property
    def patterns(self) -> tuple[Component, ...]:
        """All components but noise."""
        return tuple(c for c in self.components if c.head != "noise")

    @property
    def foreseen(self) -> float:
        """Share of the held-out error of the level alone that all patterns remove."""
        return sum(c.score.gain for c in self.patterns)
