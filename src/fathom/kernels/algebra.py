"""Laws of the kernel language: binding to columns, canonical form, sums of products, and changes of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product as choices
from typing import TypeVar

import numpy as np

from fathom.base.arrays import Array
from fathom.kernels.base import Kernel, Leaf, Parameter
from fathom.kernels.combine import Operator, Product, Sum, Switch, check_terms, join
from fathom.kernels.leaves import KNOWN, SE, WN, C, Lin
from fathom.kernels.vector import n_free

Key = tuple[object, ...]  # by which kernels are sorted
L = TypeVar("L", bound=Leaf)

# -- inputs ------------------------------------------------------------------------------------------------------


def bind(kernel: Kernel, names: int | Sequence[str]) -> Kernel:
    """The kernel over the columns of a table: names become numbers, ARD lengthscales one for each input.

    A `Lin` that chose no input becomes a sum of one `Lin` for each column.
    """
    columns = [str(i) for i in range(names)] if isinstance(names, int) else [str(n) for n in names]
    return _bind(kernel, columns)


def _bind(kernel: Kernel, columns: list[str]) -> Kernel:
    if isinstance(kernel, Operator):
        return type(kernel)(tuple(_bind(child, columns) for child in kernel.children))
    if isinstance(kernel, (C, WN)):
        return kernel.replace(inputs=None)
    if kernel.inputs is not None:
        kernel = kernel.replace(inputs=tuple(_index(kernel, i, columns) for i in kernel.inputs))
    elif isinstance(kernel, Lin) and len(columns) > 1:
        return Sum(tuple(kernel.replace(inputs=(i,)) for i in range(len(columns))))
    kernel = kernel.replace(children=tuple(_bind(child, columns) for child in kernel.children))
    width = len(columns) if kernel.inputs is None else len(kernel.inputs)
    if kernel.one_input and width != 1:
        raise ValueError(
            f"{kernel.name} looks at one input but gets {width}: choose one, as in {kernel.name}[{columns[0]}]"
        )
    return kernel.replace(**{p.name: _one_each(kernel, p, width) for p in kernel.parameters if _is_ard(p)})


def _is_ard(p: Parameter) -> bool:
    return p.size == "per input"


def _one_each(kernel: Kernel, p: Parameter, width: int) -> Array:
    value = getattr(kernel, p.name)
    if np.ndim(value) == 0:
        return value if width == 1 else np.full(width, value)
    if np.shape(value) != (width,):
        raise ValueError(f"{kernel.name}: {p.name} has {np.size(value)} values for {width} inputs")
    return value


def _index(kernel: Kernel, chosen: int | str, columns: list[str]) -> int:
    if isinstance(chosen, str):
        if chosen in columns:
            return columns.index(chosen)
        raise ValueError(f"{kernel.name}[{chosen}]: there is no input {chosen!r}; there are {', '.join(columns)}")
    if 0 <= chosen < len(columns):
        return chosen
    raise ValueError(
        f"{kernel.name}[{chosen}] asks for input {chosen}, but there are {len(columns)} (0 to {len(columns) - 1})"
    )


def with_names(kernel: Kernel, names: Sequence[str]) -> Kernel:
    """The kernel with column numbers replaced by names, for reading."""
    changes: dict[str, object] = {"children": tuple(with_names(child, names) for child in kernel.children)}
    if kernel.inputs is not None:
        changes["inputs"] = tuple(names[i] if isinstance(i, int) else i for i in kernel.inputs)
    return kernel.replace(**changes)


# -- scales and units --------------------------------------------------------------------------------------------


def scale(kernel: Kernel, factor: Array) -> Kernel:
    """factor × k, exactly: the factor goes into the variance of one leaf of every product."""
    return kernel.map_scale(lambda variance: variance * factor)


def rescale(kernel: Kernel, shift: Array, spread: Array, y_spread: Array = 1.0) -> Kernel:
    """The kernel in the user's units, from one fitted on x_std = (x − shift)/spread and y_std = (y − m)/y_spread.

    rescale(k)(x, x') = y_spread² k((x − shift)/spread, (x' − shift)/spread), to rounding.
    """
    return scale(_stretch(kernel, np.atleast_1d(shift), np.atleast_1d(spread)), y_spread**2)


def _stretch(kernel: Kernel, shift: np.ndarray, spread: np.ndarray) -> Kernel:
    chosen = slice(None) if kernel.inputs is None else np.asarray(kernel.inputs)
    m, s = shift[chosen], spread[chosen]
    changes: dict[str, object] = {"children": tuple(_stretch(child, shift, spread) for child in kernel.children)}
    for p in kernel.parameters:
        value = getattr(kernel, p.name)
        if p.unit in ("variance", "number"):
            continue
        shifted = {"length": lambda v: v * s, "frequency": lambda v: v / s, "location": lambda v: v * s + m}
        new = shifted[p.unit](np.asarray(value))
        changes[p.name] = new if np.ndim(value) or len(s) > 1 else float(new[0])
    if isinstance(kernel, Lin):
        changes["variance"] = kernel.variance / s[0] ** 2
    return kernel.replace(**changes)


# -- canonical form ----------------------------------------------------------------------------------------------


def canonical(kernel: Kernel, keep_given: bool = False) -> Kernel:
    """The one form of all kernels that differ by order, nesting or the simplification rules of thesis 4.1.1.

    Rules, applied at every level: SE×SE over the same inputs is an SE; WN×stationary is WN; C×k is k with another
    scale; sums of C and of WN merge. The scale of a product stands in its first factor. Values do not change.
    Which parameters a caller named is forgotten, unless `keep_given`.
    """
    return _canonical(kernel) if keep_given else _forget(_canonical(kernel))


def _forget(kernel: Kernel) -> Kernel:
    """The kernel without the memory of which parameters a caller named: the canonical form is nobody's."""
    fields = {**kernel.__dict__, "given": frozenset(), "children": tuple(_forget(c) for c in kernel.children)}
    return type(kernel)._raw(**fields)


