"""What a report states about a fitted model, as numbers in the user's units: no sentences.

    >>> facts = gather(model, dataset)
    >>> facts.components[0].score.delta_r2

Everything is plain values in frozen dataclasses: `to_dict` gives JSON, `Facts.from_dict` reads it back.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fathom.report.measure.effects import Effect, OrderShare
from fathom.report.measure.regions import Factor, Region
from fathom.report.measure.selection import Score
from fathom.report.measure.shape import Growth, Head, Shape
from fathom.report.measure.uncertainty import Estimate
from fathom.report.words.text import Axis

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """What the reader calls things."""

    target: str
    unit: str
    axes: tuple[Axis, ...]  # one for each input
    time: int | None  # which of them is the time
    spread: float  # standard deviation of the target
    n_rows: int
    source: str

    @property
    def series(self) -> bool:
        """True with a single input."""
        return len(self.axes) == 1


@dataclass(frozen=True)
class AtData:
    """Posterior of a component, and of the sum of the components so far with the level, at the observations."""

    mean: Numbers
    sd: Numbers
    total_mean: Numbers
    total_sd: Numbers
    low: float  # of the component's mean
    high: float
    size: float  # its standard deviation


@dataclass(frozen=True)
class Curve:
    """The same along one input, for drawing; the running sum only where there is a single input."""

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
    estimates: tuple[Estimate, ...]
    score: Score
    before: float  # held-out error before it was added
    at_data: AtData
    curve: Curve | None
    surface: Surface | None
    horizon: float | None  # where the drawn forecast ends
    setting: Setting

    def of_kind(self, *kinds: str) -> tuple[int, ...]:
        """Which factors are of these kinds."""
        return tuple(i for i, f in enumerate(self.factors) if f.kind in kinds)

    def estimate(self, factor: int, name: str) -> Estimate:
        """A parameter of a factor with its uncertainty; of several entries, the smallest."""
        alike = [e for e in self.estimates if (e.factor, e.name) == (factor, name)]
        return min(alike, key=lambda e: e.value)


@dataclass(frozen=True)
class Outlook:
    """A future moment: the mean and the 90 % interval of an observation."""

    at: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """Beyond the last observation of a series: its end, and the highest and lowest mean on the way.

    `cycle` is the period of the largest swings, if they repeat soon enough to look for a peak: then `peak` and
    `trough` are those of the first cycle ahead.
    """

    start: float
    end: Outlook
    peak: Outlook
    trough: Outlook
    cycle: float | None


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return _plain(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Facts:
        """The inverse of `to_dict`."""
        return _build(cls, stored)


def gather(model: Any, dataset: Any, horizon: float | None = None) -> Facts:
    """Measure a fitted exact model (`posterior_`, `scaler_`, `kernel_`) of the data.

    `horizon` is the value of the single input (or of the time) to which curves are continued; without it they run on
    for a tenth of the range, and for one step at least.
    """
    from fathom.report.measure.gather import Gathering  # builds on this module

    return Gathering(model, dataset, horizon).facts()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _build(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{f.name: _build(hints[f.name], value[f.name]) for f in fields(kind)})  # type: ignore[operator]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _build(next(a for a in inner if a is not types.NoneType), value)
    if origin is tuple:
        return tuple(_build(inner[0], item) for item in value)
    if origin is dict:
        return {key: _build(inner[1], item) for key, item in value.items()}
    return value if origin is Literal or value is None else kind(value)
