"""Observations that the model finds improbable, each predicted from all the others."""

from __future__ import annotations

from dataclasses import dataclass

from fathom.report.facts.part import Numbers


@dataclass(frozen=True)
class Anomaly:
    """One such observation: where it is, what was observed and expected, and how improbable that is."""

    row: int  # of the data set, from 0
    at: Numbers  # the inputs there
    value: float
    expected: float
    low: float  # 90 % interval of what was expected
    high: float
    p_value: float  # of a value as far out on either side

    @property
    def apart(self) -> float:
        """How far the observation lies above what was expected."""
        return self.value - self.expected


@dataclass(frozen=True)
class Anomalies:
    """The most surprising observations, and how many there are in all."""

    shown: tuple[Anomaly, ...]
    count: int
    n_rows: int
