"""What the tables of the deep sigma point paper share: contenders, splits, scores, ranks and the dot plot.

FATHOM_SETS, FATHOM_SPLITS and FATHOM_MODELS run a part. With FATHOM_SCORES (a file) every score is written down as it
is found and not computed again: the same command without the others then prints the whole table. scores/ holds what
has been measured so; lines of a model whose training has changed since must go.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fathom import metrics
from fathom.data import datasets
from fathom.data.columns import Scaler
from fathom.predictive import Predictive

LEAKS = {"bike": ("x16", "x17")}  # their sum is the target
SCORES = ("NLL", "RMSE", "CRPS", "coverage")
# A contender answers (X, y, rows to train on, rows to predict) in standard units
Contender = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Predictive]


def chosen(variable: str, usual: Sequence[str]) -> list[str]:
    """What the variable lists, or what is usual."""
    return os.environ[variable].split(",") if variable in os.environ else [str(x) for x in usual]


def standardised(name: str, split: int, several: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets, training and test rows, in units of the training rows; without columns that leak."""
    data = datasets.load(name)
    kept = [i for i, column in enumerate(data.names) if column not in LEAKS.get(name, ())]
    train, test = split_of(name, split, data.n_rows)
    X, Y = data.X[:, kept], data.y.reshape(data.n_rows, -1)
    Y = Y if several else Y[:, :1]
    scaler = Scaler.fit(X[train], Y[train])
    Y = scaler.y(Y)
    return scaler.x(X), Y if several else Y[:, 0], train, test


def split_of(name: str, split: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A split of the catalogue, or where it has none a random tenth to test."""
    if known := datasets.splits(name):
        return known[split]
    order = np.random.default_rng(split).permutation(n)
    return np.sort(order[n // 10 :]), np.sort(order[: n // 10])


def estimator(make: Callable[[], Any]) -> Contender:
    """A Fathom estimator as a contender."""

    def answer(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Predictive:
        return make().fit(X[train], y[train]).predict_dist(X[test])

    return answer


def scores(
    contenders: dict[str, Contender],
    sets: Sequence[str],
    splits: Sequence[int],
    say: Callable[[str], None],
    several: bool = False,
) -> dict[str, list[list[float]]]:
    """Lists over splits of the four scores, by "set model"."""
    known, found = remembered(), {}
    for name in sets:
        for split in splits:
            task = None
            for model, contender in contenders.items():
                key = f"{name} {model}"
                if (key, split) not in known:
                    task = task or standardised(name, split, several)
                    start = time.perf_counter()
                    known[key, split] = _scored(contender, task)
                    say(f"{name}, split {split}, {model}: {time.perf_counter() - start:.0f} s")
                    remember(key, split, known[key, split])
                found.setdefault(key, []).append(known[key, split])
    return found


def _scored(contender: Contender, task: Any) -> list[float]:
    X, y, train, test = task
    predictive = contender(X, y, train, test)
    found = [metric(predictive, y[test]) for metric in (metrics.nll, metrics.rmse, metrics.crps, metrics.coverage)]
    return [float(np.mean(value)) for value in found]


def remembered() -> dict[tuple[str, int], list[float]]:
    """The scores of FATHOM_SCORES."""
    path = os.environ.get("FATHOM_SCORES")
    if not path or not Path(path).exists():
        return {}
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return {(key, split): values for key, split, values in lines}


def remember(key: str, split: int, values: list[float]) -> None:
    """Write scores down, where FATHOM_SCORES says."""
    if path := os.environ.get("FATHOM_SCORES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, split, values]) + "\n")


def rows(found: dict[str, list[list[float]]]) -> list[dict[str, Any]]:
    """Means over splits with their standard errors."""
    table = []
    for key, lists in found.items():
        values = np.array(lists)
        error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(len(SCORES), np.nan)
        name, model = key.split(" ", 1)
        row: dict[str, Any] = {"data": name, "model": model}
        for i, label in enumerate(SCORES[:-1]):
            row |= {label: values[:, i].mean(), f"± {label}": error[i]}
        table.append(row | {"coverage": values[:, -1].mean()})
    return table


def ranks(found: dict[str, list[list[float]]], models: Sequence[str]) -> str:
    """Mean ranks over all pairs of set and split, of the models named."""
    said = []
    names = dict.fromkeys(key.split(" ", 1)[0] for key in found)
    for i, label in enumerate(SCORES[:-1]):
        places: dict[str, list[int]] = {model: [] for model in models}
        for name in names:
            values = np.array([[split[i] for split in found[f"{name} {model}"]] for model in models])
            for model, place in zip(models, 1 + values.argsort(0).argsort(0), strict=True):
                places[model] += place.tolist()
        said.append(f"{label}: " + ", ".join(f"{m} {np.mean(p):.2f}" for m, p in places.items()))
    return "Mean ranks over sets and splits (1 is best). " + "; ".join(said)


def dots(result: dict[str, Any], path: Path, labels: Sequence[str] = SCORES[:-1]) -> None:
    """One panel for each score and data set, a dot with its standard error for each model: further left is better."""
    from matplotlib.figure import Figure

    from fathom.plotting.style import ACCENT, FAINT, PARTS, STYLE

    table = result["rows"]
    sets, models = (list(dict.fromkeys(row[key] for row in table)) for key in ("data", "model"))
    colours = dict(zip(models, [*PARTS, "#666666", "#999999", "#BBBBBB"] * 3, strict=False))
    colours[models[-1]] = ACCENT
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.2 + 1.9 * len(sets), (0.6 + 0.26 * len(models)) * len(labels) + 0.4))
        panels = figure.subplots(len(labels), len(sets), squeeze=False)
        for (i, label), (j, name) in ((a, b) for a in enumerate(labels) for b in enumerate(sets)):
            panel = panels[i, j]
            for row in (row for row in table if row["data"] == name):
                place, error = models.index(row["model"]), np.nan_to_num(row[f"± {label}"])
                panel.errorbar(row[label], place, xerr=error, fmt="o", ms=4, lw=1.2, color=colours[row["model"]])
            panel.set_yticks(range(len(models)), models if j == 0 else [""] * len(models))
            panel.set_ylim(len(models) - 0.5, -0.5)
            panel.grid(axis="y", color=FAINT, lw=0.6)
            panel.locator_params(axis="x", nbins=3)
            panel.tick_params(length=0)
            for side in ("top", "right", "left"):
                panel.spines[side].set_visible(False)
            if i == 0:
                panel.set_title(name, fontsize=9)
            if j == 0:
                panel.set_ylabel(label, rotation=0, ha="right", labelpad=14)
        figure.tight_layout()
        figure.savefig(path, dpi=150)
