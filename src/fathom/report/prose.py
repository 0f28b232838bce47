"""Facts in English. Nothing is computed here: numbers are chosen, rounded and put into sentences.

>>> texts = describe(facts.components[0])
>>> print(texts.summary)
"""

from __future__ import annotations

from dataclasses import dataclass

from fathom.report.facts.part import Component
from fathom.report.facts.whole import Facts
from fathom.report.measure.selection import LEAST_GAIN
from fathom.report.numbers import between, number, percent, quantity
from fathom.report.words import calendar, joint, sentences
from fathom.report.words import phrases as say
from fathom.report.words.text import capital, counted, listed, name_of, sentence, uncapital

LANDMARKS = (0.9, 0.99)  # of the variance


@dataclass(frozen=True)
class Texts:
    """A component in words: a short name, one line, full sentences, and what becomes of it beyond the data."""

    name: str
    summary: str
    sentences: list[str]
    extrapolation: list[str]


def describe(component: Component) -> Texts:
    """The words for one component."""
    c = component
    if len(c.inputs) > 1:
        called = "Noise that changes with " if c.head == "noise" else "Joint effect of "
        return Texts(called + joint.names(c), sentence(joint.summary(c)), joint.body(c) + sentences.worth(c), [])
    axis = say.axis_of(c)
    name, summary = name_of(c.factors, axis, say.measured(c)), say.summary(c)
    if not c.setting.series and c.inputs:
        name, summary = f"{axis.name}: {uncapital(name)}", f"{axis.name}: {summary}"
        name, summary = (text.replace(f"units of {axis.name}", "units") for text in (capital(name), summary))
    return Texts(name, sentence(summary), sentences.body(c) + sentences.worth(c), sentences.ahead(c))


def title(facts: Facts) -> str:
    """The target and the span of the data."""
    s = facts.setting
    if s.time is None and not s.series:
        return f"{capital(s.target)}, from {counted(len(s.axes), 'input')}"
    axis = s.axes[s.time or 0]
    if axis.rule is None:
        return f"{capital(s.target)}, {axis.name} {axis.seen(axis.low)} to {axis.seen(axis.high)}"
    return f"{capital(s.target)}, {axis.seen(axis.low)} to {axis.seen(axis.high)}"


# -- the first screen --------------------------------------------------------------------------------------------


def headline(facts: Facts) -> str:
    """One sentence: what moves the target, and where it goes."""
    if not facts.setting.series:
        rest = f"; together the inputs explain {percent(facts.explained)} of the variance"
        return sentence(joint.headline(facts) + rest)
    clauses = _clauses([c for c in facts.components if c.score.tag == "predicts"][:3])
    if all(c.head == "noise" for c in facts.components):
        text = "no pattern, only noise"
    elif not clauses:
        level = quantity(facts.level, facts.setting.unit, facts.setting.spread / 20)
        text = f"no pattern that predicts better than the level, {level}"
    else:
        text = f"{clauses[0]}, with {listed([*clauses[1:], _noise(facts)])}"
    ahead = _expects(facts)
    return sentence(f"{facts.setting.target}: {text}{'; ' + ahead if ahead else ''}")


def _noise(facts: Facts) -> str:
    """How large the noise is, and whether it has changed along the record."""
    first, last, unit = facts.noise_start, facts.noise_end, facts.setting.unit
    if facts.noise_sd <= 0:
        return "no noise"
    if max(first, last) < say.STEEPER * min(first, last):
        return f"noise of about ±{quantity(facts.noise_sd, unit)}"
    return f"noise that {'grew' if last > first else 'shrank'} from about ±{number(first)} to ±{quantity(last, unit)}"


def _clauses(parts: list[Component]) -> list[str]:
    """A clause for each part; neighbours that apply in the same place say so once."""
    places = [say.place(c) for c in parts]
    last = [k + 1 == len(parts) or places[k + 1] != places[k] for k in range(len(parts))]
    tails = [f" ({where})" if where and shown else "" for where, shown in zip(places, last, strict=True)]
    return [_clause(c, k == 0) + tail for k, (c, tail) in enumerate(zip(parts, tails, strict=True))]


def _clause(c: Component, first: bool) -> str:
    if first and c.head == "line" and c.shape is not None and abs(c.shape.change) >= 2 * c.shape.change_sd:
        return f"{'up' if c.shape.change > 0 else 'down'} by about {say.slope(c)}"
    if c.head == "cycle" and c.shape is not None and c.shape.cycle is not None:
        ring = c.shape.cycle
        whose = f" whose swings {'grew' if ring.swing_end > ring.swing_start else 'shrank'}"
        sizes = f" from about {number(ring.swing_start)} to {quantity(ring.swing_end, c.setting.unit)}"
        flat = f" that measures {say.about(c, ring.swing_end)} from trough to peak"
        return say.period(c, say.fastest(c)) + (whose + sizes if c.growths else flat)
    return say.noun(c)


