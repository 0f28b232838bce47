"""The Gaussian approximation at an optimum of the evidence: how curved it is, and the evidence of a structure.

The curvature of log p(y|θ) in the unconstrained vector θ (logarithms of positive parameters, locations on standardised
inputs) comes from central differences of its gradient. A weak prior, a Gaussian of three log units for each parameter,
keeps flat directions finite.
"""

from __future__ import annotations

import math

import numpy as np

from fathom.base import linalg
from fathom.base.optimise import Objective

PRIOR_SD = 3.0


def curvature(objective: Objective, vector: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """The Hessian of an objective that returns its gradient."""
    rows = []
    for k in range(len(vector)):
        shift = np.zeros_like(vector)
        shift[k] = step
        rows.append((objective(vector + shift)[1] - objective(vector - shift)[1]) / (2 * step))
    H = np.array(rows).reshape(len(vector), len(vector))
    return (H + H.T) / 2


def precision(hessian: np.ndarray) -> linalg.Factor:
    """Of the Gaussian: −∇² log p(y|θ), where directions of the wrong curvature become flat, and the prior's."""
    root = linalg.root(-hessian)
    return linalg.factorise(root @ root.T + np.eye(len(hessian)) / PRIOR_SD**2)


def log_structure_evidence(objective: Objective, vector: np.ndarray) -> float:
    """log ∫ p(y|θ) p(θ) dθ for θ ~ N(0, 3² I), around a maximum θ̂ of the evidence.

    There log p(y|θ) ≈ log p(y|θ̂) − ½ δᵀHδ, δ = θ − θ̂, and the integral over δ is Gaussian: with Λ = H + I/3² and
    g = −θ̂/3² it is log p(y|θ̂) + log p(θ̂) + ½ gᵀΛ⁻¹g − ½ log|Λ| + (P/2) log 2π.
    """
    value, _ = objective(vector)
    if not len(vector):
        return value
    factor = precision(curvature(objective, vector))
    g = -vector / PRIOR_SD**2
    prior = 0.5 * vector @ g - len(vector) * math.log(PRIOR_SD)  # the 2π of the two cancel
    return float(value + prior + 0.5 * g @ factor.solve(g) - 0.5 * factor.log_det())
