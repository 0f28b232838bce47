"""Kernels that need every pair: members of our own, alone and combined, square and oblong, against JAX."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathom.kernels.lags
import fathom.kernels.plan
from fathom.kernels import WN, ArcCos, bind, canonical, from_vector, n_free, parse, register, scale, to_vector, walk
from fathom.kernels.laws import check_laws
from fathom.kernels.strip import Strip
from tests.conftest import GRIDS, PLANE
from tests.kernels.members import Network
from tests.kernels.strategies import trees
from tests.kernels.test_plan import check_against_jax

MEMBERS = [
    "ArcCos",
    "Network(bias=0.7)",
    "Elementary(SE, Lin, Per, weight=[1.0, 0.5, 2.0])",
    "Elementary(SE + WN, ArcCos)",
    "Bent(SE*Lin + C)",
    "Mirrored(SE + Lin, location=1.0)",
]
COMBINED = [
    "Network + SE*Per + WN",
    "Network*Lin + SE*Network(bias=2.0)*ArcCos(order=2)",
    "WN*Network*Lin + SE",
    "CP(Network, Elementary(SE, Lin) + WN, location=1.0)*Lin",
    "Mirrored(CP(SE, Network*Lin, location=1.2))*SE + C*Lin",
    "Bent(Elementary(SE, Mirrored(RQ)))*Network + Elementary(SE*Lin, Bent(Per))",
    "SE*Mirrored(SE + WN)*Elementary(Lin + WN, SE)*Lin + WN",
]
PLANAR = [
    "Network",
    "Network[0, 2]*SE + Network[1]*Lin[0]",
    "Elementary(SE[0], SE[1], Lin[2], weight=[1.0, 2.0, 0.5]) + WN",
    "Mirrored(ArcCos[0, 1]*SE[2] + Lin[1])*Bent(SE)",
]


@pytest.mark.parametrize("text", MEMBERS + COMBINED)
def test_members_obey_the_laws(text, grid):
    check_laws(parse(text), grid)


@pytest.mark.parametrize("text", PLANAR)
def test_members_obey_the_laws_over_three_inputs(text, plane):
    check_laws(bind(parse(text), 3), plane)


@pytest.mark.slow
@pytest.mark.parametrize("text", MEMBERS + COMBINED)
def test_square_equals_jax(text, grid):
    check_against_jax(parse(text), grid, tolerance=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANAR)
def test_square_equals_jax_over_three_inputs(text, plane):
    check_against_jax(bind(parse(text), 3), plane)


@pytest.mark.slow
@pytest.mark.parametrize("text", COMBINED)
def test_blocks_equal_jax(text, monkeypatch):
    for module in (fathom.kernels.lags, fathom.kernels.plan):
        monkeypatch.setattr(module, "WHOLE", 6)
        monkeypatch.setattr(module, "BLOCK", 5)
    check_against_jax(parse(text), GRIDS["gaps"], tolerance=1e-8)


def check_strip_against_jax(kernel, X, rows):
    rng = np.random.default_rng(1)
    vector = to_vector(kernel) + 0.1 * rng.standard_normal(n_free(kernel))
    by = rng.standard_normal((len(rows), len(X))), *rng.standard_normal((2, len(X)))
    strip = Strip(kernel, X, rows)
    values = strip.at(vector)
    evaluated = [part.copy() for part in strip.evaluate(values)]
    with jax.enable_x64(True):
        everything = jnp.asarray(X)

        def parts(v):
            here = from_vector(kernel, v)
            variances = here.diag(everything, False)
            return here.cross(everything[rows], everything), variances, here.diag(everything, True) - variances

        for ours, theirs in zip(evaluated, parts(jnp.asarray(vector)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        objective = lambda v: sum(jnp.sum(b * part) for b, part in zip(by, parts(v), strict=True))  # noqa: E731
        gradient = np.asarray(jax.grad(objective)(jnp.asarray(vector)))
    pulled = strip.pull(values, *by)
    np.testing.assert_allclose(pulled, gradient, rtol=1e-7, atol=1e-8 * (1 + np.abs(gradient).max()))


@pytest.mark.slow
@pytest.mark.parametrize("text", MEMBERS + COMBINED)
@pytest.mark.parametrize("name", ["gaps", "irregular"])
def test_oblong_equals_jax(text, name):
    check_strip_against_jax(parse(text), GRIDS[name], np.array([0, 3, 5, 11]))


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANAR)
def test_oblong_equals_jax_over_three_inputs(text, plane):
    check_strip_against_jax(bind(parse(text), 3), plane, np.array([0, 4, 5]))


def test_few_rows_need_no_matrix_over_all_pairs():
    X, rows = np.linspace(0, 1, 4000)[:, None], np.arange(0, 4000, 1000)
    kernel = parse("SE*ArcCos + Network*Lin")
    strip = Strip(kernel, X, rows)
    tracemalloc.start()
    values = strip.at(to_vector(kernel))
    strip.pull(values, np.ones_like(strip.evaluate(values)[0]), np.ones(4000), np.ones(4000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 4000**2 / 10


# -- the way back of any kernel ----------------------------------------------------------------------------------


def check_vjp(kernel, X, Z, same):
    """The matrix of `vjp` and its gradients, node by node, against JAX; and those of the diagonal."""
    rng = np.random.default_rng(2)
    H, h = rng.standard_normal((len(X), len(Z))), rng.standard_normal(len(X))
    matrix, pull = kernel.vjp(X, Z, same)
    diagonal, pull_diag = kernel.vjp_diag(X, same)
    np.testing.assert_allclose(matrix, kernel.evaluate(X, Z, same, np), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(diagonal, kernel.evaluate_diag(X, same, np), rtol=1e-9, atol=1e-10)
    with jax.enable_x64(True):
        A, B = jnp.asarray(X), jnp.asarray(Z)
        by = jax.grad(lambda k: jnp.sum(H * k.evaluate(A, B, same, jnp)))(_as_jax(kernel))
        by_diagonal = jax.grad(lambda k: jnp.sum(h * k.evaluate_diag(A, same, jnp)))(_as_jax(kernel))
    for pulled, theirs in ((pull(H), by), (pull_diag(h), by_diagonal)):
        for i, (node, slope) in enumerate(zip(walk(kernel), walk(theirs), strict=True)):
            for p in (p for p in node.parameters if p.kind != "fixed"):
                factor = getattr(node, p.name) if p.kind == "positive" else 1.0
                expected = factor * np.asarray(getattr(slope, p.name))
                found = pulled.get((i, p.name), np.zeros(expected.shape))
                scale = 1e-7 * (1 + np.abs(expected).max())
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=scale, err_msg=f"{node.name}.{p.name}")


def _as_jax(kernel):
    return jax.tree_util.tree_map(lambda v: jnp.asarray(v, jnp.float64), kernel)


@pytest.mark.slow
@given(trees(max_leaves=4), st.booleans())
def test_the_way_back_of_random_trees(kernel, same):
    X = GRIDS["irregular"]
    check_vjp(kernel, X, X if same else GRIDS["repeated"], same)


@pytest.mark.slow
@given(trees(inputs=[0, 1, 2], max_leaves=4))
def test_the_way_back_of_random_trees_over_three_inputs(kernel):
    check_vjp(bind(kernel, 3), PLANE, PLANE[:4] + 0.1, False)


# -- the language ------------------------------------------------------------------------------------------------


def test_a_scale_goes_to_the_node_that_has_one():
    own, operands = parse("Elementary(SE, Lin)"), parse("Mirrored(SE + Lin)")
    assert str(scale(own, 2.0)) == "Elementary(SE, Lin, variance=2.0)"
    assert str(scale(operands, 2.0)) == "Mirrored(SE(variance=2.0) + Lin(variance=2.0))"
    assert str(canonical(parse("C(variance=3.0)*Mirrored(SE)*WN"))) == "WN(variance=3.0)*Mirrored(SE)"


def test_free_parameters_of_nodes_with_operands():
    assert n_free(parse("Elementary(SE, Lin)")) == 2 + 2 + 2  # variance, a relative weight; SE, Lin
    assert n_free(parse("SE*Elementary(SE, Lin)")) == 2 + 1 + 2 + 2  # the scale of the second factor is pinned
    assert n_free(parse("SE*Mirrored(SE + Lin)")) == 2 + 1 + 2


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="there is a kernel Network already"):
        register(Network)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Elementary()", "Elementary takes one kernel or more, got 0"),
        ("Mirrored(SE, Lin)", "Mirrored takes one kernel, got 2"),
        ("Network(SE)", "Network takes no kernels, got 1"),
    ],
)
def test_wrong_operands(text, message):
    with pytest.raises(ValueError, match=f"cannot read kernel .*: {message}"):
        parse(text)


def test_arc_cosine_has_no_operands():
    with pytest.raises(TypeError):
        ArcCos(WN())
