"""What comes next where other inputs than the time matter: a table if their future is known, a sentence if not."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fathom.data.ahead import others
from fathom.data.dataset import Dataset
from fathom.data.messages import together
from fathom.report.model import Fitted, predict
from fathom.report.numbers import MINUS
from fathom.report.words.text import capital

BANDS = (0.5, 0.9)


class Known(NamedTuple):
    """A sentence and, where the inputs ahead are given, the forecast for them row by row."""

    sentence: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def known(model: Fitted, dataset: Dataset) -> Known | None:
    """The forecast of a series with other inputs; None without a time, or with nothing else than it."""
    if dataset.rule is None or dataset.time is None or dataset.n_inputs == 1:
        return None
    names = together(others(dataset.columns))
    if dataset.ahead is None:
        return Known(
            f"No forecast is drawn: it depends on what will become of {names}. With their values after the end of the "
            f"data in a file, --future makes one."
        )
    target, unit = dataset.target[0], dataset.units.get(dataset.target[0], "")
    predictive = predict(model, dataset.ahead)
    bands = [predictive.interval(level) for level in BANDS]
    place = _place(float(np.min(bands[1][1] - bands[1][0])))
    rows = []
    for i, at in enumerate(dataset.ahead[:, dataset.time]):
        told = [f"{_write(low[i], place)} to {_write(high[i], place)}" for low, high in bands]
        rows.append((dataset.format_time(float(at)), _write(predictive.mean()[i], place), *told))
    first, last = rows[0][0], rows[-1][0]
    header = (dataset.names[dataset.time], f"{target} ({unit})" if unit else target, "50 % band", "90 % band")
    return Known(
        f"{capital(target)} from {first} to {last}, for the {names} that the file foretells.", header, tuple(rows)
    )


def _place(width: float) -> float:
    """The decimal place that tells twenty steps of a band apart."""
    return float(10.0 ** math.floor(math.log10(width / 20))) if width > 0 else 1.0


def _write(value: float, place: float) -> str:
    return f"{place * round(float(value) / place):,.{max(0, -round(math.log10(place)))}f}".replace("-", MINUS)
