"""Deep sigma point processes: hidden values pass as learnt points, and the predictive density itself is trained."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from fathom.base.arrays import Array
from fathom.base.parameters import Constraints, Integer
from fathom.deep.build import Beginning
from fathom.deep.objective import Objective, predictive
from fathom.deep.propagate import RULES, Draws, Passing, sigma_points
from fathom.inference.gradient import Beta, Gradient


class DSPP(Gradient):
    """Deep sigma point processes (Jankowiak et al. 2020): a mixture of Gaussians as prediction, trained as such.

    Parameters
    ----------
    quadrature : "qr3", "qr1", "qr2" or "gauss-hermite"
        How sigma points are held: all learnt; a grid of learnt nodes for each unit; the same, symmetric; a fixed grid.
    n_quadrature : int
        Points of "qr3" (8 if not said), or nodes for each unit of a grid (3).
    beta : float or "cv"
        Weight of the KL term; "cv" chooses among .05, .2 and 1 by held-out rows.
    """

    name: ClassVar[str] = "dspp"
    validation: ClassVar[float] = 0.1
    epochs: ClassVar[int] = 60
    fewest: ClassVar[int] = 480

    parameter_constraints: ClassVar[Constraints] = {
        **Gradient.parameter_constraints,
        "quadrature": list(RULES),
        "n_quadrature": [None, Integer(1)],
    }

    def __init__(self, quadrature: str = "qr3", n_quadrature: int | None = None, beta: Beta = 1.0):
        self.quadrature = quadrature
        self.n_quadrature = n_quadrature
        self.beta = beta

    def beginning(self) -> Beginning:
        """A diagonal q(v), and sigma points."""
        points = self.n_quadrature or (8 if self.quadrature == "qr3" else 3)
        return Beginning(q="diagonal", passing=partial(_passing, n=points, rule=self.quadrature))

    def loss(self) -> Objective:
        """Minus the predictive log likelihood."""
        return Objective(predictive)


def _passing(key: Array, widths: tuple[int, ...], dtype: str, n: int, rule: str) -> Passing:
    return sigma_points(key, widths, n, rule, dtype) if widths else Draws()
