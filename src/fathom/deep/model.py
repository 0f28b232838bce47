"""The one deep architecture: layers, sites and a likelihood; no inference. `build` starts it from data.

Widths () is a single layer: the sparse GPs. Hidden layers start as the principal components of what reaches them
(narrowing), the identity (equal widths) or the identity padded with zeros (widening), plus a small process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.energy import posterior, through
from fathom.deep.layer import Far, Form, Layer, Moments, Seen
from fathom.deep.methods import Method
from fathom.deep.propagate import Points, Rule, Sites, make_sites, propagate, samples
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel, walk
from fathom.kernels.stationary import Radial
from fathom.kernels.syntax import parse
from fathom.kernels.vector import n_free, slots, to_vector
from fathom.likelihoods import Bernoulli, Gaussian, Likelihood, Softmax

JITTER = {"float32": 1e-4, "float64": 1e-6}  # relative to the kernel's variance; 1e-6 is NaN in float32 at M = 300
K_MEANS_ROWS = 20_000  # inducing inputs come from at most so many rows


class DeepGP(eqx.Module):
    """Layers of processes, how hidden values pass between them, and the likelihood of what comes out."""

    layers: tuple[Layer, ...]
    sites: Sites | None
    likelihood: Likelihood
    features: Any  # a module applied to each row before the first layer, or None
    connected: bool = eqx.field(static=True)
    by_moments: bool = eqx.field(static=True, default=False)  # hidden values pass as Gaussians, see `energy`

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the hidden layers."""
        return tuple(layer.width for layer in self.layers[:-1])

    @property
    def draws(self) -> bool:
        """Whether hidden values pass as random draws."""
        return bool(self.widths) and self.sites is None and not self.by_moments

    def represent(self, X: Array) -> Array:
        """What the first layer sees of the rows."""
        return X if self.features is None else jax.vmap(self.features)(X)

    def points(self, key: Any, n_samples: int, n_rows: int, dtype: Any) -> Points:
        """Sigma points when the model has some, samples otherwise; a single layer and moments need neither."""
        if not self.widths or self.by_moments:
            return (), jnp.zeros(1, dtype)
        if self.sites is not None:
            return self.sites.points()
        return samples(key, n_samples, n_rows, self.widths, dtype)

    def __call__(
        self, X: Array, key: Any, n_samples: int = 1, common: bool = False
    ) -> tuple[Moments, Array, Seen | None]:
        """Moments (S, N, Q) of the latent functions, log weights (S), and what the last layer saw.

        With `common` draws for all rows, the answer at a row does not depend on the others and is smooth in it.
        """
        return self.at(X, self.points(key, n_samples, 1 if common else len(X), X.dtype))

    def at(self, X: Array, points: Points) -> tuple[Moments, Array, Seen | None]:
        """The same, hidden values passing by points that were drawn before."""
        X, (sites, log_weights) = self.represent(X), points
        if self.by_moments:
            f = through(self.layers, [posterior(layer) for layer in self.layers], X, self.connected)
            return Moments(f.mean[None], f.var[None]), log_weights, None
        moments, seen, _ = propagate(self.layers, X, sites, self.connected)
        return moments, log_weights, seen

    def kl(self, density: bool = False, seen: Seen | None = None) -> Array:
        """Of all layers; `seen`: by the last one."""
        hidden = sum((layer.kl(density) for layer in self.layers[:-1]), jnp.zeros(()))
        return hidden + self.layers[-1].kl(density, seen)


@dataclass(frozen=True)
class Architecture:
    """What a model is made of, before any data."""

    widths: tuple[int, ...] = ()
    n_inducing: int = 100
    kernel: str | Kernel | tuple[str | Kernel, ...] | None = None  # for each layer, or one for all
    rule: Rule = "qr3"
    n_points: int = 8
    shared: bool = False  # inducing inputs and kernel within a layer
    connected: bool = False
    mean: str = "linear"  # of hidden layers: "linear" or "zero"
    n_far: int = 300
    dtype: str = "float32"

    def n_numbers(self, d: int) -> int:
        """Coordinates and values of all inducing points, with d inputs and one output."""
        inputs = [d, *(w + d * self.connected for w in self.widths)]
        units = zip(inputs, (*self.widths, 1), strict=True)
        return self.n_inducing * sum((1 if self.shared else w) * i + w for i, w in units)


