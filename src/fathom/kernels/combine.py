"""Kernels from kernels: sums, products, changepoints and change windows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import ClassVar

import numpy as np

from fathom.base.arrays import Array, Namespace
from fathom.kernels.base import Gradients, Kernel, Parameter, Pull, numbered, walk
from fathom.kernels.nonstationary import After, Before, Inside, Outside, RankOne


class Operator(Kernel):
    """A sum or a product: n-ary and flat, operands in the order given."""

    chooses_inputs = False
    operands = None
    combine: ClassVar[Callable[[Array, Array], Array]]

    def __init__(self, children: tuple[Kernel, ...]):
        flat: list[Kernel] = []
        for child in children:
            if not isinstance(child, Kernel):
                raise TypeError(f"{self.name} combines kernels, not {type(child).__name__}")
            flat.extend(child.children if type(child) is type(self) else (child,))
        if not flat:
            raise ValueError(f"an empty {self.name} is no kernel")
        self._set(children=tuple(flat), inputs=None)

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return reduce(type(self).combine, (child.evaluate(X, Z, same, xp) for child in self.children))

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return reduce(type(self).combine, (child.evaluate_diag(X, same, xp) for child in self.children))

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._combined([child.vjp(X, Z, same) for child in self.children])

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._combined([child.vjp_diag(X, same) for child in self.children])

    def _combined(self, parts: list[tuple[np.ndarray, Pull]]) -> tuple[np.ndarray, Pull]:
        """The operands' matrices combined, and how the gradient in the whole reaches each of them."""
        matrices = [matrix for matrix, _ in parts]

        def pull(H: np.ndarray) -> Gradients:
            shares = (self._share(H, matrices, i) for i in range(len(parts)))
            pulled = [pull_one(share) for (_, pull_one), share in zip(parts, shares, strict=True)]
            return numbered(list(zip(self.children, pulled, strict=True)))

        return reduce(type(self).combine, matrices), pull

    def _share(self, H: np.ndarray, matrices: list[np.ndarray], i: int) -> np.ndarray:
        """The gradient in the matrix of operand i, given that in the whole."""
        raise NotImplementedError


class Sum(Operator):
    """k₁ + k₂ + …: a sum of independent functions."""

    name = "Sum"
    combine = operator.add

    def _share(self, H: np.ndarray, matrices: list[np.ndarray], i: int) -> np.ndarray:
        return H


class Product(Operator):
    """k₁ × k₂ × …: each factor modifies the others (thesis 4.1.2)."""

    name = "Product"
    combine = operator.mul

    def map_scale(self, change: Callable[[Array], Array]) -> Kernel:
        return self.replace(children=(self.children[0].map_scale(change), *self.children[1:]))

    def pins(self, pinned: bool) -> tuple[bool, ...]:
        return (pinned, *(True for _ in self.children[1:]))

    def _share(self, H: np.ndarray, matrices: list[np.ndarray], i: int) -> np.ndarray:
        return reduce(np.multiply, (matrix for j, matrix in enumerate(matrices) if j != i), H)


def join(operator_type: type[Operator], children: list[Kernel]) -> Kernel:
    """The operator over its operands, or the single operand itself."""
    return children[0] if len(children) == 1 else operator_type(tuple(children))


MOST_TERMS = 5000  # products that a kernel may have when it is multiplied out; sums of base kernels may have more


def check_terms(kernel: Kernel) -> None:
    """Raise an error if there are too many products to multiply the kernel out."""
    most = max(MOST_TERMS, sum(1 for _ in walk(kernel)))
    if n_terms(kernel) > most:
        raise ValueError(f"multiplied out, the kernel is a sum of over {most} products: put fewer sums inside products")


def n_terms(kernel: Kernel) -> int:
    """The number of products of which the kernel is the sum when it is multiplied out."""
    counts = [n_terms(child) for child in kernel.children]
    if isinstance(kernel, (Sum, Switch)):
        return sum(counts)
    return math.prod(counts) if isinstance(kernel, Product) else 1


class Switch(Kernel):
    """Two kernels, each multiplied by a weight that says where it applies."""

    one_input = True
    operands = 2
    sides: ClassVar[tuple[type[RankOne], type[RankOne]]]

    def weights(self) -> tuple[RankOne, RankOne]:
        """The rank-one kernels that multiply the first and the second operand."""
        fields = {p.name: getattr(self, p.name) for p in self.parameters}
        own = {"inputs": self.inputs, "children": (), "fixed": self.fixed, "variance": 1.0}
        first, second = (side._raw(**own, **fields) for side in self.sides)
        return first, second

    def as_sum(self) -> Kernel:
        """The same covariance as a sum of two products."""
        first, second = self.weights()
        return first * self.children[0] + second * self.children[1]

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self.as_sum().evaluate(X, Z, same, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return self.as_sum().evaluate_diag(X, same, xp)

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._switched(
            [side.vjp(X, Z, same) for side in self.weights()], [child.vjp(X, Z, same) for child in self.children]
        )

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._switched(
            [side.vjp_diag(X, same) for side in self.weights()], [child.vjp_diag(X, same) for child in self.children]
        )

    def _switched(
        self, weights: list[tuple[np.ndarray, Pull]], parts: list[tuple[np.ndarray, Pull]]
    ) -> tuple[np.ndarray, Pull]:
        """The operands' matrices, each times its weight's, added; and the way back."""
        (W, pull_W), (V, pull_V) = weights
        (K, pull_K), (L, pull_L) = parts

        def pull(H: np.ndarray) -> Gradients:
            by_first, by_second = pull_W(H * K), pull_V(H * L)
            own = {(0, p.name): by_first[0, p.name] + by_second[0, p.name] for p in self.parameters}
            return numbered(list(zip(self.children, (pull_K(H * W), pull_L(H * V)), strict=True)), own)

        return W * K + V * L, pull


class ChangePoint(Switch):
    """The first operand before `location`, the second after it; `steepness` κ sets how sharp the change is."""

    name = "CP"
    parameters: ClassVar[tuple[Parameter, ...]] = Before.parameters[1:]
    sides = (Before, After)


class ChangeWindow(Switch):
    """The first operand outside a window of `width` around `location`, the second inside it."""

    name = "CW"
    parameters: ClassVar[tuple[Parameter, ...]] = Inside.parameters[1:]
    sides = (Outside, Inside)
