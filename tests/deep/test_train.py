"""Training: same seed, same answer; killed and resumed, the same answer; one compilation for many data sets."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fathom.deep.build import Architecture, build
from fathom.deep.predict import latent
from fathom.deep.training import steps
from fathom.deep.training.calibration import profile, score
from fathom.deep.training.checkpoint import CheckpointError
from fathom.deep.training.loop import Settings, train
from fathom.inference import DSPP, DSVI, SVGP
from fathom.likelihoods import few_valued, noise_floor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
Y = np.sin(2 * X[:, :1]) + 0.1 * RNG.standard_normal((80, 1))
SETTINGS = Settings(n_steps=40, batch_size=32, rate=0.03, validation=0.1, seed=0)


METHOD = DSPP(n_quadrature=3)


def start(method=METHOD, **settings):
    return build(jax.random.key(0), Architecture((2,), 6, **settings), method.beginning(), X, Y)


def fitted(method=METHOD, settings=SETTINGS, data=(X, Y), **options):
    return train(method.loss(), start(method), *data, settings, **options)


def means(trained):
    return latent(trained.model, X, 0)[0]


@pytest.fixture(scope="module")
def once():
    return fitted()


@pytest.mark.slow
def test_training_learns_and_remembers_its_path(once):
    assert [entry["step"] for entry in once.history] == [10, 20, 30, 40]
    assert once.history[-1]["objective"] > once.history[0]["objective"]
    assert once.status == "done"
    assert once.best_step == max(once.profiles, key=lambda step: score(once.profiles[step])[0])


@pytest.mark.slow
def test_same_seed_same_answer(once):
    assert np.array_equal(means(fitted()), means(once))
    other = Settings(**{**vars(SETTINGS), "seed": 1})
    assert not np.array_equal(means(fitted(settings=other)), means(once))


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_answer(tmp_path, once):
    class Killed(BaseException):
        pass

    def kill(entry, total):
        if entry["step"] == 20:
            raise Killed

    path = tmp_path / "run.ckpt"
    with pytest.raises(Killed):
        fitted(keep=path, on_check=kill)
    resumed = fitted(keep=path)
    assert np.array_equal(means(resumed), means(once))
    drop_time = lambda trained: [{**h, "seconds": 0} for h in trained.history]  # noqa: E731
    assert drop_time(resumed) == drop_time(once)
    with pytest.raises(CheckpointError, match="belongs to a training of other data or settings"):
        fitted(keep=path, data=(X + 1, Y))
    path.write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match="is no checkpoint, or it is damaged"):
        fitted(keep=path)


def test_one_compilation_serves_other_data_and_other_settings(once, monkeypatch):
    traced = []
    real = steps._step
    monkeypatch.setattr(steps, "_step", lambda *a, **k: traced.append(1) or real(*a, **k))
    faster = Settings(n_steps=20, batch_size=32, rate=0.01, beta=0.2, validation=0.2, seed=3)
    train(METHOD.loss(), start(), np.vstack([X, X + 1]), np.vstack([Y, Y]), faster)
    assert traced == []


def test_a_step_that_diverges_is_undone_and_tried_slower():
    wild = Settings(n_steps=20, batch_size=32, rate=1e4, seed=0)
    trained = fitted(settings=wild)
    assert np.all(np.isfinite(means(trained)))
    assert trained.status == "diverged"
    assert trained.notes[0].startswith("training stopped at step ")
    assert trained.notes[0].endswith("of the learning rate; the model is that of the last good step")


def test_a_time_limit_ends_in_good_order():
    trained = fitted(settings=Settings(n_steps=4000, batch_size=32, rate=0.03), time_limit=0.2)
    assert trained.status == "time limit"
    assert 0 < trained.best_step < 4000


@pytest.mark.slow
def test_predictions_do_not_depend_on_how_rows_are_cut(once):
    many = np.vstack([X] * 5)
    assert np.allclose(latent(once.model, many, 0)[0][:, :80], means(once), atol=1e-5)
    drawn = fitted(DSVI(), Settings(n_steps=10, batch_size=32)).model
    assert np.allclose(latent(drawn, X[::-1], 0)[0][:, ::-1], latent(drawn, X, 0)[0], atol=1e-5)
    told = profile(once.model, np.float32(many), np.float32(np.vstack([Y] * 5)), jax.random.key(0))
    own = profile(once.model, np.float32(X), np.float32(Y), jax.random.key(0))
    assert np.allclose(told, np.hstack([own] * 5), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_several_devices_give_the_answer_of_one(once):
    code = """
        import jax, numpy as np
        import tests.deep.test_train as t
        assert len(jax.devices()) == 2
        print(repr(t.means(t.fitted()).ravel().tolist()))
    """
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": "."}
    import os

    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=True,
    )
    assert np.allclose(eval(out.stdout), means(once).ravel(), atol=1e-3)


def test_the_schedule_warms_up_and_cools_down():
    knobs = steps.Knobs(*(jnp.asarray(v) for v in (0.1, 100.0, 1.0, 1.0, 0.0)))
    rates = [float(steps.rate_at(jnp.asarray(s), knobs)) for s in (1, 5, 10, 55, 100, 200)]
    assert np.allclose(rates, [0.01, 0.05, 0.1, 0.0505, 0.001, 0.001], rtol=1e-3)


@pytest.mark.slow
def test_the_natural_step_cools_so_that_the_end_is_an_average_of_many_minibatches():
    method = SVGP()
    begun = steps.begin(build(jax.random.key(0), Architecture((), 6), method.beginning(), X, Y), natural=True)

    def moved(state, rows, rho):
        knobs = steps.Knobs(*(jnp.asarray(v) for v in (0.0, 100.0, 1.0, 80.0, rho)))
        stack = (jnp.asarray(a[None, rows], jnp.float32) for a in (X, Y))
        return steps.run(method.loss(), state, *stack, jax.random.key(0), knobs)[0]

    best = moved(begun, np.arange(80), 1.0)  # the optimum of all rows

    def spread(step):  # how far two minibatches lead apart
        state = best._replace(step=jnp.asarray(step, jnp.int32))
        a, b = (moved(state, rows, 0.5).model.layers[0].mean for rows in np.arange(64).reshape(2, 32))
        return float(jnp.abs(a - b).max())

    assert spread(99) < 0.05 * spread(0)


def test_targets_with_few_values_get_the_noise_of_rounding():
    grades = np.repeat([3.0, 4.0, 5.0, 6.0], 20)
    assert few_valued(grades)
    assert np.isclose(noise_floor(grades[:, None])[0], 1 / 12)
    assert not few_valued(RNG.standard_normal(80))
    assert np.isclose(noise_floor(RNG.standard_normal((80, 1)))[0], 1e-4)
