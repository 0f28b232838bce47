"""One plain sentence for every check of the model, whether it passed or not.

Sentences about the whole speak of the residuals: what is left after the model has said all it can. Sentences about a
part say "this part", so that they can stand under its own heading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from fathom.data.columns import Columns
from fathom.data.timeaxis import TimeRule
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import LEVEL, Check
from fathom.report.numbers import compared, number
from fathom.report.words.text import capital

FIRM = 0.01  # at or below it there is little doubt
Sentence = Callable[[Check, Axis, bool], str]  # the third says whether the check passed


def verdict(check: Check, columns_or_rule: Columns | TimeRule | None = None) -> str:
    """What a check found, in a sentence; the columns, or the time rule, give periods and lags the reader's units."""
    axis = axis_for(columns_or_rule)
    passed = not check.failed
    write = (_WHOLE if check.subject == "whole" else _PART)[check.statistic]
    text = write(check, axis, passed)
    doubt = "" if passed or check.p_value <= FIRM else "perhaps "
    text = text.replace("{perhaps}", doubt)
    return f"{capital(text)} ({probability(check.p_value)})."


def failed(checks: Iterable[Check], level: float = LEVEL) -> list[Check]:
    """The checks that did not pass, most surprising first."""
    return sorted((c for c in checks if c.p_value <= level), key=lambda c: c.p_value)


