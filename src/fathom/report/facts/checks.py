"""What the checks of a model found, and the curves of its residuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

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
