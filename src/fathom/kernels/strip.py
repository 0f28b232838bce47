"""The covariances of a few rows with all rows, in NumPy with gradients: what inducing points need.

The inducing inputs are some of the rows of X, so K_uu is part of K_uf, and one oblong matrix holds both:

    K_uf = Σ_g  w_g[u] w_gᵀ ∘ A_g ∘ T(v_g),     diag(K_ff) = Σ_g c_g w_g² ∘ diag(A_g),     noise likewise.

As for all rows (`plan.py`), v_g lives on the distinct lags when the rows stand on a clock (a regular grid, gaps
allowed). There K times a vector is a convolution as well, and needs no matrix at all.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from fathom.kernels.base import Gradients, Kernel, walk
from fathom.kernels.expansion import Expansion, Formed, Group, Place, Term, Values, without
from fathom.kernels.lags import MERGE, Pairs
from fathom.kernels.stationary import WN
from fathom.kernels.vector import from_vector

MOST_TICKS = 40  # of a clock for each row: enough for days between months
BLOCK = 2e6  # entries of K at once, when K times a vector needs them


class CrossLags(Pairs):
    """The lags of some rows with all rows of X; the general case: every pair is its own."""

    def __init__(self, X: np.ndarray, rows: np.ndarray):
        super().__init__()
        self.X, self.rows, self.shape = X, rows, (len(rows), len(X))

    def _differences(self, column: int) -> np.ndarray:
        x = self.X[:, column]
        lags: np.ndarray = np.abs(x[self.rows, None] - x)
        return lags.ravel()

    def expand(self, values: np.ndarray) -> np.ndarray:
        """The M×N matrix of a vector over lags."""
        return values.reshape(self.shape)

    def pull(self, matrix: np.ndarray) -> np.ndarray:
        """Its adjoint: sums over the pairs of each lag."""
        return matrix.ravel()


class ClockLags(CrossLags):
    """One input whose values are ticks of a clock."""

    def __init__(self, X: np.ndarray, rows: np.ndarray, ticks: np.ndarray, step: float):
        super().__init__(X, rows)
        self.ticks, self.step, self.n_ticks = ticks, step, int(ticks.max()) + 1
        self._index = np.abs(ticks[rows, None] - ticks)

    def _differences(self, column: int) -> np.ndarray:
        return self.step * np.arange(self.n_ticks)

    def expand(self, values: np.ndarray) -> np.ndarray:
        return np.take(values, self._index)

    def pull(self, matrix: np.ndarray) -> np.ndarray:
        return np.bincount(self._index.ravel(), weights=matrix.ravel(), minlength=self.n_ticks)

    def convolve(self, values: np.ndarray, b: np.ndarray) -> np.ndarray:
        """T(v) b over all pairs of rows: T is part of a circulant matrix over the ticks."""
        size = fft.next_fast_len(2 * self.n_ticks, real=True)
        around = np.zeros(size)
        around[: self.n_ticks] = values
        around[size - self.n_ticks + 1 :] = values[:0:-1]
        on_clock = np.bincount(self.ticks, weights=b, minlength=size)
        on_ticks: np.ndarray = fft.irfft(fft.rfft(around) * fft.rfft(on_clock), size)
        return on_ticks[self.ticks]


def cross_lags(X: np.ndarray, rows: np.ndarray) -> CrossLags:
    """The most economical description of the pairs of some rows with all rows of X (N, D)."""
    found = clock(X[:, 0]) if X.shape[1] == 1 else None
    return CrossLags(X, rows) if found is None else ClockLags(X, rows, *found)


def clock(x: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Whole numbers (N) and a step whose multiples the values are, up to rounding; None when there is no such step.

    The step is the greatest common divisor of the gaps, by Euclid's algorithm.
    """
    gaps = np.diff(np.unique(x))
    if len(gaps) < 2:
        return None
    tolerance, smallest = MERGE * float(np.median(gaps)), float(np.ptp(x)) / (MOST_TICKS * len(x))
    gaps = gaps[gaps > tolerance]
    step = float(gaps.min())
    for gap in gaps.tolist():
        while gap > tolerance and step >= smallest:
            low, high = sorted((gap, step))
            gap, step = abs(high - low * round(high / low)), low
    if step < smallest:
        return None
    ticks = np.round((x - x.min()) / step)
    step = float(np.ptp(x)) / float(ticks.max())
    return (ticks.astype(np.intp), step) if np.abs(x - x.min() - step * ticks).max() <= MERGE * step else None


