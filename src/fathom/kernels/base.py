"""The nodes of the kernel language: immutable trees whose parameters are PyTree leaves.

A node answers one question, `evaluate(X, Z, same)`: the matrix of covariances between the rows of X and of Z.
`same` says that the two are the *same observations*, which is what white noise needs to know: its delta is on the
observation, not on the value, so repeated inputs get independent noise and `WN(x*, X) = 0` always. `vjp` answers the
same question in NumPy, together with the way back from the gradient in the matrix to that in the parameters.

Nodes hold no arrays of data and know nothing of `y`, noise models or posteriors. This module never imports JAX;
`fathom.kernels.pytree` registers the nodes with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from fathom.base.arrays import Array, Namespace, namespace

Kind = Literal["positive", "real", "fixed"]
Unit = Literal["variance", "length", "frequency", "location", "number"]
Gradients = dict[tuple[int, str], Array]  # by node, numbered as `walk` does, and parameter; positive ones as logarithms
Inputs = int | str | Sequence[int | str] | None
Pull = Callable[[np.ndarray], Gradients]  # from the gradient in a matrix (or its diagonal) to those in the parameters


@dataclass(frozen=True)
class Parameter:
    """A parameter of a node: how it is constrained, and how it changes with the units of the data.

    `positive` parameters are learnt in log space, `real` ones as they are, `fixed` ones not at all. Of positive ones
    only variances and frequencies may be zero: the kernel then vanishes, or does not change. A size of "per input" is
    automatic relevance determination: one value for each input the node looks at.
    """

    name: str
    kind: Kind
    unit: Unit
    default: float | tuple[float, ...]
    size: Literal["one", "per input", "list"] = "one"

    @property
    def may_vanish(self) -> bool:
        """True if zero has a meaning."""
        return self.kind != "positive" or self.unit in ("variance", "frequency")


VARIANCE = Parameter("variance", "positive", "variance", 1.0)


class Kernel:
    """A covariance function. Combine with `+` and `*`; evaluate with `gram`, `cross` and `diag`."""

    name: ClassVar[str] = "Kernel"
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    static: ClassVar[tuple[str, ...]] = ()  # fields that belong to the structure
    stationary: ClassVar[bool] = False
    one_input: ClassVar[bool] = False  # reads exactly one column
    operands: ClassVar[int | None] = 0  # kernels it is made from; None for one or more
    chooses_inputs: ClassVar[bool] = True
    given: frozenset[str] = frozenset()  # parameters the caller named; a fit starts from them, equality ignores it
    fixed: frozenset[str] = frozenset()  # parameters that keep their values in every fit, and do not count as free
    __slots__ = ("__dict__", "__weakref__")

    inputs: tuple[int | str, ...] | None
    children: tuple[Kernel, ...]

    if TYPE_CHECKING:  # parameters are declared in tables, not as annotations

        def __getattr__(self, name: str) -> Array: ...

    # -- construction ------------------------------------------------------------------------------------------

    def __init__(self, *children: Kernel, inputs: Inputs = None, **values: Array):
        self.check_names(values)
        self.check_operands(children)
        for p in self.parameters:
            self._set(**{p.name: checked(self.name, p, values.get(p.name, p.default))})
        for field in self.static:
            self._set(**{field: values.get(field, getattr(type(self), "default_" + field))})
        self._set(inputs=chosen_inputs(self.name, inputs), children=children, given=frozenset(values))

    @classmethod
    def check_names(cls, named: Iterable[str], more: tuple[str, ...] = ()) -> None:
        """Raise an error unless these are names of parameters."""
        if unknown := set(named) - {p.name for p in cls.parameters} - {*cls.static, *more}:
            known = ", ".join([p.name for p in cls.parameters] + list(cls.static)) or "none"
            raise ValueError(f"{cls.name} has no parameter {sorted(unknown)[0]!r}: it has {known}")

    @classmethod
    def check_operands(cls, children: Sequence[Kernel]) -> None:
        """Raise an error unless these are kernels, and as many as it takes."""
        for child in children:
            if not isinstance(child, Kernel):
                raise TypeError(f"{cls.name} combines kernels, not {type(child).__name__}")
        n, wanted = len(children), cls.operands
        if n != wanted if wanted is not None else n < 1:
            words = {None: "one kernel or more", 0: "no kernels", 1: "one kernel"}.get(wanted, f"{wanted} kernels")
            raise ValueError(f"{cls.name} takes {words}, got {n}")

    def _set(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"kernels are immutable: use .replace({field}=...) for a changed copy")

    def replace(self, **changes: object) -> Self:
        """A copy with some parameters, inputs or children changed."""
        self.check_names(changes, ("inputs", "children"))
        fields = {**self.__dict__, **changes}
        for p in self.parameters:
            if p.name in changes:
                fields[p.name] = checked(self.name, p, changes[p.name])
        return self._raw(**fields)

    def fix(self, *names: str) -> Self:
        """A copy in which these parameters keep their values: no fit learns them, and BIC does not count them."""
        learnt = [p.name for p in self.parameters if p.kind != "fixed" and p.name != "variance"]
        for name in names:
            if name == "variance" and self.has_variance():
                raise ValueError(f"the variance of {self.name} cannot be fixed: products share one scale")
            if name not in learnt:
                raise ValueError(f"{self.name} has no parameter {name!r} to fix: it has {', '.join(learnt) or 'none'}")
        return self._raw(**{**self.__dict__, "fixed": self.fixed | set(names)})

    @classmethod
    def _raw(cls, **fields: object) -> Self:
        """Build without checks: for internal copies and for JAX, which rebuilds nodes around tracers."""
        node = object.__new__(cls)
        node._set(**fields)
        return node

    def on(self, *inputs: int | str) -> Kernel:
        """This kernel looking at the given inputs, wherever it has not chosen its own."""
        open_ = self.inputs is None and self.chooses_inputs
        if not self.children:
            return self.replace(inputs=tuple(inputs)) if open_ else self
        changes: dict[str, object] = {"inputs": tuple(inputs)} if open_ else {}
        children = tuple(child.on(*inputs) for child in self.children)
        if any(new is not old for new, old in zip(children, self.children, strict=True)):
            changes["children"] = children
        return self.replace(**changes) if changes else self

    # -- algebra -----------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Kernel:
        from fathom.kernels.combine import Sum

        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        from fathom.kernels.combine import Product

        return Product((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        if self.structure() != other.structure():
            return False
        if any(a.fixed != b.fixed for a, b in zip(walk(self), walk(other), strict=True)):
            return False
        return all(
            np.array_equal(np.asarray(a), np.asarray(b))
            for a, b in zip(parameter_values(self), parameter_values(other), strict=True)
        )

    def __hash__(self) -> int:
        return hash(self.structure())

    def structure(self) -> tuple[object, ...]:
        """What two kernels share when they differ in parameter values only."""
        statics = tuple(getattr(self, field) for field in self.static)
        return (self.name, self.inputs, statics, tuple(child.structure() for child in self.children))

    # -- scale -------------------------------------------------------------------------------------------------

    @classmethod
    def has_variance(cls) -> bool:
        """True when the kernel is its own `variance` times something."""
        return any(p.name == "variance" for p in cls.parameters)

    def scale_node(self) -> Kernel:
        """The node whose variance stands for the scale: itself, or what its first operand names."""
        return self if self.has_variance() or not self.children else self.children[0].scale_node()

    def map_scale(self, change: Callable[[Array], Array]) -> Kernel:
        """The kernel with its variance changed, by default that of every operand when it has none of its own."""
        if self.has_variance():
            return self.replace(variance=change(self.variance))
        if not self.children:
            raise ValueError(f"{self.name} has no variance that could be changed")
        return self.replace(children=tuple(child.map_scale(change) for child in self.children))

    def pins(self, pinned: bool) -> tuple[bool, ...]:
        """For every operand, whether its scale is pinned (not learnt), given whether this node's is."""
        return tuple(pinned and i == 0 and not self.has_variance() for i in range(len(self.children)))

    # -- text --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from fathom.kernels.syntax import to_text

        return to_text(self)

    __repr__ = __str__

    # -- evaluation --------------------------------------------------------------------------------------------

    def gram(self, X: Array) -> Array:
        """N×N covariances of the observations at the rows of X, white noise on the diagonal."""
        X, _, xp = self._ready(X, X)
        return self.evaluate(X, X, True, xp)

    def cross(self, X: Array, Z: Array) -> Array:
        """N×M covariances between observations at X and different observations at Z: no white noise."""
        X, Z, xp = self._ready(X, Z)
        return self.evaluate(X, Z, False, xp)

    def diag(self, X: Array, noise: bool = True) -> Array:
        """Variances at the rows of X (N), with or without white noise."""
        X, _, xp = self._ready(X, X)
        return self.evaluate_diag(X, noise, xp)

    __call__ = cross

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        """Covariances of the rows of X (N, D) and Z (M, D); `same` when they are the same observations."""
        raise NotImplementedError

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        """Variances at the rows of X (N), with the noise of the observations when `same`."""
        raise NotImplementedError

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        """The matrix K of `evaluate`, and a function that takes ∂L/∂K (N, M) to the gradients in all parameters."""
        raise NotImplementedError

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        """The variances of `evaluate_diag`, and the same for the gradient in them (N)."""
        raise NotImplementedError

    def _ready(self, X: Array, Z: Array) -> tuple[Array, Array, Namespace]:
        xp = namespace(X, Z, *parameter_values(self))
        X, Z = (as_rows(A, xp) for A in (X, Z))
        if X.shape[1] != Z.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}: they must agree")
        return X, Z, xp

    def columns(self, X: Array) -> Array:
        """The columns of X this node looks at."""
        if self.inputs is None:
            chosen = X
        else:
            chosen = X[:, np.asarray(self._indices(X.shape[1]))]
        if self.one_input and chosen.shape[1] != 1:
            raise ValueError(
                f"{self.name} looks at one input but gets {chosen.shape[1]}: choose one, as in {self.name}[0]"
            )
        for p in self.parameters:
            if p.size == "per input" and (shape := np.shape(getattr(self, p.name))) not in ((), (chosen.shape[1],)):
                raise ValueError(f"{self.name}: {p.name} has {shape[0]} values for {chosen.shape[1]} inputs")
        return chosen

    def _indices(self, width: int) -> list[int]:
        indices = []
        for i in self.inputs or ():
            if isinstance(i, str):
                raise ValueError(f"input {i!r} of {self.name} is a name: bind the kernel to column names first")
            if not 0 <= i < width:
                raise ValueError(f"{self.name}[{i}] asks for input {i}, but there are {width} (0 to {width - 1})")
            indices.append(i)
        return indices


