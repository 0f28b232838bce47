"""What every estimator shares: parameters, units, names of columns, answers as scikit-learn has them, model files."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fathom.base.files import Facts
from fathom.base.parameters import Constraints
from fathom.base.stored import Damaged, entries, entry, optional
from fathom.data.columns import Columns, Scaler
from fathom.estimators.given import inputs, standardised
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import to_text
from fathom.models import ESTIMATORS
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows


class Estimator(BaseEstimator):
    """A model of the table of models: it learns from rows, answers, and goes into a file."""

    parameter_constraints: ClassVar[Constraints]  # what each parameter may be
    scaler_: Scaler
    columns_: Columns  # of the file that it was fitted to, if there was one
    n_features_in_: int
    feature_names_in_: np.ndarray

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _inputs(self, X: Rows) -> np.ndarray:
        """Rows to answer for, in standard units."""
        check_is_fitted(self)
        return standardised(self.scaler_, inputs(self, X, reset=False))

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
        self.n_features_in_, self.scaler_ = n_inputs, Scaler.from_dict(entry(description, "scaler", dict))
        if len(self.scaler_.x_mean) != n_inputs:
            raise Damaged(f"the scaling is that of {len(self.scaler_.x_mean)} inputs, the model has {n_inputs}")
        if optional(description, "names", list) is not None:
            self.feature_names_in_ = np.asarray(entries(description, "names", str), dtype=object)
        if (columns := optional(description, "columns", dict)) is not None:
            self.columns_ = Columns.from_dict(columns)
        for names in (self._names(), None if columns is None else self.columns_.names):
            if names is not None and len(names) != n_inputs:
                raise Damaged(f"{len(names)} inputs have names, the model has {n_inputs}")


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


def named_parts(parts: Iterable[Kernel]) -> dict[str, Kernel]:
    """Additive parts by their short text; equal texts are numbered."""
    found: dict[str, Kernel] = {}
    for part in parts:
        text = short_text(part)
        same = sum(key == text or key.startswith(text + " #") for key in found)
        found[f"{text} #{same + 1}" if same else text] = part
    return found


def short_text(kernel: Kernel) -> str:
    """The kernel without its parameter values: a name for reading."""
    return to_text(kernel, values=False)


def estimator(name: str) -> type[Estimator]:
    """The class that has this name in the table of models."""
    found: type[Estimator] = getattr(importlib.import_module(ESTIMATORS[name].home), name)
    return found
