"""Shared inputs. Arrays are read-only, so that no test can disturb another."""

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fathom", deadline=None, max_examples=30, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("fathom")


@pytest.fixture
def x64():
    """Double precision in JAX for one test, as the estimators have it at their boundary."""
    with jax.enable_x64(True):
        yield


def frozen(array):
    array.setflags(write=False)
    return array


RNG = np.random.default_rng(0)
GRIDS = {
    "regular": frozen(np.linspace(0, 3, 14)[:, None]),
    "gaps": frozen(np.delete(np.linspace(0, 3, 40), [3, 4, 9, 20, 33])[:, None]),
    "irregular": frozen(np.sort(RNG.uniform(0, 3, 13))[:, None]),
    "repeated": frozen(np.array([0.0, 0.0, 0.7, 1.1, 1.1, 1.1, 2.9])[:, None]),
}
PLANE = frozen(RNG.standard_normal((11, 3)))


@pytest.fixture(params=GRIDS)
def grid(request):
    """One input: regular, regular with gaps, irregular, with repeated values."""
    return GRIDS[request.param]


@pytest.fixture
def plane():
    """Three inputs."""
    return PLANE
