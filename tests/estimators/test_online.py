"""`OnlineGPRegressor` and the sequential deep GP: fits, streams, files, and what they are limits of."""

import numpy as np
import pytest

import fathom
from fathom import DeepGPClassifier, DeepGPRegressor, OnlineGPRegressor
from fathom.inference import Sequential

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (130, 2))
Y = 5 + 3 * np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(130)


@pytest.fixture(scope="module")
def fitted():
    return OnlineGPRegressor(budget=30, random_state=0).fit(X[:100], Y[:100])


@pytest.fixture(scope="module")
def deep():
    return DeepGPRegressor((1,), Sequential(n_particles=20), 15, random_state=0).fit(X[:100], Y[:100])


@pytest.mark.slow
def test_it_learns(fitted, deep):
    assert fitted.score(X[100:], Y[100:]) > 0.95
    assert deep.score(X[100:], Y[100:]) > 0.9
    assert fitted.n_seen_ == 100
    low, high = fitted.predict_dist(X[100:]).interval(0.9)
    assert np.mean((low <= Y[100:]) & (high >= Y[100:])) > 0.7


@pytest.mark.slow
def test_rows_one_by_one_equal_all_at_once():
    whole = OnlineGPRegressor(budget=30, random_state=0)
    told = whole.follow(X, Y)
    parts = OnlineGPRegressor(budget=30, random_state=0)
    for start, stop in ((0, 1), (1, 60), (60, 61), (61, 130)):
        parts.partial_fit(X[start:stop], Y[start:stop])
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    assert told.shape == (130,)
    assert whole.score_ == parts.score_


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fitted", "deep"])
def test_saved_in_mid_stream_it_goes_on_to_the_same_answers(name, request, tmp_path):
    model = request.getfixturevalue(name)
    fathom.save(model, tmp_path / "m.fathom")
    one, two = (fathom.load(tmp_path / "m.fathom") for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), model.predict(X))
    one.partial_fit(X[100:], Y[100:])
    fathom.save(two.partial_fit(X[100:115], Y[100:115]), tmp_path / "again.fathom")
    two = fathom.load(tmp_path / "again.fathom").partial_fit(X[115:], Y[115:])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.slow
def test_without_hidden_layers_sequential_is_online_bit_for_bit():
    online = OnlineGPRegressor(budget=15, episodes=1, random_state=0).fit(X[:60], Y[:60])
    flat = DeepGPRegressor((), Sequential(episodes=1), 15, random_state=0).fit(X[:60], Y[:60])
    np.testing.assert_array_equal(online.predict(X), flat.predict(X))
    np.testing.assert_array_equal(online.predict_dist(X).std(), flat.predict_dist(X).std())


@pytest.mark.slow
def test_a_kernel_as_given_is_the_exact_posterior():
    text = "SE(variance=9, lengthscale=1.2) + WN(variance=0.04)"
    given = OnlineGPRegressor(text, budget=80, optimize=False).fit(X[:40], Y[:40])
    K, noise = fathom.kernels.parse("SE(variance=9, lengthscale=1.2)"), 0.04 * np.eye(40)
    alpha = np.linalg.solve(K.gram(X[:40]) + noise, Y[:40])
    np.testing.assert_allclose(given.predict(X), K.cross(X, X[:40]) @ alpha, atol=2e-3)
    parts = given.components(X[:5])
    total = sum(part.mean() for part in parts.values())
    np.testing.assert_allclose(total, given.predict(X[:5]), atol=1e-9)


@pytest.mark.slow
def test_missing_outputs_are_reconstructed():
    both = np.column_stack([Y, 2 * Y + 0.2 * RNG.standard_normal(130)])
    gaps = both.copy()
    gaps[40:60, 1] = np.nan
    model = OnlineGPRegressor(budget=30, random_state=0).fit(X, gaps)
    assert np.mean(np.abs(model.predict(X[40:60])[:, 1] - both[40:60, 1])) < 1.0
    low, high = model.predict_dist(X[40:60]).interval(0.9)
    assert (low < high).all()


