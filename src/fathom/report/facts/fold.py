"""A cycle within one period, which shows its shape however many cycles the record holds."""

from __future__ import annotations

from dataclasses import dataclass

from fathom.report.facts.part import Numbers


@dataclass(frozen=True)
class Lap:
    """One cycle, or a few: places, and the posterior of the part there."""

    x: Numbers
    mean: Numbers
    sd: Numbers


@dataclass(frozen=True)
class Swing:
    """Between which values a part swings in cycles that begin here and there, with the sd at either end."""

    x: Numbers
    low: Numbers
    high: Numbers
    low_sd: Numbers
    high_sd: Numbers


@dataclass(frozen=True)
class Fold:
    """The first and the last whole cycle of a part, each from `start`, where the calendar begins one."""

    period: float
    name: str  # "yearly", "weekly" and so on; empty for a period of no calendar
    per_cycle: int  # observations in a cycle of a regular record, 0 where they are too many or irregular
    start: float
    first_start: float
    last: Lap
    first: Lap
    recent: Lap  # the last two cycles
    swing: Swing | None  # of a record that holds many
    input: int
