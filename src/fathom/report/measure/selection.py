"""The order in which a report presents components, and what each adds: forward selection on held-out error.

Parameters stay fixed. A fold V is predicted from the others T by a subset S of the parts as
K_S(X_V, X_T) C_T⁻¹ r_T, r = y − level, with the covariance C of the *full* model: the other parts explain their share
of the data whether or not they are counted. With P = C⁻¹ and α = P r, C_T⁻¹ r_T = α_T − P_TV P_VV⁻¹ α_V, so one
inverse serves all folds.

The level of a model is arbitrary where a line or a slow part may make up for it. So parts that are not counted stand
with the mean of what they predict outside the fold: the level alone is then about the mean of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathom.base import linalg
from fathom.data.dataset import k_folds
from fathom.report.facts.part import Score, Tag
from fathom.report.measure.anatomy import Anatomy

FOLDS = 10
LEAST_GAIN = 0.001  # of the error, or of the residual variance: less is nothing


@dataclass(frozen=True)
class Selection:
    """Parts in order, their scores, and the mean absolute error of the level alone."""

    order: tuple[int, ...]
    scores: tuple[Score, ...]
    baseline_mae: float


def folds(n: int, ordered_by: np.ndarray | None, k: int = FOLDS) -> list[np.ndarray]:
    """Row numbers of k held-out sets: contiguous blocks in time or, without a time, random ones."""
    k = max(2, min(k, n))
    if ordered_by is not None:
        return np.array_split(np.argsort(ordered_by, kind="stable"), k)
    return [test for _, test in k_folds(n, k)]


def held_out(anatomy: Anatomy, blocks: list[np.ndarray]) -> np.ndarray:
    """What each part predicts for every observation from the other blocks, (parts, N), in the user's units."""
    posterior = anatomy.posterior
    precision, alpha = posterior.factor.inverse(), posterior.alpha[:, 0]
    weights = []
    for block in blocks:
        inner = linalg.factorise(precision[np.ix_(block, block)])
        kept = alpha - precision[:, block] @ inner.solve(alpha[block])
        kept[block] = 0.0
        weights.append(kept)
    found = np.zeros((len(anatomy.parts), len(alpha)))
    for i, part in enumerate(anatomy.parts):
        if anatomy.noisy[i]:
            continue  # nothing is known of the noise of another observation
        K = part.cross(posterior.X, posterior.X)
        for block, kept in zip(blocks, weights, strict=True):
            found[i, block] = K[block] @ kept
    return found * anatomy.y_sd


def elsewhere(values: np.ndarray, blocks: list[np.ndarray]) -> np.ndarray:
    """For each part, (parts, N), and every row: the mean of its values over all rows outside the block of the row."""
    found = np.zeros_like(values)
    for block in blocks:
        rest = values.sum(1) - values[:, block].sum(1)
        found[:, block] = (rest / max(values.shape[1] - len(block), 1))[:, None]
    return found


def select(anatomy: Anatomy, means: list[np.ndarray], ordered_by: np.ndarray | None) -> Selection:
    """Put the parts in order by forward selection on held-out error, noise last: it takes what the others leave.

    Ties, and gains that are rounding error, go to the part that explains more, then to the earlier one.
    """
    blocks = folds(len(anatomy.y), ordered_by)
    predicted, target = held_out(anatomy, blocks), anatomy.y - anatomy.level
    average, fitted = elsewhere(predicted, blocks), np.array(means)

    def left(chosen: list[int]) -> np.ndarray:
        others = [i for i in range(len(means)) if i not in chosen]
        return target - predicted[chosen].sum(0) - average[others].sum(0)

    order: list[int] = []
    while len(order) < len(anatomy.parts):
        rest = [i for i in range(len(anatomy.parts)) if i not in order]
        rest = [i for i in rest if not anatomy.noisy[i]] or _early_first(rest, means, ordered_by)[:1]
        order.append(min(rest, key=lambda i: _rank(target, left([*order, i]), fitted[[*order, i]].sum(0))))
    errors = [float(np.mean(np.abs(left(order[:k])))) for k in range(len(order) + 1)]
    return Selection(tuple(order), _scores(anatomy, means, order, errors), errors[0])


def _early_first(noise: list[int], means: list[np.ndarray], ordered_by: np.ndarray | None) -> list[int]:
    """Parts of noise in the order of the times at which they are strongest, for none of them predicts."""
    if ordered_by is None:
        return noise
    return sorted(noise, key=lambda i: float(ordered_by @ means[i] ** 2) / (float(means[i] @ means[i]) or 1.0))


def _rank(target: np.ndarray, left: np.ndarray, fitted: np.ndarray) -> tuple[float, float]:
    scale = float(np.mean(np.abs(target))) or 1.0
    return round(float(np.mean(np.abs(left))) / scale, 9), round(float(np.var(target - fitted)) / scale**2, 9)


def _scores(anatomy: Anatomy, means: list[np.ndarray], order: list[int], errors: list[float]) -> tuple[Score, ...]:
    residual, total = anatomy.y - anatomy.level, float(np.var(anatomy.y))
    left, scores, r2 = total, [], 0.0
    for position, i in enumerate(order):
        residual = residual - means[i]
        now = float(np.var(residual))
        share = float(np.mean((means[i] - means[i].mean()) * (anatomy.y - anatomy.y.mean())))
        new_r2 = 1 - now / total if total > 0 else 0.0
        residual_r2 = 1 - now / left if left > 1e-12 * total else 0.0
        before, mae = errors[position], errors[position + 1]
        reduction, gain = 1 - mae / before if before > 0 else 0.0, (before - mae) / errors[0] if errors[0] > 0 else 0.0
        tag = _tag(anatomy.noisy[i], reduction, residual_r2)
        share = share / total if total > 0 else 0.0
        scores.append(Score(gain, new_r2, new_r2 - r2, residual_r2, mae, reduction, share, tag))
        left, r2 = now, new_r2
    return tuple(scores)


def _tag(noisy: bool, gain: float, residual_r2: float) -> Tag:
    if noisy:
        return "noise"
    if gain > LEAST_GAIN:
        return "predicts"
    return "explains but does not predict" if residual_r2 > LEAST_GAIN else "doubtful"
