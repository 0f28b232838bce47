"""Climbs from several starts in step, by L-BFGS on all rows (DGPS thesis, 4.3 and 4.4).

The draws of a start are fixed, so that its objective is an ordinary function. It may then be high only for these draws:
starts are ranked by more draws that none of them has seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, DType, namespace
from fathom.base.compiling import compiled
from fathom.base.optimise import Space, climb_together
from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.deep.propagate import Points
from fathom.deep.training.loop import Entry, OnCheck

FRESH = 100  # draws that rank the starts
REACH = 3.0  # how far a parameter may go from where it began: logarithms (a factor 20), places in standard units
FREE = 10.0  # and whitened values: a few standard deviations of the prior
TOLERANCE = 1e-7  # of every climb
ITERATIONS, EACH = 500, 5  # of a climb: at least, and for each parameter
EVERY = 20  # evaluations between two reports


class End(NamedTuple):
    """What a start has come to: its objective, by draws that no start has seen, after so many iterations."""

    model: DeepGP
    value: float
    iterations: int


@dataclass(frozen=True)
class Rows:
    """All rows in the precision of the model, and what is made small on them."""

    loss: Loss
    X: Array  # (N, D)
    Y: Array  # (N, P)

    @classmethod
    def of(cls, loss: Loss, X: np.ndarray, Y: np.ndarray, dtype: DType) -> Rows:
        """Rows of NumPy arrays."""
        return cls(loss, jnp.asarray(X, dtype), jnp.asarray(Y, dtype))

    def __len__(self) -> int:
        return len(self.X)

    def points(self, model: DeepGP, seed: int, n: int) -> Points:
        """n draws for each row, by which hidden values of the model pass."""
        found: Points = drawn(model, jax.random.key(seed), n, len(self))
        return found

    def worth(self, model: DeepGP, seed: int, n: int = FRESH) -> float:
        """The objective of one model with n draws; −∞ where it is not a number."""
        n_rows = jnp.asarray(len(self), self.X.dtype)
        value = -float(cost(model, self.loss, self.X, self.Y, n_rows, self.points(model, seed, n)))
        return float(np.nan_to_num(value, nan=-np.inf))


@compiled(brief=True)
def drawn(model: DeepGP, key: Array, n: int, n_rows: int) -> Points:
    """The points of a model for so many rows, drawn once to serve many evaluations."""
    return model.points(key, n, n_rows, model.layers[0].Z.dtype)


def minus_objective(model: DeepGP, loss: Loss, X: Array, Y: Array, n_rows: Array, points: Points) -> Array:
    """Minus the objective of all rows, of which there are `n_rows` and these are a part."""
    return n_rows * loss(model, X, Y, points, jnp.ones((), X.dtype), n_rows)[0]


cost = compiled(minus_objective)


def climbed(models: list[DeepGP], rows: Rows, seed: int, max_iterations: int | None, watch: Watch) -> list[End]:
    """What these starts come to, the best first. All have the same layers."""
    objective = Climb(models, rows, seed)
    watch.begins(max_iterations or max(ITERATIONS, EACH * objective.vectors.shape[1]))

    def climb(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if watch.over():
            return np.full(len(V), np.nan), np.zeros_like(V)  # no start can climb further
        values, slopes = objective.slopes(V)
        watch.saw(values)
        return values, slopes

    with linalg.calm_threads(models[0].layers[0].Z.shape[1]):  # and the answer does not hang on their number
        runs = climb_together(climb, list(objective.vectors), objective.space, watch.total, TOLERANCE)
    tops = np.stack([run.vector for run in runs])
    values = np.array([-np.inf if run.status == "failed" else run.value for run in runs])
    if models[0].widths:  # a single layer draws nothing
        values = objective.ranking(tops)
    best_first = np.argsort(-values, kind="stable")
    return [End(objective.model(tops[i]), float(values[i]), int(runs[i].stats["iterations"])) for i in best_first]


class Climb:
    """The objective of several models with the same layers, as a function of their parameters (starts, P)."""

    def __init__(self, models: list[DeepGP], rows: Rows, seed: int):
        self._reading = Reading.of(models[0])
        self.vectors = np.stack([flat(model) for model in models])
        self.space, self._fixed = _space(models[0], self.vectors), (rows.X, rows.Y, rows.loss, self._reading)
        own = [rows.points(models[0], seed * 1000 + i, rows.loss.n_points) for i in range(len(models))]
        self._own = jax.tree.map(lambda *each: jnp.asarray(np.stack(each)), *own)
        self._fresh, self._dtype = rows.points(models[0], seed + 7, FRESH), rows.X.dtype
        self._apart = jax.default_backend() == "cpu"  # whose cache holds one start, but not all of them
        self._asked, self._answers = np.full_like(self.vectors, np.nan), (np.zeros(len(models)), 0 * self.vectors)

    def slopes(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (starts) and gradients, each start with draws of its own."""
        new = np.any(self._asked != V, axis=1)  # a start that has ended asks the same again
        found = _slopes(jnp.asarray(V, self._dtype), self._own, jnp.asarray(new), self._apart, *self._fixed)
        values, slopes = (np.asarray(a, dtype=float) for a in found)
        self._asked = V.copy()
        self._answers = np.where(new, values, self._answers[0]), np.where(new[:, None], slopes, self._answers[1])
        return self._answers

    def ranking(self, V: np.ndarray) -> np.ndarray:
        """Values with many draws, the same for all; nothing at all where one is not a number."""
        found = _values(jnp.asarray(V, self._dtype), self._fresh, *self._fixed)
        return np.nan_to_num(np.asarray(found), nan=-np.inf)

    def model(self, vector: np.ndarray) -> DeepGP:
        return self._reading(vector.astype(self._dtype), jnp.asarray)


