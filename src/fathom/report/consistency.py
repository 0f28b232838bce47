"""Is a page of one mind? Every sentence against every other that speaks of the same quantity, and against the pictures.

Sentences carry what they claim (`words.said`). Two claims on one quantity must agree; a claim on what is drawn must be
what a reader would measure there (`measure.drawn`); each failed check must be among the cautions once, and counts must
be those of the checks. Texts must be free of what no reader should meet: exponents, "1 times", lengths without a unit.
What does not hold is left out of a page before it is written: the more general of two sentences, and what is not drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fathom.report.facts.whole import Check, Facts
from fathom.report.measure.drawn import Key, allows, drawn
from fathom.report.prose import Texts, Words
from fathom.report.words.cautions import FAILED
from fathom.report.words.said import Claim, claims_of
from fathom.report.words.text import sentence

SAME = 0.02  # by which two numbers for one quantity may differ
FLAWS = {
    "an exponent": r"\d(?:\.\d+)?e[+−-]?\d{1,3}\b",
    "one of many": r"(?<![\d.,])1(?:\.0)? (?:times|standard deviations|seconds|years|months|weeks|days|hours|units)\b",
    "a doubled word": r"\b(?!that\b|had\b)([a-z]+) \1\b",
    "not a number": r"\b(?:NaN|nan|inf|None)\b",
    "a length without a unit": r"\bcycle of about \d[\d,]*+(?:\.\d++)?+(?=[.;,)]|$| [a-z]+ly\b| and\b)",
}


@dataclass(frozen=True)
class Statement:
    """A text and where it stands; `needed` texts cannot be left out."""

    place: str
    text: str
    needed: bool = False


@dataclass(frozen=True)
class Contradiction:
    """What does not hold, in a few words, and the statement that should go."""

    what: str
    statement: Statement


def statements(words: Words) -> list[Statement]:
    """All texts of a page, the more particular first: they are believed before the more general."""
    found = []
    for k, part in enumerate(words.parts, start=1):
        place = f"part {k}"
        found += [Statement(place, text) for text in (*part.sentences, *part.extrapolation)]
        found += [Statement(place, text, True) for text in (part.summary, part.name)]
    found += [Statement("sure", text, True) for _, text in words.sure]
    found += [Statement("remarks", text) for text in words.remarks]
    found += [Statement("summary", text) for text in words.summary]
    return [*found, Statement("headline", words.headline, True), Statement("title", words.title, True)]


def contradictions(words: Words, facts: Facts, checks: Sequence[Check]) -> list[Contradiction]:
    """Everything on a page that contradicts the rest of it."""
    said = statements(words)
    names = [facts.setting.target, facts.setting.unit, facts.setting.source]
    names += [name for axis in facts.setting.axes for name in (axis.name, axis.unit)]
    found = [Contradiction(flaw, s) for s in said for flaw in flaws(s.text, names)]
    return found + list(_pairs(said, facts)) + list(_pictures(said, facts)) + list(_checks(said, checks))


def flaws(text: str, names: Sequence[str] = ()) -> list[str]:
    """What no reader should meet in a text; `names` are the reader's own words, which are let alone."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", "…", text)
    return [flaw for flaw, pattern in FLAWS.items() if re.search(pattern, text)]


def _claims(said: Sequence[Statement]) -> Iterator[tuple[Statement, Claim]]:
    return ((s, claim) for s in said for claim in claims_of(s.text))


def _pairs(said: Sequence[Statement], facts: Facts) -> Iterator[Contradiction]:
    """Claims on one quantity that differ from the first of them."""
    first: dict[Key, Claim] = {}
    periods = {f"part {c.number}": c.shape.cycle.period for c in facts.components if c.shape and c.shape.cycle}
    for statement, claim in _claims(said):
        known = first.setdefault((claim.about, claim.quantity), claim)
        if not _agree(known, claim, periods.get(claim.about), facts):
            yield Contradiction(f"{claim.quantity} of {claim.about}: {known.value} and {claim.value}", statement)


def _agree(first: Claim, second: Claim, period: float | None, facts: Facts) -> bool:
    if isinstance(first.value, str) or isinstance(second.value, str):
        return first.value == second.value
    apart = abs(first.value - second.value)
    if first.quantity in ("peak", "trough") and period:  # of the same cycle, in another round
        axis = facts.setting.axes[0]
        step = float(axis.rule.future(axis.high, 1)[0]) - axis.high if axis.rule is not None else 0.1 * period
        return min(apart % period, -apart % period) <= max(0.51 * step, 0.03 * period)
    return apart <= SAME * max(abs(first.value), abs(second.value))


WAYS = {"rise": 1.0, "fall": -1.0, "up": 1.0, "down": -1.0}


def _pictures(said: Sequence[Statement], facts: Facts) -> Iterator[Contradiction]:
    """Claims that a reader would not find on the pictures."""
    allowed = drawn(facts)
    end = facts.setting.axes[0].high
    for statement, claim in _claims(said):
        value = WAYS.get(claim.value) if isinstance(claim.value, str) else claim.value
        seen = allowed.get((claim.about, claim.quantity))
        ahead = claim.quantity in ("peak", "trough") and value is not None and value > end
        if seen is not None and value is not None and not ahead and not allows(seen, value):
            what = f"{claim.quantity} of {claim.about}: {value:.4g}, drawn {seen[0]:.4g} to {seen[1]:.4g}"
            yield Contradiction(what, statement)


def _checks(said: Sequence[Statement], checks: Sequence[Check]) -> Iterator[Contradiction]:
    """Counts that are not those of the checks, and failed checks that are not among the cautions exactly once."""
    sides = {"whole": [c for c in checks if c.subject == "whole"], "parts": [c for c in checks if c.subject != "whole"]}
    counts = {(side, "checks"): len(some) for side, some in sides.items()}
    counts |= {(side, "failed checks"): sum(c.failed for c in some) for side, some in sides.items()}
    told: Counter[str] = Counter()
    for statement, claim in _claims(said):
        if counts.get((claim.about, claim.quantity), claim.value) != claim.value:
            yield Contradiction(f"{claim.quantity} of {claim.about}: {claim.value}", statement)
        told[claim.about] += claim.quantity == FAILED
    for check in checks:
        if told[check.key] != check.failed:
            yield Contradiction(f"{check.key}: in {told[check.key]} cautions", Statement("remarks", ""))


def settled(words: Words, facts: Facts, checks: Sequence[Check]) -> Words:
    """The words of a page without what contradicts the rest of it."""
    found = [c.statement for c in contradictions(words, facts, checks)]
    if not found:
        return words
    bad = {s.text for s in found if not s.needed}
    plain = {s.text for s in found if s.needed}

    def kept(texts: Sequence[str]) -> list[str]:
        return [text for text in texts if text not in bad]

    def part(texts: Texts) -> Texts:
        summary = sentence(texts.name) if texts.summary in plain else texts.summary
        return replace(texts, summary=summary, sentences=kept(texts.sentences), extrapolation=kept(texts.extrapolation))

    headline = words.title if words.headline in plain else words.headline
    parts = [part(texts) for texts in words.parts]
    return replace(words, headline=headline, parts=parts, summary=kept(words.summary), remarks=kept(words.remarks))
