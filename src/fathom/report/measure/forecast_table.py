"""The forecast at the usual steps after the last observation: the table of the page and of `--forecast`."""

from __future__ import annotations

import numpy as np

from fathom.data.dataset import Dataset
from fathom.data.forecast import Forecast, tabulate, written
from fathom.report.facts.whole import Facts
from fathom.report.measure.steps import steps_ahead
from fathom.report.model import Fitted, predict

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # the ends of the 90 % and 50 % bands, and the median between them
MOST = 10_000_000
AT_ONCE = 4000  # steps, so that memory stays a small multiple of N×4000


def n_steps(facts: Facts) -> int:
    """How many usual steps lead to the horizon."""
    return len(_times(facts, MOST))


def forecast_table(model: Fitted, dataset: Dataset, facts: Facts, most: int = MOST) -> Forecast | None:
    """Mean, sd and quantiles of what will be observed, in the columns of `fathom predict`; None without a time."""
    rule, times = facts.setting.axes[0].rule, _times(facts, most)
    if rule is None or not len(times):
        return None
    found = []
    for some in np.array_split(times, -(-len(times) // AT_ONCE)):
        found.append(tabulate(dataset.columns, [written(rule, some)], predict(model, some[:, None]), LEVELS))
    return Forecast(found[0].header, [row for table in found for row in table.rows])


def _times(facts: Facts, most: int) -> np.ndarray:
    """The usual steps of a series up to the horizon; none of several inputs, or without a time."""
    horizon = facts.components[0].horizon
    if not facts.setting.series or horizon is None:
        return np.zeros(0)
    return steps_ahead(facts.setting.axes[0], horizon, most)
