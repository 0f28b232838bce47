"""Data frames: the form in which estimators remember the names of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fathom.data.dataset import Dataset


def inputs(dataset: Dataset) -> Any:
    """The inputs with their names, so that a kernel can say which it means."""
    return named(dataset.X, dataset.names)


def named(X: np.ndarray, names: Sequence[str] | None) -> Any:
    """A data frame, the form in which estimators remember names; the array itself when there are none."""
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))