def as_rows(A: Array, xp: Namespace) -> Array:
    """A matrix of rows; a vector is read as one column."""
    A = xp.asarray(A, dtype=float) if xp is np else xp.asarray(A)
    if A.ndim == 1:
        A = A[:, None]
    if A.ndim != 2:
        raise ValueError(f"inputs must be a matrix of rows (N, D), not an array of shape {A.shape}")
    return A


def chosen_inputs(owner: str, inputs: Inputs) -> tuple[int | str, ...] | None:
    """Column numbers and names as a tuple; None for all columns."""
    if inputs is None:
        return None
    found: list[int | str] = []
    for i in (inputs,) if isinstance(inputs, (int, str, np.integer)) else tuple(inputs):
        if not isinstance(i, str) and (not isinstance(i, (int, np.integer)) or isinstance(i, bool) or i < 0):
            raise ValueError(f"{owner}: an input is a column number from 0 on, or a name, not {i!r}")
        found.append(i if isinstance(i, str) else int(i))
    if not found:
        raise ValueError(f"{owner} chooses no input: leave them out for all")
    return tuple(found)


def checked(owner: str, p: Parameter, value: object) -> Array:
    """A parameter value as float, read-only float64 array, or whatever JAX put there."""
    jax, plain = sys.modules.get("jax"), (int, float, list, tuple, np.ndarray, np.generic, str, bytes, NoneType)
    if jax is not None and not isinstance(value, plain):
        return value  # a tracer, a JAX array, or a placeholder in a tree_map
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {p.name} must be a number, got {value!r}") from None
    if array.ndim > (p.size != "one") or not array.size:
        wanted = "a number" if p.size == "one" else "a number or a list of them"
        raise ValueError(f"{owner}: {p.name} must be {wanted}, got {value}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{owner}: {p.name} must be finite, got {value}")
    if p.kind == "positive" and not np.all(array >= 0 if p.may_vanish else array > 0):
        raise ValueError(f"{owner}: {p.name} must {'not be negative' if p.may_vanish else 'be positive'}, got {value}")
    if array.ndim == 0 and p.size != "list":
        return float(array)
    array = np.atleast_1d(array)
    array.setflags(write=False)
    return array


def parameter_values(kernel: Kernel) -> list[Array]:
    """Every parameter of every node, in the order of `walk`."""
    return [getattr(node, p.name) for node in walk(kernel) for p in node.parameters]


def walk(kernel: Kernel) -> Iterator[Kernel]:
    """Every node, parents before children, left before right."""
    yield kernel
    for child in kernel.children:
        yield from walk(child)


def numbered(parts: Sequence[tuple[Kernel, Gradients]], own: Gradients | None = None) -> Gradients:
    """The gradients of a node's operands under the numbers that `walk` gives them from that node on."""
    found, start = dict(own or {}), 1
    for child, gradients in parts:
        found.update({(start + node, name): gradient for (node, name), gradient in gradients.items()})
        start += sum(1 for _ in walk(child))
    return found


class Leaf(Kernel):
    """A base kernel: a variance and a few shape parameters, over the inputs it has chosen (None: all of them)."""
