"""One meaning of `random_state` everywhere, that of scikit-learn."""

from __future__ import annotations

import numpy as np

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
