"""Sparse and deep Gaussian processes with the face of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from fathom.data.dataset import Scaler
from fathom.estimators.base import Stochastic, checked_outputs, mixture
from fathom.predictive import Predictive

_COMMON = """
    kernel : str, Kernel, or one for each layer
        Of the kernel language. None: what was measured to serve the method best (SE or Matérn-5/2).
    n_steps, batch_size, learning_rate : None: chosen from the number of rows.
    beta : weight of the KL term; "cv" chooses among 0.05, 0.2 and 1 on held-out rows.
    validation_fraction : part of the rows held out; training ends with the step that was best there. None: what
        the method needs (a tenth for "dspp", which overfits without limit on small data; none for the others, whose
        intervals many rows set by themselves). 0: none, and variances as they were learnt.
    refit : bool
        After a held-out stop, train again on all rows for as many steps.
    features : None, "dkl", "dkl-small" or a callable module (Equinox) from one row to features, trained along.
    checkpoint : path
        Training is written there as it goes; killed, the same call resumes. Removed at the end.
    dtype : "float32" or "float64"; None: what the method needs.

    Attributes
    ----------
    history_ : list of {step, seconds, objective, validation NLL}.
    model_ : the layers; notes_ : sentences about the fit that a user should know.
    models_, weights_ : what predictions average: `model_` alone but for "sampling", which averages its best starts.
    """


CLIMBED = 100_000  # rows times numbers of inducing points: beyond them "sampling" takes minibatches


class DeepParameters(Stochastic):
    """The parameters of the deep estimators, which scikit-learn wants to see by name."""

    def __init__(
        self,
        widths: tuple[int, ...] | str = (3,),
        inference: str = "dspp",
        n_inducing: int | None = None,
        input_connected: bool = False,
        *,
        n_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float | None = None,
        beta: float | str | None = None,
        quadrature: str = "qr3",
        n_quadrature: int | None = None,
        kernel: Any = None,
        mean: str = "linear",
        shared: bool = False,
        n_samples: int | None = None,
        n_restarts: int = 10,
        estimator: str = "factorised",
        prior: str = "whitened",
        posterior: str = "laplace",
        optimizer: str | None = None,
        power: float = 1.0,
        n_sweeps: int = 0,
        features: Any = None,
        validation_fraction: float | None = None,
        refit: bool = False,
        checkpoint: str | None = None,
        time_limit: float | None = None,
        dtype: str | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.widths = widths
        self.inference = inference
        self.n_inducing = n_inducing
        self.input_connected = input_connected
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.beta = beta
        self.quadrature = quadrature
        self.n_quadrature = n_quadrature
        self.kernel = kernel
        self.mean = mean
        self.shared = shared
        self.n_samples = n_samples
        self.n_restarts = n_restarts
        self.estimator = estimator
        self.prior = prior
        self.posterior = posterior
        self.optimizer = optimizer
        self.power = power
        self.n_sweeps = n_sweeps
        self.features = features
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.checkpoint = checkpoint
        self.time_limit = time_limit
        self.dtype = dtype
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> Any:
        from fathom.deep.methods import METHODS

        method = super()._method()
        if method.single and not self._widths():
            method = METHODS[method.single]
        if self.estimator not in ("factorised", "joint"):
            raise ValueError(f"estimator must be 'factorised' or 'joint', not {self.estimator!r}")
        if self.prior not in ("whitened", "density"):
            raise ValueError(f"prior must be 'whitened' or 'density', not {self.prior!r}")
        if self.posterior not in ("laplace", "point"):
            raise ValueError(f"posterior must be 'laplace' or 'point', not {self.posterior!r}")
        if not 0 < self.power <= 1:
            raise ValueError(f"power must be above 0 and at most 1, not {self.power}")
        if self.n_sweeps < 0:
            raise ValueError(f"n_sweeps must be 0 or more, not {self.n_sweeps}")
        if self.n_samples is not None and self.n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, not {self.n_samples}")
        n_points = method.n_points if self.n_samples is None or method.points != "samples" else self.n_samples
        objective = "joint" if self.estimator == "joint" and method.q == "point" else method.objective
        own = {"power": float(self.power), "objective": objective, "density": self.prior == "density"}
        laplace = method.laplace and self.posterior == "laplace"
        return replace(method, n_points=n_points, laplace=laplace, **own)

    def _finished(self, model: Any, X: np.ndarray, Y: np.ndarray) -> Any:
        if (method := self._method()).laplace:
            from fathom.deep.settle import settle

            return settle(model, method, X, Y, self._seed())
        if not self.n_sweeps or method.objective != "energy":
            return model
        from fathom.deep.sweeps import sweep

        return sweep(model, X, Y, self.n_sweeps, self.batch_size, self._seed(), method.power)

    def _n_starts(self, n: int, d: int) -> int:
        known = (None, "lbfgs", "adam")
        if self.optimizer not in known:
            raise ValueError(f"optimizer must be 'lbfgs' or 'adam', not {self.optimizer!r}")
        if self.n_restarts < 1:
            raise ValueError(f"n_restarts must be at least 1, not {self.n_restarts}")
        climbs = self._climbs(n, d) if self.optimizer is None else self.optimizer == "lbfgs"
        return self.n_restarts if climbs else 0

    def _climbs(self, n: int, d: int) -> bool:
        """Whether all rows are seen at once where no optimizer was named: if they are few, or must be (joint)."""
        method = self._method()
        if method.q != "point" or self.features is not None:
            return False
        return method.objective == "joint" or n * self._architecture().n_numbers(d) <= CLIMBED

    def _widths(self) -> tuple[int, ...]:
        if isinstance(self.widths, str):
            if self.widths != "auto":
                raise ValueError(f"widths must be a tuple of numbers or 'auto', not {self.widths!r}")
            return getattr(self, "widths_", ())
        return self.widths

    def _choose_widths(self, X: np.ndarray, Y: np.ndarray, n_classes: int) -> None:
        """With widths="auto": those with the best NLL on a fifth of the rows; the fit that follows is on all."""
        if self.widths != "auto":
            return
        from fathom.deep.choose import best_widths

        self.widths_, self.widths_scores_ = best_widths(self, X, Y, n_classes)
        scores = ", ".join(f"{list(w)}: {nll:.3f}" for w, nll in self.widths_scores_)
        self.notes_.append(f"widths {list(self.widths_)} chosen by held-out NLL ({scores})")

    def _described(self) -> dict[str, Any]:
        found = super()._described()
        if self.widths == "auto":  # what was chosen decides the structure that a file is read into
            found["params"]["widths"] = list(self.widths_)
        return found

    def _architecture(self) -> Any:
        from fathom.deep.model import Architecture
        from fathom.deep.propagate import RULES

        for name, allowed in (("quadrature", RULES), ("mean", ("linear", "zero"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        widths = tuple(int(w) for w in self._widths())
        if any(w < 1 for w in widths):
            raise ValueError(f"widths must be 1 or more, not {self.widths}")
        points = self.n_quadrature or (8 if self.quadrature == "qr3" else 3)
        return Architecture(
            widths,
            self.n_inducing or self._method().n_inducing,
            tuple(self.kernel) if isinstance(self.kernel, list) else self.kernel,
            self.quadrature,
            points,
            self.shared,
            self.input_connected,
            self.mean,
            dtype=self._dtype(),
        )


class GradientRegressor(MultiOutputMixin, RegressorMixin, Stochastic):
    """What sparse and deep regressors share."""

    def fit(self, X: Any, y: Any, on_check: Any = None) -> Self:
        """Learn from inputs X (N, D) and outputs y (N) or (N, P); NaN marks a missing output of several."""
        self._method(), self._dtype()
        X, Y = self._data(X, y)
        self.scaler_ = Scaler.fit(X, Y)
        self.notes_ = self._remarks(Y)
        self._choose_widths(self.scaler_.x(X), self.scaler_.y(Y), 0)
        self._learn(self.scaler_.x(X), self.scaler_.y(Y), 0, on_check)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Go on learning from further rows; the first call fits, and its units stay. The best of an average goes on."""
        if not hasattr(self, "models_"):
            return self.fit(X, y)
        from fathom.deep.settle import points, settle
        from fathom.deep.training.loop import train

        X = self._checked_inputs(X, reset=False)
        Y = checked_outputs(y, len(X)).reshape(len(X), -1)
        self.n_seen_ = getattr(self, "n_seen_", 0) + len(X)
        settings = replace(self._settings(len(X)), validation=0.0, beta=self.beta_, n_rows=self.n_seen_)
        method, rows = self._method(), (self.scaler_.x(X), self.scaler_.y(Y))
        with self._precision():
            trained = train(method, points(self.model_) if method.laplace else self.model_, *rows, settings)
            if method.laplace:
                trained.model = settle(trained.model, method, *rows, self.seed_, self.n_seen_)
        trained.history, trained.scales = [*self.history_, *trained.history], self.scales_
        self._keep(trained, self.seed_)
        return self

    def _data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._checked_inputs(X, reset=True)
        y = checked_outputs(y, len(X))
        self._single = y.ndim == 1
        return X, y.reshape(len(X), -1)

    def _remarks(self, Y: np.ndarray) -> list[str]:
        from fathom.deep.model import few_valued

        notes = []
        for p, column in enumerate(Y.T):
            if few_valued(column):
                which = "the target" if Y.shape[1] == 1 else f"output {p}"
                n = len(np.unique(column[~np.isnan(column)]))
                notes.append(f"{which} takes only {n} values: a density flatters spikes on them, compare by CRPS")
        return notes

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predictive mean, and on request the standard deviation of a new observation."""
        predictive = self.predict_dist(X)
        return (predictive.mean(), predictive.std()) if return_std else predictive.mean()

    def predict_dist(self, X: Any, observed: bool = True) -> Predictive:
        """The predictive mixture of new observations at X, or (`observed=False`) of the function itself."""
        from fathom.deep.heldout import scaled, together

        parts = []
        for likelihood, means, variances, weights in self._latent(X):
            with self._precision():
                means, variances = (np.asarray(a, dtype=float) for a in likelihood.outputs(means, variances))
                noise = np.asarray(likelihood.noise(), dtype=float)
            parts.append((means, variances + noise * observed, weights))
        return mixture(*scaled(*together(parts, self.weights_), self.scales_), self.scaler_, self._single)

    def sample_functions(self, X: Any, n: int = 1, seed: int = 0) -> np.ndarray:
        """Whole functions (n, N) or (n, N, P) drawn from the model, without noise: smooth along the rows of X."""
        from fathom.deep.functions import functions

        X_std = self._inputs(X)
        with self._precision():
            drawn = functions(self.models_, self.weights_, X_std, seed, n)
        drawn = self.scaler_.y_mean + self.scaler_.y_sd * drawn
        return drawn[:, :, 0] if self._single else drawn

    def _own_state(self) -> dict[str, Any]:
        return {"single": self._single}

    def _set_own(self, description: dict[str, Any]) -> None:
        self._single = bool(description["single"])

    def _shapes(self, description: dict[str, Any]) -> tuple[np.ndarray, int]:
        return np.zeros((1, len(self.scaler_.y_mean))), 0


class DeepGPRegressor(DeepParameters, GradientRegressor):
    __doc__ = f"""Deep Gaussian process regression.

    Parameters
    ----------
    widths : tuple of int
        Units of each hidden layer; () is a single layer.
        "auto" chooses among a few by held-out rows.
    inference : "dspp" (deep sigma points), "dsvi" (doubly stochastic variational), "gamma" (the same, robust),
        "sampling" (DGPS: inducing values as parameters) or "sep" (expectation propagation with one factor for all rows)
    n_inducing : int, for each process. None: 100; 20 for "sampling", 50 for "sep".
    input_connected : bool
        Every hidden layer passes its inputs on beside its outputs (Duvenaud thesis 5.4).
    quadrature, n_quadrature : the sigma points of "dspp": "qr3" (that many), "qr1", "qr2" or "gauss-hermite" (a grid
        of that many for each unit: 3 if not said).
    shared : bool
        One kernel and set of inducing inputs for all units of a layer: faster, less accurate.
    mean : "linear" (starts as principal components) or "zero", of the hidden layers.
    n_samples : draws of each row in training, of the methods that draw.
    n_restarts, optimizer : "sampling" climbs by "lbfgs" from several starts and averages the best of them; by "adam"
        on minibatches where rows times the coordinates and values of inducing points are over 100,000.
    estimator : of "sampling": "factorised", or "joint" as printed in the thesis (no minibatches, higher variance).
    prior : of the inducing values of "sampling": "whitened", or the thesis's "density", under which inducing inputs
        like to meet.
    posterior : of the inducing values of "sampling": "laplace", a Gaussian about what was learnt, by the curvature of
        the objective; or the thesis's "point", which is certain of them.
    power : α of "sep", above 0 to 1.
    n_sweeps : passes of the explicit iteration of stochastic EP after "sep" has learnt the kernels from the energy. A
        single layer ends in the posterior of FITC. That is sharper than the energy's own, for which kernels and noise
        were learnt: for comparing methods, not for better intervals.
{_COMMON}"""

    methods = ("dspp", "dsvi", "gamma", "sampling", "sep")

    def _remarks(self, Y: np.ndarray) -> list[str]:
        notes, n = super()._remarks(Y), Y.shape[1]
        given = () if self.widths == "auto" else self._widths()  # what is chosen later knows of the outputs
        if (narrow := min(given, default=n)) < n and not self.input_connected:
            notes.append(
                f"{n} outputs must pass through {narrow} hidden unit{'s' * (narrow > 1)}: "
                f"widths=({n},) or input_connected=True may fit better"
            )
        return notes


class DeepGPClassifier(ClassifierMixin, DeepParameters):
    __doc__ = f"""Classification by a sparse or deep Gaussian process: a probit for two classes, a softmax for more.

    Parameters
    ----------
    widths : tuple of int
        Units of each hidden layer; () is a single layer, the sparse GP classifier.
    inference : "dspp" (deep sigma points), "dsvi" (doubly stochastic variational), "sampling" (DGPS) or "sep"
    n_samples, n_restarts, optimizer, estimator, prior, posterior, power, n_sweeps : as for `DeepGPRegressor`.
    n_inducing, input_connected, quadrature, n_quadrature, shared, mean : as for `DeepGPRegressor`.
{_COMMON}"""

    methods = ("dspp", "dsvi", "sampling", "sep")

    def fit(self, X: Any, y: Any, on_check: Any = None) -> Self:
        """Learn from inputs X (N, D) and labels y (N)."""
        self._method(), self._dtype()
        if y is None:
            raise ValueError("DeepGPClassifier requires y to be passed, but the target y is None")
        X = self._checked_inputs(X, reset=True)
        y = column_or_1d(y, warn=True)
        if len(y) != len(X):
            raise ValueError(f"y has {len(y)} labels for {len(X)} rows of X")
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("all labels are the same: a classifier needs at least two classes, got 1 class")
        self.scaler_, self.notes_ = Scaler.fit(X), []
        self._choose_widths(self.scaler_.x(X), labels[:, None].astype(float), len(self.classes_))
        self._learn(self.scaler_.x(X), labels[:, None].astype(float), len(self.classes_), on_check)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (N, C) of the classes, in the order of `classes_`."""
        chances = []
        for likelihood, means, variances, weights in self._latent(X):
            with self._precision():
                each = np.asarray(likelihood.probabilities(means, variances), dtype=float)
            chances.append(np.einsum("s,snc->nc", weights, each))
        found = np.einsum("k,knc->nc", self.weights_, chances)
        return found / found.sum(1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, 1)]

    def _own_state(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _set_own(self, description: dict[str, Any]) -> None:
        self.classes_ = np.asarray(description["classes"])

    def _shapes(self, description: dict[str, Any]) -> tuple[np.ndarray, int]:
        return np.zeros((1, 1)), len(self.classes_)
