"""Exact Gaussian process regression, with the face of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fathom.base.arrays import RandomState, seed_of
from fathom.base.files import Facts
from fathom.base.optimise import Result
from fathom.base.parameters import RANDOM_STATE, Constraints, Integer, check_parameters
from fathom.base.stored import array, entry
from fathom.estimators.base import Estimator, Predicts, named_parts
from fathom.estimators.given import inputs, outputs, standard
from fathom.gp.evidence import Mean
from fathom.gp.exact import Posterior, additive_parts, decompose, leave_one_out
from fathom.gp.learn import Settings, learn, posterior_of, remarks, with_noise
from fathom.gp.starts import gathered, given
from fathom.kernels.algebra import bind, rescale, with_names
from fathom.kernels.base import Kernel, walk
from fathom.kernels.syntax import parse, to_text
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

MOST_ROWS = 15_000  # an N×N matrix of 1.8 GB, of which a fit holds four


def check_rows(n: int) -> None:
    """Raise an error if there are too many rows for an exact GP."""
    if n > MOST_ROWS:
        raise ValueError(
            f"{n} rows need a matrix of {8e-9 * n**2:.0f} GB: an exact GP takes up to "
            f"{MOST_ROWS}; use SparseGPRegressor('vfe') or, for any number of rows, SparseGPRegressor('svgp') "
            "(--model vfe or --model svgp of fathom fit)"
        )


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

    def _gathers(self) -> bool:
        """True if products are shown, and learnt, with their scale in the first factor."""
        return False

    def _saved_params(self) -> Facts:
        """Constructor parameters as JSON values."""
        raise NotImplementedError

    # -- data and units ----------------------------------------------------------------------------------------

    def _checked(self, X: Rows, y: Rows) -> tuple[np.ndarray, np.ndarray]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = inputs(self, X, reset=True)
        y = outputs(y, len(rows))
        check_rows(len(rows))
        return rows, y

    def _set_posterior(self, posterior: Posterior) -> None:
        self.posterior_ = posterior
        s = self.scaler_
        self.kernel_ = self._in_user_units(posterior.kernel)
        self.log_evidence_ = float(posterior.log_evidence()) - len(posterior.X) * float(np.log(s.y_sd).sum())
        self.notes_ = remarks(posterior, self.result_)

    def _in_user_units(self, kernel: Kernel) -> Kernel:
        """A standardised kernel in the units and with the names of the user's columns.

        Outputs share one kernel; its units are those of the (geometric) mean output.
        """
        s, names = self.scaler_, self._names()
        user = in_units(kernel, s.x_mean, s.x_sd, float(np.exp(np.mean(np.log(s.y_sd)))), self._gathers())
        return user if names is None else with_names(user, names)

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
        return named_parts(map(self._in_user_units, additive_parts(self.posterior_.kernel)))

    def leave_one_out(self) -> Predictive:
        """Each training observation predicted from all the others, parameters fixed."""
        check_is_fitted(self)
        return self._predictive(*leave_one_out(self.posterior_))

    def sample(self, X: Rows, n: int = 1, random_state: RandomState = None, observed: bool = False) -> np.ndarray:
        """Joint posterior draws of the (first) output at the rows of X, (n, N)."""
        X_std = self._inputs(X)
        draws = self.posterior_.sample(np.random.default_rng(seed_of(random_state)), X_std, n, observed)
        return draws * self.scaler_.y_sd[0] + self.scaler_.y_mean[0]

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
        model = cls(**entry(description, "params", dict))
        X = array(arrays, "X", None, None)
        check_rows(len(X))
        model._take_up(description, X.shape[1])
        model._single, model.result_ = entry(description, "single", bool), None
        Y = array(arrays, "Y", len(X), 1 if model._single else len(model.scaler_.y_mean))
        kernel = bind(parse(entry(description, "kernel", str)), X.shape[1])
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

    parameter_constraints: ClassVar[Constraints] = {
        "kernel": [str, Kernel],
        "mean": ["constant", "zero"],
        "n_restarts": [Integer(1)],
        "max_iterations": [Integer(1)],
        "optimise": [bool],
        "engine": ["numpy", "jax"],
        "random_state": RANDOM_STATE,
    }

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
        self.scaler_ = standard(X, y)
        X_std, Y_std = self.scaler_.x(X), self.scaler_.y(y.reshape(len(X), -1))
        kernel, keep = self._standard_kernel(X.shape[1])
        self.result_ = None
        if self.optimise:
            rng = np.random.default_rng(seed_of(self.random_state))
            kernel, self.result_ = learn(kernel, X_std, Y_std, rng, settings, keep, on_step)
        self._set_posterior(posterior_of(kernel, X_std, Y_std, settings.mean))
        return self

    def _settings(self) -> Settings:
        check_parameters(self)
        return Settings(self.mean, self.n_restarts, self.max_iterations, self.engine)  # type: ignore[arg-type]

    def _mean(self) -> Mean:
        return self._settings().mean

    def _saved_params(self) -> Facts:
        return {**self.get_params(), "kernel": str(self.kernel), "random_state": None}

    def _standard_kernel(self, n_inputs: int) -> tuple[Kernel, tuple[bool, ...]]:
        """The kernel on standardised data, and which of its parameters the user has set."""
        kernel = parse(self.kernel) if isinstance(self.kernel, str) else self.kernel
        kernel = bind(kernel, self._names() or n_inputs)
        if self.optimise:
            kernel = with_noise(kernel)
        s = self.scaler_
        y_spread = float(np.exp(np.mean(np.log(s.y_sd))))
        return in_units(kernel, -s.x_mean / s.x_sd, 1 / s.x_sd, 1 / y_spread, self._gathers()), given(kernel)

    def _gathers(self) -> bool:
        return self.optimise


def in_units(kernel: Kernel, shift: np.ndarray, spread: np.ndarray, y_spread: float, gathers: bool) -> Kernel:
    """The kernel in other units (`rescale`), if numbers reach so far; `gathers`: a product's scale in one place."""
    try:
        with np.errstate(all="ignore"):
            found = rescale(kernel, shift, spread, y_spread)
            found = gathered(found) if gathers else found
    except ValueError as problem:  # of a parameter that is infinite
        raise ValueError(f"{problem}: numbers do not reach so far, rescale the data") from None
    for old, new in zip(walk(kernel), walk(found), strict=True):
        for p in new.parameters:
            before, after = (np.asarray(getattr(node, p.name), dtype=float) for node in (old, new))
            if p.kind == "positive" and np.any((after == 0) & (before != 0)):
                raise ValueError(f"{new.name}: {p.name} vanishes: numbers do not reach so far, rescale the data")
    return found
