"""Every data set of the catalogue by every method of stochastic gradients in float32: does any number fail?

Short training (300 steps) with the defaults otherwise. FATHOM_SETS and FATHOM_MODELS run a part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _uci
import numpy as np

from fathom import DeepGPClassifier, Training
from fathom.data import datasets
from fathom.estimators.comparison import made

MODELS = ("svgp", "odsvgp", "ppgpr", "dsvi", "gamma", "dspp")
TASKS = ("regression", "multioutput", "timeseries", "classification")
CLASSIFIERS = ("dsvi", "dspp")
ASKED = 2000  # rows of a prediction


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    usual = [name for name in datasets.names() if datasets.describe(name).task in TASKS]
    sets = _uci.chosen("FATHOM_SETS", ["servo"] if quick else usual)
    models = _uci.chosen("FATHOM_MODELS", ("svgp", "dspp") if quick else MODELS)
    rows = []
    for name in sets:
        say(name)
        rows.append(row(name, models, 20 if quick else 300))
    cells = [value for r in rows for model, value in r.items() if model in models and value != "-"]
    bad = sum(value == "NaN" for value in cells)
    poor = sum("(" in value or float(value) > 1 for value in cells if value != "NaN")
    notes = [
        f"{len(cells)} fits, {bad} with a NaN, {poor} that diverged or say less than the mean",
        "RMSE of training rows in units of the target; of classes, accuracy",
    ]
    return {"title": "The catalogue in float32", "rows": rows, "notes": notes}


def row(name: str, models: list[str], steps: int) -> dict[str, Any]:
    data = datasets.load(name)
    classes = datasets.describe(name).task == "classification"
    cells = {m: "-" if classes and m not in CLASSIFIERS else fit(m, data, classes, steps) for m in models}
    return {"data": name, "rows": data.n_rows, "inputs": data.X.shape[1], **cells}


def fit(model: str, data: Any, classes: bool, steps: int) -> str:
    """RMSE on training rows in units of the target (accuracy of classes), or NaN where anything is not finite."""
    X, y = data.X[:ASKED], data.y[:ASKED]
    if classes:
        estimator = DeepGPClassifier((3,), model, training=Training(n_steps=steps), random_state=0).fit(data.X, data.y)
        numbers, found = estimator.predict_proba(X), float(estimator.score(X, y))
    else:
        estimator = made(model, training={"n_steps": steps}).fit(data.X, data.y)
        predictive = estimator.predict_dist(X)
        numbers = np.concatenate([np.ravel(predictive.mean()), np.ravel(predictive.std())])
        found = float(np.sqrt(np.mean((predictive.mean() - y) ** 2 / np.var(data.y, axis=0))))
    history = [entry["objective"] for entry in estimator.history_]
    if not (np.isfinite(numbers).all() and np.isfinite(np.array(history, dtype=float)).all()):
        return "NaN"
    return f"{found:.2f}" + (f" ({estimator.status_})" if estimator.status_ != "done" else "")