def value(vector: Array, points: Points, X: Array, Y: Array, loss: Loss, reading: Reading) -> Array:
    """The objective at a vector of parameters."""
    return -minus_objective(reading(vector), loss, X, Y, jnp.asarray(len(X), X.dtype), points)


@compiled
def _slopes(
    vectors: Array, own: Points, new: Array, apart: bool, X: Array, Y: Array, loss: Loss, reading: Reading
) -> tuple[Array, Array]:
    """Of all starts at once or, `apart`, of those that ask something new one after the other (zeros for the rest)."""
    slopes = jax.value_and_grad(lambda v, points: value(v, points, X, Y, loss, reading))
    if not apart:
        return jax.vmap(slopes)(vectors, own)

    def one(start: tuple[Array, Points, Array]) -> tuple[Array, Array]:
        v, points, asks = start
        answer: tuple[Array, Array] = jax.lax.cond(asks, slopes, lambda v, _: (0 * v[0], 0 * v), v, points)
        return answer

    found: tuple[Array, Array] = jax.lax.map(one, (vectors, own, new))
    return found


@compiled(brief=True)
def _values(vectors: Array, points: Points, X: Array, Y: Array, loss: Loss, reading: Reading) -> Array:
    return jax.lax.map(lambda v: value(v, points, X, Y, loss, reading), vectors)


def _space(model: DeepGP, vectors: np.ndarray) -> Space:
    """How far each parameter may go from where the starts begin."""
    tree = jax.tree.map(lambda a: np.full(a.shape, REACH), model)
    values = [np.full(layer.mean.shape, FREE) for layer in model.layers]
    reach = flat(eqx.tree_at(lambda old: [layer.mean for layer in old.layers], tree, values))
    return Space(np.ones(vectors.shape[1]), np.array([vectors.min(0) - reach, vectors.max(0) + reach]).T)


def flat(model: DeepGP) -> np.ndarray:
    """All parameters (P) of a model."""
    return np.concatenate([np.ravel(np.asarray(a)) for a in jax.tree.leaves(model)])


@dataclass(frozen=True)
class Reading:
    """How a vector of parameters is a model. Hashable: compiled code belongs to it."""

    structure: jax.tree_util.PyTreeDef
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, model: DeepGP) -> Reading:
        leaves, structure = jax.tree.flatten(model)
        return cls(structure, tuple(a.shape for a in leaves))

    def __call__(self, vector: Array, leaf: Callable[[Array], Array] = lambda a: a) -> DeepGP:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts = namespace(vector).split(vector, ends[:-1])
        found = [leaf(a.reshape(s)) for a, s in zip(parts, self.shapes, strict=True)]
        model: DeepGP = jax.tree.unflatten(self.structure, found)
        return model


class Watch:
    """The clock of a fit of several climbs, and what it tells on the way."""

    def __init__(self, n_rows: int, n_climbs: int, limit: float, on_check: OnCheck | None):
        self.n_rows, self.n_climbs, self.limit, self.on_check = n_rows, n_climbs, limit, on_check
        self.begun, self.climbs = time.monotonic(), 0

    def begins(self, total: int) -> None:
        """The next climb, of so many iterations."""
        self.climbs, self.step, self.total, self.best = self.climbs + 1, 0, total, -np.inf

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def over(self) -> bool:
        """Each climb but the last leaves two thirds of the time to those after it."""
        limit = self.limit / 3 ** (self.n_climbs - self.climbs)
        return self.step > 0 and self.seconds() > limit  # all starts are evaluated once: there is an answer

    def saw(self, values: np.ndarray) -> None:
        self.step += 1
        self.best = max(self.best, float(np.max(np.nan_to_num(values, nan=-np.inf))) / self.n_rows)
        if self.on_check is not None and self.step % EVERY == 1:
            step = (self.climbs - 1) * self.total + min(self.step, self.total)
            self.on_check({"step": step, "objective": self.best, "validation NLL": None}, self.n_climbs * self.total)


def history(ends: list[End], best: int, n_rows: int, seconds: float) -> list[Entry]:
    """What every start came to; the one that was taken last."""
    order = [*(end for i, end in reversed(list(enumerate(ends))) if i != best), ends[best]]
    return [
        {"step": end.iterations, "objective": end.value / n_rows, "seconds": seconds, "validation NLL": None}
        for end in order
    ]
