"""What a fitted model keeps of its data: the description of their columns, and their standardisation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fathom.base.files import Facts
from fathom.base.stored import entries, entry, numbers, of_kind

if TYPE_CHECKING:
    from fathom.data.timeaxis import TimeRule


class DataError(ValueError):
    """Bad data, told in one line that names the column, row or option and the remedy."""


class Dialect(NamedTuple):
    """How a file writes numbers: its separator and, of points and commas, the decimal ones and those of thousands."""

    separator: str = ""  # empty for a data frame
    decimal: str = ""
    grouping: str = ""


UNKNOWN = Dialect()


@dataclass(frozen=True)
class Columns:
    """What must be known of the columns to read inputs for a fitted model; goes into model files as JSON."""

    names: tuple[str, ...]
    target: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    time: int | None = None
    rule: TimeRule | None = None
    dialect: Dialect = UNKNOWN
    holidays: str = ""  # the country whose public holidays may be a part of the model

    def to_dict(self) -> Facts:
        """Plain values for JSON."""
        return asdict(self) | {key: list(getattr(self, key)) for key in ("names", "target", "dialect")}

    @classmethod
    def from_dict(cls, stored: Facts) -> Columns:
        """The inverse of `to_dict`."""
        try:
            names, target = (tuple(entries(stored, key, str)) for key in ("names", "target"))
            rule = None if stored["rule"] is None else _rule(entry(stored, "rule", dict))
            time = None if stored["time"] is None else range(len(names))[entry(stored, "time", int)]
            units = {
                name: of_kind(unit, f"the unit of {name!r}", str) for name, unit in entry(stored, "units", dict).items()
            }
            dialect = Dialect(*entries(stored, "dialect", str)) if "dialect" in stored else UNKNOWN
            country = entry(stored, "holidays", str) if "holidays" in stored else ""
            return cls(names, target, units, time, rule, dialect, country)
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(f"the stored column description is damaged ({error}): save the model again") from None


@dataclass(frozen=True, eq=False)
class Scaler:
    """Standardisation of inputs and targets to mean 0 and standard deviation 1, column by column."""

    x_mean: np.ndarray  # (D,)
    x_sd: np.ndarray
    y_mean: np.ndarray  # (P,)
    y_sd: np.ndarray

    @classmethod
    def fit(cls, X: ArrayLike, y: ArrayLike | None = None) -> Scaler:
        """Means and standard deviations of the columns; NaN in `y` is passed over, constants get sd 1."""
        X = np.asarray(X, dtype=float)
        y = np.zeros(len(X)) if y is None else np.asarray(y, dtype=float)
        moments = [_moments(column) for column in (*X.T, *y.reshape(len(X), -1).T)]
        mean, sd = (read_only(values) for values in zip(*moments, strict=True))
        split = X.shape[1]
        return cls(mean[:split], sd[:split], mean[split:], sd[split:])

    def x(self, X: ArrayLike) -> np.ndarray:
        """Inputs to standard units."""
        return (np.asarray(X, dtype=float) - self.x_mean) / self.x_sd

    def y(self, y: ArrayLike) -> np.ndarray:
        """Targets to standard units, for `y` of shape (N,) or (N, P)."""
        return (np.asarray(y, dtype=float) - self.y_mean) / self.y_sd

    def x_back(self, X: ArrayLike) -> np.ndarray:
        """Inputs back to the user's units."""
        return np.asarray(X, dtype=float) * self.x_sd + self.x_mean

    def y_back(self, y: ArrayLike) -> np.ndarray:
        """Targets back to the user's units; a standard deviation is only to be multiplied by `y_sd`."""
        return np.asarray(y, dtype=float) * self.y_sd + self.y_mean

    def to_dict(self) -> dict[str, list[float]]:
        """Plain values for JSON."""
        return {key: value.tolist() for key, value in vars(self).items()}

    @classmethod
    def from_dict(cls, stored: Facts) -> Scaler:
        """The inverse of `to_dict`."""
        try:
            means = [numbers(stored, f"{side}_mean") for side in "xy"]
            spreads = [numbers(stored, f"{side}_sd", len(mean)) for side, mean in zip("xy", means, strict=True)]
            if not all(np.all(sd > 0) for sd in spreads):
                raise ValueError("a standard deviation must be positive")
        except ValueError as error:
            raise DataError(f"the stored scaling is damaged ({error}): save the model again") from None
        return cls(*map(read_only, (means[0], spreads[0], means[1], spreads[1])))


def _rule(stored: Facts) -> TimeRule:
    from fathom.data.timeaxis import TimeRule  # only models of series need it

    for name, kind in {"step": float, "form": str, "day": int, "clock": int, "digits": int}.items():
        entry(stored, name, kind)
    return TimeRule.from_dict(stored)


def read_only(values: ArrayLike) -> np.ndarray:
    """A copy that cannot be changed."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def _moments(column: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation without overflow near 1e150 or cancellation on a large offset."""
    column = column[~np.isnan(column)]
    if not column.size:
        return 0.0, 1.0
    shifted = column - column[0]  # a constant column is exactly zero from here on
    mean = column[0] + shifted.mean()
    centred = column - mean
    scale = np.max(np.abs(shifted))
    if scale == 0:
        return float(mean), 1.0
    sd = scale * np.sqrt(np.mean((centred / scale) ** 2))
    return float(mean), float(sd) if sd > 0 else 1.0
