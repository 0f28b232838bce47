"""The table of models: what `fathom fit` and `compare` can make, what a model file may hold, and what each is for.

Everything that lists models reads it: the command line, model files, `compare`, the estimators and the documentation. A
new inference method is a file in `inference/` and a row of `MODELS`; a new estimator is a row of `ESTIMATORS`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A class that can be saved: the module it lives in, and the version of its files (older ones are read too)."""

    home: str
    version: int


@dataclass(frozen=True)
class Model:
    """What a name on the command line stands for."""

    estimator: str
    what: str  # for help texts and the documentation
    inference: str = ""  # "module:Class" of the inference object
    classes: bool = False  # a classifier learns by it too


ESTIMATORS = {
    "GPRegressor": Kind("fathom.estimators.exact", 1),
    "KernelSearch": Kind("fathom.estimators.search", 1),
    "SparseGPRegressor": Kind("fathom.estimators.sparse", 2),
    "DeepGPRegressor": Kind("fathom.estimators.deep", 2),
    "DeepGPClassifier": Kind("fathom.estimators.deep", 2),
    "OnlineGPRegressor": Kind("fathom.estimators.online", 1),
}

_SPARSE, _DEEP = "SparseGPRegressor", "DeepGPRegressor"
MODELS = {
    "gp": Model("GPRegressor", "exact, up to a few thousand rows"),
    "search": Model("KernelSearch", "the structure search: finds the kernel and explains it"),
    "online": Model("OnlineGPRegressor", "a stream: one row after the other, in constant memory"),
    "fitc": Model(_SPARSE, "inducing points and all rows at once; noise that follows the inputs", "collapsed:FITC"),
    "vfe": Model(_SPARSE, "inducing points and all rows at once, by a bound: the steady choice", "collapsed:VFE"),
    "pep": Model(_SPARSE, "power EP, between vfe and fitc", "collapsed:PEP"),
    "svgp": Model(_SPARSE, "minibatches, any number of rows", "svgp:SVGP"),
    "odsvgp": Model(_SPARSE, "svgp with further points for the mean", "svgp:ODSVGP"),
    "ppgpr": Model(_SPARSE, "minibatches, trained for honest intervals", "ppgpr:PPGPR"),
    "dsvi": Model(_DEEP, "doubly stochastic variational: the steadiest deep one", "dsvi:DSVI", classes=True),
    "gamma": Model(_DEEP, "dsvi that outliers do not pull", "dsvi:Gamma"),
    "dspp": Model(_DEEP, "deep sigma points: mixtures as predictions", "dspp:DSPP", classes=True),
    "sampling": Model(_DEEP, "DGPS: few rows, layers that can be looked at", "dgps:DGPS", classes=True),
    "sep": Model(_DEEP, "stochastic expectation propagation: no sampling", "sep:SEP", classes=True),
    "sequential": Model(_DEEP, "a stream through layers: one pass, goes on", "sequential:Sequential", classes=True),
}


def methods(estimator: str | None = None, classes: bool = False) -> tuple[str, ...]:
    """Names of the inference methods: of an estimator, those that can learn classes, or all."""
    rows = ((name, model) for name, model in MODELS.items() if model.inference)
    return tuple(n for n, m in rows if estimator in (None, m.estimator) and (m.classes or not classes))
