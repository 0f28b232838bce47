"""Where a climb begins (DGPS thesis, 4.3): smart starts, shaken ones, and grown models of one layer less."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.layer import Layer
from fathom.deep.methods import Method
from fathom.deep.model import Architecture, DeepGP, build, standard_start

SPREAD = 1.0  # of the logarithms of kernel parameters of all starts but the first
SHAKE = 0.5  # and of their hidden whitened values, which makes smooth functions of them


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


def grows(arch: Architecture, d: int) -> bool:
    """Whether a model of one layer less can be made one of these by a layer that passes its inputs on."""
    if not arch.widths or arch.connected or arch.mean != "linear" or isinstance(arch.kernel, (tuple, list)):
        return False
    return arch.widths[-1] == (d, *arch.widths)[-2]


def grown(shallow: DeepGP, model: DeepGP) -> DeepGP:
    """The shallower model with the last hidden layer of `model`, its values as they are, put before its last one."""
    *before, last = shallow.layers
    between = model.layers[-2]
    Z = np.broadcast_to(np.asarray(last.Z)[:1], between.Z.shape)
    # between inducing inputs that lie several lengthscales apart nothing would be passed on
    theta = standard_start(between.form.kernel, between.width, spread=max(1.0, float(np.std(Z))))
    passing = (Z, np.eye(between.width), np.zeros(between.width), np.broadcast_to(theta, between.theta.shape))
    own = tuple(jnp.asarray(a, between.Z.dtype) for a in passing)
    between = eqx.tree_at(lambda old: (old.Z, old.slope, old.offset, old.theta), between, own)
    layers = (*before, between, last)
    return eqx.tree_at(lambda old: (old.layers, old.likelihood), model, (layers, shallow.likelihood))


def _nearest(H: np.ndarray, Y: np.ndarray, Z: np.ndarray, width: int) -> np.ndarray:
    """Targets (W, M) of the rows nearest to the inducing inputs."""
    Y = np.where(np.isnan(Y), 0.0, Y)
    nearest = [np.argmin(((H[:, None] - z) ** 2).sum(-1), 0) for z in Z]
    return np.stack([Y[nearest[w % len(Z)], w] for w in range(width)])


def _valued(layer: Layer, values: np.ndarray, rng: np.random.Generator, i: int, shake: float) -> Layer:
    """The layer with these inducing values u = Lv; for all starts but the first, v and the kernel are shaken."""
    dtype = layer.mean.dtype
    theta = np.asarray(layer.theta) + SPREAD * (i > 0) * rng.standard_normal(layer.theta.shape)
    layer = eqx.tree_at(lambda old: old.theta, layer, jnp.asarray(theta, dtype))
    mean = np.asarray(_whitened(layer, jnp.asarray(values, dtype)))
    mean = mean + shake * (i > 0) * rng.standard_normal(mean.shape)
    return eqx.tree_at(lambda old: old.mean, layer, jnp.asarray(mean, dtype))


@compiled(brief=True)
def _whitened(layer: Layer, values: Array) -> Array:
    """v = L⁻¹u (W, M), with jitter enough for any u."""
    half = linalg.whitening(layer._cross(layer.Z, layer.Z), 1e-3)
    half = jnp.broadcast_to(half, (layer.width, *half.shape[1:]))
    return jnp.einsum("wij,wj->wi", half, values)
