"""How a model was found, in sentences: how far the search came, by what it compared, and what its forecast adds."""

from __future__ import annotations

from collections import Counter

from fathom.report.model import Searched
from fathom.report.numbers import number
from fathom.report.words.text import counted
from fathom.search.trace import Trace

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