def build(
    key: Any, arch: Architecture, method: Method, X: np.ndarray, Y: np.ndarray, n_classes: int = 0, features: Any = None
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
        layers.append(layer if depth < last or not method.far else _with_far(layer, arch, H, rng))
        if depth < last:
            step = np.zeros((H.shape[1], width)) if slope is None else slope
            H, Z = H @ step, Z @ step
            if arch.connected:
                H, Z = np.hstack([H, first]), np.hstack([Z, top])
    sites = None
    if method.points == "sigma" and arch.widths:
        sites = make_sites(key, arch.widths, arch.n_points, arch.rule, arch.dtype)
    likelihood, moments = _likelihood(arch, method, Y, n_classes), method.points == "moments"
    return DeepGP(tuple(layers), sites, likelihood, features, arch.connected, moments)


@compiled(brief=True)
def _seed(key: Any) -> Array:
    return jax.random.randint(key, (), 0, 2**31 - 1)


def _n_latent(Y: np.ndarray, n_classes: int) -> int:
    return Y.shape[1] if n_classes <= 2 else n_classes


def _kernels(arch: Architecture, method: Method) -> list[Kernel]:
    given = arch.kernel if isinstance(arch.kernel, (tuple, list)) else (arch.kernel,) * (len(arch.widths) + 1)
    if len(given) != len(arch.widths) + 1:
        raise ValueError(f"{len(given)} kernels for {len(arch.widths) + 1} layers: give one, or one for each layer")
    found = [k if k is not None else method.kernel for k in given]
    return [parse(k) if isinstance(k, str) else k for k in found]


def _layer(
    arch: Architecture,
    method: Method,
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
    sd = method.hidden_sd if hidden else 1.0
    root: np.ndarray | None = np.full((width, m), math.log(sd))
    if method.q == "full":
        root = np.stack([np.diag(row) for row in root])  # type: ignore[union-attr]
    noise = (
        None
        if method.hidden_noise is None or not hidden
        else _cast(np.full(width, math.log(method.hidden_noise)), arch)
    )
    # the units of a layer would stay alike if they began so
    spread = 1e-2 * rng.standard_normal((units, m, d)) if units > 1 else np.zeros((1, m, d))
    theta, Z, mean, root = (_cast(a, arch) for a in (theta, Z + spread, np.zeros((width, m)), root))
    slope = None if slope is None else _cast(slope, arch)
    root = None if method.q == "point" else root
    offset = _cast(np.zeros(width), arch)
    return Layer(theta, Z, mean, root, slope, offset, None, noise, Form(kernel), JITTER[arch.dtype])


def _with_far(layer: Layer, arch: Architecture, H: np.ndarray, rng: np.random.Generator) -> Layer:
    Z = centres(H, arch.n_far, rng)
    far = Far(_cast(np.tile(Z, (len(layer.Z), 1, 1)), arch), _cast(np.zeros((layer.width, len(Z))), arch))
    return eqx.tree_at(lambda old: old.far, layer, far, is_leaf=lambda x: x is None)


def _cast(values: Any, arch: Architecture) -> Array:
    return jnp.asarray(np.asarray(values), arch.dtype)


def standard_start(kernel: Kernel, d: int, longest: float = math.inf, spread: float = 1.0) -> np.ndarray:
    """Parameters as given; lengthscales that were not, √d or `longest` (standardised inputs are about √(2d) apart),
    for inputs of a standard deviation of `spread` so many times longer."""
    vector, nodes = np.array(to_vector(kernel), dtype=float), list(walk(kernel))
    for slot in slots(kernel):
        node = nodes[slot.node]
        if isinstance(node, Radial) and slot.parameter.name == "lengthscale" and "lengthscale" not in node.given:
            vector[slot.start : slot.start + slot.size] = min(0.5 * math.log(d), math.log(longest)) + math.log(spread)
    assert len(vector) == n_free(kernel)
    return vector


def _likelihood(arch: Architecture, method: Method, Y: np.ndarray, n_classes: int) -> Likelihood:
    if n_classes == 2:
        return Bernoulli()
    if n_classes > 2:
        return Softmax.of(n_classes, dtype=arch.dtype)
    p = Y.shape[1]
    mixing = None if p == 1 else _cast(np.eye(p), arch)
    return Gaussian(_cast(np.full(p, math.log(method.noise)), arch), mixing, _cast(noise_floor(Y), arch))


def noise_floor(Y: np.ndarray) -> np.ndarray:
    """The least noise variance of each target: 1e-4, and what rounding to few values is worth, step²/12.

    Without the second a predictive objective puts ever narrower spikes on the values that occur.
    """
    floors = []
    for column in Y.T:
        values = np.unique(column[~np.isnan(column)])
        few = few_valued(column)
        floors.append(max(1e-4, float(np.min(np.diff(values))) ** 2 / 12 if few else 0.0))
    return np.array(floors)


def few_valued(column: np.ndarray) -> bool:
    """Whether a target takes so few values that it is rather a grade than a measurement."""
    known = column[~np.isnan(column)]
    values = len(np.unique(known))
    return 1 < values <= 30 and values <= len(known) / 10


def principal(H: np.ndarray, width: int) -> np.ndarray:
    """The mean function of a hidden layer (D, W): principal directions, the identity, or the identity padded."""
    d = H.shape[1]
    if width >= d:
        return np.eye(d, width)
    _, _, directions = np.linalg.svd(H[: min(len(H), 5000)], full_matrices=False)
    directions = directions[:width]
    return (directions * np.sign(directions[np.arange(width), np.abs(directions).argmax(1)])[:, None]).T


def centres(H: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Inducing inputs by k-means; all distinct rows when there are no more than `m`."""
    distinct = np.unique(H, axis=0)
    if len(distinct) <= m:
        return distinct
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(m, n_init=1, max_iter=20, batch_size=2048, random_state=seed).fit(H)
    return np.asarray(means.cluster_centers_, dtype=float)
