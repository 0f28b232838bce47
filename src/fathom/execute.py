"""Many independent tasks: in this process, in worker processes, or on a Dask or Ray cluster.

    with executor("processes", n_jobs=4) as workers:
        outcomes = workers.map(score, kernels, shared=(X, y))

Outcomes come in the order of the items, and neither they nor their numbers depend on the backend: every task has one
BLAS thread wherever it runs, and what is random about an item must come from a seed inside it.

A task that raises is recorded with its reason. When a worker dies (killed, out of memory, crashed), the items that may
be to blame are set aside and, once the others are done, tried again one at a time: then it is certain which of them
kills its worker. joblib's `Parallel` gives up on all items at the first death, so the engines that it drives (loky,
Dask, Ray) are driven here through their own futures.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Literal, Self

import cloudpickle  # type: ignore[import-untyped]
from joblib.externals import loky
from threadpoolctl import threadpool_limits

Backend = Literal["serial", "processes", "dask", "ray"]
BACKENDS = ("serial", "processes", "dask", "ray")
OnDone = Callable[[int, "Outcome"], None]  # (position of the item, its outcome), in the order of completion

ANSWER = 10.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds that a cluster may be without a worker
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")}


@dataclass(frozen=True)
class Outcome:
    """What became of one item: a value, or the one-line reason why there is none."""

    value: Any = None
    error: str | None = None
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """True when the task returned."""
        return self.error is None


def executor(
    backend: Backend = "processes", n_jobs: int | None = None, address: str | None = None, retries: int = 2
) -> Executor:
    """Where to run tasks.

    - `n_jobs`: tasks at a time; None or −1 for all usable cores, or all of the cluster; 1 process runs "serial".
    - `address`: of the cluster's scheduler, such as `tcp://10.0.0.1:8786`.
    - `retries`: how often an item whose worker died is tried again.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, not {backend!r}")
    n_jobs = None if n_jobs == -1 else n_jobs
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1 (or None for all cores), not {n_jobs}")
    if retries < 0:
        raise ValueError(f"retries must be 0 or more, not {retries}")
    if backend == "dask" and address is None:
        raise ValueError("the Dask backend needs the address of a scheduler, such as tcp://10.0.0.1:8786")
    if backend == "processes" and (n_jobs := n_jobs or usable_cores()) == 1:
        backend = "serial"
    return Executor(backend, n_jobs, address, retries)


def usable_cores() -> int:
    """The cores this process may run on, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Executor:
    """A context manager that runs tasks; workers start with the first `map` and serve all later ones."""

    def __init__(self, backend: Backend, n_jobs: int | None, address: str | None, retries: int):
        self.backend, self.n_jobs, self.address, self.retries = backend, n_jobs, address, retries
        self._pool: _Pool | None = None

    def map(
        self, task: Callable[..., Any], items: Iterable[Any], on_done: OnDone | None = None, *, shared: Any = None
    ) -> list[Outcome]:
        """The outcome of `task(item)`, or of `task(shared, item)` when there is `shared` data, for every item.

        `shared` reaches each worker once, not with every item; a task must not change it. An exception of `on_done`
        stops the work and travels on, as Ctrl-C does.
        """
        items = list(items)
        if self.backend == "serial" or not items:
            return _in_turn(task, items, on_done, shared)
        try:
            if self._pool is None:
                engine = _Dask if self.backend == "dask" else _Ray if self.backend == "ray" else _Processes
                self._pool = engine(self.address, self.n_jobs)
            self._pool.share(shared)
            return _Run(self._pool, task, items, on_done, self.retries).outcomes()
        except BaseException:
            self.close(kill=True)
            raise

    def close(self, kill: bool = False) -> None:
        """Lets the workers go, with `kill` in the middle of their tasks."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self.close(kill=kind is not None)


def _in_turn(task: Callable[..., Any], items: list[Any], on_done: OnDone | None, shared: Any) -> list[Outcome]:
    found: list[Outcome] = []
    for i, item in enumerate(items):
        try:
            with threadpool_limits(1):
                found.append(Outcome(_call(task, shared, item)))
        except (Exception, SystemExit) as error:
            found.append(Outcome(error=reason(error)))
        if on_done is not None:
            on_done(i, found[i])
    return found


