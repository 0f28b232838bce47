"""Doubly stochastic variational inference for deep GPs, and its variant that outliers do not pull."""

from __future__ import annotations

from typing import ClassVar

from fathom.base.parameters import Constraints, Integer, Number
from fathom.deep.build import Beginning
from fathom.deep.ensemble import Ensemble
from fathom.deep.objective import Objective, Robust, elbo
from fathom.inference.base import Task
from fathom.inference.gradient import Beta, Gradient
from fathom.inference.svgp import SVGP


class DSVI(Gradient):
    """Doubly stochastic variational inference (Salimbeni and Deisenroth 2017): the ELBO, hidden values as draws.

    Without hidden layers it is SVGP, natural gradients included.

    Parameters
    ----------
    n_samples : int
        Draws of each row in training.
    beta : float or "cv"
        Weight of the KL term; "cv" chooses among .05, .2 and 1 by held-out rows.
    """

    name: ClassVar[str] = "dsvi"
    calibrated: ClassVar[bool] = True

    parameter_constraints: ClassVar[Constraints] = {**Gradient.parameter_constraints, "n_samples": [Integer(1)]}

    def __init__(self, n_samples: int = 1, beta: Beta = 1.0):
        self.n_samples = n_samples
        self.beta = beta

    def beginning(self) -> Beginning:
        """A full q(v), all but certain in hidden layers."""
        return Beginning(hidden_sd=1e-2)

    def loss(self) -> Objective:
        """Minus the ELBO."""
        return Objective(elbo, self.n_samples)

    def learn(self, task: Task) -> Ensemble:
        return super().learn(task) if task.arch.widths else SVGP(self.beta).learn(task)

    def go_on(self, learnt: Ensemble, task: Task, n_seen: int) -> Ensemble:
        return super().go_on(learnt, task, n_seen) if task.arch.widths else SVGP().go_on(learnt, task, n_seen)


class Gamma(Gradient):
    """DSVI with the γ-divergence in place of the log likelihood (Knoblauch et al.): a far observation loses its pull.

    Parameters
    ----------
    gamma : float
        Above 1; the further, the less an outlier counts.
    n_samples, beta : as of `DSVI`.
    """

    name: ClassVar[str] = "gamma"
    calibrated: ClassVar[bool] = True

    parameter_constraints: ClassVar[Constraints] = {**DSVI.parameter_constraints, "gamma": [Number(above=1)]}

    def __init__(self, gamma: float = 1.03, n_samples: int = 1, beta: Beta = 1.0):
        self.gamma = gamma
        self.n_samples = n_samples
        self.beta = beta

    def beginning(self) -> Beginning:
        """As `DSVI`."""
        return Beginning(hidden_sd=1e-2)

    def loss(self) -> Objective:
        """Minus the γ-robust objective."""
        return Objective(Robust(self.gamma), self.n_samples)
