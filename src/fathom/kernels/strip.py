"""The covariances of a few rows with all rows, in NumPy with gradients: what inducing points need.

The inducing inputs are some of the rows of X, so K_uu is part of K_uf, and one oblong matrix holds both:

    K_uf = Σ_g  w_g[u] w_gᵀ ∘ A_g ∘ T(v_g),     diag(K_ff) = Σ_g c_g w_g² ∘ diag(A_g),     noise likewise.

As in `plan.py`, v_g lives on the distinct lags when the rows stand on a clock (a regular grid, gaps allowed). There K
times a vector is a convolution as well, and needs no matrix at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft

from fathom.kernels.base import Kernel
from fathom.kernels.lags import MERGE, Pairs
from fathom.kernels.leaves import ArcCos
from fathom.kernels.plan import Expansion, Group, Values, accumulate
from fathom.kernels.stationary import Slopes
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
        return np.abs(x[self.rows, None] - x).ravel()

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
        return values.take(self._index)

    def pull(self, matrix: np.ndarray) -> np.ndarray:
        return np.bincount(self._index.ravel(), weights=matrix.ravel(), minlength=self.n_ticks)

    def convolve(self, values: np.ndarray, b: np.ndarray) -> np.ndarray:
        """T(v) b over all pairs of rows: T is part of a circulant matrix over the ticks."""
        size = fft.next_fast_len(2 * self.n_ticks, real=True)
        around = np.zeros(size)
        around[: self.n_ticks] = values
        around[size - self.n_ticks + 1 :] = values[:0:-1]
        on_clock = np.bincount(self.ticks, weights=b, minlength=size)
        return fft.irfft(fft.rfft(around) * fft.rfft(on_clock), size)[self.ticks]


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


class Strip(Expansion):
    """Evaluates kernels of one structure between some rows of X and all of them."""

    def __init__(self, kernel: Kernel, X: np.ndarray, rows: np.ndarray, lags: CrossLags | None = None):
        X = np.asarray(X, dtype=float)
        super().__init__(kernel, X, cross_lags(X, rows) if lags is None else lags)
        self.rows = rows
        self._K = np.empty((len(rows), len(X)))
        self._H = np.empty_like(self._K)

    # -- forward -----------------------------------------------------------------------------------------------

    def _factor(self, node: Any, side: int, slopes: bool) -> tuple[np.ndarray, Slopes]:
        if isinstance(node, ArcCos):
            return node.evaluate(self.X[self.rows], self.X, False, np) / node.variance, {}
        return super()._factor(node, side, slopes)

    def evaluate(self, values: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K_uf (M, N), which the next evaluation overwrites, the variances of the function (N) and the noise (N)."""
        K, diagonal, noise = self._K, np.zeros(len(self.X)), np.zeros(len(self.X))
        fresh = True
        for g, group in enumerate(self.groups):
            w = self._weight(values, group)
            own = self._scale(values, group) * self._on_diagonal(values, group, w)
            if group.noise:
                noise += own
                continue
            diagonal += own
            v = self._profile(values, group)
            T = self.lags.expand(v) if np.ndim(v) else v
            values.products[g] = (w, T)
            if w is not None or group.matrices:
                T = np.multiply(self._weighted(values, group, w), T, out=self._H)
            np.copyto(K, T) if fresh else np.add(K, T, out=K)
            fresh = False
        if fresh:
            K[:] = 0
        return K, diagonal, noise

    def _scale(self, values: Values, group: Group) -> float:
        """The variance of a group where its weights are 1: stationary factors are 1 at lag zero."""
        return sum(self._coefficient(values, term) for term in group.terms)

    def _profile(self, values: Values, group: Group) -> Any:
        """v: the group as a function of the lag, a number when it is constant."""
        return sum(self._coefficient(values, term) * self._lag_product(values, term) for term in group.terms)

    def _weighted(self, values: Values, group: Group, w: np.ndarray | None) -> np.ndarray:
        """w_u wᵀ ∘ A, in a matrix that is used again: new memory costs more than filling it."""
        W = self._H
        if w is None:
            W[:] = 1
        else:
            np.multiply(w[self.rows, None], w, out=W)
        for place in group.matrices:
            W *= values.factor[place][0]
        return W

    def _on_diagonal(self, values: Values, group: Group, w: np.ndarray | None, but: Any = None) -> np.ndarray:
        """w² ∘ diag(A), leaving out the matrix at one place."""
        total = np.ones(len(self.X)) if w is None else w**2
        for place in group.matrices:
            if place != but:
                node = values.nodes[place[0]]
                total = total * node.evaluate_diag(self.X, False, np) / node.variance
        return total

    def multiply(self, values: Values, b: np.ndarray) -> np.ndarray:
        """K b over all rows, without noise, while K is never whole."""
        if not isinstance(self.lags, ClockLags) or any(group.matrices for group in self.groups):
            kernel, step = from_vector(self.kernel, values.vector, self.slots), max(1, int(BLOCK / len(self.X)))
            blocks = (self.X[i : i + step] for i in range(0, len(self.X), step))
            return np.concatenate([kernel.evaluate(rows, self.X, False, np) @ b for rows in blocks])
        out = np.zeros_like(b)
        for group in (group for group in self.groups if not group.noise):
            w, v = self._weight(values, group), self._profile(values, group)
            inner = b if w is None else w * b
            part = self.lags.convolve(v, inner) if np.ndim(v) else v * inner.sum()
            out += part if w is None else w * part
        return out

    # -- backward ----------------------------------------------------------------------------------------------

    def pull(self, values: Values, G: np.ndarray, by_diagonal: np.ndarray, by_noise: np.ndarray) -> np.ndarray:
        """The gradient in the parameters, given those in K_uf, in the variances and in the noise."""
        gradients: dict[tuple[int, str], Any] = {}
        for g, group in enumerate(self.groups):
            if not group.noise:
                self._pull_group(values, g, G, gradients)
            self._pull_diagonal(values, group, by_noise if group.noise else by_diagonal, gradients)
            for place in group.matrices:
                by = by_noise if group.noise else by_diagonal
                self._pull_matrix(values, g, place, None if group.noise else G, by, gradients)
        return self._gathered(gradients)

    def _pull_group(self, values: Values, g: int, G: np.ndarray, gradients: dict) -> None:
        group, (w, T) = self.groups[g], values.products[g]
        if w is not None and not group.matrices and not np.ndim(T):  # rank one: T w_u wᵀ
            left = w[self.rows] @ G
            self._pull_scales(values, group, lambda term: float(left @ w) * self._coefficient(values, term), gradients)
            left *= T
            left[self.rows] += T * (G @ w)
            self._pull_weights(values, group, left, gradients)
            return
        H = G
        if w is not None or group.matrices:
            H = self._weighted(values, group, w)
            H *= G
        pulled = self.lags.pull(H) if np.ndim(T) else np.atleast_1d(H.sum())
        for term in group.terms:
            self._pull_term(values, term, group, pulled, gradients)
        if w is not None:
            S = np.multiply(G, T, out=self._H)
            for place in group.matrices:
                S *= values.factor[place][0]
            by_weight = w[self.rows] @ S
            by_weight[self.rows] += S @ w
            self._pull_weights(values, group, by_weight, gradients)

    def _pull_diagonal(self, values: Values, group: Group, by: np.ndarray, gradients: dict) -> None:
        """Through c w² ∘ diag(A): scales and weights."""
        w = self._weight(values, group)
        share = float(by @ self._on_diagonal(values, group, w))
        self._pull_scales(values, group, lambda term: share * self._coefficient(values, term), gradients)
        if w is not None:
            others = self._on_diagonal(values, group, None)
            self._pull_weights(values, group, 2 * self._scale(values, group) * by * others * w, gradients)

    def _pull_matrix(self, values: Values, g: int, place: Any, G: Any, by: np.ndarray, gradients: dict) -> None:
        """Arc-cosine, which no search uses: the cotangent goes through a matrix over all pairs."""
        group = self.groups[g]
        w = self._weight(values, group)
        H = np.zeros((len(self.X), len(self.X)))
        if G is not None:
            rest = Group(group.weights, tuple(p for p in group.matrices if p != place))
            H[self.rows] = G * self._weighted(values, rest, w) * values.products[g][1]
        H = (H + H.T) / 2
        H.flat[:: len(H) + 1] += self._scale(values, group) * by * self._on_diagonal(values, group, w, but=place)
        node: Any = values.nodes[place[0]]
        accumulate(gradients, place[0], "lengthscale", node.pull_lengthscale(self.X, H))
