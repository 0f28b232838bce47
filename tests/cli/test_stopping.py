"""Ctrl-C, SIGTERM and a closed terminal: at any moment one line, one status, and nothing half-written."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fathom.cli import stopping

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX systems")


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(body, before=""):
    """A process that answers signals as the command does: status, standard output and error."""
    begin = "import os, signal, sys, time\nfrom fathom.base import files\nfrom fathom.cli import stopping"
    code = "\n".join([begin, before, "stopping.at_once()", textwrap.dedent(body)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


NOTHING = "nothing was written, nothing is half-written\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "line"),
    [
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "ended by SIGTERM"),
        ("SIGHUP", 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_ends_the_process_with_its_own_status(number, status, line):
    assert run(f"signal.raise_signal(signal.{number})\nprint('went on')") == (status, "", f"{line}: {NOTHING}")


@pytest.mark.slow
def test_it_is_answered_where_an_exception_would_be_lost():
    body = """
        import gc
        gc.callbacks.append(lambda *_: signal.raise_signal(signal.SIGINT))
        gc.collect()
        print("went on")
    """
    assert run(body) == (130, "", f"interrupted: {NOTHING}")


@pytest.mark.slow
def test_it_is_answered_while_the_main_thread_is_in_one_long_step():
    body = """
        import threading
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        import ctypes
        ctypes.CDLL(None).sleep(20)
    """
    begun = time.monotonic()
    assert run(body) == (143, "", f"ended by SIGTERM: {NOTHING}")
    assert time.monotonic() - begun < 15


@pytest.mark.slow
def test_what_is_half_written_goes_and_what_is_complete_is_named():
    body = """
        with files.replacing("whole") as path:
            path.write_text("x")
        with files.replacing("half") as path:
            path.write_text("x")
            signal.raise_signal(signal.SIGTERM)
    """
    assert run(body) == (143, "", "ended by SIGTERM: written so far, and complete: whole\n")
    assert os.listdir() == ["whole"]


@pytest.mark.slow
def test_after_the_command_has_ended_a_signal_still_is_one():
    body = """
        import atexit
        atexit.register(lambda: signal.raise_signal(signal.SIGINT))
        stopping.ended(0)
    """
    assert run(body) == (130, "", f"interrupted: {NOTHING}")


@pytest.mark.slow
def test_the_end_is_the_status_of_the_command_with_all_it_said():
    body = """
        class Slow:
            def __del__(self):
                time.sleep(20)

        kept = Slow()
        sys.stdout.write("said")
        stopping.ended(2)
    """
    assert run(body) == (2, "said", "")
    assert run("raise ValueError('a bug')")[0] == 1


@pytest.mark.slow
def test_what_the_caller_ignores_stays_ignored():
    body = "signal.raise_signal(signal.SIGHUP)\nprint('went on')\nstopping.ended(0)"
    assert run(body, before="signal.signal(signal.SIGHUP, signal.SIG_IGN)") == (0, "went on\n", "")


def test_the_line_names_what_is_complete():
    assert stopping.said(signal.SIGINT, [Path("a"), Path("b c")]) == "interrupted: written so far, and complete: a, b c"


def test_in_another_thread_and_where_handlers_are_anothers_nothing_is_changed(monkeypatch):
    handler = lambda *_: None  # noqa: E731
    old = [signal.signal(number, handler) for number in stopping.SIGNALS]
    try:
        stopping.at_once()
        assert [signal.getsignal(number) for number in stopping.SIGNALS] == [handler] * len(old)
    finally:
        for number, before in zip(stopping.SIGNALS, old, strict=True):
            signal.signal(number, before)


@pytest.mark.slow
def test_a_command_answers_from_its_first_moment(somewhere):
    Path("d.csv").write_text("t,y\n" + "".join(f"{i},{(i * i) % 7}\n" for i in range(30)))
    command = [sys.executable, "-m", "fathom", "search", "d.csv", "--depth", "9", "--jobs", "2", "--time-limit", "600"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        trace, limit = Path("model.fathom.trace.json"), time.monotonic() + 60
        while not trace.exists() and time.monotonic() < limit:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        out, err = process.communicate(timeout=20)  # until nobody holds the pipes
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: written so far, and complete: model.fathom.trace.json\n"
    assert sorted(os.listdir()) == ["d.csv", "model.fathom.trace.json"]
