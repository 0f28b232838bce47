"""Collects the facts of a fitted model: takes it apart, orders the parts, measures each."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import PurePath

import numpy as np

from fathom.data.dataset import Dataset
from fathom.kernels.algebra import with_names
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import to_text
from fathom.report.facts.part import (
    PERIODIC,
    AtData,
    Component,
    Course,
    Curve,
    Estimate,
    Factor,
    Holidays,
    Score,
    Surface,
)
from fathom.report.facts.setting import Axis, Setting
from fathom.report.facts.whole import Facts, Trend
from fathom.report.measure.anatomy import Anatomy, factors_of, inputs_of, products_of, regions_of
from fathom.report.measure.course import course_of, noise_at
from fathom.report.measure.effects import effects, orders
from fathom.report.measure.outlook import forecast
from fathom.report.measure.selection import Selection, select
from fathom.report.measure.shape import growths_of, head_of, measure
from fathom.report.measure.steps import MOST, steps_ahead
from fathom.report.measure.trend import Together
from fathom.report.measure.uncertainty import estimates
from fathom.report.model import Fitted

COARSEST, FINEST = 300, MOST  # places at which a curve is drawn
SIDE = 25  # of a surface
NAMELESS = ("y", "value", "values", "target")  # headers that say nothing


def gather(model: Fitted, dataset: Dataset, horizon: float | None = None) -> Facts:
    """Measure a fitted model on the data it was fitted to.

    `horizon` is the value of the single input (or of the time) to which curves are continued; without it they run on
    for a tenth of the range, and for one step at least.
    """
    return _Gathering(model, dataset, horizon).facts()


def called(data: Dataset) -> str:
    """The name of the target or, where that says nothing, of the file."""
    name, file = data.target[0], PurePath(data.source)
    return re.sub(r"[_-]+", " ", file.stem) if name.lower() in NAMELESS and file.suffix else name


class _Gathering:
    """One run of `gather`."""

    def __init__(self, model: Fitted, dataset: Dataset, horizon: float | None):
        self.model, self.dataset, self.anatomy = model, dataset, Anatomy(model)
        n = len(dataset.names)
        if self.anatomy.X.shape[1] != n:
            raise ValueError(f"the model has {self.anatomy.X.shape[1]} inputs and the data set {n}: give its own data")
        self.parts = [self.anatomy.user(part) for part in self.anatomy.parts]
        self.inputs = [inputs_of(part, dataset.names) for part in self.parts]
        self.means = [self.anatomy.at_data([i])[0] for i in range(len(self.parts))]
        self.forward = 0 if n == 1 else dataset.time  # the input along which one looks ahead
        self.horizon = self._horizon(horizon)

    @cached_property
    def setting(self) -> Setting:
        data = self.dataset
        axes = []
        for i, name in enumerate(data.names):
            x = self.anatomy.X[:, i]
            rule = data.rule if i == data.time else None
            axes.append(Axis(name, data.units.get(name, ""), rule, float(x.min()), float(x.max())))
        unit = data.units.get(data.target[0], "")
        return Setting(
            target=called(data),
            unit=unit,
            axes=tuple(axes),
            time=data.time,
            spread=float(np.std(self.anatomy.y)),
            n_rows=len(self.anatomy.y),
            source=PurePath(data.source).name,
            gaps=tuple(data.gaps()),
            holidays=data.columns.holidays,
        )

    @cached_property
    def together(self) -> Together:
        return Together(self.anatomy, [factors_of(part) for part in self.parts])

    def _horizon(self, asked: float | None) -> float | None:
        if self.forward is None:
            return None
        axis = self.setting.axes[self.forward]
        if asked is None:
            soon = axis.high if axis.rule is None else float(axis.rule.future(axis.high, 1)[0])
            return max(axis.high + 0.1 * axis.span, soon)  # of a short record, a step at least
        if not np.isfinite(asked) or asked < axis.high:
            raise ValueError(
                f"horizon {asked:g} lies before the last observation, {axis.place(axis.high)}: choose later"
            )
        return float(asked)

    def facts(self) -> Facts:
        """Everything that a page states."""
        means = self.means
        time = None if self.dataset.time is None else self.anatomy.X[:, self.dataset.time]
        chosen = select(self.anatomy, means, time)
        posterior, several = self.anatomy.posterior, not self.setting.series
        variance = float(np.var(self.anatomy.y))
        components = self._components(chosen)
        noise_sd, noise = self._noise()
        return Facts(
            setting=self.setting,
            kernel=str(self._named(self.model.kernel_)),
            structure=to_text(self._named(self.model.kernel_), values=False),
            log_evidence=float(getattr(self.model, "log_evidence_", np.nan)),
            level=self.anatomy.level,
            level_learnt=bool(np.any(np.asarray(posterior.prior.constant) != 0)),
            lowest=float(self.anatomy.y.min()),
            highest=float(self.anatomy.y.max()),
            noise_sd=noise_sd,
            noise=noise,
            trend=None if several else self._trend(chosen, components),
            explained=1 - self._left_over(means) / variance if variance > 0 else 0.0,
            baseline_mae=chosen.baseline_mae,
            jitter=float(posterior.factor.jitter) / (float(np.mean(posterior.kernel.diag(posterior.X))) or 1.0),
            components=components,
            forecast=None if several else forecast(self.anatomy, components, self.setting.axes[0], self.horizon),
            effects=tuple(effects(self.anatomy, self.inputs, means)) if several else (),
            orders=orders(self.anatomy, self.inputs, means) if several else (),
        )

    def _noise(self) -> tuple[float, Course]:
        """Sd of a typical observation's noise, all noisy parts together, and its course in the order of time."""
        noise = [i for i, noisy in enumerate(self.anatomy.noisy) if noisy]
        n = len(self.anatomy.y)
        own = np.sum([self.means[i] for i in noise], axis=0) if noise else np.zeros(n)
        sd = noise_at(self.anatomy, noise, np.ones(n, dtype=bool), own)
        x = np.arange(n) if self.forward is None else self.anatomy.X[:, self.forward]
        return float(np.sqrt(np.mean(sd**2))), course_of(x, sd)

    def _trend(self, chosen: Selection, components: tuple[Component, ...]) -> Trend | None:
        tags = [(i, c.score.tag) for i, c in zip(chosen.order, components, strict=True)]
        return self.together.trend(tags, [jump for c in components for jump in c.jumps])

    def _left_over(self, means: list[np.ndarray]) -> float:
        """Variance of the data that only noise accounts for."""
        signal = [mean for mean, noisy in zip(means, self.anatomy.noisy, strict=True) if not noisy]
        return float(np.var(self.anatomy.y - (np.sum(signal, axis=0) if signal else 0.0)))

    def _named(self, kernel: Kernel) -> Kernel:
        return kernel if self.setting.series else with_names(kernel, self.dataset.names)

    # -- components ----------------------------------------------------------------------------------------------

    def _components(self, chosen: Selection) -> tuple[Component, ...]:
        found: list[Component] = []
        parameters = estimates(self.anatomy)
        for k, i in enumerate(chosen.order):
            before = found[-1].score.mae if found else chosen.baseline_mae
            found.append(self._component(i, chosen.order[: k + 1], chosen.scores[k], before, parameters[i]))
        return tuple(found)

    def _component(
        self, i: int, so_far: tuple[int, ...], score: Score, before: float, parameters: tuple[Estimate, ...]
    ) -> Component:
        """Part i, the last of those so far in the order of the report."""
        part, inputs, axes = self.parts[i], self.inputs[i], self.setting.axes
        factors, *also = (factors_of(product, len(axes)) for product in products_of(part))
        column, single = inputs[0] if inputs else self.forward or 0, len(inputs) < 2
        shape = measure(self.anatomy, i, axes[column], column, sum(also, factors), self.means[i]) if single else None
        regions, series = regions_of(factors), self.setting.series and shape is not None
        return Component(
            number=len(so_far),
            part=self.anatomy.keys[i],
            kernel=str(self._named(part)),
            structure=to_text(self._named(part), values=False),
            head=head_of(factors),
            factors=factors,
            inputs=inputs,
            regions=regions,
            growths=() if also else growths_of(factors, axes),
            shape=shape,
            together=self.together.change(i, shape.start, shape.end) if series and shape else None,
            jumps=self.together.jumps(i, regions[0] if regions else None) if series else (),
            estimates=parameters,
            score=score,
            before=before,
            at_data=self._at_data(i, list(so_far)),
            curve=self._curve(i, list(so_far)),
            surface=self._surface(i),
            horizon=self.horizon,
            setting=self.setting,
            also=tuple(also),
            holidays=self._holidays(factors),
        )

    def _holidays(self, factors: tuple[Factor, ...]) -> Holidays | None:
        """Which of the listed days are in the data, and which comes next."""
        days = next((f for f in factors if f.kind == "Days"), None)
        if days is None or self.forward is None:
            return None
        axis, starts, ends = self.setting.axes[self.forward], *(np.array(days.values[k]) for k in ("starts", "ends"))
        own = np.unique(self.anatomy.X[:, self.forward])
        inside = own[np.searchsorted(starts, own, "right") > np.searchsorted(ends, own, "right")]
        later = starts[(starts > axis.high) & (starts < (self.horizon or axis.high))]
        return Holidays(len({axis.day(x) for x in inside}), float(later[0]) if len(later) else None)

    def _at_data(self, i: int, so_far: list[int]) -> AtData:
        mean, sd = self.anatomy.at_data([i])
        total, total_sd = self.anatomy.at_data(so_far)
        return AtData(
            mean=_numbers(mean),
            sd=_numbers(sd),
            total_mean=_numbers(total + self.anatomy.level),
            total_sd=_numbers(total_sd),
            low=float(mean.min()),
            high=float(mean.max()),
            size=float(np.std(mean)),
        )

    def _curve(self, i: int, so_far: list[int]) -> Curve | None:
        inputs = self.inputs[i] or ((0,) if self.setting.series else ())
        if len(inputs) != 1:
            return None
        x = self._places(inputs[0])
        rows = self.anatomy.rows({inputs[0]: x})
        mean, sd = self.anatomy.at([i], rows)
        if not self.setting.series:
            return Curve(inputs[0], _numbers(x), _numbers(mean), _numbers(sd), None, None)
        total, total_sd = self.anatomy.at(so_far, rows)
        total = total + self.anatomy.level
        return Curve(inputs[0], _numbers(x), _numbers(mean), _numbers(sd), _numbers(total), _numbers(total_sd))

    def _surface(self, i: int) -> Surface | None:
        if len(self.inputs[i]) != 2 or self.anatomy.noisy[i]:
            return None
        first, second = self.inputs[i]
        x, y = (np.linspace(a.low, a.high, SIDE) for a in (self.setting.axes[first], self.setting.axes[second]))
        mean = self.anatomy.mean([i], self.anatomy.rows({first: np.repeat(x, SIDE), second: np.tile(y, SIDE)}))
        return Surface((first, second), _numbers(x), _numbers(y), tuple(_numbers(r) for r in mean.reshape(SIDE, SIDE)))

    def _places(self, column: int) -> np.ndarray:
        """Where a curve is taken: the same places in every round of the shortest cycle, the data, the steps ahead."""
        axis = self.setting.axes[column]
        end = self.horizon if column == self.forward and self.horizon is not None else axis.high
        products = [product for part in self.parts for product in products_of(part)]
        cycles = [f["period"] for p in products for f in factors_of(p) if f.kind in PERIODIC]
        x = _in_step(axis.low, end, min(cycles, default=np.inf))
        own = np.unique(self.anatomy.X[:, column])
        listed = any(f.kind == "Days" for p in products for f in factors_of(p))  # narrower than any grid
        if len(own) <= COARSEST or listed:
            x = np.union1d(x, own)
        return np.union1d(x, steps_ahead(axis, end, FINEST)) if end > axis.high else x


def _in_step(low: float, high: float, period: float) -> np.ndarray:
    """Even places that fall on the same phases of every round of a cycle, up to 32 in each, as far as limits allow.

    Places that drift through the phases would make the peaks of a cycle that repeats exactly rise and fall.
    """
    rounds = (high - low) / period
    fewest, most = (max(int(n / rounds), 1) for n in (COARSEST, FINEST)) if rounds > 0 else (1, 1)
    if rounds < 1 or most < 4:
        return np.linspace(low, high, FINEST if rounds >= 1 else COARSEST)
    x = low + period / min(max(32, fewest), most) * np.arange(rounds * min(max(32, fewest), most))
    return np.append(x[x < high - 1e-9 * period], high)


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
