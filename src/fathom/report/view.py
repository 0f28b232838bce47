"""What the template of the page shows, by name: words, tables, and the pictures drawn."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from fathom.report import prose
from fathom.report.contents import Report
from fathom.report.draw import effects, hover, residuals
from fathom.report.draw.fold import folded
from fathom.report.draw.hero import crowd, hero, window
from fathom.report.draw.search import path_of
from fathom.report.draw.series import Along, Series, future, part, running, sparkline
from fathom.report.facts.part import Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Check, Curves
from fathom.report.model import predict, was_searched
from fathom.report.numbers import percent, quantity
from fathom.report.words import tables
from fathom.report.words.parameters import rounded, rows
from fathom.report.words.sure import checked_parts, duration, failures
from fathom.report.words.verdicts import failed

COLOURS = 5  # of components in the style sheet
FEW_STEPS = 12  # in a cycle that is drawn by them
MOST_PLACES = 1500  # at which the whole is evaluated for its picture


def view(report: Report) -> dict[str, object]:
    """What the template shows, by name, with the pictures drawn."""
    facts, texts = report.facts, report.texts()
    tints = _tints(facts.components)
    series = _series(report) if facts.setting.series else None
    parts = list(zip(facts.components, texts, tints, strict=True))
    sections = [_section(report, series, *described) for described in parts]
    return {
        "facts": facts,
        "kernel": rounded(facts.kernel),
        "level": _level(report),
        "summary": report.summary,
        "remarks": report.remarks,
        "along": Markup(hover.along(series.axis, series.answers.x)) if series is not None else "",
        "hero": _hero(report, series),
        "orders": effects.orders(facts),
        "parts": [_row(report, *described) for described in parts],
        "forecast": _forecast(report),
        "odd": tables.oddities(report.anomalies, facts.setting),
        "oddities": tables.surprises(report.anomalies, facts),
        "sections": sections,
        "checks": _checks(report),
        "futures": _futures(report, series),
        "path": path_of(report.model, facts, report.ahead),
        "seconds": None if report.origin.seconds is None else duration(report.origin.seconds),
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


# -- the whole ---------------------------------------------------------------------------------------------------------


def _series(report: Report) -> Series:
    rows, y = report.dataset.X[:, 0], np.asarray(report.dataset.y, dtype=float).reshape(-1)
    order = np.argsort(rows, kind="stable")
    x = rows[order]
    places, answers = _places(report, x), hover.places(x, report.soon)
    near = _near(report, x, y, float(places[-1]))
    everywhere = np.unique(np.concatenate([places, answers, near]))  # most are the same: predicted once
    expected = predict(report.model, everywhere[:, None])

    def along(some: np.ndarray) -> Along:
        return Along(some, expected[np.searchsorted(everywhere, some)])

    return Series(
        facts=report.facts,
        rows=rows,
        order=order,
        x=x,
        y=y[order],
        whole=along(places),
        near=along(near) if len(near) else None,
        answers=along(answers),
        stepwise=_stepwise(report, x),
        folds=report.folds,
        odd=np.array([a.row for a in report.anomalies.shown], dtype=int),
    )


def _places(report: Report, x: np.ndarray) -> np.ndarray:
    """Where the whole is drawn: a dense record at its own steps, for between them there is nothing to see."""
    drawn = np.array(next(c.curve.x for c in report.facts.components if c.curve is not None))
    grid = own_steps(report, x)
    if not (100 <= len(grid) <= MOST_PLACES or _stepwise(report, x)):
        return drawn
    return np.union1d(grid, report.ahead if len(report.ahead) else drawn[drawn > x[-1]])


def _stepwise(report: Report, x: np.ndarray) -> bool:
    """True for a regular record whose cycles have so few steps that what lies between them is nobody's."""
    few = any(0 < fold.per_cycle <= FEW_STEPS for fold in report.folds.values())
    own = np.unique(x)
    return few and len(own) <= 300 and len(own) == len(own_steps(report, x))


def own_steps(report: Report, x: np.ndarray) -> np.ndarray:
    """The observations of a time with the steps that are missing among them; none where they follow no steps."""
    x = np.unique(x)
    steps = np.diff(x)
    if report.dataset.rule is None or not len(steps):
        return np.zeros(0)
    usual = float(np.median(steps))
    counts = np.maximum(np.round(steps / usual), 1)
    if np.mean(np.abs(steps / usual - counts) < 0.2) < 0.95 or counts.sum() > 2 * len(x):
        return np.zeros(0)
    found = [x]
    for k in np.flatnonzero(counts > 1):
        missing = report.dataset.rule.future(float(x[k]), int(counts[k]) - 1)  # none at a weekend without trade
        found.append(missing[missing < x[k + 1] - usual / 2])
    return np.unique(np.concatenate(found))


def _near(report: Report, x: np.ndarray, y: np.ndarray, end: float) -> np.ndarray:
    """The end of a record that has too many cycles to be drawn one by one; of another, nothing."""
    facts = report.facts
    period = crowd(facts, y, end, narrow=True)
    if not period:
        return np.zeros(0)
    low, high = window(facts, y, end)
    grid = np.concatenate([own_steps(report, x), report.soon])
    grid = grid[(grid >= low) & (grid <= high)]
    if len(grid) * period < 6 * (high - low):  # too few to show a cycle
        grid = np.linspace(low, high, int(24 * (high - low) / period))
    return np.unique(grid)


