"""The stationary base kernels, appendix B of the Duvenaud thesis and a few more.

Every leaf is `variance` × a shape. It states the shape twice: in a form that NumPy and JAX share (`shape`, `phi`),
and in a NumPy form with its hand-derived sensitivities for the structure search (`lag`, `profile`).
Sensitivities are with respect to the unconstrained parameter: the logarithm of a positive one. Tests hold the two
forms equal.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import i0e, i1e

from fathom.base.arrays import Array, special
from fathom.kernels.base import VARIANCE, Leaf, Parameter

ARD_LENGTHSCALE = Parameter("lengthscale", "positive", "length", 1.0, size="per input")
ROUGHNESS = Parameter("lengthscale", "positive", "number", 1.0)  # of a periodic shape: in units of its own phase
PERIOD = Parameter("period", "positive", "length", 1.0)

Slopes = dict[str, np.ndarray]


class C(Leaf):
    """A constant function: σ²."""

    name = "C"
    parameters = (VARIANCE,)
    stationary = True

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return self.variance * xp.ones((X.shape[0], Z.shape[0]), X.dtype)

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        return self.variance * xp.ones(X.shape[0], X.dtype)


class WN(Leaf):
    """White noise: σ² for an observation with itself, 0 for any two observations, even at equal inputs."""

    name = "WN"
    parameters = (VARIANCE,)
    stationary = True

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        delta = xp.eye(X.shape[0], dtype=X.dtype) if same else xp.zeros((X.shape[0], Z.shape[0]), X.dtype)
        return self.variance * delta

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        return self.variance * (xp.ones if same else xp.zeros)(X.shape[0], X.dtype)


class Stationary(Leaf):
    """A function of the lag τ = x − x' of one input, equal to the variance at τ = 0."""

    stationary = True
    one_input = True

    def shape(self, lag: Array, xp: Any) -> Array:
        raise NotImplementedError

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """The shape at the lags τ and its sensitivities."""
        raise NotImplementedError

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return self.variance * self.shape(self.columns(X) - self.columns(Z).T, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        self.columns(X)
        return self.variance * xp.ones(X.shape[0], X.dtype)


class Per(Stationary):
    """The periodic kernel without its constant part, thesis B.11; → cos(2πτ/p) as the lengthscale grows.

    With z = 1/ℓ² and c = cos(2πτ/p): [e^{zc} − I₀(z)] / [e^z − I₀(z)]. Both differences are formed after dividing
    by e^z and around 1, so that nothing cancels as z → 0.
    """

    name = "Per"
    parameters = (VARIANCE, ROUGHNESS, PERIOD)

    def shape(self, lag: Array, xp: Any) -> Array:
        z = xp.maximum(self.lengthscale**-2.0, 1e-12)
        rest = one_minus_i0e(z, xp)
        return (xp.expm1(z * (xp.cos(2 * math.pi * lag / self.period) - 1)) + rest) / rest

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        z = max(self.lengthscale**-2.0, 1e-12)
        b = float(i0e(z))
        rest = 1 - b if z >= 1 else float(one_minus_i0e(z, np))
        phase = (2 * np.pi / self.period) * tau
        c1 = np.cos(phase) - 1
        rise = np.expm1(z * c1)
        f = (rise + rest) / rest
        envelope = rise + 1
        # ∂f/∂z = [(c−1)e^{z(c−1)} − (1−f)·b'] / (1−b) with b = i0e(z), b' = i1e(z) − i0e(z); dz/d log ℓ = −2z
        slope_z = (c1 * envelope - (1 - f) * (i1e(z) - b)) / rest
        slope_p = (z / rest) * envelope * np.sin(phase) * phase
        return f, {"lengthscale": -2 * z * slope_z, "period": slope_p}


def one_minus_i0e(z: Array, xp: Any) -> Array:
    """1 − e^{−z} I₀(z), without cancellation for small z (I₀(z) − 1 = z²/4 + z⁴/64 + …)."""
    t = xp.minimum(z, 1.0) ** 2 / 4
    series = term = t
    for k in range(2, 9):
        term = term * t / k**2
        series = series + term
    return xp.where(z < 1, -xp.expm1(-z) - xp.exp(-z) * series, 1 - special(xp).i0e(z))


class MacKay(Stationary):
    """The classic periodic kernel, thesis B.6: exp(−2 sin²(πτ/p)/ℓ²). Contains a constant."""

    name = "MacKay"
    parameters = (VARIANCE, ROUGHNESS, PERIOD)

    def shape(self, lag: Array, xp: Any) -> Array:
        return xp.exp(-2 * (xp.sin(math.pi * lag / self.period) / self.lengthscale) ** 2)

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        z = self.lengthscale**-2.0
        phase = (2 * np.pi / self.period) * tau
        exponent = z * (np.cos(phase) - 1)
        f = np.exp(exponent)
        return f, {"lengthscale": -2 * exponent * f, "period": z * f * np.sin(phase) * phase}


class Cos(Stationary):
    """A sinusoid: cos(2πτ/p), thesis B.7."""

    name = "Cos"
    parameters = (VARIANCE, PERIOD)

    def shape(self, lag: Array, xp: Any) -> Array:
        return xp.cos(2 * math.pi * lag / self.period)

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        phase = (2 * np.pi / self.period) * tau
        return np.cos(phase), {"period": np.sin(phase) * phase}


class SM(Stationary):
    """Spectral mixture: Σ_q w_q exp(−τ²/2ℓ_q²) cos(2πν_q τ), the weights taken relative to their sum.

    In the notation of Wilson and Adams, ν_q = μ_q and ℓ_q = 1/(2π√v_q).
    """

    name = "SM"
    parameters = (
        VARIANCE,
        Parameter("weight", "positive", "number", (1.0,), size="list"),
        Parameter("lengthscale", "positive", "length", (1.0,), size="list"),
        Parameter("frequency", "positive", "frequency", (0.1,), size="list"),
    )

    def shape(self, lag: Array, xp: Any) -> Array:
        w, ell, nu = (xp.asarray(v) for v in (self.weight, self.lengthscale, self.frequency))
        if not w.shape == ell.shape == nu.shape:
            raise ValueError(
                f"SM needs as many weights as lengthscales and frequencies, not {w.size}, {ell.size}, {nu.size}"
            )
        parts = xp.exp(-0.5 * (lag[..., None] / ell) ** 2) * xp.cos(2 * math.pi * lag[..., None] * nu)
        return parts @ (w / xp.sum(w))

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        w, ell, nu = (np.asarray(v) for v in (self.weight, self.lengthscale, self.frequency))
        share = w / w.sum()
        square = (tau[:, None] / ell) ** 2
        phase = 2 * np.pi * tau[:, None] * nu
        envelope = np.exp(-0.5 * square)
        parts = envelope * np.cos(phase)
        f = parts @ share
        return f, {
            "weight": share * (parts - f[:, None]),
            "lengthscale": share * square * parts,
            "frequency": -share * envelope * np.sin(phase) * phase,
        }


class Radial(Leaf):
    """A function of s = Σ_d (x_d − x'_d)²/ℓ_d²: one input, or several with a lengthscale each (ARD)."""

    parameters: ClassVar[tuple[Parameter, ...]] = (VARIANCE, ARD_LENGTHSCALE)
    stationary = True

    def phi(self, s: Array, xp: Any) -> Array:
        raise NotImplementedError

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        """φ(s), φ'(s) (0 at s = 0 where it is infinite: it only ever meets a factor s), and other sensitivities."""
        raise NotImplementedError

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """As for `Stationary`, when there is one input: ∂φ/∂ log ℓ = −2sφ'(s)."""
        s = (tau / np.asarray(self.lengthscale).reshape(-1)[0]) ** 2
        f, slope, others = self.profile(s)
        slope *= s
        slope *= -2
        return f, {"lengthscale": slope, **others}

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return self.variance * self.phi(self.distance(X, Z, xp), xp)

    def distance(self, X: Array, Z: Array, xp: Any) -> Array:
        """s of all pairs; in single precision it may be negative by a rounding error."""
        A, B = (self.columns(M) / self.lengthscale for M in (X, Z))
        return squared_distance(A, B, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        self.columns(X)
        return self.variance * xp.ones(X.shape[0], X.dtype)


def squared_distance(A: Array, B: Array, xp: Any) -> Array:
    """Squared Euclidean distances between rows: exact differences in few dimensions, one product in many.

    In single precision the product comes sooner: it is several times faster, and its rounding is below the jitter of
    the minibatch models that work so.
    """
    if xp is np:
        from scipy.spatial.distance import cdist  # slow to import, and only matrices of new inputs need it

        return cdist(A, B, "sqeuclidean")
    if A.shape[1] == 1:
        return (A - B.T) ** 2
    if A.shape[1] <= 16 and A.dtype == np.float64:
        return _jax_differences()(A, B)
    # ‖a‖² + ‖b‖² − 2ab as one product: its slopes are products too, without passes over the matrix for each sum
    one_A, one_B = xp.ones((len(A), 1), A.dtype), xp.ones((len(B), 1), B.dtype)
    left = xp.concatenate([A, (A**2).sum(-1, keepdims=True), one_A], 1)
    right = xp.concatenate([-2 * B, one_B, (B**2).sum(-1, keepdims=True)], 1)
    return left @ right.T if A.dtype == np.float32 else xp.maximum(left @ right.T, 0.0)


@lru_cache(maxsize=1)
def _jax_differences() -> Any:
    """Σ_d (a_d − b_d)², whose slopes are products: d passes over the matrix for each sum took four times as long."""
    import jax

    @jax.custom_jvp
    def squares(A: Array, B: Array) -> Array:
        return sum((A[:, d, None] - B[None, :, d]) ** 2 for d in range(A.shape[1]))

    @squares.defjvp
    def _(at: tuple[Array, Array], by: tuple[Array, Array]) -> tuple[Array, Array]:
        (A, B), (dA, dB) = at, by
        own = (A * dA).sum(-1)[:, None] + (B * dB).sum(-1)
        return squares(A, B), 2 * (own - dA @ B.T - A @ dB.T)

    return squares


class SE(Radial):
    """Squared exponential: exp(−s/2), thesis B.4."""

    name = "SE"

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        if xp is np:
            return super().evaluate(X, Z, same, xp)
        return xp.exp(xp.log(self.variance) - 0.5 * self.distance(X, Z, xp))  # one pass over the matrix less

    def phi(self, s: Array, xp: Any) -> Array:
        return xp.exp(-0.5 * s)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        f = np.exp(-0.5 * s)
        return f, -0.5 * f, {}


class RQ(Radial):
    """Rational quadratic: (1 + s/2α)^{−α}, thesis B.5: a mixture of SE over lengthscales."""

    name = "RQ"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        VARIANCE,
        ARD_LENGTHSCALE,
        Parameter("alpha", "positive", "number", 1.0),
    )

    def phi(self, s: Array, xp: Any) -> Array:
        return xp.exp(-self.alpha * xp.log1p(s / (2 * self.alpha)))

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        half = s * (0.5 / self.alpha)
        log_u = np.log1p(half)
        f = np.exp(-self.alpha * log_u)
        ratio = f / (1 + half)
        return f, -0.5 * ratio, {"alpha": 0.5 * s * ratio - self.alpha * log_u * f}


def safe_sqrt(s: Array, xp: Any) -> Array:
    """√s with gradient 0 at 0, where the kernels that use it are even in the distance.

    By a floor, not by two nested `where`: compiled for a CPU, jaxlib 0.10 drops the outer one.
    """
    return xp.sqrt(xp.maximum(s, 1e-36))


class Matern12(Radial):
    """Matérn ν = 1/2 (Ornstein–Uhlenbeck): e^{−r}, r = √s."""

    name = "Matern12"

    def phi(self, s: Array, xp: Any) -> Array:
        return xp.exp(-safe_sqrt(s, xp))

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(s)
        f = np.exp(-r)
        slope = np.divide(-0.5 * f, r, out=np.zeros_like(f), where=r > 0)
        return f, slope, {}


class Matern32(Radial):
    """Matérn ν = 3/2: (1 + √3 r) e^{−√3 r}."""

    name = "Matern32"

    def phi(self, s: Array, xp: Any) -> Array:
        r = math.sqrt(3) * safe_sqrt(s, xp)
        return (1 + r) * xp.exp(-r)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(3 * s)
        decay = np.exp(-r)
        return (1 + r) * decay, -1.5 * decay, {}


class Matern52(Radial):
    """Matérn ν = 5/2: (1 + √5 r + 5r²/3) e^{−√5 r}."""

    name = "Matern52"

    def phi(self, s: Array, xp: Any) -> Array:
        r = math.sqrt(5) * safe_sqrt(s, xp)
        return (1 + r + r**2 / 3) * xp.exp(-r)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(5 * s)
        decay = np.exp(-r)
        return (1 + r + r**2 / 3) * decay, (-5 / 6) * (1 + r) * decay, {}