class Strip(Expansion[CrossLags]):
    """Evaluates kernels of one structure between some rows of X and all of them."""

    def __init__(self, kernel: Kernel, X: np.ndarray, rows: np.ndarray, lags: CrossLags | None = None):
        X = np.asarray(X, dtype=float)
        super().__init__(kernel, X, cross_lags(X, rows) if lags is None else lags, rows, False)
        self.rows = rows
        nodes = list(walk(self.kernel))
        self._noisy = {p for p in self._matrices if any(isinstance(node, WN) for node in walk(nodes[p[0]]))}
        self._K = np.empty((len(rows), len(X)))
        self._H = np.empty_like(self._K)

    # -- forward -----------------------------------------------------------------------------------------------

    def evaluate(self, values: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K_uf (M, N), which the next evaluation overwrites, the variances of the function (N) and the noise (N)."""
        K, diagonal, noise = self._K, np.zeros(len(self.X)), np.zeros(len(self.X))
        fresh = True
        for g, group in enumerate(self.groups):
            w, scale = self._weight(values, group), self._scale(values, group)
            if group.noise:
                noise += scale * self._on_diagonal(values, group.matrices, w, True)
                continue
            own = scale * self._on_diagonal(values, group.matrices, w, False)
            diagonal += own
            if self._noisy.intersection(group.matrices):
                noise += scale * self._on_diagonal(values, group.matrices, w, True) - own
            T = self._lag_matrix(values, g, w)
            if w is not None or group.matrices:
                T = np.multiply(self._weighted(values, group.matrices, w), T, out=self._H)
            np.copyto(K, T) if fresh else np.add(K, T, out=K)
            fresh = False
        if fresh:
            K[:] = 0
        return K, diagonal, noise

    def _lag_matrix(self, values: Values, g: int, w: np.ndarray | None) -> np.ndarray:
        """T(v), of no dimension when the group is constant."""
        v = self._profile(values, self.groups[g])
        T = self.lags.expand(v) if isinstance(v, np.ndarray) else np.asarray(v)
        values.formed[g] = Formed(w, v, lambda _: T)
        return T

    def _weighted(self, values: Values, matrices: Term, w: np.ndarray | None) -> np.ndarray:
        """w_u wᵀ ∘ A, in a matrix that is used again: new memory costs more than filling it."""
        W = self._H
        if w is None:
            W[:] = 1
        else:
            np.multiply(w[self.rows, None], w, out=W)
        for place in matrices:
            W *= values.whole[place].matrix
        return W

    def _on_diagonal(self, values: Values, matrices: Term, w: np.ndarray | None, same: bool) -> np.ndarray:
        """w² ∘ diag(A), with the noise of operands when `same`."""
        total = np.ones(len(self.X)) if w is None else w**2
        for place in matrices:
            total = total * values.whole[place].diagonal(self.X, same)[0]
        return total

    def multiply(self, values: Values, b: np.ndarray) -> np.ndarray:
        """K b over all rows, without noise, while K is never whole."""
        if not isinstance(self.lags, ClockLags) or self._matrices:
            kernel, step = from_vector(self.kernel, values.vector, self.slots), max(1, int(BLOCK / len(self.X)))
            blocks = (self.X[i : i + step] for i in range(0, len(self.X), step))
            return np.concatenate([kernel.evaluate(rows, self.X, False, np) @ b for rows in blocks])
        out = np.zeros_like(b)
        for group in (group for group in self.groups if not group.noise):
            w, v = self._weight(values, group), self._profile(values, group)
            inner = b if w is None else w * b
            part = self.lags.convolve(v, inner) if isinstance(v, np.ndarray) else v * inner.sum()
            out += part if w is None else w * part
        return out

    # -- backward ----------------------------------------------------------------------------------------------

    def pull(self, values: Values, G: np.ndarray, by_diagonal: np.ndarray, by_noise: np.ndarray) -> np.ndarray:
        """The gradient in the parameters, given those in K_uf, in the variances and in the noise."""
        gradients: Gradients = {}
        for g, group in enumerate(self.groups):
            if group.noise:
                self._pull_diagonal(values, group, by_noise, True, gradients)
                continue
            self._pull_group(values, g, G, gradients)
            for place in group.matrices:
                self._pull_matrix(values, g, place, G, gradients)
            if self._noisy.intersection(group.matrices):  # their noise is what `same` adds to the diagonal
                self._pull_diagonal(values, group, by_diagonal - by_noise, False, gradients)
                self._pull_diagonal(values, group, by_noise, True, gradients)
            else:
                self._pull_diagonal(values, group, by_diagonal, False, gradients)
        return self._gathered(gradients)

    def _pull_group(self, values: Values, g: int, G: np.ndarray, gradients: Gradients) -> None:
        group, w, T = self.groups[g], values.formed[g].weight, self._formed_lags(values, g)
        if w is not None and not group.matrices and not T.ndim:  # rank one: T w_u wᵀ
            left = w[self.rows] @ G
            self._pull_coefficients(values, group, float(left @ w), gradients)
            left *= T
            left[self.rows] += T * (G @ w)
            self._pull_weights(values, group, left, gradients)
            return
        H = G
        if w is not None or group.matrices:
            H = self._weighted(values, group.matrices, w)
            H *= G
        pulled = self.lags.pull(H) if T.ndim else np.atleast_1d(H.sum())
        self._pull_lags(values, group, pulled, gradients)
        if w is not None:
            S = np.multiply(G, T, out=self._H)
            for place in group.matrices:
                S *= values.whole[place].matrix
            by_weight = w[self.rows] @ S
            by_weight[self.rows] += S @ w
            self._pull_weights(values, group, by_weight, gradients)

    def _formed_lags(self, values: Values, g: int) -> np.ndarray:
        T = values.formed[g].lags
        assert T is not None
        return T(slice(None))

    def _pull_diagonal(self, values: Values, group: Group, by: np.ndarray, same: bool, gradients: Gradients) -> None:
        """Through c w² ∘ diag(A): scales, weights and dense kernels."""
        w, scale = self._weight(values, group), self._scale(values, group)
        share = float(by @ self._on_diagonal(values, group.matrices, w, same))
        self._pull_coefficients(values, group, share, gradients)
        if w is not None:
            others = self._on_diagonal(values, group.matrices, None, same)
            self._pull_weights(values, group, 2 * scale * by * others * w, gradients)
        for place in group.matrices:
            others = self._on_diagonal(values, without(group.matrices, place), w, same)
            _, pull = values.whole[place].diagonal(self.X, same)
            self._add_pulled(place, pull(scale * by * others), gradients)

    def _pull_matrix(self, values: Values, g: int, place: Place, G: np.ndarray, gradients: Gradients) -> None:
        """The cotangent of a dense kernel is G times everything else in the group; its scale is in the profile."""
        rest, pull = without(self.groups[g].matrices, place), values.whole[place].pull
        assert pull is not None
        H = G * self._weighted(values, rest, values.formed[g].weight) * self._formed_lags(values, g)
        self._add_pulled(place, pull(H), gradients)
