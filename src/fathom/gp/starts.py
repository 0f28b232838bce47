"""Where to begin a fit: starting values from the data, steps and bounds for every parameter of a kernel.

Outputs are taken as standardised (variance one); inputs may be in any units. Measured facts behind the choices:
a lengthscale has several basins (a few sampling steps, a tenth of the range, more than the range), and a period
must start within a fraction of a cycle over the whole range, hence the periodogram.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from fathom.base.optimise import Space
from fathom.kernels.algebra import scale
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product
from fathom.kernels.dense import Dense
from fathom.kernels.leaves import WN, Lin
from fathom.kernels.vector import Slot, slots, to_vector

NOISE_FLOOR = 1e-6  # of the variance of y
MOST = 600  # rows beyond which the Lomb–Scargle periodogram takes seconds
MOST_FREQUENCIES = 20_000  # of it
CELLS = 4  # of the grid of a faster one, to the median step
MOST_CELLS = 64  # of that grid for each row: one row far from the others would make it as long as memory


@dataclass
class Column:
    """What a start needs to know of one input."""

    x: np.ndarray
    y: np.ndarray
    pool: np.ndarray | None = None  # candidate periods known from elsewhere
    alone: bool = True  # the only input: a time, as often as not

    @cached_property
    def low(self) -> float:
        return float(self.x.min())

    @cached_property
    def span(self) -> float:
        return float(np.ptp(self.x)) or 1.0

    @cached_property
    def spread(self) -> float:
        return float(self.x.std()) or 1.0

    @cached_property
    def step(self) -> float:
        """The median distance between neighbouring distinct values."""
        steps = np.diff(np.unique(self.x))
        return float(np.median(steps)) if len(steps) else self.span

    @cached_property
    def periods(self) -> np.ndarray:
        """Candidate periods: the strongest peaks of the periodogram, their doubles and halves."""
        if self.pool is not None and len(self.pool):
            return self.pool
        peaks = periodogram_peaks(self.x, self.y, 5)
        pool = np.concatenate([peaks, 2 * peaks, peaks / 2])
        return pool[(pool >= 2 * self.step) & (pool <= self.span)] if len(pool) else np.array([self.span / 4])


def periodogram_peaks(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Periods of the n highest Lomb–Scargle peaks of the detrended series, strongest first."""
    from scipy.signal import lombscargle  # slow to import, and only periodic kernels need it

    column = Column(x, y)
    # finer than 0.2/range: with tens of cycles in the data a period 1 % off is in another basin
    first, fine = 1.0 / column.span, 0.1 / column.span
    frequencies = np.arange(first, min(0.5 / column.step, first + MOST_FREQUENCIES * fine), fine)[:MOST_FREQUENCIES]
    if len(x) < 5 or len(frequencies) < 3:
        return np.zeros(0)
    slope, level = np.polyfit(x, y, 1)
    power = lombscargle(x, y - slope * x - level, 2 * np.pi * frequencies)
    inner = power[1:-1]
    tops = np.flatnonzero((inner >= power[:-2]) & (inner > power[2:])) + 1
    return 1 / frequencies[tops[np.argsort(-power[tops])][:n]]


def columns_of(X: np.ndarray, y: np.ndarray, pools: Sequence[np.ndarray] | None = None) -> list[Column]:
    """One description for each input; y is the (first) standardised output."""
    alone = X.shape[1] == 1
    return [Column(X[:, d], y, None if pools is None else pools[d], alone) for d in range(X.shape[1])]


def given(kernel: Kernel) -> tuple[bool, ...]:
    """For every slot, whether its parameter was set: named by the caller, or different from its default."""
    nodes = list(walk(kernel))
    return tuple(_is_given(nodes[slot.node], slot) for slot in slots(kernel))


def _is_given(node: Kernel, slot: Slot) -> bool:
    name, default = slot.parameter.name, np.asarray(slot.parameter.default)
    return name in node.given or not np.all(np.asarray(getattr(node, name)) == default)


def gathered(kernel: Kernel) -> Kernel:
    """The same kernel with the scale of every product in its first factor.

    The scales of the others are not learnt. In units in which they are far from one, the first could not make up for
    them within its limits.
    """
    if not kernel.children:
        return kernel
    first, *others = (gathered(child) for child in kernel.children)
    if isinstance(kernel, Product):
        scales = [other.scale_node().variance or 1.0 for other in others]
        others = [scale(other, 1 / size) for other, size in zip(others, scales, strict=True)]
        first = scale(first, math.prod(scales))
    return kernel.replace(children=(first, *others))


