"""What every estimator shares: units, names of columns, answers in the manner of scikit-learn, and model files."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator

from fathom.base.files import Facts
from fathom.data.columns import Columns, Scaler
from fathom.kernels.algebra import with_names
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import to_text
from fathom.models import ESTIMATORS
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

LARGEST = 1e150  # beyond it squares overflow


class Estimator(BaseEstimator):
    """A model of the table of models: it learns from rows, answers, and goes into a file."""

    scaler_: Scaler
    columns_: Columns  # of the file that it was fitted to, if there was one
    n_features_in_: int
    feature_names_in_: np.ndarray

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    # -- model files -------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, description: Facts, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        raise NotImplementedError

    def _about_data(self) -> Facts:
        """What the model knows of the data it was fitted to, for a file."""
        columns: Columns | None = getattr(self, "columns_", None)
        known = {"scaler": self.scaler_.to_dict(), "names": self._names()}
        return known | {"columns": None if columns is None else columns.to_dict()}

    def _take_up(self, description: Facts, n_inputs: int) -> None:
        """The inverse of `_about_data`."""
        self.n_features_in_, self.scaler_ = n_inputs, Scaler.from_dict(description["scaler"])
        if description["names"] is not None:
            self.feature_names_in_ = np.asarray(description["names"], dtype=object)
        if description["columns"] is not None:
            self.columns_ = Columns.from_dict(description["columns"])


class Predicts:
    """`predict` from the predictive distribution, for estimators of numbers."""

    def predict_dist(self, X: Rows, observed: bool = True) -> Predictive:
        """The predictive distribution of new observations at X, or (`observed=False`) of the function itself."""
        raise NotImplementedError

    @overload
    def predict(self, X: Rows, return_std: Literal[False] = ...) -> np.ndarray: ...

    @overload
    def predict(self, X: Rows, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(self, X: Rows, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The predictive mean, and on request the standard deviation of a new observation."""
        if not return_std:
            return self._predicted_mean(X)
        predictive = self.predict_dist(X)
        return predictive.mean(), predictive.std()

    def _predicted_mean(self, X: Rows) -> np.ndarray:
        return self.predict_dist(X).mean()


def short_text(kernel: Kernel) -> str:
    """The kernel without its parameter values: a name for reading."""
    return to_text(kernel, values=False)


def named_parts(parts: Iterable[Kernel], names: Sequence[str] | None) -> dict[str, Kernel]:
    """Additive parts by their short text; equal texts are numbered."""
    found: dict[str, Kernel] = {}
    for part in parts:
        part = part if names is None else with_names(part, names)
        text = short_text(part)
        same = sum(key == text or key.startswith(text + " #") for key in found)
        found[f"{text} #{same + 1}" if same else text] = part
    return found


def with_row(problem: ValueError, X: object, y: object) -> str:
    """A scikit-learn message, with the row of the first value that is not finite."""
    message = str(problem).splitlines()[0]
    for name, given in (("X", X), ("y", y)):
        if f"Input {name} contains" in message and given is not None:
            values = np.asarray(given, dtype=float)
            bad = ~np.isfinite(values.reshape(len(values), -1)).all(1)
            return f"{message} The first is in row {int(np.argmax(bad))}: drop the row or fill it in."
    return str(problem)


def estimator(name: str) -> type[Estimator]:
    """The class that has this name in the table of models."""
    found: type[Estimator] = getattr(importlib.import_module(ESTIMATORS[name].home), name)
    return found
