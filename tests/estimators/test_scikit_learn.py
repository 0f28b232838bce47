"""scikit-learn's own checks, all of them, for every public estimator: few points and steps, but enough to learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fathom import DeepGPClassifier, DeepGPRegressor, GPRegressor, KernelSearch, OnlineGPRegressor, SparseGPRegressor
from fathom.inference import DSPP, Training
from fathom.models import ESTIMATORS

SMALL = {"n_inducing": 5, "random_state": 0}
BRIEF = Training(n_steps=40, learning_rate=0.1)
CHECKED = [
    GPRegressor(n_restarts=1, max_iterations=20, random_state=0),
    KernelSearch(depth=1, base=("Lin", "WN"), n_jobs=1, random_state=0),
    OnlineGPRegressor(budget=10, episodes=1, random_state=0),
    SparseGPRegressor("vfe", training=Training(n_steps=20), **SMALL),
    SparseGPRegressor("svgp", training=BRIEF, **SMALL),
    SparseGPRegressor("ppgpr", training=BRIEF, **SMALL),
    DeepGPRegressor((1,), DSPP(n_quadrature=2), training=BRIEF, **SMALL),
    DeepGPClassifier((), "dsvi", training=BRIEF, **SMALL),
]


@pytest.mark.slow
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    assert {type(estimator).__name__ for estimator in CHECKED} == set(ESTIMATORS)
