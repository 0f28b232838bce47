"""Stationary kernels of one input (appendix B of the Duvenaud thesis and a few more), constants and white noise.

Every leaf is `variance` × a shape. It states the shape twice: in a form that NumPy and JAX share (`shape`), and in a
NumPy form with its hand-derived slopes for the structure search (`lag`). Slopes are those in the unconstrained
parameter: the logarithm of a positive one. Tests hold the two forms equal.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import i0e, i1e

from fathom.base.arrays import Array, Namespace, special
from fathom.kernels.base import VARIANCE, Gradients, Inputs, Kernel, Leaf, Parameter, Pull

ROUGHNESS = Parameter("lengthscale", "positive", "number", 1.0)  # of a periodic shape: in units of its own phase
PERIOD = Parameter("period", "positive", "length", 1.0)

Slopes = dict[str, np.ndarray]


def scaled(variance: float, shape: np.ndarray, slopes: Slopes) -> tuple[np.ndarray, Pull]:
    """variance × shape and its pull, the slopes of the shape with the entries of the matrix along their first axis."""

    def pull(H: np.ndarray) -> Gradients:
        share = variance * H.ravel()
        return {(0, "variance"): share @ shape.ravel(), **{(0, name): share @ slope for name, slope in slopes.items()}}

    return variance * shape, pull


class C(Leaf):
    """A constant function: σ²."""

    name = "C"
    parameters = (VARIANCE,)
    stationary = True

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * xp.ones((X.shape[0], Z.shape[0]), X.dtype)

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * xp.ones(X.shape[0], X.dtype)

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, np.ones((len(X), len(Z))), {})

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, np.ones(len(X)), {})


class WN(Leaf):
    """White noise: σ² for an observation with itself, 0 for any two observations, even at equal inputs."""

    name = "WN"
    parameters = (VARIANCE,)
    stationary = True

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        delta = xp.eye(X.shape[0], dtype=X.dtype) if same else xp.zeros((X.shape[0], Z.shape[0]), X.dtype)
        return self.variance * delta

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * (xp.ones if same else xp.zeros)(X.shape[0], X.dtype)

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, np.eye(len(X)) if same else np.zeros((len(X), len(Z))), {})

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, (np.ones if same else np.zeros)(len(X)), {})


class Stationary(Leaf):
    """A function of the lag τ = x − x' of one input, equal to the variance at τ = 0."""

    stationary = True
    one_input = True

    def shape(self, lag: Array, xp: Namespace) -> Array:
        raise NotImplementedError

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """The shape at the lags τ and its slopes."""
        raise NotImplementedError

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * self.shape(self.columns(X) - self.columns(Z).T, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        self.columns(X)
        return self.variance * xp.ones(X.shape[0], X.dtype)

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        lags = self.columns(X) - self.columns(Z).T
        f, slopes = self.lag(lags.ravel())
        return scaled(self.variance, f.reshape(lags.shape), slopes)

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, np.ones(len(X)), {})


class Per(Stationary):
    """The periodic kernel without its constant part, thesis B.11; → cos(2πτ/p) as the lengthscale grows.

    With z = 1/ℓ² and c = cos(2πτ/p): [e^{zc} − I₀(z)] / [e^z − I₀(z)]. Both differences are formed after dividing
    by e^z and around 1, so that nothing cancels as z → 0.
    """

    name = "Per"
    parameters = (VARIANCE, ROUGHNESS, PERIOD)

    def shape(self, lag: Array, xp: Namespace) -> Array:
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


def one_minus_i0e(z: Array, xp: Namespace) -> Array:
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

    def shape(self, lag: Array, xp: Namespace) -> Array:
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

    def shape(self, lag: Array, xp: Namespace) -> Array:
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

    def __init__(self, *children: Kernel, inputs: Inputs = None, **values: Array):
        super().__init__(*children, inputs=inputs, **values)
        self._components(np)

    def _components(self, xp: Namespace) -> list[Array]:
        """Weights, lengthscales and frequencies (Q) each."""
        w, ell, nu = found = [xp.asarray(v) for v in (self.weight, self.lengthscale, self.frequency)]
        if not w.shape == ell.shape == nu.shape:
            raise ValueError(
                f"SM needs as many weights as lengthscales and frequencies, not {w.size}, {ell.size}, {nu.size}"
            )
        return found

    def shape(self, lag: Array, xp: Namespace) -> Array:
        w, ell, nu = self._components(xp)
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
