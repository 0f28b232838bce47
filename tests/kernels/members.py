"""Dense kernels of our own, for tests: over several inputs, with several parameters, made from other kernels."""

import math

import numpy as np

from fathom.kernels import Dense, register
from fathom.kernels.base import VARIANCE, Parameter, numbered

PER_INPUT = {"size": "per input"}


@register
class Network(Dense):
    """Williams's neural network: (2/π) asin(2I/√(n n')), I = β + x̃ᵀx̃', n = 1 + 2(β + |x̃|²), x̃ = (x − c)/ℓ."""

    name = "Network"
    parameters = (
        VARIANCE,
        Parameter("lengthscale", "positive", "length", 1.0, **PER_INPUT),
        Parameter("location", "real", "location", 0.0, **PER_INPUT),
        Parameter("bias", "positive", "number", 1.0),
    )

    def _scaled(self, X):
        A = (self.columns(X) - self.location) / self.lengthscale
        return A, 1 + 2 * (self.bias + (A**2).sum(-1))

    def shape(self, X, Z, same, xp):
        (A, n), (B, m) = self._scaled(X), self._scaled(Z)
        return (2 / math.pi) * xp.arcsin(2 * (self.bias + A @ B.T) / xp.sqrt(n[:, None] * m))

    def shape_diag(self, X, same, xp):
        _, n = self._scaled(X)
        return (2 / math.pi) * xp.arcsin((n - 1) / n)

    def shape_vjp(self, X, Z, same):
        (A, n), (B, m) = self._scaled(X), self._scaled(Z)
        root = np.sqrt(n[:, None] * m)
        u = 2 * (self.bias + A @ B.T) / root

        def pull(H):
            by_u = H * (2 / math.pi) / np.sqrt(1 - u**2)
            by_inner, by_n, by_m = 2 * by_u / root, -0.5 * (by_u * u).sum(1) / n, -0.5 * (by_u * u).sum(0) / m
            by_A, by_B = by_inner @ B + 4 * by_n[:, None] * A, by_inner.T @ A + 4 * by_m[:, None] * B
            return self._gradients([(A, by_A), (B, by_B)], by_inner.sum() + 2 * by_n.sum() + 2 * by_m.sum())

        return (2 / math.pi) * np.arcsin(u), pull

    def shape_diag_vjp(self, X, same):
        A, n = self._scaled(X)
        u = (n - 1) / n

        def pull(h):
            by_n = h * (2 / math.pi) / np.sqrt(1 - u**2) / n**2
            return self._gradients([(A, 4 * by_n[:, None] * A)], 2 * by_n.sum())

        return (2 / math.pi) * np.arcsin(u), pull

    def _gradients(self, sides, by_bias):
        by_length = -sum((A * by_A).sum(0) for A, by_A in sides)
        by_location = -sum(by_A.sum(0) for _, by_A in sides) / self.lengthscale
        if not np.ndim(self.lengthscale):
            by_length, by_location = by_length.sum(), by_location.sum()
        return {(0, "lengthscale"): by_length, (0, "location"): by_location, (0, "bias"): self.bias * by_bias}


