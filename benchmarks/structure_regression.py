"""Tables 6.4 and 6.5 of the Duvenaud thesis: MSE and NLL on standardised targets, row "Structure Search"."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fathom import KernelSearch, metrics
from fathom.data import datasets
from fathom.data.dataset import train_test_split

PAPER = {  # Structure Search: (MSE, NLL)
    "bach_synth": (0.044, -0.141),
    "concrete500": (0.087, 0.065),
    "pumadyn8nh_512": (0.315, 0.840),
    "servo": (0.102, 0.265),
    "housing_addgp": (0.082, 0.059),
}
BASE = ("SE", "C", "WN")  # the thesis: SE and RQ


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """FATHOM_SETS=servo,bach_synth and FATHOM_SPLITS=0,1 run a part; `scores` puts several runs together."""
    names = os.environ.get("FATHOM_SETS", "servo" if quick else ",".join(PAPER)).split(",")
    seeds = os.environ.get("FATHOM_SPLITS", "0,1" if quick else "0,1,2,3,4,5,6,7,8,9").split(",")
    scores: dict[str, list[list[float]]] = {name: [] for name in names}
    for seed in map(int, seeds):
        for name in names:
            model = KernelSearch(depth=2 if quick else 10, base=BASE, random_state=seed, n_jobs=1 if quick else None)
            start = time.perf_counter()
            scores[name].append(score(model, name, seed))
            found = model.trace_.best.structure()
            say(f"{name}, split {seed}: {found} in {time.perf_counter() - start:.0f} s")
    notes = [
        f"Random 90/10 splits with seeds {', '.join(seeds)}, not the thesis's; ± is one standard error of our mean",
        "worse: where our mean is above the thesis's by more than two standard errors",
        f"Base kernels {', '.join(BASE)} on single inputs, depth 10, BIC; the thesis: SE and RQ, depth 10",
    ]
    rows = [row(name, np.array(scores[name])) for name in names]
    return {"title": "Structure search (thesis tables 6.4 and 6.5)", "rows": rows, "notes": notes, "scores": scores}


def score(model: Any, name: str, seed: int) -> list[float]:
    """MSE and NLL of a model on one split, targets standardised over all rows."""
    data = datasets.load(name)
    y = (data.y - data.y.mean()) / data.y.std()
    train, test = train_test_split(len(y), 0.1, seed)
    predictive = model.fit(data.X[train], y[train]).predict_dist(data.X[test])
    return [metrics.rmse(predictive, y[test]) ** 2, metrics.nll(predictive, y[test])]


def row(name: str, scores: np.ndarray) -> dict[str, Any]:
    """Means of the splits beside the thesis's figures."""
    mean, error = scores.mean(0), np.full(2, np.nan)
    if len(scores) > 1:
        error = scores.std(0, ddof=1) / np.sqrt(len(scores))
    worse = [what for what, m, e, t in zip(("MSE", "NLL"), mean, error, PAPER[name], strict=True) if m > t + 2 * e]
    return {
        "data": name,
        "MSE": mean[0],
        "± MSE": error[0],
        "thesis MSE": PAPER[name][0],
        "NLL": mean[1],
        "± NLL": error[1],
        "thesis NLL": PAPER[name][1],
        "worse": ", ".join(worse) or "no",
    }
