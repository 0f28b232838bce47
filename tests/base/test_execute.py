"""Running many tasks: the same answers everywhere, and nothing lost when tasks raise or workers die."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from fathom.base import execute
from fathom.base.execute import Outcome, executor
from fathom.gp.evidence import Evidence
from fathom.kernels.syntax import parse
from fathom.kernels.vector import to_vector

# -- tasks, importable by worker processes ----------------------------------------------------------------------------


def square(item):
    time.sleep(0.002 * (item % 3))  # so that items do not end in the order they began
    return item**2


def fussy(item):
    if item == 1:
        raise ValueError("item 1 is\n  not welcome")
    if item == 2:
        sys.exit(3)
    if item == 3:
        raise KeyError
    return item


def weigh(shared, item):
    return float(shared["weights"][item] * item)


def evidence(shared, text):
    X, y = shared
    kernel = parse(text)
    problem = Evidence(kernel, X, y)
    return problem(np.asarray(to_vector(kernel)))[0]


def loaded_by_evidence(shared, text):
    value = evidence(shared, text)
    from threadpoolctl import threadpool_info

    threads = [library["num_threads"] for library in threadpool_info()]
    return "jax" in sys.modules, os.environ["OMP_NUM_THREADS"], threads, np.isfinite(value), os.getpid()


def fragile(folder, item):
    """Item 3 takes its worker down the first time it runs, as an exhausted machine would."""
    mark = folder / str(item)
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * 10


def deadly(item):
    if item == 2:
        os._exit(11)
    time.sleep(0.02)
    return item


def own_process(item):
    return os.getpid()


class Closed:
    """Something that can be sent but not opened."""

    def __reduce__(self):
        return int, ("no number",)


# -- the same answers everywhere --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    """Two worker processes for the whole file."""
    with executor("processes", n_jobs=2) as workers:
        yield workers


def serial():
    return executor("serial")


@pytest.mark.slow
def test_processes_answer_as_serial_does_and_in_order(pair):
    expected = [Outcome(i**2) for i in range(20)]
    assert serial().map(square, range(20)) == expected
    assert pair.map(square, range(20)) == expected
    with executor("processes", n_jobs=1) as one:
        assert one.map(square, iter(range(20))) == expected


@pytest.mark.slow
def test_numbers_are_equal_to_the_last_bit(pair):
    rng = np.random.default_rng(0)
    data = (np.linspace(0, 3, 150)[:, None], rng.standard_normal(150))
    texts = ["SE + WN", "SE*Per + Lin + WN", "RQ + WN"]
    assert serial().map(evidence, texts, shared=data) == pair.map(evidence, texts, shared=data)


def test_shared_data_is_replaced_between_maps(pair):
    for factor in (1.0, -2.0):
        shared = {"weights": factor * np.arange(8)}
        values = [outcome.value for outcome in pair.map(weigh, range(8), shared=shared)]
        assert values == [factor * i * i for i in range(8)]
        assert values == [outcome.value for outcome in serial().map(weigh, range(8), shared=shared)]


def test_workers_are_reused_and_are_not_this_process(pair):
    first, second = ({outcome.value for outcome in pair.map(own_process, range(8))} for _ in range(2))
    assert os.getpid() not in first | second
    assert len(first | second) <= 2


def test_workers_load_no_jax_and_have_one_thread(pair):
    assert "jax" in sys.modules  # in this process it is
    X = np.linspace(0, 1, 30)[:, None]
    for outcome in pair.map(loaded_by_evidence, ["SE + WN"] * 3, shared=(X, X[:, 0])):
        jax, variable, threads, finite, _ = outcome.value
        assert (jax, variable, finite) == (False, "1", True)
        assert set(threads) == {1}


def test_no_items_need_no_workers():
    with executor("processes", n_jobs=2) as workers:
        assert workers.map(square, []) == []
        assert workers._pool is None


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_progress_is_told_item_by_item(backend, pair):
    told = {}
    outcomes = (pair if backend == "processes" else serial()).map(square, range(6), told.__setitem__)
    assert told == dict(enumerate(outcomes))


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_an_exception_is_recorded_in_one_line(backend, pair):
    outcomes = (pair if backend == "processes" else serial()).map(fussy, range(5))
    assert [outcome.error for outcome in outcomes] == [
        None,
        "ValueError: item 1 is not welcome",
        "SystemExit: 3",
        "KeyError",
        None,
    ]
    assert [outcome.ok for outcome in outcomes] == [True, False, False, False, True]
    assert {outcome.attempts for outcome in outcomes} == {1}


def test_what_cannot_be_sent_or_opened_is_an_error_of_its_item(pair):
    opened = pair.map(own_process, [1, (i for i in ()), Closed(), 4])
    assert [outcome.ok for outcome in opened] == [True, False, False, True]
    assert opened[1].error.startswith("TypeError: cannot pickle 'generator' object")
    assert opened[2].error.startswith("ValueError: invalid literal")


@pytest.mark.slow
def test_the_items_of_a_killed_worker_are_run_again(tmp_path):
    with executor("processes", n_jobs=2) as workers:
        outcomes = workers.map(fragile, range(12), shared=tmp_path)
        assert [outcome.value for outcome in outcomes] == [10 * i for i in range(12)]
        assert outcomes[3].attempts == 2
        assert sum(outcome.attempts > 1 for outcome in outcomes) <= 2  # only what ran beside it
        assert workers.map(square, range(4)) == serial().map(square, range(4))  # and the pool is whole again


@pytest.mark.slow
def test_an_item_that_always_kills_its_worker_is_given_up_alone():
    with executor("processes", n_jobs=2, retries=1) as workers:
        outcomes = workers.map(deadly, range(8))
    assert outcomes[2] == Outcome(None, "its worker died 2 times", 2)
    assert [outcome.value for outcome in outcomes if outcome.ok] == [0, 1, 3, 4, 5, 6, 7]


@pytest.mark.slow
def test_without_retries_a_death_is_final():
    with executor("processes", n_jobs=2, retries=0) as workers:
        (outcome,) = workers.map(deadly, [2])
    assert outcome == Outcome(None, "its worker died once", 1)


@pytest.mark.slow
def test_a_worker_that_dies_between_two_maps_is_replaced():
    with executor("processes", n_jobs=2) as workers:
        victim = workers.map(own_process, range(4))[0].value
        os.kill(victim, signal.SIGKILL)
        time.sleep(0.3)
        assert [outcome.value for outcome in workers.map(square, range(5))] == [0, 1, 4, 9, 16]


@pytest.mark.slow
def test_an_exception_of_the_progress_callback_stops_the_work():
    def stop(position, outcome):
        raise RuntimeError("enough")

    with executor("processes", n_jobs=2) as workers:
        with pytest.raises(RuntimeError, match="enough"):
            workers.map(square, range(100), stop)
        assert workers.map(square, [3]) == [Outcome(9)]


@pytest.mark.slow
def test_an_interrupt_ends_workers_and_travels_on():
    code = """
        import os, signal, time
        from fathom.base.execute import executor

        def wait(item):
            os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: two workers share the pipe
            time.sleep(60)

        if __name__ == "__main__":
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without
            try:
                with executor("processes", n_jobs=2) as workers:
                    workers.map(wait, range(4))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            pids = [int(process.stdout.readline()) for _ in range(2)]
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
            said, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert said == "interrupted\n"
    assert process.returncode == 0
    assert not any(alive(pid) for pid in pids)


