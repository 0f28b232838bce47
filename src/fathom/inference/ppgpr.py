"""Parametric predictive GP regression: one layer, trained by its predictive density."""

from __future__ import annotations

from typing import ClassVar

from fathom.deep.build import Beginning
from fathom.deep.objective import Objective, predictive
from fathom.inference.gradient import Beta, Gradient


class PPGPR(Gradient):
    """The predictive log likelihood in place of the ELBO (Jankowiak et al. 2020): noise that follows the inputs.

    Parameters
    ----------
    beta : float or "cv"
        Weight of the KL term; "cv" chooses among .05, .2 and 1 by held-out rows.
    """

    name: ClassVar[str] = "ppgpr"
    deep: ClassVar[bool] = False
    validation: ClassVar[float] = 0.1
    fewest: ClassVar[int] = 800

    def __init__(self, beta: Beta = 1.0):
        self.beta = beta

    def beginning(self) -> Beginning:
        """A full q(v) and Matérn kernels with short lengthscales."""
        return Beginning(kernel="Matern52", longest=2**0.5)

    def loss(self) -> Objective:
        """Minus the predictive log likelihood."""
        return Objective(predictive)
