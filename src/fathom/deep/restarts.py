"""Learning by L-BFGS from several starts in step (DGPS thesis, 4.3 and 4.4).

The draws z of a start are fixed, so that its objective is an ordinary function. It may then be high only for these
draws: starts are ranked by more draws that none of them has seen. The first few get a Gaussian about their values
(`settle`) and are compared once more by the same objective, now with the KL of it: of a sharp peak, or where the
Gaussian reaches further than the curvature holds, little is left. Predictions average them.

Layers that start together seldom find what one layer less can do. Further starts are therefore the best models of one
layer less, with a layer before the last that begins by passing its inputs on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.special import softmax

from fathom import linalg
from fathom.arrays import Array
from fathom.deep.heldout import NEGLIGIBLE
from fathom.deep.layer import Layer
from fathom.deep.methods import Method
from fathom.deep.model import Architecture, DeepGP, build, standard_start
from fathom.deep.settle import compiled_briefly, cost, settle
from fathom.deep.steps import loss
from fathom.deep.train import OnCheck, Trained
from fathom.fit import Space, climb_together

FRESH = 100  # draws that rank the starts
FEW = 10  # of them are compared once more, and averaged
NATS = 4.0  # of the objective, by which a model of the average weighs e times less
GROWN = 3  # models of one layer less that are starts too
REACH = 3.0  # how far a parameter may go from where it began: logarithms (a factor 20), places in standard units
FREE = 10.0  # and whitened values: a few standard deviations of the prior
SPREAD = 1.0  # of the logarithms of kernel parameters of all starts but the first
SHAKE = 0.5  # and of their hidden whitened values, which makes smooth functions of them
TOLERANCE = 1e-7
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
    watch = _Watch(len(X), time_limit or np.inf, on_check)
    ends, best, shares = _climbed(task, watch), 0, np.ones(1)
    if method.laplace:
        settled = _settled(task, ends[:FEW], watch)
        ends[: len(settled)] = settled
        shares = averaged([_worth(end.model, jax.random.key(seed + 13), *task.rows()) for end in settled])
        best = int(np.argmax(shares))
    trained = Trained(ends[best].model, ends[best].iterations)
    trained.parts = [(float(shares[i]), ends[i].model) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    trained.history = _history(ends, best, len(X), watch.seconds())
    trained.status = "time limit" if watch.over() else trained.status
    if not np.isfinite(ends[best].value):
        trained.status = "diverged"
        trained.notes.append("no start could be evaluated: the model is where the first one began")
    return trained


def _settled(task: _Task, ends: list[End], watch: _Watch) -> list[End]:
    """These with a Gaussian about their values; when the time is over, no more than the first."""
    found: list[End] = []
    for end in ends:
        if found and watch.over():
            break
        found.append(end._replace(model=settle(end.model, task.method, task.X, task.Y, task.seed)))
    return found


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


def _climbed(task: _Task, watch: _Watch) -> list[End]:
    """What the starts come to, the best first."""
    models = _starts(task, watch.limit / 3)
    vectors, unravel, static = _flat(models)
    watch.total = task.max_iterations or max(ITERATIONS, EACH * vectors.shape[1])
    keys = jnp.stack([jax.random.key(task.seed * 1000 + i) for i in range(len(models))])
    fixed, dtype = (*task.rows(), unravel, static), task.arch.dtype

    def climb(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if watch.over():
            return np.full(len(V), np.nan), np.zeros_like(V)  # no start can climb further
        values, slopes = _slopes(jnp.asarray(V, dtype), keys, *fixed)
        watch.saw(np.asarray(values, dtype=float))
        return np.asarray(values, dtype=float), np.asarray(slopes, dtype=float)

    with linalg.calm_threads(task.arch.n_inducing):  # and the answer does not hang on their number
        runs = climb_together(climb, list(vectors), _space(models[0], vectors), watch.total, TOLERANCE)
    tops = jnp.asarray(np.stack([run.vector for run in runs]), dtype)
    values = np.array([-np.inf if run.status == "failed" else run.value for run in runs])
    if task.arch.widths:  # a single layer draws nothing
        values = np.nan_to_num(np.asarray(_values(tops, jax.random.key(task.seed + 7), *fixed)), nan=-np.inf)
    best_first = np.argsort(-values, kind="stable")
    found = [eqx.combine(unravel(tops[i]), static) for i in best_first]
    order = zip(found, best_first, strict=True)
    return [End(model, float(values[i]), int(runs[i].stats["iterations"])) for model, i in order]


class _Watch:
    """The clock of a climb, and what it tells on the way."""

    total = 0  # iterations, once known

    def __init__(self, n_rows: int, limit: float, on_check: OnCheck | None):
        self.n_rows, self.limit, self.on_check = n_rows, limit, on_check
        self.begun, self.step, self.best = time.monotonic(), 0, -np.inf

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def over(self) -> bool:
        return self.step > 0 and self.seconds() > self.limit  # all starts are evaluated once: there is an answer

    def saw(self, values: np.ndarray) -> None:
        self.step += 1
        self.best = max(self.best, float(np.max(np.nan_to_num(values, nan=-np.inf))) / self.n_rows)
        if self.on_check is not None and self.step % EVERY == 1:
            entry = {"step": min(self.step, self.total), "objective": self.best, "validation NLL": None}
            self.on_check(entry, self.total)


def _history(ends: list[End], best: int, n_rows: int, seconds: float) -> list[dict[str, Any]]:
    """What every start came to; the one that was taken last."""
    order = [*(end for i, end in reversed(list(enumerate(ends))) if i != best), ends[best]]
    facts = [{"step": end.iterations, "objective": end.value / n_rows} for end in order]
    return [fact | {"seconds": seconds, "validation NLL": None} for fact in facts]


def _value(vector: Array, key: Any, n: int, X: Array, Y: Array, method: Method, unravel: Any, static: Any) -> Array:
    model, rows = eqx.combine(unravel(vector), static), jnp.asarray(len(X), X.dtype)
    return -rows * loss(model, method, X, Y, key, jnp.ones((), X.dtype), rows, None, n)[0]


@eqx.filter_jit
def _slopes(vectors: Array, keys: Any, *fixed: Any) -> tuple[Array, Array]:
    """Objectives (starts) and their gradients, each start with draws of its own."""
    return jax.vmap(jax.value_and_grad(lambda v, k: _value(v, k, fixed[2].n_points, *fixed)))(vectors, keys)


@compiled_briefly
def _values(vectors: Array, key: Any, *fixed: Any) -> Array:
    """Objectives with many draws, the same for all."""
    return jax.lax.map(lambda v: _value(v, key, FRESH, *fixed), vectors)


def _worth(model: DeepGP, key: Any, X: Array, Y: Array, method: Method) -> float:
    """The objective of one model with many draws; nothing at all where it is not a number."""
    value = -cost(model, method, X, Y, jnp.asarray(float(len(X)), X.dtype), key, FRESH)
    return float(np.nan_to_num(value, nan=-np.inf))


def _space(model: DeepGP, vectors: np.ndarray) -> Space:
    """How far each parameter may go from where the starts begin."""
    tree = jax.tree.map(lambda a: jnp.full(a.shape, REACH), eqx.filter(model, eqx.is_inexact_array))
    values = [jnp.full(layer.mean.shape, FREE) for layer in model.layers]
    tree = eqx.tree_at(lambda old: [layer.mean for layer in old.layers], tree, values)
    reach = np.asarray(ravel_pytree(tree)[0])
    return Space(np.ones(vectors.shape[1]), np.array([vectors.min(0) - reach, vectors.max(0) + reach]).T)


def _flat(models: list[DeepGP]) -> tuple[np.ndarray, Any, Any]:
    """Parameter vectors (starts, P), how to read one, and everything that is no parameter."""
    parts = [eqx.partition(model, eqx.is_inexact_array) for model in models]
    flat = [ravel_pytree(dynamic) for dynamic, _ in parts]
    return np.stack([np.asarray(vector) for vector, _ in flat]), flat[0][1], parts[0][1]


def start(
    method: Method, arch: Architecture, X: np.ndarray, Y: np.ndarray, seed: int, i: int, n_classes: int = 0
) -> DeepGP:
    """A smart start, the first as it is and the others shaken: hidden layers pass their inputs on, and the values of
    the last one are the targets nearest to its inducing inputs."""
    model = build(jax.random.key(seed * 1000 + i), arch, method, X, Y, n_classes)
    rng, layers, H = np.random.default_rng([seed, i]), [], np.asarray(X, dtype=float)
    for depth, layer in enumerate(model.layers):
        last = depth == len(model.layers) - 1
        Z = np.asarray(layer.Z, dtype=float)
        if last:
            values = np.zeros((layer.width, Z.shape[1])) if n_classes else _nearest(H, Y, Z, layer.width)
        else:
            passed = Z[:, :, np.arange(layer.width) % Z.shape[2]]
            values = np.stack([passed[u % len(Z), :, u] for u in range(layer.width)]) * (layer.slope is None)
        layers.append(_valued(layer, values, rng, i, 0.0 if last else SHAKE))
        slope = np.eye(H.shape[1], layer.width) if layer.slope is None else np.asarray(layer.slope)
        H = np.hstack([H @ slope, X]) if arch.connected and not last else H @ slope
    return eqx.tree_at(lambda old: old.layers, model, tuple(layers))


def _grows(arch: Architecture, d: int) -> bool:
    """Whether a model of one layer less can be made one of these by a layer that passes its inputs on."""
    if not arch.widths or arch.connected or arch.mean != "linear" or isinstance(arch.kernel, (tuple, list)):
        return False
    return arch.widths[-1] == (d, *arch.widths)[-2]


def grown(shallow: DeepGP, model: DeepGP) -> DeepGP:
    """The shallower model with the last hidden layer of `model`, its values as they are, put before its last one."""
    *before, last = shallow.layers
    between = model.layers[-2]
    Z = jnp.broadcast_to(last.Z[:1], between.Z.shape)
    # between inducing inputs that lie several lengthscales apart nothing would be passed on
    theta = standard_start(between.form.kernel, between.width, spread=max(1.0, float(jnp.std(Z))))
    own = (
        Z,
        jnp.eye(between.width, dtype=Z.dtype),
        0 * between.offset,
        jnp.broadcast_to(jnp.asarray(theta, Z.dtype), between.theta.shape),
    )
    between = eqx.tree_at(lambda old: (old.Z, old.slope, old.offset, old.theta), between, own)
    layers = (*before, between, last)
    return eqx.tree_at(lambda old: (old.layers, old.likelihood), model, (layers, shallow.likelihood))


def _starts(task: _Task, limit: float) -> list[DeepGP]:
    """Where to begin: at random and, if several starts are asked for, with what one layer less has learnt."""
    same = task.method, task.arch, task.X, task.Y, task.seed
    models = [start(*same, i, task.n_classes) for i in range(task.n_starts)]
    if task.n_starts > 1 and _grows(task.arch, task.X.shape[1]):
        fewer = replace(task, arch=replace(task.arch, widths=task.arch.widths[:-1]))
        ends = _climbed(fewer, _Watch(len(task.X), limit, None))
        models += [grown(end.model, models[0]) for end in ends[:GROWN]]
    return models


def _nearest(H: np.ndarray, Y: np.ndarray, Z: np.ndarray, width: int) -> np.ndarray:
    """Targets (W, M) of the rows nearest to the inducing inputs."""
    Y = np.where(np.isnan(Y), 0.0, Y)
    nearest = [np.argmin(((H[:, None] - z) ** 2).sum(-1), 0) for z in Z]
    return np.stack([Y[nearest[w % len(Z)], w] for w in range(width)])


def _valued(layer: Layer, values: np.ndarray, rng: np.random.Generator, i: int, shake: float) -> Layer:
    """The layer with these inducing values u = Lv; for all starts but the first, v and the kernel are shaken."""
    theta = layer.theta + SPREAD * (i > 0) * jnp.asarray(rng.standard_normal(layer.theta.shape), layer.theta.dtype)
    layer = eqx.tree_at(lambda old: old.theta, layer, theta)
    mean = _whitened(layer, jnp.asarray(values, layer.mean.dtype))
    mean = mean + shake * (i > 0) * jnp.asarray(rng.standard_normal(mean.shape), mean.dtype)
    return eqx.tree_at(lambda old: old.mean, layer, mean)


@compiled_briefly
def _whitened(layer: Layer, values: Array) -> Array:
    """v = L⁻¹u (W, M), with jitter enough for any u."""
    half = linalg.whitening(layer._cross(layer.Z, layer.Z), 1e-3)
    half = jnp.broadcast_to(half, (layer.width, *half.shape[1:]))
    return jnp.einsum("wij,wj->wi", half, values)
