"""The named methods: each is a choice on the three axes, and the defaults that were measured for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Method:
    """How a sparse or deep model is learnt. Hashable: compiled code belongs to it."""

    name: str
    objective: Literal["elbo", "predictive", "robust", "joint", "energy"]
    points: Literal["samples", "sigma", "moments"]  # how hidden values pass
    q: Literal["full", "diagonal", "point"]
    kernel: str
    noise: float  # initial variance, in units of the target's
    longest: float = math.inf  # initial lengthscales are √d, at most this
    natural: float = 0.0  # natural-gradient step of the last layer's q; 0: Adam
    hidden_sd: float = 1.0  # initial standard deviation of hidden q
    n_points: int = 1  # in training
    validation: float = 0.0  # part of the rows held out to stop in time
    schedules: tuple[int, ...] = (4, 2, 1)  # small data choose among schedules of these parts of the steps
    parts: int = 5  # of small data, held out in turn
    epochs: int = 100  # passes over the rows, as far as the limits of steps allow
    fewest: int = 2000  # steps on small data
    far: bool = False  # points that move the mean only
    deep: bool = False
    tails: bool = False  # training rows, where they are many, set the width of intervals
    single: str | None = None  # the method that this one is without hidden layers
    hidden_noise: float | None = None  # initial variance of hidden outputs' own noise; None: they have none
    power: float = 1.0  # of power EP
    density: bool = False  # the prior of point values is that of u, not of v
    laplace: bool = False  # point values end as a Gaussian about them
    dtype: str = "float32"
    n_inducing: int = 100

    @property
    def learnt_q(self) -> str:
        """What q is in a model that has been trained."""
        return "full" if self.laplace else self.q


METHODS = {
    m.name: m
    for m in (
        Method("svgp", "elbo", "samples", "full", "SE", 0.03, natural=0.1, tails=True),
        Method("odsvgp", "elbo", "samples", "full", "SE", 0.1, natural=0.1, far=True, tails=True),
        Method("ppgpr", "predictive", "samples", "full", "Matern52", 0.1, longest=2**0.5, validation=0.1, fewest=800),
        Method("dsvi", "elbo", "samples", "full", "SE", 0.1, hidden_sd=1e-2, deep=True, tails=True, single="svgp"),
        Method("gamma", "robust", "samples", "full", "SE", 0.1, hidden_sd=1e-2, deep=True, tails=True),
        Method(
            "sampling",
            "predictive",
            "samples",
            "point",
            "SE",
            0.03,
            n_points=10,
            hidden_noise=1e-4,
            laplace=True,
            deep=True,
            dtype="float64",
            n_inducing=20,
        ),
        Method(
            "sep",
            "energy",
            "moments",
            "full",
            "SE",
            0.03,
            validation=0.1,
            schedules=(1,),
            parts=3,
            fewest=1500,
            hidden_sd=0.1,
            hidden_noise=1e-4,
            deep=True,
            dtype="float64",
            n_inducing=50,
        ),
        Method(
            "dspp",
            "predictive",
            "sigma",
            "diagonal",
            "SE",
            0.1,
            n_points=8,
            validation=0.1,
            epochs=60,
            fewest=480,
            deep=True,
        ),
    )
}
SPARSE = tuple(name for name, m in METHODS.items() if not m.deep)
DEEP = tuple(name for name, m in METHODS.items() if m.deep)
N_TEST = 100  # samples of a prediction
