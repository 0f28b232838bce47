"""Table 1 of the deep sigma point paper: the three quadrature rules QR1-QR3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _uci

from fathom import DeepGPRegressor, Training
from fathom.inference import DSPP

SETS = ("boston", "concrete", "energy", "kin8nm", "power", "bike", "pol")
POINTS = {"qr1": 3, "qr2": 3, "qr3": 10}  # as in the paper: grids of 3³ points, or ten points


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[:1] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", "0" if quick else "01234")]
    rules = _uci.chosen("FATHOM_MODELS", ("qr2", "qr3") if quick else tuple(POINTS))
    steps = 20 if quick else None

    def make(rule: str) -> Any:
        return DeepGPRegressor((3,), DSPP(rule, POINTS[rule]), training=Training(n_steps=steps), random_state=0)

    found = _uci.scores({r: _uci.estimator(lambda r=r: make(r)) for r in rules}, sets, splits, say)
    notes = [
        "Standard units; ± is one standard error over splits",
        _uci.ranks(found, rules),
        "The paper's ranks. NLL: qr1 2.01, qr2 2.44, qr3 1.37; RMSE: 1.79, 2.27, 1.62; CRPS: 1.73, 2.51, 1.51",
    ]
    return {
        "title": "Quadrature rules (DSPP paper, table 1)",
        "rows": _uci.rows(found),
        "notes": notes,
        "scores": found,
    }


def plot(result: dict[str, Any], path: Path) -> None:
    _uci.dots(result, path)
