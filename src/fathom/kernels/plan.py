"""The covariances of all rows with all rows, in NumPy with gradients and without compilation: what exact GPs need.

`gram` builds K from the groups of an `Expansion`; `pull` takes the matrix G = ∂L/∂K back to the parameters: a lag sum
for v_g, a matrix-vector product for w_g, the way back of a dense kernel for A_g. Only the lower triangles of K and G
are kept, and they are filled by blocks of rows that stay in the cache.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from fathom.kernels.base import Gradients, Kernel
from fathom.kernels.expansion import Expansion, Formed, Group, Place, Values, without
from fathom.kernels.lags import BLOCK, WHOLE, Lags, lags_of


class Plan(Expansion[Lags]):
    """Evaluates kernels of one structure at one set of inputs X (N, D)."""

    def __init__(self, kernel: Kernel, X: np.ndarray, lags: Lags | None = None):
        X = np.asarray(X, dtype=float)
        super().__init__(kernel, X, lags_of(X) if lags is None else lags, slice(None), True)
        n = len(X)
        self._storage = np.zeros(n * n + n)  # n zeros behind the matrix: `Lags.pull` reads rows one longer
        self._spare = np.zeros(n * n + n)
        self._blocks = [slice(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)] if n > WHOLE else [slice(0, n)]
        self._scratch = [np.empty((self._blocks[0].stop, n)) for _ in range(2)]
        self.K = self._storage[: n * n].reshape(n, n)
        self._H = self._spare[: n * n].reshape(n, n)

    # -- forward -----------------------------------------------------------------------------------------------

    def gram(self, values: Values) -> np.ndarray:
        """Fills and returns the plan's matrix: the lower triangle of K, the rest undefined."""
        K, fresh = self.K, True
        diagonal = np.zeros(len(K))
        for g, group in enumerate(self.groups):
            w = self._weight(values, group)
            if group.noise:
                diagonal += self._noise(values, group, w)
                continue
            self._add_group(values, g, w, fresh)
            fresh = False
        if fresh:
            K[:] = 0
        K.flat[:: len(K) + 1] += diagonal
        return K

    def _add_group(self, values: Values, g: int, w: np.ndarray | None, fresh: bool) -> None:
        """K += w wᵀ ∘ A ∘ T(v), or K = … when it is the first."""
        group, K = self.groups[g], self.K
        v = self._profile(values, group)
        if not isinstance(v, np.ndarray) and w is not None and not group.matrices:
            if fresh:
                K[:] = 0
            blas.dsyr(v, w, lower=0, a=K.T, overwrite_a=1)
            values.formed[g] = Formed(w, v, None)
            return
        T = self.lags.rows_of(v) if isinstance(v, np.ndarray) else lambda _: np.asarray(v)
        values.formed[g] = Formed(w, v, T)
        for rows in self._blocks:
            block, part = K[rows, : rows.stop], T(rows)
            W = self._weighted(values, group.matrices, w, rows)
            if W is not None:
                part = np.multiply(W, part, out=block if fresh else W)
            if fresh and W is None:
                np.copyto(block, part)
            elif not fresh:
                np.add(block, part, out=block)

    def _weighted(
        self, values: Values, matrices: tuple[Place, ...], w: np.ndarray | None, rows: slice
    ) -> np.ndarray | None:
        """w wᵀ ∘ A in a block of rows; None when there is neither. In scratch memory: new memory costs more."""
        W = self._block(0, rows)
        if w is not None:
            np.multiply(w[rows, None], w[: rows.stop], out=W)
        elif matrices:
            W.fill(1.0)
        for place in matrices:
            np.multiply(W, values.whole[place].matrix[rows, : rows.stop], out=W)
        return W if w is not None or matrices else None

    def _block(self, i: int, rows: slice) -> np.ndarray:
        return self._scratch[i][: rows.stop - rows.start, : rows.stop]

    def _noise(self, values: Values, group: Group, w: np.ndarray | None) -> np.ndarray | float:
        """Of a noise term only scales, weights and diagonals are left."""
        return self._scale(values, group) * self._on_diagonal(values, group.matrices, w)

    def _on_diagonal(self, values: Values, matrices: tuple[Place, ...], w: np.ndarray | None) -> np.ndarray:
        """w² ∘ diag(A)"""
        total = np.ones(len(self.K)) if w is None else w**2
        for place in matrices:
            total = total * values.whole[place].matrix.diagonal()
        return total

    # -- backward ----------------------------------------------------------------------------------------------

    def pull(self, values: Values) -> np.ndarray:
        """Σ_ij G_ij ∂K_ij/∂θ for a symmetric G whose lower triangle stands in `self.K`, zeros above."""
        gradients: Gradients = {}
        for g, group in enumerate(self.groups):
            if group.noise:
                self._pull_noise(values, group, gradients)
            else:
                self._pull_group(values, g, gradients)
        return self._gathered(gradients)

    def _pull_group(self, values: Values, g: int, gradients: Gradients) -> None:
        group, G = self.groups[g], self.K
        w, v, T = values.formed[g]
        if w is not None and T is None:  # rank one: v w wᵀ
            Gw = blas.dsymv(1.0, G.T, w, lower=0)
            self._pull_coefficients(values, group, float(w @ Gw), gradients)
            self._pull_weights(values, group, 2 * v * Gw, gradients)
            return
        weighted = w is not None or bool(group.matrices)
        for rows in self._blocks:
            if (W := self._weighted(values, group.matrices, w, rows)) is not None:
                np.multiply(G[rows, : rows.stop], W, out=self._H[rows, : rows.stop])
        pulled = self.lags.pull(self._spare if weighted else self._storage)
        self._pull_lags(values, group, pulled, gradients)
        if w is not None:
            self._pull_weights(values, group, 2 * self._by_weight(values, g, w), gradients)
        for place in group.matrices:
            self._pull_matrix(values, g, place, gradients)

    def _by_weight(self, values: Values, g: int, w: np.ndarray) -> np.ndarray:
        """(G ∘ T ∘ A) w for the symmetric G."""
        found = np.zeros(len(w))
        for rows in self._blocks:
            S = np.multiply(self.K[rows, : rows.stop], self._lag_block(values, g, rows), out=self._block(1, rows))
            for place in self.groups[g].matrices:
                S *= values.whole[place].matrix[rows, : rows.stop]
            found[rows] += S @ w[: rows.stop]
            found[: rows.stop] += w[rows] @ S
            found[rows] -= S[:, rows].diagonal() * w[rows]
        return found

    def _lag_block(self, values: Values, g: int, rows: slice) -> np.ndarray:
        T = values.formed[g].lags
        assert T is not None
        return T(rows)

    def _pull_noise(self, values: Values, group: Group, gradients: Gradients) -> None:
        by_noise, w = self.K.diagonal().copy(), self._weight(values, group)
        scale, own = self._scale(values, group), self._on_diagonal(values, group.matrices, None)
        share = by_noise * own
        self._pull_coefficients(values, group, float(share.sum() if w is None else share @ w**2), gradients)
        if w is not None:
            self._pull_weights(values, group, 2 * scale * share * w, gradients)
        for place in group.matrices:
            others = scale * self._on_diagonal(values, without(group.matrices, place), w)
            _, pull = values.whole[place].diagonal(self.X, True)
            self._add_pulled(place, pull(by_noise * others), gradients)

    def _pull_matrix(self, values: Values, g: int, place: Place, gradients: Gradients) -> None:
        """The cotangent of a dense kernel is G times everything else in the group; its scale is in the profile."""
        group, G, pull = self.groups[g], self.K, values.whole[place].pull
        H = G * self._lag_block(values, g, slice(0, len(G)))
        if (w := values.formed[g].weight) is not None:
            H *= np.multiply.outer(w, w)
        for other in without(group.matrices, place):
            H *= values.whole[other].matrix
        assert pull is not None
        self._add_pulled(place, pull(H + np.tril(H, -1).T), gradients)
