"""Learning by L-BFGS from several starts in step (DGPS thesis, 4.3 and 4.4).

The draws z of a start are fixed, so that its objective is an ordinary function. It may then be high only for these
draws: starts are ranked by more draws that none of them has seen. The first few get a Gaussian about their values
(`settle`) and are compared once more by the same objective, now with the KL of it: of a sharp peak, or where the
Gaussian reaches further than the curvature holds, little is left. Predictions average them.

Layers that start together seldom find what one layer less can do. Further starts are therefore the best models of one
layer less, with a layer before the last that begins by passing its inputs on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.base.optimise import Space, climb_together
from fathom.deep.heldout import NEGLIGIBLE
from fathom.deep.methods import Method
from fathom.deep.model import Architecture, DeepGP
from fathom.deep.propagate import Points, drawn
from fathom.deep.settle import cost, minus_objective, settle
from fathom.deep.starts import grown, grows, start
from fathom.deep.training.loop import OnCheck, Trained

FRESH = 100  # draws that rank the starts
FEW = 10  # of them are compared once more, and averaged
NATS = 4.0  # of the objective, by which a model of the average weighs e times less
GROWN = 3  # models of one layer less that are starts too
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
class _Task:
    """What all climbs of a fit share, but for the number of layers."""

    method: Method
    arch: Architecture
    X: np.ndarray
    Y: np.ndarray
    n_starts: int
    max_iterations: int | None
    seed: int
    n_classes: int

    def rows(self) -> tuple[Array, Array, Method]:
        return jnp.asarray(self.X, self.arch.dtype), jnp.asarray(self.Y, self.arch.dtype), self.method

    def points(self, seed: int, n: int) -> Points:
        """n draws for each row, by which hidden values pass."""
        widths = self.arch.widths
        points: Points = drawn(jax.random.key(seed), n if widths else 1, len(self.X), widths, self.arch.dtype)
        return points

    def start(self, i: int) -> DeepGP:
        return start(self.method, self.arch, self.X, self.Y, self.seed, i, self.n_classes)

    def stages(self) -> list[_Task]:
        """Climbs of one layer more each, this one last, where models of one can be starts of the next."""
        if self.n_starts == 1 or not grows(self.arch, self.X.shape[1]):
            return [self]
        return [*replace(self, arch=replace(self.arch, widths=self.arch.widths[:-1])).stages(), self]


def learn(
    method: Method,
    arch: Architecture,
    X: np.ndarray,
    Y: np.ndarray,
    n_starts: int,
    max_iterations: int | None,
    seed: int,
    n_classes: int = 0,
    time_limit: float | None = None,
    on_check: OnCheck | None = None,
) -> Trained:
    """The best of several starts on standardised rows, averaged; when the time is over, where they have come to."""
    task = _Task(method, arch, X, Y, n_starts, max_iterations, seed, n_classes)
    stages = task.stages()
    watch = _Watch(len(X), len(stages), time_limit or np.inf, on_check)
    ends: list[End] = []
    for stage in stages:
        ends = _climbed(stage, ends[:GROWN], watch)
    ends, shares = _averaged_ends(task, ends, watch) if method.laplace else (ends, np.ones(1))
    best = int(np.argmax(shares))
    trained = Trained(ends[best].model, ends[best].iterations)
    trained.parts = [(float(shares[i]), ends[i].model) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    trained.history = _history(ends, best, len(X), watch.seconds())
    trained.status = "time limit" if watch.over() else trained.status
    if not np.isfinite(ends[best].value):
        trained.status = "diverged"
        trained.notes.append("no start could be evaluated: the model is where the first one began")
    return trained


def _averaged_ends(task: _Task, ends: list[End], watch: _Watch) -> tuple[list[End], np.ndarray]:
    """The ends, of which the first have a Gaussian, and how much each of these weighs; when the time is over, no more
    than the first one gets it."""
    settled: list[End] = []
    for end in ends[:FEW]:
        if settled and watch.over():
            break
        settled.append(end._replace(model=settle(end.model, task.method, task.X, task.Y, task.seed)))
    shares = averaged([_worth(end.model, task) for end in settled])
    return [*settled, *ends[len(settled) :]], shares


def averaged(worth: Sequence[float]) -> np.ndarray:
    """Weights of models with these objectives.

    Of Gaussians that hardly overlap, the mixture with weights ∝ exp(objective) has the highest objective. That is for
    rows that chose nothing; these have made the models, and `NATS` of their objective are worth one.
    """
    if not np.isfinite(worth).any():
        return np.eye(len(worth))[0]
    shares = softmax(np.asarray(worth, dtype=float) / NATS)
    shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
    return shares / shares.sum()


def _climbed(task: _Task, shallower: list[End], watch: _Watch) -> list[End]:
    """What the starts come to, the best first; the last of them are these models of one layer less, grown."""
    models = [task.start(i) for i in range(task.n_starts)]
    objective = _Objective(task, models + [grown(end.model, models[0]) for end in shallower])
    watch.begins(task.max_iterations or max(ITERATIONS, EACH * objective.vectors.shape[1]))

    def climb(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if watch.over():
            return np.full(len(V), np.nan), np.zeros_like(V)  # no start can climb further
        values, slopes = objective.slopes(V)
        watch.saw(values)
        return values, slopes

    with linalg.calm_threads(task.arch.n_inducing):  # and the answer does not hang on their number
        runs = climb_together(climb, list(objective.vectors), objective.space, watch.total, TOLERANCE)
    tops = np.stack([run.vector for run in runs])
    values = np.array([-np.inf if run.status == "failed" else run.value for run in runs])
    if task.arch.widths:  # a single layer draws nothing
        values = objective.ranking(tops)
    best_first = np.argsort(-values, kind="stable")
    return [End(objective.model(tops[i]), float(values[i]), int(runs[i].stats["iterations"])) for i in best_first]


class _Objective:
    """The objective of several models with the same layers, as a function of their parameters (starts, P)."""

    def __init__(self, task: _Task, models: list[DeepGP]):
        self._reading = _Reading.of(models[0])
        self.vectors = np.stack([_flat(model) for model in models])
        self.space, self._fixed = _space(models[0], self.vectors), (*task.rows(), self._reading)
        own = [task.points(task.seed * 1000 + i, task.method.n_points) for i in range(len(models))]
        self._own = jax.tree.map(lambda *each: jnp.asarray(np.stack(each)), *own)
        self._fresh, self._dtype = task.points(task.seed + 7, FRESH), task.arch.dtype
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


class _Watch:
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


def _history(ends: list[End], best: int, n_rows: int, seconds: float) -> list[dict[str, Any]]:
    """What every start came to; the one that was taken last."""
    order = [*(end for i, end in reversed(list(enumerate(ends))) if i != best), ends[best]]
    facts = [{"step": end.iterations, "objective": end.value / n_rows} for end in order]
    return [fact | {"seconds": seconds, "validation NLL": None} for fact in facts]


def _value(vector: Array, points: Points, X: Array, Y: Array, method: Method, reading: _Reading) -> Array:
    return -minus_objective(reading(vector), method, X, Y, jnp.asarray(len(X), X.dtype), points)


@compiled
def _slopes(vectors: Array, own: Points, new: Array, apart: bool, *fixed: Any) -> tuple[Array, Array]:
    """Of all starts at once or, `apart`, of those that ask something new one after the other (zeros for the rest)."""
    slopes = jax.value_and_grad(lambda v, points: _value(v, points, *fixed))
    if not apart:
        return jax.vmap(slopes)(vectors, own)

    def one(start: tuple[Array, Points, Array]) -> tuple[Array, Array]:
        v, points, asks = start
        answer: tuple[Array, Array] = jax.lax.cond(asks, slopes, lambda v, _: (0 * v[0], 0 * v), v, points)
        return answer

    found: tuple[Array, Array] = jax.lax.map(one, (vectors, own, new))
    return found


@compiled(brief=True)
def _values(vectors: Array, points: Points, *fixed: Any) -> Array:
    return jax.lax.map(lambda v: _value(v, points, *fixed), vectors)


def _worth(model: DeepGP, task: _Task) -> float:
    """The objective of one model with many draws; nothing at all where it is not a number."""
    X, Y, method = task.rows()
    value = -float(cost(model, method, X, Y, jnp.asarray(len(X), X.dtype), task.points(task.seed + 13, FRESH)))
    return float(np.nan_to_num(value, nan=-np.inf))


def _space(model: DeepGP, vectors: np.ndarray) -> Space:
    """How far each parameter may go from where the starts begin."""
    tree = jax.tree.map(lambda a: np.full(a.shape, REACH), model)
    values = [np.full(layer.mean.shape, FREE) for layer in model.layers]
    reach = _flat(eqx.tree_at(lambda old: [layer.mean for layer in old.layers], tree, values))
    return Space(np.ones(vectors.shape[1]), np.array([vectors.min(0) - reach, vectors.max(0) + reach]).T)


def _flat(model: DeepGP) -> np.ndarray:
    """All parameters (P) of a model."""
    return np.concatenate([np.ravel(np.asarray(a)) for a in jax.tree.leaves(model)])


@dataclass(frozen=True)
class _Reading:
    """How a vector of parameters is a model. Hashable: compiled code belongs to it."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, model: DeepGP) -> _Reading:
        leaves, structure = jax.tree.flatten(model)
        return cls(structure, tuple(a.shape for a in leaves))

    def __call__(self, vector: Any, leaf: Callable[[Any], Any] = lambda a: a) -> DeepGP:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts: Callable[..., list[Any]] = np.split if isinstance(vector, np.ndarray) else jnp.split
        found = [leaf(a.reshape(s)) for a, s in zip(parts(vector, ends[:-1]), self.shapes, strict=True)]
        model: DeepGP = jax.tree.unflatten(self.structure, found)
        return model
