"""The calendar: its periods in any unit of time, business days as numbers, and gaps in a record."""

from __future__ import annotations

import numpy as np

from fathom.data.dates import DAY

DAYS = 365.2425  # in a mean Gregorian year
PERIODS = {
    "yearly": DAYS,
    "half-yearly": DAYS / 2,
    "quarterly": DAYS / 4,
    "monthly": DAYS / 12,
    "weekly": 7.0,
    "daily": 1.0,
}  # days

_UNITS = {
    DAYS: ("year", "yr", "annum"),
    DAYS / 12: ("month", "mo"),
    7.0: ("week", "wk"),
    1.0: ("day", "d"),
    1 / 24: ("hour", "hr", "h"),
    1 / 1440: ("minute", "min"),
    1 / 86400: ("second", "sec", "s"),
}
_SIZES = {name: size for size, names in _UNITS.items() for name in names}

FEWEST = 10  # business days that tell a series of them from one that happens to miss its weekends
GAP = 3.5  # usual steps, and twice the steps that nineteen in twenty stay below: what is longer is a gap


def days_in(unit: str) -> float | None:
    """How many days a unit of time has, by its name or usual abbreviation; None for other units."""
    name = unit.strip().lower()
    return _SIZES.get(name) or _SIZES.get(name.removesuffix("s"))


def periods(unit: float) -> tuple[float, ...]:
    """The periods of the calendar, longest first, where a unit has so many days."""
    return tuple(days / unit for days in PERIODS.values())


# -- business days -----------------------------------------------------------------------------------------------


def are_business_days(moments: np.ndarray) -> bool:
    """True for a daily series, sorted and without repeats, that stops at every weekend."""
    days = moments // DAY
    weekday = (days + 3) % 7  # 1970 began on a Thursday
    daily = len(days) >= FEWEST and np.median(np.diff(days)) == 1
    return bool(daily and np.all(weekday < 5) and np.any(weekday == 0) and np.any(weekday == 4) and np.ptp(days) > 14)


def business_numbers(moments: np.ndarray) -> np.ndarray:
    """Business days since that of Monday 29 December 1969; moments in between are interpolated, weekends too."""
    week, day = np.divmod(moments / DAY + 3, 7.0)
    return 5 * week + np.where(day <= 4, day, 4 + (day - 4) / 3)


def business_moment(number: float) -> float:
    """The inverse of `business_numbers`."""
    week, day = divmod(number, 5.0)
    return (7 * week + (day if day <= 4 else 4 + 3 * (day - 4)) - 3) * DAY


# -- gaps --------------------------------------------------------------------------------------------------------


def gaps_in(times: np.ndarray, step: float) -> list[tuple[float, float]]:
    """The stretches without an observation that are too long for the sampling, as the times on either side."""
    times = np.unique(times)
    steps = np.diff(times)
    if not len(steps):
        return []
    long = np.flatnonzero(steps > max(GAP * step, 2 * float(np.quantile(steps, 0.95, method="lower"))))
    return [(float(times[k]), float(times[k + 1])) for k in long]
