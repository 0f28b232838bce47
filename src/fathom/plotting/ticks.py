"""Ticks on a time axis, at the dates a reader would choose."""

from __future__ import annotations

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator

from fathom.data.dates import MONTHS
from fathom.data.timeaxis import YEAR, TimeRule

MOST = 8  # ticks
_ROUND_YEARS, _ROUND = [1, 2, 5, 10], [1, 2, 2.5, 5, 10]


def set_time_ticks(axis: Axis, rule: TimeRule | None, low: float, high: float) -> None:
    """Whole years on a long axis of dates, months on a shorter one, and otherwise round numbers."""
    is_date = rule is not None and rule.kind == "date"
    in_years = rule is not None and rule.kind in ("date", "decimal year")
    if in_years and high - low >= 4:
        axis.set_major_locator(MaxNLocator(nbins=MOST, integer=True, steps=_ROUND_YEARS))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    elif rule is not None and is_date and high - low >= 0.2:
        places, labels = _months(rule, low, high)
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FixedFormatter(labels))
    else:
        axis.set_major_locator(MaxNLocator(nbins=MOST - 3 if is_date else MOST, steps=_ROUND))
        if rule is not None and is_date:
            axis.set_major_formatter(FuncFormatter(lambda value, _: rule.format(value)))


def _months(rule: TimeRule, low: float, high: float) -> tuple[list[float], list[str]]:
    """Starts of months, thinned to a few; January says its year, and so does the first."""
    step = next(step for step in (1, 2, 3, 6, 12) if (high - low) * 12 / step <= MOST or step == 12)
    months = np.arange(int(np.floor(low)) * 12, int(np.ceil(high)) * 12 + 1, step)
    places = [_start(rule, int(month)) for month in months]
    shown = [(place, month) for place, month in zip(places, months, strict=True) if low <= place <= high]
    labels = []
    for k, (_, month) in enumerate(shown):
        name = MONTHS[month % 12][:3]
        labels.append(f"{name}\n{month // 12}" if k == 0 or month % 12 == 0 else name)
    return [place for place, _ in shown], labels


def _start(rule: TimeRule, month: int) -> float:
    """The number at which a month starts, counted in months from the year 0."""
    if rule.grid == "months":
        return month / 12
    moment = np.datetime64(month - 1970 * 12, "M").astype("datetime64[us]").astype(np.int64)
    return 1970 + int(moment) / YEAR
