"""What a script may tell of a picture where the reader points: the numbers behind it, as attributes.

Places and dates are held once for all pictures along one input (`along`), the values by each picture (`told`).
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from fathom.report.draw.svg import Panel, thinned
from fathom.report.facts.setting import Axis
from fathom.report.numbers import with_unit

MOST = 260  # places at which a long record answers
NEAR = 60  # of them on either side of the last observation, one by one


def places(x: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Where pictures of a series answer: the observations and the steps ahead, those far from now thinned."""
    x = np.unique(x)
    past, after = x[:-NEAR], ahead[NEAR:]
    kept = [past[thinned(len(past), MOST - 3 * NEAR)], x[-NEAR:], ahead[:NEAR], after[thinned(len(after), NEAR)]]
    return np.concatenate(kept)


def along(axis: Axis, x: np.ndarray) -> str:
    """Attributes that hold the places and how they are written, for all pictures inside."""
    when = "|".join(axis.place(float(v)).replace("|", "/") for v in x)
    return f' data-at="{",".join(f"{v:.10g}" for v in x)}" data-when="{escape(when)}"'


def told(
    panel: Panel,
    unit: str,
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    observed: np.ndarray | None = None,
    called: str = "expected",
) -> str:
    """Attributes that hold what a picture says at these places: the mean, its 90 % band, and what was observed."""
    box = (panel.left, panel.top, panel.width, panel.height)
    ends = (panel.x.low, panel.x.high, panel.y.low, panel.y.high)
    gap = float(np.median(np.abs(high - low)))
    found = {
        "box": ",".join(f"{v:.10g}" for v in (*box, *ends)),
        "unit": with_unit("", unit).strip(),
        "called": called,
        "mean": _numbers(mean, gap),
        "low": _numbers(low, gap),
        "high": _numbers(high, gap),
    }
    if observed is not None:
        found["seen"] = _numbers(observed, gap)
    return "".join(f' data-{key}="{escape(value)}"' for key, value in found.items())


def _numbers(values: np.ndarray, gap: float) -> str:
    """Numbers to a twentieth of the band between them, nothing for what is unknown."""
    least = max(gap / 20, 1e-7 * float(np.nanmax(np.abs(values), initial=0.0)), 1e-15)
    places = -math.floor(math.log10(least))
    rounded = np.round(np.asarray(values, dtype=float), places) + 0.0
    return ",".join(f"{v:.{max(places, 0)}f}" if math.isfinite(v) else "" for v in rounded.tolist())
