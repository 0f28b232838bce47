"""The NumPy evaluation of a kernel tree over fixed inputs, with gradients and without compilation.

A tree is a sum of products, and a product is a function of the lag times rank-one weights (lines, steps, windows):

    K = Σ_g  w_g w_gᵀ ∘ A_g ∘ T(v_g)  +  diag(d)

v_g is a vector over the distinct lags (all terms with the same weights are added before they are expanded), A_g
holds factors that are neither (arc-cosine), and d is white noise. `gram` builds K; `pull` takes the matrix
G = ∂L/∂K back to the parameters: a lag sum for v_g, a matrix-vector product for w_g. The plan depends on structure
and inputs only, so one serves every parameter vector of a fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import product as choices
from typing import Any

import numpy as np
from scipy.linalg import blas

from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product, Sum, Switch
from fathom.kernels.lags import BLOCK, WHOLE, Lags, lags_of
from fathom.kernels.leaves import SE, WN, ArcCos, C
from fathom.kernels.nonstationary import RankOne
from fathom.kernels.stationary import Radial, Slopes, Stationary
from fathom.kernels.vector import Slot, Unpacking, from_vector, slots, to_vector

Place = tuple[int, int]  # (node in the order of `walk`, side of a switch or 0)


@dataclass
class Group:
    """Terms that share their weights and matrix factors."""

    weights: tuple[Place, ...]
    matrices: tuple[Place, ...]
    terms: list[tuple[Place, ...]] = field(default_factory=list)  # the lag factors of each, and its constants
    noise: bool = False


@dataclass
class Values:
    """What one parameter vector gives: every factor's value and slopes, by place."""

    vector: np.ndarray
    nodes: list[Kernel]  # in the order of `walk`; those above the leaves do not hold them
    factor: dict[Place, tuple[np.ndarray, Slopes]]
    products: dict[int, Any] = field(default_factory=dict)  # by group: (w, v, T)


