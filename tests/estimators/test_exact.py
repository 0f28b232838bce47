"""GPRegressor: scikit-learn's own checks, units, names, components, and what bad input gets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fathom
from fathom.kernels import parse


@pytest.fixture(scope="module")
def airline():
    data = fathom.datasets.load("airline")
    return data.X, data.y


@pytest.fixture(scope="module")
def model(airline):
    return fathom.GPRegressor("Lin + SE*Per*Lin + SE", n_restarts=3, random_state=0).fit(*airline)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 70, 60), "dose": rng.uniform(0, 5, 60)})
    return X, 3 + 0.02 * X["age"] * np.sin(X["dose"]) + 0.1 * rng.standard_normal(60)


@pytest.mark.slow
def test_finds_the_yearly_period(model):
    (periodic,) = [part for part in model.parts_.values() if "Per" in str(part)]
    period = next(node.period for node in periodic.children if node.name == "Per")
    assert period == pytest.approx(1.0, abs=0.01)
    assert model.score(model.scaler_.x_back(model.posterior_.X), model.scaler_.y_back(model.posterior_.Y)) > 0.99


def test_components_sum_to_the_prediction(model, airline):
    X = np.linspace(1950, 1963, 20)[:, None]
    parts = model.components(X)
    assert set(parts) == {"Lin", "SE*Per*Lin", "SE", "WN", "constant"}
    np.testing.assert_allclose(sum(part.mean() for part in parts.values()), model.predict(X), rtol=1e-8)
    np.testing.assert_allclose(parts["constant"].var(), 0)


def test_parts_of_the_same_form_have_their_own_names(airline):
    model = fathom.GPRegressor("SE + SE(lengthscale=5.0)", optimise=False, mean="zero")
    assert list(model.fit(*airline).parts_) == ["SE", "SE #2"]


def test_the_kernel_is_in_the_users_units(model, airline):
    """Conditioning the reported kernel on the raw data gives the same predictions."""
    from fathom.gp.exact import GP, condition

    X, y = airline
    level = float(model.components(X[:1])["constant"].mean()[0])
    raw = condition(GP(model.kernel_, level), X, y)
    new = np.linspace(1955, 1962, 9)[:, None]
    np.testing.assert_allclose(raw.mean(new)[:, 0], model.predict(new), rtol=1e-6)
    np.testing.assert_allclose(raw.var(new, noise=True), model.predict_dist(new).var(), rtol=1e-5)
    assert float(raw.log_evidence()) == pytest.approx(model.log_evidence_, rel=1e-6)


def test_noise_belongs_to_the_observation(model):
    X = np.array([[1962.0]])
    noise = model.parts_["WN"].variance
    difference = model.predict_dist(X).var() - model.predict_dist(X, observed=False).var()
    np.testing.assert_allclose(difference, noise, rtol=1e-8)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std**2, model.predict_dist(X).var())
    np.testing.assert_allclose(mean, model.predict(X))


def test_leave_one_out_and_samples(model, airline):
    X, y = airline
    loo = model.leave_one_out()
    assert loo.shape == (144,)
    assert 0.8 < fathom.metrics.coverage(loo, y) < 0.98
    draws = model.sample(X[-5:], 2000, random_state=1)
    np.testing.assert_allclose(draws.mean(0), model.predict(X[-5:]), rtol=0.02)
    np.testing.assert_array_equal(draws, model.sample(X[-5:], 2000, random_state=1))


def test_a_given_kernel_is_used_as_it_is(airline):
    X, y = airline
    kernel = parse("SE(variance=10000.0, lengthscale=2.0) + WN(variance=400.0)")
    model = fathom.GPRegressor(kernel, optimise=False).fit(X, y)
    np.testing.assert_allclose(model.kernel_.gram(X[:9]), kernel.gram(X[:9]), rtol=1e-9)


def test_a_given_value_is_where_the_fit_starts(airline):
    X, y = airline
    model = fathom.GPRegressor(
        "SE(lengthscale=3.0)*Per(period=1.0) + SE", max_iterations=1, n_restarts=1, random_state=0
    )
    period = next(node.period for node in model.fit(X, y).kernel_.children[0].children if node.name == "Per")
    assert period == pytest.approx(1.0, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_same_seed_same_answer(table, engine):
    X, y = table
    models = [fathom.GPRegressor(n_restarts=2, random_state=3, engine=engine).fit(X, y) for _ in range(2)]
    assert models[0].kernel_ == models[1].kernel_
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_engines_agree(table):
    X, y = table
    ours, theirs = (fathom.GPRegressor(n_restarts=2, random_state=0, engine=e).fit(X, y) for e in ("numpy", "jax"))
    assert ours.log_evidence_ == pytest.approx(theirs.log_evidence_, abs=1e-3)


@pytest.mark.slow
def test_many_rows_start_on_a_subset_and_end_as_high():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(500)
    model = fathom.GPRegressor(n_restarts=2, random_state=0).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.gp.learn.SUBSET", 10_000)
        direct = fathom.GPRegressor(n_restarts=2, random_state=0).fit(X, y)
    assert model.log_evidence_ >= direct.log_evidence_ - 1e-3


def test_names_are_kept(table):
    X, y = table
    model = fathom.GPRegressor("SE[dose] + Lin[age]", n_restarts=1, random_state=0).fit(X, y)
    assert [part for part in model.parts_ if part != "WN"] == ["SE[dose]", "Lin[age]"]
    assert list(model.feature_names_in_) == ["age", "dose"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["dose", "age"]])


def test_ard_over_several_inputs(table):
    model = fathom.GPRegressor(n_restarts=1, random_state=0).fit(*table)
    assert model.kernel_.children[0].lengthscale.shape == (2,)


def test_several_outputs(table):
    X, y = table
    Y = np.column_stack([y, 100 - 50 * y])
    model = fathom.GPRegressor(n_restarts=1, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    predictive = model.predict_dist(X)
    assert predictive.shape == (60, 2)
    np.testing.assert_allclose(predictive.mean()[:, 1], 100 - 50 * predictive.mean()[:, 0], rtol=1e-6)
    np.testing.assert_allclose(predictive.std()[:, 1], 50 * predictive.std()[:, 0], rtol=1e-6)
    assert model.components(X)["constant"].shape == (60, 2)


def test_clone_and_params():
    model = fathom.GPRegressor(parse("SE + Lin"), n_restarts=2)
    assert clone(model).get_params()["kernel"] == parse("SE + Lin")


def test_duplicated_rows_and_constant_columns_are_survived():
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0], 4), np.full(12, 7.0)])
    y = np.repeat([1.0, 2.0, 0.0], 4)
    model = fathom.GPRegressor(n_restarts=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-2)
    assert any("noise" in note or "WN" in note for note in model.notes_)  # noise at its floor is said


def test_a_constant_target_is_predicted():
    X = np.linspace(0, 1, 8)[:, None]
    model = fathom.GPRegressor(n_restarts=1).fit(X, np.full(8, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1.0, np.nan, 2.0, 3.0]}, r"Input y contains NaN. The first is in row 1: drop the row or fill it in."),
        ({"y": [1.0, 2.0, np.inf, 3.0]}, r"Input y contains infinity .* The first is in row 2: drop the row"),
        ({"X": [[0.0], [1.0], [np.nan], [2.0]]}, r"Input X contains NaN. The first is in row 2: drop the row"),
        ({"y": [1.0, 2.0, 1e300, 3.0]}, r"values beyond 1e\+150 cannot be squared: rescale the data"),
        ({"X": [["a"], ["b"], ["c"], ["d"]]}, r"could not convert string to float"),
        ({"X": [[0.0]], "y": [1.0]}, r"Found array with 1 sample\(s\) .* while a minimum of 2 is required"),
    ],
)  # fmt: skip
def test_what_bad_data_get(change, message):
    X, y = change.get("X", [[0.0], [1.0], [2.0], [3.0]]), change.get("y", [0.0, 1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=message):
        fathom.GPRegressor(n_restarts=1).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"mean": "linear"}, ValueError, "mean must be 'constant' or 'zero', not 'linear'"),
        ({"engine": "torch"}, ValueError, "engine must be 'numpy' or 'jax', not 'torch'"),
        ({"kernel": "SE + Foo"}, ValueError, "cannot read kernel 'SE \\+ Foo'"),
        ({"n_restarts": 0}, ValueError, "n_restarts must be an integer of at least 1, not 0"),
        ({"max_iterations": -1}, ValueError, "max_iterations must be an integer of at least 1, not -1"),
        ({"optimise": "x"}, ValueError, "optimise must be True or False, not 'x'"),
        ({"kernel": 3}, TypeError, "kernel must be text or a Kernel, not 3"),
        ({"kernel": "SE[1]"}, ValueError, r"SE\[1\] asks for input 1, but there are 1"),
    ],
)
def test_what_bad_settings_get(settings, error, message):
    with pytest.raises(error, match=message):
        fathom.GPRegressor(**settings).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])


def test_too_many_rows_are_refused_before_memory_runs_out():
    with pytest.raises(
        ValueError,
        match=r"40000 rows need a matrix of 13 GB: .* up to 15000; use SparseGPRegressor\('vfe'\) .* --model svgp",
    ):
        fathom.GPRegressor().fit(np.zeros((40_000, 1)), np.zeros(40_000))


def test_jitter_is_said_with_its_cause():
    model = fathom.GPRegressor("SE", optimise=False).fit([[0.0], [0.0], [1.0]], [0.0, 0.0, 1.0])
    assert model.notes_ == [
        "jitter of 1e-08 of the variance was needed to factorise the covariance: rows 0 and 1 are perfectly "
        "correlated: duplicated inputs, or noise at its floor; add white noise (WN) or merge the rows"
    ]
