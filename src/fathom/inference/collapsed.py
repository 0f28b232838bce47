"""Inducing points that are integrated out, all rows at once: FITC, VFE and the power-EP family between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from fathom.base.files import Facts
from fathom.base.linalg import Factor, root
from fathom.base.parameters import Constraints, Number
from fathom.base.stored import array, entries, entry
from fathom.deep.build import Architecture
from fathom.deep.predict import AS_LEARNT, Mixture, Scales
from fathom.deep.training.loop import Entry
from fathom.gp.exact import GP
from fathom.inference.base import Inference, Task, Training
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse, to_text
from fathom.sparse.collapsed import SparsePosterior
from fathom.sparse.learn import learn_collapsed

ITERATIONS = 200


@dataclass
class Collapsed:
    """A sparse posterior, and how it was learnt."""

    posterior: SparsePosterior
    seed: int
    status: str
    history: list[Entry]
    notes: list[str] = field(default_factory=list)
    scales: Scales = AS_LEARNT
    best_step: int = 0
    beta: float = 1.0

    def predict(self, X: np.ndarray, observed: bool = True) -> Mixture:
        """One Gaussian (1, N, P) of new observations, or of the function, at X (N, D)."""
        mean, var = self.posterior.mean(X), self.posterior.var(X, noise=observed)
        return mean[None], np.broadcast_to(var[:, None], mean.shape)[None], np.ones(1)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """No classes are learnt by this method."""
        raise ValueError("this model was learnt from numbers: it has no classes")

    def functions(self, X: np.ndarray, n: int, seed: int) -> np.ndarray:
        """Joint posterior draws (n, N, P) at the rows of X (N, D)."""
        mean, half = self.posterior.mean(X), root(self.posterior.cov(X))
        draws = np.random.default_rng(seed).standard_normal((n, half.shape[1], mean.shape[1]))
        return np.asarray(mean + half @ draws)

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Plain values for JSON, and the arrays of the posterior."""
        p = self.posterior
        facts = {"seed": self.seed, "status": self.status, "history": self.history, "notes": self.notes}
        arrays = {"Z": p.Z, "half": p.half, "inner": p.inner.lower, "weights": p.weights}
        return facts | {"kernel": to_text(p.kernel)}, arrays | {"constant": np.asarray(p.prior.constant, dtype=float)}


class PEP(Inference):
    """Power expectation propagation through inducing points (Bui et al. 2017): all rows at once, by L-BFGS.

    Parameters
    ----------
    power : float
        From 0 (VFE) to 1 (FITC).
    """

    name: ClassVar[str] = "pep"
    dtype: ClassVar[str] = "float64"
    deep: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("n_steps",)
    parameter_constraints: ClassVar[Constraints] = {"power": [Number(least=0, most=1)]}
    power: float

    def __init__(self, power: float = 0.5):
        self.power = power

    def check(self, arch: Architecture, training: Training) -> None:
        super().check(arch, training)
        if arch.dtype != self.dtype:
            raise ValueError(f"dtype {arch.dtype!r} means nothing to {self.name!r}, which computes in float64")

    def learn(self, task: Task) -> Collapsed:
        """Kernel and inducing inputs with the highest objective found, and the posterior there."""
        if task.features is not None:
            raise ValueError(f"inference={self.name!r} takes no feature extractor: use 'svgp'")
        if np.isnan(task.Y).any():
            raise ValueError(f"inference={self.name!r} needs every output: drop rows with NaN, or use 'svgp'")
        kernel, steps = bind(_kernel(task.arch), task.X.shape[1]), task.training.n_steps or ITERATIONS
        learnt = learn_collapsed(kernel, *task.rows, task.arch.n_inducing, float(self.power), steps, task.seed)
        posterior, result = learnt
        history: list[Entry] = [{"step": result.stats["evaluations"], "objective": result.value}]
        return Collapsed(posterior, task.seed, result.status, history)

    def restored(self, task: Task, facts: Facts, arrays: Mapping[str, np.ndarray]) -> Collapsed:
        """The posterior of a file."""
        d, p = task.X.shape[1], task.Y.shape[1]
        kernel, Z = bind(parse(entry(facts, "kernel", str)), d), array(arrays, "Z", None, d)
        half, inner = (array(arrays, name, len(Z), len(Z)) for name in ("half", "inner"))
        prior, weights = GP(kernel, array(arrays, "constant", p)), array(arrays, "weights", len(Z), p)
        posterior = SparsePosterior(prior, Z, half, Factor(inner, 0.0, 1), weights)
        history, notes = cast(list[Entry], entries(facts, "history", dict)), entries(facts, "notes", str)
        return Collapsed(posterior, entry(facts, "seed", int), entry(facts, "status", str), history, notes)


class FITC(PEP):
    """Fully independent training conditional (Snelson and Ghahramani 2006): power EP at α = 1. No options."""

    name: ClassVar[str] = "fitc"
    power = 1.0

    def __init__(self) -> None:
        pass


class VFE(PEP):
    """The variational free energy (Titsias 2009), a bound of the evidence: power EP as α → 0. No options."""

    name: ClassVar[str] = "vfe"
    power = 0.0

    def __init__(self) -> None:
        pass


def _kernel(arch: Architecture) -> Kernel:
    """The one kernel of a single layer, SE where none was named."""
    kernel = arch.kernel[0] if isinstance(arch.kernel, tuple) else arch.kernel
    return parse(kernel or "SE") if isinstance(kernel, str | None) else kernel
