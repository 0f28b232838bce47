"""A time limit by a clock of the test."""

import pytest

from fathom.base.budget import Budget
from fathom.base.execute import OVER, executor


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_what_is_left():
    clock = Clock()
    budget = Budget.of(60, clock)
    early = budget.less(10)
    clock.now += 30
    assert (budget.left(), early.left(), budget.told(), early.told()) == (30, 20, "30 s left", "20 s left")
    assert (early.over(), early.over(19.9), early.over(20)) == (False, False, True)
    clock.now += 40
    assert budget.over()
    assert budget.told() == "0 s left"


def test_no_limit():
    for budget in (Budget(), Budget.of(None), Budget.of(None).less(1e9)):
        assert not budget
        assert not budget.over(1e9)
        assert budget.told() == ""


def _slow(clock, seconds):
    clock.now += seconds
    return seconds


def test_no_task_is_begun_that_may_take_longer_than_what_is_left():
    clock, done = Clock(), []
    with executor("serial") as pool:
        budget = Budget.of(10, clock)
        outcomes = pool.map(_slow, [1, 4, 4, 1], lambda i, _: done.append(i), shared=clock, budget=budget)
        assert [outcome.value for outcome in outcomes] == [1, 4, 4, None]
        assert (outcomes[3].error, outcomes[3].attempts, done) == (OVER, 0, [0, 1, 2])
        clock.now += 5
        assert pool.map(_slow, [1], shared=clock, budget=budget)[0].error == OVER


def _wait(seconds):
    import time

    time.sleep(seconds)
    return seconds


@pytest.mark.slow
def test_workers_are_stopped_and_start_again():
    with executor("processes", n_jobs=2) as pool:
        assert pool.map(_wait, [0.0])[0].ok
        first = pool.map(_wait, [0.0, 60.0, 60.0], budget=Budget.of(1.0))
        assert [outcome.error for outcome in first] == [None, OVER, OVER]
        assert [outcome.value for outcome in pool.map(_wait, [0.0, 0.1])] == [0.0, 0.1]
