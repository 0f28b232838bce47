"""Where tasks run: worker processes of this machine, a Dask cluster, a Ray cluster.

Each engine starts items as futures, shares data with its workers, and says which errors mean that a worker died.
`fathom.base.execute` decides what to start, and what to try again.
"""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
from joblib.externals import loky
from joblib.externals.loky.backend import resource_tracker as tracker
from threadpoolctl import ThreadpoolController

ANSWER = 10.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds that a cluster may be without a worker
PER_CORE = 4  # more processes than that only wait for each other
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")}


def usable_cores() -> int:
    """The cores this process may run on, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reason(error: BaseException) -> str:
    """An exception in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def call(task: Callable[..., Any], shared: Any, item: Any) -> Any:
    return task(item) if shared is None else task(shared, item)


def one_thread() -> AbstractContextManager[object]:
    """One BLAS thread for a task, wherever it runs."""
    return _libraries(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """The BLAS libraries here, looked for again when modules were loaded: that takes longer than many a task."""
    return ThreadpoolController()


def _work(shared: Any, parcel: bytes) -> bytes:
    """Runs one item. Parcels are opened and closed here, so that one that cannot be is an error like any other."""
    try:
        task, item = pickle.loads(parcel)
        shared = shared.load() if isinstance(shared, _Stored) else shared
        with one_thread():
            value = call(task, shared, item)
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


def _serve(alive: Connection, parent: int) -> None:
    """What a worker process begins with: Ctrl-C reaches the whole group, but only the parent answers; and it ends when
    its parent does, however that ended: `alive` is one end of a pipe of which nobody else has the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(alive, parent), daemon=True).start()


def _end_with(alive: Connection, parent: int) -> None:
    try:
        while not alive.poll(1.0) and os.getppid() == parent:
            pass
    finally:
        os._exit(1)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started in here never see Ctrl-C, not even before they can ignore it; here it comes a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # with the first worker it would start, and let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _package(module: str, title: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ValueError(f"{title} is not installed: pip install 'fathomgp[{extra}]'") from None


class Processes:
    """Processes of this machine, by loky: started afresh rather than forked, so that no lock of a thread is copied."""

    def __init__(self, address: str | None, n_jobs: int | None):
        cores = usable_cores()
        self._n, self._count = min(n_jobs or cores, PER_CORE * cores), 0
        self._folder = tempfile.mkdtemp(prefix="fathom-")
        tracker.register(self._folder, "folder")  # removed by another process, should this one be killed
        self._remove_folder = weakref.finalize(self, _remove, self._folder)
        self._shared: _Stored | None = None
        # this context never imports the caller's main module, which may load JAX
        self._context = loky.backend.get_context("loky")
        self._theirs, self._ours = self._context.Pipe(duplex=False)
        self._start()

    def _start(self) -> None:
        self._workers = loky.ProcessPoolExecutor(
            self._n,
            context=self._context,
            initializer=_serve,
            initargs=(self._theirs, os.getpid()),
            env=_ONE_THREAD,
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
            stored = _Stored(os.path.join(self._folder, f"shared-{self._count}"))
            with open(stored.path, "wb") as file:
                file.write(cloudpickle.dumps(shared))
            self._shared = stored

    def submit(self, parcel: bytes) -> Future[bytes]:
        """Starts one item."""
        with _undisturbed():
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
        self._ours.close()
        self._theirs.close()
        self._remove_folder()


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    tracker.unregister(folder, "folder")


class Dask:
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


class Ray:
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


Pool = Processes | Dask | Ray
