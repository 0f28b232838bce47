"""The one type that every model predicts: a finite mixture of Gaussians for each row and output.

The mixture density of an entry is ``p(y) = Σ_k w_k N(y; m_k, v_k)``. A component with ``v_k = 0`` is a
point mass at ``m_k``; every method below is exact in that limit too. Shape letters: N rows, P outputs,
K components (always the last axis, and never in an answer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, ndtr, ndtri

Array: TypeAlias = NDArray[np.float64]

_LOG_2PI = float(np.log(2 * np.pi))
_ROUNDING = 1e-9  # a variance this far below zero, relative to the prior scale, is only rounding
_EPS = float(np.finfo(float).eps)
_MAX_STEPS = 200


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Predictive:
    """Gaussian mixture over rows, and over outputs where there are several.

    - `weights`: (K,), or broadcastable to `means` with K last; normalised to sum to one over K.
    - `means`, `variances`: (N, K) for one output, (N, P, K) for P outputs.

    Entries are marginal distributions: nothing is said about dependence between rows or outputs.
    """

    weights: Array
    means: Array
    variances: Array

    def __init__(self, weights: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        checked = _check_means(means)
        for name, value in (
            ("weights", _check_weights(weights, checked.shape)),
            ("means", checked),
            ("variances", _check_variances(variances, checked.shape)),
        ):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def gaussian(cls, mean: ArrayLike, variance: ArrayLike) -> Predictive:
        """One Gaussian for each entry: `mean` and `variance` are (N,) or (N, P)."""
        mean, variance = np.asarray(mean, float), np.asarray(variance, float)
        if mean.shape != variance.shape:
            raise ValueError(f"mean has shape {mean.shape} but variance has shape {variance.shape}")
        if mean.ndim not in (1, 2):
            raise ValueError(f"mean must have shape (N,) or (N, P), got {mean.shape}")
        return cls([1.0], mean[..., None], variance[..., None])

    @classmethod
    def mixture(cls, predictives: Sequence[Predictive], weights: ArrayLike | None = None) -> Predictive:
        """Model average `Σ_m a_m p_m(y)`: `weights` a is (M,), equal when None; components are pooled."""
        if not predictives:
            raise ValueError("a mixture needs at least one predictive")
        for other in predictives[1:]:
            if other.shape != predictives[0].shape:
                raise ValueError(f"predictives must share a shape, got {predictives[0].shape} and {other.shape}")
        size = len(predictives)
        outer = _check_weights(np.ones(size) if weights is None else weights, (size,))
        if all(p.weights.ndim == 1 for p in predictives):
            inner = [p.weights for p in predictives]
        else:
            inner = [p._full_weights() for p in predictives]
        return cls(
            np.concatenate([a * w for a, w in zip(outer, inner, strict=True)], axis=-1),
            np.concatenate([p.means for p in predictives], axis=-1),
            np.concatenate([p.variances for p in predictives], axis=-1),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """(N,) or (N, P): the shape of every answer."""
        return self.means.shape[:-1]

    @property
    def n_components(self) -> int:
        """K, the number of Gaussians in each mixture."""
        return self.means.shape[-1]

    def __len__(self) -> int:
        return len(self.means)

    def __repr__(self) -> str:
        outputs = self.shape[1] if len(self.shape) == 2 else 1
        return f"Predictive(rows={len(self)}, outputs={outputs}, components={self.n_components})"

    def __getitem__(self, rows: int | slice | ArrayLike) -> Predictive:
        """The chosen rows, by slice, integers or boolean mask; a single integer keeps the row axis."""
        if isinstance(rows, tuple):
            raise IndexError("a Predictive is indexed by rows only, got more than one index")
        index = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if isinstance(index, np.ndarray):
            if index.ndim > 1:
                raise IndexError(f"row index must be one-dimensional, got shape {index.shape}")
            # An empty list becomes a float array, which NumPy would refuse as an index.
            index = index.astype(int) if index.size == 0 and index.dtype != bool else index
        weights = self.weights if self.weights.ndim == 1 else self.weights[index]
        return Predictive(weights, self.means[index], self.variances[index])

    def affine(self, shift: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> Predictive:
        """The distribution of `shift + scale·Y`; each is a scalar, (P,) or of the full shape."""
        a = self._entries("shift", shift)[..., None]
        b = self._entries("scale", scale)[..., None]
        with np.errstate(over="ignore", invalid="ignore"):  # the constructor names the row instead
            return Predictive(self.weights, a + b * self.means, b**2 * self.variances)

    def mean(self) -> Array:
        """`Σ_k w_k m_k`."""
        return np.sum(self.weights * self.means, axis=-1)

    def var(self) -> Array:
        """`Σ_k w_k (v_k + (m_k − m̄)²)`: the centred form, which does not cancel."""
        spread = (self.means - self.mean()[..., None]) ** 2
        return np.sum(self.weights * (self.variances + spread), axis=-1)

    def std(self) -> Array:
        """Square root of `var`."""
        return np.sqrt(self.var())

    def cdf(self, y: ArrayLike) -> Array:
        """`F(y) = Σ_k w_k Φ((y − m_k)/s_k)`, right-continuous at point masses; NaN where y is NaN."""
        z = _standardise(self._residual(y), np.sqrt(self.variances), tie=np.inf)
        return np.minimum(np.sum(self.weights * ndtr(z), axis=-1), 1.0)

    def quantile(self, q: ArrayLike) -> Array:
        """Smallest x with `F(x) ≥ q`, of shape `shape`; a sequence of levels adds a leading axis."""
        levels = np.asarray(q, float)
        if levels.ndim > 1:
            raise ValueError(f"q must be a number or a sequence of numbers, got shape {levels.shape}")
        bad = ~((levels >= 0) & (levels <= 1))
        if bad.any():
            raise ValueError(f"quantile levels must lie in [0, 1], got {levels[bad][0]}")
        size = (-1, self.n_components) if self.means.size else (0, self.n_components)
        w, m, s = (a.reshape(size) for a in (self._full_weights(), self.means, np.sqrt(self.variances)))
        answers = [_mixture_quantile(w, m, s, level) for level in levels.ravel().tolist()]
        return np.array(answers, float).reshape(levels.shape + self.shape)

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Central interval (lower, upper): the `(1 ∓ level)/2` quantiles."""
        if not 0 <= level <= 1:
            raise ValueError(f"level must lie in [0, 1], got {level}")
        lower, upper = self.quantile([(1 - level) / 2, (1 + level) / 2])
        return lower, upper

    def log_prob(self, y: ArrayLike) -> Array:
        """`log Σ_k w_k N(y; m_k, v_k)`; a point mass gives +inf at its point; NaN where y is NaN."""
        residual, s = self._residual(y), np.sqrt(self.variances)
        z = _standardise(residual, s, tie=0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_density = -0.5 * z**2 - np.log(s) - 0.5 * _LOG_2PI
            log_density = np.where((s == 0) & (residual != 0), -np.inf, log_density)
            # A component of no weight must not win through an infinite density: −inf + inf is NaN.
            terms = np.where(self.weights > 0, np.log(self.weights) + log_density, -np.inf)
        return np.where(np.isnan(residual[..., 0]), np.nan, _log_sum_exp(terms))

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability score `∫(F(x) − 1{y ≤ x})² dx = E|Y − y| − ½E|Y − Y'|`.

        Both expectations are sums of `A(m, v) = E|N(m, v)|` over components and pairs of components.
        NaN where y is NaN.
        """
        error = np.sum(self.weights * _mean_absolute(self._residual(y), self.variances), axis=-1)
        return np.maximum(error - 0.5 * self._mean_difference(), 0.0)

    def sample(self, n: int, seed: int | np.random.Generator) -> Array:
        """`n` independent draws of every entry, (n, N) or (n, N, P)."""
        if n < 0:
            raise ValueError(f"the number of samples must not be negative, got {n}")
        rng = np.random.default_rng(seed)
        uniform = rng.random((n, *self.shape))
        total = np.cumsum(self._full_weights(), axis=-1)
        # Dividing makes the last steps exactly one, so a trailing component of no weight is never drawn.
        total = total / total[..., -1:]
        chosen = np.zeros(uniform.shape, dtype=np.intp)
        for k in range(self.n_components - 1):
            chosen += uniform >= total[..., k]
        chosen = np.moveaxis(chosen, 0, -1)
        means, variances = (np.take_along_axis(a, chosen, axis=-1) for a in (self.means, self.variances))
        noise = np.moveaxis(rng.standard_normal(uniform.shape), 0, -1)
        return np.moveaxis(means + np.sqrt(variances) * noise, -1, 0)

    def _full_weights(self) -> Array:
        return np.broadcast_to(self.weights, self.means.shape)

    def _entries(self, name: str, value: ArrayLike) -> Array:
        """`value` as an array of shape `shape`."""
        array = np.asarray(value, float)
        try:
            return np.broadcast_to(array, self.shape)
        except ValueError:
            raise ValueError(f"{name} has shape {array.shape} but the predictive has shape {self.shape}") from None

    def _residual(self, y: ArrayLike) -> Array:
        """`y − m_k`, of the shape of `means`."""
        return self._entries("y", y)[..., None] - self.means

    def _mean_difference(self) -> Array:
        """`E|Y − Y'| = Σ_ij w_i w_j A(m_i − m_j, v_i + v_j)` for independent Y, Y'.

        Pairs are visited by lag j − i, each once, so that memory stays at a few arrays of N·P·K.
        """
        k, w, m, v = self.n_components, self.weights, self.means, self.variances
        total = np.zeros(self.shape)
        for lag in range(k):
            i, j = slice(0, k - lag), slice(lag, k)
            pairs = _mean_absolute(m[..., i] - m[..., j], v[..., i] + v[..., j])
            total += (2.0 if lag else 1.0) * np.sum(w[..., i] * w[..., j] * pairs, axis=-1)
        return total


def _check_means(means: ArrayLike) -> Array:
    array = np.array(means, float)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"means must have shape (N, K) or (N, P, K), got {array.shape}; "
            "use Predictive.gaussian for one Gaussian in each row"
        )
    if array.shape[-1] == 0:
        raise ValueError(f"a mixture needs at least one component, got means of shape {array.shape}")
    _refuse_row("means must be finite", array, ~np.isfinite(array))
    return array


def _check_variances(variances: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Finite and not negative; what rounding alone has pushed below zero is put back at zero."""
    array = np.array(variances, float)
    if array.shape != shape:
        raise ValueError(f"variances have shape {array.shape} but means have shape {shape}")
    _refuse_row("variances must be finite", array, ~np.isfinite(array))
    # A variance is a difference from the prior's, so its rounding is relative to the largest of the
    # same output. All may be near zero (noise-free, at the data): hence the floor of one.
    scale = np.max(array, axis=(0, -1), keepdims=True, initial=1.0)
    _refuse_row("variances must not be negative", array, array < -_ROUNDING * scale)
    return np.maximum(array, 0.0)


def _check_weights(weights: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Normalised weights: (K,) stays so, anything else takes the full `shape`."""
    array = np.array(weights, float)
    fits = array.ndim > 0 and array.shape[-1] == shape[-1]
    if fits and array.ndim > 1:
        try:
            array = np.array(np.broadcast_to(array, shape))
        except ValueError:
            fits = False
    if not fits:
        raise ValueError(f"weights of shape {array.shape} do not fit components of shape {shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError("weights must be finite and not negative")
    largest = np.max(array, axis=-1, keepdims=True)
    if (largest == 0).any():
        raise ValueError("weights must not all be zero: their sum is zero")
    array = array / largest  # first, so that the sum can neither overflow nor underflow
    return array / np.sum(array, axis=-1, keepdims=True)


def _refuse_row(rule: str, array: Array, bad: NDArray[np.bool_]) -> None:
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        raise ValueError(f"{rule}: row {where[0]} has {array[where]}")


def _standardise(residual: Array, s: Array, tie: float) -> Array:
    """`residual / s`, which is ±inf beside a point mass and `tie` on it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = residual / s
    return np.where((s == 0) & (residual == 0), tie, z)


def _phi(z: Array) -> Array:
    """Standard normal density."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * z**2 - 0.5 * _LOG_2PI)


def _mean_absolute(m: Array, v: Array) -> Array:
    """`A(m, v) = E|N(m, v)| = 2sφ(m/s) + m(2Φ(m/s) − 1)`, which is |m| at v = 0."""
    s = np.sqrt(v)
    z = _standardise(m, s, tie=0.0)
    return 2 * s * _phi(z) + m * erf(z / np.sqrt(2))


def _log_sum_exp(terms: Array) -> Array:
    """`log Σ_k exp(t_k)` over the last axis; infinities of either sign pass through."""
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        top = np.max(terms, axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        return np.log(np.sum(np.exp(terms - top), axis=-1)) + top[..., 0]


def _mixture_quantile(w: Array, m: Array, s: Array, q: float) -> Array:
    """The q-quantile of each of E mixtures; w, m, s are (E, K)."""
    points = _component_quantiles(w, m, s, q)
    if q in (0.0, 1.0) or points.shape[-1] == 1:
        return points[:, -1 if q == 1.0 else 0]
    lo, hi = _bracket(points, w, m, s, q)
    return _newton(lo, hi, w, m, s, q)


def _component_quantiles(w: Array, m: Array, s: Array, q: float) -> Array:
    """Sorted quantiles of the components that have weight, (E, K); the others repeat the smallest."""
    with np.errstate(invalid="ignore"):
        points = np.where(s > 0, m + s * ndtri(q), m)
    smallest = np.min(np.where(w > 0, points, np.inf), axis=-1, keepdims=True)
    return np.sort(np.where(w > 0, points, smallest), axis=-1)


def _bracket(points: Array, w: Array, m: Array, s: Array, q: float) -> tuple[Array, Array]:
    """The neighbouring component quantiles that enclose the mixture's, by binary search.

    The mixture's quantile lies between the extremes of its components'. Each point mass is one of the
    points, so F is continuous strictly inside the answer, whatever jumps it has elsewhere.
    """
    rows = np.arange(len(points))
    first = np.zeros(len(points), dtype=np.intp)
    last = np.full(len(points), points.shape[-1] - 1)
    for _ in range(int(points.shape[-1] - 1).bit_length()):
        middle = (first + last) // 2
        reached = _probit_excess(points[rows, middle], w, m, s, q)[0] >= 0
        last = np.where(reached, middle, last)
        first = np.where(reached, first, np.minimum(middle + 1, last))
    hi = points[rows, last]
    lo = points[rows, np.maximum(last - 1, 0)]
    # Where F first reaches q by the jump at `hi`, that point mass is the answer.
    jumps = _probit_excess(hi, w, m, s, q, tie=-np.inf)[0] < 0
    return np.where(jumps, hi, lo), hi


def _probit_excess(x: Array, w: Array, m: Array, s: Array, q: float, tie: float = np.inf) -> tuple[Array, Array]:
    """`g(x) = Φ⁻¹(F(x)) − Φ⁻¹(q)` and `g'(x) = f(x)/φ(Φ⁻¹(F(x)))`, for x of shape (E,).

    For one Gaussian g is linear, so Newton's method is nearly so for a mixture, also far in the tails.
    The smaller tail is the one summed, because 1 − F would lose its digits.
    """
    sign = 1.0 if q <= 0.5 else -1.0
    z = _standardise(x[:, None] - m, s, tie)
    tail = np.minimum(np.sum(w * ndtr(sign * z), axis=-1), 1.0)
    probit = ndtri(tail)
    density = np.sum(w * np.divide(_phi(z), s, out=np.zeros_like(z), where=s > 0), axis=-1)
    height = _phi(probit)
    slope = np.divide(density, height, out=np.zeros_like(density), where=height > 0)
    return sign * (probit - ndtri(min(q, 1 - q))), slope


def _newton(lo: Array, hi: Array, w: Array, m: Array, s: Array, q: float) -> Array:
    """Root of the probit excess in [lo, hi]: Newton's method, with bisection where it does not halve."""
    x, lo, hi, last = _nearer_end(lo, hi, w, m, s, q), lo.copy(), hi.copy(), hi - lo
    tolerance = 1e-14 * (1 + abs(ndtri(q)))  # in units of the local standard deviation 1/g'
    todo = np.arange(len(x))
    for _ in range(_MAX_STEPS):
        here = x[todo]
        excess, slope = _probit_excess(here, w[todo], m[todo], s[todo], q)
        left = lo[todo] = np.where(excess < 0, here, lo[todo])
        right = hi[todo] = np.where(excess < 0, hi[todo], here)
        shut = right - left <= 4 * _EPS * np.abs(here)
        done = shut | (np.abs(excess) <= tolerance)
        # A shorter step would not leave `here`, and the bracket could never shut around the root.
        step = np.maximum(_newton_step(excess, slope), 2 * _EPS * np.abs(here))
        proposal = here + np.copysign(step, -excess)
        safe = (left < proposal) & (proposal < right) & (step <= 0.5 * last[todo])
        proposal = np.where(safe, proposal, left + 0.5 * (right - left))
        last[todo] = np.abs(proposal - here)
        x[todo] = np.where(shut, right, np.where(done, here, proposal))
        todo = todo[~done]
        if not todo.size:
            break
    return x


def _newton_step(excess: Array, slope: Array) -> Array:
    """`|g|/g'`, the length of Newton's step: infinite where the slope has vanished."""
    with np.errstate(over="ignore"):
        return np.divide(np.abs(excess), slope, out=np.full_like(excess, np.inf), where=slope > 0)


def _nearer_end(lo: Array, hi: Array, w: Array, m: Array, s: Array, q: float) -> Array:
    """The end of the bracket that Newton's method believes nearer to the root.

    Halving a bracket that spans many orders of magnitude would take hundreds of steps to reach a
    narrow component at its end; a start at that end needs a few.
    """
    from_lo, from_hi = (_newton_step(*_probit_excess(x, w, m, s, q)) for x in (lo, hi))
    return np.where(from_lo < from_hi, lo, hi)
