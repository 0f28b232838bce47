"""Ticks on a time axis, at the dates a reader would choose."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator

from fathom.data.timeaxis import TimeRule
from fathom.report.draw.scales import month_ticks

MOST = 8  # ticks
_ROUND_YEARS, _ROUND = [1, 2, 5, 10], [1, 2, 2.5, 5, 10]


def set_time_ticks(axis: Axis, rule: TimeRule | None, low: float, high: float) -> None:
    """Put ticks at whole years of a long axis of dates, at months of a shorter one, and otherwise at round numbers."""
    is_date = rule is not None and rule.kind == "date"
    in_years = rule is not None and rule.kind in ("date", "decimal year")
    if in_years and high - low >= 4:
        axis.set_major_locator(MaxNLocator(nbins=MOST, integer=True, steps=_ROUND_YEARS))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    elif rule is not None and is_date and high - low >= 0.2:
        places, labels = zip(*month_ticks(rule, low, high, MOST, joint="\n"), strict=True)
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FixedFormatter(labels))
    else:
        axis.set_major_locator(MaxNLocator(nbins=MOST - 3 if is_date else MOST, steps=_ROUND))
        if rule is not None and is_date:
            axis.set_major_formatter(FuncFormatter(lambda value, _: rule.format(value)))
