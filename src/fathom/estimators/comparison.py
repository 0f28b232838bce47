"""Models by name, and their scores on the same folds of the same data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from fathom import metrics, models
from fathom.base.files import Facts
from fathom.data.dataset import Dataset, inputs, k_folds
from fathom.data.table import DataError, did_you_mean
from fathom.estimators.base import Estimator, estimator
from fathom.kernels.syntax import parse
from fathom.predictive import Predictive

if TYPE_CHECKING:
    from fathom.base.arrays import Rows

SCORES: dict[str, Callable[[Predictive, np.ndarray], float]] = {
    "NLL": metrics.nll,
    "RMSE": metrics.rmse,
    "CRPS": metrics.crps,
    "coverage": metrics.coverage,
}
LEVEL = 0.9  # of the intervals that `coverage` counts


class Model(Protocol):
    """What can be compared."""

    def fit(self, X: Rows, y: Rows) -> object: ...

    def predict_dist(self, X: Rows) -> Predictive: ...


class Mean:
    """The baseline that knows only the mean and variance of the training targets."""

    def fit(self, X: Rows, y: Rows) -> Self:
        """Remember the two moments of each target."""
        y = np.asarray(y)
        self.mean_, self.var_ = np.mean(y, axis=0), np.var(y, axis=0)
        return self

    def predict_dist(self, X: Rows) -> Predictive:
        """The same Gaussian for every row."""
        shape = (len(np.asarray(X)), *np.shape(self.mean_))
        return Predictive.gaussian(np.broadcast_to(self.mean_, shape), np.broadcast_to(self.var_, shape))


def gp(kernel: str | None = None, seed: int = 0, restarts: int = 5) -> Estimator:
    """The exact GP, with a kernel of one's choice."""
    from fathom.estimators.exact import GPRegressor

    return GPRegressor(kernel=kernel or "SE", n_restarts=restarts, random_state=seed)


def made(
    name: str,
    kernel: str | None = None,
    seed: int = 0,
    inducing: int | None = None,
    widths: tuple[int, ...] | str | None = None,
    options: Facts | None = None,
    training: Facts | None = None,
) -> Estimator:
    """A model of the table by its name; what is None is the method's own choice."""
    if name == "gp":
        return gp(kernel, seed)
    if name == "search":
        return estimator("KernelSearch")(random_state=seed)
    if name == "online":
        from fathom.estimators.online import OnlineGPRegressor

        return OnlineGPRegressor(kernel or "SE", random_state=seed)
    from fathom.inference.base import Training, method

    row = models.MODELS[name]
    settings: Facts = {"kernel": kernel or None, "random_state": seed}
    settings |= {"inference": method(name)(**options)} if options else {"inference": name}
    settings |= {"n_inducing": inducing} if inducing is not None else {}
    settings |= {"training": Training(**training)} if training else {}
    if row.estimator == "DeepGPRegressor":
        settings |= {"widths": widths} if widths is not None else {}
    elif widths:
        deep = ", ".join(models.methods("DeepGPRegressor"))
        raise ValueError(f"--widths is for deep models ({deep}): {name} has none")
    return estimator(row.estimator)(**settings)


def _maker(name: str) -> Callable[[str, int], Model]:
    return lambda kernel, seed: made(name, kernel, seed)


# A model on the command line is NAME or NAME:DETAIL; each row makes it from (detail, seed).
CONTENDERS: dict[str, Callable[[str, int], Model]] = {
    "mean": lambda detail, seed: Mean(),
    "linear": lambda detail, seed: gp("Lin", seed),
    **{name: _maker(name) for name in models.MODELS},
}
# the models that take a detail, and what must read it
DETAILED: dict[str, Callable[[str], object]] = {name: parse for name in models.MODELS if name != "search"}


def find(spec: str) -> tuple[str, str]:
    """The name and detail of a model, as in "gp:SE + Lin"; both are checked."""
    name, colon, detail = (part.strip() for part in spec.partition(":"))
    if name not in CONTENDERS:
        raise DataError(
            f"there is no model {name!r}{did_you_mean(name, CONTENDERS)}; there are {', '.join(CONTENDERS)}"
        )
    if colon and name not in DETAILED:
        raise DataError(f"model {spec!r}: {name} takes nothing after it; only {', '.join(DETAILED)} do")
    if colon:
        DETAILED[name](detail)
    return name, detail


def split_models(text: str) -> list[str]:
    """The models of a comma-separated list; commas inside brackets belong to a kernel."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    specs = [spec.strip() for spec in found if spec.strip()]
    if not specs:
        raise DataError(f"--models is empty: name some of {', '.join(CONTENDERS)}, separated by commas")
    return list(dict.fromkeys(specs))


@dataclass
class Row:
    """The scores of one model, fold by fold, and why any fold is missing."""

    model: str
    scores: list[dict[str, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def footnote(self) -> str:
        """Why scores are missing, or nothing."""
        if not self.failures:
            return ""
        folds = len(self.scores) + len(self.failures)
        return f"{self.model} failed on {len(self.failures)} of {folds} folds: {self.failures[0]}"

    def averages(self) -> dict[str, float | None]:
        """Each score averaged over the folds that worked."""
        names = (*SCORES, "seconds")
        if not self.scores:
            return dict.fromkeys(names)
        return {name: float(np.mean([fold[name] for fold in self.scores])) for name in names}


def compare(
    dataset: Dataset,
    specs: Sequence[str],
    folds: int = 5,
    seed: int = 0,
    on_fold: Callable[[str, int], None] = lambda spec, fold: None,
) -> list[Row]:
    """Score every model on every fold; `on_fold` hears of each before it starts."""
    makers = [(spec, *find(spec)) for spec in specs]
    splits = k_folds(dataset.n_rows, folds, seed)
    rows = []
    for spec, name, detail in makers:
        rows.append(row := Row(spec))
        for k, (train, test) in enumerate(splits, start=1):
            on_fold(spec, k)
            try:
                row.scores.append(_score(CONTENDERS[name](detail, seed), dataset.rows(train), dataset.rows(test)))
            except Exception as problem:  # one model's trouble must not cost the others their scores
                row.failures.append(f"{' '.join(str(problem).split())} ({type(problem).__name__})")
    return rows


def _score(model: Model, train: Dataset, test: Dataset) -> dict[str, float]:
    start = time.perf_counter()
    if hasattr(model, "calendar"):
        model.calendar = train.calendar  # as `fathom search` does
    model.fit(inputs(train), train.y)
    predictive = model.predict_dist(inputs(test))
    seconds = time.perf_counter() - start
    return {name: score(predictive, test.y) for name, score in SCORES.items()} | {"seconds": seconds}


def best_rows(averages: Sequence[dict[str, float | None]]) -> dict[str, int]:
    """For every score, which row has the best: the lowest, or for coverage the nearest to its level."""
    found = {}
    for name in SCORES:
        values = np.array([np.inf if row[name] is None else row[name] for row in averages], dtype=float)
        distance = np.abs(values - LEVEL) if name == "coverage" else values
        if np.isfinite(distance.min()):
            found[name] = int(np.argmin(distance))
    return found