def starting_vectors(
    kernel: Kernel,
    X: np.ndarray,
    y: np.ndarray,
    rng: np.random.Generator,
    n: int,
    keep: tuple[bool, ...] | None = None,
    pools: Sequence[np.ndarray] | None = None,
    spread: float = 0.3,
) -> list[np.ndarray]:
    """n starting vectors, drawn from what the data suggest except for the slots to `keep` (default: those `given`).

    Kept parameters have the kernel's value in the first start and move by `spread` in the others.
    """
    nodes, columns = list(walk(kernel)), columns_of(X, y, pools)
    keep, where = given(kernel) if keep is None else keep, slots(kernel)
    here, vectors = np.array(to_vector(kernel), dtype=float), []
    for i in range(n):
        vector = here.copy()
        for slot, kept in zip(where, keep, strict=True):
            entries = slice(slot.start, slot.start + slot.size)
            if kept:
                noise = rng.standard_normal(slot.size)
                if i > 0 and spread > 0:
                    vector[entries] += spread * noise
            else:
                node = nodes[slot.node]
                vector[entries] = _draw(node, slot, _seen(node, columns), rng, i)
        vectors.append(_balanced(nodes, where, keep, vector, X))
    return vectors


def _balanced(
    nodes: list[Kernel], where: Sequence[Slot], keep: tuple[bool, ...], vector: np.ndarray, X: np.ndarray
) -> np.ndarray:
    """A new line in a product changes its size: a kept scale, in the first factor, makes up for it."""
    entries = {(slot.node, slot.parameter.name): (slot.start, kept) for slot, kept in zip(where, keep, strict=True)}
    numbers = {id(node): n for n, node in enumerate(nodes)}
    for product in (node for node in nodes if isinstance(node, Product)):
        first = product.scale_node()
        scale, kept = entries.get((numbers[id(first)], "variance"), (0, False))
        for line in (node for node in product.children if isinstance(node, Lin) and kept):
            location, known = entries[numbers[id(line)], "location"]
            if not known:
                weight = X[:, int(line.inputs[0]) if line.inputs else 0] - vector[location]
                vector[scale] -= math.log(np.mean(weight**2))
    return vector


def _seen(node: Kernel, columns: list[Column]) -> list[Column]:
    return columns if node.inputs is None else [columns[int(i)] for i in node.inputs]


def _draw(node: Kernel, slot: Slot, seen: list[Column], rng: np.random.Generator, i: int) -> np.ndarray | float:
    """Start i of one parameter, unconstrained. Start 0 is the plain guess, later ones spread around it."""
    name, column, noise = slot.parameter.name, seen[0], rng.standard_normal(slot.size) * (i > 0)
    if name == "variance":
        little = isinstance(node, WN) or (not column.alone and i % 8 >= 4)  # what a sum of inputs still lacks
        return math.log(0.1 if little else 1.0) + noise - 2 * _log_size(node, column)
    if name == "lengthscale" and slot.parameter.unit == "length":
        return _lengthscale(node, slot, seen, rng, i) + 0.3 * noise
    if name == "period":
        return math.log(column.periods[i % len(column.periods)])
    if name == "location" and not column.alone:
        return column.low + column.span * (0.5, -0.2, 1.2, -1.0, 2.0)[i % 5]
    if name == "location":
        inside = column.low + column.span * rng.uniform(0, 1)
        outside = column.low + column.span * rng.uniform(-1, 2)
        return (outside if isinstance(node, Lin) else inside) if i else column.low + column.span / 2
    if name == "steepness":
        return math.log(20 / column.span) + noise
    if name == "width":
        return math.log(0.2 * column.span) + noise
    if name == "frequency":
        return np.log(1 / rng.choice(column.periods, slot.size))
    return 0.5 * noise  # dimensionless: alpha, weights, the lengthscale of a periodic shape


def _log_size(node: Kernel, column: Column) -> float:
    """A line is as steep as the data: its variance is per squared unit of x."""
    return math.log(column.spread) if isinstance(node, Lin) else 0.0