@pytest.mark.slow
def test_noise_that_follows_the_inputs_is_learnt():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (300, 1))
    y = np.sin(2 * x[:, 0]) + np.exp(x[:, 0] - 1.5) * rng.standard_normal(300)
    plain, varying = (
        OnlineGPRegressor(budget=30, noise=noise, episodes=1, random_state=0).fit(x[:200], y[:200])
        for noise in ("constant", "heteroscedastic")
    )
    nll = [fathom.metrics.nll(model.predict_dist(x[200:]), y[200:]) for model in (plain, varying)]
    assert nll[1] < nll[0] - 0.2
    sd = varying.predict_dist(np.array([[-1.8], [1.8]])).std()
    assert sd[1] > 5 * sd[0]


@pytest.mark.slow
def test_a_change_of_the_stream_is_found_and_none_without_one():
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, (400, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.standard_normal(400)
    kernel = "SE(variance=1, lengthscale=0.7) + WN(variance=0.04)"
    calm = OnlineGPRegressor(kernel, budget=20, optimize=False).partial_fit(x, y)
    assert calm.changes_ == []
    moved = OnlineGPRegressor(kernel, budget=20, optimize=False).partial_fit(x, y + 1.0 * (np.arange(400) >= 250))
    assert 250 <= moved.changes_[0][0] < 270
    assert moved.changes_[0][1] == "shift up"


@pytest.mark.slow
def test_classes_are_learnt_by_one_of_k():
    labels = np.where(X[:, 0] > 0.7, "high", np.where(X[:, 0] > -0.7, "middle", "low"))
    model = DeepGPClassifier((1,), Sequential(n_particles=20), 15, random_state=0).fit(X[:100], labels[:100])
    assert model.score(X[100:], labels[100:]) > 0.7
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)


@pytest.mark.slow
def test_whole_functions_are_drawn(deep):
    drawn = deep.sample_functions(X[:6], 40, seed=1)
    assert drawn.shape == (40, 6)
    np.testing.assert_allclose(drawn.mean(0), deep.predict(X[:6]), atol=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be an integer from 1 to 10000, not 0"),
        ({"noise": "white"}, "noise must be 'constant' or 'heteroscedastic', not 'white'"),
        ({"forgetting": 1.5}, "forgetting must be 'auto', a number above 0 and at most 1 or"),
        ({"episodes": 0}, "episodes must be an integer of at least 1, not 0"),
        ({"optimize": "no"}, "optimize must be True or False, not 'no'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        OnlineGPRegressor(**options).partial_fit(X, Y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DeepGPRegressor((1,), Sequential(update="best")), "update must be 'adf', 'plug-in' or 'trajectory'"),
        (DeepGPRegressor((1,), "sequential", input_connected=True), "input_connected means nothing to 'sequential'"),
        (DeepGPRegressor((1,), "sequential", dtype="float32"), "computes in float64"),
        (DeepGPRegressor((1,), "sequential", training=fathom.Training(n_steps=9)), "n_steps means nothing to"),
        (DeepGPRegressor((1,), "sequential", kernel=("SE", "SE", "SE")), "3 kernels were given for 2 layers"),
    ],
)
def test_options_of_sequential_are_checked(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_a_wrong_kernel_is_told_with_the_first_row():
    with pytest.raises(ValueError, match="cannot read kernel 'SEE'"):
        OnlineGPRegressor("SEE").partial_fit(X[:1], Y[:1])


def test_outputs_stay_as_many_as_they_were():
    model = OnlineGPRegressor().partial_fit(X[:3], Y[:3])
    with pytest.raises(ValueError, match="y has 2 outputs, and the rows before had 1"):
        model.partial_fit(X[:3], np.column_stack([Y[:3], Y[:3]]))
    np.testing.assert_allclose(model.predict(X[:2]), Y[:3].mean())