def reason(error: BaseException) -> str:
    """An exception in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _call(task: Callable[..., Any], shared: Any, item: Any) -> Any:
    return task(item) if shared is None else task(shared, item)


def _work(shared: Any, parcel: bytes) -> bytes:
    """Runs one item. Parcels are opened and closed here, so that one that cannot be is an error like any other."""
    try:
        task, item = pickle.loads(parcel)
        shared = shared.load() if isinstance(shared, _Stored) else shared
        with threadpool_limits(1):
            value = _call(task, shared, item)
        return cloudpickle.dumps((value, None))
    except (Exception, SystemExit) as error:
        return pickle.dumps((None, reason(error)))


@dataclass(frozen=True)
class _Stored:
    """Shared data in a file, which each worker process reads once."""

    path: str

    def load(self) -> Any:
        if self.path not in _KEPT:
            with open(self.path, "rb") as file:
                _KEPT.clear()
                _KEPT[self.path] = pickle.load(file)
        return _KEPT[self.path]


_KEPT: dict[str, Any] = {}  # in a worker: the shared data of the latest map


def _deaf() -> None:
    """Ctrl-C reaches the whole process group, but only the parent should answer: it ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Run:
    """One `map`: which items wait, which run, which are suspected of killing their worker."""

    def __init__(self, pool: _Pool, task: Callable[..., Any], items: list[Any], on_done: OnDone | None, retries: int):
        self.pool, self.task, self.items, self.on_done, self.retries = pool, task, items, on_done, retries
        self.waiting, self.suspects, self.alone = deque(range(len(items))), deque[int](), set[int]()
        self.running: dict[Future[bytes], int] = {}
        self.attempts = [0] * len(items)
        self.found: dict[int, Outcome] = {}
        self.seen = time.monotonic()  # when there last was a worker

    def outcomes(self) -> list[Outcome]:
        """Everything, in the order of the items."""
        while len(self.found) < len(self.items):
            while (i := self._next()) is not None:
                self._start(i)
            never: Future[bytes] = Future()  # so that with nothing running this waits, too
            for future in wait((*self.running, never), timeout=1.0, return_when=FIRST_COMPLETED).done:
                self._finish(self.running.pop(future), future)
            self._give_up_on_an_empty_cluster()
        return [self.found[i] for i in range(len(self.items))]

    def _next(self) -> int | None:
        room = self.pool.size() if self.waiting else min(self.pool.size(), 1)
        if len(self.running) >= room or not (self.waiting or self.suspects):
            return None
        if self.waiting:
            return self.waiting.popleft()
        self.alone.add(self.suspects[0])
        return self.suspects.popleft()

    def _start(self, i: int) -> None:
        try:
            parcel = cloudpickle.dumps((self.task, self.items[i]))
        except Exception as error:  # whatever a class raises from its __reduce__
            self._record(i, error=reason(error))
        else:
            self.running[self.pool.submit(parcel)] = i

    def _finish(self, i: int, future: Future[bytes]) -> None:
        # a cancelled future raises from exception(); CancelledError is how a cluster says that it lost the item
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            value, problem = pickle.loads(future.result())
            return self._record(i, value, problem)
        deaths = self.pool.deaths(error)
        if not deaths:
            return self._record(i, error=reason(error))
        self.attempts[i] += deaths
        if self.attempts[i] <= self.retries or (self.retries and i not in self.alone):
            return self.suspects.append(i)
        times = "once" if self.attempts[i] == 1 else f"{self.attempts[i]} times"
        return self._record(i, error=f"its worker died {times}", more=0)

    def _record(self, i: int, value: Any = None, error: str | None = None, more: int = 1) -> None:
        self.found[i] = Outcome(value, error, self.attempts[i] + more)
        if self.on_done is not None:
            self.on_done(i, self.found[i])

    def _give_up_on_an_empty_cluster(self) -> None:
        if self.pool.size():
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > PATIENCE:
            self.running.clear()
            for i in range(len(self.items)):
                if i not in self.found:
                    self._record(i, error="the cluster has no workers left", more=0)


