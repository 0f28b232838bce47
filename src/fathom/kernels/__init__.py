"""The kernel language: base kernels, the operators that combine them, and their algebra.

    >>> from fathom.kernels import parse, SE, Per, Lin
    >>> parse("SE*Per + Lin") == SE() * Per() + Lin()
    True

Names resolve on first use, and using one through this package makes kernels PyTrees. The submodules themselves
stay free of JAX, so that worker processes need not load it.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "base": ("Kernel", "Leaf", "Parameter", "walk"),
    "stationary": ("C", "WN", "Per", "MacKay", "Cos", "SM"),
    "radial": ("SE", "RQ", "Matern12", "Matern32", "Matern52"),
    "nonstationary": ("Lin", "Before", "After", "Inside", "Outside", "Days"),
    "dense": ("Dense", "ArcCos"),
    "leaves": ("LEAVES", "is_noise", "register"),
    "combine": ("Sum", "Product", "ChangePoint", "ChangeWindow"),
    "syntax": ("parse", "KernelSyntaxError"),
    "algebra": (
        *("bind", "with_names", "canonical", "simplify", "sum_of_products", "distribute", "terms"),
        *("n_effective", "rescale", "scale"),
    ),
    "vector": ("to_vector", "from_vector", "n_free"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'fathom.kernels' has no attribute {name!r}")
    importlib.import_module("fathom.kernels.pytree")
    value = getattr(importlib.import_module(f"fathom.kernels.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
