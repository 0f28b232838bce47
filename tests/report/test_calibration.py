"""Are the p-values of the checks what they say when the parameters are learnt from the same data, as they always are?

Measured once on 150 series of 60 observations from each of SE + Per + WN, SE + WN and Lin + SE×Per + WN, fitted from
the truth: of the checks of the whole 1 to 7 in a hundred p-values fell below 0.05, those of parts hardly ever did, and
the test of the noise was uniform. Here the same in small.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from fathom import GPRegressor
from fathom.data.dataset import Dataset
from fathom.gp.exact import GP
from fathom.kernels import parse
from fathom.report.measure.checks import check

KERNEL = "SE(lengthscale=3) + Per(lengthscale=1, period=1.3) + WN(variance=0.2)"
SERIES = 40


@pytest.fixture(scope="module")
def p_values():
    """For every check, the p-values of as many series from the model, each fitted anew."""
    X = np.linspace(0, 10, 48)[:, None]
    draws = GP(parse(KERNEL)).sample(np.random.default_rng(3), X, SERIES, noise=True)
    found: dict[tuple[str, str], list[float]] = {}
    for seed, y in enumerate(draws):
        model = GPRegressor(KERNEL, n_restarts=1, random_state=0).fit(X, 5 + y)
        for c in check(model, Dataset(X, 5 + y, ("t",), ("y",), time=0), n_draws=99, seed=seed):
            found.setdefault((c.subject, c.statistic), []).append(c.p_value)
    return {key: np.array(values) for key, values in found.items()}


@pytest.mark.slow
def test_no_check_cries_wolf(p_values):
    shares = {key: float(np.mean(values <= 0.05)) for key, values in p_values.items()}
    assert max(shares.values()) <= 0.12, shares
    assert np.mean([share for (subject, _), share in shares.items() if subject == "whole"]) <= 0.06


@pytest.mark.slow
def test_checks_of_the_whole_are_roughly_uniform(p_values):
    """Learning makes them a little cautious: a distance of 0.3 would be a check that says nothing."""
    for (subject, statistic), values in p_values.items():
        if subject == "whole" or statistic == "mmd":
            assert kstest(values, "uniform").statistic < 0.3, (subject, statistic)
