"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

Facts = dict[str, Any]  # plain values, as a JSON object holds them

PATIENCE = 10.0  # seconds that a named pipe may be without a reader

_begun: set[str] = set()  # folders with files that are being written
_moving: dict[Path, Path] = {}  # from the file in such a folder to its place
_complete: deque[Path] = deque(maxlen=100)  # the latest files that were written


@contextmanager
def replacing(path: str | Path, error: type[Exception] = OSError) -> Iterator[Path]:
    """A path to write to: what is there in the end becomes the content of `path` if all goes well, else it is removed.

    The old file stays whole until the new one is complete, which keeps its mode; a link is followed. A device or a pipe
    is written to and stays what it is. What goes wrong is raised as `error`, in one line.
    """
    path, flows = Path(path), is_stream(path)
    try:
        real = Path(os.path.realpath(path))
        folder = tempfile.mkdtemp(prefix=".fathom-", dir=None if flows else real.parent)
        _begun.add(folder)
        temporary = Path(folder, real.name)
        try:
            yield temporary
            _moving[temporary] = path
            _pour(temporary, path) if flows else _put(temporary, real)
            _complete.append(path)
        finally:
            _moving.pop(temporary, None)
            shutil.rmtree(folder, ignore_errors=True)
            _begun.discard(folder)
    except OSError as problem:
        kept = "" if flows else "; nothing was changed"
        raise error(f"cannot write {path}: {problem.strerror or problem}{kept}") from None


def is_stream(path: str | Path) -> bool:
    """True for what can be written to but not replaced: a device, a pipe, or an open file such as /dev/stdout."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or descriptor(path) is not None


def descriptor(path: str | Path) -> int | None:
    """The number of the open file of this process that a name stands for: 1 for /dev/stdout."""
    text = os.path.abspath(path)
    for _ in range(40):  # as many links as a system follows
        folder, name = os.path.split(text)
        folder = os.path.realpath(folder)
        if name.isdecimal() and folder in ("/dev/fd", f"/proc/{os.getpid()}/fd"):
            return int(name)
        text = os.path.join(folder, name)
        if not os.path.islink(text):
            return None
        text = os.path.join(folder, os.readlink(text))
    return None


def same(one: str | Path, other: str | Path) -> bool:
    """True if two names lead to one file, whatever links are between."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def forget() -> None:
    """Count as complete what is written from here on."""
    _complete.clear()


def abandon() -> list[Path]:
    """Remove what is half-written, and name what is complete: for a process that ends here."""
    moved = [path for temporary, path in tuple(_moving.items()) if not temporary.exists()]
    for folder in tuple(_begun):
        shutil.rmtree(folder, ignore_errors=True)
    return [path for path in dict.fromkeys([*_complete, *moved]) if path.exists()]


def _put(temporary: Path, real: Path) -> None:
    """In place of the file at `real`, with its owner and mode."""
    with suppress(FileNotFoundError):
        old = real.stat()
        if not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if hasattr(os, "chown"):
            with suppress(OSError):  # only the superuser gives files away
                os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
    os.replace(temporary, real)


def _pour(temporary: Path, path: Path) -> None:
    """Into a device or a pipe."""
    own = descriptor(path)
    if own == 1 and sys.stdout is not None:
        sys.stdout.flush()
    with open(_opened(path) if own is None else os.dup(own), "wb") as stream, temporary.open("rb") as file:
        shutil.copyfileobj(file, stream)


def _opened(path: Path) -> int:
    """A descriptor to write to; nobody waits for ever for the other end of a pipe."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    limit = time.monotonic() + PATIENCE
    while True:
        try:
            found = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            if problem.errno != errno.ENXIO:
                raise
            if time.monotonic() > limit:
                raise OSError("no process reads from this pipe") from None
            time.sleep(0.05)
        else:
            os.set_blocking(found, True)
            return found
