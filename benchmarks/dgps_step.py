"""Figures 5.6, 5.9 and 5.10 of the DGPS thesis: the noisy step function by 1, 2 and 3 layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _dgps
import numpy as np
from _dgps import Cell

SIZES = [Cell("5.6, 5.9", n, layers, 10, 10) for n in (50, 100, 200) for layers in (1, 2, 3)]
SETTINGS = [Cell("5.10", 125, 2, samples, pseudo) for samples in (5, 10, 20) for pseudo in (10, 50, 100)]


def data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 1])
    x = rng.uniform(-2, 2, n)
    return x[:, None], np.sign(x) + np.sqrt(0.01) * rng.standard_normal(n)


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    cells = SIZES[1:2] if quick else [*SIZES, *SETTINGS]
    found = _dgps.run("The noisy step function (DGPS thesis, 5.1)", data, cells, quick, say, failed=0.5)
    theirs = "50 points .44, -.03, 1.27; 100 points .23, .54, -.36; 200 points -.11, .71, .80"
    found["notes"].append("Test rows in the gap between the training rows left and right of the step decide the means")
    found["notes"].append(f"Thesis, best of ten by training likelihood, 1 to 3 layers: {theirs}")
    return found


def plot(result: dict[str, Any], path: Path) -> None:
    _dgps.plot(result, path)
