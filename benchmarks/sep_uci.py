"""Table 1 of the SEP paper: a sparse GP and deep GPs with one and two hidden units by expectation propagation.

FATHOM_SETS, FATHOM_SPLITS and FATHOM_SCORES as in _uci.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _uci
import numpy as np

from fathom import DeepGPRegressor, Training, metrics
from fathom.data import datasets

SETS = ("boston", "concrete", "energy-1", "energy-2", "kin8nm", "naval-1", "naval-2", "power", "wine_red", "wine_white")
MODELS = {"GP-50": (), "DGP-1-50": (1,), "DGP-2-50": (2,)}
# Table 1: mean log likelihood and RMSE of the three models
PAPER = {
    "boston": ((-2.26, 3.09), (-2.30, 2.85), (-2.12, 2.47)),
    "concrete": ((-2.97, 5.24), (-3.07, 5.91), (-2.70, 5.21)),
    "energy-1": ((-0.26, 0.50), (-0.39, 0.77), (-0.20, 0.48)),
    "energy-2": ((-1.05, 1.60), (-1.14, 1.78), (-0.76, 1.37)),
    "kin8nm": ((2.02, 0.04), (1.71, 0.07), (2.48, 0.02)),
    "naval-1": ((2.64, 0.02), (5.14, 0.00), (5.02, 0.00)),
    "naval-2": ((3.52, 0.01), (4.67, 0.00), (5.24, 0.00)),
    "power": ((-2.53, 3.19), (-2.61, 3.35), (-2.38, 2.95)),
    "wine_red": ((-0.06, 0.48), (-0.10, 0.62), (0.29, 0.54)),
    "wine_white": ((0.01, 0.37), (-0.17, 0.49), (0.66, 0.34)),
}


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[:1] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", ["0"] if quick else [str(i) for i in range(20)])]
    models = ["DGP-1-50"] if quick else _uci.chosen("FATHOM_MODELS", tuple(MODELS))
    known, rows = _uci.remembered(), []
    for name in sets:
        for model in models:
            found = []
            for split in splits:
                if (f"{name} {model}", split) not in known:
                    say(f"{name}, {model}, split {split}")
                    known[f"{name} {model}", split] = score(name, model, split, quick)
                    _uci.remember(f"{name} {model}", split, known[f"{name} {model}", split])
                found.append(known[f"{name} {model}", split])
            rows.append(row(name, model, np.array(found)))
    notes = [f"{len(splits)} splits of the catalogue, in units of the data; ± is one standard error", *better(rows)]
    return {"title": "Stochastic EP (SEP paper, table 1)", "rows": rows, "notes": notes}


def score(name: str, model: str, split: int, quick: bool) -> list[float]:
    """Mean test log likelihood and RMSE."""
    base, _, target = name.partition("-")
    data = datasets.load(base)
    y = data.y if data.y.ndim == 1 else data.y[:, int(target or 1) - 1]
    train, test = _uci.split_of(base, split, data.n_rows)
    training = Training(n_steps=10 if quick else None)
    estimator = DeepGPRegressor(MODELS[model], "sep", n_inducing=50, training=training, random_state=0)
    fitted = estimator.fit(data.X[train], y[train])
    predictive = fitted.predict_dist(data.X[test])
    return [-metrics.nll(predictive, y[test]), metrics.rmse(predictive, y[test])]


def row(name: str, model: str, values: np.ndarray) -> dict[str, Any]:
    n = len(values)
    error = values.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(2, np.nan)
    mean = values.mean(0)
    paper = PAPER[name][list(MODELS).index(model)]
    return {
        "data": name,
        "model": model,
        "log likelihood": mean[0],
        "±": error[0],
        "paper": paper[0],
        "RMSE": mean[1],
        "± RMSE": error[1],
        "paper RMSE": paper[1],
    }


def better(rows: list[dict[str, Any]]) -> list[str]:
    """On how many sets two hidden units are at least as good as none, within one standard error."""
    by = {(r["data"], r["model"]): r for r in rows}
    both = [d for d in {r["data"] for r in rows} if (d, "DGP-2-50") in by and (d, "GP-50") in by]
    pairs = [(by[d, "GP-50"], by[d, "DGP-2-50"]) for d in both]
    if not pairs:
        return []
    good = sum(deep["log likelihood"] + np.nan_to_num(deep["±"]) >= gp["log likelihood"] for gp, deep in pairs)
    return [f"DGP-2-50 at least as good as GP-50, within one standard error, on {good} of {len(pairs)} sets"]


def plot(result: dict[str, Any], path: Path) -> None:
    renamed = [r | {"NLL": -r["log likelihood"], "± NLL": r["±"]} for r in result["rows"]]
    _uci.dots(result | {"rows": renamed}, path, ("NLL", "RMSE"))
