"""A zip of one JSON object and a set of arrays: what model files and checkpoints are. Reading one runs no code.

Whoever wrote it, reading ends soon: members may not expand to more than a file of that size can hold. What is written
keeps to that, since members that are large are not compressed.
"""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from fathom.base.files import Facts, replacing
from fathom.base.stored import brief

ARRAYS = "arrays.safetensors"
MOST_NAMES = 10_000_000  # bytes in which arrays are named


class Size(NamedTuple):
    """Bytes that a member may have: in any case, or for each byte of the file."""

    free: int
    times: int


JSON_SIZE, ARRAYS_SIZE = Size(16_000_000, 20), Size(64_000_000, 100)


class ArchiveError(ValueError):
    """The file is damaged; the message says what of it, in one line."""


class NoZip(ArchiveError):
    """It is not a zip, or was cut short."""


class NoMember(ArchiveError):
    """It is a zip of something else."""


def write(
    path: Path,
    facts: Mapping[str, object],
    arrays: Mapping[str, np.ndarray],
    name: str,
    error: type[Exception],
    compressed: bool = True,
) -> None:
    """Write a file whose JSON is the member `name`; the old file stays whole until the new one is complete.

    What goes wrong is raised as `error`.
    """
    from safetensors.numpy import save as to_bytes

    try:
        texts = json.dumps(facts, indent=1, default=_plain).encode()
    except TypeError as problem:
        raise error(f"cannot write {path}: {problem}") from None
    packed = to_bytes({key: np.asarray(values, order="C") for key, values in arrays.items()})
    with replacing(path, error) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for member, content, size in ((name, texts, JSON_SIZE), (ARRAYS, packed, ARRAYS_SIZE)):
            how = zipfile.ZIP_DEFLATED if compressed and len(content) <= size.free else zipfile.ZIP_STORED
            archive.writestr(member, content, how)


def _plain(value: object) -> object:
    """What JSON has in place of values of NumPy and paths."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{brief(value)} is nothing that a file can hold")


def read(path: Path, name: str) -> tuple[Facts, dict[str, np.ndarray]]:
    """The JSON object and the arrays of a file. An `ArchiveError` says that it is damaged."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe without a writer would be waited for
        raise OSError(0, "it is not a file", str(path))
    with path.open("rb") as file, _opened(file) as archive:
        length = path.stat().st_size
        texts = _member(archive, name, JSON_SIZE, length)
        packed = _member(archive, ARRAYS, ARRAYS_SIZE, length)
    member = name
    try:
        facts = json.loads(texts)
        member = ARRAYS
        arrays = _arrays(packed)
    except Exception as problem:  # of JSON, of safetensors, or of too little memory
        raise ArchiveError(f"its {member} cannot be read ({in_short(problem)})") from None
    if not isinstance(facts, dict):
        raise ArchiveError(f"its {name} holds no object")
    return facts, arrays


def _opened(file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception:  # zipfile has many: of the zip, of seeking, of text that is none
        raise NoZip("it is not a complete zip") from None


def _member(archive: zipfile.ZipFile, name: str, size: Size, length: int) -> bytes:
    if name not in archive.namelist():
        raise NoMember(f"it has no {name}")
    info = archive.getinfo(name)
    if info.file_size > max(size.free, size.times * length):
        raise ArchiveError(f"its {name} is said to expand to {info.file_size / 1e6:.0f} MB")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others expand without a limit
        raise ArchiveError(f"its {name} is compressed in a way that Fathom does not use")
    try:
        with archive.open(info) as member:
            return member.read(info.file_size)
    except Exception as problem:  # zipfile and zlib have many
        raise ArchiveError(f"its {name} cannot be unpacked ({in_short(problem)})") from None


def _arrays(packed: bytes) -> dict[str, np.ndarray]:
    from safetensors.numpy import load as from_bytes

    if (length := int.from_bytes(packed[:8], "little")) > MOST_NAMES:
        raise ValueError(f"a header of {length} bytes")
    return from_bytes(packed)


def in_short(problem: Exception) -> str:
    """The kind of an error and the first line of what it says, cut short."""
    said = (str(problem).splitlines() or [""])[0]
    return f"{type(problem).__name__}: {said if len(said) <= 200 else said[:200] + '…'}"