def _lengthscale(node: Kernel, slot: Slot, seen: list[Column], rng: np.random.Generator, i: int) -> np.ndarray:
    if isinstance(node, Dense) or len(seen) > 1:
        # distances grow with the number of inputs: √d keeps the typical correlation where learning is easy
        return np.log([math.sqrt(len(seen)) * column.spread for column in seen]) + 0.5 * rng.standard_normal() * (i > 0)
    column = seen[0]
    if not column.alone:  # nothing as short as a few steps: the neighbours along one input are far apart in the others
        return np.full(slot.size, math.log((1.0, 3.0, 0.5, 8.0)[i % 4] * column.spread))
    basins = [column.spread, 0.08 * column.span, 6 * column.step, 2 * column.span, 2 * column.step, 0.02 * column.span]
    return np.full(slot.size, math.log(basins[i % len(basins) if slot.size == 1 else int(rng.integers(6))]))


def space(kernel: Kernel, X: np.ndarray) -> Space:
    """Steps and bounds for every free parameter (see `Space`)."""
    nodes, columns = list(walk(kernel)), columns_of(X, np.zeros(len(X)))
    scales, bounds = [], []
    for slot in slots(kernel):
        node = nodes[slot.node]
        seen = _seen(node, columns)
        ard = slot.size == len(seen) and len(seen) > 1
        for entry in range(slot.size):
            column = seen[entry] if ard else seen[0]
            scales.append(_scale(node, slot, column))
            bounds.append(_bounds(node, slot, column))
    return Space(np.array(scales), np.array(bounds).reshape(-1, 2))


def _scale(node: Kernel, slot: Slot, column: Column) -> float:
    name = slot.parameter.name
    if name == "period":
        return 0.3 * min(1.0, float(node.period) / column.span)
    if name == "frequency":
        return 0.3 * min(1.0, 1 / (float(np.max(node.frequency)) * column.span))
    if name == "location":
        return (0.3 if isinstance(node, Lin) else 0.03) * column.span
    return {"variance": 0.5, "width": 0.2}.get(name, 0.3)


def _bounds(node: Kernel, slot: Slot, column: Column) -> tuple[float, float]:
    """Limits within which a parameter still means something on these inputs."""
    name, span, step = slot.parameter.name, column.span, column.step
    if name == "location":
        margin = 5 * span if isinstance(node, Lin) else 0.0
        return column.low - margin, column.low + span + margin
    if name == "variance":
        shift = 2 * _log_size(node, column)
        return math.log(NOISE_FLOOR if isinstance(node, WN) else 1e-8) - shift, math.log(1e5) - shift
    limits = {
        ("lengthscale", "length"): (step / 10, 1e3 * span),
        ("lengthscale", "number"): (0.05, 50.0),
        ("period", "length"): (1.5 * step, 2 * span),
        ("frequency", "frequency"): (1e-3 / span, 1 / step),
        ("steepness", "frequency"): (1 / span, 1e3 / span),
        ("width", "length"): (min(2 * step, span), span),
        ("alpha", "number"): (1e-2, 1e3),
        ("weight", "number"): (1e-6, 1e6),
    }
    low, high = limits[name, slot.parameter.unit]
    return math.log(low), math.log(high)


def peaks(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Periods of the n highest peaks of the detrended series, strongest first."""
    if not np.ptp(x):
        return np.zeros(0)
    return (periodogram_peaks if len(x) <= MOST else binned_peaks)(x, y, n)


def binned_peaks(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """The same by one Fourier transform.

    The values are added up on a fine grid. With so many rows the periodogram of these sums is that of Lomb and
    Scargle for all periods of more than a few steps.
    """
    span = float(np.ptp(x))
    step = max(float(np.median(np.diff(np.unique(x)))) / CELLS, span / (MOST_CELLS * len(x)))
    slope, level = np.polyfit(x, y, 1)
    sums = np.bincount(np.round((x - x.min()) / step).astype(int), weights=y - slope * x - level)
    size = fft.next_fast_len(10 * len(sums), real=True)  # as fine as 0.1/span
    power = np.abs(fft.rfft(sums, size)) ** 2
    frequencies = np.arange(len(power)) / (size * step)
    inside = (frequencies >= 1 / span) & (frequencies <= 0.5 / (CELLS * step))
    inner = np.r_[False, (power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:]), False]
    tops = np.flatnonzero(inner & inside)
    return 1 / frequencies[tops[np.argsort(-power[tops])][:n]]
