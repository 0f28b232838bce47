"""Table 2 and figures 2-4 of the deep sigma point paper: sparse and deep GPs on UCI regression sets.

With FATHOM_PEERS (a Python with GPyTorch, see peers/gpytorch_models.py) the same models of GPyTorch run beside ours for
the number of steps of our longest schedule; FATHOM_SETS and the like run a part, see _uci.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import _uci
import numpy as np

from fathom.estimators.comparison import made
from fathom.predictive import Predictive

SETS = ("boston", "concrete", "energy", "kin8nm", "power", "wine_red", "protein", "pol", "bike", "kin40k")
MODELS = ("svgp", "odsvgp", "ppgpr", "dsvi", "gamma", "dspp")
PEERS, MARK = "FATHOM_PEERS", " (GPyTorch)"
UNEQUAL = (
    "Not alike: GPyTorch runs once with the settings of its examples; our ppgpr and dspp also hold rows out, which set "
    "their tails, and on fewer than 5,000 rows try three lengths of training on five parts before the last one"
)


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[:1] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", "0" if quick else "01234")]
    usual = [*MODELS, *(m + MARK for m in MODELS if PEERS in os.environ)]
    models = _uci.chosen("FATHOM_MODELS", ("svgp", "dspp") if quick else usual)
    steps = 40 if quick else None
    contenders = {m: contender(m, steps) for m in models}
    found = _uci.scores(contenders, sets, splits, say)
    table = _uci.rows(found)
    notes = [
        f"Splits {', '.join(map(str, splits))} of the catalogue, standard units; ± is one standard error over splits",
        _uci.ranks(found, [m for m in models if not m.endswith(MARK)]),
        *against(table),
        *([UNEQUAL] if any(m.endswith(MARK) for m in models) else []),
    ]
    return {"title": "Sparse and deep GPs (DSPP paper, table 2)", "rows": table, "notes": notes, "scores": found}


def contender(model: str, steps: int | None) -> _uci.Contender:
    if model.endswith(MARK):
        return partial(theirs, model.removesuffix(MARK), steps)
    return _uci.estimator(lambda: made(model, training={"n_steps": steps}))


def theirs(model: str, steps: int | None, X: np.ndarray, y: np.ndarray, train: Any, test: Any) -> Predictive:
    from fathom.deep.build import Architecture
    from fathom.inference import ODSVGP, Training, method
    from fathom.inference.base import Task
    from fathom.sparse.inducing import centres

    rng = np.random.default_rng(0)
    Z, far = (centres(X[train], m, rng).tolist() for m in (100, ODSVGP().n_mean))
    task = Task(X[train], y[train, None], Architecture(), Training(n_steps=steps))
    n_steps = method(model)().settings(task).n_steps
    job = {"do": "fit", "model": model, "seed": 0, "n_steps": n_steps, "batch": 256, "Z": Z}
    job |= {"x": X[train].tolist(), "y": y[train].tolist(), "x_new": X[test].tolist()}
    job |= {"far": far} if model == "odsvgp" else {}
    command = [os.environ[PEERS], str(Path(__file__).parent / "peers" / "gpytorch_models.py")]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return Predictive(np.exp(found["logs"]), np.array(found["mean"]).T, np.array(found["var"]).T)


def against(table: list[dict[str, Any]]) -> list[str]:
    """How much lower our NLL is, model by model."""
    nll = {(row["data"], row["model"]): row["NLL"] for row in table}
    said = []
    for model in MODELS:
        gains = {name: nll[name, m] - nll[name, model] for name, m in nll if m == model + MARK and (name, model) in nll}
        if gains:
            worst = min(gains, key=lambda name: gains[name])
            mean = np.mean(list(gains.values()))
            said.append(
                f"{model}: NLL lower than GPyTorch's by {mean:.3f} in the mean, at least {gains[worst]:.3f} ({worst})"
            )
    return said


def plot(result: dict[str, Any], path: Path) -> None:
    _uci.dots(result, path)
