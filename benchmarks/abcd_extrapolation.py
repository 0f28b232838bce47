"""Figure 3.6 of the Duvenaud thesis: extrapolation error of the search, its baselines and other forecasters."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fathom import KernelSearch, metrics
from fathom.data import datasets
from fathom.data.dataset import Dataset
from fathom.estimators.search import KernelSearch as Search
from fathom.search.grammar import baseline

SERIES = ("ts_airline", "ts_solar", "ts_mauna", "ts_wheat", "ts_radio", "ts_unemployment", "ts_internet")
# Other forecasters: RMSE in training standard deviations as given with the brief of this benchmark, for orientation;
# measured instead where FATHOM_PEERS names the Python of an environment that has them (see peers/forecasts.py)
OTHERS = {
    "AutoARIMA": (0.17, 0.91, 0.11, 0.72, 0.39, 0.33, None),
    "AutoETS": (0.39, 1.18, 0.07, 0.81, 0.35, 0.85, None),
    "Prophet": (0.36, 1.36, 0.09, 0.93, 1.25, 0.69, 0.74),
}
EQUALLY_SPACED = ("AutoARIMA", "AutoETS")  # know no times, only an order
PEERS = "FATHOM_PEERS"
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
        data, others = datasets.load(series), other_forecasters(series)
        for row in rows:
            row[series] = others.get(row["model"])
        for row in rows:
            if row["model"] in models:
                say(f"{series}, {row['model']}")
                row[series], covered = forecast(models[row["model"]](), data, *datasets.splits(series)[0], say)
                inside[row["model"]] += covered
    for row in rows:
        known = [row[s] for s in chosen if row[s] is not None]
        row["median"] = float(np.median(known)) if known else None
        row["cover 90 %"] = float(np.mean(inside[row["model"]])) if row["model"] in models else None
    measured = "measured in this run" if PEERS in os.environ else "given for orientation, not measured in this run"
    notes = [
        "RMSE in training standard deviations on the stored 90/10 splits; coverage over the pooled test points",
        f"AutoARIMA, AutoETS and Prophet: {measured}",
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


def other_forecasters(series: str) -> dict[str, float]:
    """RMSE in training standard deviations of the other forecasters that can forecast this series."""
    if PEERS not in os.environ:
        given = {name: figures[SERIES.index(series)] for name, figures in OTHERS.items() if series in SERIES}
        return {name: figure for name, figure in given.items() if figure is not None}
    data, (train, test) = datasets.load(series), datasets.splits(series)[0]
    years = data.X[:, 0]
    step = float(np.median(np.diff(np.unique(years))))
    later = max(0, 1700 - int(years.min()))  # pandas begins in 1677
    days = np.round((years + later - 1970) * 365.2425 * 86400).astype("datetime64[s]")
    task = {"y": data.y[train].tolist(), "horizon": len(test), "season": max(1, round(1 / step))}
    task["dates"] = [str(day) for day in days[np.concatenate([train, test])]]
    script = Path(__file__).parent / "peers" / "forecasts.py"
    command = [os.environ[PEERS], str(script)]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=True)
    regular = np.mean(np.abs(np.diff(years) / step - 1) < 0.2) > 0.95  # a missing month is forgiven
    return {
        name: float(np.sqrt(np.mean((data.y[test] - forecast) ** 2)) / data.y[train].std())
        for name, forecast in json.loads(done.stdout).items()
        if regular or name not in EQUALLY_SPACED
    }
