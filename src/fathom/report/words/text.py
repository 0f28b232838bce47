"""Lists, counts, sentences, and the names of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fathom.kernels.base import Kernel
from fathom.report.facts.part import PERIODIC, ROUGH, SMOOTH, SWITCHES, Factor, Region
from fathom.report.facts.setting import Axis
from fathom.report.measure.anatomy import factors_of, regions_of
from fathom.report.words.said import Said, claims_of, tell


def listed(items: Sequence[str], word: str = "and") -> str:
    """ "a, b and c"."""
    if len(items) < 2:
        return items[0]
    return tell(items[0], *(piece for item in items[1:-1] for piece in (", ", item)), f" {word} ", items[-1])


def counted(n: int, noun: str) -> str:
    """ "one part", "three parts", "12 parts"."""
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return f"{small[n] if n < len(small) else n} {noun}{'' if n == 1 else 's'}"


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return Said(capital(text.rstrip(".") + "."), *claims_of(text))


def capital(text: str) -> str:
    """The text with a capital."""
    return Said(text[:1].upper() + text[1:], *claims_of(text))


def uncapital(text: str) -> str:
    """The text without its capital."""
    return Said(text[:1].lower() + text[1:], *claims_of(text))


_DEGREES = {1: "Straight-line trend", 2: "Quadratic trend", 3: "Cubic trend"}


def title(part: Kernel, axis: Axis) -> str:
    """What the part is, such as "Yearly cycle, growing with time"."""
    return name_of(factors_of(part), axis)


class Measured(NamedTuple):
    """What the fit, not the kernel, says of a part: its noun (empty: that of the kernel), and which modifiers show."""

    noun: str
    where: str
    growth: str  # "growing with time", as measured; empty where its size does not change
    drift: str  # over what distance the shape of a cycle changes; empty where it does not show


def name_of(factors: Sequence[Factor], axis: Axis, measured: Measured | None = None) -> str:
    """A title from the factors of a product, all on one input, and from what was measured of it."""
    of = {kind: [f for f in factors if f.kind in kind] for kind in (PERIODIC, SMOOTH)}
    lines = [f for f in factors if f.kind == "Lin"]
    noise = any(f.kind == "WN" for f in factors)
    slow = axis.length(_shortest(of[SMOOTH])) if of[SMOOTH] else ""
    noun, where, growth, drift = measured or ("", None, f"its size changing {axis.along}", slow)
    words: list[str] = [noun or ("Noise" if noise else _noun(of[PERIODIC], of[SMOOTH], lines, factors, axis))]
    if lines and growth and (of[PERIODIC] or of[SMOOTH] or noise):
        words.append(growth)
    if of[PERIODIC] and drift:
        words.append(f"its shape changing over about {drift}")
    words += [_where(factors, region, axis) for region in regions_of(factors)] if where is None else [where]
    first, *rest = [word for word in words if word]
    return tell(first, *(piece for word in rest for piece in (", ", word)))


def _noun(
    cycles: list[Factor], smooth: list[Factor], lines: list[Factor], factors: Sequence[Factor], axis: Axis
) -> str:
    if cycles:
        name, length = axis.cycle(min(f["period"] for f in cycles))
        return f"{capital(name)} cycle" if name else f"Cycle of {length}"
    if smooth:
        manner = "Rough" if any(f.kind in ROUGH for f in smooth) else "Smooth"
        return f"{manner} variation over about {axis.length(_shortest(smooth))}"
    if lines:
        return _DEGREES.get(len(lines), f"Polynomial trend of degree {len(lines)}")
    others = {"SM": "Mixture of waves", "ArcCos": "Bent line", "Days": "Level on listed days"}
    return next((others[f.kind] for f in factors if f.kind in others), "Constant level")


def _shortest(smooth: list[Factor]) -> float:
    return min(f["lengthscale"] for f in smooth)


def _where(factors: Sequence[Factor], region: Region, axis: Axis) -> str:
    if [f.kind for f in factors if f.kind in SWITCHES] == ["Outside"]:
        (_, low), (high, _) = (interval.ends for interval in region.intervals)
        return f"except between {axis.around(low)} and {axis.around(high)}"
    return stretches(region, axis) or "nowhere"


def stretches(region: Region, axis: Axis) -> str:
    """Where a region applies: "until 1955-07 and from 1958-02"."""
    words = []
    for interval in region.intervals:
        low, high = (axis.around(edge.at) if edge else "" for edge in (interval.low, interval.high))
        if low and high:
            words.append(f"between {low} and {high}")
        elif low or high:
            words.append(f"from {low}" if low else f"until {high}")
    return " and ".join(words)
