"""How a command ends at Ctrl-C, at SIGTERM, and when its terminal is closed: at once, in one line, with 128 + signal.

The process ends where it stands. An exception would not do: raised in a destructor or in a callback of the compiler it
is printed and lost, and to unwind past compiled code that still runs can crash. Nothing is lost by it: what is worth
keeping (the path of a search, the checkpoint of a training) is written as the work goes on, and files are complete or
not there. Worker processes end with this one (`fathom.base.workers`).
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from fathom.base import files

GRACE = 0.2  # seconds for the main thread to answer itself
SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]

_ending = threading.Lock()
_drawing = False  # a progress bar is on the terminal
_status: int | None = None  # of the command, once it has ended


def at_once() -> None:
    """From here on signals end this process. Those that it was started to ignore, as by nohup, it goes on ignoring."""
    mine = [n for n in SIGNALS if signal.getsignal(n) in (signal.SIG_DFL, signal.default_int_handler)]
    if not mine or threading.current_thread() is not threading.main_thread():
        return
    read, write = socket.socketpair()
    write.setblocking(False)
    for number in mine:
        signal.signal(number, _handler)
    signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
    # Python answers a signal between two steps of the main thread, and a compilation is one step of many seconds
    threading.Thread(target=_watch, args=(read, write), daemon=True).start()
    atexit.register(_leave)  # runs last
    sys.warnoptions.append("ignore:resource_tracker")  # the process that clears up after workers does it in silence


def ended(status: int) -> None:
    """Tell with which status the command has ended."""
    global _status
    _status = status


def said(number: int, complete: list[Path]) -> str:
    """The line on standard error."""
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    if not complete:
        return f"{what}: nothing was written, nothing is half-written"
    return f"{what}: written so far, and complete: {', '.join(map(str, complete))}"


@contextmanager
def drawing() -> Iterator[None]:
    """In here there is a progress bar, to be wiped off the terminal."""
    global _drawing
    _drawing = True
    try:
        yield
    finally:
        _drawing = False


def _handler(number: int, frame: FrameType | None) -> None:
    _end(number)


def _watch(read: socket.socket, write: socket.socket) -> None:
    while number := read.recv(1)[0]:
        time.sleep(GRACE)
        if number in SIGNALS:
            _end(number)


def _end(number: int) -> None:
    if not _ending.acquire(blocking=False):
        return  # the other thread is at it
    try:
        line = said(number, files.abandon()) + "\n"
        wiped = "\r\x1b[2K\x1b[?25h" if _drawing else ""
        # not by print: a lock of the stream may be taken, and its reader gone
        os.write(2, (wiped + line).encode(getattr(sys.stderr, "encoding", None) or "utf-8", "backslashreplace"))
    finally:
        os._exit(128 + number)


def _leave() -> None:
    """The last step of a command that has ended. To take the interpreter apart is half a second in which a signal could
    only crash it."""
    if _status is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(_status)
