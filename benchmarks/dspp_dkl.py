"""Figure 7 of the deep sigma point paper: a neural network in front (deep kernel learning)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _uci

from fathom import DeepGPRegressor, SparseGPRegressor, Training

SETS = ("kin8nm", "power", "bike", "kin40k")
MODELS = ("svgp", "ppgpr", "dsvi", "dspp")
NETWORK = "NN + "


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[:1] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", "0" if quick else "01234")]
    usual = [front + model for model in MODELS for front in (NETWORK, "")]
    models = _uci.chosen("FATHOM_MODELS", [NETWORK + "svgp"] if quick else usual)
    steps = 20 if quick else None
    found = _uci.scores({m: _uci.estimator(lambda m=m: make(m, steps)) for m in models}, sets, splits, say)
    notes = ["Standard units; ± is one standard error over splits", _uci.ranks(found, models)]
    return {"title": "Deep kernels (DSPP paper, figure 7)", "rows": _uci.rows(found), "notes": notes, "scores": found}


def make(label: str, steps: int | None) -> Any:
    """The model; the network is the one of five layers of Wilson et al."""
    name = label.removeprefix(NETWORK)
    features, training = "dkl" if label.startswith(NETWORK) else None, Training(n_steps=steps)
    if name in ("svgp", "ppgpr"):
        return SparseGPRegressor(name, features=features, training=training, random_state=0)
    return DeepGPRegressor((3,), name, features=features, training=training, random_state=0)


def plot(result: dict[str, Any], path: Path) -> None:
    _uci.dots(result, path, ("NLL", "RMSE"))
