"""Where learning through inducing points begins: inducing inputs among the rows, and parameters of the kernel."""

from __future__ import annotations

import math

import numpy as np

from fathom.kernels.base import Kernel, walk
from fathom.kernels.radial import Radial
from fathom.kernels.vector import n_free, slots, to_vector


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


def centres(H: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Inducing inputs by k-means; all distinct rows when there are no more than `m`."""
    distinct = np.unique(H, axis=0)
    if len(distinct) <= m:
        return distinct
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(m, n_init=1, max_iter=20, batch_size=2048, random_state=seed).fit(H)
    return np.asarray(means.cluster_centers_, dtype=float)
