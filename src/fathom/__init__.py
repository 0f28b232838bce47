"""Fathom: Gaussian processes from a CSV to an explanation.

    >>> import fathom
    >>> data = fathom.datasets.load("airline")
    >>> model = fathom.GPRegressor(kernel="Lin + SE*Per*Lin + SE").fit(data.X, data.y)
    >>> forecast = model.predict_dist(data.future(12)[:, None])

Names resolve on first use, so that `import fathom` is quick and loads no more than it must.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.data import Dataset, Scaler, load_csv
    from fathom.deepgp import DeepGPClassifier, DeepGPRegressor
    from fathom.estimators import GPRegressor
    from fathom.kernelsearch import KernelSearch
    from fathom.modelfile import load, save
    from fathom.predictive import Predictive
    from fathom.sparsegp import SparseGPRegressor

__version__ = "0.1.0"

_HOME_OF = {
    "Dataset": "data",
    "Scaler": "data",
    "load_csv": "data",
    "GPRegressor": "estimators",
    "KernelSearch": "kernelsearch",
    "SparseGPRegressor": "sparsegp",
    "DeepGPRegressor": "deepgp",
    "DeepGPClassifier": "deepgp",
    "save": "modelfile",
    "load": "modelfile",
    "Predictive": "predictive",
}
_MODULES = ("kernels", "datasets", "metrics", "exact", "evidence", "data", "plotting")

__all__ = [
    "Dataset",
    "DeepGPClassifier",
    "DeepGPRegressor",
    "GPRegressor",
    "KernelSearch",
    "Predictive",
    "Scaler",
    "SparseGPRegressor",
    "datasets",
    "kernels",
    "load",
    "load_csv",
    "metrics",
    "plotting",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(importlib.import_module(f"fathom.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"fathom.{name}")
    else:
        raise AttributeError(f"module 'fathom' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
