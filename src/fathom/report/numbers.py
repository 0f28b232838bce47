"""Numbers as a reader would write them: rounded to what they are worth, with their unit, never with an exponent."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COUNTS = {"hundreds": "hundred", "thousands": "thousand", "millions": "million", "billions": "billion"}
_SIZES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "quadrillion": 1e15}
_LARGE = ("quadrillion", "trillion", "billion", "million")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def round_to(value: float, sd: float | None, digits: int = 2) -> float:
    """A value with as many digits as its uncertainty allows, between one and four; without one, `digits`."""
    if value == 0 or not math.isfinite(value):
        return value
    size = math.floor(math.log10(abs(value)))
    if sd is not None and sd > 0 and math.isfinite(sd):
        digits = min(max(size - math.floor(math.log10(sd)) + 1, 1), 4)
    return float(f"{value:.{digits}g}")


def number(value: float, sd: float | None = None, digits: int = 2) -> str:
    """A number for a reader: 12,500, 0.034, −7 or 1.4 trillion; two digits where the first is small (1.4, 8, 14)."""
    if value == 0 or not math.isfinite(value):
        return f"{abs(value) if value == 0 else value:g}"
    leading = abs(value) / 10.0 ** math.floor(math.log10(abs(value)))
    value = round_to(value, sd, max(digits, 2 if leading < 3 else 1))
    size, word = scale(value)
    value = float(f"{value / size:.6g}")
    text = f"{value:,.0f}" if abs(value) >= 10 and value == round(value) else f"{value:,.6g}"
    return text.replace("-", MINUS) + word


def scale(value: float) -> tuple[float, str]:
    """What a number of this size is counted in, and what that adds: (1e9, " billion"), (1e-6, " × 10⁻⁶"), (1, "")."""
    size = abs(value)
    if size == 0 or 1e-4 <= size < 1e6:
        return 1.0, ""
    if 1e6 <= size < 1e18:
        word = next(word for word in _LARGE if size >= _SIZES[word])
        return _SIZES[word], f" {word}"
    power = math.floor(math.log10(size))
    return 10.0**power, f" × 10{str(power).translate(_RAISED)}"


def quantity(value: float, unit: str = "", sd: float | None = None, digits: int = 2) -> str:
    """A number with its unit: "32 thousand", "4.5 g", "12 %"."""
    size = _SIZES.get(_COUNTS.get(unit.lower(), ""), 0.0)
    if size and scale(value)[1]:  # 1.4 million thousands are 1.4 billion
        return number(value * size, None if sd is None else sd * size, digits)
    return with_unit(number(value, sd, digits), unit)


def with_unit(text: str, unit: str) -> str:
    """The unit after a number, counting words in the singular."""
    return f"{text} {_COUNTS.get(unit.lower(), unit)}".rstrip()


def between(low: float, high: float, unit: str = "", joint: str = "and") -> str:
    """Two numbers rounded alike, no coarser than a twentieth of what lies between them: "470 and 540 thousand"."""
    gap = abs(high - low) / 20
    place = 10.0 ** math.floor(math.log10(gap)) if gap > 0 else 0.0
    size, word = scale(max(abs(low), abs(high)))
    if size > 1 and 0 < place * 1e4 < size:  # too fine for words: 1,234,567 and 1,234,569
        size, word = 1.0, ""
    texts = [_placed(v, place, size) for v in (low, high)]
    return f"{texts[0]} {joint} {with_unit(texts[1] + word, unit)}"


def _placed(value: float, place: float, size: float) -> str:
    """A value over `size`, in as many decimals as `place` asks for."""
    if not place:
        return number(value).removesuffix(scale(value)[1]) if size != 1 else number(value)
    decimals = max(round(-math.log10(place / size)), 0)
    rounded = place * round(value / place) / size
    return f"{rounded:,.{decimals}f}".replace("-", MINUS) if round(rounded, decimals) else "0"


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


_FRACTIONS = (
    *((0.22, 0.28, "a quarter as"), (0.30, 0.37, "a third as"), (0.45, 0.55, "half as"), (0.63, 0.70, "two thirds as")),
    *((0.71, 0.79, "three quarters as"), (0.95, 1.05, "as"), (1.2, 1.29, "a quarter again as")),
    *((1.29, 1.4, "a third again as"), (1.4, 1.65, "half again as")),
    *((1.9, 2.15, "twice as"), (2.85, 3.15, "three times as")),
)


def compared(ratio: float, adjective: str) -> str:
    """How a size compares with another: "half again as steep", "2.4 times as large", "half as wide", "12 % larger"."""
    for low, high, words in _FRACTIONS:
        if low <= ratio < high:
            return f"{words} {adjective}"
    if 1 < ratio < 1.2:
        return f"{percent(ratio - 1)} {adjective.removesuffix('e')}er"
    return f"{number(ratio)} times as {adjective}" if ratio > 1 else f"{percent(ratio)} as {adjective}"
