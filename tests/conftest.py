"""Shared inputs. Arrays are read-only, so that no test can disturb another."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fathom", deadline=None, max_examples=30, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("fathom")
ROOT = Path(__file__).parent.parent


def pytest_configure(config):
    """What JAX compiles is shared by all processes, and kept in the virtual environment for the next run."""
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(sys.prefix) / "compiled"))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def pytest_collection_modifyitems(items):
    """Files with many slow tests come first, so that the processes end together."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


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


# -- a cluster ---------------------------------------------------------------------------------------------------


def start(*arguments):
    """One part of a cluster, in a process of its own; workers can import the tests."""
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
    """The address of a Dask scheduler and the processes of its two workers, which may be killed."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fathomgp[dask]'")
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
