"""A layer, its factorisation and its KL, against exact GPs and dense Gaussians. All in float64."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fathom.base import linalg
from fathom.deep.layer import EXPLAINED, MANY, UNIT, Form, Layer, OrthogonalPoints
from fathom.deep.model import DeepGP
from fathom.deep.propagate import Draws
from fathom.deep.training.steps import Knobs, begin, run, with_natural
from fathom.gp.exact import GP
from fathom.inference import SVGP
from fathom.kernels.leaves import SE, WN
from fathom.kernels.vector import to_vector
from fathom.likelihoods import Gaussian
from fathom.sparse.collapsed import condition_sparsely, log_bound

LOSS = SVGP().loss()
NOISE = 0.3
RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
Y = np.sin(X[:, :1]) + 0.1 * RNG.standard_normal((12, 1))
Z = X[:4] + 0.1
KERNEL = SE(variance=1.5, lengthscale=[0.8, 1.3])


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def layer(Z=Z, width=1, mean=None, root=None, orthogonal=None):
    m = len(Z)
    theta = jnp.asarray(to_vector(KERNEL))[None]
    mean = jnp.zeros((width, m)) if mean is None else jnp.asarray(mean)
    root = jnp.zeros((width, m, m)) if root is None else jnp.asarray(root)
    return Layer(theta, jnp.asarray(Z)[None], mean, root, None, jnp.zeros(width), orthogonal, None, Form(KERNEL), 1e-12)


def model(Z=Z, **parts):
    noise = Gaussian(jnp.log(jnp.array([NOISE])), None, jnp.zeros(1))
    return DeepGP((layer(Z, **parts),), Draws(), noise, None, False)


def random_q(m, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((1, m)), 0.3 * rng.standard_normal((1, m, m))


# -- factorisations ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_whitening_whitens_and_has_the_right_gradient():
    K = jnp.asarray(np.stack([KERNEL.gram(X), KERNEL.gram(2 * X)])) + 0.1 * jnp.eye(12)
    W = linalg.whitening(K, 0.0)
    assert np.allclose(W @ K @ W.transpose(0, 2, 1), np.eye(12), atol=1e-9)
    weights = jnp.asarray(np.random.default_rng(2).standard_normal(K.shape))

    def plain(K):
        return jnp.sum(weights * jnp.linalg.inv(jnp.linalg.cholesky(K)))

    ours = jax.grad(lambda K: jnp.sum(weights * linalg.whitening(K, 0.0)))(K)
    theirs = jax.grad(plain)(K)
    assert np.allclose(ours, (theirs + theirs.transpose(0, 2, 1)) / 2, atol=1e-8)


def test_large_matrices_are_treated_by_blocks():
    rng = np.random.default_rng(5)
    A, weights = rng.standard_normal((2, 3, 150, 150))
    K = jnp.asarray(A @ A.transpose(0, 2, 1) / 150 + np.eye(150))
    assert np.allclose(jax.jit(linalg.whitening)(K, 0.0), np.linalg.inv(np.linalg.cholesky(K)), atol=1e-10)
    plain = jax.jit(jax.grad(lambda K: jnp.sum(weights * jnp.linalg.inv(jnp.linalg.cholesky(K)))))(K)
    ours = jax.jit(jax.grad(lambda K: jnp.sum(weights * linalg.whitening(K, 0.0))))(K)
    assert np.allclose(ours, (plain + plain.transpose(0, 2, 1)) / 2, atol=1e-8)


def test_inverse_root_is_a_lower_root_of_the_inverse():
    K = jnp.asarray(KERNEL.gram(X))[None] + 0.1 * jnp.eye(12)
    R = linalg.inverse_root(K)
    assert np.allclose(R @ R.transpose(0, 2, 1) @ K, np.eye(12), atol=1e-9)
    assert np.allclose(np.triu(R[0], 1), 0)


# -- one layer ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_the_prior_as_q_a_layer_is_the_prior():
    mean, var = layer()(jnp.asarray(X))
    assert np.allclose(mean, 0)
    assert np.allclose(var[:, 0], KERNEL.diag(X), atol=1e-10)


def test_full_and_diagonal_q_agree_where_they_meet():
    m, logs = np.random.default_rng(3).standard_normal((2, 1, 4))
    full = layer(mean=m, root=np.diag(logs[0])[None])
    diagonal = layer(mean=m, root=logs)
    for a, b in zip(full(X), diagonal(X), strict=True):
        assert np.allclose(a, b)
    assert np.isclose(full.kl(), diagonal.kl())


def test_moments_are_those_of_the_joint_gaussian():
    m, root = random_q(4)
    one = layer(mean=m, root=root)
    R = np.asarray(one.lower()[0])
    L = np.linalg.cholesky(KERNEL.cross(Z, Z))
    A = np.linalg.solve(L, KERNEL.cross(Z, X)).T
    mean, var = one(jnp.asarray(X))
    assert np.allclose(mean[:, 0], A @ m[0])
    assert np.allclose(var[:, 0], KERNEL.diag(X) - (A**2).sum(1) + ((A @ R) ** 2).sum(1))
    S = R @ R.T
    kl = 0.5 * (np.trace(S) + m[0] @ m[0] - 4 - np.linalg.slogdet(S)[1])
    assert np.isclose(one.kl(), kl)


@pytest.mark.parametrize("width", [1, 3])
def test_many_rows_are_known_as_few_are_and_so_are_their_slopes(width):
    rng = np.random.default_rng(6)
    one = layer(width=width, mean=rng.standard_normal((width, 4)), root=0.3 * rng.standard_normal((width, 4, 4)))
    many, weights = rng.standard_normal((MANY * 4, 2)), rng.standard_normal((MANY * 4, width))
    halves = np.split(np.arange(len(many)), 2)  # each too small for the form of many rows

    def together(model):
        return jnp.sum(weights * model(many).var)

    def apart(model):
        return sum(jnp.sum(weights[rows] * model(many[rows]).var) for rows in halves)

    (a, slopes_a), (b, slopes_b) = (eqx.filter_jit(eqx.filter_value_and_grad(f))(one) for f in (together, apart))
    assert np.isclose(a, b, rtol=1e-10)
    for x, y in zip(jax.tree.leaves(slopes_a), jax.tree.leaves(slopes_b), strict=True):
        assert np.allclose(x, y, rtol=1e-8, atol=1e-10)


# -- natural gradients and the collapsed bound --------------------------------------------------------------------


def knobs(rho=1.0, rate=0.0):
    return Knobs(*(jnp.asarray(float(v)) for v in (rate, 10, 1, len(X), rho)))


def elbo(m):
    points = m.points(jax.random.key(0), 1, len(X), jnp.float64)
    return -len(X) * LOSS(m, jnp.asarray(X), jnp.asarray(Y), points, 1.0, len(X))[0]


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 1])
def test_one_natural_step_on_all_data_reaches_the_variational_bound(start):
    m, root = random_q(4) if start else (None, None)
    state, _ = run(LOSS, begin(model(mean=m, root=root), natural=True), X[None], Y[None], jax.random.key(0), knobs())
    bound = log_bound(KERNEL + WN(variance=NOISE), X, Y, Z)
    assert np.isclose(elbo(state.model), bound, atol=1e-6)
    posterior = condition_sparsely(GP(KERNEL + WN(variance=NOISE)), X, Y, Z)
    mean, var = state.model.layers[0](jnp.asarray(X + 0.3))
    assert np.allclose(mean, posterior.mean(X + 0.3), atol=1e-5)
    assert np.allclose(var[:, 0], posterior.var(X + 0.3), atol=1e-5)


def test_any_q_is_below_the_bound_and_more_points_never_lower_it():
    kernel = KERNEL + WN(variance=NOISE)
    best = log_bound(kernel, X, Y, Z)
    assert elbo(model()) < best
    assert elbo(model(mean=random_q(4)[0], root=random_q(4)[1])) < best
    assert log_bound(kernel, X, Y, np.vstack([Z, [[3.0, -1.0]]])) >= best - 1e-6


def test_natural_steps_know_of_the_mean_function():
    # with f = c + g the best q(g) for y is the one for y - c
    shifted = eqx.tree_at(lambda m: m.layers[0].offset, model(), jnp.full(1, 0.7))
    state, _ = run(LOSS, begin(shifted, natural=True), X[None], Y[None], jax.random.key(0), knobs())
    bound = log_bound(KERNEL + WN(variance=NOISE), X, Y - 0.7, Z)
    assert np.isclose(elbo(state.model), bound, atol=1e-6)


def test_a_small_natural_step_climbs():
    state = begin(model(), natural=True)
    before = elbo(state.model)
    state, _ = run(LOSS, state, X[None], Y[None], jax.random.key(0), knobs(rho=0.05))
    assert elbo(state.model) > before


def test_natural_parameters_give_back_the_model_they_came_from():
    m, root = random_q(4)
    start = model(mean=m, root=root)
    again = with_natural(start, begin(start, natural=True).natural)
    assert np.allclose(again.layers[0].mean, m, atol=1e-8)
    assert np.allclose(again.layers[0].lower(), start.layers[0].lower(), atol=1e-8)


# -- orthogonally decoupled ------------------------------------------------------------------------------------------


def orthogonal(at, weight):
    return OrthogonalPoints(jnp.asarray(at)[None], jnp.asarray(weight)[None])


@pytest.mark.slow
def test_far_points_on_the_inducing_points_change_nothing():
    m, root = random_q(4)
    plain, same = layer(mean=m, root=root), layer(mean=m, root=root, orthogonal=orthogonal(Z, np.full(4, 1e-9)))
    for a, b in zip(plain(X), same(X), strict=True):
        assert np.allclose(a, b, atol=1e-4)
    none = layer(mean=m, root=root, orthogonal=orthogonal(X[5:8], np.zeros(3)))
    assert np.allclose(none.kl(), plain.kl())


@pytest.mark.slow
def test_far_points_that_say_nothing_new_are_quiet_in_single_precision():
    """On a line the inducing values explain everything: what is left is rounding, and one step must not leap on it."""
    line = np.linspace(-1, 1, 100, dtype=np.float32)[:, None]
    m, root = np.zeros((1, 100), np.float32), np.zeros((1, 100), np.float32)
    weight = 0.03 * np.random.default_rng(3).standard_normal(100).astype(np.float32)  # a step of training
    theta = np.asarray(to_vector(SE(lengthscale=0.5))[None], np.float32)
    arrays = [jnp.asarray(a) for a in (theta, line[None], m, root)]
    points = orthogonal(line + np.float32(0.01), weight)
    one = Layer(*arrays, None, jnp.zeros(1, np.float32), points, None, Form(SE(lengthscale=0.5)), 1e-4)
    assert 0 <= one.kl() < 10
    assert np.abs(one(jnp.asarray(line)).mean).max() < 0.1


@pytest.mark.slow
def test_decoupled_kl_and_moments_are_those_of_the_dense_gaussian():
    m, root = random_q(4)
    G, weight = X[5:8], np.array([0.3, -0.2, 0.5])
    one = layer(mean=m, root=root, orthogonal=orthogonal(G, weight))
    L = np.linalg.cholesky(KERNEL.cross(Z, Z))
    whiten = lambda A: np.linalg.solve(L, KERNEL.cross(Z, A))  # noqa: E731
    residual = KERNEL.cross(G, G) - whiten(G).T @ whiten(G)
    left = residual.diagonal()
    a = UNIT * weight * left / (left**2 + (EXPLAINED * KERNEL.diag(G, False)) ** 2)
    # the same process, written over all points: u ~ q at Z, and at G the conditional prior shifted by R a
    points = np.vstack([Z, G])
    K = KERNEL.cross(points, points)
    S = np.asarray(one.lower()[0] @ one.lower()[0].T)
    gain = np.vstack([L, whiten(G).T])
    mean = gain @ m[0] + np.concatenate([np.zeros(4), residual @ a])
    cov = gain @ S @ gain.T
    cov[4:, 4:] += residual
    inverse = np.linalg.inv(K)
    dense = 0.5 * (
        np.trace(inverse @ cov) + mean @ inverse @ mean - 7 + np.linalg.slogdet(K)[1] - np.linalg.slogdet(cov)[1]
    )
    assert np.isclose(one.kl(), dense, rtol=1e-6)
    ours = one(jnp.asarray(X))
    A = whiten(X).T
    unexplained = KERNEL.cross(X, G) - A @ whiten(G)
    assert np.allclose(ours.mean[:, 0], A @ m[0] + unexplained @ a)
    assert np.allclose(ours.var, layer(mean=m, root=root)(jnp.asarray(X)).var)


@pytest.mark.slow
def test_shared_and_own_kernels_agree_when_they_are_equal():
    rng = np.random.default_rng(4)
    m, logs = rng.standard_normal((2, 3, 4))
    shared = layer(width=3, mean=m, root=logs)
    own = eqx.tree_at(
        lambda old: (old.theta, old.Z), shared, (jnp.tile(shared.theta, (3, 1)), jnp.tile(shared.Z, (3, 1, 1)))
    )
    for a, b in zip(shared(X), own(X), strict=True):
        assert np.allclose(a, b)
