"""From a path to text: plain or gzipped files, pipes and devices, in the encodings that tables come in.

What cannot be a table is told from its first bytes. What would not fit into memory is refused before it is read.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from fathom.data.columns import DataError
from fathom.data.messages import did_you_mean

MOST_BYTES = 2**30  # of text, unpacked
PATIENCE = 5.0  # seconds that a pipe may have no writer

_PIECE = 2**20
_START = 100_000  # bytes that show whether a file is text
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def read_text(path: Path) -> str:
    """The text of a file, unpacked and decoded, with lines that end in a line feed."""
    try:
        _refuse_what_is_no_file(path)
        data = _collected(_pieces(path), path)
        if data.startswith(_GZIP):
            packed = gzip.GzipFile(fileobj=io.BytesIO(data))
            data = _collected(iter(partial(packed.read, _PIECE), b""), path)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path} is a damaged or truncated gzip file: fetch or compress it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from None
    text = _decode(data, path)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refuse_what_is_no_file(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a CSV file")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, beside) or ": check the name and the folder"
        raise DataError(f"no file {str(path)!r}{hint}")


def _pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file as they come; a pipe is waited for as long as a program has it open for writing."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        about = os.fstat(handle)
        if stat.S_ISREG(about.st_mode) and about.st_size > MOST_BYTES:
            raise _too_large(path)
        give_up = time.monotonic() + PATIENCE
        waiting = stat.S_ISFIFO(about.st_mode)
        while True:
            try:
                piece = os.read(handle, _PIECE)
            except BlockingIOError:  # a writer that has nothing to say yet
                select.select([handle], [], [])
                continue
            if not piece and not waiting:
                return
            if piece:
                waiting = False
                yield piece
            elif time.monotonic() > give_up:
                raise DataError(f"nothing comes through the pipe {path}: start the program that writes to it")
            else:
                time.sleep(0.01)
    finally:
        os.close(handle)


def _collected(pieces: Iterable[bytes], path: Path) -> bytes:
    """All pieces together, unless they are no text or too many."""
    data, judged = bytearray(), 0
    for piece in pieces:
        data += piece
        if judged < _START and len(data) >= 4:  # enough to know a format by
            _refuse_foreign(bytes(data[:4]), bytes(data[judged:_START]), path)
            judged = len(data)
        if len(data) > MOST_BYTES:
            raise _too_large(path)
    _refuse_foreign(bytes(data[:4]), bytes(data[judged:_START]), path)
    return bytes(data)


def _too_large(path: Path) -> DataError:
    return DataError(f"{path} holds more than {MOST_BYTES / 2**30:g} GiB of text: take a part of its rows or columns")


def _refuse_foreign(start: bytes, piece: bytes, path: Path) -> None:
    """Refuse a piece of a file that begins as no text does or has characters that no text has."""
    if start == b"PK\x03\x04":
        raise DataError(f"{path} is a spreadsheet or a zip archive: save the table as CSV first")
    if not start.startswith((_GZIP, *_UTF16)) and _CONTROL.search(piece):
        raise _no_text(path)


def _no_text(path: Path) -> DataError:
    return DataError(f"{path} is not a text file: save the table as CSV first")


def _decode(data: bytes, path: Path) -> str:
    if not data.startswith(_UTF16):
        for encoding in ("utf-8-sig", "cp1252", "latin-1"):  # the last one takes any byte
            with suppress(UnicodeDecodeError):
                return data.decode(encoding)
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError:
        raise _no_text(path) from None
    if _CONTROL.search(text[:_START].encode()):
        raise _no_text(path)
    return text
