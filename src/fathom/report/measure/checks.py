"""Does the model fit? Checks of the whole and of every additive part, and the curves to draw them.

*The whole.* Under the model the whitened residuals z = L⁻¹(y − μ), C = LLᵀ, are independent standard normals; in the
order of time they are the errors of predicting each observation from those before it, in units of the predicted sd.
Where the constant μ was learnt they are a projection of such, and the null draws are projected alike. So the p-values
are exact but for learning the kernel's parameters, which makes them a little cautious: of 150 series from SE + Per + WN
and fitted from the truth, 1 to 6 in a hundred fell below 0.05 (`tests/report/test_calibration.py` repeats it in small).

*A part.* Draws from its posterior are compared with draws from its prior (Lloyd and Ghahramani, 2015): averaged over
data from the model the two have the same law. These p-values are cautious by construction: hardly one in a hundred
falls below 0.05.

*Noise.* An MMD two-sample test of (x, y) against (x, y'), with y' the data after the part's posterior draw was
exchanged for a fresh one from its prior. Given all other parts y and y' are alike, so that swapping labels pair by
pair is an exact test; with the posterior mean in place of a draw y' would scatter too little.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from fathom.base import linalg
from fathom.data.dataset import Dataset
from fathom.gp.exact import Posterior
from fathom.kernels.base import Kernel, walk
from fathom.kernels.leaves import Days, is_noise
from fathom.report.facts.part import PERIODIC
from fathom.report.facts.whole import Check, Curves, Detail, End, Meaning
from fathom.report.measure import statistics as st
from fathom.report.measure.anatomy import parts_told
from fathom.report.model import Fitted

POINTS = 400  # at which a part is drawn
PAIRS = 300  # of the MMD test
OWN = 0.1  # two periods that differ by less are the same
FEWEST = 8  # residuals for statistics of order
TERMS = 4  # cosines in which a residual may depend on an input

Side = Literal["high", "low", "both"]


def check(model: Fitted, dataset: Dataset, *, n_draws: int = 1000, seed: int = 0) -> list[Check]:
    """Check a model on the data it was fitted to, by `n_draws` simulations.

    The whole comes first, then the parts in their order. With one input, or a time among several, statistics of
    order and rhythm take part; with several inputs, the residuals against each of them. One output, the first.
    """
    view = _view(model, dataset)
    with linalg.calm_threads(POINTS):
        residuals = _residuals(view, n_draws, np.random.default_rng([seed, 0]))
        found = _whole(residuals) + _against_inputs(view, residuals)
        told = parts_told(model)
        for i, (key, part) in enumerate(
            zip(told.keys, told.parts, strict=True), start=1
        ):  # streams of their own: parts do not disturb each other
            found += _part(view, key, part, n_draws, np.random.default_rng([seed, i]))
    return found


def curves(model: Fitted, dataset: Dataset, *, n_draws: int = 1000, seed: int = 0) -> Curves:
    """Curves of the residuals that the checks of the whole look at (same seed, same draws)."""
    r = _residuals(_view(model, dataset), n_draws, np.random.default_rng([seed, 0]))
    nothing, times = np.zeros(0), r.times
    order: tuple[np.ndarray, ...] = (nothing,) * 8
    if times is not None and len(r.z) >= FEWEST:
        lag = st.step(times) * np.arange(1, len(r.z) // 2 + 1)
        acf, power = (
            _with_band(f(r.z)[0], f(r.null)) for f in (st.autocorrelation, lambda v: st.periodogram(v, times))
        )
        order = (lag, *acf, st.frequencies(times), *power)
    order += (_normal(len(r.z)), *_with_band(np.sort(r.z), np.sort(r.null)))
    return Curves(*order)


class _View(NamedTuple):
    """What the checks need of a model and its data."""

    posterior: Posterior
    X: np.ndarray  # in the user's units
    names: tuple[str, ...]
    axis: int | None  # the input along which order has a meaning
    x_sd: float  # of the first input


def _view(model: Fitted, dataset: Dataset) -> _View:
    posterior = model.posterior_
    if len(posterior.X) != dataset.n_rows or posterior.X.shape[1] != dataset.n_inputs:
        rows, inputs = posterior.X.shape
        raise ValueError(
            f"the model was fitted to {rows} rows of {inputs} inputs, and this data set has {dataset.n_rows} of "
            f"{dataset.n_inputs}: check a model on the data it was fitted to"
        )
    axis = 0 if dataset.n_inputs == 1 else dataset.time
    return _View(
        posterior, model.scaler_.x_back(posterior.X), dataset.names, axis, float(np.ravel(model.scaler_.x_sd)[0])
    )


# -- the whole --------------------------------------------------------------------------------------------------------


class _Residuals(NamedTuple):
    z: np.ndarray  # (N), in the order of time
    null: np.ndarray  # (draws, N) under the model
    times: np.ndarray | None
    order: np.ndarray


def _residuals(view: _View, n_draws: int, rng: np.random.Generator) -> _Residuals:
    p, n = view.posterior, len(view.X)
    order = np.arange(n) if view.axis is None else np.argsort(view.X[:, view.axis], kind="stable")
    in_order = np.array_equal(order, np.arange(n))
    factor = p.factor if in_order else linalg.factorise(p.kernel.gram(p.X[order]))
    z = factor.half_solve((p.Y - p.prior.mean(p.X))[order, 0])
    null = rng.standard_normal((n_draws, n))
    if np.any(np.asarray(p.prior.constant) != 0):  # it was learnt: one direction of z is always zero
        u = factor.half_solve(np.ones(n))
        null -= np.outer(null @ u, u) / (u @ u)
    return _Residuals(z, null, None if view.axis is None else view.X[order, view.axis], order)


def _whole(r: _Residuals) -> list[Check]:
    z, null, normal = r.z, r.null, _normal(len(r.z))
    found = []
    for side in ("high", "low"):
        deviation, where = st.qq(z, normal, side)
        end: End = "upper" if where[0] >= len(z) / 2 else "lower"
        detail: Detail = {"side": end, "quantile": float(normal[where[0]])}
        drawn = st.qq(null, normal, side)[0]
        found.append(_compare(f"qq_{side}", deviation, drawn, "high", _tail(side, end), detail))
    shape = _shape(z, found)
    normality = _compare("normality", st.anderson_darling(z), st.anderson_darling(null), "high", shape)
    found.append(normality)
    if r.times is None or len(z) < FEWEST:
        return found
    return [_autocorrelation(r, r.times), _rhythm(r, r.times), *found, _drift(r)]


def _autocorrelation(r: _Residuals, times: np.ndarray) -> Check:
    correlations = st.autocorrelation(r.z)[0, : st.ljung_box_lags(len(r.z))]
    lag = int(np.argmax(np.abs(correlations))) + 1
    strongest = float(correlations[lag - 1])
    meaning: Meaning = "missed memory" if lag > 1 else "too smooth" if strongest > 0 else "too rough"
    detail: Detail = {"lag": lag * st.step(times), "correlation": strongest}
    return _compare("autocorrelation", st.ljung_box(r.z), st.ljung_box(r.null), "high", meaning, detail)


def _rhythm(r: _Residuals, times: np.ndarray) -> Check:
    power = st.periodogram(r.z, times)[0]
    drawn = st.periodogram(r.null, times).max(1)
    detail = _period(times, float(st.frequencies(times)[np.argmax(power)]))
    return _compare("periodogram_max", power.max(keepdims=True), drawn, "high", "missed periodicity", detail)


def _period(times: np.ndarray, frequency: float) -> Detail:
    """A rhythm by its period, by how often it comes round in the record, and by how many of its steps it takes."""
    cycles = frequency * st.step(times) * len(times)
    return {"frequency": frequency, "period": 1 / frequency, "cycles": cycles, "steps": len(times) / cycles}


def _drift(r: _Residuals) -> Check:
    place = np.arange(len(r.z), dtype=float)
    observed = st.spread_trend(r.z, place)
    meaning: Meaning = "growing variance" if observed[0] > 0 else "shrinking variance"
    ratio = st.spread_ratio(r.z, place)
    return _compare("variance_drift", observed, st.spread_trend(r.null, place), "both", meaning, {"ratio": ratio})


def _against_inputs(view: _View, r: _Residuals) -> list[Check]:
    """With several inputs: do the residuals, or their size, still depend on one of them?"""
    found: list[Check] = []
    if view.X.shape[1] == 1 or len(r.z) < FEWEST:
        return found
    for name, column in zip(view.names, view.X[r.order].T, strict=True):
        place = (rankdata(column) - 0.5) / len(column)
        waves = np.cos(np.pi * np.outer(place, np.arange(1, TERMS + 1))) * np.sqrt(2 / len(column))
        observed, drawn = (((values @ waves) ** 2).sum(-1) for values in (r.z[None], r.null))
        found.append(_compare("input_dependence", observed, drawn, "high", "missed effect", {"input": name}))
        observed, drawn = st.spread_trend(r.z, place), st.spread_trend(r.null, place)
        detail: Detail = {"input": name, "direction": "up" if observed[0] > 0 else "down"}
        found.append(_compare("input_variance", observed, drawn, "both", "uneven variance", detail))
    return found


def _compare(
    statistic: str, observed: np.ndarray, drawn: np.ndarray, side: Side, meaning: Meaning, detail: Detail | None = None
) -> Check:
    """A check of the whole: the rank of the observed statistic among its draws, itself among them."""
    value = float(observed[0])
    # what differs by rounding only is a tie
    slack = 1e-9 * abs(value)
    above, below = (float(1 + np.sum(s)) / (1 + len(drawn)) for s in (drawn >= value - slack, drawn <= value + slack))
    p = {"high": above, "low": below, "both": min(1.0, 2 * min(above, below))}[side]
    return Check("whole", statistic, p, value, _range(drawn), meaning, detail or {})


def _tail(side: str, end: End) -> Meaning:
    """A deviation outwards (up at the upper end, down at the lower) is a heavy tail, one inwards a light one."""
    return "heavy tails" if (side == "high") == (end == "upper") else "light tails"


def _shape(z: np.ndarray, ends: list[Check]) -> Meaning:
    """How z departs from a normal distribution, in agreement with what was found of its ends."""
    told, found = {c.meaning for c in ends if c.failed}, _tails(z)
    if len(told) > 1:
        return "skewed"
    return found if found == "skewed" or not told else told.pop()


def _tails(z: np.ndarray) -> Meaning:
    """The way in which z is furthest from standard normal: spread, skewness or excess kurtosis, in standard errors."""
    scaled, n = (z - z.mean()) / (z.std() or 1.0), len(z)
    spread = (np.mean(z**2) - 1) * np.sqrt(n / 2)
    skewness, excess = np.mean(scaled**3) * np.sqrt(n / 6), (np.mean(scaled**4) - 3) * np.sqrt(n / 24)
    if abs(skewness) > max(abs(excess), abs(spread)):
        return "skewed"
    return "heavy tails" if max(spread, excess, key=abs) > 0 else "light tails"


# -- the parts --------------------------------------------------------------------------------------------------------


class _Draws(NamedTuple):
    prior: np.ndarray  # (draws, n)
    posterior: np.ndarray
    times: np.ndarray | None
    rows: np.ndarray | None  # of the data, unless drawn on a grid


def _draws(view: _View, part: Kernel, n_draws: int, rng: np.random.Generator) -> _Draws | None:
    """A part before and after seeing the data: noise at the observations, functions of one input on a grid."""
    p, n, single = view.posterior, len(view.X), view.X.shape[1] == 1
    if is_noise(part) or not single:
        order = np.arange(n) if view.axis is None else np.argsort(view.X[:, view.axis], kind="stable")
        rows = order[np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(int))]
        cross = part.gram(p.X)[:, rows]
        prior = cross[rows]
        times = view.X[rows, 0] if single else None
    else:
        rows = None
        place = np.linspace(0, 1, min(n, POINTS))[:, None]
        low, high = np.min(p.X, axis=0), np.max(p.X, axis=0)
        grid = low + place * (high - low)
        cross, prior = part.cross(p.X, grid), part.cross(grid, grid)
        times = view.X.min() + place[:, 0] * np.ptp(view.X)
    if np.ptp(prior) <= 1e-12 * np.max(np.abs(prior)) or any(isinstance(node, Days) for node in walk(part)):
        return None  # a constant has no shape to be checked, nor has what holds on single days
    half = p.factor.half_solve(cross)
    before, after = linalg.root(prior), linalg.root(prior - half.T @ half)
    fresh, seen = (rng.standard_normal((n_draws, len(prior))) for _ in range(2))
    return _Draws(fresh @ before.T, cross.T @ p.alpha[:, 0] + seen @ after.T, times, rows)


def _part(view: _View, key: str, part: Kernel, n_draws: int, rng: np.random.Generator) -> list[Check]:
    draws = _draws(view, part, n_draws, rng)
    if draws is None:
        return []
    found = []
    if draws.times is not None and len(draws.times) >= FEWEST and np.ptp(draws.times) > 0:
        found += _part_rhythm(key, draws, draws.times, _periods(part, view.x_sd))
    expected = np.sort(draws.prior).mean(0)
    for side in ("high", "low"):
        before, (after, where) = st.qq(draws.prior, expected, side)[0], st.qq(draws.posterior, expected, side)
        end: End = "upper" if np.median(where) >= len(expected) / 2 else "lower"
        found.append(_contrast(key, f"qq_{side}", [before, after], "high", (_tail(side, end),) * 2, {"side": end}))
    if is_noise(part) and draws.rows is not None:
        found.append(_mmd(view, key, draws, draws.rows, rng))
    return found


def _periods(part: Kernel, x_sd: float) -> list[float]:
    """The periods of a part, in the user's units."""
    return [x_sd * float(np.ravel(leaf.period)[0]) for leaf in walk(part) if leaf.name in PERIODIC]