def _package(module: str, title: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ValueError(f"{title} is not installed: pip install 'fathomgp[{extra}]'") from None


class _Processes:
    """Processes of this machine, by loky: started afresh rather than forked, so that no lock of a thread is copied."""

    def __init__(self, address: str | None, n_jobs: int | None):
        self._n, self._count = n_jobs or usable_cores(), 0
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-")
        self._shared: _Stored | None = None
        self._start()

    def _start(self) -> None:
        # this context never imports the caller's main module, which may load JAX
        self._workers = loky.ProcessPoolExecutor(
            self._n, context=loky.backend.get_context("loky"), initializer=_deaf, env=_ONE_THREAD
        )

    def size(self) -> int:
        """Tasks that can run at a time; 0 when no worker is there."""
        return self._n

    def share(self, shared: Any) -> None:
        """Makes data known to all workers, in place of what was shared before."""
        if self._shared is not None:
            os.unlink(self._shared.path)
        self._shared = None
        if shared is not None:
            self._count += 1  # a new name each time: workers know data by it
            stored = _Stored(os.path.join(self._folder.name, f"shared-{self._count}"))
            with open(stored.path, "wb") as file:
                file.write(cloudpickle.dumps(shared))
            self._shared = stored

    def submit(self, parcel: bytes) -> Future[bytes]:
        """Starts one item."""
        try:
            return self._workers.submit(_work, self._shared, parcel)
        except BrokenProcessPool:  # one death breaks a pool for good
            self._workers.shutdown(wait=True, kill_workers=True)
            self._start()
            return self._workers.submit(_work, self._shared, parcel)

    def deaths(self, error: BaseException) -> int:
        """How many workers an item has lost when its future ends with this error; 0 for an ordinary error."""
        return int(isinstance(error, BrokenProcessPool))

    def close(self, kill: bool) -> None:
        """Ends the workers, or the connection to them."""
        self._workers.shutdown(wait=True, kill_workers=kill)
        self._folder.cleanup()


class _Dask:
    """A Dask cluster. Its scheduler moves the tasks of a dead worker to another by itself, several times."""

    def __init__(self, address: str | None, n_jobs: int | None):
        self._distributed, self._n_jobs = _package("distributed", "Dask", "dask"), n_jobs
        try:
            self._client = self._distributed.Client(address, timeout=ANSWER, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"no Dask scheduler answers at {address}: {reason(error)}") from None
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            self._client.close()
            raise ValueError(f"the Dask scheduler at {address} has no workers: start one") from None
        self._value, self._shared, self._sent = None, None, list[Any]()

    def size(self) -> int:
        threads = sum(self._client.nthreads().values())
        return min(threads, self._n_jobs or threads)

    def share(self, shared: Any) -> None:
        self._value, self._shared = shared, None
        if shared is not None:  # in a list of one: of a bare list or dict, Dask would scatter the elements
            self._shared = self._client.scatter([shared], broadcast=True, hash=False)[0]

    def submit(self, parcel: bytes) -> Future[bytes]:
        local: Future[bytes] = Future()
        try:
            if self._shared is not None and self._shared.status != "finished":
                self.share(self._value)  # every worker that held it is gone
        except TimeoutError:  # and no other has come
            local.cancel()
            return local
        self._sent = [future for future in self._sent if not future.done()]
        self._sent.append(self._client.submit(_work, self._shared, parcel, pure=False))
        self._sent[-1].add_done_callback(lambda done: _copy(done, local))
        return local

    def deaths(self, error: BaseException) -> int:
        if isinstance(error, self._distributed.KilledWorker):
            return int(getattr(error, "allowed_failures", 0)) + 1
        return int(isinstance(error, CancelledError))

    def close(self, kill: bool) -> None:
        if kill:
            self._client.cancel(self._sent, force=True)
        self._client.close()


def _copy(remote: Any, local: Future[bytes]) -> None:
    """The end of a Dask future for one that `concurrent.futures.wait` understands."""
    try:
        local.set_result(remote.result())
    except BaseException as error:  # in a thread of the client: whatever it is belongs to the item
        local.set_exception(CancelledError() if remote.status in ("cancelled", "lost") else error)


class _Ray:
    """A Ray cluster, or without an address one on this machine."""

    def __init__(self, address: str | None, n_jobs: int | None):
        self._ray, self._n_jobs = _package("ray", "Ray", "ray"), n_jobs
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        # its own retries are off: they would start a suspect again beside the others
        self._work = self._ray.remote(num_cpus=1, max_retries=0)(_work)
        self._shared, self._sent = None, list[Any]()

    def size(self) -> int:
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        return min(cores, self._n_jobs or cores)

    def share(self, shared: Any) -> None:
        self._shared = None if shared is None else self._ray.put(shared)

    def submit(self, parcel: bytes) -> Future[bytes]:
        self._sent.append(self._work.remote(self._shared, parcel))
        return self._sent[-1].future()

    def deaths(self, error: BaseException) -> int:
        crashes = self._ray.exceptions
        return int(isinstance(error, crashes.WorkerCrashedError | crashes.OutOfMemoryError | crashes.NodeDiedError))

    def close(self, kill: bool) -> None:
        for reference in self._sent if kill else ():
            self._ray.cancel(reference, force=True)
        if self._ours:
            self._ray.shutdown()


_Pool = _Processes | _Dask | _Ray
