"""Every law a kernel must obey, in one function, for our tests and for anyone who writes a kernel of their own."""

from __future__ import annotations

import numpy as np

from fathom.kernels.algebra import canonical, rescale, simplify
from fathom.kernels.base import Kernel, as_rows
from fathom.kernels.syntax import parse


def check_laws(kernel: Kernel, X: np.ndarray, tolerance: float = 1e-9) -> None:
    """Raises AssertionError, naming the law, when the kernel breaks one at the inputs X (N, D).

    Symmetry, positive semi-definiteness, diagonal consistency, white noise on the observation only, the text round
    trip, value-preserving and idempotent canonical form, simplification, and commuting with a change of units.
    """
    X = as_rows(X, np)
    K, cross = kernel.gram(X), kernel.cross(X, X)
    size = 1 + np.abs(K).max()

    def law(name: str, difference: np.ndarray | float) -> None:
        worst = float(np.max(np.abs(difference))) if np.size(difference) else 0.0
        assert worst <= tolerance * size, f"{kernel} breaks the law of {name} by {worst:.2g}"

    law("symmetry", K - K.T)
    law("positive semi-definiteness", min(0.0, float(np.linalg.eigvalsh(K)[0])) / len(X))
    law("diagonal consistency", K.diagonal() - kernel.diag(X))
    law("diagonal consistency without noise", cross.diagonal() - kernel.diag(X, noise=False))
    law("noise on the observation only", (K - cross) - np.diag((K - cross).diagonal()))
    law("value-preserving canonical form", canonical(kernel).gram(X) - K)
    law("value-preserving simplification", simplify(kernel).gram(X) - K)
    shift, spread = np.linspace(-1.5, 2.0, X.shape[1]), np.linspace(0.3, 4.0, X.shape[1])
    law("rescaling", rescale(kernel, shift, spread, 2.5).gram(shift + spread * X) / 2.5**2 - K)
    assert parse(str(kernel)) == kernel, f"{kernel} does not survive being printed and parsed"
    assert canonical(canonical(kernel)) == canonical(kernel), f"the canonical form of {kernel} is not idempotent"
