"""Against a real Dask scheduler with two worker processes, one of which is killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fathom.execute import Outcome, executor

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fathomgp[dask]'")

ROOT = Path(__file__).parent.parent


def start(*arguments):
    """One part of a cluster, in a process of its own; workers can import this file."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start_worker(address):
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--death-timeout", "30"]
    return start("dask_worker", address, *options)


def wait_for_address(file, scheduler):
    limit = time.monotonic() + 30
    while time.monotonic() < limit and scheduler.poll() is None:
        try:
            return json.loads(file.read_text())["address"]
        except (FileNotFoundError, ValueError):  # not there, or half written
            time.sleep(0.05)
    raise RuntimeError("the scheduler did not start")


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler and its two workers."""
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file"]
    parts = [start("dask_scheduler", *options, str(file))]
    try:
        address = wait_for_address(file, parts[0])
        parts += [start_worker(address) for _ in range(2)]
        yield address, parts[1:]
    finally:
        for part in reversed(parts):
            part.kill()
            part.wait()


def slow_dot(shared, item):
    time.sleep(0.05)
    if item == 4:
        raise ValueError("four is not allowed")
    return float(shared @ shared) * item, os.getpid()


def values(outcomes):
    return [outcome.value and outcome.value[0] for outcome in outcomes]


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


def test_a_cluster_that_loses_every_worker_says_so(cluster, monkeypatch):
    address, _ = cluster
    with executor("dask", address=address) as dask:
        assert dask.map(suicide, [0], shared=[5, 6])[0].value == 5
        monkeypatch.setattr("fathom.execute.PATIENCE", 2.0)
        found = dask.map(suicide, [1, 1], shared=[5, 6])
    assert {outcome.error for outcome in found} == {"the cluster has no workers left"}


def test_a_wrong_address_is_named(monkeypatch):
    monkeypatch.setattr("fathom.execute.ANSWER", 1.0)
    with (
        executor("dask", address="tcp://127.0.0.1:9") as workers,
        pytest.raises(ValueError, match="no Dask scheduler answers at tcp://127.0.0.1:9: OSError"),
    ):
        workers.map(abs, [1])
