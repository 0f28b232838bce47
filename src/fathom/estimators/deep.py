"""Deep Gaussian processes for regression and classification, with the face of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fathom.base.arrays import RandomState
from fathom.base.files import Facts
from fathom.base.parameters import Constraints, Each, Integer
from fathom.base.stored import Damaged, entry
from fathom.estimators.given import classes, standard
from fathom.estimators.learner import Learner, LearnerRegressor
from fathom.kernels.base import Kernel

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.deep.build import Architecture
    from fathom.deep.model import Features
    from fathom.deep.training.loop import OnCheck
    from fathom.inference.base import Inference, Task, Training

_PARAMETERS = """
    input_connected : bool
        Every hidden layer passes its inputs on beside its outputs (Duvenaud thesis 5.4).
    kernel : str, Kernel, or one for each layer
        Of the kernel language. None: what was measured to serve the method best.
    mean : "linear" or "zero"
        Of the hidden layers; "linear" starts as principal components.
    shared : bool
        One kernel and set of inducing inputs for all units of a layer: faster, less accurate.
    features : None, "dkl", "dkl-small" or a callable module (Equinox) from one row to features
        A network in front, trained along.
    training : Training
        Steps, rate, batch, held-out part, checkpoint, time limit. None: all from the number of rows.
    dtype : "float32" or "float64"
        None: what the method needs.
    verbose : int
        1 prints how training goes.
    random_state : int, Generator, RandomState or None
        Same seed, same answer; None is a new one every time.

    Attributes
    ----------
    history_ : list of {step, seconds, objective, validation NLL}.
    notes_ : sentences about the fit that a user should know.
    model_ : the layers; models_, weights_ : what predictions average (`model_` alone but for "sampling").
    widths_ : the hidden widths, where they were chosen.
    learnt_ : what the method has learnt, in standard units.
    """


class DeepLearner(Learner):
    """The parameters of the deep estimators, which scikit-learn wants to see by name."""

    parameter_constraints: ClassVar[Constraints] = {
        **Learner.parameter_constraints,
        "widths": ["auto", Each("integers of at least 1", [Integer(1)])],
        "n_inducing": [None, Integer(1)],
        "input_connected": [bool],
        "kernel": [None, str, Kernel, Each("them", [str, Kernel])],
        "mean": ["linear", "zero"],
        "shared": [bool],
    }

    def __init__(
        self,
        widths: tuple[int, ...] | str = (3,),
        inference: str | Inference = "dspp",
        n_inducing: int | None = None,
        input_connected: bool = False,
        *,
        kernel: str | Kernel | tuple[str | Kernel, ...] | None = None,
        mean: str = "linear",
        shared: bool = False,
        features: Features = None,
        training: Training | None = None,
        dtype: str | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.widths = widths
        self.inference = inference
        self.n_inducing = n_inducing
        self.input_connected = input_connected
        self.kernel = kernel
        self.mean = mean
        self.shared = shared
        self.features = features
        self.training = training
        self.dtype = dtype
        self.verbose = verbose
        self.random_state = random_state

    def _widths(self) -> tuple[int, ...]:
        if isinstance(self.widths, str):
            return getattr(self, "widths_", ())
        return self.widths

    def _chosen(self, task: Task) -> Task:
        """With widths="auto": those with the best NLL on a fifth of the rows; the fit that follows is on all."""
        if self.widths != "auto":
            return task
        from fathom.inference.widths import best_widths

        self.widths_, self.widths_scores_ = best_widths(self._method(), task)
        scores = ", ".join(f"{list(w)}: {nll:.3f}" for w, nll in self.widths_scores_)
        self.remarks_.append(f"widths {list(self.widths_)} chosen by held-out NLL ({scores})")
        return replace(task, arch=replace(task.arch, widths=self.widths_))

    def _saved_params(self) -> Facts:
        # what was chosen decides the structure that a file is read into
        return super()._saved_params() | {"widths": list(self._widths())}

    def _architecture(self, method: Inference) -> Architecture:
        from fathom.deep.build import Architecture

        widths = tuple(int(w) for w in self._widths())
        if widths and not method.deep:
            raise ValueError(f"inference={method.name!r} has no hidden layers: use widths=(), or SparseGPRegressor")
        n_inducing = method.n_inducing if self.n_inducing is None else self.n_inducing
        kernel = tuple(self.kernel) if isinstance(self.kernel, list) else self.kernel
        layers = (widths, n_inducing, kernel, self.shared, self.input_connected, self.mean)
        return Architecture(*layers, self._dtype(method))


class DeepGPRegressor(DeepLearner, LearnerRegressor):
    __doc__ = f"""Deep Gaussian process regression.

    Parameters
    ----------
    widths : tuple of int
        Units of each hidden layer; () is a single layer. "auto" chooses among a few by held-out rows.
    inference : str or an object of `fathom.inference`
        "dspp" (deep sigma points), "dsvi" (doubly stochastic variational), "gamma" (the same, robust), "sampling"
        (DGPS) or "sep" (stochastic expectation propagation). A name stands for the object with its defaults; options
        are the object's, as in `DSPP(quadrature="qr1")`.
    n_inducing : int
        For each process. None: 100; 20 for "sampling", 50 for "sep".{_PARAMETERS}"""

    rows = ("DeepGPRegressor", False)

    def _remarks(self, Y: np.ndarray) -> list[str]:
        notes, n = super()._remarks(Y), Y.shape[1]
        given = () if self.widths == "auto" else self._widths()  # what is chosen later knows of the outputs
        if (narrow := min(given, default=n)) < n and not self.input_connected:
            notes.append(
                f"{n} outputs must pass through {narrow} hidden unit{'s' * (narrow > 1)}: "
                f"widths=({n},) or input_connected=True may fit better"
            )
        return notes


class DeepGPClassifier(ClassifierMixin, DeepLearner):
    __doc__ = f"""Classification by a sparse or deep Gaussian process: a probit for two classes, a softmax for more.

    Parameters
    ----------
    widths : tuple of int
        Units of each hidden layer; () is a single layer, the sparse GP classifier. "auto" chooses among a few.
    inference : str or an object of `fathom.inference`
        "dspp" (deep sigma points), "dsvi" (doubly stochastic variational), "sampling" (DGPS) or "sep".
    n_inducing : int
        For each process. None: 100; 20 for "sampling", 50 for "sep".{_PARAMETERS}"""

    rows = ("DeepGPRegressor", True)

    def fit(self, X: Rows, y: Rows, on_check: OnCheck | None = None) -> Self:
        """Learn from inputs X (N, D) and labels y (N)."""
        self._task(np.zeros((0, 1)), np.zeros((0, 1)), 2, 0)  # wrong options are told before anything is computed
        if y is None:
            raise ValueError("DeepGPClassifier requires y to be passed, but the target y is None")
        rows = self._first_inputs(X)
        self.classes_, numbers = classes(y, len(rows))
        if len(self.classes_) < 2:
            raise ValueError("all labels are the same: a classifier needs at least two classes, got 1 class")
        self.scaler_, self.remarks_ = standard(rows), list[str]()
        self._learn(self.scaler_.x(rows), numbers[:, None].astype(float), len(self.classes_), on_check)
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probabilities (N, C) of the classes, in the order of `classes_`."""
        check_is_fitted(self)
        return self.learnt_.probabilities(self._inputs(X))

    def predict(self, X: Rows) -> np.ndarray:
        """The most probable class of each row."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(chances, 1)])

    def _own_state(self) -> Facts:
        return {"classes": self.classes_.tolist()}

    def _set_own(self, description: Facts) -> tuple[np.ndarray, int]:
        self.classes_ = np.asarray(entry(description, "classes", list))
        if self.classes_.ndim != 1 or len(np.unique(self.classes_)) != len(self.classes_) or len(self.classes_) < 2:
            raise Damaged("'classes' must be a list of two or more different labels")
        return np.zeros((1, 1)), len(self.classes_)
