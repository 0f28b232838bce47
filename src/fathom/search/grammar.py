"""Which kernels to try next: the search operators of appendix C of the Duvenaud thesis, one small function a rule.

𝒮 is any sub-expression, 𝓑 a base kernel over one input. A rule maps a sub-expression to its replacements; `expand`
applies every rule at every place. New leaves stand at their defaults, old ones keep their values and are marked as
given, so that a fit starts from the parent and draws only what is new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from fathom.kernels.algebra import canonical, distribute, scale
from fathom.kernels.base import Kernel, Leaf, walk
from fathom.kernels.combine import ChangePoint, ChangeWindow, Operator, Sum, Switch, join
from fathom.kernels.leaves import RQ, SE, SM, WN, C, Cos, Lin, Per, is_noise
from fathom.kernels.syntax import parse
from fathom.kernels.vector import n_free

Variant = Literal["interpretability", "accuracy"]
Rule = Callable[[Kernel, "Grammar"], Iterator[Kernel]]
BASES: dict[str, type[Leaf]] = {leaf.name: leaf for leaf in (SE, Lin, Per, C, WN, RQ, Cos, SM)}


# -- the rules ---------------------------------------------------------------------------------------------------


def add(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 + 𝓑 (C.1)"""
    return (S + B for B in grammar.bases())


