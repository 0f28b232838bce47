"""Everything a report says of one model and its data, gathered once for all formats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

import fathom
from fathom.data.dataset import Dataset
from fathom.data.forecast import Forecast
from fathom.report import prose
from fathom.report.facts.anomaly import Anomalies
from fathom.report.facts.fold import Fold
from fathom.report.facts.part import Component
from fathom.report.facts.whole import Agreement, Check, Curves, Facts
from fathom.report.measure import checks as criticism
from fathom.report.measure import future
from fathom.report.measure.anomalies import anomalies
from fathom.report.measure.folds import folds
from fathom.report.measure.forecast_table import forecast_table, n_steps
from fathom.report.measure.gather import gather
from fathom.report.model import Fitted
from fathom.report.words import sure
from fathom.report.words.verdicts import verdict

MOST_STEPS = 1000  # of the forecast that a page holds


@dataclass(frozen=True)
class Origin:
    """How the page came about, for its fine print: the command, its like in Python, the time it took, and the seed."""

    command: str = ""
    python: str = ""
    seconds: float | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """Everything one page says, whatever its format: facts, checks, curves and words."""

    model: Fitted
    dataset: Dataset
    facts: Facts
    checks: list[Check]
    curves: Curves
    agreement: Agreement | None
    forecast: Forecast | None  # of the first steps ahead, for a series with a time
    n_steps: int  # up to the horizon
    anomalies: Anomalies
    folds: dict[str, Fold]  # the cycles within one period, by the key of their part
    ahead: np.ndarray  # moments of the forecast, for a series
    soon: np.ndarray  # moments of the futures
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
        """The version of Fathom that says it."""
        return fathom.__version__

    def forecast_whole(self) -> Forecast | None:
        """The forecast of every step up to the horizon."""
        few = self.forecast is None or len(self.forecast.rows) == self.n_steps
        return self.forecast if few else forecast_table(self.model, self.dataset, self.facts)

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
        """How sure one can be, as three pairs (topic, sentence)."""
        return [
            ("Explained", sure.explained(self.facts)),
            ("Checked", sure.checked(self.whole(), self.dataset.columns)),
            ("Alternatives", sure.alternatives(self.agreement, self.facts)),
        ]


def make(model: Fitted, dataset: Dataset, origin: Origin | None = None, horizon: float | None = None) -> Report:
    """Measure and check a model; `horizon` is the value of the input to which a series is continued."""
    facts = gather(model, dataset, horizon)
    _same_data(model, dataset)
    ahead = future.moments(facts)
    soon = future.soon(facts, ahead)
    return Report(
        model=model,
        dataset=dataset,
        facts=future.averaged(facts, model),
        checks=criticism.check(model, dataset),
        curves=criticism.curves(model, dataset),
        agreement=future.compare(model, facts, ahead),
        forecast=forecast_table(model, dataset, facts, MOST_STEPS),
        n_steps=n_steps(facts),
        anomalies=anomalies(model, dataset),
        folds=folds(model, facts),
        ahead=ahead,
        soon=soon,
        futures=future.draws(model, soon),
        origin=origin or Origin(),
        written=date.today(),
    )


def _same_data(model: Fitted, dataset: Dataset) -> None:
    """Refuse to describe a model by other data than its own: every share and every check would be wrong."""
    s, p = model.scaler_, model.posterior_
    pairs = ((s.x(dataset.X), p.X), (s.y(np.reshape(dataset.y, (-1, 1))), p.Y))
    if any(a.shape != b.shape or not np.allclose(a, b, atol=1e-6, equal_nan=True) for a, b in pairs):
        raise ValueError(f"{dataset.source or 'the data set'} is not what the model was fitted to: give its own data")
