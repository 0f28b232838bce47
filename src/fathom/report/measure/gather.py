"""Collects the facts of a fitted model: takes it apart, orders the parts, measures each."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fathom.data.dataset import Dataset
from fathom.kernels.algebra import with_names
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import to_text
from fathom.report.facts.part import PERIODIC, Z90, AtData, Component, Curve, Factor, Holidays, Surface
from fathom.report.facts.setting import Axis, Setting
from fathom.report.facts.whole import Facts, Forecast, Outlook
from fathom.report.measure.anatomy import Anatomy, factors_of, inputs_of, products_of, regions_of
from fathom.report.measure.effects import effects, orders
from fathom.report.measure.future import steps_ahead
from fathom.report.measure.selection import Selection, select
from fathom.report.measure.shape import growths_of, head_of, measure
from fathom.report.measure.uncertainty import estimates
from fathom.report.model import Fitted

COARSEST, FINEST = 300, 2000  # places at which a curve is drawn
SIDE = 25  # of a surface


def gather(model: Fitted, dataset: Dataset, horizon: float | None = None) -> Facts:
    """Measure a fitted model on the data it was fitted to.

    `horizon` is the value of the single input (or of the time) to which curves are continued; without it they run on
    for a tenth of the range, and for one step at least.
    """
    return _Gathering(model, dataset, horizon).facts()


class _Gathering:
    """One run of `gather`."""

    def __init__(self, model: Fitted, dataset: Dataset, horizon: float | None):
        self.model, self.dataset, self.anatomy = model, dataset, Anatomy(model)
        n = len(dataset.names)
        if self.anatomy.X.shape[1] != n:
            raise ValueError(f"the model has {self.anatomy.X.shape[1]} inputs and the data set {n}: give its own data")
        self.parts = [self.anatomy.user(part) for part in self.anatomy.parts]
        self.inputs = [inputs_of(part, dataset.names) for part in self.parts]
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
            target=data.target[0],
            unit=unit,
            axes=tuple(axes),
            time=data.time,
            spread=float(np.std(self.anatomy.y)),
            n_rows=len(self.anatomy.y),
            source=data.source,
            gaps=tuple(data.gaps()),
            holidays=data.columns.holidays,
        )

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
        means = [self.anatomy.at_data([i])[0] for i in range(len(self.parts))]
        time = None if self.dataset.time is None else self.anatomy.X[:, self.dataset.time]
        chosen = select(self.anatomy, means, time)
        posterior, several = self.anatomy.posterior, not self.setting.series
        variance = float(np.var(self.anatomy.y))
        components = self._components(chosen)
        tenth = max(1, len(self.anatomy.y) // 10)
        return Facts(
            setting=self.setting,
            kernel=str(self._named(self.model.kernel_)),
            structure=to_text(self._named(self.model.kernel_), values=False),
            log_evidence=float(getattr(self.model, "log_evidence_", np.nan)),
            level=self.anatomy.level,
            level_learnt=bool(np.any(np.asarray(posterior.prior.constant) != 0)),
            noise_sd=self._noise_sd(slice(None)),
            noise_start=self._noise_sd(slice(0, tenth)),
            noise_end=self._noise_sd(slice(-tenth, None)),
            explained=1 - self._left_over(means) / variance if variance > 0 else 0.0,
            baseline_mae=chosen.baseline_mae,
            jitter=float(posterior.factor.jitter) / (float(np.mean(posterior.kernel.diag(posterior.X))) or 1.0),
            components=components,
            forecast=None if several else self._forecast(components),
            effects=tuple(effects(self.anatomy, self.inputs, means)) if several else (),
            orders=orders(self.anatomy, self.inputs, means) if several else (),
        )

    def _noise_sd(self, some: slice) -> float:
        """Sd of a typical observation's noise, all noisy parts together, over some of the rows in order of time."""
        X = self.anatomy.X
        X = X if self.forward is None else X[np.argsort(X[:, self.forward], kind="stable")]
        noise = [i for i, noisy in enumerate(self.anatomy.noisy) if noisy]
        return float(np.sqrt(sum(np.mean(self.anatomy.prior_sd(i, X[some]) ** 2) for i in noise)))

    def _left_over(self, means: list[np.ndarray]) -> float:
        """Variance of the data that only noise accounts for."""
        signal = [mean for mean, noisy in zip(means, self.anatomy.noisy, strict=True) if not noisy]
        return float(np.var(self.anatomy.y - (np.sum(signal, axis=0) if signal else 0.0)))

    def _named(self, kernel: Kernel) -> Kernel:
        return kernel if self.setting.series else with_names(kernel, self.dataset.names)

    # -- components ----------------------------------------------------------------------------------------------

    def _components(self, chosen: Selection) -> tuple[Component, ...]:
        found, error = [], chosen.baseline_mae
        parameters = estimates(self.anatomy)
        for k, i in enumerate(chosen.order):
            part, inputs, axes = self.parts[i], self.inputs[i], self.setting.axes
            factors, *also = (factors_of(product, len(axes)) for product in products_of(part))
            so_far = list(chosen.order[: k + 1])
            column = inputs[0] if inputs else self.forward or 0
            component = Component(
                number=k + 1,
                part=self.anatomy.keys[i],
                kernel=str(self._named(part)),
                structure=to_text(self._named(part), values=False),
                head=head_of(factors),
                factors=factors,
                inputs=inputs,
                regions=regions_of(factors),
                growths=() if also else growths_of(factors, axes),
                shape=measure(self.anatomy, i, column, sum(also, factors)) if len(inputs) < 2 else None,
                estimates=parameters[i],
                score=chosen.scores[k],
                before=error,
                at_data=self._at_data(i, so_far),
                curve=self._curve(i, so_far),
                surface=self._surface(i),
                horizon=self.horizon,
                setting=self.setting,
                also=tuple(also),
                holidays=self._holidays(factors),
            )
            error = chosen.scores[k].mae
            found.append(component)
        return tuple(found)

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
        """Where a curve is taken: eight places to the shortest cycle within limits, the data, and the steps ahead."""
        axis = self.setting.axes[column]
        end = self.horizon if column == self.forward and self.horizon is not None else axis.high
        products = [product for part in self.parts for product in products_of(part)]
        cycles = [f["period"] for p in products for f in factors_of(p) if f.kind in PERIODIC]
        n = int(np.clip(8 * (end - axis.low) / min(cycles), COARSEST, FINEST)) if cycles else COARSEST
        x = np.linspace(axis.low, end, n)
        own = np.unique(self.anatomy.X[:, column])
        listed = any(f.kind == "Days" for p in products for f in factors_of(p))  # narrower than any grid
        if len(own) <= COARSEST or listed:
            x = np.union1d(x, own)
        return np.union1d(x, steps_ahead(axis, end, FINEST)) if end > axis.high else x

    def _forecast(self, components: tuple[Component, ...]) -> Forecast | None:
        axis, horizon = self.setting.axes[0], self.horizon
        if horizon is None or horizon <= axis.high:
            return None
        x = steps_ahead(axis, horizon, FINEST)
        x = x if len(x) else np.linspace(axis.high, horizon, 101)[1:]
        mean, sd = self.anatomy.at(list(range(len(self.parts))), x[:, None])
        mean = mean + self.anatomy.level

        def outlook(k: int) -> Outlook:
            return Outlook(*(float(v) for v in (x[k], mean[k], mean[k] - Z90 * sd[k], mean[k] + Z90 * sd[k])))

        cycles = [c.shape.cycle for c in components if c.shape is not None and c.shape.cycle is not None]
        period = max(cycles, key=lambda cycle: cycle.swing_end).period if cycles else np.inf
        near = x <= axis.high + period * (1 + 1e-6)
        usable = bool(np.sum(near) > 2 and period <= horizon - axis.high)
        soon = mean[near] if usable else mean
        peak, trough = outlook(int(np.argmax(soon))), outlook(int(np.argmin(soon)))
        return Forecast(axis.high, outlook(-1), peak, trough, float(period) if usable else None)


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