def multiply(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 × 𝓑 (C.2), 𝓑 ≠ C, WN: the first changes nothing, the second leaves only noise"""
    return (S * B for B in grammar.bases() if not isinstance(B, (C, WN)))


def replace_base(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝓑 → 𝓑' (C.3); over several inputs another kind or another input, not both at once"""
    if isinstance(S, Leaf):
        others = (B for B in grammar.bases() if B.structure() != S.structure())
        yield from (B for B in others if grammar.n_inputs == 1 or B.inputs == S.inputs or type(B) is type(S))


def changepoint(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → CP(𝒮, 𝒮) (C.4)"""
    return (ChangePoint(S, S, inputs=i) for i in grammar.switch_inputs())


def window(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → CW(𝒮, 𝒮) (C.5)"""
    return (ChangeWindow(S, S, inputs=i) for i in grammar.switch_inputs())


def outside(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → CW(𝒮, C) (C.6): 𝒮 applies outside a window only"""
    return (ChangeWindow(S, C(), inputs=i) for i in grammar.switch_inputs())


def inside(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → CW(C, 𝒮) (C.7): 𝒮 applies inside a window only"""
    return (ChangeWindow(C(), S, inputs=i) for i in grammar.switch_inputs())


def collapse(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝓑 (C.8)"""
    if not isinstance(S, Leaf):
        yield from grammar.bases()


def drop(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 + 𝒮' → 𝒮 (C.9) and 𝒮 × 𝒮' → 𝒮 (C.10); what is left of a product keeps its size"""
    if isinstance(S, Operator):
        for i, gone in enumerate(S.children):
            rest = join(type(S), [*S.children[:i], *S.children[i + 1 :]])
            yield rest if isinstance(S, Sum) else scale(rest, size(gone))


def size(S: Kernel) -> float:
    """The mean variance over standardised inputs (of a switch: as if both sides were on)."""
    parts = [size(child) for child in S.children]
    if isinstance(S, Operator):
        return sum(parts) if isinstance(S, Sum) else math.prod(parts)
    if isinstance(S, Switch):
        return sum(parts)
    return float(S.variance) * (1 + float(S.location) ** 2 if isinstance(S, Lin) else 1.0)


def multiply_shifted(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 × (𝓑 + C) (C.11)"""
    return (S * (B + C()) for B in grammar.bases() if not isinstance(B, (C, WN)))


def add_cycle(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 + SE × Per: two steps of C.1 and C.2 at once, since a cycle that drifts often needs both to show"""
    if {"SE", "Per"} <= set(grammar.base):
        yield from (S + SE(inputs=i) * Per(inputs=i) for i in grammar.inputs())


def add_interaction(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 + 𝓑ᵢ × 𝓑ⱼ, two inputs at once: alone, neither need show anything (x₁x₂, centred)"""
    for leaf in (leaf for leaf in (SE, Lin) if leaf.name in grammar.base):
        yield from (S + leaf(inputs=i) * leaf(inputs=j) for i, j in combinations(grammar.inputs(), 2))


def add_term(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 → 𝒮 + a term that the caller knows of, unless 𝒮 has it in some form"""
    known = {node.structure() for node in walk(S)}
    return (S + term for term in map(parse, grammar.terms) if term.structure() not in known)


def push(S: Kernel, grammar: Grammar) -> Iterator[Kernel]:
    """𝒮 + CW(𝒮₁, 𝒮₂) → CW(𝒮₁ + 𝒮, 𝒮₂), CW(𝒮₁, 𝒮₂ + 𝒮); two switches of a kind merge into the first. Ours: distributing
    products copies windows, and without this the copies never become one again"""
    if not isinstance(S, Sum):
        return
    for i, switch in enumerate(S.children):
        for j, other in enumerate(S.children):
            if i == j or not isinstance(switch, Switch):
                continue
            rest = [child for k, child in enumerate(S.children) if k not in (i, j)]
            for children in _pushed(switch, other):
                yield join(Sum, [*rest, switch.replace(children=children)])


def _pushed(switch: Switch, other: Kernel) -> Iterator[tuple[Kernel, Kernel]]:
    first, second = switch.children
    if type(other) is type(switch):
        yield first + other.children[0], second + other.children[1]
    elif not isinstance(other, WN):  # noise stays where it covers both sides
        yield first + other, second
        yield first, second + other


RULES: dict[str, Rule] = {  # of two ways to the same structure the first is kept: dropping loses least
    "drop": drop,
    "add": add,
    "multiply": multiply,
    "replace": replace_base,
    "changepoint": changepoint,
    "window": window,
    "outside": outside,
    "inside": inside,
    "collapse": collapse,
    "multiply shifted": multiply_shifted,
    "add cycle": add_cycle,
    "push": push,
    "add interaction": add_interaction,
    "add term": add_term,
}
SEVERAL = ("drop", "add", "add interaction", "multiply", "replace", "add term")  # rules for several inputs
WHOLE = (add_interaction, add_term)  # rules for the whole expression only


# -- the grammar -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grammar:
    """A language to search: base kernels, operators, and how far expressions may grow."""

    base: tuple[str, ...] = ("SE", "Lin", "Per", "C", "WN")
    rules: tuple[str, ...] = tuple(name for name in RULES if name != "add interaction")
    n_inputs: int = 1
    variant: Variant = "interpretability"
    max_parameters: int = 30
    max_nesting: int = 2  # of changepoints and windows
    terms: tuple[str, ...] = ()  # kernels that may join the sum as they stand

    def __post_init__(self) -> None:
        for kind, names, known in (("base kernel", self.base, BASES), ("rule", self.rules, RULES)):
            for name in names:
                if name not in known:
                    raise ValueError(f"{name!r} is no {kind} of the search; there are {', '.join(known)}")

    def inputs(self) -> list[tuple[int, ...] | None]:
        """The inputs a leaf may look at: none to choose when there is only one."""
        return [None] if self.n_inputs == 1 else [(i,) for i in range(self.n_inputs)]

    def switch_inputs(self) -> list[tuple[int, ...] | None]:
        """Changepoints and windows are for a single input: a time."""
        return self.inputs() if self.n_inputs == 1 else []

    def bases(self) -> Iterator[Kernel]:
        """Over several inputs without noise, of which there is one for all of the function."""
        for name in (name for name in self.base if name != "WN" or self.n_inputs == 1):
            leaf = BASES[name]
            yield from (leaf(inputs=i) for i in self.inputs()) if name not in ("C", "WN") else (leaf(),)


def default_grammar(n_inputs: int, variant: Variant, base: tuple[str, ...], terms: tuple[str, ...] = ()) -> Grammar:
    """All rules for a single input; C.1 to C.3, interactions and dropping for several: nothing switches along them."""
    rules = Grammar.rules if n_inputs == 1 else SEVERAL
    return Grammar(base=base, rules=rules, n_inputs=n_inputs, variant=variant, terms=terms)


def baseline(name: str, n_inputs: int = 1) -> Grammar:
    """The thesis's baselines as restrictions of the language (table 3.1)."""
    bases, rules = {
        "linear": (("Lin", "C", "WN"), ("add",)),
        "SE": (("SE", "WN"), ("add",)),
        "Bayesian MKL": (("SE", "Per", "Lin", "C", "WN"), ("add",)),
        "trend-cyclical-irregular": (("SE", "Per", "Lin", "C", "WN"), ("add", "add cycle")),
        "spectral mixture": (("SE", "Cos", "WN"), ("add", "multiply")),
        "changepoint": (("SE", "Lin", "C", "WN"), ("add", "changepoint", "window")),
    }.get(name, ((), ()))
    if not bases:
        raise ValueError(f"there is no baseline {name!r}")
    return Grammar(base=bases, rules=rules, n_inputs=n_inputs)


def expand(kernel: Kernel, grammar: Grammar) -> list[Kernel]:
    """Every kernel one step away: canonical, within the limits, without duplicates, in a fixed order."""
    kernel = remember(kernel)
    found: dict[tuple[object, ...], Kernel] = {}
    several = grammar.n_inputs > 1
    signal, noise = _split(kernel) if several else (kernel, None)
    for name in [r for r in grammar.rules if r.startswith("add")] if several and is_noise(kernel) else grammar.rules:
        for raw in everywhere(signal, RULES[name], grammar):
            candidate = normal_form(raw if noise is None else raw + noise, grammar)
            if _allowed(candidate, grammar):
                found.setdefault(candidate.structure(), candidate)
    found.pop(normal_form(kernel, grammar).structure(), None)
    return list(found.values())


def _split(kernel: Kernel) -> tuple[Kernel, Kernel | None]:
    """The function and its noise. Over several inputs only the function grows: noise that varies along some of them
    takes what belongs to it."""
    parts = list(kernel.children) if isinstance(kernel, Sum) else [kernel]
    signal, noise = [p for p in parts if not is_noise(p)], [p for p in parts if is_noise(p)]
    return (join(Sum, signal), join(Sum, noise)) if signal and noise else (kernel, None)


def everywhere(kernel: Kernel, rule: Rule, grammar: Grammar) -> Iterator[Kernel]:
    """The rule applied at every sub-expression, pairs of operands of a larger sum or product included."""
    yield from rule(kernel, grammar)
    if isinstance(kernel, Operator) and 2 < len(kernel.children) <= 6:
        for pair in combinations(range(len(kernel.children)), 2):
            rest = [child for i, child in enumerate(kernel.children) if i not in pair]
            together = type(kernel)(tuple(kernel.children[i] for i in pair))
            if rule not in (add, add_cycle, *WHOLE, drop, collapse):  # these say nothing new of a part
                yield from (type(kernel)((*rest, new)) for new in rule(together, grammar))
    for i, child in enumerate(kernel.children if rule not in WHOLE else ()):
        for new in everywhere(child, rule, grammar):
            children = (*kernel.children[:i], new, *kernel.children[i + 1 :])
            yield type(kernel)(children) if isinstance(kernel, Operator) else kernel.replace(children=children)


def normal_form(kernel: Kernel, grammar: Grammar) -> Kernel:
    """Canonical, distributed when the variant asks for it, and with noise everywhere."""
    if grammar.variant == "interpretability":
        kernel = distribute(kernel)
    kernel = canonical(kernel, keep_given=True)
    return kernel if noisy(kernel) else canonical(kernel + WN(), keep_given=True)


def noisy(kernel: Kernel) -> bool:
    """True when every observation has noise: a side of a switch without it can shrink onto its data points."""
    if isinstance(kernel, Sum):
        return any(noisy(child) for child in kernel.children)
    if isinstance(kernel, Switch):
        return all(noisy(child) for child in kernel.children)
    return is_noise(kernel)


def _allowed(kernel: Kernel, grammar: Grammar) -> bool:
    return n_free(kernel) <= grammar.max_parameters and nesting(kernel) <= grammar.max_nesting


def nesting(kernel: Kernel) -> int:
    """How deep switches stand inside switches."""
    inner = max((nesting(child) for child in kernel.children), default=0)
    return inner + isinstance(kernel, Switch)


def remember(kernel: Kernel) -> Kernel:
    """Marks every parameter as given: a fit starts from the values it has."""
    names = frozenset(p.name for p in kernel.parameters)
    fields = {**kernel.__dict__, "given": names, "children": tuple(remember(c) for c in kernel.children)}
    return type(kernel)._raw(**fields)
