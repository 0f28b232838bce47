"""Figure 3.6 of the Duvenaud thesis: extrapolation error of the search, its baselines and other forecasters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fathom import KernelSearch, datasets, metrics
from fathom.data import Dataset
from fathom.kernelsearch import KernelSearch as Search
from fathom.search.grammar import baseline

SERIES = ("ts_airline", "ts_solar", "ts_mauna", "ts_wheat", "ts_radio", "ts_unemployment", "ts_internet")
# For orientation: RMSE in training standard deviations as given with the brief of this benchmark, not measured by it
OTHERS = {
    "AutoARIMA": (0.17, 0.91, 0.11, 0.72, 0.39, 0.33, None),
    "AutoETS": (0.39, 1.18, 0.07, 0.81, 0.35, 0.85, None),
    "Prophet": (0.36, 1.36, 0.09, 0.93, 1.25, 0.69, 0.74),
}
BASELINES = ("linear", "SE", "Bayesian MKL", "trend-cyclical-irregular", "spectral mixture", "changepoint")


class Baseline(Search):
    """A restricted language under the same search."""

    def __init__(self, name: str):
        super().__init__(random_state=0)
        self.name = name

    def _search_settings(self, n_inputs: int) -> Any:
        from dataclasses import replace

        return replace(super()._search_settings(n_inputs), grammar=baseline(self.name, n_inputs))


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """FATHOM_SERIES=ts_airline,ts_solar runs a part; results can be put together from several runs."""
    chosen = os.environ.get("FATHOM_SERIES", "ts_airline" if quick else ",".join(SERIES)).split(",")
    models: dict[str, Callable[[], Any]] = {
        "ABCD interpretability": lambda: KernelSearch(depth=3 if quick else 10, random_state=0),
        "ABCD accuracy": lambda: KernelSearch(depth=3 if quick else 10, variant="accuracy", random_state=0),
    }
    models |= {name: (lambda name=name: Baseline(name)) for name in (() if quick else BASELINES)}
    rows = [{"model": name} for name in (*models, *OTHERS)]
    inside: dict[str, list[float]] = {name: [] for name in models}
    for series in chosen:
        data = datasets.load(series)
        for row in rows:
            row[series] = None
        for row in rows:
            if row["model"] in models:
                say(f"{series}, {row['model']}")
                row[series], covered = forecast(models[row["model"]](), data, *datasets.splits(series)[0], say)
                inside[row["model"]] += covered
            elif series in SERIES:
                row[series] = OTHERS[row["model"]][SERIES.index(series)]
    for row in rows:
        known = [row[s] for s in chosen if row[s] is not None]
        row["median"] = float(np.median(known)) if known else None
        row["cover 90 %"] = float(np.mean(inside[row["model"]])) if row["model"] in models else None
    notes = [
        "RMSE in training standard deviations on the stored 90/10 splits; coverage over the pooled test points",
        "AutoARIMA, AutoETS and Prophet: figures given for orientation, not measured in this run",
    ]
    return {"title": "Extrapolation (thesis figure 3.6)", "rows": rows, "notes": notes}


def forecast(
    model: Any, data: Dataset, train: np.ndarray, test: np.ndarray, say: Callable[[str], None]
) -> tuple[float, list[float]]:
    """Standardised RMSE, and for each test point whether its 90 % interval held it."""
    start = time.perf_counter()
    model.fit(data.X[train], data.y[train])
    predictive = model.predict_dist(data.X[test])
    low, high = predictive.interval(0.9)
    covered = [float(hit) for hit in (low <= data.y[test]) & (data.y[test] <= high)]
    say(f"{model.trace_.best.structure()} in {time.perf_counter() - start:.0f} s")
    return metrics.rmse(predictive, data.y[test]) / float(data.y[train].std()), covered
