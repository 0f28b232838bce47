"""Data of many kinds with a plausible kernel for each, made from a number: case i is always the same.

Series of seven calendars in seventeen shapes, tables in eight, in units from millionths to millions of millions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

import fathom
from fathom.data.dataset import Dataset, inputs

FULL = 360
SCALES = (
    (1.0, 0.0, ""),
    (1e3, 0.0, "EUR"),
    (1e-6, 0.0, "g"),
    (1e12, 0.0, ""),
    (1.0, -500.0, "°C"),
    (40.0, 9.0, "thousands"),
)


@dataclass(frozen=True)
class Calendar:
    """How moments are written, how many steps make a cycle, and how many a record."""

    name: str
    header: str
    write: Callable[[int], str]
    cycle: float  # steps in it
    step: float  # of the axis, in its own unit (years for dates)
    n: int


def _from(start: datetime, form: str, **step: int) -> Callable[[int], str]:
    return lambda i: (start + i * timedelta(**step)).strftime(form)


CALENDARS = (
    Calendar("yearly", "year", lambda i: str(1890 + i), 11.0, 1.0, 110),
    Calendar("quarterly", "quarter", lambda i: f"{2004 + i // 4}Q{i % 4 + 1}", 4.0, 1 / 4, 64),
    Calendar("monthly", "date", lambda i: f"{2010 + i // 12}-{i % 12 + 1:02}", 12.0, 1 / 12, 108),
    Calendar("weekly", "week", _from(datetime(2019, 1, 7), "%Y-%m-%d", weeks=1), 52.18, 7 / 365.2425, 160),
    Calendar("daily", "day", _from(datetime(2023, 2, 1), "%Y-%m-%d", days=1), 7.0, 1 / 365.2425, 120),
    Calendar("hourly", "time", _from(datetime(2024, 3, 1), "%Y-%m-%d %H:%M", hours=1), 24.0, 1 / 8765.82, 150),
    Calendar("numbers", "depth (m)", lambda i: f"{0.5 * i:g}", 10.0, 0.5, 90),
)


@dataclass(frozen=True)
class Case:
    """A file to be read and a kernel whose parameters are where its fit begins."""

    name: str
    lines: tuple[str, ...]
    kernel: str
    optimise: bool = True

    def load(self, folder: Path) -> Dataset:
        """The data set, read from a file that is written to the folder."""
        path = folder / f"{self.name.replace(' ', '_')}.csv"
        path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return fathom.load_csv(path)

    def fit(self, data: Dataset) -> fathom.GPRegressor:
        """A model of the data."""
        options = {"n_restarts": 1} if self.optimise else {"optimise": False}
        return fathom.GPRegressor(self.kernel, random_state=0, **options).fit(inputs(data), data.y)

    def search(self, data: Dataset) -> fathom.KernelSearch:
        """A model of the data whose structure was searched for, not far."""
        options = {"n_jobs": 1, "backend": "serial", "random_state": 0}
        return fathom.KernelSearch(depth=2, **options).fit(inputs(data), data.y)


# -- series ------------------------------------------------------------------------------------------------------------
# A shape gives values of standard deviation about one from the steps, the steps in a cycle and a generator; its kernel
# is written for a cycle of length {P}, a record from {a} to {b} of length {T} with its middle at {m}.


def _season(i: np.ndarray, cycle: float, sharp: float = 3.0) -> np.ndarray:
    """A cycle with a sharp peak in its last step and a trough in its first."""
    phase = 2 * np.pi * (i + 1) / cycle
    return np.exp(sharp * (np.cos(phase) - 1)) - 0.8 * np.exp(sharp * (np.cos(phase - 2 * np.pi / cycle) - 1))


def _proportional(i, cycle, rng):
    return 0.3 * np.exp(2.2 * i / len(i)) * (1 + 0.5 * _season(i, cycle)) * np.exp(0.03 * rng.standard_normal(len(i)))


def _step(i, cycle, rng):
    return -1.4 * (i >= 0.6 * len(i)) + 0.3 * np.sin(2 * np.pi * i / cycle) + 0.15 * rng.standard_normal(len(i))


def _made_up(i, cycle, rng):
    return 2.0 * i / len(i) - 0.2 * (i >= 0.5 * len(i)) + 0.2 * rng.standard_normal(len(i))


def _cycle_and_trend(i, cycle, rng):
    return 0.7 * np.cos(2 * np.pi * i / cycle) + 1.5 * i / len(i) + 0.2 * rng.standard_normal(len(i))


def _turn(i, cycle, rng):
    return 3 - 8 * (i / len(i) - 0.6) ** 2 + 0.15 * rng.standard_normal(len(i))


def _walk(i, cycle, rng):
    steps = np.cumsum(rng.standard_normal(len(i)))
    return (steps - steps.mean()) / steps.std()


def _noise(i, cycle, rng):
    return rng.standard_normal(len(i))


def _growing_noise(i, cycle, rng):
    return 3 + 0.5 * i / len(i) + (0.02 + i / len(i)) * rng.standard_normal(len(i)) * 0.5


def _outliers(i, cycle, rng):
    y = _cycle_and_trend(i, cycle, rng)
    y[rng.choice(len(i), max(2, len(i) // 30), replace=False)] += 5 * rng.choice([-1, 1])
    return y


def _fading(i, cycle, rng):
    return (1.6 - 1.5 * i / len(i)) * np.sin(2 * np.pi * i / cycle) + 0.1 * rng.standard_normal(len(i))


def _two_cycles(i, cycle, rng):
    slow = 0.6 * np.cos(2 * np.pi * i / (3.3 * cycle))
    return np.sin(2 * np.pi * i / cycle) + slow + 0.2 * rng.standard_normal(len(i))


def _flat(i, cycle, rng):
    return 5 + np.round(0.6 * rng.standard_normal(len(i))) * 1e-3


def _rhythm(i, cycle, rng):
    phase = np.cumsum(2 * np.pi / rng.normal(cycle, 0.15 * cycle, len(i)))
    return np.sin(phase) + 0.1 * rng.standard_normal(len(i))


def _window(i, cycle, rng):
    inside = (i > 0.4 * len(i)) & (i < 0.6 * len(i))
    return 1.5 * inside + 0.8 * i / len(i) + 0.2 * rng.standard_normal(len(i))


def _bend(i, cycle, rng):
    return np.where(i < 0.55 * len(i), 2.4 * i / len(i), 2.64 - 2.4 * i / len(i)) + 0.1 * rng.standard_normal(len(i))


NOISE = " + WN(variance={v:.6g})"
LINE = "Lin(variance={q:.6g}, location={m:.9g})"
RING = "Per(variance={u:.6g}, lengthscale=1, period={P:.9g})"
DRIFT = "SE(variance={u:.6g}, lengthscale={T:.6g})*Per(lengthscale=0.7, period={P:.9g})"
SLOW = "SE(variance={u:.6g}, lengthscale={h:.6g})"
AT = "location={c:.9g}, steepness={k:.6g}"
SHAPES: tuple[tuple[str, Callable, str], ...] = (
    ("proportional", _proportional, f"{LINE} + {DRIFT}*Lin(variance={{r:.6g}}, location={{a:.9g}}){NOISE}"),
    ("step", _step, f"CP(C(variance={{u:.6g}}), C(variance={{u:.6g}}), {AT}) + {RING}{NOISE}"),
    (
        "made up",
        _made_up,
        f"CP(C(variance={{u:.6g}}), {LINE}, {AT}) + SE(variance={{u:.6g}}, lengthscale={{s:.6g}}){NOISE}",
    ),
    ("gap", _cycle_and_trend, f"SE(variance={{u:.6g}}, lengthscale={{T:.6g}}) + {RING}{NOISE}"),
    ("turn", _turn, f"SE(variance={{u:.6g}}, lengthscale={{h:.6g}}){NOISE}"),
    (
        "quadratic",
        _turn,
        f"Lin(variance={{q:.6g}}, location={{m:.9g}})*Lin(variance={{r:.6g}}, location={{b:.9g}}){NOISE}",
    ),
    ("walk", _walk, "SE(variance={u:.6g}, lengthscale={d:.6g}) + WN(variance={w:.6g})"),
    ("noise", _noise, "WN(variance={u:.6g})"),
    ("growing noise", _growing_noise, f"{LINE} + WN(variance={{v:.6g}})*Lin(variance={{r:.6g}}, location={{a:.9g}})"),
    ("outliers", _outliers, f"{LINE} + {RING}{NOISE}"),
    ("fading", _fading, f"{DRIFT}*Lin(variance={{r:.6g}}, location={{b:.9g}}){NOISE}"),
    ("two cycles", _two_cycles, f"{RING} + Per(variance={{u:.6g}}, lengthscale=2, period={{Q:.9g}}){NOISE}"),
    ("flat", _flat, f"{LINE}{NOISE}"),
    ("rhythm", _rhythm, f"SE(variance={{u:.6g}}, lengthscale={{s:.6g}}){NOISE}"),
    (
        "window",
        _window,
        f"CW(C(variance={{u:.6g}}), {SLOW}, width={{h:.6g}}, {AT}) + {LINE}{NOISE}",
    ),
    ("bend", _bend, f"CP({LINE}, SE(variance={{u:.6g}}, lengthscale={{h:.6g}}), {AT}){NOISE}"),
    (
        "wrong way",
        _fading,
        f"{RING}*Lin(variance={{r:.6g}}, location={{a:.9g}}) + SE(variance={{u:.6g}}, lengthscale={{h:.6g}}){NOISE}",
    ),
)
AS_GIVEN = ("wrong way",)  # kernels that stay as they are: pages must not contradict themselves over a bad model


def _series(i: int) -> Case:
    calendar = CALENDARS[i % len(CALENDARS)]
    name, shape, kernel = SHAPES[i // len(CALENDARS) % len(SHAPES)]
    round_ = i // (len(CALENDARS) * len(SHAPES))
    scale, shift, unit = SCALES[(i + 5 * round_) % len(SCALES)]
    rng = np.random.default_rng([28, i])
    n = (calendar.n, 3 * calendar.n // 4, 14)[round_ % 3]
    index = np.arange(n)
    y = scale * (shape(index.astype(float), calendar.cycle, rng) + shift)
    kept = np.ones(n, bool)
    if name == "gap":
        kept[int(0.45 * n) : int(0.6 * n)] = False
    header = f"{calendar.header},{('sales', 'visits', 'y')[i % 3]}{f' ({unit})' if unit else ''}"
    lines = (header, *(f"{calendar.write(int(k))},{value:.9g}" for k, value in zip(index[kept], y[kept], strict=True)))
    place = _places(calendar, n)
    text = kernel.format(**_sizes(scale, place), **place)
    return Case(f"{name} {calendar.name} {round_}", lines, text, name not in AS_GIVEN)


def _places(calendar: Calendar, n: int) -> dict[str, float]:
    """Where a record lies on the axis: dates are years."""
    starts = {"yearly": 1890.0, "quarterly": 2004.0, "monthly": 2010.0, "weekly": 2019.016, "daily": 2023.085}
    starts |= {"hourly": 2024.165, "numbers": 0.0}
    start, length, step = starts[calendar.name], n * calendar.step, calendar.step
    where = {"a": start - 0.15 * length, "b": start + 1.1 * length, "m": start + length / 2, "c": start + 0.55 * length}
    where |= {"T": length, "h": length / 3, "s": 3 * step, "d": 1.7 * step, "k": 6 / step}
    return where | {"P": calendar.cycle * step, "Q": 3.3 * calendar.cycle * step}


def _sizes(scale: float, place: dict[str, float]) -> dict[str, float]:
    u = scale**2
    return {"u": u, "v": 0.04 * u, "w": 1e-4 * u, "q": 4 * u / place["T"] ** 2, "r": 1 / place["T"] ** 2}


# -- tables ------------------------------------------------------------------------------------------------------------


def _additive(X, rng):
    return X[:, 0] - 2 * (X[:, 1] > 0.5) + 0.2 * rng.standard_normal(len(X))


def _interaction(X, rng):
    return 3 * X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(len(X))


def _wavy(X, rng):
    return np.sin(9 * X[:, 0]) - X[:, 1] ** 2 + 0.1 * rng.standard_normal(len(X))


def _uneven(X, rng):
    return 2 * X[:, 0] + (0.05 + X[:, 1]) * rng.standard_normal(len(X))


def _idle(X, rng):
    return rng.standard_normal(len(X))


def _spiky(X, rng):
    y = _additive(X, rng)
    y[rng.choice(len(X), 3, replace=False)] += 8
    return y


SUMS = "SE[0](variance={u:.6g}, lengthscale=0.5) + SE[1](variance={u:.6g}, lengthscale=0.5) + WN(variance={v:.6g})"
JOINT = (
    "SE[0,1](variance={u:.6g}, lengthscale=[0.5, 0.5]) + Lin[2](variance={v:.6g}, location=0.5) + WN(variance={v:.6g})"
)
TABLES = (
    ("additive", _additive, SUMS),
    ("interaction", _interaction, JOINT),
    ("wavy", _wavy, SUMS),
    (
        "uneven",
        _uneven,
        "Lin[0](variance={u:.6g}, location=0.5) + WN(variance={v:.6g})*Lin[1](variance=1, location=-0.1)",
    ),
    ("idle", _idle, SUMS),
    ("spiky", _spiky, SUMS),
    ("missed", _wavy, "Lin[0](variance={u:.6g}, location=0.5) + WN(variance={v:.6g})"),
    (
        "near",
        _wavy,
        "SE[0](variance={u:.6g}, lengthscale=0.02) + SE[1](variance={u:.6g}, lengthscale=0.5) + WN(variance={w:.6g})",
    ),
)


def _table(i: int) -> Case:
    name, shape, kernel = TABLES[i % len(TABLES)]
    scale, shift, unit = SCALES[(i + i // len(TABLES)) % len(SCALES)]
    rng = np.random.default_rng([29, i])
    X = rng.uniform(0, 1, ((60, 25, 90)[i % 3], 3))
    y = scale * (shape(X, rng) + shift)
    header = f"age (days),water,colour,{('strength', 'y')[i % 2]}{f' ({unit})' if unit else ''}"
    lines = (header, *(",".join(f"{v:.9g}" for v in (*x, value)) for x, value in zip(X, y, strict=True)))
    sizes = _sizes(scale, {"T": 1.0})
    return Case(f"table {name} {i}", lines, kernel.format(**sizes), name not in ("missed", "near"))


SERIES = FULL - 60


def case(i: int) -> Case:
    """Case number i of `FULL`."""
    return _series(i) if i < SERIES else _table(i - SERIES)
