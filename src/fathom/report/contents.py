"""Everything a report says of one model and its data, gathered once for all formats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import PurePath

import numpy as np

import fathom
from fathom.data.dataset import Dataset
from fathom.data.forecast import Forecast
from fathom.report import consistency, prose
from fathom.report.facts.anomaly import Anomalies
from fathom.report.facts.fold import Fold
from fathom.report.facts.part import Component
from fathom.report.facts.whole import Agreement, Check, Curves, Facts
from fathom.report.measure import checks as criticism
from fathom.report.measure import future
from fathom.report.measure.anomalies import anomalies
from fathom.report.measure.folds import folds
from fathom.report.measure.forecast_table import forecast_table, n_steps
from fathom.report.measure.gather import called, gather
from fathom.report.model import Fitted, was_searched
from fathom.report.prose import Words
from fathom.report.words import sure
from fathom.report.words.known import Known, known
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
    known: Known | None  # what comes next, where other inputs than the time matter
    origin: Origin
    written: date
    words: Words

    @property
    def title(self) -> str:
        """The target and the span of the data."""
        return self.words.title

    @property
    def headline(self) -> str:
        """One sentence: what moves the target, and where it goes."""
        return self.words.headline

    @property
    def summary(self) -> list[str]:
        """A few sentences on the whole."""
        return self.words.summary

    @property
    def remarks(self) -> list[str]:
        """What to know before relying on it, each failed check among it."""
        return self.words.remarks

    @property
    def notes(self) -> list[str]:
        """What was done to the data on the way in, and what the page calls them."""
        return [*self.dataset.notes, *_renamed(self.dataset)]

    @property
    def notices(self) -> list[str]:
        """What has to be known at first sight: columns that are no inputs, and a search that had too little time."""
        cut = sure.cut_short(self.model.trace_) if was_searched(self.model) else []
        return [*self.dataset.choice, *cut]

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
        return self.words.parts

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
        return self.words.sure


def make(model: Fitted, dataset: Dataset, origin: Origin | None = None, horizon: float | None = None) -> Report:
    """Measure and check a model; `horizon` is the value of the input to which a series is continued.

    What would contradict another sentence, or the pictures, is left out (`consistency`).
    """
    measured = gather(model, dataset, horizon)
    _same_data(model, dataset)
    ahead = future.moments(measured)
    soon = future.soon(measured, ahead)
    facts, checks = future.averaged(measured, model), criticism.check(model, dataset)
    agreement = future.compare(model, measured, ahead)
    return Report(
        model=model,
        dataset=dataset,
        facts=facts,
        checks=checks,
        curves=criticism.curves(model, dataset),
        agreement=agreement,
        forecast=forecast_table(model, dataset, facts, MOST_STEPS),
        n_steps=n_steps(facts),
        anomalies=anomalies(model, dataset),
        folds=folds(model, facts),
        ahead=ahead,
        soon=soon,
        futures=future.draws(model, soon),
        known=known(model, dataset),
        origin=origin or Origin(),
        written=date.today(),
        words=consistency.settled(Words.of(facts, checks, agreement), facts, checks),
    )


def _renamed(dataset: Dataset) -> list[str]:
    """A note when the page goes by the name of the file, for the target has none of its own."""
    column = dataset.target[0]
    if called(dataset) == column:
        return []
    file = PurePath(dataset.source).name
    return [f"The column is called {column!r}, so this page is named after {file}: a name in the header changes that."]


def _same_data(model: Fitted, dataset: Dataset) -> None:
    """Refuse to describe a model by other data than its own: every share and every check would be wrong."""
    s, p = model.scaler_, model.posterior_
    pairs = ((s.x(dataset.X), p.X), (s.y(np.reshape(dataset.y, (-1, 1))), p.Y))
    if any(a.shape != b.shape or not np.allclose(a, b, atol=1e-6, equal_nan=True) for a, b in pairs):
        raise ValueError(f"{dataset.source or 'the data set'} is not what the model was fitted to: give its own data")
