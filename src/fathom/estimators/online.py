"""Gaussian process regression on streams: one row after the other, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fathom.base.arrays import RandomState, seed_of
from fathom.base.files import Facts
from fathom.base.parameters import RANDOM_STATE, Constraints, Each, Integer, Number, check_parameters
from fathom.data.columns import Scaler
from fathom.estimators.base import Estimator, Predicts, named_parts
from fathom.estimators.given import inputs, outputs, standard, standardised
from fathom.estimators.learner import mixture
from fathom.gp.learn import with_noise
from fathom.gp.starts import given
from fathom.kernels.algebra import bind, rescale, with_names
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse
from fathom.predictive import Predictive
from fathom.streams.change import Meaning
from fathom.streams.online import WARM, Online, Plan, learnt_from, spread_so_far

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

AUTO = (1.0, 0.999, 0.99)  # rates of forgetting among which "auto" chooses as it goes


class OnlineGPRegressor(MultiOutputMixin, RegressorMixin, Predicts, Estimator):
    """Gaussian process regression that sees one row after the other and keeps at most `budget` of them.

    `fit` learns the kernel's parameters and passes through the rows; `partial_fit` goes on with one row or many, and
    how they are cut into calls makes no difference. On its own it gathers 50 rows, which set units and parameters;
    parameters are learnt again, from the last 500 rows, whenever four times as many have passed.

    Parameters
    ----------
    kernel : str or Kernel
        In the user's units; parameters left at their default are learnt.
    budget : int
        Rows that are kept. A step takes some budget² operations.
    noise : "constant" or "heteroscedastic"
        With the second the log of the noise is a process of its own over the inputs.
    forgetting : float, several of them, or "auto"
        How much of what was learnt stays with each row: 1 keeps everything, 0.999 half in some 700 rows. Of several
        rates each says its say, and what each has foretold so far decides its weight.
    episodes : int
        Passes of `fit`, each after learning the parameters from other rows.
    optimize : bool
        With False the kernel is used exactly as given, in the user's units, from the first row on.
    random_state : int, Generator, RandomState or None
        Same seed, same answer; None is a new one every time.

    Attributes
    ----------
    kernel_ : the kernel in the user's units.
    score_ : running mean log density of a row, in the user's units. changes_ : the rows (counted from 0) at which the
    stream was found to have changed, and how. n_seen_ : rows so far.
    """

    parameter_constraints: ClassVar[Constraints] = {
        "kernel": [str, Kernel],
        "budget": [Integer(1, 10_000)],
        "noise": ["constant", "heteroscedastic"],
        "forgetting": ["auto", Number(above=0, most=1), Each("rates above 0 and at most 1", [Number(above=0, most=1)])],
        "episodes": [Integer(1)],
        "optimize": [bool],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        kernel: str | Kernel = "SE",
        budget: int = 100,
        noise: str = "constant",
        forgetting: float | Sequence[float] | str = 1.0,
        episodes: int = 2,
        *,
        optimize: bool = True,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.budget = budget
        self.noise = noise
        self.forgetting = forgetting
        self.episodes = episodes
        self.optimize = optimize
        self.random_state = random_state

    # -- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Rows, y: Rows) -> Self:
        """Learn parameters and rows of inputs X (N, D) and outputs y (N) or (N, P); NaN marks a missing output."""
        rows, Y = self._checked(X, y, reset=True, least=2)
        self.scaler_ = self._units(rows, Y)
        self.learnt_ = learnt_from(self._plan(), self.scaler_.x(rows), self.scaler_.y(Y))
        self._waiting = self._none(Y.shape[1])
        return self

    def partial_fit(self, X: Rows, y: Rows) -> Self:
        """Go on learning from further rows."""
        self.follow(X, y)
        return self

    def follow(self, X: Rows, y: Rows) -> Predictive:
        """Predict each row from those before it, then learn from it; returns the predictions.

        Until 50 rows have been gathered they are the mean and spread of the rows so far.
        """
        begins = not hasattr(self, "_waiting")
        rows, Y = self._checked(X, y, reset=begins)
        if begins:
            self._waiting = self._none(Y.shape[1])
        if Y.shape[1] != self._waiting[1].shape[1]:
            raise ValueError(f"y has {Y.shape[1]} outputs, and the rows before had {self._waiting[1].shape[1]}")
        told = []
        if not hasattr(self, "learnt_"):
            taken = min(len(rows), WARM - len(self._waiting[0])) if self.optimize else 0
            told.append(self._wait(rows[:taken], Y[:taken]))
            rows, Y = rows[taken:], Y[taken:]
            if not self.optimize or len(self._waiting[0]) == WARM:
                self._begin()
        if len(rows):
            s = self.scaler_
            said = self.learnt_.go_on(standardised(s, rows), s.y(Y))
            told.append((s.y_back(said.mean), said.var * s.y_sd**2))
        mean, var = (np.concatenate(parts) for parts in zip(*told, strict=True))
        return Predictive.gaussian(mean[:, 0], var[:, 0]) if self._single else Predictive.gaussian(mean, var)

    def _wait(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gather rows, and what was to be said of them before."""
        so_far = len(self._waiting[0])
        self._waiting = (np.vstack([self._waiting[0], X]), np.vstack([self._waiting[1], Y]))
        pairs = [spread_so_far(self._waiting[1][: so_far + i]) for i in range(len(Y))]
        means, variances = (np.array([pair[k] for pair in pairs]).reshape(Y.shape) for k in (0, 1))
        return means, variances

    def _begin(self) -> None:
        """Set units and parameters from the rows gathered, and learn these rows."""
        X, Y = self._waiting
        self.scaler_ = self._units(X, Y)
        self.learnt_ = learnt_from(self._plan(), self.scaler_.x(X), self.scaler_.y(Y))
        self._waiting = self._none(Y.shape[1])

    def _units(self, X: np.ndarray, Y: np.ndarray) -> Scaler:
        if self.optimize:
            return standard(X, Y)
        D, P = X.shape[1], Y.shape[1]
        return Scaler(np.zeros(D), np.ones(D), np.zeros(P), np.ones(P))

    def _none(self, n_outputs: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, self.n_features_in_)), np.zeros((0, n_outputs))

    def _rates(self) -> tuple[float, ...]:
        given = AUTO if self.forgetting == "auto" else np.atleast_1d(self.forgetting).tolist()
        return tuple(float(rate) for rate in given)

    def _plan(self) -> Plan:
        kernel = self._bound()
        kernel = with_noise(kernel) if self.optimize else kernel
        s = self.scaler_
        standard = rescale(kernel, -s.x_mean / s.x_sd, 1 / s.x_sd, 1 / self._spread())
        varying = self.noise == "heteroscedastic"
        episodes = self.episodes if self.optimize else 0
        return Plan(standard, given(kernel), self.budget, self._rates(), episodes, varying, seed_of(self.random_state))

    def _bound(self) -> Kernel:
        """The kernel as it was given, bound to the columns."""
        kernel = parse(self.kernel) if isinstance(self.kernel, str) else self.kernel
        return bind(kernel, self._names() or self.n_features_in_)

    def _spread(self) -> float:
        """In units of which outputs share one kernel."""
        return float(np.exp(np.mean(np.log(self.scaler_.y_sd))))

    def _checked(self, X: Rows, y: Rows, reset: bool, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
        check_parameters(self)
        if y is None:
            raise ValueError("OnlineGPRegressor requires y to be passed, but the target y is None")
        rows = inputs(self, X, reset, least)
        if reset:
            self._bound()  # a wrong kernel is told with the first row, not with the fiftieth
        values = outputs(y, len(rows), missing=True)
        self._single = values.ndim == 1
        return rows, values.reshape(len(rows), -1)

    # -- answers -------------------------------------------------------------------------------------------------

    def predict_dist(self, X: Rows, observed: bool = True) -> Predictive:
        """The predictive distribution of new observations at X, or (`observed=False`) of the function itself."""
        check_is_fitted(self, "_waiting")
        if hasattr(self, "learnt_"):
            return mixture(self.learnt_.predict(self._inputs(X), observed), self.scaler_, self._single)
        X = inputs(self, X, reset=False)
        mean, var = (np.broadcast_to(a, (len(X), len(a))) for a in spread_so_far(self._waiting[1]))
        return Predictive.gaussian(mean[:, 0], var[:, 0]) if self._single else Predictive.gaussian(mean, var)

    def components(self, X: Rows) -> dict[str, Predictive]:
        """The posterior of every additive part of the kernel at X; with "constant", their means sum to `predict`."""
        check_is_fitted(self, "learnt_")
        s = self.scaler_
        parts, means, variances = self.learnt_.parts(self._inputs(X))
        user = named_parts(map(self._in_user_units, parts))
        found = {}
        for name, mean, var in zip(user, means * s.y_sd, variances * s.y_sd**2, strict=True):
            found[name] = Predictive.gaussian(*((a[:, 0] for a in (mean, var)) if self._single else (mean, var)))
        level = np.broadcast_to(s.y_mean, means[0].shape)
        level = level[:, 0] if self._single else level
        return found | {"constant": Predictive.gaussian(level, np.zeros_like(level))}

    @property
    def kernel_(self) -> Kernel:
        """The kernel in the user's units."""
        check_is_fitted(self, "learnt_")
        return self._in_user_units(self.learnt_.found.kernel)

    def _in_user_units(self, kernel: Kernel) -> Kernel:
        s, names = self.scaler_, self._names()
        user = rescale(kernel, s.x_mean, s.x_sd, self._spread())
        return user if names is None else with_names(user, names)

    @property
    def score_(self) -> float:
        """Running mean log density of a row, in the user's units."""
        check_is_fitted(self, "learnt_")
        return self.learnt_.watch.score - float(np.log(self.scaler_.y_sd).sum())

    @property
    def changes_(self) -> list[tuple[int, Meaning]]:
        """The rows, counted from 0, at which the stream was found to have changed, and how."""
        check_is_fitted(self, "learnt_")
        return list(self.learnt_.watch.changes)

    @property
    def n_seen_(self) -> int:
        """Rows so far."""
        check_is_fitted(self, "_waiting")
        return self.learnt_.watch.seen if hasattr(self, "learnt_") else len(self._waiting[0])

    # -- model files ---------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        check_is_fitted(self, "learnt_")
        facts, arrays = self.learnt_.to_state()
        forgetting = self.forgetting if isinstance(self.forgetting, (str, float, int)) else list(self.forgetting)
        params = self.get_params() | {"kernel": str(self.kernel), "forgetting": forgetting, "random_state": None}
        own = {"params": params, "learnt": facts, "single": self._single, "n_inputs": int(self.n_features_in_)}
        return own | self._about_data(), arrays

    @classmethod
    def from_state(cls, description: Facts, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        model = cls(**description["params"])
        n_inputs = int(description["n_inputs"])
        model._take_up(description, n_inputs)
        model._single = bool(description["single"])
        model.learnt_ = Online.restored(description["learnt"], arrays, n_inputs)
        model._waiting = model._none(len(model.scaler_.y_mean))
        return model
