"""What a series is expected to do beyond its last observation: at the end of the forecast, and at its next peak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathom.report.facts.part import PERIODIC, SMOOTH, Z90, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Forecast, Outlook
from fathom.report.measure.anatomy import Anatomy
from fathom.report.measure.steps import MOST, steps_ahead


def forecast(anatomy: Anatomy, components: Sequence[Component], axis: Axis, horizon: float | None) -> Forecast | None:
    """The forecast of one model up to a horizon; None where there is nothing ahead."""
    if horizon is None or horizon <= axis.high:
        return None
    x = steps_ahead(axis, horizon, MOST)
    x = x if len(x) else np.linspace(axis.high, horizon, 101)[1:]
    mean, sd = anatomy.at(list(range(len(anatomy.parts))), x[:, None])
    mean = mean + anatomy.level

    def outlook(k: int) -> Outlook:
        return Outlook(*(float(v) for v in (x[k], mean[k], mean[k] - Z90 * sd[k], mean[k] + Z90 * sd[k])))

    leading = _leading(components, axis, horizon)
    if leading is None or leading.shape is None or leading.shape.cycle is None:
        return Forecast(
            axis.high, outlook(-1), outlook(int(np.argmax(mean))), outlook(int(np.argmin(mean))), None, None
        )
    ring = leading.shape.cycle
    peak, trough = (outlook(_return(x, ring.period, at)) for at in (ring.peak, ring.trough))
    return Forecast(axis.high, outlook(-1), peak, trough, ring.period, leading.number)


def _leading(components: Sequence[Component], axis: Axis, horizon: float) -> Component | None:
    """The cycle with the largest swings among those that last and come round again within the forecast."""
    found: list[tuple[float, int]] = []
    for k, c in enumerate(components):
        rings, drift = c.of_kind(*PERIODIC), c.of_kind(*SMOOTH)
        if c.shape is None or c.shape.cycle is None or len(rings) != 1 or c.score.tag != "predicts":
            continue
        period = c.shape.cycle.period
        end = axis.high + period
        lasts = all(region.holds(axis.high) and region.holds(end) for region in c.regions)
        firm = all(c.factors[f]["lengthscale"] > period for f in drift)
        seen = axis.rule is None or len(steps_ahead(axis, end, MOST)) > 2
        if lasts and firm and seen and end <= horizon + 1e-6 * period:
            found.append((c.shape.course.last, k))
    return components[max(found)[1]] if found else None


def _return(ahead: np.ndarray, period: float, at: float) -> int:
    """Which of the moments ahead is the first return of a moment of the last period."""
    step = float(ahead[1] - ahead[0]) if len(ahead) > 1 else 0.0
    rounds = max(np.ceil((float(ahead[0]) - step / 2 - at) / period - 1e-6), 0)
    return int(np.argmin(np.abs(ahead - (at + rounds * period))))
