"""Sparse Gaussian process regression: inducing points integrated out (FITC to VFE), or learnt from minibatches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fathom.data.dataset import Scaler
from fathom.estimators.base import mixture
from fathom.estimators.deep import GradientRegressor
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse, to_text
from fathom.predictive import Predictive

POWER = {"fitc": 1.0, "vfe": 0.0}  # members of the power-EP family that have a name
STOCHASTIC = ("svgp", "odsvgp", "ppgpr")


class SparseGPRegressor(GradientRegressor):
    """Gaussian process regression through inducing points.

    Parameters
    ----------
    inference : "fitc", "vfe" or "pep" (all data at once, L-BFGS, float64; up to some ten thousand rows), or
        "svgp", "odsvgp" or "ppgpr" (minibatches, any number of rows)
    n_inducing : int
    n_mean : int
        Of "odsvgp": further points that move the mean only.
    power : float
        Of "pep", from 0 (VFE) to 1 (FITC).
    kernel : str or Kernel
        Of the kernel language. None: what was measured to serve the method best (SE or Matérn-5/2).
    n_steps, batch_size, learning_rate, beta, validation_fraction, refit, features, checkpoint, time_limit, dtype,
    verbose, random_state : as for `DeepGPRegressor`; those of training by minibatches do not touch the first three.

    Attributes
    ----------
    history_ : list of {step, seconds, objective, validation NLL}.
    notes_ : sentences about the fit that a user should know.
    """

    methods = (*POWER, "pep", *STOCHASTIC)

    def __init__(
        self,
        inference: str = "svgp",
        n_inducing: int = 100,
        *,
        n_mean: int = 300,
        power: float = 0.5,
        n_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float | None = None,
        beta: float | str | None = None,
        kernel: Any = None,
        features: Any = None,
        validation_fraction: float | None = None,
        refit: bool = False,
        checkpoint: str | None = None,
        time_limit: float | None = None,
        dtype: str | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.inference = inference
        self.n_inducing = n_inducing
        self.n_mean = n_mean
        self.power = power
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.beta = beta
        self.kernel = kernel
        self.features = features
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.checkpoint = checkpoint
        self.time_limit = time_limit
        self.dtype = dtype
        self.verbose = verbose
        self.random_state = random_state

    def _architecture(self) -> Any:
        from fathom.deep.model import Architecture

        return Architecture((), self.n_inducing, self.kernel, n_far=self.n_mean, dtype=self._dtype())

    # -- all data at once --------------------------------------------------------------------------------------

    @property
    def _collapsed(self) -> bool:
        return self.inference in (*POWER, "pep")

    def fit(self, X: Any, y: Any, on_check: Any = None) -> Self:
        """Learn from inputs X (N, D) and outputs y (N) or (N, P)."""
        if not self._collapsed:
            return super().fit(X, y, on_check)
        from fathom.sparse.learn import learn_collapsed

        X, Y = self._data(X, y)
        if np.isnan(Y).any():
            raise ValueError(f"inference={self.inference!r} needs every output: drop rows with NaN, or use 'svgp'")
        self.scaler_, self.notes_ = Scaler.fit(X, Y), self._remarks(Y)
        kernel = bind(self._kernel(), X.shape[1])
        arrays = self.scaler_.x(X), self.scaler_.y(Y)
        self.posterior_, result = learn_collapsed(
            kernel, *arrays, self.n_inducing, self._a(), self.n_steps or 200, self._seed()
        )
        self.history_ = [{"step": result.stats["evaluations"], "objective": result.value}]
        self.seed_, self.beta_, self.best_step_, self.status_ = self._seed(), 1.0, 0, result.status
        self.scales_ = ((1.0, 1.0),)
        return self

    def _kernel(self) -> Kernel:
        kernel = self.kernel if self.kernel is not None else "SE"
        return parse(kernel) if isinstance(kernel, str) else kernel

    def _a(self) -> float:
        a = POWER.get(self.inference, self.power)
        if not 0 <= a <= 1:
            raise ValueError(f"power must be between 0 (VFE) and 1 (FITC), not {self.power}")
        return float(a)

    def predict_dist(self, X: Any, observed: bool = True) -> Predictive:
        """The predictive distribution of new observations at X, or (`observed=False`) of the function itself."""
        if not self._collapsed:
            return super().predict_dist(X, observed)
        X_std = self._inputs(X)
        mean, var = self.posterior_.mean(X_std), self.posterior_.var(X_std, noise=observed)
        var = np.broadcast_to(var[:, None], mean.shape)
        return mixture(mean[None], var[None], np.ones(1), self.scaler_, self._single)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Go on learning from further rows, by minibatches."""
        if self._collapsed:
            raise ValueError(f"inference={self.inference!r} sees all rows at once: use 'svgp' for partial_fit")
        return super().partial_fit(X, y)

    # -- model files -------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        if not self._collapsed:
            return super().to_state()
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        p = self.posterior_
        return self._described() | {"fitted": to_text(p.kernel)}, {
            "Z": p.Z,
            "half": p.half,
            "inner": p.inner.lower,
            "weights": p.weights,
            "constant": np.asarray(p.prior.constant, dtype=float),
        }

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        if description["params"]["inference"] not in (*POWER, "pep"):
            return super().from_state(description, arrays)
        from fathom.base.linalg import Factor
        from fathom.gp.exact import GP
        from fathom.sparse.collapsed import SparsePosterior

        model = cls._restored(description)
        kernel = bind(parse(description["fitted"]), model.n_features_in_)
        prior, inner = GP(kernel, arrays["constant"]), Factor(arrays["inner"], 0.0, 1)
        model.posterior_ = SparsePosterior(prior, arrays["Z"], arrays["half"], inner, arrays["weights"])
        return model
