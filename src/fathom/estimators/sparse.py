"""Sparse Gaussian process regression: a single layer through inducing points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.base.arrays import RandomState
from fathom.estimators.learner import LearnerRegressor
from fathom.kernels.base import Kernel

if TYPE_CHECKING:
    from fathom.deep.build import Architecture
    from fathom.deep.model import Features
    from fathom.inference.base import Inference, Training


class SparseGPRegressor(LearnerRegressor):
    """Gaussian process regression through inducing points.

    Parameters
    ----------
    inference : str or an object of `fathom.inference`
        "fitc", "vfe" or "pep" (all rows at once, L-BFGS, float64; up to some ten thousand rows), or "svgp", "odsvgp" or
        "ppgpr" (minibatches, any number of rows). A name stands for the object with its defaults; options are the
        object's, as in `ODSVGP(n_mean=500)`.
    n_inducing : int
    kernel : str or Kernel
        Of the kernel language. None: what was measured to serve the method best (SE or Matérn-5/2).
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
    learnt_ : what the method has learnt, in standard units.
    """

    rows = ("SparseGPRegressor", False)

    def __init__(
        self,
        inference: str | Inference = "svgp",
        n_inducing: int = 100,
        *,
        kernel: str | Kernel | None = None,
        features: Features = None,
        training: Training | None = None,
        dtype: str | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.inference = inference
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.features = features
        self.training = training
        self.dtype = dtype
        self.verbose = verbose
        self.random_state = random_state

    def _architecture(self, method: Inference) -> Architecture:
        from fathom.deep.build import Architecture

        return Architecture((), self.n_inducing, self.kernel, dtype=self._dtype(method))
