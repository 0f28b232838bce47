"""The sparse online recursion against the exact posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fathom.kernels.pytree  # noqa: F401
from fathom.gp.exact import GP, condition
from fathom.kernels.algebra import bind
from fathom.kernels.syntax import parse
from fathom.streams import recursion
from fathom.streams.recursion import Rule

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
N, NOISE = 24, 0.04
X = RNG.standard_normal((N, 2))
Y = np.sin(2 * X[:, :1]) + 0.1 * RNG.standard_normal((N, 2))
NEW = RNG.standard_normal((5, 2))
KERNEL = bind(parse("SE(variance=1.3, lengthscale=0.7) + Lin[0](variance=0.5)"), 2)
OTHER = bind(parse("SE(variance=2.3, lengthscale=0.5) + Lin[0](variance=0.2)"), 2)
ALL = Rule(novel=0.0, nugget=1e-11)


def ready(kernel):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), kernel)


@jax.jit
def learnt(kernel, state, X, Y, novel, nugget):
    """All rows, and what was foretold of each."""

    def one(state, row):
        x, y = row
        said = recursion.moments(kernel, state, x[None])
        noise = jnp.full(y.shape, NOISE)
        return recursion.advance(kernel, state, x, y, noise, Rule(novel, nugget)), tuple(a[0] for a in said)

    return jax.lax.scan(one, state, (X, Y))


def run(budget=N + 1, apart=False, Y=Y, rule=ALL, kernel=KERNEL, X=X):
    state = recursion.empty(budget, X.shape[1], Y.shape[1], apart)
    return learnt(ready(kernel), state, X, Y, rule.novel, rule.nugget)


def exact(kernel=KERNEL, rows=slice(None), Y=Y):
    return condition(GP(kernel + bind(parse(f"WN(variance={NOISE})"), 2), np.zeros(Y.shape[1])), X[rows], Y[rows])


@pytest.fixture(scope="module", params=[False, True], ids=["shared", "apart"])
def whole(request):
    with jax.enable_x64(True):
        return run(apart=request.param)


def test_without_a_budget_it_is_the_exact_posterior(whole):
    mean, var = recursion.moments(ready(KERNEL), whole[0], jnp.asarray(NEW))
    assert np.allclose(mean, exact().mean(NEW), atol=1e-7)
    assert np.allclose(var, exact().var(NEW)[:, None], atol=1e-7)


def test_what_it_foretells_row_by_row_sums_to_the_evidence(whole):
    mean, var = whole[1]
    var = var + NOISE
    log_density = -0.5 * ((Y - mean) ** 2 / var + np.log(2 * np.pi * var))
    assert float(log_density.sum()) == pytest.approx(float(exact().log_evidence()), abs=1e-6)


def test_under_another_kernel_the_information_of_all_rows_is_kept(whole):
    moved = recursion.carried(ready(KERNEL), ready(OTHER), whole[0], ALL)
    mean, var = recursion.moments(ready(OTHER), moved, jnp.asarray(NEW))
    assert np.allclose(mean, exact(OTHER).mean(NEW), atol=1e-6)
    assert np.allclose(var, exact(OTHER).var(NEW)[:, None], atol=1e-6)


def test_a_missing_output_teaches_nothing():
    gaps = Y.copy()
    gaps[5:15, 1] = np.nan
    state, _ = run(apart=True, Y=gaps)
    mean, var = recursion.moments(ready(KERNEL), state, jnp.asarray(NEW))
    known = exact(rows=~np.isnan(gaps[:, 1]))
    assert np.allclose(mean[:, 1], known.mean(NEW)[:, 1], atol=1e-7)
    assert np.allclose(var[:, 1], known.var(NEW), atol=1e-7)
    assert np.allclose(mean[:, 0], exact().mean(NEW)[:, 0], atol=1e-7)


def test_a_row_without_any_output_takes_no_place():
    gaps = Y.copy()
    gaps[3] = np.nan
    state, _ = run(Y=gaps, apart=True)
    assert int(state.used.sum()) == N - 1


def test_after_pruning_q_is_still_the_inverse_of_the_active_rows():
    state, _ = run(budget=8, rule=Rule())
    used = np.asarray(state.used) > 0
    assert used.sum() == 8
    K = np.asarray(KERNEL.gram(np.asarray(state.A)[used]))
    K += 1e-6 * np.diag(K.diagonal())
    assert np.allclose(np.asarray(state.Q)[used][:, used] @ K, np.eye(8), atol=1e-7)
    assert not np.asarray(state.Q)[~used].any()
    assert not np.asarray(state.B)[0][~used].any()


def test_the_row_that_leaves_is_the_one_the_others_foretell_best():
    before, _ = run(budget=N + 1, rule=Rule())
    after, _ = run(budget=N - 1, rule=Rule())
    K = np.asarray(KERNEL.gram(X)) * (1 + 1e-6 * np.eye(N))
    Q = np.linalg.inv(K)
    error = (Q @ np.asarray(before.mean)[:N]) / Q.diagonal()[:, None]
    gone = set(range(N)) - {
        int(np.argmin(((X - a) ** 2).sum(1))) for a in np.asarray(after.A)[np.asarray(after.used) > 0]
    }
    assert gone == {int(np.argmin((error**2).sum(1)))}


def test_a_repeated_row_informs_but_takes_no_place():
    again = np.concatenate([X[:4], X[:4]])
    state, _ = run(X=again, Y=Y[:8], rule=Rule(novel=1e-6, nugget=1e-11))
    assert int(state.used.sum()) == 4
    noisy = GP(KERNEL + bind(parse(f"WN(variance={NOISE})"), 2), np.zeros(2))
    mean, _ = recursion.moments(ready(KERNEL), state, jnp.asarray(NEW))
    assert np.allclose(mean, condition(noisy, again, Y[:8]).mean(NEW), atol=1e-6)


def test_forgetting_moves_the_posterior_back_to_the_prior():
    state, _ = run(rule=ALL)
    mean, var = recursion.moments(ready(KERNEL), state, jnp.asarray(X))
    weaker_mean, weaker = recursion.moments(ready(KERNEL), recursion.forgotten(state, 0.9), jnp.asarray(X))
    prior = np.asarray(KERNEL.diag(X))[:, None]
    assert np.allclose(weaker, 0.9 * var + 0.1 * prior, atol=1e-7)
    assert np.allclose(weaker_mean, np.sqrt(0.9) * mean)


def test_what_is_refreshed_is_the_same_posterior():
    state, _ = run(budget=8, rule=Rule())
    again = recursion.refreshed(ready(KERNEL), state)
    for a, b in zip(*(recursion.moments(ready(KERNEL), s, jnp.asarray(NEW)) for s in (state, again)), strict=True):
        assert np.allclose(a, b, atol=1e-6)
