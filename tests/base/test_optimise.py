"""The optimiser loop: several starts, together or one by one, scaled, bounded, and safe to interrupt."""

import numpy as np
import pytest

from fathom.base.linalg import NotPositiveDefinite
from fathom.base.optimise import Space, maximise, maximise_together

SPACE = Space(np.array([0.3, 0.5]), np.array([[-3.0, 3.0], [-3.0, 3.0]]))
STARTS = [np.array([-2.0, 1.0]), np.array([0.5, -1.0]), np.array([2.5, 2.5])]


def two_hills(vector):
    """A higher hill at (2, 1), a lower one at (−2, −1)."""
    value, gradient = 0.0, np.zeros(2)
    for height, top in ((2.0, np.array([2.0, 1.0])), (1.0, np.array([-2.0, -1.0]))):
        hill = height * np.exp(-0.5 * np.sum((vector - top) ** 2))
        value, gradient = value + hill, gradient - hill * (vector - top)
    return value, gradient


def batch(vectors):
    answers = [two_hills(vector) for vector in vectors]
    return np.array([a[0] for a in answers]), np.stack([a[1] for a in answers])


def test_the_best_of_several_starts():
    result = maximise(two_hills, STARTS, SPACE)
    np.testing.assert_allclose(result.vector, [2, 1], atol=1e-3)
    assert result.status == "converged"
    assert len(result.stats["values"]) == 3
    assert min(result.stats["values"]) < result.value


def test_in_step_equals_one_by_one():
    alone, together = maximise(two_hills, STARTS, SPACE), maximise_together(batch, STARTS, SPACE)
    np.testing.assert_array_equal(alone.vector, together.vector)
    assert alone.stats == together.stats


def test_the_batch_keeps_its_shape():
    shapes = []
    maximise_together(lambda vectors: (shapes.append(vectors.shape), batch(vectors))[1], STARTS, SPACE)
    assert set(shapes) == {(3, 2)}


def test_bounds_hold():
    tight = Space(SPACE.scales, np.array([[-3.0, 1.0], [-3.0, 0.5]]))
    result = maximise(two_hills, [np.array([0.5, 0.2])], tight)
    np.testing.assert_allclose(result.vector, [1.0, 0.5])


def test_where_the_objective_fails_is_avoided_and_counted():
    def fragile(vector):
        if vector[0] > 2.2:
            raise NotPositiveDefinite("too far")
        return two_hills(vector)

    result = maximise(fragile, [np.array([1.0, 0.0])], SPACE)
    np.testing.assert_allclose(result.vector, [2, 1], atol=1e-2)
    hopeless = maximise(lambda v: (np.nan, v), STARTS[:1], SPACE)
    assert hopeless.status == "failed"
    assert hopeless.stats["failures"] > 0


def test_the_iteration_limit_is_reported():
    def valley(v):
        a, b = v
        return -(100 * (b - a * a) ** 2 + (1 - a) ** 2), np.array(
            [400 * a * (b - a * a) + 2 * (1 - a), -200 * (b - a * a)]
        )

    assert maximise(valley, [np.array([-1.2, 1.0])], SPACE, max_iterations=3).status == "iterations"


def test_an_interrupt_in_a_batch_frees_every_thread():
    calls = []

    def interrupted(vectors):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return batch(vectors)

    with pytest.raises(KeyboardInterrupt):
        maximise_together(interrupted, STARTS, SPACE)


def test_progress_is_told_by_restart():
    steps = []
    maximise(two_hills, STARTS, SPACE, on_step=lambda restart, value: steps.append((restart, value)))
    assert {restart for restart, _ in steps} == {0, 1, 2}
