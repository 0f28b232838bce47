"""A kernel tree over fixed inputs as a sum of products: what its square and its oblong evaluation in NumPy share.

A product is a function of the lag times rank-one weights (lines, steps, windows) times matrices of kernels that need
every pair (`dense.py`):

    K = Σ_g  w_g w_gᵀ ∘ A_g ∘ T(v_g)  +  diag(d)

v_g is a vector over the distinct lags (all terms with the same weights are added before they are expanded), and d is
white noise. `at` computes every factor and its slopes at a parameter vector; the methods that take `gradients` add to
it what a gradient in v_g, w_g or A_g is in the parameters. Structure and inputs are all that an expansion depends on,
so one serves every parameter vector of a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import product as choices
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import blas

from fathom.kernels.base import Gradients, Kernel, Pull, walk
from fathom.kernels.combine import Product, Sum, Switch, check_terms
from fathom.kernels.dense import Dense
from fathom.kernels.lags import Pairs
from fathom.kernels.nonstationary import RankOne
from fathom.kernels.radial import SE, Radial
from fathom.kernels.stationary import WN, C, Slopes, Stationary
from fathom.kernels.vector import Slot, Unpacking, from_vector, slots, subtree, to_vector

Place = tuple[int, int]  # (node in the order of `walk`, side of a switch or 0)
Term = tuple[Place, ...]
P = TypeVar("P", bound=Pairs)


@dataclass
class Group:
    """Terms that share their weights and matrices."""

    weights: Term
    matrices: Term
    terms: list[Term] = field(default_factory=list)  # the lag factors of each, and what else has a variance
    noise: bool = False


@dataclass
class Whole:
    """A kernel that needs every pair, at one parameter vector: its matrix at unit variance and the way back."""

    node: Dense
    matrix: np.ndarray
    pull: Pull | None  # None when no slopes were asked for
    _diagonals: dict[bool, tuple[np.ndarray, Pull]] = field(default_factory=dict)

    def diagonal(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        """The diagonal over all rows of X (N), with the noise of operands when `same`, and its way back."""
        if same not in self._diagonals:
            self._diagonals[same] = self.node.shape_diag_vjp(X, same)
        return self._diagonals[same]


class Formed(NamedTuple):
    """What a group was made of: its weight w, its profile v over the lags (a number when constant), and T(v)."""

    weight: np.ndarray | None
    profile: np.ndarray | float
    lags: Callable[[slice], np.ndarray] | None  # T(v) in a block of rows; None when rank one was enough


@dataclass
class Values:
    """What one parameter vector gives: every factor's value and slopes, by place."""

    vector: np.ndarray
    nodes: list[Kernel]  # in the order of `walk`; those above the leaves do not hold them
    factor: dict[Place, tuple[np.ndarray, Slopes]]
    whole: dict[Place, Whole]
    formed: dict[int, Formed] = field(default_factory=dict)  # by group


