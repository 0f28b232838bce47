"""Everything a report says of one model and its data, gathered once for all formats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

import fathom
from fathom.data.dataset import Dataset
from fathom.predictive import Predictive
from fathom.report import prose
from fathom.report.facts import Component, Facts, gather
from fathom.report.measure import checks as criticism
from fathom.report.measure.checks import Check
from fathom.report.words import agreement as agreeing
from fathom.report.words.text import capital, counted, number, percent, quantity
from fathom.report.words.verdicts import LEVEL, verdict

FUTURES, MOST_STEPS = 3, 240


@dataclass(frozen=True)
class Origin:
    """Where the page comes from, for its fine print."""

    command: str = ""
    seconds: float | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """The facts, the checks, and the words and curves that belong to them."""

    model: Any
    dataset: Dataset
    facts: Facts
    checks: list[Check]
    curves: criticism.Curves
    agreement: agreeing.Agreement | None
    ahead: np.ndarray  # moments of the forecast, for a series
    futures: np.ndarray  # (draws, moments)
    origin: Origin
    written: date

    @property
    def title(self) -> str:
        """The target and the span of the data."""
        return prose.title(self.facts)

    @property
    def headline(self) -> str:
        """One sentence: what moves the target, and where it goes."""
        return prose.headline(self.facts)

    @property
    def version(self) -> str:
        """Of the software."""
        return fathom.__version__

    def texts(self) -> list[prose.Texts]:
        """The words for every component, in order."""
        return [prose.describe(c) for c in self.facts.components]

    def whole(self) -> list[Check]:
        """The checks of the whole model."""
        return [c for c in self.checks if c.subject == "whole"]

    def of_part(self, component: Component) -> list[Check]:
        """The checks of one component."""
        return [c for c in self.checks if c.subject == component.part]

    def say(self, check: Check) -> str:
        """The verdict of a check in the reader's units."""
        return verdict(check, self.dataset.columns)

    def sure(self) -> list[tuple[str, str]]:
        """How sure one can be, in three lines: (what about, sentence)."""
        return [
            ("Explained", _explained(self.facts)),
            ("Checked", self._checked()),
            ("Alternatives", agreeing.sentence(self.agreement, self.facts)),
        ]

    def _checked(self) -> str:
        whole = self.whole()
        failed = criticism.failed(whole, LEVEL)
        if not failed:
            return f"All {counted(len(whole), 'check')} of the whole passed: what is left over looks like noise."
        short = counted(len(failed), "check").removesuffix(" checks").removesuffix(" check")
        return f"{capital(short)} of {counted(len(whole), 'check')} failed. {self.say(failed[0])}"


def make(model: Any, dataset: Dataset, origin: Origin | None = None, horizon: float | None = None) -> Report:
    """Gather everything. `horizon` is the value of the input to which a series is continued."""
    facts = gather(model, dataset, horizon)
    _same_data(model, dataset)
    ahead = _ahead(facts) if facts.setting.series else np.zeros(0)
    members = agreeing.members_of(model) if facts.setting.series else [(model.posterior_, 1.0)]
    agreement = agreeing.compare(model, facts, members, ahead)
    if agreement is not None and not facts.setting.series:
        agreement = agreeing.Agreement(len(model.trace_.near_ties()))
    return Report(
        model=model,
        dataset=dataset,
        facts=agreeing.averaged(facts, model, lambda X: predict(model, X)),
        checks=criticism.check(model, dataset),
        curves=criticism.curves(model, dataset),
        agreement=agreement,
        ahead=ahead,
        futures=_futures(model, members, ahead),
        origin=origin or Origin(),
        written=date.today(),
    )


def _same_data(model: Any, dataset: Dataset) -> None:
    """Refuse to describe a model by other data than its own: every share and every check would be wrong."""
    s, p = model.scaler_, model.posterior_
    pairs = ((s.x(dataset.X), p.X), (s.y(np.reshape(dataset.y, (-1, 1))), p.Y))
    if any(a.shape != b.shape or not np.allclose(a, b, atol=1e-6, equal_nan=True) for a, b in pairs):
        raise ValueError(f"{dataset.source or 'the data set'} is not what the model was fitted to: give its own data")


def predict(model: Any, X: np.ndarray) -> Predictive:
    """What the model expects to observe at the rows of X, under the names it was fitted with."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return model.predict_dist(X)
    import pandas as pd

    return model.predict_dist(pd.DataFrame(X, columns=list(names)))


def _ahead(facts: Facts) -> np.ndarray:
    """The usual steps of the series up to the horizon or, without a time, some places beyond the data."""
    axis, horizon = facts.setting.axes[0], facts.components[0].horizon
    if horizon is None or horizon <= axis.high:
        return np.zeros(0)
    if axis.rule is not None:
        step = float(axis.rule.future(axis.high, 1)[0]) - axis.high
        count = int((horizon - axis.high) / step + 1e-6) if step > 0 else 0
        if 4 <= count <= MOST_STEPS:
            return axis.rule.future(axis.high, count)
    return np.linspace(axis.high, horizon, 61)[1:]


def _futures(model: Any, members: list[tuple[Any, float]], ahead: np.ndarray) -> np.ndarray:
    """Draws of what may be observed, each from one of the models within reach, as often as it weighs."""
    if not len(ahead):
        return np.zeros((0, 0))
    rng = np.random.default_rng(0)
    weights = np.array([weight for _, weight in members])
    chosen = rng.choice(len(members), FUTURES, p=weights / weights.sum())
    X, s = model.scaler_.x(ahead[:, None]), model.scaler_
    draws = [members[k][0].sample(rng, X, 1, True)[0] for k in chosen]
    return np.array(draws) * float(s.y_sd[0]) + float(s.y_mean[0])


def _explained(facts: Facts) -> str:
    patterns = [c for c in facts.components if c.head != "noise"]
    unit = facts.setting.unit
    if not patterns:
        return "No pattern was found: the data are noise around their level."
    on = "stretches" if facts.setting.time is not None else "rows"
    rest = f"{on} held out of the data are predicted with a mean error of {quantity(patterns[-1].score.mae, unit)}"
    base = f"against {number(facts.baseline_mae)} for the level alone"
    return f"The patterns explain {percent(facts.explained)} of the variance; {rest}, {base}."
