"""Texts that know what they claim, so that a page can be checked before it is written (`consistency`).

A `Said` is a string. Put together by `tell`, texts keep the claims of all their pieces; an f-string would lose them.
"""

from __future__ import annotations

from typing import NamedTuple


class Claim(NamedTuple):
    """That a quantity has a value: ("part 2", "swings last", 247.0), ("part 2", "way", "growing")."""

    about: str
    quantity: str
    value: float | str


class Said(str):
    """A text with what it claims."""

    claims: tuple[Claim, ...]

    def __new__(cls, text: str, *claims: Claim) -> Said:
        """The text, with claims beside those that it has."""
        said = super().__new__(cls, text)
        said.claims = claims_of(text) + claims
        return said


def claims_of(text: str) -> tuple[Claim, ...]:
    """What a text claims; an ordinary string claims nothing."""
    return text.claims if isinstance(text, Said) else ()


def tell(*pieces: str) -> Said:
    """One text of several, with the claims of all of them."""
    return Said("".join(pieces), *(claim for piece in pieces for claim in claims_of(piece)))
