"""Lists, counts and sentences in English."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[str], word: str = "and") -> str:
    """ "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def counted(n: int, noun: str) -> str:
    """ "one part", "three parts", "12 parts"."""
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return f"{small[n] if n < len(small) else n} {noun}{'' if n == 1 else 's'}"


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return capital(text.rstrip(".") + ".")


def capital(text: str) -> str:
    """The text with a capital."""
    return text[:1].upper() + text[1:]


def uncapital(text: str) -> str:
    """The text without its capital."""
    return text[:1].lower() + text[1:]
