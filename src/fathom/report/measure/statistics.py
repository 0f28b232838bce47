"""Statistics of sequences, each for many sequences at once: rows of (m, n), or one sequence of n as (1, n)."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

LONGEST = 10  # lag of the Ljung–Box statistic
FOLDS, WIDTHS = 5, 50  # of the cross-validation that chooses a kernel width


def step(times: np.ndarray) -> float:
    """The mean distance between neighbouring times."""
    return float(np.ptp(times)) / max(len(times) - 1, 1) or 1.0


def is_regular(times: np.ndarray) -> bool:
    """True when sorted times lie on a grid, up to the rounding that printed dates suffer."""
    grid = times[0] + step(times) * np.arange(len(times))
    return bool(np.max(np.abs(times - grid)) < 0.3 * step(times))


def autocorrelation(values: np.ndarray) -> np.ndarray:
    """Correlations at the lags 1 to n//2, (m, n//2); neighbours are one lag apart whatever their distance."""
    values = np.atleast_2d(values)
    n = values.shape[1]
    centred = values - values.mean(1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2  # padded, so that the ends do not meet
    products = np.fft.irfft(spectrum, 2 * n)
    found = products[:, 1 : n // 2 + 1] / np.maximum(products[:, :1], np.finfo(float).tiny)
    return found.round(6)  # all straight lines have the same correlations: rounding must not tell them apart


def ljung_box_lags(n: int) -> int:
    """How many lags the Ljung–Box statistic of n values sums over."""
    return max(1, min(LONGEST, n // 5))


def ljung_box(values: np.ndarray) -> np.ndarray:
    """The Ljung–Box statistic n(n + 2) Σ_k r_k²/(n − k) over the first lags."""
    n = np.atleast_2d(values).shape[1]
    lags = np.arange(1, ljung_box_lags(n) + 1)
    terms = autocorrelation(values)[:, : len(lags)] ** 2 / (n - lags)
    return np.asarray(n * (n + 2) * terms.sum(1))


def frequencies(times: np.ndarray) -> np.ndarray:
    """The Fourier frequencies above zero, in cycles per unit of time."""
    n = len(times)
    return np.arange(1, n // 2 + 1) / (n * step(times))


def periodogram(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The power |Σ_j x_j exp(−2πi f t_j)|²/n in dB at the Fourier frequencies, (m, n//2), mean removed."""
    values = np.atleast_2d(values)
    centred = values - values.mean(1, keepdims=True)
    if is_regular(times):
        transformed = np.fft.rfft(centred)[:, 1 : len(times) // 2 + 1]
    else:
        transformed = centred @ np.exp(-2j * np.pi * np.outer(times - times[0], frequencies(times)))
    power = np.abs(transformed) ** 2 / len(times)
    return 10 * np.log10(np.maximum(power, 1e-30))  # a flat sequence has none


def qq(values: np.ndarray, expected: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest deviation of the ordered values above ("high") or below expectation, and its position."""
    gaps = np.sort(np.atleast_2d(values)) - expected
    gaps = gaps if side == "high" else -gaps
    return gaps.max(1), gaps.argmax(1)


def anderson_darling(values: np.ndarray) -> np.ndarray:
    """The Anderson–Darling statistic A²: distance from the standard normal distribution."""
    ordered = np.sort(np.atleast_2d(values))
    n = ordered.shape[1]
    weights = 2 * np.arange(1, n + 1) - 1
    terms = weights * (log_ndtr(ordered) + log_ndtr(-ordered[:, ::-1]))
    return np.asarray(-n - terms.sum(1) / n)


def spread_trend(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Correlation of the sizes |x| with where they are."""
    sizes, centred = np.abs(np.atleast_2d(values)), place - place.mean()
    sizes = sizes - sizes.mean(1, keepdims=True)
    norms = np.sqrt((sizes**2).sum(1) * (centred**2).sum())
    return np.asarray(sizes @ centred / np.maximum(norms, np.finfo(float).tiny))


def spread_ratio(values: np.ndarray, place: np.ndarray) -> float:
    """Size at the middle of the last third over that of the first, on the line through |x|: above 1 if that rises."""
    sizes, centred = np.abs(values), place - place.mean()
    mean, slope = float(sizes.mean()) or 1.0, float(sizes @ centred) / (float(centred @ centred) or 1.0)
    first, last = (max(mean + slope * at * float(np.ptp(place)), 0.05 * mean) for at in (-1 / 3, 1 / 3))
    return last / first


def share_below(before: np.ndarray, after: np.ndarray) -> float:
    """P(before < after) over all pairs; a tie counts half."""
    ordered = np.sort(before)
    counts = np.searchsorted(ordered, after, "left") + np.searchsorted(ordered, after, "right")
    return float(counts.mean() / (2 * len(ordered)))


def paired_mmd(a: np.ndarray, b: np.ndarray, rng: np.random.Generator, n_swaps: int) -> tuple[float, np.ndarray]:
    """The squared maximum mean discrepancy of rows (n, d) that come in pairs, and its values after random swaps.

    MMD² = |Σ s_i(φ(a_i) − φ(b_i))|²/n² with all s_i = 1; swapping a pair changes the sign of its s_i.
    """
    scale = a.std(0)
    points = np.concatenate([a, b]) / np.where(scale > 0, scale, 1.0)
    squares = ((points[:, None] - points[None]) ** 2).sum(-1)
    n = len(a)
    K = np.exp(-squares / (2 * _width(squares, points.shape[1], rng) ** 2))
    H = K[:n, :n] + K[n:, n:] - K[:n, n:] - K[n:, :n]
    signs = rng.choice([-1.0, 1.0], (n_swaps, n))
    return float(H.mean()), ((signs @ H) * signs).sum(1) / n**2


def _width(squares: np.ndarray, d: int, rng: np.random.Generator) -> float:
    """The width of a Gaussian kernel density with the best likelihood in cross-validation, pairs kept together."""
    n = len(squares) // 2
    widest = np.sqrt(np.median(squares[squares > 0]) / 2) if np.any(squares > 0) else 1.0
    widths = widest * np.geomspace(0.02, 1, WIDTHS)
    fold = np.tile(rng.permutation(n) % FOLDS, 2)
    same = fold[:, None] == fold[None]
    scores = []
    for width in widths:
        density = np.where(same, 0.0, np.exp(-squares / (2 * width**2))).sum(1) / (~same).sum(1)
        scores.append(np.log(np.maximum(density, 1e-300)).sum() - len(squares) * d * np.log(width))
    return float(widths[int(np.argmax(scores))])
