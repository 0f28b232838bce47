"""Held-out rows choose the length of training and the width of intervals."""

import numpy as np
import pytest
from scipy.stats import norm

from fathom.deep.heldout import FACTORS, PRIOR_SD, latent, plain, profile, score
from fathom.deep.methods import METHODS
from fathom.deep.schedule import Plan, carry_out, chosen
from fathom.deep.train import Trained, train
from tests.deep.test_train import SETTINGS, X, Y, start

METHOD = METHODS["dspp"]


@pytest.fixture(scope="module")
def planned():
    return carry_out(Plan((20, 40), parts=2, refit=True), METHOD, start(), X, Y, SETTINGS)


def test_every_row_is_held_out_once():
    import dataclasses

    from fathom.deep.train import _Training

    rows = []
    for part in range(5):
        settings = dataclasses.replace(SETTINGS, validation=0.2, part=part)
        run = _Training(METHOD, start(), X, Y, settings, None)
        assert not set(run.held) & set(run.rows)
        assert len(run.held) + len(run.rows) == len(X)
        rows += list(run.held)
    assert sorted(rows) == list(range(len(X)))


def test_profile_is_the_density_under_each_factor():
    import jax

    model = start()
    told = profile(model, np.float32(X), np.float32(Y), jax.random.key(0))
    mean, var, weights = latent(model, X, 0)
    var = var + np.asarray(model.likelihood.noise())
    for k in (0, 20, 60):
        each = norm.logpdf(Y, mean, np.sqrt(FACTORS[k] * var))[:, :, 0]
        assert np.isclose(told[k], np.log(weights @ np.exp(each)).sum(), rtol=1e-4)
    assert np.isclose(plain(told), told[20], rtol=1e-6)  # the factor 1 is one of them


def test_the_factor_is_drawn_towards_one():
    z = 2.0 * np.random.default_rng(0).standard_normal(4000)  # widths half of what they should be
    told = np.array([norm.logpdf(z, 0, np.sqrt(f)).sum() for f in FACTORS])
    assert np.isclose(score(told)[1], 4.0, rtol=0.1)
    assert 1 < score(told / 2000)[1] < 2.5
    assert score(np.zeros(len(FACTORS)))[1] == pytest.approx(1.0)
    assert score(told)[0] <= told.max() - 0.5 * (np.log(4) / PRIOR_SD) ** 2 + 1


def test_parts_decide_together():
    flat = np.zeros(len(FACTORS))
    runs = {
        20: [
            Trained(None, 10, profiles={10: flat, 20: flat - 5}),
            Trained(None, 20, profiles={10: flat - 9, 20: flat}),
        ],
        40: [Trained(None, 10, profiles={10: flat - 1}), Trained(None, 10, profiles={10: flat - 2, 20: flat + 50})],
    }
    assert chosen(runs)[:2] == (40, 10)  # −3; step 20 of the longer schedule was not seen by both


def test_the_last_training_is_on_all_rows(planned):
    assert planned.best_step in (10, 20, 30, 40)
    assert all(entry["validation NLL"] is not None for entry in planned.history)
    assert planned.history[-1]["step"] == planned.best_step


def test_progress_is_of_all_runs():
    seen = []
    plan = Plan((20, 40), parts=2, refit=True)
    carry_out(plan, METHOD, start(), X, Y, SETTINGS, on_check=lambda entry, total: seen.append((entry["step"], total)))
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
        carry_out(plan, METHOD, start(), X, Y, SETTINGS, on_check=kill)
    assert (tmp_path / "run.40.0").exists()
    (tmp_path / "run.csv").write_text("not ours")
    again = carry_out(plan, METHOD, start(), X, Y, SETTINGS)
    assert np.array_equal(latent(again.model, X, 0)[0], latent(planned.model, X, 0)[0])
    assert again.widening == planned.widening
    plan.forget()
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]


def test_one_run_is_that_run():
    direct = train(METHOD, start(), X, Y, SETTINGS)
    planned = carry_out(Plan((SETTINGS.n_steps,)), METHOD, start(), X, Y, SETTINGS)
    assert np.array_equal(latent(direct.model, X, 0)[0], latent(planned.model, X, 0)[0])
    assert planned.widening == direct.widening
