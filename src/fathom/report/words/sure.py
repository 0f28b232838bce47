"""How sure one can be of a model, in three sentences: what it explains, what checks found, and what else would fit."""

from __future__ import annotations

from fathom.data.dataset import Columns
from fathom.report.facts.checks import Check
from fathom.report.facts.whole import Agreement, Facts
from fathom.report.numbers import number, percent, quantity
from fathom.report.words.text import capital, counted
from fathom.report.words.verdicts import failed, verdict


def explained(facts: Facts) -> str:
    """How much of the variance the patterns explain, and how well they predict what was held out."""
    patterns = [c for c in facts.components if c.head != "noise"]
    unit = facts.setting.unit
    if not patterns:
        return "No pattern was found: the data are noise around their level."
    on = "stretches" if facts.setting.time is not None else "rows"
    rest = f"{on} held out of the data are predicted with a mean error of {quantity(patterns[-1].score.mae, unit)}"
    base = f"against {number(facts.baseline_mae)} for the level alone"
    return f"The patterns explain {percent(facts.explained)} of the variance; {rest}, {base}."


def checked(whole: list[Check], columns: Columns) -> str:
    """How many checks of the whole failed, and what the most surprising of them says."""
    surprises = failed(whole)
    if not surprises:
        return f"All {counted(len(whole), 'check')} of the whole passed: what is left over looks like noise."
    short = counted(len(surprises), "check").removesuffix(" checks").removesuffix(" check")
    return f"{capital(short)} of {counted(len(whole), 'check')} failed. {verdict(surprises[0], columns)}"


def alternatives(agreement: Agreement | None, facts: Facts) -> str:
    """Whether other structures fit nearly as well, and whether that matters."""
    if agreement is None:
        return "The structure was given, not searched for: others may fit as well."
    if agreement.others == 0:
        return "No other structure that was tried comes within reach of this one."
    one = agreement.others == 1
    first = f"{capital(counted(agreement.others, 'other structure'))} {'fits' if one else 'fit'} nearly as well"
    if agreement.most is None:
        subject = "the forecast averages" if facts.setting.series else "predictions average"
        return f"{first}; {subject} over {'both' if one else 'them'}."
    axis, s = facts.setting.axes[0], facts.setting
    share = f" ({percent(agreement.relative)})" if agreement.relative is not None else ""
    most = f"{quantity(agreement.most, s.unit)}{share}"
    they = "the two" if one else "they"
    if agreement.agree_until is None:
        return f"{first}; {they} agree on the whole forecast, to within {most}."
    if agreement.agree_until <= axis.high:
        return f"{first}, and {they} differ about what comes next, by up to {most}; the forecast averages over them."
    until = axis.around(agreement.agree_until)
    return (
        f"{first}; {they} agree until {until} and differ by up to {most} after that; the forecast averages over them."
    )
