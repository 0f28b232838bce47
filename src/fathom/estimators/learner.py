"""What every estimator that learns by an inference object shares: checks, units, training, predictions, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fathom import models
from fathom.base.arrays import RandomState, seed_of
from fathom.base.files import Facts
from fathom.base.parameters import RANDOM_STATE, Constraints, Instance, Integer, check_parameters
from fathom.base.stored import Damaged, brief, entries, entry, numbers
from fathom.data.columns import Scaler
from fathom.estimators.base import Estimator, Predicts, short_text
from fathom.estimators.given import inputs, outputs, standard
from fathom.kernels.base import Kernel
from fathom.likelihoods import few_valued
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.deep.build import Architecture
    from fathom.deep.ensemble import Ensemble
    from fathom.deep.model import DeepGP, Features
    from fathom.deep.predict import Mixture
    from fathom.deep.training.loop import Entry, OnCheck
    from fathom.inference.base import Inference, Learnt, Task, Training


class Learner(Estimator):
    """A sparse or deep GP on standardised data. Subclasses say what its layers are and what an answer is."""

    rows: ClassVar[tuple[str, bool]]  # of the table of models: the estimator's own, all or those that learn classes
    parameter_constraints: ClassVar[Constraints] = {
        "inference": [str, Instance("fathom.inference.base.Inference")],
        "n_inducing": [Integer(1)],
        "kernel": [None, str, Kernel],
        "features": [None, str, callable],
        "training": [None, Instance("fathom.inference.base.Training")],
        "dtype": [None, "float32", "float64"],
        "verbose": [bool, Integer(0)],
        "random_state": RANDOM_STATE,
    }
    inference: str | Inference
    training: Training | None
    kernel: str | Kernel | tuple[str | Kernel, ...] | None
    features: Features
    dtype: str | None
    verbose: int
    random_state: RandomState
    learnt_: Learnt
    remarks_: list[str]

    # -- what was asked for ------------------------------------------------------------------------------------

    def _method(self) -> Inference:
        """The inference object, of which a name is shorthand."""
        from fathom.inference.base import Inference, method

        if isinstance(self.inference, Inference):
            return self.inference
        if self.inference not in (known := models.methods(*self.rows)):
            raise ValueError(f"inference must be one of {', '.join(known)}, not {self.inference!r}")
        return method(self.inference)()

    def _architecture(self, method: Inference) -> Architecture:
        """What the parameters ask of a model's structure."""
        raise NotImplementedError

    def _dtype(self, method: Inference) -> str:
        return self.dtype or method.dtype

    def _training(self) -> Training:
        from fathom.inference.base import Training

        return self.training if self.training is not None else Training()

    def _task(self, X: np.ndarray, Y: np.ndarray, n_classes: int, seed: int, on_check: OnCheck | None = None) -> Task:
        """Everything a method needs, checked."""
        from fathom.inference.base import Task

        check_parameters(self)
        method = self._method()
        arch, training = self._architecture(method), self._training()
        method.check(arch, training)
        return Task(X, Y, arch, training, n_classes, self.features, seed, self._told(on_check))

    def _told(self, on_check: OnCheck | None) -> OnCheck:
        def tell(entry: Entry, total: int) -> None:
            if self.verbose:
                held = entry["validation NLL"]
                tail = "" if held is None else f", held-out NLL {held:.3f}"
                print(f"step {entry['step']} of {total}: objective {entry['objective']:.3f}{tail}")
            if on_check is not None:
                on_check(entry, total)

        return tell

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, X: np.ndarray, Y: np.ndarray, n_classes: int, on_check: OnCheck | None) -> None:
        """Learn from standardised rows."""
        task = self._chosen(self._task(X, Y, n_classes, seed_of(self.random_state), on_check))
        self.learnt_, self.n_seen_ = self._method().learn(task), len(X)

    def _chosen(self, task: Task) -> Task:
        """The task with what was left to the data."""
        return task

    @property
    def notes_(self) -> list[str]:
        """Sentences about the fit that a user should know."""
        return [*self.remarks_, *self.learnt_.notes]

    @property
    def history_(self) -> list[Entry]:
        """How training went: step, seconds, objective and validation NLL of every look."""
        return list(self.learnt_.history)

    @property
    def status_(self) -> str:
        """How training ended: "done", "time limit", "diverged", "converged" or "iterations"."""
        return str(self.learnt_.status)

    def _ensemble(self) -> Ensemble:
        from fathom.deep.ensemble import Ensemble

        check_is_fitted(self)
        if not isinstance(self.learnt_, Ensemble):
            raise AttributeError(f"a model of inference {self._method().name!r} has no layers to look at")
        return self.learnt_

    @property
    def models_(self) -> list[DeepGP]:
        """The models that predictions average, heaviest first."""
        return list(self._ensemble().models)

    @property
    def weights_(self) -> list[float]:
        """How much each of `models_` weighs."""
        return list(self._ensemble().weights)

    @property
    def model_(self) -> DeepGP:
        """The layers; where predictions average several models, those of the one with the most weight."""
        return self.models_[0]

    @property
    def kernels_(self) -> list[str]:
        """The structure of each layer's kernel."""
        check_is_fitted(self)
        return [short_text(layer.form.kernel) for layer in self.model_.layers]

    # -- data --------------------------------------------------------------------------------------------------

    def _first_inputs(self, X: Rows) -> np.ndarray:
        """Rows to learn from."""
        rows = inputs(self, X, reset=True)
        self.last_ = rows.max(0).tolist()  # where a forecast begins: the rows themselves are not kept
        return rows

    # -- model files -------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        check_is_fitted(self)
        if self.features is not None and not isinstance(self.features, str):
            raise ValueError("a model with a feature extractor of your own cannot be saved: only named ones can")
        facts, arrays = self.learnt_.to_state()
        description = {
            "params": self._saved_params(),
            "inference": self._saved_method(),
            "training": self._training().get_params() | {"checkpoint": None},
            "learnt": facts,
            "n_inputs": int(self.n_features_in_),
            "n_seen": int(self.n_seen_),
            "last": self.last_,
            "remarks": self.remarks_,
        }
        return description | self._about_data() | self._own_state(), arrays

    def _saved_params(self) -> Facts:
        kernel = self.kernel
        texts = [str(k) for k in kernel] if isinstance(kernel, (tuple, list)) else kernel and str(kernel)
        apart = {"inference", "training"}
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in apart}
        return params | {"kernel": texts or None, "random_state": None}

    def _saved_method(self) -> Facts:
        method = self._method()
        if method.name not in models.MODELS:
            raise ValueError(f"inference {method.name!r} is not in the table of models: add it to fathom.models.MODELS")
        return {"name": method.name, "options": method.get_params(), "named": isinstance(self.inference, str)}

    def _own_state(self) -> Facts:
        """What a subclass adds to the file."""
        raise NotImplementedError

    def _set_own(self, description: Facts) -> tuple[np.ndarray, int]:
        """Take that up again; a row of standardised outputs and the number of classes, which decide the structure."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, description: Facts, arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        model = cls._restored(description)
        Y, n_classes = model._set_own(description)
        rows = np.random.default_rng(0).standard_normal((4, model.n_features_in_))
        task = model._task(rows, np.repeat(Y, 4, 0), n_classes, 0)
        held = sum(values.size for values in arrays.values())
        if task.arch.at_least(model.n_features_in_) > held:  # before a model of that size is built
            raise Damaged(f"'widths' ask for more than the {held} numbers that it holds")
        model.learnt_ = model._method().restored(task, entry(description, "learnt", dict), arrays)
        return model

    @classmethod
    def _restored(cls, description: Facts) -> Self:
        """Everything but what was learnt."""
        from fathom.inference.base import Training, method

        told, params = entry(description, "inference", dict), entry(description, "params", dict)
        params = {name: tuple(v) if isinstance(v, list) else v for name, v in params.items()}
        name, known = entry(told, "name", str), models.methods(*cls.rows)
        if name not in known:
            raise Damaged(f"its inference must be one of {', '.join(known)}, not {brief(name)}")
        kind = name if entry(told, "named", bool) else method(name)(**entry(told, "options", dict))
        for key, sort in {"mean": str, "features": str, "dtype": str, "n_inducing": int}.items():
            if params.get(key) is not None:
                entry(params, key, sort)
        training = Training(**entry(description, "training", dict))
        model = cls(**params, inference=kind, training=training if training.changed() else None)
        n = entry(description, "n_inputs", int)
        model._take_up(description, n)
        model.n_seen_, model.remarks_ = entry(description, "n_seen", int), entries(description, "remarks", str)
        model.last_ = numbers(description, "last", n).tolist()
        return model


class LearnerRegressor(MultiOutputMixin, RegressorMixin, Predicts, Learner):
    """What sparse and deep regressors share."""

    def fit(self, X: Rows, y: Rows, on_check: OnCheck | None = None) -> Self:
        """Learn from inputs X (N, D) and outputs y (N) or (N, P); NaN marks a missing output of several."""
        self._task(np.zeros((0, 1)), np.zeros((0, 1)), 0, 0)  # wrong options are told before anything is computed
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._first_inputs(X)
        y = outputs(y, len(X), missing=True)
        self._single, Y = y.ndim == 1, y.reshape(len(X), -1)
        self.scaler_ = standard(X, Y)
        self.remarks_ = self._remarks(Y)
        self._learn(self.scaler_.x(X), self.scaler_.y(Y), 0, on_check)
        return self

    @available_if(lambda self: self._goes_on())  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Rows, y: Rows) -> Self:
        """Go on learning from further rows; the first call fits, and its units stay. The best of an average goes on."""
        if not hasattr(self, "learnt_"):
            return self.fit(X, y)
        X = self._inputs(X)
        Y = outputs(y, len(X), missing=True).reshape(len(X), -1)
        if Y.shape[1] != (n := len(self.scaler_.y_mean)):
            raise ValueError(f"y has {Y.shape[1]} outputs, but the model has learnt {n}")
        task = self._task(X, self.scaler_.y(Y), 0, self.learnt_.seed)
        self.learnt_ = self._method().go_on(self.learnt_, task, self.n_seen_ + len(X))
        self.n_seen_ += len(X)
        return self

    @available_if(lambda self: hasattr(self._method(), "follow"))  # type: ignore[untyped-decorator]
    def follow(self, X: Rows, y: Rows) -> Predictive:
        """Predict each further row from those before it, then learn from it; returns the predictions."""
        X = self._inputs(X)
        Y = outputs(y, len(X), missing=True).reshape(len(X), -1)
        task = self._task(X, self.scaler_.y(Y), 0, self.learnt_.seed)
        told = self._method().follow(self.learnt_, task)
        self.n_seen_ += len(X)
        mean, var = self.scaler_.y_back(told.mean), told.var * self.scaler_.y_sd**2
        return Predictive.gaussian(mean[:, 0], var[:, 0]) if self._single else Predictive.gaussian(mean, var)

    def _goes_on(self) -> bool:
        """True where the method can go on from what was learnt."""
        from fathom.inference.base import Inference

        if type(method := self._method()).go_on is Inference.go_on:
            raise AttributeError(f"inference={method.name!r} sees all rows at once: use 'svgp' for partial_fit")
        return True

    def _remarks(self, Y: np.ndarray) -> list[str]:
        notes = []
        for p, column in enumerate(Y.T):
            if few_valued(column):
                which = "the target" if Y.shape[1] == 1 else f"output {p}"
                n = len(np.unique(column[~np.isnan(column)]))
                notes.append(f"{which} takes only {n} values: a density flatters spikes on them, compare by CRPS")
        return notes

    def predict_dist(self, X: Rows, observed: bool = True) -> Predictive:
        """The predictive mixture of new observations at X, or (`observed=False`) of the function itself."""
        return mixture(self._fitted().predict(self._inputs(X), observed), self.scaler_, self._single)

    def sample_functions(self, X: Rows, n: int = 1, seed: int = 0) -> np.ndarray:
        """Whole functions (n, N) or (n, N, P) drawn from the model, without noise: smooth along the rows of X."""
        drawn = self.scaler_.y_mean + self.scaler_.y_sd * self._fitted().functions(self._inputs(X), n, seed)
        return drawn[:, :, 0] if self._single else drawn

    def _fitted(self) -> Learnt:
        check_is_fitted(self)
        return self.learnt_

    def _own_state(self) -> Facts:
        return {"single": self._single}

    def _set_own(self, description: Facts) -> tuple[np.ndarray, int]:
        self._single, n = entry(description, "single", bool), len(self.scaler_.y_mean)
        if n != 1 if self._single else n < 1:
            raise Damaged(f"the scaling is that of {n} outputs")
        return np.zeros((1, n)), 0


def mixture(moments: Mixture, scaler: Scaler, single: bool) -> Predictive:
    """Means and variances (S, N, P) with weights (S), in standard units, as a `Predictive` in the user's."""
    means, variances = (np.moveaxis(np.asarray(a, dtype=float), 0, -1) for a in moments[:2])
    standard = Predictive(moments[2], means, variances).affine(scaler.y_mean, scaler.y_sd)
    return Predictive(standard.weights, standard.means[:, 0], standard.variances[:, 0]) if single else standard
