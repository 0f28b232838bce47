"""Pairs of observations, as far as a stationary kernel can tell them apart.

On a regular grid of N times there are only N distinct lags, so a stationary kernel is N numbers, not N². `expand`
turns a vector over the lags into the matrix over pairs, `pull` is its adjoint: it sums a matrix over the pairs of
each lag. Matrices are symmetric and given by their lower triangle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WHOLE, BLOCK = 256, 64  # matrices of more rows are filled by blocks of so many: those stay in the cache
MERGE = 1e-6  # lags closer than this part of the median step are one lag


class Pairs:
    """What lags are asked for again and again, kept: the lags of an input, and the squares of several."""

    def __init__(self) -> None:
        self._lags: dict[int, np.ndarray] = {}
        self._squares: dict[tuple[int, ...], np.ndarray] = {}

    def lag(self, column: int) -> np.ndarray:
        """The lags τ of one input (U)."""
        if column not in self._lags:
            self._lags[column] = self._differences(column)
        return self._lags[column]

    def squares(self, columns: tuple[int, ...]) -> np.ndarray:
        """The squared lags of several inputs (d, U)."""
        if columns not in self._squares:
            self._squares[columns] = np.stack([self._differences(c) ** 2 for c in columns])
        return self._squares[columns]

    def _differences(self, column: int) -> np.ndarray:
        raise NotImplementedError


class Lags(Pairs):
    """Distinct lags of the rows of X; the general case: every pair is its own."""

    def __init__(self, X: np.ndarray):
        super().__init__()
        self.X, self.n = X, len(X)
        self._rows, self._columns = np.tril_indices(self.n)
        self._flat = self._rows * self.n + self._columns
        self._count = np.where(self._rows == self._columns, 1.0, 2.0)

    def _differences(self, column: int) -> np.ndarray:
        x = self.X[:, column]
        lags: np.ndarray = np.abs(x[self._rows] - x[self._columns])
        return lags

    def expand(self, values: np.ndarray) -> np.ndarray:
        """The N×N matrix of a vector over lags: lower triangle, zeros above."""
        matrix = np.zeros(self.n * self.n)
        matrix[self._flat] = values
        return matrix.reshape(self.n, self.n)

    def rows_of(self, values: np.ndarray) -> Callable[[slice], np.ndarray]:
        """The same by blocks of rows, up to the diagonal: a function of the rows."""
        matrix = self.expand(values)
        return lambda rows: matrix[rows, : rows.stop]

    def pull(self, padded: np.ndarray) -> np.ndarray:
        """Sums over all ordered pairs of each lag; `padded` is a lower triangle, flat, with n zeros behind it."""
        sums: np.ndarray = padded[self._flat] * self._count
        return sums


class DistinctLags(Lags):
    """One input whose pairs share far fewer lags: a grid with gaps, or times on a common clock."""

    def __init__(self, X: np.ndarray, index: np.ndarray, values: np.ndarray):
        super().__init__(X)
        self._values = values
        self._index = np.zeros((self.n, self.n), dtype=np.intp)
        self._index[self._rows, self._columns] = index
        self._index[self._columns, self._rows] = index
        self._lower = index
        starts = range(0, self.n, BLOCK) if self.n > WHOLE else ()
        self._blocks = {i: np.ascontiguousarray(self._index[i : i + BLOCK, : i + BLOCK]) for i in starts}

    def _differences(self, column: int) -> np.ndarray:
        return self._values

    def expand(self, values: np.ndarray) -> np.ndarray:
        return values[self._index]

    def rows_of(self, values: np.ndarray) -> Callable[[slice], np.ndarray]:
        if self.n <= WHOLE:
            return super().rows_of(values)

        def block(rows: slice) -> np.ndarray:  # gathering twice is cheaper than keeping
            known = rows.stop - rows.start <= BLOCK
            return values.take(self._blocks[rows.start] if known else self._index[rows, : rows.stop])

        return block

    def pull(self, padded: np.ndarray) -> np.ndarray:
        if self.n <= WHOLE:
            weights = padded[self._flat] * self._count
            return np.bincount(self._lower, weights=weights, minlength=len(self._values))
        lower = padded[: self.n**2]  # zeros above; all but the diagonal, whose lag is the first, stand for two pairs
        sums = 2 * np.bincount(self._index.ravel(), weights=lower, minlength=len(self._values))
        sums[0] -= lower[:: self.n + 1].sum()
        return sums


class RegularLags(Lags):
    """One input on a regular, sorted grid: matrices are Toeplitz, and need not be formed."""

    def __init__(self, X: np.ndarray, step: float):
        Pairs.__init__(self)  # no pairs to list
        self.X, self.n, self._step = X, len(X), step
        self._ones = np.ones(self.n)

    def _differences(self, column: int) -> np.ndarray:
        return self._step * np.arange(self.n)

    def expand(self, values: np.ndarray) -> np.ndarray:
        mirrored = np.concatenate([values[:0:-1], values])
        stride = mirrored.itemsize  # `as_strided` would be clearer, and takes as long as the sum of two such matrices
        return np.ndarray((self.n, self.n), float, mirrored, (self.n - 1) * stride, (-stride, stride))

    def pull(self, padded: np.ndarray) -> np.ndarray:
        # read with rows one longer, each diagonal of the matrix becomes a column: lag k is column n+1−k
        columns = self._ones @ padded.reshape(self.n, self.n + 1)
        sums = np.empty(self.n)
        sums[0] = columns[0]
        sums[1:] = 2 * columns[:1:-1]
        return sums


def lags_of(X: np.ndarray) -> Lags:
    """The most economical description of the pairs of rows of X (N, D)."""
    if X.shape[1] != 1 or len(X) < 3:
        return Lags(X)
    x = X[:, 0]
    steps = np.diff(x)
    step = (x[-1] - x[0]) / (len(x) - 1)
    if step > 0 and np.abs(x - x[0] - step * np.arange(len(x))).max() <= MERGE * step:
        return RegularLags(X, step)
    moves = np.abs(steps)[steps != 0]
    tolerance = MERGE * (float(np.median(moves)) if len(moves) else 1.0)
    rows, columns = np.tril_indices(len(x))
    differences = np.abs(x[rows] - x[columns])
    _, index, count = np.unique(np.round(differences / tolerance), return_inverse=True, return_counts=True)
    if len(count) > len(differences) / 2:
        return Lags(X)
    return DistinctLags(X, index, np.bincount(index, weights=differences) / count)
