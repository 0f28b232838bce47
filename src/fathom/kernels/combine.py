"""Kernels from kernels: sums, products, changepoints and change windows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

from fathom.base.arrays import Array
from fathom.kernels.base import Kernel, Parameter, checked
from fathom.kernels.nonstationary import After, Before, Inside, Outside, RankOne


class Operator(Kernel):
    """A sum or a product: n-ary and flat, operands in the order given."""

    chooses_inputs = False
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

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return reduce(type(self).combine, (child.evaluate(X, Z, same, xp) for child in self.children))

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        return reduce(type(self).combine, (child.evaluate_diag(X, same, xp) for child in self.children))


class Sum(Operator):
    """k₁ + k₂ + …: a sum of independent functions."""

    name = "Sum"
    combine = operator.add


class Product(Operator):
    """k₁ × k₂ × …: each factor modifies the others (thesis 4.1.2)."""

    name = "Product"
    combine = operator.mul


def join(operator_type: type[Operator], children: list[Kernel]) -> Kernel:
    """The operator over its operands, or the single operand itself."""
    return children[0] if len(children) == 1 else operator_type(tuple(children))


class Switch(Kernel):
    """Two kernels, each multiplied by a weight that says where it applies."""

    one_input = True

    def __init__(self, first: Kernel, second: Kernel, *, inputs: Any = None, **values: Any):
        if unknown := set(values) - {p.name for p in self.parameters}:
            raise ValueError(f"{self.name} has no parameter {sorted(unknown)[0]!r}: it has {self._known()}")
        for child in (first, second):
            if not isinstance(child, Kernel):
                raise TypeError(f"{self.name} combines kernels, not {type(child).__name__}")
        if isinstance(inputs, (int, str)):
            inputs = (inputs,)
        for p in self.parameters:
            self._set(**{p.name: checked(self.name, p, values.get(p.name, p.default))})
        self._set(inputs=None if inputs is None else tuple(inputs), children=(first, second), given=frozenset(values))

    sides: ClassVar[tuple[type[RankOne], type[RankOne]]]

    def weights(self) -> tuple[RankOne, RankOne]:
        """The rank-one kernels that multiply the first and the second operand."""
        fields = {p.name: getattr(self, p.name) for p in self.parameters}
        first, second = (side._raw(variance=1.0, inputs=self.inputs, children=(), **fields) for side in self.sides)
        return first, second

    def as_sum(self) -> Kernel:
        """The same covariance as a sum of two products."""
        first, second = self.weights()
        return first * self.children[0] + second * self.children[1]

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return self.as_sum().evaluate(X, Z, same, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        return self.as_sum().evaluate_diag(X, same, xp)


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
