"""Trained deep GPs as one answer: one model, or an average of several, with the widths that held-out rows ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.compiling import precision
from fathom.base.files import Facts
from fathom.base.stored import Damaged, entries, entry, numbers
from fathom.deep.layer import Layer, OrthogonalPoints
from fathom.deep.model import DeepGP
from fathom.deep.predict import AS_LEARNT, Mixture, Scales, latent, scaled, together
from fathom.deep.training.checkpoint import arrays_in, arrays_of, filled
from fathom.deep.training.loop import Entry, Trained
from fathom.likelihoods import Gaussian

FACTS = ("weights", "seed", "beta", "history", "best_step", "status", "notes", "scales")  # that go into a file
MOST_POINTS = 15_000  # inducing points of a layer: a matrix of 1 GB in single precision


@dataclass
class Ensemble:
    """Models with their weights, heaviest first, and how they were learnt. Everything in standard units."""

    models: list[DeepGP]
    weights: list[float]
    seed: int
    beta: float = 1.0
    scales: Scales = AS_LEARNT
    best_step: int = 0
    status: str = "done"
    history: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, trained: Trained, seed: int, beta: float = 1.0) -> Self:
        """What training came to."""
        weights, models = map(list, zip(*(trained.parts or [(1.0, trained.model)]), strict=True))
        facts = (trained.scales, trained.best_step, trained.status, trained.history, trained.notes)
        return cls(models, weights, seed, beta, *facts)

    def __getstate__(self) -> dict[str, object]:
        """Its parts with arrays of NumPy: unpickled where JAX computes in float32, its own would be cut to that."""
        models = [jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, model) for model in self.models]
        return self.__dict__ | {"models": models}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        with precision(self.dtype):
            self.models = [jax.tree.map(lambda a: jnp.asarray(a) if eqx.is_array(a) else a, m) for m in self.models]

    @property
    def dtype(self) -> str:
        """The precision of the models."""
        return str(self.models[0].layers[0].Z.dtype)

    def _latent(self, X: np.ndarray) -> list[Mixture]:
        return [latent(model, X, self.seed) for model in self.models]

    def predict(self, X: np.ndarray, observed: bool = True) -> Mixture:
        """Means and variances (S, N, P) and weights (S) of new observations, or of the function, at X (N, D)."""
        parts = []
        with precision(self.dtype):
            for model, (means, variances, weights) in zip(self.models, self._latent(X), strict=True):
                gaussian = model.likelihood
                assert isinstance(gaussian, Gaussian), "a classifier has no outputs with noise"
                means, variances = (np.asarray(a, dtype=np.float64) for a in gaussian.outputs(means, variances))
                noise = np.asarray(gaussian.noise(), dtype=np.float64)
                parts.append((means, variances + noise * observed, weights))
        return scaled(*together(parts, self.weights), self.scales)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Probabilities (N, C) of the classes at X (N, D)."""
        chances = []
        with precision(self.dtype):
            for model, (means, variances, weights) in zip(self.models, self._latent(X), strict=True):
                assert not isinstance(model.likelihood, Gaussian), "a regressor has no classes"
                each = np.asarray(model.likelihood.probabilities(means, variances), dtype=np.float64)
                chances.append(np.einsum("s,snc->nc", weights, each))
        found: np.ndarray = np.einsum("k,knc->nc", self.weights, chances)
        return found / found.sum(1, keepdims=True)

    def functions(self, X: np.ndarray, n: int, seed: int) -> np.ndarray:
        """Whole functions (n, N, P) at the rows of X (N, D): smooth along them."""
        from fathom.deep.functions import functions

        with precision(self.dtype):
            return functions(self.models, self.weights, X, seed, n)

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Plain values for JSON, and the arrays of every model."""
        arrays: dict[str, np.ndarray] = {}
        for i, model in enumerate(self.models):
            arrays |= arrays_of(_name(i), model)
        return {name: getattr(self, name) for name in FACTS}, arrays

    @classmethod
    def from_state(cls, like: DeepGP, facts: Facts, arrays: Mapping[str, np.ndarray]) -> Self:
        """The inverse of `to_state`, with models of the same structure as `like`."""
        weights = numbers(facts, "weights").tolist()
        if min(weights, default=-1) < 0:
            raise Damaged("'weights' must be shares of models")
        models = [filled(_name(i), like, arrays) for i in range(len(weights))]
        for model in models:
            _check(model, like)
        seed, beta, scales = entry(facts, "seed", int), entry(facts, "beta", float), _scales(facts)
        best_step, status = entry(facts, "best_step", int), entry(facts, "status", str)
        history, notes = cast(list[Entry], entries(facts, "history", dict)), entries(facts, "notes", str)
        return cls(models, weights, seed, beta, scales, best_step, status, history, notes)


def _name(i: int) -> str:
    """Name of a model's arrays in a file."""
    return f"model{i or ''}"


def _scales(facts: Facts) -> Scales:
    pairs = [numbers({"scales": pair}, "scales", 2).tolist() for pair in entries(facts, "scales", list)]
    if not pairs or any(factor <= 0 or share < 0 for factor, share in pairs):
        raise Damaged("'scales' must be pairs of a positive factor and its share")
    return tuple((factor, share) for factor, share in pairs)


def _check(model: DeepGP, like: DeepGP) -> None:
    """Raise an error unless the arrays are finite, and those of a model like this with any number of points."""
    for depth, (layer, usual) in enumerate(zip(model.layers, like.layers, strict=True), start=1):
        m, g = _n_points(layer), _n_points(layer.orthogonal)
        if _shapes(layer) != usual.shapes(m, g) or not 0 < m <= MOST_POINTS:
            raise Damaged(f"the shapes of the arrays of layer {depth} do not fit together")
    rest, wanted = ((m.passing, m.likelihood, m.features) for m in (model, like))
    if _shapes(rest) != _shapes(wanted):
        raise Damaged("the shapes of the arrays after those of the layers are wrong")
    if not all(np.isfinite(np.asarray(values)).all() for values in arrays_in(model)):
        raise Damaged("its numbers are too large for its precision")


def _n_points(points: Layer | OrthogonalPoints | None) -> int:
    return int(points.Z.shape[1]) if points is not None and points.Z.ndim == 3 else 0


def _shapes(tree: object) -> list[tuple[int, ...]]:
    return [values.shape for values in arrays_in(tree)]
