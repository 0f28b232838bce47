"""Rows as they come, from a file or a pipe: the first settle what the columns are, the others are read alike.

A line that cannot be read is told with its number and passed over. A cell never spans lines here.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from fathom.data.columns import Columns
from fathom.data.inputs import Names
from fathom.data.reading import assemble, input_columns
from fathom.data.table import DataError, table_of_text

HEAD = 100  # lines that settle the columns
CHUNK = 65_536  # bytes


class Piece(NamedTuple):
    """Some rows: the lines they stand on, inputs (n, D), outputs (n, P) with NaN, and what was passed over."""

    lines: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    passed_over: list[str]


@dataclass
class Feed:
    """A table of which more rows may come; `at` counts the lines that have been read."""

    name: str
    source: Source
    header: str
    columns: Columns
    head: list[str]
    at: int

    def pieces(self, size: int, skip: int = 0) -> Iterator[Piece]:
        """The rows in pieces of at most `size` lines, as they come, without those on the first `skip` lines."""
        waiting = iter(self.head)
        while batch := list(islice(waiting, size)) or self.source.take(size):
            first, self.at = self.at + 1, self.at + len(batch)
            kept = [(first + i, line) for i, line in enumerate(batch) if first + i > skip]
            if kept:
                yield self._piece(kept)

    def _piece(self, numbered: list[tuple[int, str]]) -> Piece:
        numbered = [(n, line) for n, line in numbered if line.strip(" ,;\t\r\n")]
        try:
            X, Y = self._read([line for _, line in numbered])
            return Piece(np.array([n for n, _ in numbered]), X, Y, [])
        except DataError as problem:
            if len(numbered) == 1:
                said = str(problem).replace(f"{self.name}, ", "").replace("line 2", f"line {numbered[0][0]}")
                return Piece(np.zeros(0, int), *self._nothing(), [said])
        halves = (numbered[: len(numbered) // 2], numbered[len(numbered) // 2 :])
        first, second = map(self._piece, halves)
        lines, X, Y = (np.concatenate(pair) for pair in zip(first[:3], second[:3], strict=True))
        return Piece(lines, X, Y, first.passed_over + second.passed_over)

    def _read(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        if not lines:
            return self._nothing()
        table = replace(table_of_text("".join([self.header, *lines]), Path(self.name)), earlier=self.columns.dialect)
        if len(table.headers) != (names := len(next(csv.reader([self.header], delimiter=table.separator)))):
            raise DataError(f"{self.name}, line 2 has {len(table.headers)} fields where the header names {names}")
        if table.n_rows != len(lines):
            raise DataError(f"{self.name}, line 2 is no row of its own: a quotation mark may be open")
        X = input_columns(table, self.columns)
        if np.isnan(X).any():
            k = int(np.argwhere(np.isnan(X))[0][1])
            raise DataError(f"line 2: column {self.columns.names[k]!r} has no value")
        return X, np.column_stack([table.numbers(table.find(name)) for name in self.columns.target])

    def _nothing(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, len(self.columns.names))), np.zeros((0, len(self.columns.target)))


class Source:
    """Lines of a file or, for "-", of standard input, of which those are taken that are there."""

    def __init__(self, path: str):
        self.name, self._rest, self._lines = path, b"", list[str]()
        self._read: Callable[[int], bytes]
        self._file: IO[bytes] | gzip.GzipFile | None = None
        if path == "-":
            self.name, self._read = "standard input", partial(os.read, sys.stdin.fileno())
            return
        file = Path(path)
        if not file.exists():
            raise DataError(f"no file {path!r}: check the name and the folder, or use - for standard input")
        if file.is_dir():
            raise DataError(f"{path} is a folder: name a CSV file")
        self._file = gzip.open(file) if file.suffix == ".gz" else file.open("rb", 0)  # noqa: SIM115
        self._read = self._file.read

    def close(self) -> None:
        """Read no more."""
        if self._file is not None:
            self._file.close()

    def take(self, most: int) -> list[str]:
        """The next lines, at least one and at most so many; none at the end."""
        while not self._lines and (data := self._read(CHUNK)):
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines = [_text(line) for line in lines]
        if not self._lines and self._rest:
            self._lines, self._rest = [_text(self._rest)], b""
        found, self._lines = self._lines[:most], self._lines[most:]
        return found


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace").removesuffix("\r") + "\n"


def feed(
    path: str, target: Names = None, time: str | None = None, drop: Names = None, columns: Columns | None = None
) -> Feed:
    """Open a stream of rows; what its columns are is settled by the first 100, or known from before."""
    source = Source(path)
    try:
        return _settled(source, target, time, drop, columns)
    except DataError:
        source.close()
        raise


def _settled(source: Source, target: Names, time: str | None, drop: Names, columns: Columns | None) -> Feed:
    start, header = _header(source)
    if columns is not None:
        return Feed(source.name, source, header, columns, [], start)
    head: list[str] = []
    while len(head) < HEAD and (more := source.take(HEAD - len(head))):
        head += more
    table = table_of_text("".join([header, *head]), Path(source.name))
    return Feed(source.name, source, header, assemble(table, target, time, drop)[0].columns, head, start)


def _header(source: Source) -> tuple[int, str]:
    for number in count(1):
        line = "".join(source.take(1))
        if line.strip() and not line.startswith("#"):
            return number, line
        if not line:
            break
    raise DataError(f"{source.name} is empty: it needs a header line with column names and rows of values below it")
