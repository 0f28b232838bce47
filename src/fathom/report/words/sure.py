"""The model as a whole: how it was found, and how sure one can be of it."""

from __future__ import annotations

from collections import Counter

from fathom.data.columns import Columns
from fathom.report.facts.whole import Agreement, Check, Facts
from fathom.report.model import Searched
from fathom.report.numbers import number, percent, quantity
from fathom.report.words.text import capital, counted
from fathom.report.words.verdicts import failed, verdict
from fathom.search.trace import Trace


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


_ENDS = {
    "converged": "It ended because nothing gained any more.",
    "depth": "It ended at the depth that was asked for.",
    "time limit": "It ended at its time limit: a longer search may find more.",
    "interrupted": "It was interrupted: a longer search may find more.",
    "running": "It had not ended when this page was written.",
}
SCORES = {"bic": "BIC", "aic": "AIC", "laplace": "−2 log evidence", "cv": "−2 log held-out density"}


def ended(trace: Trace) -> str:
    """Why the search ended."""
    return _ENDS.get(trace.status, f"It ended: {trace.status}.")


def cut_short(trace: Trace) -> list[str]:
    """That the search had too little time, if it had."""
    if trace.status != "time limit":
        return []
    if len(trace.levels) == 1:
        return ["The time limit cut the search short before it had fitted any pattern: there is only noise here."]
    return ["The time limit cut the search short: with more time it may find more."]


def failures(trace: Trace) -> list[str]:
    """What failed on the way, and how often: nothing is hidden."""
    total: Counter[str] = Counter()
    for level in trace.levels:
        total.update(level.failures)
    return [f"{counted(n, 'candidate')}: {reason}" for reason, n in total.most_common()]


def approximation(trace: Trace) -> list[str]:
    """How candidates of a long record were compared, if not by the exact evidence."""
    how = trace.approximation
    return [f"The record is long, so candidates were compared by an approximation ({how})."] if how else []


def forecasting(model: Searched) -> list[str]:
    """How the forecast differs from that of the one model described."""
    said = []
    if any(member.persistent for member in model.members_):
        said.append(
            "A smooth part returns to the mean of the data soon after their end; models therefore forecast also with a "
            "random walk in its place, which keeps its level, and how well each would have forecast the past decides "
            "its weight."
        )
    if model.caution_ > 1.05:
        missed = "Forecasts of the past missed by more than the models had allowed for"
        said.append(f"{missed}, so beyond the data their variance is taken {number(model.caution_)} times.")
    return said


def story(trace: Trace) -> list[str]:
    """What was tried, for how long, and why it ended."""
    tried = sum(level.n_candidates for level in trace.levels)
    seconds = sum(level.seconds for level in trace.levels)
    return [
        f"The search began with noise alone and tried {tried:,} structures in {seconds:.0f} seconds, at each level "
        "keeping the one that describes the data best for its number of parameters (a lower score is better).",
        *approximation(trace),
        *([f"It is the best of {trace.paths} such searches, each with another seed."] if trace.paths > 1 else []),
        ended(trace),
    ]
