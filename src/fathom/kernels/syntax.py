"""Kernels as text: `parse(str(k)) == k`.

    kernel  = product { "+" product }
    product = factor { "*" factor }
    factor  = ( "(" kernel ")" | NAME ) [ "[" inputs "]" ] [ "(" arguments ")" ]

Arguments are kernels (of CP, CW and others made from kernels) and `parameter=value`, or `parameter=value fixed` for
one that no fit may change; inputs are column numbers or names. A parameter that nobody set is not printed. What is read
has limits, so that reading takes a second at most and whatever walks over the tree may recurse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from fathom.base.arrays import Array
from fathom.kernels.base import Kernel
from fathom.kernels.combine import Operator, Product, Sum, join
from fathom.kernels.leaves import KNOWN

LONG = {"ChangePoint": "CP", "ChangeWindow": "CW"}  # names that are read and never printed
DEEPEST = 50  # parentheses inside each other
MOST = 10_000  # base kernels and switches
LONGEST = 5_000_000  # characters
DIGITS = 6  # of a column number
SHOWN = 100  # characters of a text that an error repeats

# possessive: many digits and a letter behind them are tried once, not once for every way to split the digits
TOKEN = re.compile(
    r"\s*+(?:(?P<number>[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?+)(?![A-Za-z_])"
    r"|(?P<name>[^\W\d]\w*)|(?P<string>\"(?:[^\"\\]++|\\(?s:.))*+\")|(?P<symbol>[-+*×()\[\],=])|(?P<end>$))"
)


class KernelSyntaxError(ValueError):
    """The text is not a kernel; the message says where and why."""


# -- printing ----------------------------------------------------------------------------------------------------


def to_text(kernel: Kernel, values: bool = True) -> str:
    """The kernel in its own language; without `values`, its structure only."""
    if isinstance(kernel, Sum):
        return " + ".join(to_text(term, values) for term in kernel.children)
    if isinstance(kernel, Product):
        factors = [(factor, to_text(factor, values)) for factor in kernel.children]
        return "*".join(f"({text})" if isinstance(factor, Sum) else text for factor, text in factors)
    arguments = [to_text(child, values) for child in kernel.children]
    arguments += [f"{field}={getattr(kernel, field)}" for field in kernel.static if not _is_default(kernel, field)]
    for p in kernel.parameters if values else ():
        value, fixed = getattr(kernel, p.name), p.name in kernel.fixed
        if fixed or p.name in kernel.given or not np.array_equal(_array(value), np.asarray(p.default)):
            arguments.append(f"{p.name}={_number_text(value)}{' fixed' if fixed else ''}")
    chosen = "" if kernel.inputs is None else f"[{', '.join(_input_text(i) for i in kernel.inputs)}]"
    return kernel.name + chosen + (f"({', '.join(arguments)})" if arguments else "")


def _is_default(kernel: Kernel, field: str) -> bool:
    return bool(getattr(kernel, field) == getattr(type(kernel), "default_" + field))


def _array(value: Array) -> np.ndarray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):  # a tracer or a placeholder of tree_map: printed as it prints itself
        return np.asarray(None)


def _number_text(value: Array) -> str:
    array = _array(value)
    if array.dtype == object:
        return str(value)
    return str(array.tolist()) if array.ndim else repr(float(array))


def _input_text(i: int | str) -> str:
    if isinstance(i, int):
        return str(i)
    return i if re.fullmatch(r"[^\W\d]\w*", i) else '"' + i.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shortened(text: str) -> str:
    """The text of a kernel with long lists cut short: for reading, not for parsing."""
    return re.sub(r"\[([^\[\], ]+), [^\[\]]{60,}, ([^\[\], ]+)\]", r"[\1, …, \2]", text)


# -- parsing -----------------------------------------------------------------------------------------------------


def parse(text: str) -> Kernel:
    """The kernel that a text describes, such as `"SE*Per + Lin"` or `"SE[age](lengthscale=2.0)"`."""
    if not isinstance(text, str):
        raise TypeError(f"parse reads text, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise KernelSyntaxError(f"a kernel has at most {LONGEST} characters, not {len(text)}")
    reader = _Reader(text)
    kernel = reader.sum()
    if reader.kind != "end":
        reader.fail("an operator (+ or *) or the end")
    return kernel


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str):
        self.text, self.position = text, 0
        self.depth, self.size = 0, 0  # open parentheses, and kernels so far
        self.advance()

    def advance(self) -> str:
        """Step to the next token; the one left behind is returned."""
        left = getattr(self, "token", "")
        match = TOKEN.match(self.text, self.position)
        if match is None:
            self.start = len(self.text) - len(self.text[self.position :].lstrip())
            self.kind, self.token = "unknown", self.text[self.start : self.start + 1]
            return left
        self.kind = match.lastgroup or "end"
        self.token = match.group(self.kind)
        self.start, self.position = match.start(self.kind), match.end()
        return left

    def fail(self, expected: str) -> NoReturn:
        found = repr(_cut(self.token, 0)) if self.token else "the end"
        self.refuse(f"expected {expected} {self.here()}, found {found}")

    def refuse(self, why: str) -> NoReturn:
        raise KernelSyntaxError(f"cannot read kernel {_cut(self.text, self.start)!r}: {why}")

    def enter(self) -> None:
        """One parenthesis deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} parentheses inside each other {self.here()}")

    def here(self) -> str:
        return f"at position {self.start + 1}"

    def take(self, symbol: str) -> bool:
        if self.kind == "symbol" and self.token == symbol:
            self.advance()
            return True
        return False

    def need(self, symbol: str) -> None:
        if not self.take(symbol):
            self.fail(repr(symbol))

    def sum(self) -> Kernel:
        return self.chain(Sum, ("+",), self.product)

    def product(self) -> Kernel:
        return self.chain(Product, ("*", "×"), self.factor)

    def chain(self, operator: type[Operator], symbols: tuple[str, ...], operand: Callable[[], Kernel]) -> Kernel:
        operands = [operand()]
        while any(self.take(symbol) for symbol in symbols):
            operands.append(operand())
        return join(operator, operands)

    def factor(self) -> Kernel:
        if self.take("("):
            self.enter()
            kernel = self.sum()
            self.depth -= 1
            self.need(")")
            return kernel.on(*inputs) if (inputs := self.inputs()) is not None else kernel
        if self.kind != "name":
            self.fail("a kernel")
        node = KNOWN.get(LONG.get(self.token, self.token))
        if node is None:
            self.fail(f"a kernel ({', '.join(sorted(KNOWN))})")
        return self.node(node)

    def node(self, node: type[Kernel]) -> Kernel:
        """A kernel with its inputs and arguments."""
        start, self.size = self.start, self.size + 1
        if self.size > MOST:
            self.refuse(f"more than {MOST} kernels {self.here()}")
        self.advance()
        inputs = self.inputs()
        operands, values, fixed = self.arguments()
        try:
            node.check_names(values)
            node.check_operands(operands)
            return node(*operands, inputs=inputs, **values).fix(*fixed)
        except ValueError as problem:
            self.refuse(f"{problem} (at position {start + 1})")

    def inputs(self) -> tuple[int | str, ...] | None:
        if not self.take("["):
            return None
        chosen = [self.input()]
        while self.take(","):
            chosen.append(self.input())
        self.need("]")
        return tuple(chosen)

    def input(self) -> int | str:
        if self.kind == "number" and self.token.isdigit():
            if len(self.token) > DIGITS:
                self.refuse(f"a column number has at most {DIGITS} digits, not {len(self.token)} {self.here()}")
            return int(self.advance())
        if self.kind == "string":
            return re.sub(r"\\(.)", r"\1", self.advance()[1:-1], flags=re.DOTALL)
        if self.kind != "name":
            self.fail("an input: a column number or name")
        return self.advance()

    def arguments(self) -> tuple[list[Kernel], dict[str, Array], list[str]]:
        """Operands, values of parameters, and which of these are fixed."""
        operands: list[Kernel] = []
        values: dict[str, Array] = {}
        fixed: list[str] = []
        if not self.take("(") or self.take(")"):
            return operands, values, fixed
        self.enter()
        while True:
            if self.kind == "name" and self.token not in KNOWN and self.token not in LONG:
                if self.token in values:
                    self.refuse(f"{self.token} is given twice, again {self.here()}")
                name = self.advance()
                self.need("=")
                values[name] = self.value()
                if self.kind == "name" and self.token == "fixed":
                    self.advance()
                    fixed.append(name)
            else:
                operands.append(self.sum())
            if not self.take(","):
                self.depth -= 1
                self.need(")")
                return operands, values, fixed

    def value(self) -> Array:
        """A number, or a list of numbers."""
        if not self.take("["):
            return self.number()
        items = [self.number()]
        while self.take(","):
            items.append(self.number())
        self.need("]")
        return items

    def number(self) -> float:
        if self.kind != "number":
            self.fail("a number")
        return float(self.advance())


def _cut(text: str, around: int) -> str:
    """The text or, of a long one, what stands about a position."""
    if len(text) <= SHOWN:
        return text
    low = max(0, min(around - SHOWN // 2, len(text) - SHOWN))
    return "…" * (low > 0) + text[low : low + SHOWN] + "…" * (low + SHOWN < len(text))