def _expects(facts: Facts) -> str:
    """The forecast: of the next peak where there is a cycle to peak, otherwise of the end."""
    f, axis, unit = facts.forecast, facts.setting.axes[0], facts.setting.unit
    if f is None:
        return ""
    if f.cycle is not None:
        span = between(f.peak.low, f.peak.high, unit)
        return f"the next peak, around {say.peak(f, axis)}, should lie between {span} (90 %)"
    when = f"for {axis.around(f.end.at)}" if axis.in_years else f"at {axis.name} = {axis.around(f.end.at)}"
    return f"{when} the model expects a value between {between(f.end.low, f.end.high, unit)} (90 %)"


def executive_summary(facts: Facts) -> list[str]:
    """A few sentences: the parts, how much they explain, what is left, what comes next."""
    patterns = [c for c in facts.components if c.head != "noise"]
    noise = [c for c in facts.components if c.head == "noise"]
    unit, target = facts.setting.unit, facts.setting.target
    level = f"a level of {quantity(facts.level, unit, facts.setting.spread / 20)}"
    whole = counted(len(patterns), "pattern") + (" and noise" if noise else "")
    said = [f"the model takes {target} apart into {whole}, around {level}"]
    if not patterns:
        said = [f"the model finds no pattern in {target}, only noise around {level}"]
    said += _landmarks(patterns)
    if len(patterns) == 1 or (patterns and percent(facts.explained) != percent(patterns[0].score.r2)):
        who = "it explains" if len(patterns) == 1 else "the patterns together explain"
        said.append(f"{who} {percent(facts.explained)} of the variance")
    if noise and facts.noise_sd > 0:
        said.append(f"what is left is noise: a single observation strays by about {_strays(facts)}")
    if facts.setting.series and (ahead := _expects(facts)):
        said.append(ahead)
    said += joint.orders(facts)
    shown = [joint.effect(facts, e) for e in joint.matters(facts)[:6]] if not facts.setting.series else []
    return [sentence(text) for text in said] + shown + _idle(facts)


def _strays(facts: Facts) -> str:
    first, last, unit = facts.noise_start, facts.noise_end, facts.setting.unit
    if max(first, last) < say.STEEPER * min(first, last) or not facts.setting.series:
        return f"±{quantity(facts.noise_sd, unit)}"
    return f"±{number(first)} at first and ±{quantity(last, unit)} at last"


def _landmarks(patterns: list[Component]) -> list[str]:
    said, named = [], 0
    for mark in LANDMARKS:
        reached = next((c for c in patterns if c.score.r2 >= mark), None)
        if reached is not None and reached.number not in (named, len(patterns)):
            who = "first part explains" if reached.number == 1 else f"first {counted(reached.number, 'part')} explain"
            said.append(f"the {who} {percent(reached.score.r2)} of the variance")
            named = reached.number
    if not said and len(patterns) > 1:
        said.append(f"the first part explains {percent(patterns[0].score.r2)} of the variance")
    return said


def _idle(facts: Facts) -> list[str]:
    idle = [facts.setting.axes[e.input].name for e in facts.effects if e.total < joint.LEAST]
    if not idle:
        return []
    verb = "matters" if len(idle) == 1 else "matter"
    return [sentence(f"{listed(idle)} hardly {verb}: less than 0.5 % of what the model explains each")]


# -- the fine print ----------------------------------------------------------------------------------------------


def remarks(facts: Facts) -> list[str]:
    """What a careful reader should know before relying on the parts."""
    parts = [c for c in facts.components if c.head != "noise"]
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
    if len(facts.effects) > 1:
        said.append("shares of inputs overlap where inputs act jointly or are related, so they need not sum to 100 %")
    said += calendar.gaps(facts.setting) + calendar.missed(facts)
    if facts.jitter > 0:
        said.append(
            "the covariance could be factorised only after adding a little noise; repeated inputs may be the cause"
        )
    if facts.forecast is not None:
        axis = facts.setting.axes[0]
        said.append(
            f"beyond {axis.seen(axis.high)} nothing was checked against data: the forecast assumes that the"
            " patterns go on as they were"
        )
    return [sentence(text) for text in said]


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
