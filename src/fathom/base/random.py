"""One meaning of `random_state` everywhere, that of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np


def seed_of(random_state: Any) -> int:
    """A seed: the int itself, or one drawn from a Generator or RandomState; None is a new one every time."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31))
