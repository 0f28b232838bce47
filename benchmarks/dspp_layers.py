"""Figure 6 of the deep sigma point paper: one, two and three layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _uci

from fathom.estimators.comparison import made

SETS = ("concrete", "kin8nm", "bike", "kin40k")
MODELS = {
    "1 layer, svgp": ("svgp", None),
    "1 layer, ppgpr": ("ppgpr", None),
    "2 layers, dsvi": ("dsvi", (3,)),
    "3 layers, dsvi": ("dsvi", (3, 3)),
    "2 layers, dspp": ("dspp", (3,)),
    "3 layers, dspp": ("dspp", (3, 3)),
}


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[:1] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", "0" if quick else "01234")]
    models = ["3 layers, dspp"] if quick else list(MODELS)
    steps = 20 if quick else None

    def make(label: str) -> Any:
        name, widths = MODELS[label]
        return made(name, widths=widths or None, training={"n_steps": steps})

    found = _uci.scores({m: _uci.estimator(lambda m=m: make(m)) for m in models}, sets, splits, say)
    notes = ["Standard units; ± is one standard error over splits", _uci.ranks(found, models)]
    return {"title": "Layers (DSPP paper, figure 6)", "rows": _uci.rows(found), "notes": notes, "scores": found}


def plot(result: dict[str, Any], path: Path) -> None:
    _uci.dots(result, path, ("NLL", "RMSE"))