def _canonical(kernel: Kernel) -> Kernel:
    if not kernel.children:
        return kernel
    kernel = kernel.replace(children=tuple(_canonical(child) for child in kernel.children))
    if isinstance(kernel, Sum):
        terms = _merge(_merge(list(Sum(kernel.children).children), C, _add), WN, _add)
        return join(Sum, sorted(terms, key=sort_key))
    if isinstance(kernel, Product):
        return _canonical_product(list(Product(kernel.children).children))
    return kernel


def _canonical_product(factors: list[Kernel]) -> Kernel:
    factors = _absorb_constants(_absorb_into_noise(factors))
    for inputs in {f.inputs for f in factors if isinstance(f, SE)}:
        factors = _merge(factors, SE, _multiply_se, inputs)
    return _gather_scale(sorted(factors, key=_unit_key))


def _unit_key(factor: Kernel) -> Key:
    """Where a factor stands in its product: its scale, which is about to move, must not matter."""
    held = factor.scale_node().variance
    return sort_key(factor if held == 0 else _divided(factor, held))


def _merge(
    nodes: list[Kernel], leaf: type[L], how: Callable[[L, L], L], inputs: tuple[int | str, ...] | None = ()
) -> list[Kernel]:
    """Replace all leaves of one class (and, if given, one choice of inputs) by a single one."""
    alike = [n for n in nodes if isinstance(n, leaf) and (inputs == () or n.inputs == inputs)]
    return _without(nodes, alike) + ([reduce(how, alike)] if alike else [])


def _without(nodes: list[Kernel], some: Sequence[Kernel]) -> list[Kernel]:
    taken = {id(n) for n in some}
    return [n for n in nodes if id(n) not in taken]


def _add(a: L, b: L) -> L:
    return a.replace(variance=a.variance + b.variance)


def _multiply_se(a: SE, b: SE) -> SE:
    """exp(−s_a/2) exp(−s_b/2): precisions add."""
    lengthscale = (np.asarray(a.lengthscale) ** -2.0 + np.asarray(b.lengthscale) ** -2.0) ** -0.5
    joint = a.replace(variance=a.variance * b.variance, lengthscale=lengthscale)
    return joint._raw(**joint.__dict__ | {"fixed": a.fixed & b.fixed})


def _absorb_into_noise(factors: list[Kernel]) -> list[Kernel]:
    """WN×stationary: only the value at lag zero, the variance, is left."""
    if not any(isinstance(f, WN) for f in factors):
        return factors
    absorbed = [f for f in factors if isinstance(f, Leaf) and f.stationary]
    variance = reduce(lambda v, f: v * f.variance, absorbed, 1.0)
    return [WN(variance=variance), *_without(factors, absorbed)]


