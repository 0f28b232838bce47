"""Every base kernel by name."""

from __future__ import annotations

from fathom.kernels.base import Kernel, Leaf
from fathom.kernels.nonstationary import After, ArcCos, Before, Inside, Lin, Outside
from fathom.kernels.stationary import RQ, SE, SM, WN, C, Cos, MacKay, Matern12, Matern32, Matern52, Per

LEAVES: tuple[type[Leaf], ...] = (
    *(SE, RQ, Matern12, Matern32, Matern52, Per, MacKay, Cos, SM),
    *(Lin, ArcCos, C, WN, Before, After, Inside, Outside),
)


def is_noise(kernel: Kernel) -> bool:
    """True when the kernel is zero between any two observations: WN, or a product or sum made of it."""
    if kernel.name == "Product":
        return any(is_noise(factor) for factor in kernel.children)
    if kernel.children:
        return all(is_noise(child) for child in kernel.children)
    return isinstance(kernel, WN)
