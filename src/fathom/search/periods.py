"""The periods that a series suggests, however long it is."""

from __future__ import annotations

import numpy as np
from scipy import fft

from fathom.gp.starts import periodogram_peaks

MOST = 600  # rows beyond which the Lomb–Scargle periodogram takes seconds
CELLS = 4  # of the grid, to the median step


def peaks(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Periods of the n highest peaks of the detrended series, strongest first."""
    return (periodogram_peaks if len(x) <= MOST else binned_peaks)(x, y, n)


def binned_peaks(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """The same by one Fourier transform.

    The values are added up on a fine grid. With so many rows the periodogram of these sums is that of Lomb and
    Scargle for all periods of more than a few steps.
    """
    span, step = float(np.ptp(x)), float(np.median(np.diff(np.unique(x)))) / CELLS
    slope, level = np.polyfit(x, y, 1)
    sums = np.bincount(np.round((x - x.min()) / step).astype(int), weights=y - slope * x - level)
    size = fft.next_fast_len(10 * len(sums), real=True)  # as fine as 0.1/span
    power = np.abs(fft.rfft(sums, size)) ** 2
    frequencies = np.arange(len(power)) / (size * step)
    inside = (frequencies >= 1 / span) & (frequencies <= 0.5 / (CELLS * step))
    inner = np.r_[False, (power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:]), False]
    tops = np.flatnonzero(inner & inside)
    return 1 / frequencies[tops[np.argsort(-power[tops])][:n]]
