"""What a report states about a fitted model as a whole: the parts in order, the forecast, the inputs that matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

from fathom.report.facts.part import Component
from fathom.report.facts.setting import Setting

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

    `cycle` is the period of the largest swings, if they repeat soon enough to look for a peak: then `peak` and
    `trough` are those of the first cycle ahead.
    """

    start: float
    end: Outlook
    peak: Outlook
    trough: Outlook
    cycle: float | None


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
    width: float  # from the lowest to the highest point of the effect
    peak: float  # where the effect is highest and lowest
    trough: float
    half_at: float | None  # where half of a monotone change has happened


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
    noise_sd: float  # of a typical observation
    noise_start: float  # of the first tenth of a series, and of the last
    noise_end: float
    explained: float  # R² of all components but noise
    baseline_mae: float  # held-out error of the level alone
    jitter: float  # relative to the variance; 0 unless the covariance could hardly be factorised
    components: tuple[Component, ...]  # in the order of the report
    forecast: Forecast | None
    effects: tuple[Effect, ...]  # with several inputs: those that matter most first
    orders: tuple[OrderShare, ...]
