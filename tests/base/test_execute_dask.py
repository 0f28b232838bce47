"""Against a real Dask scheduler with two worker processes, one of which is killed in the middle."""

import os
import signal
import time

import numpy as np
import pytest

from fathom.base.execute import Outcome, executor

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fathomgp[dask]'")


def slow_dot(shared, item):
    time.sleep(0.05)
    if item == 4:
        raise ValueError("four is not allowed")
    return float(shared @ shared) * item, os.getpid()


def values(outcomes):
    return [outcome.value and outcome.value[0] for outcome in outcomes]


@pytest.mark.slow
def test_a_cluster_survives_the_death_of_a_worker(cluster):
    address, workers = cluster
    shared = np.arange(1000) / 7
    expected = executor("serial").map(slow_dot, range(40), shared=shared)
    killed = []

    def kill_one(position, outcome):
        if len(killed) == 0 and position >= 10 and outcome.ok:
            killed.append(outcome.value[1])
            os.kill(killed[0], signal.SIGKILL)

    with executor("dask", address=address) as dask:
        wait_for_both(dask, shared)
        found = dask.map(slow_dot, range(40), kill_one, shared=shared)
        again = dask.map(abs, [-1, -2])
    assert killed[0] in {worker.pid for worker in workers}
    assert values(found) == values(expected)
    assert [outcome.error for outcome in found] == [outcome.error for outcome in expected]
    assert found[4].error == "ValueError: four is not allowed"
    assert len({outcome.value[1] for outcome in found if outcome.ok}) == 2  # both worked until one was killed
    assert again == [Outcome(1), Outcome(2)]


def wait_for_both(dask, shared):
    """The second worker may take a moment longer to arrive than the first."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        pids = {outcome.value[1] for outcome in dask.map(slow_dot, [1, 2, 3], shared=shared)}
        if len(pids) == 2:
            return
    raise RuntimeError("only one worker arrived")


def suicide(shared, item):
    if item == 1:
        os._exit(9)
    return shared[item]


@pytest.mark.slow
def test_a_cluster_that_loses_every_worker_says_so(cluster, monkeypatch):
    address, _ = cluster
    with executor("dask", address=address) as dask:
        assert dask.map(suicide, [0], shared=[5, 6])[0].value == 5
        monkeypatch.setattr("fathom.base.workers.PATIENCE", 2.0)
        found = dask.map(suicide, [1, 1], shared=[5, 6])
    assert {outcome.error for outcome in found} == {"the cluster has no workers left"}


@pytest.mark.slow
def test_a_wrong_address_is_named(monkeypatch):
    monkeypatch.setattr("fathom.base.workers.ANSWER", 1.0)
    with (
        executor("dask", address="tcp://127.0.0.1:9") as workers,
        pytest.raises(ValueError, match="no Dask scheduler answers at tcp://127.0.0.1:9: OSError"),
    ):
        workers.map(abs, [1])
