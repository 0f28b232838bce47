"""Everything a report says of one model and its data, gathered once for all formats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

import fathom
from fathom.data.dataset import Dataset
from fathom.report import prose
from fathom.report.facts.part import Component
from fathom.report.facts.whole import Agreement, Check, Curves, Facts
from fathom.report.measure import checks as criticism
from fathom.report.measure import future
from fathom.report.measure.gather import gather
from fathom.report.model import Fitted, was_searched
from fathom.report.words import sure
from fathom.report.words.known import Known, known
from fathom.report.words.verdicts import verdict


@dataclass(frozen=True)
class Origin:
    """How the page came about, for its fine print: the command, the time it took, and the seed."""

    command: str = ""
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
    ahead: np.ndarray  # moments of the forecast, for a series
    futures: np.ndarray  # (draws, moments)
    known: Known | None  # what comes next, where other inputs than the time matter
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
    def notices(self) -> list[str]:
        """What has to be known at first sight: columns that are no inputs, and a search that had too little time."""
        cut = sure.cut_short(self.model.trace_) if was_searched(self.model) else []
        return [*self.dataset.choice, *cut]

    @property
    def version(self) -> str:
        """The version of Fathom that says it."""
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
    return Report(
        model=model,
        dataset=dataset,
        facts=future.averaged(facts, model),
        checks=criticism.check(model, dataset),
        curves=criticism.curves(model, dataset),
        agreement=future.compare(model, facts, ahead),
        ahead=ahead,
        futures=future.draws(model, ahead),
        known=known(model, dataset),
        origin=origin or Origin(),
        written=date.today(),
    )


def _same_data(model: Fitted, dataset: Dataset) -> None:
    """Refuse to describe a model by other data than its own: every share and every check would be wrong."""
    s, p = model.scaler_, model.posterior_
    pairs = ((s.x(dataset.X), p.X), (s.y(np.reshape(dataset.y, (-1, 1))), p.Y))
    if any(a.shape != b.shape or not np.allclose(a, b, atol=1e-6, equal_nan=True) for a, b in pairs):
        raise ValueError(f"{dataset.source or 'the data set'} is not what the model was fitted to: give its own data")
