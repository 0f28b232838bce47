"""Every kernel obeys every law: each leaf, and trees at random, over one input and over three."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from fathom.kernels import LEAVES, SE, WN, ArcCos, Kernel, bind, parse
from fathom.kernels.laws import check_laws
from fathom.kernels.radial import squared_distance
from tests.conftest import GRIDS, PLANE
from tests.kernels.strategies import trees

EVERY_LEAF = [leaf() for leaf in LEAVES] + [ArcCos(order=0), ArcCos(order=2)]
COMPOSITES = [
    "SE*Per*Lin + SE + RQ + Lin*Lin",
    "CP(SE + Lin*WN, Per*Lin + C, location=1.3)*SE + WN",
    "CW(CP(SE, C), Lin + WN, location=1.0)*(SE + Lin)*(Per + C)",
    "SM(weight=[1.0, 2.0], lengthscale=[1.0, 2.0], frequency=[0.3, 0.9])*Lin + ArcCos(order=2)*WN",
]


@pytest.mark.parametrize("kernel", EVERY_LEAF, ids=str)
def test_leaves_obey_the_laws(kernel, grid):
    check_laws(kernel, grid)


@pytest.mark.parametrize("text", COMPOSITES)
def test_composites_obey_the_laws(text, grid):
    check_laws(parse(text), grid)


@given(trees())
def test_random_trees_obey_the_laws(kernel):
    check_laws(kernel, GRIDS["irregular"], tolerance=1e-8)


@pytest.mark.slow
@given(trees(inputs=[0, 1, 2]))
def test_random_trees_over_three_inputs_obey_the_laws(kernel):
    check_laws(bind(kernel, 3), PLANE, tolerance=1e-8)


@pytest.mark.parametrize("name", ["SE", "RQ", "Matern12", "Matern32", "Matern52", "ArcCos"])
def test_ard_leaves_obey_the_laws(name, plane):
    check_laws(parse(f"{name}(lengthscale=[0.5, 1.0, 2.0])"), plane)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", EVERY_LEAF + [parse(text) for text in COMPOSITES], ids=str)
def test_jit_equals_eager_equals_numpy(kernel, x64):
    X = GRIDS["irregular"]
    eager = kernel.gram(jnp.asarray(X))
    compiled = jax.jit(lambda k, A: (k.gram(A), k.cross(A, A[:4]), k.diag(A)))(kernel, jnp.asarray(X))
    assert isinstance(eager, jax.Array)
    np.testing.assert_allclose(compiled[0], eager, atol=1e-12)
    np.testing.assert_allclose(compiled[0], kernel.gram(X), atol=1e-12)
    np.testing.assert_allclose(compiled[1], kernel.cross(X, X[:4]), atol=1e-12)
    np.testing.assert_allclose(compiled[2], kernel.diag(X), atol=1e-12)


def test_vmap_over_parameters(x64):
    lengthscales = jnp.array([0.5, 1.0, 2.0])
    X = jnp.asarray(GRIDS["regular"])
    together = jax.vmap(lambda ell: SE().replace(lengthscale=ell).gram(X))(lengthscales)
    for ell, K in zip(lengthscales, together, strict=True):
        np.testing.assert_allclose(K, SE(lengthscale=float(ell)).gram(np.asarray(X)), atol=1e-14)


@given(trees())
def test_kernels_are_pytrees(kernel):
    leaves, structure = jax.tree_util.tree_flatten(kernel)
    assert jax.tree_util.tree_unflatten(structure, leaves) == kernel
    doubled = jax.tree_util.tree_map(lambda v: 2 * v, kernel)
    assert doubled.structure() == kernel.structure()


@pytest.mark.slow
def test_float32_stays_float32():
    K = parse("SE*Per + WN").gram(jnp.linspace(0, 1, 4))
    assert K.dtype == jnp.float32


def test_a_broken_kernel_is_named():
    class Broken(WN):
        name = "WN"

        def evaluate_diag(self, X, same, xp):
            return 2 * super().evaluate_diag(X, same, xp)

    with pytest.raises(AssertionError, match="WN breaks the law of diagonal consistency by 1"):
        check_laws(Broken(), GRIDS["regular"])


def test_kernels_are_immutable():
    with pytest.raises(AttributeError, match="kernels are immutable: use .replace"):
        SE().variance = 2.0
    assert isinstance(SE(), Kernel)


@pytest.mark.slow
def test_slopes_of_squared_distances_are_those_of_the_sum_written_out():
    """Their rule is stated by hand: forwards, backwards and twice."""
    with jax.enable_x64(True):
        A, B = (jnp.asarray(np.random.default_rng(i).normal(size=(n, 3))) for i, n in ((0, 4), (1, 5)))
        weights = jnp.asarray(np.random.default_rng(2).normal(size=(4, 5)))

        def total(squares, both):
            return jnp.sum(weights * jnp.sin(squares(*both)))

        def plain(A, B):
            return jnp.sum((A[:, None] - B) ** 2, -1)

        def stated(A, B):
            return squared_distance(A, B, jnp)

        for derivative in (jax.grad, jax.jacfwd, jax.hessian):
            found, expected = (jax.jit(derivative(partial(total, f)))((A, B)) for f in (stated, plain))
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-11), found, expected)
