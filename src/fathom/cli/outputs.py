"""Files that a command writes, checked before the work is done: they can be written, and replace no input."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fathom.base import files
from fathom.cli import console


@dataclass(frozen=True)
class Output:
    """A file to write and the option that decides where it goes."""

    path: Path
    option: str = "--out"


@dataclass(frozen=True)
class Input:
    """Files that are read, and the argument or option that names them."""

    name: str
    paths: tuple[Path, ...]


def data(name: str | None) -> Input:
    """The files behind the argument DATA."""
    from fathom.data import datasets

    return Input("DATA", () if name is None else tuple(datasets.files(name)))


def model(path: Path | None, name: str = "MODEL") -> Input:
    """A model file to read."""
    return Input(name, () if path is None else (path,))


def ahead(path: Path | None) -> Input:
    """A file of inputs ahead to read."""
    return Input("--future", () if path is None else (path,))


def beside(path: Path, ending: str) -> Path | None:
    """The file for work in progress that belongs to an output; none beside a device or a pipe."""
    return None if files.is_stream(path) else Path(f"{path}{ending}")


def check(outputs: Iterable[Output], inputs: Iterable[Input]) -> None:
    """Raise an error if an output cannot be written, would replace an input, or another output."""
    before: list[Output] = []
    read = [(each.name, path) for each in inputs for path in each.paths]
    for output in outputs:
        path, option = output.path, output.option
        _check_place(path, option)
        if files.descriptor(path) == 1:
            console.aside()
        if files.is_stream(path) and not path.is_file():
            continue  # nothing is replaced
        for name, source in read:
            if files.same(path, source):
                raise OSError(f"cannot write {path}: {name} is read from this file; choose another {option}")
        for other in before:
            if files.same(path, other.path):
                raise OSError(f"cannot write {path}: {other.option} writes to this file too; choose another {option}")
        before.append(output)


def _check_place(path: Path, option: str) -> None:
    if path.is_dir():
        raise OSError(f"cannot write {path}: it is a folder; name a file in it")
    if files.is_stream(path):
        return
    real = Path(os.path.realpath(path))
    folder = real.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise OSError(f"cannot write {path}: there is no folder {folder}; make it, or choose another {option}")
    if real.is_symlink():
        raise OSError(f"cannot write {path}: the link leads in a circle; choose another {option}")
    if not all(os.access(place, os.W_OK) for place in (folder, real) if place.exists()):
        raise OSError(f"cannot write {path}: you may not write there; choose another {option}")
