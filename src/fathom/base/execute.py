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

import pickle
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any, Literal, Self

import cloudpickle  # type: ignore[import-untyped]

from fathom.base import workers
from fathom.base.budget import Budget
from fathom.base.workers import Dask, Pool, Processes, Ray, call, one_thread, reason, usable_cores

Backend = Literal["serial", "processes", "dask", "ray"]
BACKENDS = ("serial", "processes", "dask", "ray")
OVER = "there was no time left for it"  # why an item has no value that a budget came too early for
OnDone = Callable[[int, "Outcome"], None]  # (position of the item, its outcome), in the order of completion

GLANCE = 0.2  # seconds until Ctrl-C is noticed at the latest


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

    - `n_jobs`: tasks at a time; None or −1 for all usable cores, or all of the cluster; 1 process runs "serial". Of
      processes there are never more than four for each core.
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
    _check_address(backend, address)
    if backend == "processes" and (n_jobs := n_jobs or usable_cores()) == 1:
        backend = "serial"
    return Executor(backend, n_jobs, address, retries)


def _check_address(backend: str, address: str | None) -> None:
    if backend == "dask" and address is None:
        raise ValueError("the Dask backend needs the address of a scheduler, such as tcp://10.0.0.1:8786")
    if address is None:
        return
    if backend in ("serial", "processes"):
        raise ValueError(f"address {address!r} is for the Dask and Ray backends: {backend!r} runs on this machine")
    if not re.fullmatch(r"([a-z]+://)?\S+:\d{1,5}(/\S*)?", address) and not (backend == "ray" and address == "auto"):
        raise ValueError(f"address {address!r}: give a host and a port, such as tcp://10.0.0.1:8786")


class Executor:
    """A context manager that runs tasks; workers start with the first `map` and serve all later ones."""

    def __init__(self, backend: Backend, n_jobs: int | None, address: str | None, retries: int):
        self.backend, self.n_jobs, self.address, self.retries = backend, n_jobs, address, retries
        self._pool: Pool | None = None

    def map(
        self,
        task: Callable[..., Any],
        items: Iterable[Any],
        on_done: OnDone | None = None,
        *,
        shared: Any = None,
        budget: Budget | None = None,
    ) -> list[Outcome]:
        """The outcome of `task(item)`, or of `task(shared, item)` when there is `shared` data, for every item.

        `shared` reaches each worker once, not with every item; a task must not change it. An exception of `on_done`
        stops the work and travels on, as Ctrl-C does. When the `budget` is used up workers are stopped, and items that
        are not done have the error `OVER`; in this process one is not begun that may take longer than what is left.
        """
        items, budget = list(items), budget or Budget()
        if budget.over():
            return [Outcome(error=OVER, attempts=0)] * len(items)
        if self.backend == "serial" or not items:
            return _in_turn(task, items, on_done, shared, budget)
        with _Interrupts() as interrupts:
            try:
                if self._pool is None:
                    engine = Dask if self.backend == "dask" else Ray if self.backend == "ray" else Processes
                    self._pool = engine(self.address, self.n_jobs)
                self._pool.share(shared)
                outcomes = _Run(self._pool, task, items, on_done, self.retries).outcomes(interrupts, budget)
            except BaseException:
                self.close(kill=True)
                raise
        if any(outcome.error == OVER for outcome in outcomes):
            self.close(kill=True)
        return outcomes

    def close(self, kill: bool = False) -> None:
        """Lets the workers go, with `kill` in the middle of their tasks."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self.close(kill=kind is not None)


def _in_turn(
    task: Callable[..., Any], items: list[Any], on_done: OnDone | None, shared: Any, budget: Budget
) -> list[Outcome]:
    found: list[Outcome] = []
    longest = 0.0
    for i, item in enumerate(items):
        if budget.over(longest):
            return found + [Outcome(error=OVER, attempts=0)] * (len(items) - i)
        left = budget.left()
        try:
            with one_thread():
                found.append(Outcome(call(task, shared, item)))
        except (Exception, SystemExit) as error:
            found.append(Outcome(error=reason(error)))
        longest = max(longest, left - budget.left()) if budget else 0.0
        if on_done is not None:
            on_done(i, found[i])
    return found


class _Interrupts:
    """Holds Ctrl-C and SIGTERM back until `answer` is called, or until the end.

    An exception that is raised inside `concurrent.futures.wait` can leave the locks of futures taken, and then the
    thread that ends the workers waits for ever; raised inside a destructor it is lost. A second Ctrl-C is answered at
    once. Signals belong to the main thread: in any other there is nothing to hold back.
    """

    def __enter__(self) -> Self:
        self._pending: list[int] = []
        here = threading.current_thread() is threading.main_thread()
        old = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if here}
        self._old: dict[int, Any] = {number: handler for number, handler in old.items() if callable(handler)}
        for number in self._old:
            signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if number in self._pending:
            self._old[number](number, frame)
        self._pending.append(number)

    def answer(self) -> None:
        """Does what the first signal would have done, if one came."""
        if self._pending:
            number = self._pending[0]
            self._pending.clear()
            self._old[number](number, None)

    def __exit__(self, kind: object, *rest: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        if kind is None:
            self.answer()


class _Run:
    """One `map`: which items wait, which run, which are suspected of killing their worker."""

    def __init__(self, pool: Pool, task: Callable[..., Any], items: list[Any], on_done: OnDone | None, retries: int):
        self.pool, self.task, self.items, self.on_done, self.retries = pool, task, items, on_done, retries
        self.waiting, self.suspects, self.alone = deque(range(len(items))), deque[int](), set[int]()
        self.running: dict[Future[bytes], int] = {}
        self.attempts = [0] * len(items)
        self.found: dict[int, Outcome] = {}
        self.seen = time.monotonic()  # when there last was a worker

    def outcomes(self, interrupts: _Interrupts, budget: Budget) -> list[Outcome]:
        """Everything, in the order of the items."""
        while len(self.found) < len(self.items) and not budget.over():
            while (i := self._next()) is not None:
                self._start(i)
            never: Future[bytes] = Future()  # so that with nothing running this waits, too
            for future in wait(
                (*self.running, never), timeout=min(GLANCE, max(budget.left(), 0.0)), return_when=FIRST_COMPLETED
            ).done:
                self._finish(self.running.pop(future), future)
            interrupts.answer()
            self._give_up_on_an_empty_cluster()
        return [self.found.get(i, Outcome(error=OVER, attempts=0)) for i in range(len(self.items))]

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
        elif time.monotonic() - self.seen > workers.PATIENCE:
            self.running.clear()
            for i in range(len(self.items)):
                if i not in self.found:
                    self._record(i, error="the cluster has no workers left", more=0)
