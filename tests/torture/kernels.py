"""Kernel texts: expressions of a grammar, the same with errors in them, and texts that mean harm.

The grammar writes a text and builds the kernel that it must be read as. Whatever is read must be printed and read again
as the same, and what the grammar wrote must be a covariance. Everything else gets one line that says where.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from functools import reduce

import numpy as np

from fathom.kernels import KernelSyntaxError, Product, Sum, bind, canonical, parse, simplify
from fathom.kernels.base import Kernel, Parameter
from fathom.kernels.combine import ChangePoint, ChangeWindow
from fathom.kernels.leaves import LEAVES
from tests.torture.tally import Tally

FULL = 10_000
READING, SECONDS = 1.0, 3.0  # of a processor: to read a text, and for all that is done with it
COLUMNS = ["age", "fly ash", 'a "b" \\ c']
ROWS = np.random.default_rng(0).standard_normal((9, len(COLUMNS)))
SPELT = {"CP": ["CP", "ChangePoint"], "CW": ["CW", "ChangeWindow"]}
Written = tuple[str, Kernel]  # a text, and what it means


def run(cases: range, seed: int) -> Tally:
    """Try these cases."""
    tally = Tally()
    for case in cases:
        rng = np.random.default_rng([seed, case])
        kind = KINDS[case % len(KINDS)]
        clock = Clock(tally, f"case {case} of seed {seed}")
        try:
            outcome = kind(rng, tally, f"case {case} of seed {seed}")
        except Exception:
            outcome = "broken"
            tally.fault("traceback", f"case {case} of seed {seed}: {traceback.format_exc(limit=-1)}")
        tally.outcomes[outcome] += 1
        clock.within(SECONDS)
    return tally


class Clock:
    """The time a case has taken."""

    def __init__(self, tally: Tally, case: str):
        self.tally, self.case, self.began = tally, case, time.process_time()

    def within(self, seconds: float) -> None:
        """A fault, unless it was less."""
        if (took := time.process_time() - self.began) > seconds:
            self.tally.fault("hang", f"{self.case}: {took:.1f} s")


# -- the three kinds of texts --------------------------------------------------------------------------------------


def valid(rng: np.random.Generator, tally: Tally, case: str) -> str:
    """A text of the grammar."""
    text, meant = expression(rng, int(rng.integers(1, 4)), False)
    kernel = parse(text)
    if kernel != meant:
        tally.fault("misread", f"{case}: {text!r} was read as {kernel}")
    again_the_same(kernel, tally, case)
    is_covariance(kernel, tally, case)
    return "understood"


def mutated(rng: np.random.Generator, tally: Tally, case: str) -> str:
    """A text of the grammar with a few characters changed, taken away or doubled."""
    text, _ = expression(rng, int(rng.integers(1, 4)), False)
    for _ in range(rng.integers(1, 5)):
        text = MUTATIONS[rng.integers(len(MUTATIONS))](rng, text)
    return read_or_refused(text, tally, case)


def hostile(rng: np.random.Generator, tally: Tally, case: str) -> str:
    """A text that is deep, long or strange on purpose."""
    return read_or_refused(HOSTILE[rng.integers(len(HOSTILE))](rng, int(10 ** rng.uniform(0, 4))), tally, case)


KINDS = (valid, mutated, valid, mutated, hostile)


def read_or_refused(text: str, tally: Tally, case: str) -> str:
    """Read a text that may mean nothing."""
    clock = Clock(tally, case)
    try:
        kernel = parse(text)
        clock.within(READING)
    except KernelSyntaxError as problem:
        clock.within(READING)
        said = str(problem)
        if "\n" in said or len(said) > 500 or not re.search(r"position \d+|at most \d+ characters", said):
            tally.fault("traceback", f"{case}: {said[:300]!r}")
        return "refused"
    again_the_same(kernel, tally, case)
    return rewritten(kernel)


def again_the_same(kernel: Kernel, tally: Tally, case: str) -> None:
    """Printed and read, a kernel is what it was."""
    if parse(str(kernel)) != kernel:
        tally.fault("misread", f"{case}: {str(kernel)[:300]!r} is not what it says")


def rewritten(kernel: Kernel) -> str:
    """Put the kernel into its other forms; that it cannot be multiplied out is an answer."""
    with np.errstate(all="ignore"):  # any number that can be written stands in a kernel
        canonical(kernel)
        try:
            simplify(kernel)
        except ValueError as problem:
            if "multiplied out, the kernel is a sum of over" not in str(problem):
                raise
            return "understood, too many products to multiply out"
    return "understood"


def is_covariance(kernel: Kernel, tally: Tally, case: str) -> None:
    """The matrix of the kernel is finite, and no direction has a negative variance."""
    gram = bind(kernel, COLUMNS).gram(ROWS)
    if not np.isfinite(gram).all():
        tally.fault("NaN", f"{case}: {kernel}")
    elif np.linalg.eigvalsh(gram).min() < -1e-9 * np.abs(gram).max() * len(gram):
        tally.fault("misread", f"{case}: the matrix of {kernel} is no covariance")


# -- a grammar that knows what it writes ------------------------------------------------------------------------------


def expression(rng: np.random.Generator, depth: int, covered: bool) -> Written:
    """A kernel of the language; `covered` if an input is chosen for it further out."""
    kind = rng.integers(6) if depth else 5
    if kind in (0, 1):
        operator, sign = ((Sum, "+"), (Product, rng.choice(["*", "×"])))[kind]
        parts = [expression(rng, depth - 1, covered) for _ in range(rng.integers(2, 4))]
        texts = [f"({text})" if operator is Product or rng.random() < 0.3 else text for text, _ in parts]
        return f"{space(rng)}{sign}{space(rng)}".join(texts), operator(tuple(k for _, k in parts))
    if kind == 2:
        return switch(rng, depth, covered)
    if kind == 3:
        text, kernel = expression(rng, depth - 1, True)
        chosen, shown = column(rng)
        return f"({text}){space(rng)}[{shown}]", kernel.on(chosen)
    if kind == 4:
        text, kernel = expression(rng, depth - 1, covered)
        return f"({space(rng)}{text}{space(rng)})", kernel
    return leaf(rng, covered)


def switch(rng: np.random.Generator, depth: int, covered: bool) -> Written:
    """A changepoint or a window."""
    node = (ChangePoint, ChangeWindow)[rng.integers(2)]
    (one, first), (two, second) = (expression(rng, depth - 1, covered) for _ in range(2))
    inputs, shown = chosen_for(rng, True, covered)
    arguments, values = parameters(rng, node.parameters, 1)
    text = f"{rng.choice(SPELT[node.name])}{shown}({', '.join([one, two, *arguments])})"
    return text, node(first, second, inputs=inputs, **values)


def leaf(rng: np.random.Generator, covered: bool) -> Written:
    """A base kernel with some of its parameters."""
    node = LEAVES[rng.integers(len(LEAVES))]
    inputs, shown = chosen_for(rng, node.one_input, covered)
    width = len(inputs) if inputs is not None else 1 if covered else len(COLUMNS)
    arguments, values = parameters(rng, node.parameters, width)
    if node.name == "ArcCos" and rng.random() < 0.5:
        order = int(rng.integers(3))
        arguments, values = [*arguments, f"order={order}"], values | {"order": order}
    shown += f"({', '.join(arguments)})" if arguments else ""
    return f"{node.name}{shown}", node(inputs=inputs, **values)


def chosen_for(rng: np.random.Generator, one: bool, covered: bool) -> tuple[tuple[int | str, ...] | None, str]:
    """Inputs that a kernel can look at, and how they are written."""
    if covered if one else rng.random() < 0.5:
        return None, ""
    found = [column(rng) for _ in range(1 if one else rng.integers(1, 4))]
    return tuple(i for i, _ in found), f"[{', '.join(shown for _, shown in found)}]"


def column(rng: np.random.Generator) -> tuple[int | str, str]:
    """A column by number or name, and how it is written."""
    i = int(rng.integers(len(COLUMNS)))
    if rng.random() < 0.5:
        return i, str(i)
    name = COLUMNS[i]
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return name, quoted if not name.isidentifier() or rng.random() < 0.3 else name


def parameters(
    rng: np.random.Generator, known: tuple[Parameter, ...], width: int
) -> tuple[list[str], dict[str, object]]:
    """Values for some parameters, written and as numbers; lists of a spectral mixture all have one length."""
    texts, values, length = [], {}, int(rng.integers(1, 4))
    lists = rng.random() < 0.6
    for p in known:
        listed = p.size == "list" and lists
        if not listed and (p.size == "list" or rng.random() < 0.4):
            continue
        several = length if listed else width if p.size == "per input" and rng.random() < 0.5 else 0
        pairs = [number(rng, p.kind == "positive") for _ in range(max(several, 1))]
        shown = ", ".join(text for text, _ in pairs)
        texts.append(f"{p.name}{space(rng)}={space(rng)}" + (f"[{shown}]" if several else shown))
        values[p.name] = [value for _, value in pairs] if several else pairs[0][1]
    return texts, values


def number(rng: np.random.Generator, positive: bool) -> tuple[str, float]:
    """A number of ordinary size, in one of the ways in which people write numbers."""
    value = 10 ** rng.uniform(-1.5, 1.5) * (1 if positive or rng.random() < 0.5 else -1)
    text = str(
        rng.choice([repr(float(value)), f"{value:.3e}", f"{value:.2E}", f"{value:+.4f}", f"{np.ceil(value) or 1:.0f}."])
    )
    if float(text) == 0:
        text = "1"
    return text, float(text)


def space(rng: np.random.Generator) -> str:
    """Nothing, or blanks of some kind."""
    return str(rng.choice(["", " ", "  ", "\t", "\n"]))


# -- errors and harm --------------------------------------------------------------------------------------------------

ODD = [
    *"()[]{},=+-*×.\"\\'0123456789eE_$#%\x00\x1f\u2028\u200b\ufeff²٣éß中\U0001f600",
    "\ud800",
    "SE",
    "CP",
    "nan",
    "inf",
    "WN[",
]
Change = Callable[[np.random.Generator, str], str]


def _cut(rng: np.random.Generator, text: str) -> tuple[str, str, str]:
    i, j = sorted(rng.integers(0, len(text) + 1, 2))
    return text[:i], text[i : min(j, i + 8)], text[min(j, i + 8) :]


def _replaced(rng: np.random.Generator, text: str) -> str:
    before, _, after = _cut(rng, text)
    return before + str(rng.choice(ODD)) + after[1:]


def _inserted(rng: np.random.Generator, text: str) -> str:
    before, part, after = _cut(rng, text)
    return before + str(rng.choice(ODD)) + part + after


def _doubled(rng: np.random.Generator, text: str) -> str:
    before, part, after = _cut(rng, text)
    return before + part * int(rng.integers(2, 6)) + after


MUTATIONS: tuple[Change, ...] = (
    _replaced,
    _inserted,
    _doubled,
    lambda rng, text: (lambda b, _, a: b + a)(*_cut(rng, text)),
    lambda rng, text: text[: rng.integers(0, len(text) + 1)],
    lambda rng, text: (lambda b, p, a: b + p[::-1] + a)(*_cut(rng, text)),
)


def _value(rng: np.random.Generator, n: int) -> str:
    """A number that nobody means."""
    odd = [
        "0",
        "-0.0",
        "-1",
        "1e999",
        "-1e999",
        "nan",
        "inf",
        "1e-999",
        "5e-324",
        "1e308",
        "9" * n,
        "0." + "0" * n + "1",
    ]
    odd += ["[]", "[" * n, "[1," * n, "[1, [2]]", "[1, 2, 3]", "1e" + "9" * n, "--1", "1_0", "0x10", "1" * n + "a", "٣"]
    return str(rng.choice(odd))


def _argument(rng: np.random.Generator, n: int) -> str:
    node = LEAVES[rng.integers(len(LEAVES))]
    names = [p.name for p in node.parameters] + [
        "order",
        "inputs",
        "children",
        "self",
        "given",
        "name",
        "__class__",
        "x",
    ]
    pairs = [f"{rng.choice(names)}={_value(rng, n)}" for _ in range(rng.integers(1, 4))]
    return f"{node.name}({', '.join(pairs)})"


def _index(rng: np.random.Generator, n: int) -> str:
    odd = [
        "9" * n,
        "-1",
        "1.5",
        "1e3",
        "",
        ",",
        '""',
        '"' + "\\" * n,
        '"' + "\\" * (2 * n) + '"',
        "é" * n,
        "a" * n,
        "٣",
    ]
    odd += ["0," * n + "0", "0]" * n, "[" * n, '"\x00"', '"\n"', '"\ud800"']
    return f"SE[{rng.choice(odd)}]"


HOSTILE: tuple[Callable[[np.random.Generator, int], str], ...] = (
    lambda rng, n: "(" * n + "SE" + ")" * n,
    lambda rng, n: "(" * n + "SE" + ")[0]" * n,
    lambda rng, n: str(rng.choice(["CP(", "CW(SE, ", "(SE+", "(SE*", "SE(", "CP[0](Lin, "])) * n,
    lambda rng, n: reduce(lambda t, _: f"CP({t}, SE)", range(min(n, 200)), "SE"),
    lambda rng, n: reduce(lambda t, _: f"({t} + C)*Lin", range(min(n, 200)), "SE"),
    lambda rng, n: "*".join(["(SE+Lin)"] * min(n, 2000)),
    lambda rng, n: "*".join(["CP(SE, Lin + C)"] * min(n, 200)),
    lambda rng, n: str(rng.choice(["+", "*"])).join(["SE", "WN", "C"] * n),
    lambda rng, n: (
        str(rng.choice(["+", "*", "SE ", "SE,", ")", "]", "=", '"', "\\", " ", "\n", "×", "\x00", "٣", "1"])) * n
    ),
    lambda rng, n: "SE(lengthscale=[" + "0.12345678901234567, " * n + "1])",
    lambda rng, n: "".join(chr(c) for c in rng.integers(1, 0x3000, min(n, 300))),
    lambda rng, n: "".join(
        rng.choice(["SE", "CP", "(", ")", "[", "]", "0", ",", "+", "*", "=", "period", "1.5"], min(n, 60))
    ),
    _argument,
    _argument,
    _argument,
    _index,
    _index,
)