class Expansion:
    """A kernel over fixed inputs X (N, D) as groups of terms: what square and oblong matrices of it share.

    `lags` turns a vector over lags into a matrix (`expand`) and back (`pull`).
    """

    def __init__(self, kernel: Kernel, X: np.ndarray, lags: Any):
        self.kernel, self.X, self.lags = kernel, np.asarray(X, dtype=float), lags
        self.slots: tuple[Slot, ...] = slots(kernel)
        self.n_free = sum(slot.size for slot in self.slots)
        nodes = list(walk(kernel))
        numbers = {id(node): i for i, node in enumerate(nodes)}
        if len(numbers) < len(nodes):  # the same object twice in the tree: give each place its own
            self.kernel = from_vector(kernel, np.asarray(to_vector(kernel)), self.slots)
            nodes = list(walk(self.kernel))
            numbers = {id(node): i for i, node in enumerate(nodes)}
        self._unpacking = Unpacking(self.kernel, self.slots)
        self.groups = _group(list(_terms(self.kernel, numbers)), nodes)
        places = {p for g in self.groups for p in (*g.weights, *g.matrices, *(p for term in g.terms for p in term))}
        several = self.X.shape[1] > 1
        self._kept: dict[tuple[Place, ...], Any] = {}  # by term, the product of its SE factors and what it was made of
        self._smooth = {p for p in places if several and isinstance(nodes[p[0]], SE)}
        self._places = sorted(p for p in places if not isinstance(nodes[p[0]], (C, WN)) and p not in self._smooth)
        self._over_lags = {p for p in places if isinstance(nodes[p[0]], (Stationary, Radial))}

    # -- forward -----------------------------------------------------------------------------------------------

    def at(self, vector: np.ndarray, slopes: bool = True) -> Values:
        """Every factor at a parameter vector, with its slopes unless they are not needed."""
        nodes = self._unpacking.at(vector)
        factors = {place: self._factor(nodes[place[0]], place[1], slopes) for place in self._places}
        return Values(vector, nodes, factors)

    def _factor(self, node: Any, side: int, slopes: bool) -> tuple[np.ndarray, Slopes]:
        if isinstance(node, Stationary) and not slopes:
            return node.shape(self.lags.lag(self._columns(node)[0]), np), {}
        if isinstance(node, Switch):
            return node.weights()[side].weight_slopes(self._column(node))
        if isinstance(node, RankOne):
            return node.weight_slopes(self._column(node))
        if isinstance(node, ArcCos):
            return node.evaluate(self.X, self.X, True, np) / node.variance, {}
        columns = self._columns(node)
        if isinstance(node, Radial) and len(columns) > 1:
            return self._ard(node, self.lags.squares(columns))
        return node.lag(self.lags.lag(columns[0]))

    def _ard(self, node: Radial, squares: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """φ(s) over the lags; the slope in log ℓ_d is −2φ'(s)·square_d/ℓ_d², left factored for `pull`."""
        precision = np.asarray(node.lengthscale) ** -2.0
        f, slope, others = node.profile(precision @ squares)
        return f, {"lengthscale": slope, **others}

    def _columns(self, node: Kernel) -> tuple[int, ...]:
        return tuple(range(self.X.shape[1])) if node.inputs is None else tuple(int(i) for i in node.inputs)

    def _column(self, node: Kernel) -> np.ndarray:
        return self.X[:, self._columns(node)[0]]

    def _weight(self, values: Values, group: Group) -> np.ndarray | None:
        if not group.weights:
            return None
        return reduce(np.multiply, (values.factor[place][0] for place in group.weights))

    def _coefficient(self, values: Values, term: tuple[Place, ...]) -> float:
        """The product of the variances of a term's leaves (a switch's weights have none)."""
        return math.prod(float(values.nodes[node].variance) for node, _ in term)

    def _lag_product(self, values: Values, term: tuple[Place, ...], but: Place | None = None) -> Any:
        """The product of a term's lag factors (leaving out one): 1 when there are none."""
        factors = [values.factor[p][0] for p in term if p in self._over_lags and p != but and p not in self._smooth]
        if self._smooth.intersection(term):
            factors.append(self._smooth_product(values, term))
        return reduce(np.multiply, factors) if factors else 1.0

    def _smooth_product(self, values: Values, term: tuple[Place, ...]) -> np.ndarray:
        """The product of a term's SE factors over several inputs: one exponential for all of them.

        Kept for the next vector: the starts of a fit differ in few parameters.
        """
        factors = [(p, self._precision(values, p)) for p in term if p in self._smooth]
        key = b"".join(precision.tobytes() for _, precision in factors)
        if self._kept.get(term, (b"", None))[0] != key:
            exponent = np.zeros(self._squares(values, factors[0][0]).shape[1])
            for place, precision in factors:
                for square, scale in zip(self._squares(values, place), precision, strict=True):
                    blas.daxpy(square, exponent, a=-0.5 * scale)
            self._kept[term] = (key, np.exp(exponent, out=exponent))
        return self._kept[term][1]

    def _precision(self, values: Values, place: Place) -> np.ndarray:
        return np.reshape(np.asarray(values.nodes[place[0]].lengthscale) ** -2.0, -1)

    def _squares(self, values: Values, place: Place) -> np.ndarray:
        return self.lags.squares(self._columns(values.nodes[place[0]]))

    # -- backward ----------------------------------------------------------------------------------------------

    def _gathered(self, gradients: dict) -> np.ndarray:
        """The slopes by node and parameter as one vector."""
        out = np.zeros(self.n_free)
        for slot in self.slots:
            gradient = np.ravel(gradients.get((slot.node, slot.parameter.name), 0.0))
            out[slot.start : slot.start + slot.size] = gradient[slot.held :]
        return out

    def _pull_term(self, values: Values, term: tuple, group: Group, pulled: np.ndarray, gradients: dict) -> None:
        c = self._coefficient(values, term)
        whole = self._lag_product(values, term)
        share = c * pulled * whole
        inner = float(share.sum())
        self._pull_scales(values, group, lambda _: inner, gradients, [term])
        for place in term:
            if place in self._smooth:  # ∂/∂ log ℓ_d of exp(−½ Σ square_d/ℓ_d²)
                by_input = np.array([square @ share for square in self._squares(values, place)])
                accumulate(gradients, place[0], "lengthscale", by_input * self._precision(values, place))
            elif place in self._over_lags:
                cotangent = c * pulled * self._lag_product(values, term, but=place)
                self._pull_lag(values, place, cotangent, gradients)

    def _pull_lag(self, values: Values, place: Place, cotangent: np.ndarray, gradients: dict) -> None:
        node = values.nodes[place[0]]
        columns = self._columns(node)
        for name, slope in values.factor[place][1].items():
            if name == "lengthscale" and isinstance(node, Radial) and len(columns) > 1:
                by_input = self.lags.squares(columns) @ (cotangent * slope)
                gradient = -2 * by_input * np.asarray(node.lengthscale) ** -2.0
            else:
                gradient = cotangent @ slope
            accumulate(gradients, place[0], name, gradient)

    def _pull_scales(
        self, values: Values, group: Group, inner: Any, gradients: dict, terms: list | None = None
    ) -> None:
        """The slope in a log variance is the term's own share of Σ G∘K."""
        for term in group.terms if terms is None else terms:
            for node in {node for node, _ in term}:
                accumulate(gradients, node, "variance", inner(term))

    def _pull_weights(self, values: Values, group: Group, by_weight: np.ndarray, gradients: dict) -> None:
        for place in set(group.weights):
            times = group.weights.count(place)
            others = list(group.weights)
            others.remove(place)
            rest = reduce(np.multiply, (values.factor[p][0] for p in others), times * by_weight)
            for name, slope in values.factor[place][1].items():
                accumulate(gradients, place[0], name, float(rest @ slope))


class Plan(Expansion):
    """Evaluates kernels of one structure at one set of inputs X (N, D)."""

    def __init__(self, kernel: Kernel, X: np.ndarray, lags: Lags | None = None):
        super().__init__(kernel, X, lags_of(np.asarray(X, dtype=float)) if lags is None else lags)
        n = len(self.X)
        self._storage = np.zeros(n * n + n)  # n zeros behind the matrix: `Lags.pull` reads rows one longer
        self._spare = np.zeros(n * n + n)
        self._blocks = [slice(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)] if n > WHOLE else [slice(0, n)]
        self._scratch = [np.empty((self._blocks[0].stop, n)) for _ in range(2)]
        self.K = self._storage[: n * n].reshape(n, n)
        self._H = self._spare[: n * n].reshape(n, n)

    # -- forward -----------------------------------------------------------------------------------------------

    def gram(self, values: Values) -> np.ndarray:
        """Fills and returns the plan's matrix: the lower triangle of K, the rest undefined."""
        K, fresh = self.K, True
        diagonal = np.zeros(len(K))
        for g, group in enumerate(self.groups):
            w = self._weight(values, group)
            if group.noise:
                diagonal += self._noise(values, group, w)
                continue
            fresh = self._add_group(values, g, w, fresh)
        if fresh:
            K[:] = 0
        K.flat[:: len(K) + 1] += diagonal
        return K

    def _add_group(self, values: Values, g: int, w: np.ndarray | None, fresh: bool) -> bool:
        """K += w wᵀ ∘ A ∘ T(v), or K = … when it is the first."""
        group, K = self.groups[g], self.K
        v = sum(self._coefficient(values, term) * self._lag_product(values, term) for term in group.terms)
        constant = np.ndim(v) == 0
        if constant and w is not None and not group.matrices:
            if fresh:
                K[:] = 0
            blas.dsyr(float(v), w, lower=0, a=K.T, overwrite_a=1)
            values.products[g] = (w, v, None)
            return False
        T = self.lags.rows_of(v) if not constant else lambda _: np.asarray(v)
        values.products[g] = (w, v, T)
        for rows in self._blocks:
            block, part = K[rows, : rows.stop], T(rows)
            W = self._weights_of(values, group, w, rows)
            if W is not None:
                part = np.multiply(W, part, out=block if fresh else W)
            if fresh and W is None:
                np.copyto(block, part)
            elif not fresh:
                np.add(block, part, out=block)
        return False

    def _weights_of(self, values: Values, group: Group, w: np.ndarray | None, rows: slice) -> np.ndarray | None:
        """w wᵀ ∘ A in a block of rows; None when there is neither. In scratch memory: new memory costs more."""
        W = self._block(0, rows)
        if w is not None:
            np.multiply(w[rows, None], w[: rows.stop], out=W)
        elif group.matrices:
            W.fill(1.0)
        for place in group.matrices:
            np.multiply(W, values.factor[place][0][rows, : rows.stop], out=W)
        return W if w is not None or group.matrices else None

    def _block(self, i: int, rows: slice) -> np.ndarray:
        return self._scratch[i][: rows.stop - rows.start, : rows.stop]

    def _noise(self, values: Values, group: Group, w: np.ndarray | None) -> Any:
        # stationary factors are 1 at lag zero, so of a noise term only scales and weights are left
        total: Any = sum(self._coefficient(values, term) for term in group.terms)
        total = total if w is None else total * w**2
        for place in group.matrices:
            total = total * values.factor[place][0].diagonal()
        return total

    # -- backward ----------------------------------------------------------------------------------------------

    def pull(self, values: Values) -> np.ndarray:
        """Σ_ij G_ij ∂K_ij/∂θ for a symmetric G whose lower triangle stands in `self.K`, zeros above."""
        gradients: dict[tuple[int, str], Any] = {}
        for g, group in enumerate(self.groups):
            if group.noise:
                self._pull_noise(values, group, gradients)
            else:
                self._pull_group(values, g, gradients)
        return self._gathered(gradients)

    def _pull_group(self, values: Values, g: int, gradients: dict) -> None:
        group, G = self.groups[g], self.K
        w, v, T = values.products[g]
        if T is None:  # rank one: c w wᵀ
            Gw = blas.dsymv(1.0, G.T, w, lower=0)
            self._pull_scales(values, group, lambda term: float(w @ Gw) * self._coefficient(values, term), gradients)
            self._pull_weights(values, group, 2 * v * Gw, gradients)
            return
        weighted = w is not None or bool(group.matrices)
        for rows in self._blocks if weighted else []:
            W: Any = self._weights_of(values, group, w, rows)
            np.multiply(G[rows, : rows.stop], W, out=self._H[rows, : rows.stop])
        pulled = self.lags.pull(self._spare if weighted else self._storage)
        for term in group.terms:
            self._pull_term(values, term, group, pulled, gradients)
        if w is not None:
            self._pull_weights(values, group, 2 * self._by_weight(values, group, w, T), gradients)
        for place in group.matrices:
            self._pull_matrix(values, group, place, w, T(slice(0, len(G))), gradients)

    def _by_weight(self, values: Values, group: Group, w: np.ndarray, T: Any) -> np.ndarray:
        """(G ∘ T ∘ A) w for the symmetric G."""
        found = np.zeros(len(w))
        for rows in self._blocks:
            S = np.multiply(self.K[rows, : rows.stop], T(rows), out=self._block(1, rows))
            for place in group.matrices:
                S *= values.factor[place][0][rows, : rows.stop]
            found[rows] += S @ w[: rows.stop]
            found[: rows.stop] += w[rows] @ S
            found[rows] -= S[:, rows].diagonal() * w[rows]
        return found

    def _pull_noise(self, values: Values, group: Group, gradients: dict) -> None:
        by_noise = self.K.diagonal().copy()
        for place in group.matrices:
            by_noise *= values.factor[place][0].diagonal()
        w = self._weight(values, group)
        squared = by_noise.sum() if w is None else by_noise @ w**2
        self._pull_scales(values, group, lambda t: float(squared) * self._coefficient(values, t), gradients)
        total = sum(self._coefficient(values, term) for term in group.terms)
        if w is not None:
            self._pull_weights(values, group, 2 * total * by_noise * w, gradients)
        for place in group.matrices:
            self._pull_matrix(values, group, place, w, total * np.eye(len(self.K)), gradients)

    def _pull_matrix(self, values: Values, group: Group, place: Place, w: Any, T: Any, gradients: dict) -> None:
        """Arc-cosine: its cotangent is G times everything else in the group; its scale is in the terms' shares."""
        H = self.K * T
        if w is not None:
            H *= np.multiply.outer(w, w)
        others = list(group.matrices)
        others.remove(place)
        for other in others:
            H *= values.factor[other][0]
        H = H + np.tril(H, -1).T
        node: Any = values.nodes[place[0]]
        accumulate(gradients, place[0], "lengthscale", node.pull_lengthscale(self.X, H))


def accumulate(gradients: dict, node: int, name: str, value: Any) -> None:
    gradients[node, name] = gradients.get((node, name), 0.0) + value


def _terms(kernel: Kernel, numbers: dict[int, int]) -> Iterator[tuple[Place, ...]]:
    """The products whose sum the kernel is, as places: parameters of shared factors stay shared."""
    if isinstance(kernel, Sum):
        for child in kernel.children:
            yield from _terms(child, numbers)
    elif isinstance(kernel, Product):
        for chosen in choices(*(list(_terms(child, numbers)) for child in kernel.children)):
            yield sum(chosen, ())
    elif isinstance(kernel, Switch):
        for side, child in enumerate(kernel.children):
            for term in _terms(child, numbers):
                yield ((numbers[id(kernel)], side), *term)
    else:
        yield ((numbers[id(kernel)], 0),)


def _group(terms: list[tuple[Place, ...]], nodes: list[Kernel]) -> list[Group]:
    groups: dict[Any, Group] = {}
    for term in terms:
        kinds = [nodes[node] for node, _ in term]
        pairs = list(zip(term, kinds, strict=True))
        weights = tuple(sorted(p for p, k in pairs if isinstance(k, (RankOne, Switch))))
        matrices = tuple(sorted(p for p, k in pairs if isinstance(k, ArcCos)))
        noise = any(isinstance(k, WN) for k in kinds)
        group = groups.setdefault((weights, matrices, noise), Group(weights, matrices, noise=noise))
        group.terms.append(tuple(p for p, k in pairs if not isinstance(k, Switch)))
    return list(groups.values())