def _absorb_constants(factors: list[Kernel]) -> list[Kernel]:
    """C×k → k, scaled."""
    constants = [f for f in factors if isinstance(f, C)]
    others = [f for f in factors if not isinstance(f, C)]
    total = reduce(lambda v, f: v * f.variance, constants, 1.0)
    if not others:
        return [C(variance=total)]
    return [scale(others[0], total), *others[1:]] if constants else others


def _gather_scale(factors: list[Kernel]) -> Kernel:
    """Move every factor's scale into the first factor, so that equal products look equal."""
    total: Array = 1.0
    unit = []
    for factor in factors[1:]:
        held = factor.scale_node().variance
        if held not in (0, 1):
            factor = _divided(factor, held)
            total = total * held
        unit.append(factor)
    return join(Product, [scale(factors[0], total) if total != 1.0 else factors[0], *unit])


def _divided(kernel: Kernel, held: Array) -> Kernel:
    """k / held, by division, which leaves exactly 1: a canonical form must be its own canonical form."""
    return kernel.map_scale(lambda variance: variance / held)


def sort_key(kernel: Kernel) -> Key:
    """Orders by structure, then by shape parameters, then by scale."""
    return (_structure_key(kernel), _values(kernel, False), _values(kernel, True))


def _structure_key(kernel: Kernel) -> Key:
    inputs = tuple(str(i) for i in kernel.inputs or ())
    statics = tuple(getattr(kernel, field) for field in kernel.static)
    return (_rank(kernel), inputs, statics, tuple(_structure_key(child) for child in kernel.children))


def _rank(kernel: Kernel) -> int:
    """Where a class stands: sums and products last."""
    if isinstance(kernel, Operator):
        return len(KNOWN) + isinstance(kernel, Product)
    return list(KNOWN).index(kernel.name)


def _values(kernel: Kernel, scales: bool) -> Key:
    own = tuple(
        tuple(float(f"{v:.10g}") for v in np.ravel(getattr(kernel, p.name)))  # rounding must not decide the order
        for p in kernel.parameters
        if (p.name == "variance") is scales
    )
    return own + tuple(_values(child, scales) for child in kernel.children)


# -- sums of products --------------------------------------------------------------------------------------------


def terms(kernel: Kernel) -> tuple[Kernel, ...]:
    """The products whose sum the kernel is; changepoints and windows become rank-one weights."""
    check_terms(kernel)
    return _terms(kernel)


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    if isinstance(kernel, Sum):
        return tuple(term for child in kernel.children for term in _terms(child))
    if isinstance(kernel, Product):
        return tuple(
            join(Product, list(Product(chosen).children))
            for chosen in choices(*(_terms(factor) for factor in kernel.children))
        )
    return _terms(kernel.as_sum()) if isinstance(kernel, Switch) else (kernel,)


def sum_of_products(kernel: Kernel) -> Kernel:
    """All products of sums distributed (thesis 4.1.1, first step). Shared parameters are repeated."""
    return join(Sum, list(terms(kernel)))


def distribute(kernel: Kernel) -> Kernel:
    """Products distributed over sums and into both sides of switches, which stay whole and come to the top."""
    check_terms(kernel)
    return _distribute(kernel)


def _distribute(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Sum):
        return Sum(tuple(_distribute(child) for child in kernel.children))
    if not isinstance(kernel, Product):
        return kernel.replace(children=tuple(_distribute(child) for child in kernel.children))
    factors = [_distribute(factor) for factor in kernel.children]
    for i, factor in enumerate(factors):
        if factor.children:
            rest = factors[:i] + factors[i + 1 :]
            children = tuple(_distribute(join(Product, [child, *rest])) for child in factor.children)
            return Sum(children) if isinstance(factor, Sum) else factor.replace(children=children)
    return Product(tuple(factors))


def simplify(kernel: Kernel) -> Kernel:
    """The standard form for description: distribute, then apply the simplification rules (thesis 4.1.1, eq. 4.1)."""
    return canonical(sum_of_products(kernel))


def n_effective(kernel: Kernel) -> int:
    """Effective parameters for BIC: base kernels' own, less one for each further factor of a product; CP +2, CW +3.

    Counted on the canonical form, where flat directions such as the lengthscale of WN×SE are gone.
    """
    return n_free(canonical(kernel))
