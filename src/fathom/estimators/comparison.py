"""Models by name, and their scores on the same folds of the same data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self

import numpy as np

from fathom import metrics
from fathom.data.dataset import Dataset, k_folds
from fathom.data.frames import inputs
from fathom.data.table import DataError, did_you_mean
from fathom.kernels.syntax import parse
from fathom.predictive import Predictive

SCORES: dict[str, Callable[[Predictive, Any], float]] = {
    "NLL": metrics.nll,
    "RMSE": metrics.rmse,
    "CRPS": metrics.crps,
    "coverage": metrics.coverage,
}
LEVEL = 0.9  # of the intervals that `coverage` counts


class Model(Protocol):
    """What can be compared."""

    def fit(self, X: Any, y: Any) -> Any: ...

    def predict_dist(self, X: Any) -> Predictive: ...


class Mean:
    """The baseline that knows only the mean and variance of the training targets."""

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the two moments of each target."""
        self.mean_, self.var_ = np.mean(y, axis=0), np.var(y, axis=0)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The same Gaussian for every row."""
        shape = (len(X), *np.shape(self.mean_))
        return Predictive.gaussian(np.broadcast_to(self.mean_, shape), np.broadcast_to(self.var_, shape))


SPARSE = ("fitc", "vfe", "svgp", "odsvgp", "ppgpr")
DEEP = ("dsvi", "gamma", "dspp", "sampling", "sep")


def gp(kernel: str | None = None, seed: int = 0, restarts: int = 5, **_: Any) -> Any:
    """The exact GP, with a kernel of one's choice."""
    from fathom.estimators.exact import GPRegressor

    return GPRegressor(kernel=kernel or "SE", n_restarts=restarts, random_state=seed)


def by_gradient(
    name: str,
    kernel: str | None = None,
    seed: int = 0,
    inducing: int | None = None,
    steps: int | None = None,
    widths: tuple[int, ...] | str | None = None,
    checkpoint: Any = None,
    **_: Any,
) -> Any:
    """A sparse or deep GP by the name of its inference."""
    settings: dict[str, Any] = {"n_inducing": inducing, "n_steps": steps, "kernel": kernel or None}
    settings |= {"random_state": seed, "checkpoint": None if checkpoint is None else str(checkpoint)}
    if name in DEEP:
        from fathom.estimators.deep import DeepGPRegressor

        return DeepGPRegressor((3,) if widths is None else widths, name, **settings)
    from fathom.estimators.sparse import SparseGPRegressor

    if widths:
        raise ValueError(f"--widths is for deep models ({', '.join(DEEP)}): {name} has no hidden layers")
    return SparseGPRegressor(name, **settings | {"n_inducing": inducing or 100})


def searched(detail: str, seed: int) -> Any:
    """The structure search, at its defaults."""
    from fathom.estimators.search import KernelSearch

    return KernelSearch(random_state=seed)


def _of(name: str) -> Callable[[str, int], Model]:
    return lambda kernel, seed: by_gradient(name, kernel, seed)


# A model on the command line is NAME or NAME:DETAIL; each row makes it from (detail, seed).
MODELS: dict[str, Callable[[str, int], Model]] = {
    "gp": gp,
    "mean": lambda detail, seed: Mean(),
    "linear": lambda detail, seed: gp("Lin", seed),
    "search": searched,
    **{name: _of(name) for name in (*SPARSE, *DEEP)},
}
# what `fathom fit` makes and a model file can hold, from its options
SAVED: dict[str, Callable[..., Any]] = {"gp": gp, **{name: partial(by_gradient, name) for name in (*SPARSE, *DEEP)}}
# the models that take a detail, and what must read it
DETAILED: dict[str, Callable[[str], Any]] = dict.fromkeys(SAVED, parse)


def find(spec: str) -> tuple[str, str]:
    """The name and detail of a model, as in "gp:SE + Lin"; both are checked."""
    name, colon, detail = (part.strip() for part in spec.partition(":"))
    if name not in MODELS:
        raise DataError(f"there is no model {name!r}{did_you_mean(name, MODELS)}; there are {', '.join(MODELS)}")
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
        raise DataError(f"--models is empty: name some of {', '.join(MODELS)}, separated by commas")
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
                row.scores.append(_score(MODELS[name](detail, seed), dataset.rows(train), dataset.rows(test)))
            except Exception as problem:  # one model's trouble must not cost the others their scores
                row.failures.append(f"{' '.join(str(problem).split())} ({type(problem).__name__})")
    return rows


def _score(model: Model, train: Dataset, test: Dataset) -> dict[str, float]:
    start = time.perf_counter()
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