def _hero(report: Report, series: Series | None) -> list[list[Markup]]:
    """The pictures of the first screen: of a series, for wide and for narrow pages; of several inputs, two."""
    if series is not None:
        return [[Markup(drawing) for drawing in hero(series, narrow)] for narrow in (False, True)]
    y = np.asarray(report.dataset.y, dtype=float).reshape(-1)
    odd = [a.row for a in report.anomalies.shown]
    truth = effects.predicted(report.facts, y, report.model.leave_one_out(), odd)
    return [[Markup(effects.importance(report.facts))], [Markup(truth)]]


def _row(report: Report, c: Component, texts: prose.Texts, tint: str) -> dict[str, object]:
    share = max(c.score.gain, 0.0)
    fold = report.folds.get(c.part)
    spark = effects.tiny_map(c, texts.name) if c.surface is not None else sparkline(c, texts.name, fold)
    tag = c.score.tag
    return {
        "number": c.number,
        "name": texts.name,
        "summary": texts.summary,
        "spark": Markup(spark),
        "share": f"{100 * min(share, 1):.2f}",
        "percent": "" if c.head == "noise" else percent(share).replace("less than", "<"),
        "tag": tag,
        "kind": tag.split()[0],
        "tint": tint,
    }


# -- the forecast ------------------------------------------------------------------------------------------------------


def _forecast(report: Report) -> dict[str, object] | None:
    """The steps ahead: those that are seen at once, the rest, both as a file, and how many are left out."""
    if report.forecast is None:
        return None
    grid = tables.steps(report.forecast, report.facts.setting)
    return {
        "grid": grid._replace(rows=grid.rows[: tables.SHOWN]),
        "rest": grid._replace(rows=grid.rows[tables.SHOWN :]),
        "csv": report.forecast.csv(),
        "left": report.n_steps - len(grid.rows),
    }


def _futures(report: Report, series: Series | None) -> list[Markup]:
    if series is None or not len(report.soon):
        return []
    draws = report.futures
    return [Markup(future(series, report.soon, path, draws, k + 1)) for k, path in enumerate(draws)]


# -- a component -------------------------------------------------------------------------------------------------------


def _section(report: Report, series: Series | None, c: Component, texts: prose.Texts, tint: str) -> dict[str, object]:
    return {
        "number": c.number,
        "name": texts.name,
        "tint": tint,
        "tag": c.score.tag,
        "kind": c.score.tag.split()[0],
        "figures": [(Markup(drawing), below) for drawing, below in _pictures(report, series, c, texts.name)],
        "sentences": texts.sentences,
        "ahead": texts.extrapolation,
        "failed": [report.say(check) for check in failed(report.of_part(c))],
        "parameters": rows(c),
    }


def _pictures(report: Report, series: Series | None, c: Component, name: str) -> list[tuple[str, str]]:
    """The pictures of a component with what stands below them."""
    facts, X, fold = report.facts, report.dataset.X, report.folds.get(c.part)
    y = np.asarray(report.dataset.y, dtype=float).reshape(-1)
    shape = [folded(facts, c, fold, X[:, fold.input], y, name)] if fold is not None else []
    if series is not None:
        alone = [part(series, c, name)]
        return alone if c.head == "noise" else [*shape, *alone, running(series, c, name, _widest(report))]
    if c.surface is not None:
        below = "Shades of colour raise, grey lowers; dots are rows of the data"
        return [(effects.heat_map(facts, c, X, name), below)]
    if c.curve is not None and c.head != "noise":
        below = "The effect, with bands of 50 % and 90 %; ticks are rows of the data"
        return [*shape, (effects.effect(facts, c, X, name), below)]
    return []


def _widest(report: Report) -> float:
    """The scale of all residual strips: what the first part leaves over, so that the rest can be seen to shrink."""
    y = np.asarray(report.dataset.y, dtype=float).reshape(-1)
    left = y - np.array(report.facts.components[0].at_data.total_mean)
    return 1.1 * float(np.abs(left).max()) or 1.0


# -- checks ------------------------------------------------------------------------------------------------------------


def _checks(report: Report) -> dict[str, object]:
    """Small pictures of the residuals with the verdicts they show, and the checks without a picture."""
    axis = report.facts.setting.axes[report.facts.setting.time or 0]
    shown = _residual_pictures(report.curves, axis)
    pictured = {name for _, _, names in shown for name in names}
    told = {c.part for c in report.facts.components}
    parts = [c for c in report.checks if c.subject != "whole"]
    others = [c for c in report.whole() if c.statistic not in pictured]
    others += [c for c in failed(parts) if c.subject not in told]
    return {
        "figures": [
            {
                "svg": Markup(svg),
                "question": question,
                "verdicts": _verdicts(report, [c for name in names for c in report.whole() if c.statistic == name]),
            }
            for svg, question, names in shown
        ],
        "others": _verdicts(report, others),
        "parts": checked_parts(report.checks),
    }


def _verdicts(report: Report, checks: list[Check]) -> list[tuple[str, bool]]:
    return [(report.say(c), not c.failed) for c in checks]


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
