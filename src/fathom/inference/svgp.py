"""Stochastic variational GPs of one layer: SVGP, and OD-SVGP with further points that move the mean."""

from __future__ import annotations

from typing import ClassVar

from fathom.base.parameters import Constraints, Integer
from fathom.deep.build import Beginning
from fathom.deep.objective import Objective, elbo
from fathom.inference.gradient import Beta, Gradient


class SVGP(Gradient):
    """Stochastic variational inference (Hensman et al. 2013), with natural gradients for q(v).

    Parameters
    ----------
    beta : float or "cv"
        Weight of the KL term; "cv" chooses among .05, .2 and 1 by held-out rows.
    """

    name: ClassVar[str] = "svgp"
    deep: ClassVar[bool] = False
    natural: ClassVar[float] = 0.1
    calibrated: ClassVar[bool] = True

    def __init__(self, beta: Beta = 1.0):
        self.beta = beta

    def beginning(self) -> Beginning:
        """A full q(v); noise of .03, below what most data have."""
        return Beginning(noise=0.03)

    def loss(self) -> Objective:
        """Minus the ELBO."""
        return Objective(elbo)


class ODSVGP(SVGP):
    """SVGP with orthogonally decoupled points for the mean (Salimbeni et al. 2018).

    Parameters
    ----------
    n_mean : int
        Points that move the mean only; they cost no cube.
    beta : float or "cv"
        As of `SVGP`.
    """

    name: ClassVar[str] = "odsvgp"

    parameter_constraints: ClassVar[Constraints] = {**SVGP.parameter_constraints, "n_mean": [Integer(1)]}

    def __init__(self, n_mean: int = 300, beta: Beta = 1.0):
        self.n_mean = n_mean
        self.beta = beta

    def beginning(self) -> Beginning:
        """As `SVGP`, with the further points."""
        return Beginning(noise=0.1, n_orthogonal=self.n_mean)
