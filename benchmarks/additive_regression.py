"""Tables 6.4 and 6.5 of the Duvenaud thesis: MSE and NLL on standardised targets, row "GP Squared-exp"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fathom import GPRegressor, metrics
from fathom.data import datasets
from fathom.data.dataset import train_test_split

PAPER = {  # GP Squared-exp: (MSE, NLL)
    "bach_synth": (0.045, -0.131),
    "concrete500": (0.157, 0.398),
    "pumadyn8nh_512": (0.317, 0.843),
    "servo": (0.126, 0.429),
    "housing_addgp": (0.092, 0.207),
}


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    n_splits, rows = (2 if quick else 10), []
    for name, (mse, nll) in PAPER.items():
        data = datasets.load(name)
        y = (data.y - data.y.mean()) / data.y.std()
        scores = []
        for seed in range(n_splits):
            say(f"{name}, split {seed + 1} of {n_splits}")
            train, test = train_test_split(len(y), 0.1, seed)
            model = GPRegressor("SE", random_state=seed).fit(data.X[train], y[train])
            predictive = model.predict_dist(data.X[test])
            scores.append((metrics.rmse(predictive, y[test]) ** 2, metrics.nll(predictive, y[test])))
        mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / np.sqrt(n_splits)
        rows.append(
            {
                "data": name,
                "MSE": mean[0],
                "± MSE": error[0],
                "thesis MSE": mse,
                "NLL": mean[1],
                "± NLL": error[1],
                "thesis NLL": nll,
            }
        )
    notes = [f"{n_splits} random 90/10 splits (seeds 0 to {n_splits - 1}), not the thesis's; ± is one standard error"]
    return {"title": "Regression, GP with SE-ARD kernel (thesis tables 6.4 and 6.5)", "rows": rows, "notes": notes}
