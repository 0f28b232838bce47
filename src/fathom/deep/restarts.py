"""Learning by L-BFGS from several starts in step (DGPS thesis, 4.3 and 4.4).

The draws z of a start are fixed, so that its objective is an ordinary function. It may then be high only for these
draws: starts are ranked by more draws that none of them has seen. The first few get a Gaussian about their values
(`settle`) and are compared once more by the same objective, now with the KL of it: of a sharp peak, or where the
Gaussian reaches further than the curvature holds, little is left.

Three layers that start together seldom find what two can do. One start is therefore the fitted model of one layer less,
with a layer before the last that begins by passing its inputs on.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fathom import linalg
from fathom.arrays import Array
from fathom.deep.layer import Layer
from fathom.deep.methods import Method
from fathom.deep.model import Architecture, DeepGP, build
from fathom.deep.settle import compiled_briefly, cost, settle
from fathom.deep.steps import loss
from fathom.deep.train import OnCheck, Trained
from fathom.fit import Result, Space, climb_together

FRESH = 100  # draws that rank the starts
FEW = 3  # of them are compared once more
REACH = 3.0  # how far a parameter may go from where it began: logarithms (a factor 20), places in standard units
FREE = 10.0  # and whitened values: a few standard deviations of the prior
SHAKE = 0.5  # of the hidden whitened values of all starts but the first, which makes smooth functions of them
TOLERANCE = 1e-7
ITERATIONS, EACH = 500, 5  # of a climb: at least, and for each parameter
EVERY = 20  # evaluations between two reports


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
    """The best of several starts on standardised rows; when the time is over, where they have come to."""
    watch = _Watch(len(X), time_limit or np.inf, on_check)
    models = _starts(method, arch, X, Y, n_starts, max_iterations, seed, n_classes, time_limit)
    vectors, unravel, static = _flat(models)
    watch.total = max_iterations = max_iterations or max(ITERATIONS, EACH * vectors.shape[1])
    keys = jnp.stack([jax.random.key(seed * 1000 + i) for i in range(n_starts)])
    fixed = (jnp.asarray(X, arch.dtype), jnp.asarray(Y, arch.dtype), method, unravel, static)
    space = _space(models[0], vectors)

    def climb(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if watch.over():
            return np.full(len(V), np.nan), np.zeros_like(V)  # no start can climb further
        values, slopes = _slopes(jnp.asarray(V, arch.dtype), keys, *fixed)
        watch.saw(np.asarray(values, dtype=float))
        return np.asarray(values, dtype=float), np.asarray(slopes, dtype=float)

    with linalg.calm_threads(arch.n_inducing):  # and the answer does not hang on their number
        runs = climb_together(climb, list(vectors), space, max_iterations, TOLERANCE)
    ends = jnp.asarray(np.stack([run.vector for run in runs]), arch.dtype)
    fresh = np.nan_to_num(np.asarray(_values(ends, jax.random.key(seed + 7), *fixed)), nan=-np.inf)
    found = {int(i): eqx.combine(unravel(ends[i]), static) for i in np.argsort(fresh)[::-1][:FEW]}
    best = next(iter(found))
    if method.laplace:
        found = {i: settle(model, method, X, Y, seed) for i, model in found.items()}
        best = max(found, key=lambda i: _worth(found[i], jax.random.key(seed + 13), *fixed[:3]))
    trained = Trained(found[best], int(runs[best].stats["iterations"]))
    trained.history = _history(runs, fresh / len(X), best, watch.seconds())
    trained.status = "time limit" if watch.over() else trained.status
    if not np.isfinite(fresh[best]):
        trained.status = "diverged"
        trained.notes.append("no start could be evaluated: the model is where the first one began")
    return trained


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


def _history(runs: list[Result], fresh: np.ndarray, best: int, seconds: float) -> list[dict[str, Any]]:
    """What every start came to, by draws it has not seen; the one that was taken last."""
    order = sorted(range(len(runs)), key=lambda i: (i == best, fresh[i]))
    facts = [{"step": int(runs[i].stats["iterations"]), "objective": float(fresh[i])} for i in order]
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


def _grows(arch: Architecture) -> bool:
    """Whether a model of two layers or more can be made one of these by a layer that passes its inputs on."""
    if arch.connected or arch.mean != "linear" or isinstance(arch.kernel, (tuple, list)):
        return False
    return len(arch.widths) > 1 and arch.widths[-1] == arch.widths[-2]


def grown(shallow: DeepGP, model: DeepGP) -> DeepGP:
    """The shallower model with the last hidden layer of `model`, its values as they are, put before its last one."""
    *before, last = shallow.layers
    between = model.layers[-2]
    Z = jnp.broadcast_to(last.Z[:1], between.Z.shape)
    identity = jnp.eye(between.width, dtype=Z.dtype)
    between = eqx.tree_at(lambda old: (old.Z, old.slope, old.offset), between, (Z, identity, 0 * between.offset))
    layers = (*before, between, last)
    return eqx.tree_at(lambda old: (old.layers, old.likelihood), model, (layers, shallow.likelihood))


def _starts(
    method: Method,
    arch: Architecture,
    X: np.ndarray,
    Y: np.ndarray,
    n: int,
    max_iterations: int | None,
    seed: int,
    n_classes: int,
    time_limit: float | None,
) -> list[DeepGP]:
    """Where to begin: the last of several, if it can, with what one layer less has learnt."""
    models = [start(method, arch, X, Y, seed, i, n_classes) for i in range(n)]
    if n > 1 and _grows(arch):
        fewer, limit = replace(arch, widths=arch.widths[:-1]), None if time_limit is None else time_limit / 3
        plain = replace(method, laplace=False)
        models[-1] = grown(learn(plain, fewer, X, Y, n, max_iterations, seed, n_classes, limit).model, models[-1])
    return models


def _nearest(H: np.ndarray, Y: np.ndarray, Z: np.ndarray, width: int) -> np.ndarray:
    """Targets (W, M) of the rows nearest to the inducing inputs."""
    Y = np.where(np.isnan(Y), 0.0, Y)
    nearest = [np.argmin(((H[:, None] - z) ** 2).sum(-1), 0) for z in Z]
    return np.stack([Y[nearest[w % len(Z)], w] for w in range(width)])


def _valued(layer: Layer, values: np.ndarray, rng: np.random.Generator, i: int, shake: float) -> Layer:
    """The layer with these inducing values u = Lv; for all starts but the first, v and the lengthscales are shaken."""
    theta = layer.theta + 0.3 * (i > 0) * jnp.asarray(rng.standard_normal(layer.theta.shape), layer.theta.dtype)
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