@register
class Elementary(Dense):
    """Σ_r w_r e_r(k₁, …, k_D)/Σ w, e_r the sum of all products of r different operands: additive in all orders."""

    name = "Elementary"
    operands = None
    chooses_inputs = False
    parameters = (VARIANCE, Parameter("weight", "positive", "number", (1.0, 0.5), size="list"))

    def _orders(self, matrices):
        """e_0, …, e_R"""
        sums = [np.ones(()) * 1.0] + [0.0 * matrices[0]] * len(self.weight)
        for matrix in matrices:
            sums = [sums[0]] + [sums[r] + matrix * sums[r - 1] for r in range(1, len(sums))]
        return sums

    def _mixed(self, matrices, xp):
        w = xp.asarray(self.weight)
        return sum(w[r - 1] * e for r, e in enumerate(self._orders(matrices)) if r) / w.sum()

    def shape(self, X, Z, same, xp):
        return self._mixed([child.evaluate(X, Z, same, xp) for child in self.children], xp)

    def shape_diag(self, X, same, xp):
        return self._mixed([child.evaluate_diag(X, same, xp) for child in self.children], xp)

    def shape_vjp(self, X, Z, same):
        return self._pulled([child.vjp(X, Z, same) for child in self.children])

    def shape_diag_vjp(self, X, same):
        return self._pulled([child.vjp_diag(X, same) for child in self.children])

    def _pulled(self, parts):
        matrices, w = [matrix for matrix, _ in parts], np.asarray(self.weight)
        total = self._mixed(matrices, np)

        def pull(H):
            by_weight = [np.vdot(H, e - total) for e in self._orders(matrices)[1:]]
            shares = []
            for i in range(len(parts)):
                others = matrices[:i] + matrices[i + 1 :]
                lower = self._orders(others) if others else [1.0] + [0.0] * len(w)
                shares.append(H * sum(w[r] * lower[r] for r in range(len(w))) / w.sum())
            pulled = [pull_one(share) for (_, pull_one), share in zip(parts, shares, strict=True)]
            own = {(0, "weight"): w * np.array(by_weight) / w.sum()}
            return numbered(list(zip(self.children, pulled, strict=True)), own)

        return total, pull


@register
class Bent(Dense):
    """exp(−½‖φ(x) − φ(x')‖²), φ the features of an operand without its noise: a deep kernel."""

    name = "Bent"
    operands = 1
    chooses_inputs = False
    parameters = (VARIANCE,)

    def shape(self, X, Z, same, xp):
        (child,) = self.children
        x, z = (child.evaluate_diag(A, False, xp) for A in (X, Z))
        return xp.exp(child.evaluate(X, Z, False, xp) - 0.5 * (x[:, None] + z))

    def shape_diag(self, X, same, xp):
        return xp.ones(X.shape[0], X.dtype)

    def shape_vjp(self, X, Z, same):
        (child,) = self.children
        K, pull_K = child.vjp(X, Z, False)
        (x, pull_x), (z, pull_z) = (child.vjp_diag(A, False) for A in (X, Z))
        shape = np.exp(K - 0.5 * (x[:, None] + z))

        def pull(H):
            share = H * shape
            parts = pull_K(share), pull_x(-0.5 * share.sum(1)), pull_z(-0.5 * share.sum(0))
            return numbered([(child, {key: sum(part.get(key, 0.0) for part in parts) for key in parts[0]})])

        return shape, pull

    def shape_diag_vjp(self, X, same):
        return np.ones(len(X)), lambda h: {}


@register
class Mirrored(Dense):
    """½ k(x, x') + ½ k(2c − x, 2c − x'): of its operand's scale, and without one of its own."""

    name = "Mirrored"
    operands = 1
    chooses_inputs = False
    parameters = (Parameter("location", "fixed", "location", 0.0, **PER_INPUT),)

    def _both(self, *arrays):
        return arrays, tuple(2 * self.location - A for A in arrays)

    def shape(self, X, Z, same, xp):
        return 0.5 * sum(self.children[0].evaluate(*rows, same, xp) for rows in self._both(X, Z))

    def shape_diag(self, X, same, xp):
        return 0.5 * sum(self.children[0].evaluate_diag(*rows, same, xp) for rows in self._both(X))

    def shape_vjp(self, X, Z, same):
        return self._pulled([self.children[0].vjp(*rows, same) for rows in self._both(X, Z)])

    def shape_diag_vjp(self, X, same):
        return self._pulled([self.children[0].vjp_diag(*rows, same) for rows in self._both(X)])

    def _pulled(self, parts):
        (K, pull_K), (L, pull_L) = parts

        def pull(H):
            first, second = pull_K(0.5 * H), pull_L(0.5 * H)
            return numbered([(self.children[0], {key: first[key] + second[key] for key in first})])

        return 0.5 * (K + L), pull