class Expansion(Generic[P]):
    """A kernel over fixed inputs X (N, D) as groups of terms, where `lags` knows the pairs of rows.

    The matrix is that of the rows X[left] with all rows, `same` when these are the same observations.
    """

    def __init__(self, kernel: Kernel, X: np.ndarray, lags: P, left: slice | np.ndarray, same: bool):
        check_terms(kernel)
        self.kernel, self.X, self.lags = kernel, X, lags
        self._left, self._same = X[left], same
        self.slots: tuple[Slot, ...] = slots(kernel)
        self.n_free = sum(slot.size for slot in self.slots)
        nodes = list(walk(kernel))
        numbers = {id(node): i for i, node in enumerate(nodes)}
        if len(numbers) < len(nodes):  # the same object twice in the tree: give each place its own
            self.kernel = from_vector(kernel, np.asarray(to_vector(kernel)), self.slots)
            nodes = list(walk(self.kernel))
            numbers = {id(node): i for i, node in enumerate(nodes)}
        self._unpacking = Unpacking(self.kernel, self.slots)
        self.groups = _group(_terms(self.kernel, numbers), nodes)
        places = {p for g in self.groups for p in (*g.weights, *(p for term in g.terms for p in term))}
        several = self.X.shape[1] > 1
        self._kept: dict[Term, tuple[bytes, np.ndarray]] = {}  # the product of a term's SE factors, by what made it
        self._smooth = {p for p in places if several and isinstance(nodes[p[0]], SE)}
        others = {p for p in places if not isinstance(nodes[p[0]], (C, WN, Dense))}
        self._places = sorted(others - self._smooth)
        self._over_lags = {p for p in places if isinstance(nodes[p[0]], (Stationary, Radial))}
        self._matrices = sorted({p for g in self.groups for p in g.matrices})

    # -- forward -----------------------------------------------------------------------------------------------

    def at(self, vector: np.ndarray, slopes: bool = True) -> Values:
        """Every factor at a parameter vector, with its slopes unless they are not needed."""
        nodes = self._unpacking.at(vector)
        factors = {place: self._factor(nodes[place[0]], place[1], slopes) for place in self._places}
        return Values(vector, nodes, factors, {place: self._whole(nodes, place[0], slopes) for place in self._matrices})

    def _factor(self, node: Kernel, side: int, slopes: bool) -> tuple[np.ndarray, Slopes]:
        if isinstance(node, Switch):
            return node.weights()[side].weight_slopes(self._column(node))
        if isinstance(node, RankOne):
            return node.weight_slopes(self._column(node))
        columns = self._columns(node)
        if isinstance(node, Stationary):
            tau = self.lags.lag(columns[0])
            return node.lag(tau) if slopes else (node.shape(tau, np), {})
        assert isinstance(node, Radial)
        return self._ard(node, self.lags.squares(columns)) if len(columns) > 1 else node.lag(self.lags.lag(columns[0]))

    def _ard(self, node: Radial, squares: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """φ(s) over the lags; the slope in log ℓ_d is −2φ'(s)·square_d/ℓ_d², left factored for `pull`."""
        precision = np.asarray(node.lengthscale) ** -2.0
        f, slope, others = node.profile(precision @ squares)
        return f, {"lengthscale": slope, **others}

    def _whole(self, nodes: list[Kernel], index: int, slopes: bool) -> Whole:
        node = subtree(nodes, index)
        assert isinstance(node, Dense)
        if slopes:
            return Whole(node, *node.shape_vjp(self._left, self.X, self._same))
        return Whole(node, node.shape(self._left, self.X, self._same, np), None)

    def _columns(self, node: Kernel) -> tuple[int, ...]:
        return tuple(range(self.X.shape[1])) if node.inputs is None else tuple(int(i) for i in node.inputs)

    def _column(self, node: Kernel) -> np.ndarray:
        return self.X[:, self._columns(node)[0]]

    def _weight(self, values: Values, group: Group) -> np.ndarray | None:
        if not group.weights:
            return None
        return reduce(np.multiply, (values.factor[place][0] for place in group.weights))

    def _coefficient(self, values: Values, term: Term) -> float:
        """The product of the variances of a term's nodes (a switch's weights have none)."""
        return math.prod(float(values.nodes[node].variance) for node, _ in term)

    def _scale(self, values: Values, group: Group) -> float:
        """The variance of a group where its weights and matrices are 1: stationary factors are 1 at lag zero."""
        return sum(self._coefficient(values, term) for term in group.terms)

    def _profile(self, values: Values, group: Group) -> np.ndarray | float:
        """v: the group as a function of the lag, a number when it is constant."""
        parts = (self._coefficient(values, term) * self._lag_product(values, term) for term in group.terms)
        return reduce(lambda total, part: total + part, parts)

    def _lag_product(self, values: Values, term: Term, but: Place | None = None) -> np.ndarray | float:
        """The product of a term's lag factors (leaving out one): 1 when there are none."""
        factors = [values.factor[p][0] for p in term if p in self._over_lags and p != but and p not in self._smooth]
        if self._smooth.intersection(term):
            factors.append(self._smooth_product(values, term))
        return reduce(np.multiply, factors) if factors else 1.0

    def _smooth_product(self, values: Values, term: Term) -> np.ndarray:
        """The product of a term's SE factors over several inputs: one exponential for all of them.

        Kept for the next vector: the starts of a fit differ in few parameters.
        """
        factors = [(p, self._precision(values, p)) for p in term if p in self._smooth]
        key = b"".join(precision.tobytes() for _, precision in factors)
        if term not in self._kept or self._kept[term][0] != key:
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

    def _gathered(self, gradients: Gradients) -> np.ndarray:
        """The slopes by node and parameter as one vector."""
        out = np.zeros(self.n_free)
        for slot in self.slots:
            if (found := gradients.get((slot.node, slot.parameter.name))) is not None:
                out[slot.start : slot.start + slot.size] = np.ravel(found)[slot.held :]
        return out

    def _pull_lags(self, values: Values, group: Group, pulled: np.ndarray, gradients: Gradients) -> None:
        """From the gradient in v to lag factors and variances."""
        for term in group.terms:
            c = self._coefficient(values, term)
            share = c * pulled * self._lag_product(values, term)
            self._pull_variances(term, float(share.sum()), gradients)
            for place in term:
                if place in self._smooth:  # ∂/∂ log ℓ_d of exp(−½ Σ square_d/ℓ_d²)
                    by_input = np.array([square @ share for square in self._squares(values, place)])
                    accumulate(gradients, place[0], "lengthscale", by_input * self._precision(values, place))
                elif place in self._over_lags:
                    self._pull_lag(values, place, c * pulled * self._lag_product(values, term, but=place), gradients)

    def _pull_lag(self, values: Values, place: Place, cotangent: np.ndarray, gradients: Gradients) -> None:
        node = values.nodes[place[0]]
        columns = self._columns(node)
        for name, slope in values.factor[place][1].items():
            if name == "lengthscale" and isinstance(node, Radial) and len(columns) > 1:
                by_input = self.lags.squares(columns) @ (cotangent * slope)
                gradient = -2 * by_input * np.asarray(node.lengthscale) ** -2.0
            else:
                gradient = cotangent @ slope
            accumulate(gradients, place[0], name, gradient)

    def _pull_variances(self, term: Term, share: float, gradients: Gradients) -> None:
        """The slope in a log variance is the term's own share of Σ G∘K."""
        for node in {node for node, _ in term}:
            accumulate(gradients, node, "variance", share)

    def _pull_coefficients(self, values: Values, group: Group, by_scale: float, gradients: Gradients) -> None:
        """The same where all terms of a group have the same shape."""
        for term in group.terms:
            self._pull_variances(term, by_scale * self._coefficient(values, term), gradients)

    def _pull_weights(self, values: Values, group: Group, by_weight: np.ndarray, gradients: Gradients) -> None:
        for place in set(group.weights):
            times = group.weights.count(place)
            rest = reduce(np.multiply, (values.factor[p][0] for p in without(group.weights, place)), times * by_weight)
            for name, slope in values.factor[place][1].items():
                accumulate(gradients, place[0], name, float(rest @ slope))

    def _add_pulled(self, place: Place, pulled: Gradients, gradients: Gradients) -> None:
        """What a dense kernel found for itself and its operands."""
        for (node, name), gradient in pulled.items():
            accumulate(gradients, place[0] + node, name, gradient)


def accumulate(gradients: Gradients, node: int, name: str, value: np.ndarray | float) -> None:
    """Add to the gradient of one parameter."""
    gradients[node, name] = gradients.get((node, name), 0.0) + value


def without(places: Term, place: Place) -> Term:
    """All but one, which may be there several times."""
    i = places.index(place)
    return places[:i] + places[i + 1 :]


def _terms(kernel: Kernel, numbers: dict[int, int]) -> Iterator[Term]:
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


def _group(terms: Iterable[Term], nodes: list[Kernel]) -> list[Group]:
    groups: dict[tuple[Term, Term, bool], Group] = {}
    for term in terms:
        pairs = [(place, nodes[place[0]]) for place in term]
        weights = tuple(sorted(p for p, k in pairs if isinstance(k, (RankOne, Switch))))
        matrices = tuple(sorted(p for p, k in pairs if isinstance(k, Dense)))
        noise = any(isinstance(k, WN) for _, k in pairs)
        group = groups.setdefault((weights, matrices, noise), Group(weights, matrices, noise=noise))
        group.terms.append(tuple(p for p, k in pairs if k.has_variance()))
    return list(groups.values())