@pytest.mark.slow
def test_an_interrupt_between_the_locks_of_two_futures_does_not_hang():
    code = """
        import signal, time
        from fathom.base import execute

        def wait(futures, **how):
            futures[0]._condition.acquire()  # as in concurrent.futures.wait, for some microseconds of each call
            signal.raise_signal(signal.SIGINT)
            futures[0]._condition.release()
            return honest(futures, **how)

        honest, execute.wait = execute.wait, wait
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without
        try:
            execute.executor("processes", n_jobs=2).map(time.sleep, [60, 60])
        except KeyboardInterrupt:
            print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30)
    assert done.stdout == "interrupted True\n"


WAITING = """
    import os, signal, time
    from fathom.base.execute import executor

    def wait(item):
        os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: two workers share the pipe
        time.sleep(60)

    def stop(*_):
        raise SystemExit(7)

    if __name__ == "__main__":
        if HANDLED:
            signal.signal(signal.SIGTERM, stop)
        with executor("processes", n_jobs=2) as workers:
            workers.map(wait, range(4))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "handled", "status"),
    [(signal.SIGKILL, False, -9), (signal.SIGTERM, False, -15), (signal.SIGTERM, True, 7)],
    ids=["killed", "terminated", "handled"],
)
def test_workers_end_with_their_parent_and_close_its_pipe(number, handled, status, tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(WAITING).replace("HANDLED", str(handled))]
    told = os.environ | {"TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=told, start_new_session=True) as process:
        try:
            pids = [int(process.stdout.readline()) for _ in range(2)]
            assert os.listdir(tmp_path)  # what the workers share
            os.kill(process.pid, number)
            process.communicate(timeout=20)  # until nobody holds the pipes
        finally:
            process.kill()
    assert process.returncode == status
    assert not any(alive(pid) for pid in pids)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_workers_never_see_ctrl_c_not_even_while_they_start():
    code = """
        import signal
        from fathom.base.execute import executor

        def blocked(item):
            return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

        if __name__ == "__main__":
            with executor("processes", n_jobs=2) as workers:
                print({outcome.value for outcome in workers.map(blocked, range(8))}, blocked(0))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("{True} False\n", "")


def test_a_second_signal_is_answered_at_once_and_the_first_at_the_end():
    heard = []
    old = {n: signal.signal(n, lambda number, frame: heard.append(number)) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        with execute._Interrupts() as interrupts:
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
            interrupts.answer()
            assert heard == [signal.SIGTERM]
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert heard == [signal.SIGTERM, signal.SIGINT]
        assert heard == [signal.SIGTERM, signal.SIGINT, signal.SIGINT]
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def alive(pid):
    """True while the process runs; one that ended and that nobody has asked after yet does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if Path("/proc").exists() else ""
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state not in ("Z", "X")


# -- settings and messages --------------------------------------------------------------------------------------------


def test_number_of_jobs():
    cores = len(os.sched_getaffinity(0))
    assert execute.usable_cores() == cores
    assert executor("processes", n_jobs=1).backend == "serial"
    assert executor("processes", n_jobs=3).n_jobs == 3
    for every in (None, -1):
        chosen = executor(n_jobs=every)
        assert (chosen.backend, chosen.n_jobs) == (("processes", cores) if cores > 1 else ("serial", 1))


def test_there_are_never_far_more_processes_than_cores(monkeypatch):
    from fathom.base import workers

    monkeypatch.setattr(workers, "usable_cores", lambda: 2)
    asked = (None, 3, 100_000)
    pools = [workers.Processes(None, n) for n in asked]  # none starts before it has work
    try:
        assert [pool.size() for pool in pools] == [2, 3, 8]
    finally:
        for pool in pools:
            pool.close(kill=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "threads"}, "backend must be one of 'serial', 'processes', 'dask', 'ray', not 'threads'"),
        ({"n_jobs": 0}, "n_jobs must be at least 1 (or None for all cores), not 0"),
        ({"n_jobs": -2}, "n_jobs must be at least 1 (or None for all cores), not -2"),
        ({"retries": -1}, "retries must be 0 or more, not -1"),
        (
            {"address": "tcp://a:1", "backend": "processes"},
            "address 'tcp://a:1' is for the Dask and Ray backends: 'processes' runs on this machine",
        ),
        (
            {"address": "garbage", "backend": "dask"},
            "address 'garbage': give a host and a port, such as tcp://10.0.0.1:8786",
        ),
        ({"backend": "dask"}, "the Dask backend needs the address of a scheduler, such as tcp://10.0.0.1:8786"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole message is compared)
        executor(**settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named(backend, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with executor(backend, address="tcp://127.0.0.1:1") as cluster, pytest.raises(ValueError) as caught:  # noqa: PT011
        cluster.map(square, [1])
    assert str(caught.value) == f"{backend.title()} is not installed: pip install 'fathomgp[{backend}]'"
