"""Every kernel by name: the base kernels, the switches, and those that others register."""

from __future__ import annotations

import sys
from typing import TypeVar

from fathom.kernels.base import Kernel, Leaf
from fathom.kernels.combine import ChangePoint, ChangeWindow, Operator, Product, Switch
from fathom.kernels.dense import ArcCos
from fathom.kernels.nonstationary import After, Before, Days, Inside, Lin, Outside
from fathom.kernels.radial import RQ, SE, Matern12, Matern32, Matern52
from fathom.kernels.stationary import SM, WN, C, Cos, MacKay, Per

# fmt: off
__all__ = [
    "KNOWN", "LEAVES", "RQ", "SE", "SM", "WN", "After", "ArcCos", "Before", "C", "Cos", "Days", "Inside", "Lin",
    "MacKay", "Matern12", "Matern32", "Matern52", "Outside", "Per", "is_noise", "register",
]
# fmt: on

LEAVES: tuple[type[Leaf], ...] = (
    *(SE, RQ, Matern12, Matern32, Matern52, Per, MacKay, Cos, SM),
    *(Lin, ArcCos, C, WN, Before, After, Inside, Outside, Days),
)
KNOWN: dict[str, type[Kernel]] = {leaf.name: leaf for leaf in LEAVES} | {"CP": ChangePoint, "CW": ChangeWindow}

K = TypeVar("K", bound=type[Kernel])


def register(kernel: K) -> K:
    """Make a class of kernels part of the language: its name can be parsed, and JAX knows it. A decorator."""
    if kernel.name in KNOWN:
        raise ValueError(f"there is a kernel {kernel.name} already")
    KNOWN[kernel.name] = kernel
    if (pytree := sys.modules.get("fathom.kernels.pytree")) is not None:
        pytree.register(kernel)
    return kernel


def is_noise(kernel: Kernel) -> bool:
    """True when the kernel is zero between any two observations: WN, or a product or sum made of it."""
    if isinstance(kernel, Product):
        return any(is_noise(factor) for factor in kernel.children)
    if isinstance(kernel, (Operator, Switch)):
        return all(is_noise(child) for child in kernel.children)
    return isinstance(kernel, WN)
