"""Figure 5.16 of the DGPS thesis: the motorcycle data by 1, 2 and 3 layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import _dgps
import numpy as np
from _dgps import Cell

from fathom.data import datasets

CELLS = [Cell("5.16", 133, layers, 5, pseudo) for pseudo in (10, 25, 50) for layers in (1, 2, 3)]


def data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    found = datasets.load("motorcycle")
    return found.X, found.y


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    cells = CELLS[1:2] if quick else CELLS
    return _dgps.run("Motorcycle (DGPS thesis, 5.3)", data, cells, quick, say, failed=0.9)


def plot(result: dict[str, Any], path: Path) -> None:
    _dgps.plot(result, path)
