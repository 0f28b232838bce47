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
    from fathom.data.columns import Scaler
    from fathom.data.dataset import Dataset, load_csv
    from fathom.estimators.deep import DeepGPClassifier, DeepGPRegressor
    from fathom.estimators.exact import GPRegressor
    from fathom.estimators.modelfile import load, save
    from fathom.estimators.online import OnlineGPRegressor
    from fathom.estimators.search import KernelSearch
    from fathom.estimators.sparse import SparseGPRegressor
    from fathom.inference.base import Training
    from fathom.predictive import Predictive

__version__ = "0.1.0"

_HOME_OF = {
    "Dataset": "data.dataset",
    "Scaler": "data.columns",
    "load_csv": "data.dataset",
    "GPRegressor": "estimators.exact",
    "KernelSearch": "estimators.search",
    "OnlineGPRegressor": "estimators.online",
    "SparseGPRegressor": "estimators.sparse",
    "DeepGPRegressor": "estimators.deep",
    "DeepGPClassifier": "estimators.deep",
    "save": "estimators.modelfile",
    "load": "estimators.modelfile",
    "Predictive": "predictive",
    "Training": "inference.base",
}
_ROOMS = {
    "kernels": "kernels",
    "datasets": "data.datasets",
    "metrics": "metrics",
    "data": "data",
    "plotting": "plotting",
    "inference": "inference",
}

__all__ = [
    "Dataset",
    "DeepGPClassifier",
    "DeepGPRegressor",
    "GPRegressor",
    "KernelSearch",
    "OnlineGPRegressor",
    "Predictive",
    "Scaler",
    "SparseGPRegressor",
    "Training",
    "datasets",
    "inference",
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
    elif name in _ROOMS:
        value = importlib.import_module(f"fathom.{_ROOMS[name]}")
    else:
        raise AttributeError(f"module 'fathom' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
