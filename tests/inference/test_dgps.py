"""Inducing values as parameters and draws of hidden layers (DGPS): closed forms, quadrature, restarts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree
from scipy.stats import multivariate_normal, norm

from fathom.deep import functions as paths
from fathom.deep import laplace
from fathom.deep.build import Architecture
from fathom.deep.objective import joint, predictive
from fathom.deep.training import lbfgs
from fathom.inference import DGPS, Training, dgps
from fathom.inference.base import Task
from fathom.kernels.expectations import Moments

SAMPLING = DGPS(n_restarts=3)
POINT = DGPS(n_restarts=3, posterior="point")
LOSS = SAMPLING.loss()
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-2, 2, (20, 1)), 0)
Y = np.sign(X) + 0.1 * RNG.standard_normal((20, 1))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def task(widths, n_steps=60, m=5, time_limit=None, on_check=None, **settings):
    arch, training = Architecture(widths, m, dtype="float64", **settings), Training(n_steps, time_limit=time_limit)
    return Task(X, Y, arch, training, on_check=on_check)


def rows():
    return lbfgs.Rows.of(LOSS, X, Y, "float64")


def model_of(widths, seed=1, **settings):
    """A start with a kernel so mild that draws of hidden values say much."""
    model = SAMPLING.start(task(widths, **settings), seed)
    return eqx.tree_at(lambda m: [k.theta for k in m.layers], model, [0.3 * k.theta for k in model.layers])


@eqx.filter_jit
def loss_of(loss, *args):
    return loss(*args)[0]


def value(model, loss=LOSS, n=10, key=0):
    points = model.points(jax.random.key(key), n, len(X), jnp.float64)
    data = jnp.asarray(X), jnp.asarray(Y), points, 1.0, jnp.asarray(float(len(X)))
    return -len(X) * float(loss_of(loss, model, *data))


@pytest.mark.slow
@pytest.mark.parametrize("density", [True, False])
def test_one_layer_in_closed_form(density):
    model = model_of(())
    layer = model.layers[0]
    kernel, Z = layer.form.at(layer.theta[0]), layer.Z[0]
    K = np.asarray(kernel.cross(Z, Z))
    K = K + layer.jitter * np.mean(np.diag(K)) * np.eye(5)
    u = np.linalg.cholesky(K) @ np.asarray(layer.mean[0])
    cross = np.asarray(kernel.cross(X, Z))
    mean = cross @ np.linalg.solve(K, u) + float(layer.offset[0])
    var = np.asarray(kernel.diag(X, False)) - np.sum(cross * np.linalg.solve(K, cross.T).T, 1)
    data = norm.logpdf(Y[:, 0], mean, np.sqrt(var + float(model.likelihood.noise()[0]))).sum()
    prior = multivariate_normal.logpdf(u, np.zeros(5), K)
    if not density:
        prior += np.log(np.diag(np.linalg.cholesky(K))).sum()
    assert np.isclose(value(model, dataclasses.replace(LOSS, density=density)), data + prior, atol=1e-6)


@pytest.mark.slow
def test_the_settled_values_of_one_layer_are_fitc():
    # with Gaussian noise log p(y, v) is quadratic in v, so that Laplace's q is exact
    model = model_of(())
    layer = model.layers[0]
    projection = layer.project(jnp.asarray(X))
    A, rest = np.asarray(projection.A[0]), np.asarray(projection.prior[0]) - np.sum(np.asarray(projection.A[0]) ** 2, 1)
    noise, y = rest + float(model.likelihood.noise()[0]), Y[:, 0] - float(layer.offset[0])
    cov = np.linalg.inv(np.eye(5) + A.T @ (A / noise[:, None]))
    best = cov @ A.T @ (y / noise)
    model = eqx.tree_at(lambda old: old.layers[0].mean, model, jnp.asarray(best[None]))
    settled = laplace.laplace(model, LOSS, X, Y, 0)
    R = np.asarray(settled.layers[0].lower()[0])
    assert np.allclose(R @ R.T, cov)
    assert np.allclose(settled.layers[0](jnp.asarray(X)).var[:, 0], rest + np.sum((A @ cov) * A, 1))
    assert eqx.tree_equal(laplace.points(settled), model)


@pytest.mark.slow
def test_rows_that_say_nothing_leave_the_prior_and_a_part_stands_for_all():
    model = eqx.tree_at(lambda old: old.likelihood.log_noise, model_of((1,)), jnp.full(1, 60.0))
    vague = laplace.laplace(model, LOSS, X, Y, 0)
    assert all(np.allclose(layer.lower(), np.eye(5), atol=1e-6) for layer in vague.layers)
    single = model_of(())
    twice = laplace.laplace(single, LOSS, np.tile(X, (2, 1)), np.tile(Y, (2, 1)), 0)
    half = laplace.laplace(single, LOSS, X, Y, 0, n_rows=40)
    assert np.allclose(twice.layers[0].lower(), half.layers[0].lower())


@pytest.mark.slow
def test_two_layers_against_quadrature():
    model = model_of((1,))
    at, weights = np.polynomial.hermite_e.hermegauss(80)
    mean, var = model.layers[0](jnp.asarray(X))
    hidden = np.asarray(mean) + at * np.sqrt(np.asarray(var))  # (N, nodes)
    out_mean, out_var = model.layers[1](jnp.asarray(hidden.reshape(-1, 1)))
    noise = float(model.likelihood.noise()[0])
    density = norm.pdf(Y, out_mean.reshape(hidden.shape), np.sqrt(out_var.reshape(hidden.shape) + noise))
    exact = np.log(density @ (weights / weights.sum())).sum() - float(model.kl())
    assert np.isclose(value(model, n=20_000), exact, atol=0.1)


@pytest.mark.slow
def test_joint_and_factorised_estimates_meet():
    likelihood = model_of(()).likelihood
    rng = np.random.default_rng(0)
    y = jnp.asarray([[0.1], [-0.2]])
    for n, tolerance in ((200_000, 0.01), (50, 1.0)):
        f = Moments(jnp.asarray(0.3 * rng.standard_normal((n, 2, 1))), jnp.full((n, 2, 1), 0.1))
        logs = jnp.full(n, -np.log(n))
        assert np.isclose(joint(likelihood, y, f, logs).sum(), predictive(likelihood, y, f, logs).sum(), atol=tolerance)


@pytest.mark.slow
def test_gradients_at_fixed_draws():
    model = model_of((1,))
    vector, points = jnp.asarray(lbfgs.flat(model)), model.points(jax.random.key(0), 10, len(X), jnp.float64)
    fixed = (points, jnp.asarray(X), jnp.asarray(Y), LOSS, lbfgs.Reading.of(model))
    at = jax.jit(lambda v: lbfgs.value(v, *fixed))
    gradient = jax.jit(jax.grad(at))(vector)
    direction = jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_inexact_array))
    moved = jax.tree.map(lambda a: jnp.asarray(np.random.default_rng(0).standard_normal(a.shape)), direction.layers)
    direction = ravel_pytree(eqx.tree_at(lambda old: old.layers, direction, moved))[0]  # the least noise is not learnt
    ahead, behind = (at(vector + h * direction) for h in (1e-5, -1e-5))
    assert np.isclose(gradient @ direction, (ahead - behind) / 2e-5, rtol=1e-4)


def test_a_vector_is_read_as_the_model_it_was_made_of():
    model = model_of((1,))
    read = lbfgs.Reading.of(model)(lbfgs.flat(model), jnp.asarray)
    assert eqx.tree_equal(read, model)


@pytest.mark.slow
def test_starts_one_after_the_other_are_starts_together():
    models = [model_of((1,), seed) for seed in range(3)]
    together, apart = lbfgs.Climb(models, rows(), 0), lbfgs.Climb(models, rows(), 0)
    together._apart, apart._apart = False, True
    V = together.vectors
    for moved in (V, V + 0.1, np.stack([V[0] + 0.1, V[1] + 0.2, V[2] + 0.1])):  # the last time one start asks
        (values, slopes), (others, their_slopes) = together.slopes(moved), apart.slopes(moved)
        assert np.allclose(values, others)
        assert np.allclose(slopes, their_slopes)
        assert len(set(values)) == 3


@pytest.fixture(scope="module")
def learnt():
    with jax.enable_x64(True):
        return POINT.climb(task((1,)))


@pytest.mark.slow
def test_the_best_start_by_fresh_draws_is_kept(learnt):
    objectives = [entry["objective"] for entry in learnt.history]
    assert len(objectives) == 3 + 3  # of its own, and grown
    assert objectives == sorted(objectives)
    assert np.isclose(value(learnt.model, n=lbfgs.FRESH, key=7) / len(X), objectives[-1])
    assert objectives[-1] > value(model_of((1,), 0), n=100) / len(X)


@pytest.mark.slow
def test_among_the_best_starts_the_settled_objective_decides(learnt):
    settled = SAMPLING.climb(task((1,)))
    chosen, first = (laplace.laplace(m, LOSS, X, Y, 0) for m in (laplace.points(settled.model), learnt.model))
    assert value(chosen, n=lbfgs.FRESH, key=13) >= value(first, n=lbfgs.FRESH, key=13)
    worth = [value(model, n=lbfgs.FRESH, key=13) for _, model in settled.parts]
    assert worth == sorted(worth, reverse=True)
    assert np.allclose([share for share, _ in settled.parts], dgps.averaged(worth), atol=1e-6)
    assert settled.parts[0][1] is settled.model
    assert len(learnt.parts) == 1  # values that are certain are not averaged
    assert eqx.tree_equal(chosen, settled.model, rtol=1e-6, atol=1e-6)
    assert {e["objective"] for e in settled.history} == {e["objective"] for e in learnt.history}


@pytest.fixture(scope="module")
def two_layers():
    with jax.enable_x64(True):
        return DGPS(n_restarts=1).climb(task((1,))).model


@pytest.mark.slow
def test_a_gaussian_that_reaches_too_far_is_worth_less_than_its_peak(two_layers):
    # certain values of two layers, and the same with a spread that the rows do not allow
    model = two_layers
    wide = eqx.tree_at(lambda old: old.layers[0].root, model, jnp.asarray(model.layers[0].root) + 3 * jnp.eye(5))
    worths = [rows().worth(m, 13) for m in (model, wide)]
    assert np.isclose(worths[0], value(model, n=lbfgs.FRESH, key=13))
    assert worths[0] > worths[1] + 5


@pytest.mark.slow
def test_a_layer_keeps_the_part_of_its_spread_that_is_worth_most(two_layers):
    model = two_layers
    wide = eqx.tree_at(lambda old: old.layers[0].root, model, jnp.asarray(model.layers[0].root) + 3 * jnp.eye(5))
    half = laplace.narrower(wide.layers[0], 0.5)
    assert np.allclose(half.lower(), 0.5 * np.asarray(wide.layers[0].lower()))

    def worth(m):
        return value(m, n=100, key=3)

    kept = laplace._narrowed(wide, worth)
    ratio = np.asarray(kept.layers[0].lower() / wide.layers[0].lower())[0][np.tril_indices(5)]
    assert np.allclose(ratio, ratio[0])
    assert np.isclose(ratio[0], laplace.PARTS).any()
    assert worth(kept) > worth(wide) + 5
    assert eqx.tree_equal(laplace._narrowed(kept, lambda m: 0.0), kept)  # no gain: as it is


def test_shaken_starts_are_no_less_probable_than_draws_of_the_prior():
    squares = [float(jnp.sum(SAMPLING.start(task((1,), m=12), i).layers[0].mean ** 2)) for i in range(20)]
    assert squares[0] == 0  # the linear mean passes inputs on
    assert 0.7 < np.mean(squares[1:]) / (12 * dgps.SHAKE**2) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(1,), (1, 1)])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_a_grown_model_begins_as_the_shallower_one(widths, spread):
    shallow, deep = model_of(widths[1:]), SAMPLING.start(task(widths), 0)
    last = shallow.layers[-1]  # what reaches it may be of any size
    far = (spread * last.Z, last.theta.at[:, 1].add(np.log(spread)))
    shallow = eqx.tree_at(lambda m: (m.layers[-1].Z, m.layers[-1].theta), shallow, far)
    model = dgps.grown(shallow, deep)
    assert eqx.tree_equal((*model.layers[:-2], model.layers[-1]), shallow.layers)
    between = model.layers[-2]
    assert not np.any(between.mean)
    Z = np.asarray(between.Z[0])
    mean, var = between(jnp.asarray(Z))  # a layer that passes its inducing inputs on
    assert np.allclose(mean, Z)
    assert np.all(np.asarray(var) < 1e-3)
    at = np.linspace(Z.min(), Z.max(), 50)[:, None]
    mean, var = between(jnp.asarray(at))  # and what lies between them
    assert np.allclose(mean, at)
    assert np.all(np.asarray(var) < 0.1)
    if spread == 1:
        assert abs(value(model, n=2000) - value(shallow, n=2000) + float(between.kl())) < 5


@pytest.mark.parametrize(
    ("settings", "grows"),
    [
        ({"widths": (2, 2)}, True),
        ({"widths": (3, 1, 1)}, True),
        ({"widths": (1, 3)}, False),
        ({"widths": (2,)}, True),
        ({"widths": (1,)}, False),
        ({"widths": ()}, False),
        ({"widths": (1, 1), "mean": "zero"}, False),
        ({"widths": (1, 1), "connected": True}, False),
        ({"widths": (1, 1), "kernel": ("SE", "SE", "Matern52")}, False),
    ],
)
def test_models_grow_where_a_layer_can_pass_its_inputs_on(settings, grows):
    assert dgps.grows(Architecture(**settings), 2) is grows


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.floats(-1e3, 1e3))
def test_weights_of_an_average(worth, shift):
    shares = dgps.averaged(worth)
    assert np.isclose(shares.sum(), 1)
    assert shares[np.argmax(worth)] == shares.max()
    assert np.allclose(shares, dgps.averaged(np.add(worth, shift)), atol=1e-3)  # differences count


def test_nats_that_weigh_e_times_less():
    near, far = dgps.averaged([7.0, 7.0 - dgps.NATS])
    assert np.isclose(near / far, np.e)
    assert dgps.averaged([3.0, -np.inf, -1000.0]).tolist() == [1, 0, 0]
    assert dgps.averaged([-np.inf, -np.inf]).tolist() == [1, 0]  # nothing could be computed: the first


def test_functions_of_an_average_are_functions_of_its_models():
    models, at = [model_of((1,), 1), model_of((1,), 2)], np.linspace(-1, 1, 4)[:, None]
    alone = [paths.functions([model], [1.0], at, 0, 300) for model in models]
    both = paths.functions(models, [0.8, 0.2], at, 0, 300)
    first = np.all(both == alone[0], axis=(1, 2))
    assert np.array_equal(both[~first], alone[1][~first])
    assert np.isclose(first.mean(), 0.8, atol=0.08)


@pytest.mark.slow
def test_a_climb_tells_how_far_it_is_and_ends_in_time(learnt):
    told = []
    brief = {"n_steps": 30, "time_limit": 1e-9}
    stopped = POINT.climb(task((1,), **brief, on_check=lambda *entry: told.append(entry)))
    assert stopped.status == "time limit"
    assert [(entry["step"], total) for entry, total in told] == [(1, 60), (31, 60)]  # one layer, then two
    assert stopped.history[-1]["objective"] <= learnt.history[-1]["objective"]
    assert np.isfinite(value(stopped.model))
    settled = SAMPLING.climb(task((1,), **brief))
    assert len(settled.parts) == 1  # no time to settle more


@pytest.mark.slow
def test_same_seed_same_answer(learnt):
    again = POINT.climb(task((1,)))
    leaves = [jax.tree.leaves(eqx.filter(trained.model, eqx.is_array)) for trained in (again, learnt)]
    for a, b in zip(*leaves, strict=True):
        assert np.array_equal(a, b)


def test_starts_differ_but_the_first_is_plain():
    first, other = model_of((1,), 0), model_of((1,), 1)
    assert not np.any(first.layers[0].mean)
    assert np.any(other.layers[0].mean)
    thesis = model_of((1,), 0, mean="zero")
    hidden, _ = thesis.layers[0](thesis.layers[0].Z[0])
    assert np.allclose(hidden[:, 0], thesis.layers[0].Z[0, :, 0], atol=0.05)  # values that pass the input on


@pytest.mark.slow
@pytest.mark.parametrize("connected", [False, True])
def test_paths_have_the_moments_of_the_mixture(learnt, connected):
    model = learnt.model if not connected else model_of((1,), connected=True)
    new = jnp.asarray([[-1.0], [0.3]])
    drawn = paths.paths(model, new, jax.random.key(0), 4000)
    assert [a.shape for a in drawn] == [(4000, 2, 1), (4000, 2, 1)]
    f, _, _ = model(new, jax.random.key(1), 4000)
    mean = np.asarray(f.mean)[:, :, 0]
    assert np.allclose(np.asarray(drawn[1])[:, :, 0].mean(0), mean.mean(0), atol=0.08)
    spread = np.sqrt(mean.var(0) + np.asarray(f.var)[:, :, 0].mean(0))
    assert np.allclose(np.asarray(drawn[1])[:, :, 0].std(0), spread, atol=0.08)


@pytest.mark.slow
def test_paths_are_smooth(learnt):
    grid = jnp.linspace(-2, 2, 200)[:, None]
    drawn = np.asarray(paths.paths(learnt.model, grid, jax.random.key(0), 5)[0])[:, :, 0]
    alone = np.asarray(learnt.model.layers[0](grid).var)[:, 0]
    jumps = np.diff(drawn, n=2, axis=1)  # of independent draws they would have the variance of each point six times
    assert np.mean(jumps**2) < 0.05 * 6 * np.mean(alone) + 1e-6


@pytest.mark.parametrize("settings", [{}, {"connected": True}, {"shared": True}])
@pytest.mark.parametrize("widths", [(), (1,), (3, 2)])
def test_the_numbers_of_inducing_points_are_counted(widths, settings):
    arch, model = Architecture(widths, 5, **settings), model_of(widths, **settings)
    assert arch.n_numbers(X.shape[1]) == sum(layer.Z.size + layer.mean.size for layer in model.layers)