def _part_rhythm(key: str, draws: _Draws, times: np.ndarray, own: list[float]) -> list[Check]:
    lags = st.step(times) * np.arange(1, len(times) // 2 + 1)
    frequency = st.frequencies(times)
    acf = [st.autocorrelation(values) for values in (draws.prior, draws.posterior)]
    power = [st.periodogram(values, times) for values in (draws.prior, draws.posterior)]
    lag = [lags[values.argmin(1)] for values in acf]
    peak = [frequency[values.argmax(1)] for values in power]
    at: Detail = {"lag": float(np.median(lag[1]))}
    period = _period(times, float(np.median(peak[1])))
    period["own"] = any(abs(period["period"] / p - 1) < OWN for p in own)
    rhythm: tuple[Meaning, Meaning] = ("different rhythm", "different rhythm")
    lowest, highest = [values.min(1) for values in acf], [values.max(1) for values in power]
    return [
        _contrast(key, "acf_min", lowest, "both", ("missed periodicity", "one-way movement"), at),
        _contrast(key, "acf_min_lag", lag, "both", rhythm, at),
        _contrast(key, "periodogram_max", highest, "both", ("weaker periodicity", "missed periodicity"), period),
        _contrast(key, "periodogram_max_frequency", peak, "both", rhythm, period),
    ]


def _contrast(
    key: str, statistic: str, draws: list[np.ndarray], side: Side, meanings: tuple[Meaning, Meaning], detail: Detail
) -> Check:
    """A check of a part by P(prior < posterior), with meanings for a posterior that is lower or higher."""
    before, after = draws
    lower = st.share_below(before, after)
    p = 1 - lower if side == "high" else 2 * min(lower, 1 - lower)
    p = max(p, 1 / (1 + len(before)))  # what so many draws cannot tell from zero
    meaning = meanings[int(lower > 0.5)]
    return Check(key, statistic, p, float(np.median(after)), _range(before), meaning, detail)


def _mmd(view: _View, key: str, draws: _Draws, rows: np.ndarray, rng: np.random.Generator) -> Check:
    chosen = np.sort(rng.choice(len(rows), min(len(rows), PAIRS), replace=False))
    X, y = view.posterior.X[rows[chosen]], view.posterior.Y[rows[chosen], 0]
    exchanged = y - draws.posterior[0, chosen] + draws.prior[0, chosen]
    observed, drawn = st.paired_mmd(np.column_stack([X, y]), np.column_stack([X, exchanged]), rng, len(draws.prior))
    p_value = float(1 + np.sum(drawn >= observed * (1 - 1e-9))) / (1 + len(drawn))
    return Check(key, "mmd", p_value, observed, _range(drawn), "different noise")


def _normal(n: int) -> np.ndarray:
    """The expected order statistics of n standard normals (Blom's approximation)."""
    return np.asarray(ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25)))


def _range(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)


def _with_band(values: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return values, low, high
