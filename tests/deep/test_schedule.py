"""Held-out rows choose the length of training and the width of intervals."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from fathom.deep.predict import AS_LEARNT, latent, scaled, together
from fathom.deep.training.calibration import FACTORS, calibrate, plain, profile, score
from fathom.deep.training.loop import Trained, train, whole
from fathom.deep.training.schedule import Plan, carry_out, chosen
from fathom.predictive import Predictive
from tests.deep.test_train import METHOD, SETTINGS, X, Y, start

LOSS = METHOD.loss()


@pytest.fixture(scope="module")
def planned():
    return carry_out(Plan((20, 40), parts=2, refit=True), LOSS, start(), X, Y, SETTINGS)


@pytest.mark.slow
def test_every_row_is_held_out_once():
    from fathom.deep.training.loop import _Training

    rows = []
    for part in range(5):
        settings = dataclasses.replace(SETTINGS, validation=0.2, part=part)
        run = _Training(LOSS, start(), X, Y, settings, None)
        assert not set(run.held) & set(run.rows)
        assert len(run.held) + len(run.rows) == len(X)
        rows += list(run.held)
    assert sorted(rows) == list(range(len(X)))


@pytest.mark.slow
def test_profile_is_the_density_under_each_factor():
    import jax

    model = start()
    told = profile(model, np.float32(X), np.float32(Y), jax.random.key(0))
    assert told.shape == (len(FACTORS), len(X))
    mean, var, weights = latent(model, X, 0)
    var = var + np.asarray(model.likelihood.noise())
    for k in (0, 9, 18):
        each = norm.logpdf(Y, mean, np.sqrt(FACTORS[k] * var))[:, :, 0]
        assert np.allclose(told[k], np.log(weights @ np.exp(each)), rtol=1e-3)
    assert FACTORS[len(FACTORS) // 2] == 1.0
    assert np.isclose(plain(told), told[len(FACTORS) // 2].sum(), rtol=1e-6)


def told_of(z):
    return np.array([norm.logpdf(z, 0, np.sqrt(f)) for f in FACTORS])


def test_scales_are_those_of_rows_and_few_rows_change_little():
    z = 2.0 * np.random.default_rng(0).standard_normal(20_000)  # widths half of what they should be
    worth, scales = score(told_of(z))
    assert np.isclose(sum(factor * weight for factor, weight in scales), 4.0, rtol=0.03)
    assert np.isclose(worth, norm.logpdf(z, 0, 2.0).sum(), atol=60)  # of 42,000
    assert np.isclose(sum(weight for _, weight in scales), 1.0)
    few = dict(score(told_of(z[:2]))[1])
    assert max(few, key=few.get) == 1.0
    nothing = dict(score(np.zeros((len(FACTORS), 10)))[1])
    assert max(nothing, key=nothing.get) == 1.0


def test_rows_may_ask_for_far_narrower_intervals():
    z = np.random.default_rng(1).standard_normal(20_000) * np.repeat([0.15, 1.0], [14_000, 6_000])
    worth, scales = score(told_of(z))
    assert np.isclose(sum(weight for factor, weight in scales if factor < 0.15), 0.7, atol=0.05)
    truth = np.log(0.7 * norm.pdf(z, 0, 0.15) + 0.3 * norm.pdf(z))
    assert np.isclose(worth / len(z), truth.mean(), atol=0.01)


@pytest.mark.slow
def test_many_training_rows_mend_the_width_that_an_elbo_learns():
    import equinox as eqx
    import jax

    from fathom.deep.build import Architecture, build
    from fathom.inference import SVGP

    rng = np.random.default_rng(3)
    many = rng.uniform(-2, 2, (2000, 1))
    noise = 0.5 * rng.standard_normal((2000, 1))  # about the mean of zero that a model has before training
    model = build(jax.random.key(0), Architecture((), 5), SVGP().beginning(), many, noise)
    wide = eqx.tree_at(lambda m: m.likelihood.log_noise, model, np.log(np.float32([0.9])))
    narrow = eqx.tree_at(lambda m: m.layers[0].theta, wide, np.float32([[np.log(0.1), 0.0]]))
    scales = calibrate(narrow, many, noise, 0)
    fitted = 2005 / 1995  # 5 inducing inputs to 2,000 rows
    expected = fitted * np.mean(noise**2)  # of 0.9 + 0.1
    assert np.isclose(sum(factor * weight for factor, weight in scales), expected, rtol=0.08)
    assert np.isclose(scales[-1][0] / fitted, FACTORS, rtol=1e-6).any()
    assert calibrate(narrow, many[:74], noise[:74], 0) == AS_LEARNT  # fewer than 15 for each inducing input
    assert calibrate(narrow, many, noise, 0) == scales
    network = eqx.nn.MLP(1, 1, 50, 1, key=jax.random.key(0))  # 151 weights: as many rows are few for them
    fronted = eqx.tree_at(lambda m: m.features, narrow, network, is_leaf=lambda x: x is None)
    assert calibrate(fronted, many, noise, 0) == AS_LEARNT


@pytest.mark.slow
def test_partial_fit_keeps_the_width_of_intervals():
    import fathom

    model = fathom.SparseGPRegressor("ppgpr", 5, training=fathom.Training(n_steps=20), random_state=0).fit(X, Y[:, 0])
    before = model.learnt_.scales
    assert model.partial_fit(X[:20], Y[:20, 0]).learnt_.scales == before != AS_LEARNT


def test_of_many_draws_every_factor_takes_its_share():
    draws = np.random.default_rng(0).standard_normal((100, 5))
    scales = ((0.5, 0.6), (1.0, 0.38), (4.0, 0.02))
    means, variances, weights = scaled(draws, np.ones((100, 5)), np.full(100, 0.01), scales)
    assert len(means) == 100 + 76 + 8
    for factor, share in scales:
        assert np.isclose(weights[variances[:, 0] == factor].sum(), share)
    assert len(scaled(draws[:50], np.ones((50, 5)), np.full(50, 0.02), scales)[0]) == 150  # few: all with all
    alone = scaled(draws, np.ones((100, 5)), np.full(100, 0.01), AS_LEARNT)
    np.testing.assert_array_equal(alone[0], draws)


def test_some_rows_far_out_do_not_widen_the_others():
    rng = np.random.default_rng(1)
    z = np.concatenate([rng.standard_normal(1900), 6 * rng.standard_normal(100)])
    worth, scales = score(told_of(z))
    single = max(told.sum() for told in told_of(z))
    assert worth > single + 200
    parts = scaled(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1), scales)
    mixture = Predictive(parts[2], parts[0].T, parts[1].T)
    assert np.isclose(mixture.log_prob(z[:1]), np.log(sum(w * norm.pdf(z[0], 0, np.sqrt(f)) for f, w in scales)))
    low, high = mixture.interval(0.9)
    assert np.isclose(np.mean((z > low) & (z < high)), 0.9, atol=0.02)


def test_mixtures_together():
    one, other = (np.array([[1.0]]), np.array([[2.0]]), np.ones(1)), (np.zeros((2, 1)), np.ones((2, 1)), np.ones(2) / 2)
    for a, b in zip(together([one], [1.0]), one, strict=True):
        np.testing.assert_array_equal(a, b)
    means, variances, weights = together([one, other], [0.7, 0.3])
    assert means[:, 0].tolist() == [1, 0, 0]
    assert variances[:, 0].tolist() == [2, 1, 1]
    assert np.allclose(weights, [0.7, 0.15, 0.15])


def test_scaled_keeps_the_components_in_order():
    means, variances, weights = scaled(
        np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), np.array([0.25, 0.75]), ((1.0, 0.5), (10.0, 0.5))
    )
    assert means[:, 0].tolist() == [1, 2, 1, 2]
    assert variances[:, 0].tolist() == [3, 4, 30, 40]
    assert weights.tolist() == [0.125, 0.375, 0.125, 0.375]


def test_parts_decide_together():
    def at(value):
        return np.full((len(FACTORS), 2), value / 2)

    runs = {
        20: [
            Trained(None, 10, profiles={10: at(0), 20: at(-5)}),
            Trained(None, 20, profiles={10: at(-9), 20: at(0)}),
        ],
        40: [Trained(None, 10, profiles={10: at(-1)}), Trained(None, 10, profiles={10: at(-2), 20: at(50)})],
    }
    assert chosen(runs)[:2] == (40, 10)  # −3; step 20 of the longer schedule was not seen by both


@pytest.mark.slow
def test_the_last_training_is_on_all_rows(planned):
    assert planned.best_step in (10, 20, 30, 40)
    assert all(entry["validation NLL"] is not None for entry in planned.history)
    assert planned.history[-1]["step"] == planned.best_step


@pytest.mark.slow
def test_every_run_has_batches_of_one_size(monkeypatch):
    from fathom.deep.training import loop as training
    from fathom.deep.training import steps

    shapes = set()

    def note(loss, state, Xs, Ys, key, knobs):
        shapes.add(Xs.shape)
        return steps.run(loss, state, Xs, Ys, key, knobs)

    monkeypatch.setattr(training, "run", note)
    settings = dataclasses.replace(SETTINGS, batch_size=256)
    carry_out(Plan((10,), parts=3, refit=True), LOSS, start(), X[:32], Y[:32], settings)  # holds out 11, 10, 11, none
    assert shapes == {(10, 21, 2)}


def test_steps_come_in_whole_chunks():
    assert [whole(n) for n in (3, 14, 480, 1406.25)] == [10, 10, 480, 1410]


def test_progress_is_of_all_runs():
    seen = []
    plan = Plan((20, 40), parts=2, refit=True)
    carry_out(plan, LOSS, start(), X, Y, SETTINGS, on_check=lambda entry, total: seen.append((entry["step"], total)))
    steps = [step for step, _ in seen]
    assert steps == sorted(steps)
    assert {total for _, total in seen} == {160}
    assert steps[-1] <= 160


def test_a_killed_plan_goes_on_to_the_same_answer(tmp_path, planned):
    class Killed(BaseException):
        pass

    def kill(entry, total):
        if entry["step"] >= 70:
            raise Killed

    plan = Plan((20, 40), parts=2, refit=True, keep=tmp_path / "run")
    with pytest.raises(Killed):
        carry_out(plan, LOSS, start(), X, Y, SETTINGS, on_check=kill)
    assert (tmp_path / "run.40.0").exists()
    (tmp_path / "run.csv").write_text("not ours")
    again = carry_out(plan, LOSS, start(), X, Y, SETTINGS)
    assert np.array_equal(latent(again.model, X, 0)[0], latent(planned.model, X, 0)[0])
    assert again.scales == planned.scales
    plan.forget()
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]


def test_one_run_is_that_run():
    direct = train(LOSS, start(), X, Y, SETTINGS)
    planned = carry_out(Plan((SETTINGS.n_steps,)), LOSS, start(), X, Y, SETTINGS)
    assert np.array_equal(latent(direct.model, X, 0)[0], latent(planned.model, X, 0)[0])
    assert planned.scales == direct.scales
