"""The report as one self-contained HTML file; `write` makes Markdown and JSON of the same facts too.

    >>> write(model, dataset, "report.html", command="fathom report airline")

Words come from `prose` and `words/`, pictures from `draw/`; here they are put in order. The file needs no network, and
no script to be read.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from fathom.base.files import replacing
from fathom.data.dataset import Dataset
from fathom.data.dates import MONTHS
from fathom.report import plaintext, prose
from fathom.report.contents import Origin, Report, make
from fathom.report.draw import effects, residuals
from fathom.report.draw.search import path_of
from fathom.report.draw.series import Series, future, hero, part, running, sparkline
from fathom.report.facts.part import Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Check, Curves
from fathom.report.model import Fitted, predict, was_searched
from fathom.report.numbers import percent, quantity
from fathom.report.words.parameters import rounded, rows
from fathom.report.words.sure import failures
from fathom.report.words.verdicts import LEVEL, failed

COLOURS = 5  # of components in the style sheet


def write(
    model: Fitted,
    dataset: Dataset,
    path: str | Path,
    *,
    command: str = "",
    seconds: float | None = None,
    seed: int | None = None,
    horizon: float | None = None,
    form: str = "html",
) -> Report:
    """Write the report on a model of the data it was fitted to, whole or not at all, and return what it says.

    `horizon` is the value of the input to which a series is continued, a tenth of its range without it. `command`
    reproduces the page. `form` is "html", "markdown" or "json".
    """
    report = make(model, dataset, Origin(command, seconds, seed), horizon)
    text = {"html": html, "markdown": plaintext.markdown, "json": plaintext.json_text}[form](report)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return report


@cache
def _environment() -> Environment:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["words"] = _words
    return environment


def _words(text: str) -> Markup:
    """A sentence for the page: no line ends inside a date or a p-value, or before a per cent sign."""
    kept = re.sub(r" (?=%)|(?<=\bp) (?=[=<])|(?<=\bp [=<]) ", "\N{NO-BREAK SPACE}", text)
    return Markup(re.sub(r"\d{4}-\d\d(-\d\d)?", r'<span class="whole">\g<0></span>', str(escape(kept))))


def html(report: Report) -> str:
    """The report as a page of HTML."""
    templates = files("fathom.report") / "templates"
    template = _environment().from_string((templates / "report.html.j2").read_text(encoding="utf-8"))
    style = (templates / "style.css").read_text(encoding="utf-8")
    day = f"{report.written.day} {MONTHS[report.written.month - 1]} {report.written.year}"
    return template.render(style=Markup(style), report=report, date=day, **view(report))


# -- what the template shows -------------------------------------------------------------------------------------------


def view(report: Report) -> dict[str, object]:
    """What the template shows, by name, with the pictures drawn."""
    facts, texts = report.facts, report.texts()
    tints = _tints(facts.components)
    series = _series(report) if facts.setting.series else None
    return {
        "facts": facts,
        "kernel": rounded(facts.kernel),
        "level": _level(report),
        "summary": prose.executive_summary(facts),
        "remarks": prose.remarks(facts),
        "hero": _hero(report, series),
        "orders": effects.orders(facts),
        "parts": [_row(c, t, tint) for c, t, tint in zip(facts.components, texts, tints, strict=True)],
        "sections": [
            _section(report, series, c, t, tint) for c, t, tint in zip(facts.components, texts, tints, strict=True)
        ],
        "checks": _checks(report),
        "futures": _futures(report, series),
        "path": path_of(report.model, facts, report.ahead),
        "failures": failures(report.model.trace_) if was_searched(report.model) else [],
    }


def _level(report: Report) -> str:
    facts = report.facts
    value = quantity(facts.level, facts.setting.unit, facts.setting.spread / 100)
    how = "learnt with the parameters" if facts.level_learnt else "the mean of the data"
    return f"{value}, around which the parts add up: {how}."


def _tints(components: tuple[Component, ...]) -> list[str]:
    """A colour for each component, by name in the style sheet; noise is as grey as data."""
    found, k = [], 0
    for c in components:
        found.append("data" if c.head == "noise" else f"p{k % COLOURS + 1}")
        k += c.head != "noise"
    return found


def _series(report: Report) -> Series:
    x, y = report.dataset.X[:, 0], np.asarray(report.dataset.y, dtype=float).reshape(-1)
    order = np.argsort(x, kind="stable")
    places = _places(report, x[order])
    return Series(report.facts, order, x[order], y[order], places, predict(report.model, places[:, None]))


def _places(report: Report, x: np.ndarray) -> np.ndarray:
    """Where the whole is drawn: a dense regular series at its own steps, for between them there is nothing to see."""
    drawn = np.array(next(c.curve.x for c in report.facts.components if c.curve is not None))
    steps = np.diff(np.unique(x))
    regular = report.dataset.rule is not None and len(steps) >= 100 and np.ptp(steps) < 0.2 * np.median(steps)
    return np.concatenate([np.unique(x), report.ahead]) if regular else drawn


def _hero(report: Report, series: Series | None) -> list[Markup]:
    """The picture of the first screen: of a series, for wide and for narrow pages; of several inputs, two."""
    if series is not None:
        return [Markup(hero(series, narrow)) for narrow in (False, True)]
    y = np.asarray(report.dataset.y, dtype=float).reshape(-1)
    truth = effects.predicted(report.facts, y, report.model.leave_one_out())
    return [Markup(effects.importance(report.facts)), Markup(truth)]


def _row(c: Component, texts: prose.Texts, tint: str) -> dict[str, object]:
    share = max(c.score.delta_r2, 0.0)
    spark = effects.tiny_map(c, texts.name) if c.surface is not None else sparkline(c, texts.name)
    tag = c.score.tag
    return {
        "number": c.number,
        "name": texts.name,
        "summary": texts.summary,
        "spark": Markup(spark),
        "share": f"{100 * min(share, 1):.2f}",
        "percent": percent(share).replace("less than", "<"),
        "tag": tag,
        "kind": tag.split()[0],
        "tint": tint,
    }


def _section(report: Report, series: Series | None, c: Component, texts: prose.Texts, tint: str) -> dict[str, object]:
    return {
        "number": c.number,
        "name": texts.name,
        "tint": tint,
        "tag": c.score.tag,
        "kind": c.score.tag.split()[0],
        "figures": _pictures(report, series, c, texts.name),
        "sentences": texts.sentences,
        "ahead": texts.extrapolation,
        "failed": [report.say(check) for check in failed(report.of_part(c))],
        "parameters": rows(c),
    }


def _pictures(report: Report, series: Series | None, c: Component, name: str) -> list[tuple[Markup, str]]:
    """The pictures of a component with what stands below them."""
    facts, X = report.facts, report.dataset.X
    if series is not None:
        alone = "This part alone, with bands of 50 % and 90 %; tinted, the forecast"
        if c.head == "noise":
            return [(Markup(part(series, c, name)), "What it takes of each observation")]
        first = "this part" if c.number == 1 else "all parts so far"
        whole = f"The level and {first}, over the observations; below, what is left, on one scale throughout"
        return [
            (Markup(part(series, c, name)), alone),
            (Markup(running(series, c, name, _widest(report))), whole),
        ]
    if c.surface is not None:
        below = "Shades of colour raise, grey lowers; dots are rows of the data"
        return [(Markup(effects.heat_map(facts, c, X, name)), below)]
    if c.curve is not None and c.head != "noise":
        below = "The effect, with bands of 50 % and 90 %; ticks are rows of the data"
        return [(Markup(effects.effect(facts, c, X, name)), below)]
    return []


def _widest(report: Report) -> float:
    """The scale of all residual strips: what the first part leaves over, so that the rest can be seen to shrink."""
    y = np.asarray(report.dataset.y, dtype=float).reshape(-1)
    left = y - np.array(report.facts.components[0].at_data.total_mean)
    return 1.1 * float(np.abs(left).max()) or 1.0


def _checks(report: Report) -> dict[str, object]:
    """Small pictures of the residuals with their verdicts, and the checks without a picture."""
    whole = {c.statistic: c for c in report.whole()}
    axis = report.facts.setting.axes[report.facts.setting.time or 0]
    shown = _residual_pictures(report.curves, axis)
    pictured = {name for _, _, names in shown for name in names}
    others = [c for name, c in whole.items() if name not in pictured] + [
        c for c in report.whole() if c.statistic in whole and whole[c.statistic] is not c
    ]
    parts = [c for c in report.checks if c.subject != "whole"]
    return {
        "figures": [
            {
                "svg": Markup(svg),
                "question": question,
                "verdicts": _verdicts(report, [whole[n] for n in names if n in whole]),
            }
            for svg, question, names in shown
        ],
        "others": [(report.say(c), c.p_value > LEVEL) for c in others],
        "parts": len(parts),
        "parts_failed": len(failed(parts)),
        "chance": LEVEL * len(parts),
    }


def _residual_pictures(curves: Curves, axis: Axis) -> list[tuple[str, str, list[str]]]:
    """What is drawn of the residuals: picture, question, and the checks that answer it."""
    shown = [
        (residuals.quantiles(curves), "Are the surprises of the size expected?", ["qq_high", "qq_low", "normality"])
    ]
    if not len(curves.lag):
        return shown
    lags = (residuals.autocorrelation(curves, axis), "Does one residual foretell the next?", ["autocorrelation"])
    return [
        lags,
        (residuals.periodogram(curves, axis), "Does anything left over repeat?", ["periodogram_max"]),
        *shown,
    ]


def _verdicts(report: Report, checks: list[Check]) -> list[tuple[str, bool]]:
    """What failed of several checks behind one picture or, if nothing did, the last, which sums them up."""
    return [(report.say(c), False) for c in failed(checks)] or [(report.say(c), True) for c in checks[-1:]]


def _futures(report: Report, series: Series | None) -> list[Markup]:
    if series is None or not len(report.ahead):
        return []
    draws = report.futures
    return [Markup(future(series, report.ahead, path, draws, k + 1)) for k, path in enumerate(draws)]
