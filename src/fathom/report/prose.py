"""Facts in English. Nothing is computed here: numbers are chosen, rounded and put into sentences.

>>> texts = describe(facts.components[0])
>>> print(texts.summary)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.report.facts.part import Component
from fathom.report.facts.whole import Agreement, Check, Facts
from fathom.report.measure.selection import LEAST_GAIN
from fathom.report.numbers import percent, quantity
from fathom.report.words import calendar, joint, sentences, sure
from fathom.report.words import headline as front
from fathom.report.words import phrases as say
from fathom.report.words.ahead import ahead
from fathom.report.words.cautions import cautions
from fathom.report.words.places import axis_of, both
from fathom.report.words.said import Said, claims_of, tell
from fathom.report.words.text import capital, counted, listed, name_of, sentence, uncapital


@dataclass(frozen=True)
class Texts:
    """A component in words: a short name, one line, full sentences, and what becomes of it beyond the data."""

    name: str
    summary: str
    sentences: list[str]
    extrapolation: list[str]


@dataclass(frozen=True)
class Words:
    """All sentences of a page, apart from the verdicts of single checks."""

    title: str
    headline: str
    parts: list[Texts]
    sure: list[tuple[str, str]]  # (topic, sentence)
    summary: list[str]
    remarks: list[str]

    @classmethod
    def of(cls, facts: Facts, checks: Sequence[Check], agreement: Agreement | None) -> Words:
        """The facts in words."""
        topics = {
            "Explained": sure.explained(facts),
            "Checked": sure.checked(checks),
            "Alternatives": sure.alternatives(agreement, facts),
        }
        return cls(
            title=title(facts),
            headline=headline(facts),
            parts=[describe(c) for c in facts.components],
            sure=list(topics.items()),
            summary=executive_summary(facts),
            remarks=remarks(facts, checks),
        )


def describe(component: Component) -> Texts:
    """The words for one component."""
    c = component
    if len(c.inputs) > 1:
        called = "Noise that changes with " if c.head == "noise" else "Joint effect of "
        return Texts(called + joint.names(c), sentence(joint.summary(c)), joint.body(c) + sentences.worth(c), [])
    axis = axis_of(c)
    name, summary = name_of(c.factors, axis, say.measured(c)), say.summary(c)
    if not c.setting.series and c.inputs:
        name, summary = tell(f"{axis.name}: ", uncapital(name)), tell(f"{axis.name}: ", summary)
        name, summary = (_unnamed(text, axis.name) for text in (capital(name), summary))
    return Texts(name, sentence(summary), sentences.body(c) + sentences.worth(c), ahead(c))


def _unnamed(text: str, axis: str) -> Said:
    """A text that has just named its input, without naming it again as a unit."""
    return Said(text.replace(f"units of {axis}", "units"), *claims_of(text))


def title(facts: Facts) -> str:
    """The target and the span of the data."""
    s = facts.setting
    if s.time is None and not s.series:
        return f"{capital(s.target)}, from {counted(len(s.axes), 'input')}"
    axis = s.axes[s.time or 0]
    if axis.rule is None:
        return f"{capital(s.target)}, {axis.name} {axis.seen(axis.low)} to {axis.seen(axis.high)}"
    return f"{capital(s.target)}, {both(axis, axis.low, axis.high)}"


def headline(facts: Facts) -> str:
    """One sentence: what moves the target, and where it goes."""
    return front.series(facts) if facts.setting.series else front.table(facts)


def executive_summary(facts: Facts) -> list[str]:
    """A few sentences: the parts, how well they predict and how much they explain, what is left, what comes next."""
    patterns = facts.patterns
    noise = [c for c in facts.components if c.head == "noise"]
    unit, target = facts.setting.unit, facts.setting.target
    level = f"a level of {quantity(facts.level, unit, facts.setting.spread / 20)}"
    whole = counted(len(patterns), "pattern") + (" and noise" if noise else "")
    said: list[str] = [f"the model takes {target} apart into {whole}, around {level}"]
    if patterns:
        said += [sure.held_out(facts), *_landmarks(facts)]
        who = "it explains" if len(patterns) == 1 else "the patterns together explain"
        said.append(tell("in the fit ", who, " ", sure.fit(facts)))
    else:
        said = [f"the model finds no pattern in {target}, only noise around {level}"]
    if noise and facts.noise_sd > 0:
        opening = "what is left is noise: " if patterns else ""
        said.append(tell(opening, "a single observation strays by about ", front.strays(facts)))
    if facts.setting.series and (ahead := front.expects(facts)):
        said.append(ahead)
    said += joint.orders(facts)
    shown = [joint.effect(facts, e) for e in joint.matters(facts)[:6]] if not facts.setting.series else []
    return [sentence(text) for text in said] + shown + _idle(facts)


def _landmarks(facts: Facts) -> list[str]:
    """How much of the skill the first part has, where there are several."""
    first, *rest = facts.patterns
    if not rest or first.score.gain < LEAST_GAIN or percent(first.score.gain) == percent(facts.foreseen):
        return []
    return [f"the first part alone makes that error {percent(first.score.gain)} smaller than that of the level"]


def _idle(facts: Facts) -> list[str]:
    idle = [facts.setting.axes[e.input].name for e in facts.effects if e.total < joint.LEAST]
    if not idle:
        return []
    verb = "matters" if len(idle) == 1 else "matter"
    return [sentence(f"{listed(idle)} hardly {verb}: less than 0.5 % of what the model explains each")]


# -- the fine print ----------------------------------------------------------------------------------------------


def remarks(facts: Facts, checks: Sequence[Check] = ()) -> list[str]:
    """What a careful reader should know before relying on the parts; each failed check is among it."""
    parts = list(facts.patterns)
    axis = facts.setting.axes[facts.setting.time or 0]
    said = _saturation(parts)
    for tag, words in (
        ("explains but does not predict", "describes the data without helping to predict: short-lived, or an artefact"),
        ("doubtful", "neither explains nor predicts: it may be an artefact"),
    ):
        for c in parts:
            if c.score.tag == tag:
                said.append(f"part {c.number} ({_short(c)}) {words}")
    for c in facts.components:
        said += [f"part {c.number}: {text}" for text in (sentences.unsure(c) if len(c.inputs) < 2 else [])]
    said += cautions(checks, [(c, _short(c)) for c in facts.components], axis, facts.setting.series)
    if len(facts.effects) > 1:
        said.append("shares of inputs overlap where inputs act jointly or are related, so they need not sum to 100 %")
    said += _far_level(facts)
    said += calendar.gaps(facts.setting) + calendar.missed(facts)
    if facts.jitter > 0:
        said.append(
            "the covariance could be factorised only after adding a little noise; repeated inputs may be the cause"
        )
    if facts.forecast is not None:
        said.append(
            f"beyond {axis.seen(axis.high)} nothing was checked against data: the forecast assumes that the"
            " patterns go on as they were"
        )
    return [sentence(text) for text in said]


def _far_level(facts: Facts) -> list[str]:
    """A warning where a forecast falls back to a level that no observation comes near."""
    unit, room = facts.setting.unit, facts.setting.spread
    if facts.forecast is None or facts.lowest - room <= facts.level <= facts.highest + room:
        return []
    level, fading = (
        quantity(facts.level, unit, facts.setting.spread / 20),
        any(c.head == "smooth" for c in facts.patterns),
    )
    if not fading:
        return []
    return [f"far ahead the forecast falls back to the model's level of {level}, which lies outside the data"]


def _short(c: Component) -> str:
    return uncapital(describe(c).name)


def _saturation(parts: list[Component]) -> list[str]:
    gains = [c.number for c in parts if c.score.mae_reduction > LEAST_GAIN]
    if not parts:
        return ["no pattern was found: the data are noise around their level"]
    if not gains:
        return ["no part lowers the error on data held out: the level alone predicts as well"]
    if gains[-1] == len(parts):
        return []
    first = "part 1" if gains[-1] == 1 else f"the first {counted(gains[-1], 'part')}"
    return [f"after {first} no other lowers the error on held-out data by more than 0.1 %"]
