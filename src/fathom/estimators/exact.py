"""Exact Gaussian process regression, with the face of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fathom.base.arrays import RandomState, seed_of
from fathom.base.files import Facts
from fathom.base.optimise import Result
from fathom.data.columns import Scaler
from fathom.estimators.base import LARGEST, Estimator, Predicts, named_parts, with_row
from fathom.gp.evidence import Mean
from fathom.gp.exact import Posterior, additive_parts, decompose, leave_one_out
from fathom.gp.learn import Settings, learn, posterior_of, remarks, with_noise
from fathom.gp.starts import given
from fathom.kernels.algebra import bind, rescale, with_names
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse, to_text
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

MOST_ROWS = 15_000  # an N×N matrix of 1.8 GB, of which a fit holds four


class ExactRegressor(RegressorMixin, Predicts, Estimator):
    """What every exact model shares once it has a posterior on standardised data: checks, units, predictions, files."""

    result_: Result | None
    posterior_: Posterior
    kernel_: Kernel
    log_evidence_: float
    notes_: list[str]
    _single: bool

    def _mean(self) -> Mean:
        """The prior mean of the model."""
        raise NotImplementedError

    def _saved_params(self) -> Facts:
        """Constructor parameters as JSON values."""
        raise NotImplementedError

    # -- data and units ----------------------------------------------------------------------------------------

    def _checked(self, X: Rows, y: Rows) -> tuple[np.ndarray, np.ndarray]:
        try:
            rows, y = validate_data(self, X, y, dtype=float, multi_output=True, y_numeric=True, ensure_min_samples=2)
        except ValueError as problem:
            raise ValueError(with_row(problem, X, y)) from None
        y = np.asarray(y, dtype=float)
        if max(np.abs(rows).max(), np.abs(y).max()) > LARGEST:
            raise ValueError(f"values beyond {LARGEST:.0e} cannot be squared: rescale the data")
        if len(rows) > MOST_ROWS:
            raise ValueError(
                f"{len(rows)} rows need a matrix of {8e-9 * len(rows) ** 2:.0f} GB: an exact GP takes up to "
                f"{MOST_ROWS}; use SparseGPRegressor('vfe') or, for any number of rows, SparseGPRegressor('svgp') "
                "(--model vfe or --model svgp of fathom fit)"
            )
        return rows, y

    def _set_posterior(self, posterior: Posterior) -> None:
        self.posterior_ = posterior
        s, kernel = self.scaler_, posterior.kernel
        # outputs share one standardised kernel; in user units it is that of the (geometric) mean output
        user = rescale(kernel, s.x_mean, s.x_sd, float(np.exp(np.mean(np.log(s.y_sd)))))
        names = self._names()
        self.kernel_ = user if names is None else with_names(user, names)
        self.log_evidence_ = float(posterior.log_evidence()) - len(posterior.X) * float(np.log(s.y_sd).sum())
        self.notes_ = remarks(posterior, self.result_)

    # -- predicting --------------------------------------------------------------------------------------------

    def _predicted_mean(self, X: Rows) -> np.ndarray:
        X_std = self._inputs(X)  # without the variances, which cost more
        return self._shaped(self.scaler_.y_back(self.posterior_.mean(X_std)))

    def predict_dist(self, X: Rows, observed: bool = True) -> Predictive:
        """The predictive distribution of new observations at X, or (`observed=False`) of the function itself."""
        X_std = self._inputs(X)
        return self._predictive(self.posterior_.mean(X_std), self.posterior_.var(X_std, noise=observed))

    def components(self, X: Rows) -> dict[str, Predictive]:
        """The posterior of every additive part of the kernel at X; with "constant", their means sum to `predict`."""
        X_std = self._inputs(X)
        parts = decompose(self.posterior_, X_std)
        found = {}
        for i, name in enumerate(self.parts_):
            found[name] = self._predictive(parts.means[i], parts.var(i), part=True)
        level = self.scaler_.y_back(self.posterior_.prior.mean(X_std))
        found["constant"] = Predictive.gaussian(self._shaped(level), self._shaped(np.zeros_like(level)))
        return found

    @property
    def parts_(self) -> dict[str, Kernel]:
        """The additive parts by name, in the user's units."""
        check_is_fitted(self)
        s, parts = self.scaler_, additive_parts(self.posterior_.kernel)
        spread = float(np.exp(np.mean(np.log(s.y_sd))))
        return named_parts((rescale(part, s.x_mean, s.x_sd, spread) for part in parts), self._names())

    def leave_one_out(self) -> Predictive:
        """Each training observation predicted from all the others, parameters fixed."""
        check_is_fitted(self)
        return self._predictive(*leave_one_out(self.posterior_))

    def sample(self, X: Rows, n: int = 1, random_state: RandomState = None, observed: bool = False) -> np.ndarray:
        """Joint posterior draws of the (first) output at the rows of X, (n, N)."""
        X_std = self._inputs(X)
        draws = self.posterior_.sample(np.random.default_rng(seed_of(random_state)), X_std, n, observed)
        return draws * self.scaler_.y_sd[0] + self.scaler_.y_mean[0]

    def _inputs(self, X: Rows) -> np.ndarray:
        check_is_fitted(self)
        return self.scaler_.x(validate_data(self, X, reset=False, dtype=float))

    def _predictive(self, mean: np.ndarray, var: np.ndarray, part: bool = False) -> Predictive:
        s = self.scaler_
        standard = Predictive.gaussian(mean, np.broadcast_to(var[:, None], mean.shape))
        user = standard.affine(0.0 if part else s.y_mean, s.y_sd)
        return Predictive.gaussian(user.mean()[:, 0], user.var()[:, 0]) if self._single else user

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._single else values

    # -- model files -------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        check_is_fitted(self)
        own = {"params": self._saved_params(), "kernel": to_text(self.posterior_.kernel), "single": self._single}
        return own | self._about_data(), {"X": np.asarray(self.posterior_.X), "Y": np.asarray(self.posterior_.Y)}

    @classmethod
    def from_state(cls, description: Facts, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        model = cls(**description["params"])
        X, Y = arrays["X"], arrays["Y"]
        model._take_up(description, X.shape[1])
        model._single, model.result_ = bool(description["single"]), None
        kernel = bind(parse(description["kernel"]), X.shape[1])
        model._set_posterior(posterior_of(kernel, X, Y, model._mean()))
        return model


class GPRegressor(MultiOutputMixin, ExactRegressor):
    """Exact Gaussian process regression with any kernel of the language.

    Parameters
    ----------
    kernel : str or Kernel
        In the user's units, such as `"SE*Per + Lin"`. Parameters left at their default start from the data; the
        others start from the values given. White noise is added unless the kernel has some. Over several inputs
        `SE` has a lengthscale for each (ARD).
    mean : "constant" or "zero"
        The constant is learnt for each output.
    n_restarts : int
        Optimisations of the evidence, started from the most promising of a few dozen points.
    optimise : bool
        With False, the kernel is used exactly as given.
    engine : "numpy" or "jax"
        The first needs no compilation; the second evaluates all restarts at once, for accelerators.
    random_state : int, Generator, RandomState or None
        Same seed, same answer; None is a new one every time.

    Attributes
    ----------
    kernel_ : Kernel, in the user's units.
    log_evidence_ : float, log marginal likelihood of the data in the user's units.
    notes_ : list of sentences about the fit that a user should know.
    """

    def __init__(
        self,
        kernel: str | Kernel = "SE",
        *,
        mean: str = "constant",
        n_restarts: int = 5,
        max_iterations: int = 500,
        optimise: bool = True,
        engine: str = "numpy",
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.mean = mean
        self.n_restarts = n_restarts
        self.max_iterations = max_iterations
        self.optimise = optimise
        self.engine = engine
        self.random_state = random_state

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X: Rows, y: Rows, on_step: Callable[[int, float], None] | None = None) -> Self:
        """Learn the kernel's parameters from inputs X (N, D) and outputs y (N) or (N, P)."""
        settings = self._settings()
        X, y = self._checked(X, y)
        self._single = y.ndim == 1
        self.scaler_ = Scaler.fit(X, y)
        X_std, Y_std = self.scaler_.x(X), self.scaler_.y(y.reshape(len(X), -1))
        kernel, keep = self._standard_kernel(X.shape[1])
        self.result_ = None
        if self.optimise:
            rng = np.random.default_rng(seed_of(self.random_state))
            kernel, self.result_ = learn(kernel, X_std, Y_std, rng, settings, keep, on_step)
        self._set_posterior(posterior_of(kernel, X_std, Y_std, settings.mean))
        return self

    def _settings(self) -> Settings:
        for name, allowed in (("mean", ("constant", "zero")), ("engine", ("numpy", "jax"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, not {getattr(self, name)!r}")
        return Settings(self.mean, self.n_restarts, self.max_iterations, self.engine)  # type: ignore[arg-type]

    def _mean(self) -> Mean:
        return self._settings().mean

    def _saved_params(self) -> Facts:
        return {**self.get_params(), "kernel": str(self.kernel), "random_state": None}

    def _standard_kernel(self, n_inputs: int) -> tuple[Kernel, tuple[bool, ...]]:
        """The kernel on standardised data, and which of its parameters the user has set."""
        kernel = parse(self.kernel) if isinstance(self.kernel, str) else self.kernel
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be text or a Kernel, not {type(kernel).__name__}")
        kernel = bind(kernel, self._names() or n_inputs)
        if self.optimise:
            kernel = with_noise(kernel)
        s = self.scaler_
        y_spread = float(np.exp(np.mean(np.log(s.y_sd))))
        return rescale(kernel, -s.x_mean / s.x_sd, 1 / s.x_sd, 1 / y_spread), given(kernel)
