"""A whole search on a real Dask cluster that loses a worker on the way."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import fathom

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fathomgp[dask]'")


def searched(on_stage=None, **where):
    """A short search of a line, a cycle and noise."""
    x = np.arange(24.0)
    y = 0.1 * x + np.sin(2 * np.pi * x / 8) + 0.1 * np.random.default_rng(0).standard_normal(24)
    model = fathom.KernelSearch(depth=2, base=("SE", "Lin", "WN"), random_state=0, **where)
    return model.fit(x[:, None], y, on_stage=on_stage)


def path(model):
    """All that the search did, but for how long it took."""
    return [replace(level, seconds=0.0) for level in model.trace_.levels], model.trace_.kept, model.trace_.status


@pytest.mark.slow
def test_a_search_that_loses_a_worker_ends_with_the_same_answer(cluster):
    address, workers = cluster
    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=20)
    alone, killed = searched(backend="serial"), []

    def kill_one(depth, done, total):
        if depth == 2 and 5 <= done < total and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append((done, total))

    together = searched(kill_one, backend="dask", address=address)
    assert killed  # with candidates of the level still to come
    assert (workers[0].wait(5), workers[1].poll()) == (-signal.SIGKILL, None)
    assert path(together) == path(alone)
    assert together.kernel_ == alone.kernel_
    assert together.members_ == alone.members_
