"""Models to start from: what a user asks for, what a method adds, and the data.

Widths () is a single layer: the sparse GPs. Hidden layers start as the principal components of what reaches them
(narrowing), the identity (equal widths) or the identity padded with zeros (widening), plus a small process.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.layer import Form, Layer, OrthogonalPoints
from fathom.deep.model import DeepGP, Extractor
from fathom.deep.propagate import Draws, Passing
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse
from fathom.likelihoods import Bernoulli, Gaussian, Likelihood, Softmax, noise_floor
from fathom.sparse.inducing import centres, standard_start

JITTER = {"float32": 1e-4, "float64": 1e-6}  # relative to the kernel's variance; 1e-6 is NaN in float32 at M = 300
K_MEANS_ROWS = 20_000  # inducing inputs come from at most so many rows


@dataclass(frozen=True)
class Architecture:
    """What a user asks of a model, before any data."""

    widths: tuple[int, ...] = ()
    n_inducing: int = 100
    kernel: str | Kernel | tuple[str | Kernel, ...] | None = None  # for each layer, or one for all
    shared: bool = False  # inducing inputs and kernel within a layer
    connected: bool = False
    mean: str = "linear"  # of hidden layers: "linear" or "zero"
    dtype: str = "float32"

    def n_numbers(self, d: int) -> int:
        """Coordinates and values of all inducing points, with d inputs and one output."""
        inputs = [d, *(w + d * self.connected for w in self.widths)]
        units = zip(inputs, (*self.widths, 1), strict=True)
        return self.n_inducing * sum((1 if self.shared else w) * i + w for i, w in units)

    def at_least(self, d: int) -> int:
        """Numbers that a model with d inputs has in any case: with one inducing point, and the slopes of the means."""
        inputs = [d, *(w + d * self.connected for w in self.widths)]
        slopes = sum(map(math.prod, zip(inputs, self.widths, strict=False))) if self.mean == "linear" else 0
        return replace(self, n_inducing=1).n_numbers(d) + slopes


def by_draws(key: Array, widths: tuple[int, ...], dtype: str) -> Passing:
    """Hidden values pass as draws."""
    return Draws()


@dataclass(frozen=True)
class Beginning:
    """What a method says of a model before training: how q(v) is held and where it begins."""

    q: Literal["full", "diagonal", "point"] = "full"
    kernel: str = "SE"  # of layers for which the user named none
    noise: float = 0.1  # variance, in units of the target's
    longest: float = math.inf  # lengthscales begin at √D, at most at this
    hidden_sd: float = 1.0  # standard deviation of hidden q(v)
    hidden_noise: float | None = None  # variance of the hidden outputs' own noise; None: they have none
    n_orthogonal: int = 0  # points that move the mean only
    passing: Callable[[Array, tuple[int, ...], str], Passing] = by_draws


def build(
    key: Array,
    arch: Architecture,
    method: Beginning,
    X: np.ndarray,
    Y: np.ndarray,
    n_classes: int = 0,
    features: Extractor | None = None,
) -> DeepGP:
    """A model ready to be trained on standardised data X (N, D), Y (N, P)."""
    rng, H = np.random.default_rng(int(_seed(key))), X
    if features is not None:
        H = np.asarray(jax.vmap(features)(jnp.asarray(X, arch.dtype)), dtype=float)
    H = H[rng.choice(len(H), K_MEANS_ROWS, replace=False)] if len(H) > K_MEANS_ROWS else H
    first, Z = H, centres(H, arch.n_inducing, rng)
    top = Z
    kernels = _kernels(arch, method)
    layers, last = [], len(arch.widths)
    for depth, width in enumerate((*arch.widths, _n_latent(Y, n_classes))):
        slope = None if depth == last or arch.mean == "zero" else principal(H, width)
        layer = _layer(arch, method, kernels[depth], Z, width, slope, depth < last, rng)
        layers.append(
            layer
            if depth < last or not method.n_orthogonal
            else _with_orthogonal(layer, arch, method.n_orthogonal, H, rng)
        )
        if depth < last:
            step = np.zeros((H.shape[1], width)) if slope is None else slope
            H, Z = H @ step, Z @ step
            if arch.connected:
                H, Z = np.hstack([H, first]), np.hstack([Z, top])
    passing = method.passing(key, arch.widths, arch.dtype)
    return DeepGP(tuple(layers), passing, _likelihood(arch, method, Y, n_classes), features, arch.connected)


@compiled(brief=True)
def _seed(key: Array) -> Array:
    return jax.random.randint(key, (), 0, 2**31 - 1)


def _n_latent(Y: np.ndarray, n_classes: int) -> int:
    return Y.shape[1] if n_classes <= 2 else n_classes


def _kernels(arch: Architecture, method: Beginning) -> list[Kernel]:
    given = arch.kernel if isinstance(arch.kernel, (tuple, list)) else (arch.kernel,) * (len(arch.widths) + 1)
    if len(given) != len(arch.widths) + 1:
        raise ValueError(f"{len(given)} kernels for {len(arch.widths) + 1} layers: give one, or one for each layer")
    found = [k if k is not None else method.kernel for k in given]
    return [parse(k) if isinstance(k, str) else k for k in found]


def _layer(
    arch: Architecture,
    method: Beginning,
    kernel: Kernel,
    Z: np.ndarray,
    width: int,
    slope: np.ndarray | None,
    hidden: bool,
    rng: np.random.Generator,
) -> Layer:
    m, d = Z.shape
    kernel = bind(kernel, d)
    units = 1 if arch.shared or width == 1 else width
    theta = np.tile(standard_start(kernel, d, method.longest), (units, 1))
    # the units of a layer would stay alike if they began so
    spread = 1e-2 * rng.standard_normal((units, m, d)) if units > 1 else np.zeros((1, m, d))
    theta, Z, mean = (_cast(a, arch) for a in (theta, Z + spread, np.zeros((width, m))))
    root = _root(method, arch, (width, m), method.hidden_sd if hidden else 1.0)
    slope = None if slope is None else _cast(slope, arch)
    own = method.hidden_noise if hidden else None
    noise = None if own is None else _cast(np.full(width, math.log(own)), arch)
    offset = _cast(np.zeros(width), arch)
    return Layer(theta, Z, mean, root, slope, offset, None, noise, Form(kernel), JITTER[arch.dtype])


def _root(method: Beginning, arch: Architecture, shape: tuple[int, int], sd: float) -> Array | None:
    """R of q(v) = N(m, RRᵀ) for units and points (W, M), as a layer holds it."""
    logs = np.full(shape, math.log(sd))
    if method.q == "point":
        return None
    return _cast(np.stack([np.diag(row) for row in logs]) if method.q == "full" else logs, arch)


def _with_orthogonal(layer: Layer, arch: Architecture, n: int, H: np.ndarray, rng: np.random.Generator) -> Layer:
    Z = centres(H, n, rng)
    orthogonal = OrthogonalPoints(
        _cast(np.tile(Z, (len(layer.Z), 1, 1)), arch), _cast(np.zeros((layer.width, len(Z))), arch)
    )
    return eqx.tree_at(lambda old: old.orthogonal, layer, orthogonal, is_leaf=lambda x: x is None)


def _cast(values: np.ndarray, arch: Architecture) -> Array:
    return jnp.asarray(values, arch.dtype)


def _likelihood(arch: Architecture, method: Beginning, Y: np.ndarray, n_classes: int) -> Likelihood:
    if n_classes == 2:
        return Bernoulli()
    if n_classes > 2:
        return Softmax.of(n_classes, dtype=arch.dtype)
    p = Y.shape[1]
    mixing = None if p == 1 else _cast(np.eye(p), arch)
    return Gaussian(_cast(np.full(p, math.log(method.noise)), arch), mixing, _cast(noise_floor(Y), arch))


def principal(H: np.ndarray, width: int) -> np.ndarray:
    """The mean function of a hidden layer (D, W): principal directions, the identity, or the identity padded."""
    d = H.shape[1]
    if width >= d:
        return np.eye(d, width)
    _, _, directions = np.linalg.svd(H[: min(len(H), 5000)], full_matrices=False)
    directions = directions[:width]
    return (directions * np.sign(directions[np.arange(width), np.abs(directions).argmax(1)])[:, None]).T
