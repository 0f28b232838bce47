"""The model as a whole: how it was found, and how sure one can be of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fathom.report.facts.whole import Agreement, Check, Facts
from fathom.report.measure.selection import LEAST_GAIN
from fathom.report.model import Searched
from fathom.report.numbers import number, percent, quantity
from fathom.report.words.said import Claim, Said, tell
from fathom.report.words.text import capital, counted, sentence
from fathom.search.trace import Trace


def explained(facts: Facts) -> Said:
    """How well the patterns predict what was held out of the data, and only then how well they fit it."""
    if not facts.patterns:
        return Said("No pattern was found: the data are noise around their level.")
    but = FLEXIBLE if flexible(facts) else ""
    return tell(held_out(facts), f". {but}In the fit the patterns explain ", fit(facts), ".")


FLEXIBLE = "The fit itself is far closer, but a curve as flexible as this follows almost anything. "


def flexible(facts: Facts) -> bool:
    """True when the fit says much more than the model can predict: the fit must then not be taken for skill."""
    return facts.explained - facts.foreseen > 0.3 and facts.foreseen < 0.5


def held_out(facts: Facts) -> Said:
    """How well data that were held out are predicted, without a full stop."""
    mae, base, unit = facts.patterns[-1].score.mae, facts.baseline_mae, facts.setting.unit
    on = "stretches" if facts.setting.time is not None else "rows"
    claims = Claim("whole", "error", mae), Claim("whole", "foreseen", facts.foreseen)
    opening = f"{capital(on)} held out of the data are predicted with a mean error of {quantity(mae, unit)}"
    if facts.foreseen < LEAST_GAIN:
        return Said(f"{opening}, no better than by the level alone ({quantity(base, unit)})", *claims)
    return Said(f"{opening}, {percent(facts.foreseen)} less than by the level alone ({quantity(base, unit)})", *claims)


def fit(facts: Facts) -> Said:
    """How much of the variance of the data they were fitted to the patterns explain."""
    return Said(f"{percent(facts.explained)} of the variance", Claim("whole", "fit", facts.explained))


def checked(checks: Sequence[Check]) -> Said:
    """How many checks of the whole and of the parts failed."""
    whole, parts = ([c for c in checks if (c.subject == "whole") == is_whole] for is_whole in (True, False))
    bad, bad_parts = (sum(c.failed for c in some) for some in (whole, parts))
    claims = [Claim("whole", "checks", len(whole)), Claim("whole", "failed checks", bad)]
    claims += [Claim("parts", "checks", len(parts)), Claim("parts", "failed checks", bad_parts)]
    if not bad:
        text = f"{'all ' if len(whole) > 1 else ''}{counted(len(whole), 'check')} of the whole passed"
        text += ": what is left over looks like noise" if not bad_parts else ""
    else:
        text = f"{_few(bad)} of {counted(len(whole), 'check')} of the whole failed"
    if bad_parts:
        text += f"; of {counted(len(parts), 'check')} of single parts {_few(bad_parts)} failed"
    if bad or bad_parts:
        text += ". What that means stands under “Before you rely on it”"
    return Said(sentence(text), *claims)


def checked_parts(checks: Sequence[Check]) -> str:
    """How the checks of single parts came out; empty without any."""
    parts = [c for c in checks if c.subject != "whole"]
    bad = sum(c.failed for c in parts)
    if not parts:
        return ""
    first = "each part was compared with its own description as well: "
    if not bad:
        return sentence(f"{first}{'all ' if len(parts) > 1 else ''}{counted(len(parts), 'such check')} passed")
    told = "it is told with its part" if bad == 1 else "they are told with their parts"
    return sentence(f"{first}{_few(bad)} of {counted(len(parts), 'such check')} failed; {told}")


def _few(n: int) -> str:
    return counted(n, "").rstrip("s ")


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
    relative = agreement.relative or 0.0
    share = f" ({percent(relative)})" if relative >= 0.001 else ""
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
        said.append(f"{missed}, so beyond the data their variance is made {_larger(model.caution_)}.")
    return said


def _larger(factor: float) -> str:
    return f"{percent(factor - 1)} larger" if factor < 2 else f"{number(factor)} times as large"


def duration(seconds: float) -> str:
    """A time that something took: "less than a second", "15 seconds", "three minutes"."""
    if seconds < 0.95:
        return "less than a second"
    whole = max(round(seconds), 1)
    return counted(whole, "second") if whole < 120 else counted(round(seconds / 60), "minute")


def story(trace: Trace) -> list[str]:
    """What was tried, for how long, and why it ended."""
    tried = sum(level.n_candidates for level in trace.levels)
    seconds = duration(sum(level.seconds for level in trace.levels))
    return [
        f"The search began with noise alone and tried {tried:,} structures in {seconds}, at each level "
        "keeping the one that describes the data best for its number of parameters (a lower score is better).",
        *approximation(trace),
        *([f"It is the best of {trace.paths} such searches, each with another seed."] if trace.paths > 1 else []),
        ended(trace),
    ]
