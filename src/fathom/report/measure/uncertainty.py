"""How well the data determine the parameters: a Gaussian approximation at the optimum of the evidence.

A weak prior, a Gaussian of three log units, stands in for what is known of a parameter beforehand: directions in which
the evidence is flat then end with that width, and are reported as not determined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathom.base import linalg
from fathom.gp.evidence import Evidence, curvature, precision
from fathom.gp.exact import additive_parts
from fathom.kernels.base import Kernel
from fathom.kernels.vector import from_vector, to_vector
from fathom.report.facts.part import Z90, Estimate
from fathom.report.measure.anatomy import Anatomy, products_of, summed

WIDEST = 1.0  # sd beyond which a value is not determined: a factor e, or the sd of the input
MOST_ROWS = 3000  # the curvature costs two evidences for each parameter


def estimates(anatomy: Anatomy) -> list[tuple[Estimate, ...]]:
    """The parameters of each part, with intervals where the data give them."""
    slots, values = _user_values(anatomy, anatomy.parts)
    sds = _spreads(anatomy, values, slots) if len(anatomy.y) <= MOST_ROWS else None
    found: list[list[Estimate]] = [[] for _ in anatomy.parts]
    for k, (slot, value) in enumerate(zip(slots, values, strict=True)):
        sd, limit = (None, 0.0) if sds is None else (sds[k], slot.limit)
        found[slot.part].append(_estimate(slot, float(value), sd, limit))
    return [tuple(part) for part in found]


@dataclass(frozen=True)
class _Place:
    part: int
    factor: int
    name: str
    entry: int
    positive: bool
    limit: float
    fixed: bool


def _user_values(anatomy: Anatomy, parts: tuple[Kernel, ...]) -> tuple[list[_Place], np.ndarray]:
    """Parameters of all parts in the user's units, positive ones as logarithms; a product has a single variance."""
    places, values = [], []
    for i, part in enumerate(parts):
        products = [product.children or (product,) for product in products_of(anatomy.user(part))]
        leaves = [(leaf, k) for product in products for k, leaf in enumerate(product)]
        for j, (leaf, k) in enumerate(leaves):
            for p in leaf.parameters:
                if p.kind == "fixed" or (p.name == "variance" and k > 0):
                    continue
                column = (leaf.inputs or (0,))[0]
                spread = float(anatomy.scaler.x_sd[column]) if isinstance(column, int) else 1.0
                for entry, value in enumerate(np.ravel(getattr(leaf, p.name))):
                    positive = p.kind == "positive"
                    limit = WIDEST if positive else WIDEST * spread
                    places.append(_Place(i, j, p.name, entry, positive, limit, p.name in leaf.fixed))
                    values.append(np.log(max(value, 1e-300)) if positive else value)
    return places, np.array(values)


def _spreads(anatomy: Anatomy, values: np.ndarray, places: list[_Place]) -> list[float | None]:
    posterior = anatomy.posterior
    vector = np.asarray(to_vector(posterior.kernel), dtype=float)
    profiled = np.any(np.asarray(posterior.prior.constant) != 0)
    evidence = Evidence(posterior.kernel, posterior.X, posterior.Y, "constant" if profiled else "zero")
    try:
        with linalg.calm_threads(len(posterior.X)):
            _, gradient = evidence(vector)
            hessian = curvature(evidence, vector)
    except linalg.NotPositiveDefinite:
        return [None] * len(values)
    if not np.all(np.isfinite(hessian)):
        return [None] * len(values)
    cov = precision(hessian).inverse()
    jacobian = _jacobian(anatomy, vector, values)
    sds = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", jacobian, cov, jacobian), 0.0))
    # how far the optimum is from here: where it is beyond the width of the peak, that width means nothing
    away = np.abs(jacobian @ (cov @ gradient))
    return [float(sd) if gap <= max(sd, 1e-9) else None for sd, gap in zip(sds, away, strict=True)]


def _jacobian(anatomy: Anatomy, vector: np.ndarray, values: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """∂(parameters of the parts)/∂(vector): simplification may have merged or scaled what the vector holds."""
    columns = []
    for k in range(len(vector)):
        shift = np.zeros_like(vector)
        shift[k] = step
        moved = summed(additive_parts(from_vector(anatomy.posterior.kernel, vector + shift)), anatomy.groups)
        columns.append((_user_values(anatomy, moved)[1] - values) / step)
    return np.array(columns).T.reshape(len(values), len(vector))


def _estimate(place: _Place, value: float, sd: float | None, limit: float) -> Estimate:
    shown = float(np.exp(value)) if place.positive else value
    if place.fixed:
        return Estimate(place.factor, place.name, place.entry, shown, None, None, None, fixed=True)
    if sd is None:
        return Estimate(place.factor, place.name, place.entry, shown, None, None, None)
    if sd > limit:
        return Estimate(place.factor, place.name, place.entry, shown, None, None, False)
    low, high = value - Z90 * sd, value + Z90 * sd
    if place.positive:
        low, high = float(np.exp(low)), float(np.exp(high))
    return Estimate(place.factor, place.name, place.entry, shown, float(low), float(high), True)
