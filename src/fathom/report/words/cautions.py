"""What a failed check means for whoever relies on the model: one caution for each, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report.facts.part import Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Check
from fathom.report.words.said import Claim, Said, tell
from fathom.report.words.text import counted, sentence
from fathom.report.words.verdicts import alternates, failed, slow

FAILED = "failed in the cautions"


def cautions(checks: Sequence[Check], named: Sequence[tuple[Component, str]], axis: Axis, series: bool) -> list[str]:
    """A sentence on each failed check of the whole, then one on the failed checks of each part, with its name."""
    surprises = failed(checks)
    ahead = "the forecast" if series else "a prediction"
    whole = [c for c in surprises if c.subject == "whole"]
    said = [tell("failed check: ", _claimed(c, _whole(c, axis, ahead))) for c in whole]
    for part, name in named:
        own = [c for c in surprises if c.subject == part.part]
        if own:
            said.append(_of_part(part, name, own, ahead))
    return [sentence(text) for text in said]


def _claimed(check: Check, text: str) -> Said:
    return Said(text, Claim(check.key, FAILED, "yes"))


def _of_part(part: Component, name: str, own: Sequence[Check], ahead: str) -> Said:
    """All failed checks of one part, and what follows from them together."""
    said: list[str] = []
    for check in own:
        said += ["; " if said else "", _claimed(check, _part(check))]
    noise = f"so the bands of {ahead} are rough" if part.head == "noise" else f"so its share of {ahead} may go astray"
    return tell(f"{counted(len(own), 'check')} of part {part.number} ({name}) failed: ", *said, f", {noise}")


def _whole(check: Check, axis: Axis, ahead: str) -> str:
    way = {"upper": "upwards", "lower": "downwards"}.get(check.detail.get("side", ""), "")
    if check.statistic == "periodogram_max":
        return _rhythm(check, axis, ahead)
    if check.statistic in ("qq_high", "qq_low"):
        wider = f"{way}, the bands of {ahead} are wider than the data need"
        larger = f"surprises {way} can be larger than the bands of {ahead} show"
        return larger if check.meaning == "heavy tails" else wider
    name, high = check.detail.get("input", ""), "high" if check.detail.get("direction") == "up" else "low"
    lag = axis.length(check.detail.get("lag", 0.0), 2)
    return {
        "too smooth": f"neighbouring residuals resemble each other, so {ahead} may lie on one side of what comes",
        "too rough": f"the model follows some of the noise, and so does {ahead} next to the data",
        "missed memory": f"residuals {lag} apart are connected, and {ahead} leaves that out",
        "heavy tails": f"large surprises come more often than the bands of {ahead} say: plan for values outside them",
        "light tails": f"large surprises are rarer than the bands of {ahead} say: they are wider than need be",
        "skewed": f"surprises to one side are larger than to the other, and the bands of {ahead} do not show it",
        "growing variance": f"the errors have grown along the {axis.record}, so the bands ahead may be too narrow",
        "shrinking variance": f"the errors have shrunk along the {axis.record}, so the bands ahead may be too wide",
        "missed effect": f"{ahead} is off in a way that depends on {name}",
        "uneven variance": f"where {name} is {high}, errors are larger than the bands of {ahead} say",
    }.get(check.meaning, f"{ahead} may be off")


def _rhythm(check: Check, axis: Axis, ahead: str) -> str:
    if slow(check):
        return f"a slow movement is missing from the model, so {ahead} may drift away from what comes"
    if alternates(check):
        return f"residuals go up and down from one to the next, and {ahead} leaves that out"
    return f"something that repeats every {axis.length(check.detail['period'], 2)} is missing from {ahead}"


def _part(check: Check) -> str:
    end = {"upper": "high", "lower": "low"}.get(check.detail.get("side", ""), "")
    if check.statistic in ("qq_high", "qq_low"):
        return f"its {end} values are {'more' if check.meaning == 'heavy tails' else 'less'} extreme than described"
    if check.statistic == "acf_min":
        back = check.meaning == "missed periodicity"
        return f"it {'swings back and forth' if back else 'moves in one direction'} more than described"
    if check.statistic == "periodogram_max":
        return f"it repeats {'more' if check.meaning == 'missed periodicity' else 'less'} than described"
    return {
        "acf_min_lag": "it turns at another pace than described",
        "periodogram_max_frequency": "its strongest rhythm is not the one described",
    }.get(check.statistic, "it is not as plain as described")
