"""One row of a stream: particles, noise that follows the inputs, rates of forgetting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fathom.kernels.pytree  # noqa: F401
from fathom.kernels.algebra import bind
from fathom.kernels.syntax import parse
from fathom.streams import recursion, rows
from fathom.streams.rows import Law
from fathom.streams.way import ONE, Way

pytestmark = pytest.mark.usefixtures("x64")


def kernel(text, d=1):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), bind(parse(text), d))


SMOOTH = "SE(variance=1, lengthscale=0.7) + WN(variance=0.1)"


def law(log_noise=None, rates=(1.0,), hidden=(), last=SMOOTH, key=None):
    noise = None if log_noise is None else kernel(log_noise)
    return Law(tuple(kernel(h) for h in hidden), kernel(last), noise, jnp.full(1, -2.0), jnp.asarray(rates), key)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X) + 0.3 * rng.standard_normal((n, 1))


LAWS = {
    "constant": law(),
    "following": law("SE(variance=2, lengthscale=2)"),
    "rates": law(rates=(1.0, 0.99)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_rows_one_by_one_equal_all_at_once_bit_for_bit(name):
    X, Y = data(230)
    start = rows.begin(LAWS[name], (), 12, 1, 1)
    whole, told = rows.learn_rows(LAWS[name], ONE, start, X, Y)
    parts, said = start, []
    for a, b in ((0, 1), (1, 8), (8, 205), (205, 230)):
        parts, one = rows.learn_rows(LAWS[name], ONE, parts, X[a:b], Y[a:b])
        said.append(one.mean)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(told.mean, np.concatenate(said))


def test_a_linear_chain_of_gaussians_is_learnt_exactly_as_particles_grow():
    """y = 2(w x + ε) + η with 2 known: what the particles tell the layer of w is Bayesian regression on x."""
    rng = np.random.default_rng(1)
    chain = law(
        hidden=("Lin(variance=1, location=0) + WN(variance=0.25)",),
        last="Lin(variance=4, location=0) + WN(variance=0.5)",
    )
    chain = chain._replace(key=jax.random.key(0))
    memory = rows.begin(chain, (1,), 3, 1, 1)
    f = jax.tree.map(lambda leaf: leaf[0], memory.f)
    for h in (1.0, -1.0):  # the last layer knows its slope
        for _ in range(2):
            f = recursion.advance(chain.kernel, f, jnp.array([h]), jnp.array([2 * h]), jnp.array([1e-10]))
    memory = memory._replace(f=jax.tree.map(lambda leaf: leaf[None], f))
    x = rng.standard_normal((12, 1))
    y = 2 * (0.7 * x + 0.5 * rng.standard_normal((12, 1))) + np.sqrt(0.5) * rng.standard_normal((12, 1))
    memory, _ = rows.learn_rows(chain, Way(40_000), memory, x, y)
    noise = 4 * 0.25 + 0.5
    precision = 1 + 4 * float((x**2).sum()) / noise
    w = 2 * float((x * y).sum()) / noise / precision
    state = jax.tree.map(lambda leaf: leaf[0], memory.hidden[0])
    mean, var = recursion.moments(chain.hidden[0], state, jnp.ones((1, 1)))
    assert float(mean[0, 0]) == pytest.approx(w, abs=0.02)
    assert float(var[0, 0]) == pytest.approx(1 / precision, rel=0.03)


def test_particles_tell_a_layer_the_message_of_a_gaussian_likelihood():
    rng = np.random.default_rng(0)
    H = jnp.asarray(rng.standard_normal((200_000, 1)) * 1.5 + 0.3)
    w = jax.nn.softmax(-0.5 * (H[:, 0] - 1.0) ** 2 / 0.8)
    target, var = rows.told_by(H, w)
    assert float(target[0]) == pytest.approx(1.0, abs=0.02)
    assert float(var[0]) == pytest.approx(0.8, rel=0.03)


def test_weights_that_tell_nothing_teach_nothing():
    H = jnp.asarray(np.random.default_rng(0).standard_normal((50, 2)))
    target, _ = rows.told_by(H, jnp.full(50, 0.02))
    assert np.isnan(np.asarray(target)).all()


@pytest.mark.parametrize("value", [0.3, 1.7])  # the second speaks of more noise, and is less sure of it than before
def test_the_log_noise_learns_the_moments_of_its_posterior(value):
    """One row: the process of the log noise ends at the moments that brute force gives."""
    one = law("SE(variance=2, lengthscale=2)")
    memory = rows.begin(one, (), 4, 1, 1)
    x, y = np.array([[0.4]]), np.array([[value]])
    memory, told = rows.learn_rows(one, ONE, memory, x, y)
    z = np.linspace(-14, 10, 20_001)
    prior = np.exp(-0.5 * (z + 2.0) ** 2 / 2.0)
    density = prior / prior.sum() * np.exp(-0.5 * value**2 / (1 + np.exp(z))) / np.sqrt(2 * np.pi * (1 + np.exp(z)))
    assert float(told.log_density[0, 0]) == pytest.approx(np.log(density.sum()), abs=1e-5)
    share = density / density.sum()
    m = float(share @ z)
    mean, var = recursion.moments(one.log_noise, jax.tree.map(lambda leaf: leaf[0], memory.g), jnp.asarray(x))
    assert float(mean[0, 0]) - 2.0 == pytest.approx(m, abs=1e-4)
    assert float(var[0, 0]) == pytest.approx(min(float(share @ (z - m) ** 2), 2.0), abs=0.02)


def test_equal_rates_say_what_one_says():
    X, Y = data(40)
    one, two = law(), law(rates=(1.0, 1.0))
    _, a = rows.learn_rows(one, ONE, rows.begin(one, (), 12, 1, 1), X, Y)
    _, b = rows.learn_rows(two, ONE, rows.begin(two, (), 12, 1, 1), X, Y)
    assert np.allclose(a.mean, b.mean, atol=1e-9)
    assert np.allclose(a.var, b.var, atol=1e-9)


def test_the_rate_that_foretells_better_weighs_more():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 1))
    Y = np.where(np.arange(300)[:, None] < 150, 1.0, -1.0) * np.sin(3 * X) + 0.1 * rng.standard_normal((300, 1))
    several = law(rates=(1.0, 0.97))
    memory, _ = rows.learn_rows(several, ONE, rows.begin(several, (), 12, 1, 1), X, Y)
    assert memory.scores[1] > memory.scores[0] + 3
