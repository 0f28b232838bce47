"""A kernel's learnt parameters as one unconstrained vector, and back.

Positive parameters are logarithms. In a product only one scale is identified, so every factor after the first has
its scale pinned: the vector has exactly as many entries as the kernel has effective parameters (what BIC counts).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fathom.base.arrays import Array, namespace
from fathom.kernels.base import Kernel, Parameter


@dataclass(frozen=True)
class Slot:
    """Where the free entries of one parameter of one node stand in the vector."""

    node: int  # index in the order of `walk`
    parameter: Parameter
    shape: tuple[int, ...]
    start: int
    size: int  # free entries
    held: int  # leading entries that are not free (the first weight of a spectral mixture)


def slots(kernel: Kernel) -> tuple[Slot, ...]:
    """The free parameters, in the order of `walk`."""
    found: list[Slot] = []
    start = 0
    for index, (node, pinned) in enumerate(_walk_pinned(kernel, False)):
        for p in node.parameters:
            if p.kind == "fixed" or p.name in node.fixed or (pinned and p.name == "variance"):
                continue
            shape = np.shape(getattr(node, p.name))
            held = 1 if (p.size == "list" and p.name == "weight") else 0
            size = math.prod(shape) - held
            found.append(Slot(index, p, shape, start, size, held))
            start += size
    return tuple(found)


def _walk_pinned(kernel: Kernel, pinned: bool) -> Iterator[tuple[Kernel, bool]]:
    """Nodes in the order of `walk`, each with whether its scale is pinned by a product above it."""
    yield kernel, pinned
    for child, below in zip(kernel.children, kernel.pins(pinned), strict=True):
        yield from _walk_pinned(child, below)


def n_free(kernel: Kernel) -> int:
    """The length of the vector."""
    return sum(slot.size for slot in slots(kernel))


def to_vector(kernel: Kernel) -> Array:
    """The free parameters, positive ones as logarithms."""
    nodes = [node for node, _ in _walk_pinned(kernel, False)]
    pieces = []
    for slot in slots(kernel):
        value = getattr(nodes[slot.node], slot.parameter.name)
        xp = namespace(value)
        flat = xp.reshape(xp.asarray(value), (-1,))[slot.held :]
        pieces.append(xp.log(flat) if slot.parameter.kind == "positive" else flat)
    return namespace(*pieces).concatenate(pieces) if pieces else np.zeros(0)


def from_vector(kernel: Kernel, vector: Array, where: tuple[Slot, ...] | None = None) -> Kernel:
    """The kernel with its free parameters replaced by those of the vector."""
    xp = namespace(vector)
    changes: dict[int, dict[str, Array]] = {}
    nodes = [node for node, _ in _walk_pinned(kernel, False)]
    for slot in slots(kernel) if where is None else where:
        flat = vector[slot.start : slot.start + slot.size]
        if slot.parameter.kind == "positive":
            flat = xp.exp(flat)
        if slot.held:
            head = xp.reshape(xp.asarray(getattr(nodes[slot.node], slot.parameter.name)), (-1,))[: slot.held]
            flat = xp.concatenate([head, flat])
        value = xp.reshape(flat, slot.shape)
        changes.setdefault(slot.node, {})[slot.parameter.name] = value if slot.shape else value[()]
    return with_fields(kernel, changes)


def with_fields(kernel: Kernel, changes: Mapping[int, Mapping[str, object]]) -> Kernel:
    """The kernel with some fields of some nodes, numbered as `walk` does, replaced without checks."""
    return _rebuild(kernel, changes, itertools.count())


def _rebuild(node: Kernel, changes: Mapping[int, Mapping[str, object]], counter: Iterator[int]) -> Kernel:
    fields = {**node.__dict__, **changes.get(next(counter), {})}
    if node.children:
        fields["children"] = tuple(_rebuild(child, changes, counter) for child in node.children)
    return type(node)._raw(**fields)


class Unpacking:
    """`from_vector` for one structure, thousands of times, in NumPy: the nodes of the tree without the tree."""

    def __init__(self, kernel: Kernel, where: tuple[Slot, ...]):
        self._nodes = [node for node, _ in _walk_pinned(kernel, False)]
        self._positive = np.zeros(sum(slot.size for slot in where), dtype=bool)
        self._slots: dict[int, list[Slot]] = {}
        for slot in where:
            self._positive[slot.start : slot.start + slot.size] = slot.parameter.kind == "positive"
            self._slots.setdefault(slot.node, []).append(slot)

    def at(self, vector: np.ndarray) -> list[Kernel]:
        """The nodes in the order of `walk`, with the parameters of the vector."""
        numbers = np.array(vector, dtype=float)
        np.exp(vector, out=numbers, where=self._positive)
        scalars, nodes = numbers.tolist(), list(self._nodes)
        for index, where in self._slots.items():
            fields = dict(nodes[index].__dict__)
            for slot in where:
                entries = slice(slot.start, slot.start + slot.size)
                fields[slot.parameter.name] = (
                    _shaped(fields[slot.parameter.name], numbers[entries], slot) if slot.shape else scalars[slot.start]
                )
            nodes[index] = type(nodes[index])._raw(**fields)
        return nodes


def subtree(nodes: list[Kernel], index: int) -> Kernel:
    """The kernel that starts at one of the nodes, given in the order of `walk`, whose children may be out of date."""
    return _assembled(nodes, iter(range(index, len(nodes))))


def _assembled(nodes: list[Kernel], counter: Iterator[int]) -> Kernel:
    node = nodes[next(counter)]
    if not node.children:
        return node
    return type(node)._raw(**node.__dict__ | {"children": tuple(_assembled(nodes, counter) for _ in node.children)})


def _shaped(before: Array, flat: np.ndarray, slot: Slot) -> np.ndarray:
    """Free entries behind those that are held."""
    head = np.reshape(np.asarray(before), -1)[: slot.held]
    return np.reshape(np.concatenate([head, flat]), slot.shape)
