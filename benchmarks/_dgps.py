"""What the DGPS benchmarks share: cells of layers, sizes, draws and pseudo points, ten trials each, one table.

FATHOM_TRIALS says how many trials; with FATHOM_SCORES (a file) every trial is written down and not run again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fathom import DeepGPRegressor, Training, metrics
from fathom.inference import DGPS

Data = Callable[[int, int], tuple[np.ndarray, np.ndarray]]  # number of points, seed


class Cell(NamedTuple):
    """One combination of a figure."""

    figure: str
    n: int
    layers: int
    samples: int
    pseudo: int


def run(
    title: str, data: Data, cells: Sequence[Cell], quick: bool, say: Callable[[str], None], failed: float
) -> dict[str, Any]:
    trials = 1 if quick else int(os.environ.get("FATHOM_TRIALS", "10"))
    known, rows = _known(), []
    for cell in cells:
        found = []
        for trial in range(trials):
            key = f"{title} {list(cell)} {trial}"
            if key not in known:
                say(f"{cell}, trial {trial}")
                known[key] = score(data, cell, trial, quick)
                _write(key, known[key])
            found.append(known[key])
        rows.append(row(cell, np.array(found), failed))
    notes = [
        f"{trials} trials, 80/20 splits; ± is one standard error; log likelihood of a test point, in units of the data",
        "of a draw: median of the mean log density of the mixture's components, as in the thesis: lower, by Jensen",
        f"failed: flat functions, with an MSE above {failed:g} of the variance on training and on test rows",
    ]
    return {"title": title, "rows": rows, "notes": notes}


def score(data: Data, cell: Cell, trial: int, quick: bool) -> list[float]:
    """Test log likelihood and MSE, the part of the variance that is left in training or in test rows (the smaller:
    two flat layers of figure 5.8 leave all of it in both), seconds of one fit, and the mean log density of a draw."""
    X, y = data(cell.n, trial)
    order = np.random.default_rng([trial, 5]).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    model = DeepGPRegressor(
        (1,) * (cell.layers - 1),
        DGPS(n_samples=cell.samples, n_restarts=2 if quick else 10),
        n_inducing=cell.pseudo,
        training=Training(n_steps=20 if quick else None),
        random_state=trial,
    )
    start = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    predictive = model.predict_dist(X[test])
    left = [np.mean((model.predict(X[rows]) - y[rows]) ** 2) / np.var(y[rows]) for rows in (train, test)]
    mse, drawn = metrics.rmse(predictive, y[test]) ** 2, -metrics.drawn_nll(predictive, y[test])
    return [-metrics.nll(predictive, y[test]), mse, float(min(left)), seconds, drawn]


def row(cell: Cell, values: np.ndarray, failed: float) -> dict[str, Any]:
    n = len(values)
    error = values.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(5, np.nan)
    return {
        "figure": cell.figure,
        "points": cell.n,
        "layers": cell.layers,
        "draws": cell.samples,
        "pseudo": cell.pseudo,
        "log likelihood": values[:, 0].mean(),
        "±": error[0],
        "median": np.median(values[:, 0]),
        "worst": values[:, 0].min(),
        "of a draw": float(np.median(values[:, 4])),
        "MSE": values[:, 1].mean(),
        "failed": int((values[:, 2] > failed).sum()),
        "seconds": float(np.median(values[:, 3])),
    }


def _known() -> dict[str, list[float]]:
    path = os.environ.get("FATHOM_SCORES")
    if not path or not Path(path).exists():
        return {}
    return dict(json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines())


def _write(key: str, values: list[float]) -> None:
    if path := os.environ.get("FATHOM_SCORES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, values]) + "\n")


def plot(result: dict[str, Any], path: Path) -> None:
    """Log likelihood and MSE by layers, a line for each other setting (as in the thesis's figures)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fathom.plotting.style import ACCENT, FAINT, PARTS, STYLE

    groups: dict[str, list[dict[str, Any]]] = {}
    for r in result["rows"]:
        groups.setdefault(f"{r['points']} points, {r['draws']} draws, {r['pseudo']} pseudo", []).append(r)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.4))
        for panel, label in zip(figure.subplots(1, 2), ("log likelihood", "MSE"), strict=True):
            for colour, (name, rows) in zip([ACCENT, *PARTS] * 3, groups.items(), strict=False):
                error = [np.nan_to_num(r["±"]) if label == "log likelihood" else 0.0 for r in rows]
                layers, values = [r["layers"] for r in rows], [r[label] for r in rows]
                panel.errorbar(layers, values, error, fmt="o-", ms=4, lw=1.2, color=colour, label=name)
            panel.set_xticks([1, 2, 3], ["1 layer", "2", "3"])
            panel.set_title(label, loc="left", fontsize=10)
            panel.grid(axis="y", color=FAINT, lw=0.6)
            for side in ("top", "right", "left"):
                panel.spines[side].set_visible(False)
        figure.axes[0].legend(fontsize=6.5, frameon=False)
        figure.tight_layout()
        figure.savefig(path, dpi=150)
