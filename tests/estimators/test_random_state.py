"""`random_state` means in every estimator what it means in scikit-learn."""

import numpy as np
import pytest

from fathom import DeepGPClassifier, DeepGPRegressor, GPRegressor, KernelSearch, SparseGPRegressor, Training
from fathom.base.arrays import seed_of

RNG = np.random.default_rng(0)
X = np.sort(RNG.standard_normal((30, 1)), 0)
y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(30)
BRIEF = Training(n_steps=10)
ESTIMATORS = {
    "GPRegressor": (GPRegressor, {"n_restarts": 1, "max_iterations": 2}),
    "KernelSearch": (KernelSearch, {"depth": 1, "base": ("Lin", "WN"), "n_jobs": 1, "backend": "serial"}),
    "SparseGPRegressor": (SparseGPRegressor, {"n_inducing": 4, "training": BRIEF}),
    "DeepGPRegressor": (DeepGPRegressor, {"widths": (), "inference": "dsvi", "n_inducing": 4, "training": BRIEF}),
    "DeepGPClassifier": (DeepGPClassifier, {"widths": (), "inference": "dsvi", "n_inducing": 4, "training": BRIEF}),
}


def test_every_kind_is_a_seed():
    assert seed_of(7) == seed_of(np.int64(7)) == 7
    for kind in (np.random.default_rng, np.random.RandomState):
        assert seed_of(kind(3)) == seed_of(kind(3)) != seed_of(kind(4))
        one = kind(3)
        assert seed_of(one) != seed_of(one)  # it moves on
    assert seed_of(None) != seed_of(None)


def test_none_draws_from_the_global_state_of_numpy(monkeypatch):
    monkeypatch.setattr(np.random.mtrand, "_rand", np.random.RandomState(3))
    assert seed_of(None) == seed_of(np.random.RandomState(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_a_generator_is_the_int_drawn_from_it(name, kind):
    made, settings = ESTIMATORS[name]
    target = y > 0 if name == "DeepGPClassifier" else y
    by_kind = made(**settings, random_state=kind(5)).fit(X, target)
    by_int = made(**settings, random_state=seed_of(kind(5))).fit(X, target)
    assert np.array_equal(by_kind.predict(X), by_int.predict(X))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [("7", "a RandomState, not '7'"), (-1, "must be None, an integer from 0 to 4294967295, .* not -1")],
)
def test_anything_else_is_refused(name, wrong, message):
    made, settings = ESTIMATORS[name]
    with pytest.raises(ValueError, match=message):
        made(**settings, random_state=wrong).fit(X, y > 0 if name == "DeepGPClassifier" else y)
