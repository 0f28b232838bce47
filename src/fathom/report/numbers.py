"""Numbers as a reader would write them: rounded to what they are worth, with their unit."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COUNTS = {"hundreds": "hundred", "thousands": "thousand", "millions": "million", "billions": "billion"}


def round_to(value: float, sd: float | None, digits: int = 2) -> float:
    """A value with as many digits as its uncertainty allows, between one and four; without one, `digits`."""
    if value == 0 or not math.isfinite(value):
        return value
    size = math.floor(math.log10(abs(value)))
    if sd is not None and sd > 0 and math.isfinite(sd):
        digits = min(max(size - math.floor(math.log10(sd)) + 1, 1), 4)
    return float(f"{value:.{digits}g}")


def number(value: float, sd: float | None = None, digits: int = 2) -> str:
    """A number for a reader: 12,500, 0.034 or −7; two digits where the first is small (1.4, 8, 14)."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    leading = abs(value) / 10.0 ** math.floor(math.log10(abs(value)))
    value = round_to(value, sd, max(digits, 2 if leading < 3 else 1))
    text = f"{value:,.0f}" if 10 <= abs(value) < 1e9 and value == round(value) else f"{value:,.6g}"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        text = f"{value:.3g}"
    return text.replace("-", MINUS)


def quantity(value: float, unit: str = "", sd: float | None = None, digits: int = 2) -> str:
    """A number with its unit: "32 thousand", "4.5 g", "12 %"."""
    return with_unit(number(value, sd, digits), unit)


def with_unit(text: str, unit: str) -> str:
    """The unit after a number, counting words in the singular."""
    return f"{text} {_COUNTS.get(unit.lower(), unit)}".rstrip()


def between(low: float, high: float, unit: str = "", joint: str = "and") -> str:
    """Two numbers rounded alike, no coarser than a twentieth of what lies between them: "470 and 540 thousand"."""
    gap = abs(high - low) / 20
    place = 10.0 ** math.floor(math.log10(gap)) if gap > 0 else 0.0
    texts = [number(place * round(v / place), None, 9) if place else number(v) for v in (low, high)]
    if 1e-4 < place < 1 and max(abs(low), abs(high)) < 1e9:  # as many decimals in both
        texts = [f"{v:,.{round(-math.log10(place))}f}".replace("-", MINUS) for v in (low, high)]
    return f"{texts[0]} {joint} {with_unit(texts[1], unit)}"


def differing(first: float, second: float, unit: str = "") -> tuple[str, str] | None:
    """Two numbers, the unit after the second, in as many digits as they need to differ; None if six do not do."""
    for digits in range(2, 7):
        texts = [number(v, None, digits) for v in (first, second)]
        if texts[0] != texts[1]:
            return texts[0], with_unit(texts[1], unit)
    return None


def percent(share: float) -> str:
    """A share as a percentage, finer near the ends: "85 %", "99.2 %", "0.3 %", "less than 0.1 %"."""
    value = 100 * share
    if abs(value) < 0.05:
        return "less than 0.1 %"
    digits = 0 if 10 <= abs(value) <= 90 else 1
    if 99.95 <= value < 100 - 1e-7:
        return "more than 99.9 %"
    text = f"{value:.{digits}f}".removesuffix(".0") if value > 99.9 else f"{value:.{digits}f}"
    return f"{text} %".replace("-", MINUS)
