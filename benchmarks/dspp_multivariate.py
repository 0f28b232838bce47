"""Table 3 and figure 5 of the deep sigma point paper: several outputs at once, mixed from latent processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _uci

from fathom.estimators.comparison import made
from fathom.models import methods

SETS = ("sarcos_test4449", "energy", "naval")
MODELS = ("svgp", "ppgpr", "dsvi", "gamma", "dspp")
WIDTHS = (8,)  # what all outputs need must pass: with three units seven outputs lose half a nat


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    sets = _uci.chosen("FATHOM_SETS", SETS[1:2] if quick else SETS)
    splits = [int(s) for s in _uci.chosen("FATHOM_SPLITS", "0" if quick else "01234")]
    models = _uci.chosen("FATHOM_MODELS", ("svgp",) if quick else MODELS)
    steps = 20 if quick else None

    def make(model: str) -> Any:
        return made(model, widths=WIDTHS if model in methods("DeepGPRegressor") else None, training={"n_steps": steps})

    contenders = {m: _uci.estimator(lambda m=m: make(m)) for m in models}
    found = _uci.scores(contenders, sets, splits, say, several=True)
    notes = ["Means over the outputs, standard units; ± is one standard error over splits", _uci.ranks(found, models)]
    notes.append("sarcos has no splits in the catalogue: random tenths")
    return {"title": "Several outputs (DSPP paper, table 3)", "rows": _uci.rows(found), "notes": notes, "scores": found}


def plot(result: dict[str, Any], path: Path) -> None:
    _uci.dots(result, path, ("NLL", "RMSE"))
