"""What a page and a figure need of a fitted model.

Estimators live in a room above this one: here they are known by what they can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from fathom.data.dataset import named

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.data.columns import Scaler
    from fathom.gp.exact import Posterior
    from fathom.kernels.base import Kernel
    from fathom.predictive import Predictive
    from fathom.process import Process
    from fathom.search.average import Member
    from fathom.search.trace import Trace


class Fitted(Protocol):
    """An exact Gaussian process: its posterior on standardised data, and predictions in the user's units."""

    posterior_: Posterior
    scaler_: Scaler
    kernel_: Kernel  # in the user's units
    log_evidence_: float

    @property
    def parts_(self) -> dict[str, Kernel]:
        """The additive parts by key, in the user's units and in the order of `additive_parts`."""

    def predict(self, X: Rows) -> np.ndarray:
        """Means of the target."""

    def predict_dist(self, X: Rows) -> Predictive:
        """The distribution of new observations."""

    def components(self, X: Rows) -> dict[str, Predictive]:
        """The posterior of every part, and of the level as "constant"."""

    def leave_one_out(self) -> Predictive:
        """Each observation predicted from all the others."""


class Searched(Fitted, Protocol):
    """A model that a search has found, with the path to it and the models that its forecasts average."""

    trace_: Trace
    members_: list[Member]
    posteriors_: list[Process]
    caution_: float


def was_searched(model: Fitted) -> TypeGuard[Searched]:
    """True for a model whose structure was searched for rather than given."""
    return getattr(model, "trace_", None) is not None


def inputs(model: Fitted, X: np.ndarray) -> Rows:
    """The rows of `X (N, D)` with the names that the model was fitted with, if it was given any."""
    rows: Rows = named(X, getattr(model, "feature_names_in_", None))
    return rows


def predict(model: Fitted, X: np.ndarray) -> Predictive:
    """The distribution of observations at the rows of `X (N, D)`."""
    return model.predict_dist(inputs(model, X))
