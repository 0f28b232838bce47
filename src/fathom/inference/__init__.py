"""How a sparse or deep Gaussian process is learnt: one file a method, which holds everything that is its own.

    >>> from fathom.inference import DSPP, Training
    >>> model = fathom.DeepGPRegressor((3,), DSPP(quadrature="qr1"), training=Training(n_steps=2000))

A method says how q is held and where it begins, how hidden values pass, what is optimised, how it trains and how it
predicts; the text "dspp" stands for `DSPP()`. Names resolve on first use. May import `deep` and what is below it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.inference.base import Inference, Training, method
    from fathom.inference.collapsed import FITC, PEP, VFE
    from fathom.inference.dgps import DGPS
    from fathom.inference.dspp import DSPP
    from fathom.inference.dsvi import DSVI, Gamma
    from fathom.inference.ppgpr import PPGPR
    from fathom.inference.sep import SEP
    from fathom.inference.sequential import Sequential
    from fathom.inference.svgp import ODSVGP, SVGP

_HOMES = {
    "base": ("Inference", "Training", "method"),
    "collapsed": ("FITC", "VFE", "PEP"),
    "svgp": ("SVGP", "ODSVGP"),
    "ppgpr": ("PPGPR",),
    "dsvi": ("DSVI", "Gamma"),
    "dspp": ("DSPP",),
    "dgps": ("DGPS",),
    "sep": ("SEP",),
    "sequential": ("Sequential",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "DGPS",
    "DSPP",
    "DSVI",
    "FITC",
    "ODSVGP",
    "PEP",
    "PPGPR",
    "SEP",
    "SVGP",
    "VFE",
    "Gamma",
    "Inference",
    "Sequential",
    "Training",
    "method",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'fathom.inference' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fathom.inference.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
