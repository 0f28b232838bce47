"""The forecast at the usual steps after the last observation: the table of the page and of `--forecast`."""

from __future__ import annotations

from fathom.data.dataset import Dataset
from fathom.data.forecast import Forecast, tabulate, written
from fathom.report.facts.whole import Facts
from fathom.report.measure.future import steps_ahead
from fathom.report.model import Fitted, predict

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # the ends of the 90 % and 50 % bands, and the median between them
MOST = 100_000


def forecast_table(model: Fitted, dataset: Dataset, facts: Facts) -> Forecast | None:
    """Mean, sd and quantiles of what will be observed, in the columns of `fathom predict`; None without a time."""
    axis, horizon = facts.setting.axes[0], facts.components[0].horizon
    if not facts.setting.series or axis.rule is None or horizon is None:
        return None
    times = steps_ahead(axis, horizon, MOST)
    if not len(times):
        return None
    return tabulate(dataset.columns, [written(axis.rule, times)], predict(model, times[:, None]), LEVELS)
