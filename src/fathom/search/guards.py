"""Fits that score well and mean nothing, ruled out: by limits where a limit can say it, by refusal where not.

A prototype's findings: windows softer than they are wide act as a dip, a modulating line with its zero inside the
data makes a component vanish at one point, and a window at the very end of the data is no window. A cycle that is
forgotten before it comes round, or comes round once, is a smooth function with two parameters too many, and once found
it stays. Climbs keep within the limits that make it a cycle, and a fit that ends at one of them would rather be
something else. Only a sinusoid may be forgotten after one period: it swings back within it, as no smooth term does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from fathom.base.optimise import Space
from fathom.gp.starts import Column, columns_of, space
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import ChangeWindow, Product, Switch
from fathom.kernels.leaves import Lin, Per
from fathom.kernels.radial import Radial
from fathom.kernels.vector import Slot, slots

SHARPNESS = 3.0  # κ × width of a window, at least
MEMORY = 0.9  # lengthscale of a drifting cycle in periods, at least: a correlation of one half from one to the next
SHOWN = 1.5  # periods in the range of the data, at least
AT_LIMIT = 1.05  # nearer to a limit than this factor is at it
COMB = 0.5  # lengthscale of a cycle's shape below which its correlation at half a period is above −1/4
MARGIN = 0.05  # of the range that a switch keeps from either end


def guarded_space(kernel: Kernel, X: np.ndarray) -> Callable[[np.ndarray], Space]:
    """Steps and bounds for a search, as a function of the start: those of any fit, tightened.

    What depends on the start: a modulating line stays on its side, a drifting cycle is remembered for its period.
    """
    where, columns = space(kernel, X), columns_of(X, np.zeros(len(X)))
    nodes, modulators = list(walk(kernel)), modulating_lines(kernel)
    starts = {(slot.node, slot.parameter.name): slot.start for slot in slots(kernel)}
    cycles = [
        (starts[memory, "lengthscale"], starts.get((cycle, "period")), math.log(nodes[cycle].period))
        for memory, cycle in drifting_cycles(kernel)
        if (memory, "lengthscale") in starts
    ]
    placed = [(slot, nodes[slot.node]) for slot in slots(kernel)]
    seen = [columns[int(node.inputs[0]) if node.inputs else 0] for _, node in placed]

    def at(vector: np.ndarray) -> Space:
        bounds = where.bounds.copy()
        for (slot, node), column in zip(placed, seen, strict=True):
            limits = _limits(node, slot, column, slot.node in modulators, vector[slot.start])
            if limits is not None:
                bounds[slot.start : slot.start + slot.size] = limits
        for memory, free, fixed in cycles:
            bounds[memory, 0] = max(bounds[memory, 0], fixed if free is None else vector[free])
        return Space(where.scales, bounds)

    return at


def _limits(node: Kernel, slot: Slot, column: Column, modulates: bool, value: float) -> tuple[float, float] | None:
    name, low, span, step = slot.parameter.name, column.low, column.span, column.step
    if name == "location" and isinstance(node, Lin) and modulates:
        if value < low + span / 2:
            return low - 5 * span, low - 0.5 * step
        return low + span + 0.5 * step, low + 6 * span
    if name == "location" and isinstance(node, Switch):
        return low + MARGIN * span, low + (1 - MARGIN) * span
    if name == "steepness":
        return math.log(10 / span), math.log(1e3 / span)
    if name == "width":
        return math.log(min(max(3 * step, 0.02 * span), 0.5 * span)), math.log(0.5 * span)
    if name == "period":
        return math.log(min(4 * step, span / 2)), math.log(span / SHOWN)
    return None


def modulating_lines(kernel: Kernel) -> set[int]:
    """Numbers (in the order of `walk`) of the lines that multiply something other than lines."""
    numbers = {id(node): i for i, node in enumerate(walk(kernel))}
    found = set()
    for node in walk(kernel):
        if isinstance(node, Product) and not all(isinstance(factor, Lin) for factor in node.children):
            found |= {numbers[id(factor)] for factor in node.children if isinstance(factor, Lin)}
    return found


def drifting_cycles(kernel: Kernel) -> list[tuple[int, int]]:
    """Numbers of the two in every ℓ × (… Per …) over the same input, ℓ with a lengthscale."""
    numbers = {id(node): i for i, node in enumerate(walk(kernel))}
    return [
        (numbers[id(memory)], numbers[id(cycle)])
        for product in walk(kernel)
        if isinstance(product, Product)
        for memory, factor in permutations(product.children, 2)
        if isinstance(memory, Radial)
        for cycle in walk(factor)
        if isinstance(cycle, Per) and memory.inputs == cycle.inputs
    ]


def degenerate(kernel: Kernel, X: np.ndarray) -> str | None:
    """Why a fitted kernel is refused, or None."""
    nodes: list[Any] = list(walk(kernel))
    found = [_refused(node, X[:, int(node.inputs[0]) if node.inputs else 0]) for node in nodes]
    for memory, cycle in drifting_cycles(kernel):
        least = AT_LIMIT if nodes[cycle].lengthscale < COMB else MEMORY
        if nodes[memory].lengthscale < least * nodes[cycle].period:
            found.append("a cycle that is forgotten before it comes round")
    return next((why for why in found if why is not None), None)


def _refused(node: Any, x: np.ndarray) -> str | None:
    span = float(np.ptp(x))
    if isinstance(node, Per) and node.period > span / SHOWN / AT_LIMIT:
        return "a cycle that comes round only once"
    if isinstance(node, ChangeWindow):
        if node.steepness * node.width < SHARPNESS:
            return "a window softer than it is wide"
        margin = MARGIN * span
        if node.location - node.width / 2 < x.min() + margin or node.location + node.width / 2 > x.max() - margin:
            return "a window that reaches the end of the data"
    return None
