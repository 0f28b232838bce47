"""Which array library a computation runs in, NumPy unless a JAX array takes part, and where draws come from.

The kernel language, the exact GP and the structure search must run in processes that never load JAX, and the
same formulas must also be differentiable and compilable. So formulas take their functions from a *namespace*
chosen by the arrays that reach them, and nothing here imports JAX by itself.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    Rows = ArrayLike | pd.DataFrame | pd.Series  # what a user hands over: anything that becomes an array


Array = Any  # numpy.ndarray or jax.Array, and tracers of the latter
Namespace = ModuleType  # numpy or jax.numpy
DType = str | np.dtype | None  # None: that of the namespace


def is_jax(*values: object) -> bool:
    """True when any value is a JAX array or tracer."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(value, jax.Array) for value in values)


def namespace(*values: object) -> Namespace:
    """`jax.numpy` when any value is a JAX array or tracer, `numpy` otherwise."""
    return sys.modules["jax"].numpy if is_jax(*values) else np


def special(xp: Namespace) -> Namespace:
    """The special functions (`i0e`, `i1e`, `expit`) that go with a namespace."""
    if xp is np:
        return scipy.special
    import jax.scipy.special

    return jax.scipy.special


def normal_draws(key: Array, shape: tuple[int, ...]) -> Array:
    """Standard normal draws from a JAX key, an integer seed or a NumPy generator."""
    if is_jax(key):
        import jax

        return jax.random.normal(key, shape)
    return np.random.default_rng(key).standard_normal(shape)


RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """A seed: the int itself, or one drawn from a Generator or RandomState; None draws from NumPy's global state."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be 0 or more, not {random_state}")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state is None:
        random_state = np.random.mtrand._rand  # as scikit-learn: `np.random.seed` makes it repeatable
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state must be None, an int, a Generator or a RandomState, not {random_state!r}")
