"""Models that several tests describe, fitted once."""

from dataclasses import replace

import numpy as np
import pytest

import fathom
from fathom.base.execute import executor
from fathom.data.dataset import Dataset
from fathom.report.measure.gather import gather


@pytest.fixture(scope="session")
def airline():
    """The airline series: data, fitted model, facts."""
    data = fathom.datasets.load("airline")
    model = fathom.GPRegressor("Lin + SE*Per*Lin + SE", n_restarts=2, random_state=0).fit(data.X, data.y)
    return data, model, gather(model, data)


@pytest.fixture(scope="session")
def several():
    """Three inputs, of which one does not matter."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (80, 3))
    y = 40 - 20 * np.exp(-X[:, 0] / 2) - 2 * X[:, 1] + 0.1 * (X[:, 0] - 5) * (X[:, 1] - 5)
    data = Dataset(
        *(X, y + rng.standard_normal(80), ("age", "water", "colour"), ("strength",)),
        units={"age": "days", "water": "kg", "strength": "MPa"},
    )
    kernel = (
        "SE[0](variance=100, lengthscale=6) + Lin[1](variance=4, location=5) + "
        "SE[0,1](variance=4, lengthscale=[6, 6]) + SE[2](variance=0.001, lengthscale=5) + WN(variance=1)"
    )
    model = fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)
    return data, model, gather(model, data)


@pytest.fixture(scope="session")
def searched():
    """A short search of the airline series: data and model. Its second best is brought within reach of the best."""
    data = fathom.datasets.load("airline")
    model = fathom.KernelSearch(depth=2, n_jobs=1, backend="serial", random_state=0).fit(data.X, data.y)
    model.columns_ = data.columns
    best, second, *_ = model.trace_.kept
    model.trace_ = replace(model.trace_, kept=(best, replace(second, score=best.score + 4)))
    with executor("serial") as pool:
        p = model.posterior_
        model._remember(*model._members(p.X, p.Y[:, 0], pool), p.X, p.Y)
    return data, model
