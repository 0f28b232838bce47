"""How the model was found: one small picture for each level of the search, and the models within reach."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from fathom.base.linalg import NotPositiveDefinite
from fathom.gp.exact import Posterior, additive_parts, leave_one_out
from fathom.gp.learn import posterior_of
from fathom.kernels.algebra import bind, rescale
from fathom.kernels.base import Kernel, walk
from fathom.kernels.syntax import to_text
from fathom.report.draw.scales import limits
from fathom.report.draw.svg import Panel, normal_bands, picture, thinned
from fathom.report.facts.part import PERIODIC
from fathom.report.facts.whole import Facts
from fathom.report.model import Fitted, Searched, was_searched
from fathom.report.numbers import MINUS
from fathom.report.words.sure import SCORES, forecasting, story
from fathom.report.words.text import listed, title, uncapital
from fathom.search.trace import Trace

MOST_DOTS, MOST_PLACES = 300, 500


@dataclass(frozen=True)
class Step:
    """One level: its picture, the terms of its kernel (text, is it new?), what is new in words, and its score."""

    depth: int
    figure: str
    terms: list[tuple[str, bool]]
    added: str
    fallen: str
    score: str
    change: str
    tried: int


@dataclass(frozen=True)
class Tie:
    """A model within reach of the best."""

    kernel: str
    behind: str
    weight: str


@dataclass(frozen=True)
class Path:
    """The path of a search, ready for the template."""

    steps: list[Step]
    ties: list[Tie]
    criterion: str
    words: list[str]


def path_of(model: Fitted, facts: Facts, ahead: np.ndarray) -> Path | None:
    """The path of the search, with forecasts of the moments ahead; None for a model that was not searched for."""
    if not was_searched(model) or not model.trace_.levels:
        return None
    trace = model.trace_
    steps: list[Step] = []
    before: Counter[str] = Counter()
    last: float | None = None
    for level in trace.levels:
        kernel = bind(level.best.parsed(), model.posterior_.X.shape[1])
        parts = additive_parts(kernel)
        texts = [to_text(part, values=False) for part in parts]
        new = _new(texts, before)
        steps.append(
            Step(
                depth=level.depth,
                figure=_figure(model, facts, kernel, level.depth, ahead),
                fallen=_fallen(trace, level.best.score),
                terms=list(zip(texts, new, strict=True)),
                added=_added(model, facts, [part for part, is_new in zip(parts, new, strict=True) if is_new]),
                score=_number(level.best.score),
                change="" if last is None else _number(level.best.score - last, sign=True),
                tried=level.n_candidates,
            )
        )
        before, last = Counter(texts), level.best.score
    name = SCORES[trace.settings.get("criterion", "bic")]
    return Path(steps, _ties(model), name, story(trace) + forecasting(model))


def _new(texts: list[str], before: Counter[str]) -> list[bool]:
    left, found = before.copy(), []
    for text in texts:
        found.append(left[text] == 0)
        left[text] -= left[text] > 0
    return found if sum(before.values()) else [True] * len(texts)


def _added(model: Searched, facts: Facts, parts: list[Kernel]) -> str:
    if not facts.setting.series:
        return ""
    s = model.scaler_
    users = [rescale(part, s.x_mean, s.x_sd, float(s.y_sd[0])) for part in parts]
    words = [title(part, facts.setting.axes[0]) for part in users]
    return listed([uncapital(w) for w in words]) if words else ""


def _number(value: float, sign: bool = False) -> str:
    return f"{value:{'+' if sign else ''},.1f}".replace("-", MINUS)


def _figure(model: Searched, facts: Facts, kernel: Kernel, depth: int, ahead: np.ndarray) -> str:
    """The fit at one level: the series with its forecast or, of several inputs, prediction against truth."""
    name = f"The best model at level {depth}"
    try:
        posterior = posterior_of(kernel, model.posterior_.X, model.posterior_.Y, "zero")
    except NotPositiveDefinite:
        posterior = None
    body = _fit(model, facts, posterior, ahead) if facts.setting.series else _truth(model, posterior)
    words = "Its mean and 90 % band over the data." if facts.setting.series else "Its predictions against the data."
    return picture(220, 120, name, words, [body], "model")


def _fit(model: Searched, facts: Facts, posterior: Posterior | None, ahead: np.ndarray) -> str:
    axis, s = facts.setting.axes[0], model.scaler_
    end = facts.components[0].horizon or axis.high
    x, y = s.x_back(model.posterior_.X)[:, 0], s.y_back(model.posterior_.Y)[:, 0]
    panel = Panel((4, 4, 212, 112), (axis.low, end), limits(y, room=0.25))
    panel.ground(axis.high, end)
    thin = thinned(len(x), MOST_DOTS)
    panel.dots(x[thin], y[thin], 1.8)
    if posterior is not None:
        places = np.concatenate([_seen(x), ahead])
        X = s.x(places[:, None])
        mean, sd = s.y_back(posterior.mean(X))[:, 0], np.sqrt(posterior.var(X, noise=True)) * float(s.y_sd[0])
        periods = [float(leaf.period) for leaf in walk(posterior.kernel) if leaf.name in PERIODIC]
        fastest = min(periods, default=np.inf) * float(s.x_sd[0])
        panel.fit(places, mean, normal_bands(mean, sd)[:1], fastest, "line main thin")
    return panel.body


def _seen(x: np.ndarray) -> np.ndarray:
    """The observations, for an early model may mean little between them; evenly where they are few."""
    own = np.unique(x)
    return own[thinned(len(own), MOST_PLACES)] if len(own) >= 60 else np.linspace(own[0], own[-1], 300)


def _fallen(trace: Trace, score: float) -> str:
    """How much of the way from the first score to the last is done, in per cent."""
    first, last = trace.levels[0].best.score, trace.levels[-1].best.score
    share = (first - score) / (first - last) if first > last else 1.0
    return f"{100 * min(max(share, 0.0), 1.0):.1f}"


def _truth(model: Searched, posterior: Posterior | None) -> str:
    y = model.scaler_.y_back(model.posterior_.Y)[:, 0]
    ends = limits(y, room=0.1)
    panel = Panel((54, 4, 112, 112), ends, ends)
    panel.curve(np.array(ends), np.array(ends), "zero")
    if posterior is not None:
        mean, _ = leave_one_out(posterior)
        thin = thinned(len(y), MOST_DOTS)
        panel.dots(np.clip(model.scaler_.y_back(mean)[:, 0], *ends)[thin], y[thin], 1.8, "dot own")
    return panel.body


def _ties(model: Searched) -> list[Tie]:
    best, members, found = model.trace_.best, model.members_, []
    near = (best, *model.trace_.near_ties())
    for k, tie in enumerate(near):
        weight = f"{100 * sum(m.weight for m in members if m.place == k):.0f} %" if members else ""
        behind = "chosen" if k == 0 else _number(tie.score - best.score, sign=True)
        found.append(Tie(tie.structure(), behind, weight))
    return found if len(near) > 1 else []