def probability(p: float) -> str:
    """A p-value as it is written: two decimals, three where two would hide it."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.0095 else f"p = {p:.2f}"


def axis_for(known: Columns | TimeRule | None) -> Axis:
    """The axis in whose units periods and lags are told; what is not known of it does not matter to a length."""
    if known is None:
        return Axis("", "", None, 0.0, 1.0)
    if isinstance(known, TimeRule):
        return Axis("time", "", known, 0.0, 1.0)
    name = known.names[known.time or 0]
    rule = known.rule if known.time is not None else None
    return Axis(name, known.units.get(name, ""), rule, 0.0, 1.0)


# -- the whole --------------------------------------------------------------------------------------------------------


def _autocorrelation(check: Check, axis: Axis, passed: bool) -> str:
    if passed:
        return "one residual says nothing about the next"
    r = number(check.detail["correlation"])
    alike = "resemble each other" if check.detail["correlation"] > 0 else "pull in opposite directions"
    if check.meaning == "missed memory":
        lag = axis.length(check.detail["lag"], 2)
        return f"residuals {lag} apart {alike} (correlation {r}): a connection that the model {{perhaps}}does not know"
    fault = "bends too slowly to follow the data" if check.meaning == "too smooth" else "chases what is only noise"
    return f"neighbouring residuals {alike} (correlation {r}): the model {{perhaps}}{fault}"


def slow(check: Check) -> bool:
    """True when the rhythm of a check does not come round twice in the record: that is no cycle but a drift."""
    return check.detail.get("cycles", math.inf) < 2


def alternates(check: Check) -> bool:
    """True when the rhythm of a check is an up and down from one observation to the next."""
    return check.detail.get("steps", math.inf) < 2.2


def _rhythm(check: Check, axis: Axis, passed: bool) -> str:
    period, named = axis.length(check.detail["period"], 2), not (slow(check) or alternates(check))
    if passed and named:
        return f"nothing left that repeats: the strongest remaining cycle, of about {period}, could be chance"
    if passed:
        return "nothing left that repeats"
    if named:
        return f"a cycle of about {period} {{perhaps}}remains unexplained"
    if slow(check):
        return f"a slow movement over the whole {axis.record} {{perhaps}}remains unexplained"
    return "residuals {perhaps}go up and down from one observation to the next"


def _extremes(check: Check, axis: Axis, passed: bool) -> str:
    up = check.statistic == "qq_high"
    if passed:
        return f"no residual lies unexpectedly far {'up' if up else 'down'}"
    end, gap = {"upper": "largest", "lower": "lowest"}[check.detail["side"]], _deviations(check.observed)
    if check.meaning == "heavy tails":
        tale = f"more extreme than the model allows: surprises {{perhaps}}run {_way(up)}"
    else:
        tale = f"less extreme than expected: the model is {{perhaps}}too cautious {_way(not up)}"
    return f"the {end} residuals are {gap} {tale}"


def _deviations(size: float) -> str:
    text = number(size)
    return "one standard deviation" if text == "1" else f"{text} standard deviations"


def _way(up: bool) -> str:
    return "upwards" if up else "downwards"


def _normality(check: Check, axis: Axis, passed: bool) -> str:
    if passed:
        return "the residuals have the bell shape the model assumes"
    shapes = {
        "heavy tails": "large surprises are {perhaps}more frequent",
        "light tails": "large surprises are {perhaps}rarer",
        "skewed": "the residuals {perhaps}lean to one side more",
    }
    return f"{shapes[check.meaning]} than the model assumes"


def _drift(check: Check, axis: Axis, passed: bool) -> str:
    ratio = check.detail["ratio"]
    if passed:
        return "the residuals scatter alike from beginning to end"
    change = "grow" if check.meaning == "growing variance" else "shrink"
    size = f": in its last third they are {compared(ratio, 'large')} as in its first"
    return f"the errors {{perhaps}}{change} along the {axis.record}" + ("" if 0.95 < ratio < 1.05 else size)


def _input(check: Check, axis: Axis, passed: bool) -> str:
    name = check.detail["input"]
    if check.statistic == "input_dependence":
        if passed:
            return f"nothing left that depends on {name}"
        return f"{{perhaps}}an effect of {name} remains unexplained"
    if passed:
        return f"the residuals scatter alike at all values of {name}"
    return f"the errors are {{perhaps}}larger where {name} is {'high' if check.detail['direction'] == 'up' else 'low'}"


# -- a part -----------------------------------------------------------------------------------------------------------


def _swing(check: Check, axis: Axis, passed: bool) -> str:
    if passed:
        return "this part turns back on itself as often as its description says"
    lag = axis.length(check.detail["lag"], 2)
    if check.meaning == "missed periodicity":
        return f"this part {{perhaps}}swings back and forth, over about {lag}, more than its description allows"
    return "this part {perhaps}moves in one direction more than its description allows"


def _swing_lag(check: Check, axis: Axis, passed: bool) -> str:
    lag = axis.length(check.detail["lag"], 2)
    if passed:
        return f"this part turns over about {lag}, as its description says"
    return f"this part turns over about {lag}, {{perhaps}}not at the pace its description expects"


def _cycle(check: Check, axis: Axis, passed: bool) -> str:
    if passed:
        return "this part repeats no more and no less than its description says"
    period, more = axis.length(check.detail["period"], 2), check.meaning == "missed periodicity"
    if more and slow(check):
        return f"this part {{perhaps}}moves over the whole {axis.record} more than its description allows"
    if more and alternates(check):
        return "this part {perhaps}goes up and down between neighbours more than its description allows"
    if more and check.detail.get("own"):
        return "this part {perhaps}repeats more strongly than its description says"
    if more:
        return f"this part {{perhaps}}hides a cycle of about {period} that its description does not mention"
    rest = "" if slow(check) or alternates(check) else f"; its strongest cycle is of about {period}"
    return f"this part {{perhaps}}repeats less than its description says{rest}"


def _cycle_length(check: Check, axis: Axis, passed: bool) -> str:
    period = axis.length(check.detail["period"], 2)
    if slow(check):
        return f"this part moves {'' if passed else '{perhaps}not '}at the pace that its description expects"
    if passed:
        return f"the strongest rhythm of this part, of about {period}, is where its description puts it"
    return f"the strongest rhythm of this part, of about {period}, is {{perhaps}}not where its description puts it"


def _values(check: Check, axis: Axis, passed: bool) -> str:
    end = {"upper": "high", "lower": "low"}[check.detail["side"]]
    if passed:
        return f"the {end} values of this part are as its description says"
    more = "more" if check.meaning == "heavy tails" else "less"
    return f"the {end} values of this part are {{perhaps}}{more} extreme than its description allows"


def _noise(check: Check, axis: Axis, passed: bool) -> str:
    if passed:
        return "this noise cannot be told from simulated noise"
    return "this noise can {perhaps}be told from simulated noise: it is not as plain as the model assumes"


_WHOLE: dict[str, Sentence] = {
    "autocorrelation": _autocorrelation,
    "periodogram_max": _rhythm,
    "qq_high": _extremes,
    "qq_low": _extremes,
    "normality": _normality,
    "variance_drift": _drift,
    "input_dependence": _input,
    "input_variance": _input,
}
_PART: dict[str, Sentence] = {
    "acf_min": _swing,
    "acf_min_lag": _swing_lag,
    "periodogram_max": _cycle,
    "periodogram_max_frequency": _cycle_length,
    "qq_high": _values,
    "qq_low": _values,
    "mmd": _noise,
}
