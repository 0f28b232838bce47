"""Tables 1 and 2 of the deep sigma point paper: NLL, RMSE and CRPS of sparse and deep GPs on UCI regression sets.

FATHOM_SETS, FATHOM_SPLITS and FATHOM_MODELS run a part (`scores` puts several runs together); with FATHOM_PEERS (a
Python with GPyTorch, see peers/gpytorch_models.py) the same models of GPyTorch run for as many steps.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fathom import datasets, metrics
from fathom.compare import by_gradient
from fathom.data import Scaler
from fathom.predictive import Predictive

SETS = ("boston", "concrete", "energy", "kin8nm", "power", "wine_red", "protein", "pol", "bike", "kin40k")
MODELS = ("svgp", "odsvgp", "ppgpr", "dsvi", "gamma", "dspp")
THEIRS = ("svgp", "ppgpr", "dsvi", "dspp")  # also in GPyTorch
PEERS = "FATHOM_PEERS"


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = os.environ.get("FATHOM_SETS", "boston" if quick else ",".join(SETS)).split(",")
    splits = os.environ.get("FATHOM_SPLITS", "0" if quick else "0,1,2,3,4").split(",")
    models = os.environ.get("FATHOM_MODELS", "svgp,dspp" if quick else ",".join(MODELS)).split(",")
    scores: dict[str, list[list[float]]] = {}
    for name in sets:
        for split in map(int, splits):
            X, y, train, test = standardised(name, split)
            for model in models:
                start = time.perf_counter()
                n_steps = 40 if quick else None
                predictive, n_steps = ours(model, X[train], y[train], X[test], n_steps)
                add(scores, name, model, predictive, y[test])
                if PEERS in os.environ and model in THEIRS:
                    add(scores, name, f"{model} (GPyTorch)", theirs(model, X, y, train, test, n_steps), y[test])
                say(f"{name}, split {split}, {model}: {time.perf_counter() - start:.0f} s")
    rows = [row(*key.split(" ", 1), np.array(values)) for key, values in scores.items()]
    notes = [
        f"Splits {', '.join(splits)} of the catalogue, standard units; ± is one standard error over splits",
        "Mean rank of NLL and CRPS over the sets (1 is best): " + ranks(rows, models),
    ]
    return {"title": "Sparse and deep GPs (DSPP paper, tables 1 and 2)", "rows": rows, "notes": notes, "scores": scores}


def standardised(name: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    data = datasets.load(name)
    train, test = datasets.splits(name)[split]
    y = data.y if data.y.ndim == 1 else data.y[:, 0]
    scaler = Scaler.fit(data.X[train], y[train])
    return scaler.x(data.X), scaler.y(y[:, None])[:, 0], train, test


def ours(model: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, n_steps: int | None) -> tuple[Predictive, int]:
    fitted = by_gradient(model, seed=0, steps=n_steps).fit(X, y)
    return fitted.predict_dist(new), fitted._settings(len(X)).n_steps


def theirs(model: str, X: np.ndarray, y: np.ndarray, train: Any, test: Any, n_steps: int) -> Predictive:
    from fathom.deep.model import centres

    Z = centres(X[train], 100, np.random.default_rng(0))
    task = {"do": "fit", "model": model, "seed": 0, "n_steps": n_steps, "batch": 256, "Z": Z.tolist()}
    task |= {"x": X[train].tolist(), "y": y[train].tolist(), "x_new": X[test].tolist(), "y_new": y[test].tolist()}
    command = [os.environ[PEERS], str(Path(__file__).parent / "peers" / "gpytorch_models.py")]
    found = json.loads(
        subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=True).stdout
    )
    return Predictive(np.exp(found["logs"]), np.array(found["mean"]).T, np.array(found["var"]).T)


def add(scores: dict[str, Any], name: str, model: str, predictive: Predictive, y: np.ndarray) -> None:
    found = [metric(predictive, y) for metric in (metrics.nll, metrics.rmse, metrics.crps, metrics.coverage)]
    scores.setdefault(f"{name} {model}", []).append(found)


def row(name: str, model: str, values: np.ndarray) -> dict[str, Any]:
    """Means over splits with their standard errors."""
    mean, error = values.mean(0), np.full(4, np.nan)
    if len(values) > 1:
        error = values.std(0, ddof=1) / np.sqrt(len(values))
    found: dict[str, Any] = {"data": name, "model": model}
    for i, label in enumerate(("NLL", "RMSE", "CRPS")):
        found |= {label: mean[i], f"± {label}": error[i]}
    return found | {"coverage": mean[3]}


def ranks(rows: list[dict[str, Any]], models: list[str]) -> str:
    """Mean ranks over the sets, of our models."""
    said = []
    for label in ("NLL", "CRPS"):
        places: dict[str, list[int]] = {model: [] for model in models}
        for name in dict.fromkeys(row["data"] for row in rows):
            own = {row["model"]: row[label] for row in rows if row["data"] == name and row["model"] in places}
            for place, model in enumerate(sorted(own, key=lambda m: own[m]), start=1):
                places[model].append(place)
        said.append(f"{label}: " + ", ".join(f"{m} {np.mean(p):.1f}" for m, p in places.items() if p))
    return "; ".join(said)
