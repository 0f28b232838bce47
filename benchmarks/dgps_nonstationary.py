"""Figure 5.13 of the DGPS thesis: spiky at both ends, smooth in the middle, by 1, 2 and 3 layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _dgps
import numpy as np
from _dgps import Cell

CELLS = [Cell("5.13", 120, layers, 5, pseudo) for pseudo in (10, 25, 50) for layers in (1, 2, 3)]
REGIONS = ((-4.0, -3.0, 0.25), (-1.0, 1.0, 2.0), (2.0, 4.0, 0.25))  # from, to, lengthscale


def data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 2])
    xs, ys = [], []
    for low, high, ell in REGIONS:
        x = np.sort(rng.uniform(low, high, n // 3))
        K = np.exp(-0.5 * ((x[:, None] - x) / ell) ** 2)
        values, vectors = np.linalg.eigh(K)
        ys.append(vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(x))))
        xs.append(x)
    return np.concatenate(xs)[:, None], np.concatenate(ys)


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    cells = CELLS[1:2] if quick else CELLS
    return _dgps.run("Non-stationary data (DGPS thesis, 5.2)", data, cells, quick, say, failed=0.9)


def plot(result: dict[str, Any], path: Path) -> None:
    _dgps.plot(result, path)
