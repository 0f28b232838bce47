"""Parameters that no fit may change, and kernels of listed days."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathom
from fathom.kernels import SE, Days, Kernel, Per, canonical, n_effective, n_free, parse, rescale, to_vector, walk
from fathom.kernels.plan import Plan
from fathom.kernels.syntax import shortened
from fathom.kernels.vector import from_vector, slots, with_fields
from tests.kernels.strategies import trees


@st.composite
def partly_fixed(draw):
    """A random tree and the same with some of its parameters fixed."""
    tree = draw(trees())
    changes = {}
    for i, node in enumerate(walk(tree)):
        names = [p.name for p in node.parameters if p.kind != "fixed" and p.name != "variance"]
        if names and draw(st.booleans()):
            changes[i] = {"fixed": frozenset(draw(st.lists(st.sampled_from(names), min_size=1)))}
    return tree, with_fields(tree, changes)


@given(partly_fixed())
def test_a_fixed_parameter_survives_text_vectors_units_and_the_canonical_form(pair):
    tree, kernel = pair
    assert parse(str(kernel)) == kernel
    gone = {(n, name) for n, node in enumerate(walk(kernel)) for name in node.fixed}
    free, left = slots(tree), slots(kernel)
    assert {(s.node, s.parameter.name) for s in free} - {(s.node, s.parameter.name) for s in left} == gone
    moved = from_vector(kernel, np.asarray(to_vector(kernel)) + 0.1)
    for before, after in zip(walk(kernel), walk(moved), strict=True):
        assert after.fixed == before.fixed
        assert all(np.array_equal(getattr(after, name), getattr(before, name)) for name in before.fixed)
    changed = rescale(kernel, np.array([1.0]), np.array([2.0]), 3.0)
    assert [node.fixed for node in walk(changed)] == [node.fixed for node in walk(kernel)]
    assert n_effective(kernel) == n_free(canonical(kernel)) <= n_effective(tree)


def test_fixing_is_part_of_equality_and_leaves_the_original():
    free = Per(period=2.0)
    held = free.fix("period")
    assert (held == free, held.fix("period") == held, free.fixed) == (False, True, frozenset())
    assert str(held) == "Per(period=2.0 fixed)"
    assert str(Per().fix("period")) == "Per(period=1.0 fixed)"
    assert (n_free(held), n_free(free)) == (2, 3)


@pytest.mark.parametrize(
    ("kernel", "name", "message"),
    [
        (SE(), "variance", "the variance of SE cannot be fixed: products share one scale"),
        (Per(), "width", "Per has no parameter 'width' to fix: it has lengthscale, period"),
        (SE() + Per(), "period", "Sum has no parameter 'period' to fix: it has none"),
        (Days(), "starts", "Days has no parameter 'starts' to fix: it has none"),
    ],
)
def test_what_cannot_be_fixed(kernel, name, message):
    with pytest.raises(ValueError, match=message):
        kernel.fix(name)


def test_text_that_fixes_too_much():
    with pytest.raises(fathom.kernels.KernelSyntaxError, match="the variance of WN cannot be fixed"):
        parse("SE + WN(variance=0.1 fixed)")


def test_the_gradient_is_that_of_the_free_kernel_without_its_entry():
    x = np.linspace(0, 5, 12)[:, None]
    free = parse("SE(lengthscale=2.0)*Per(period=1.3) + WN(variance=0.1)")
    held = with_fields(free, {3: {"fixed": frozenset({"period"})}})
    assert str(held) == "SE(lengthscale=2.0)*Per(period=1.3 fixed) + WN(variance=0.1)"
    gone = next(s.start for s in slots(free) if s.parameter.name == "period")
    pulled = []
    for kernel in (free, held):
        plan = Plan(kernel, x)
        values = plan.at(np.asarray(to_vector(kernel)))
        plan.gram(values)
        plan.K[:] = np.tril(np.outer(np.arange(12.0), np.arange(12.0)))
        pulled.append(plan.pull(values))
    np.testing.assert_allclose(np.delete(pulled[0], gone), pulled[1])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_a_fit_leaves_it_alone(engine):
    x = np.linspace(0, 6, 40)
    y = np.sin(2 * np.pi * x / 1.1)
    kernel = "Per(lengthscale=3, period=1.05 fixed) + WN"
    model = fathom.GPRegressor(kernel, n_restarts=2, random_state=0, engine=engine).fit(x[:, None], y)
    (cycle,) = (node for node in walk(model.kernel_) if node.name == "Per")
    assert cycle.period == pytest.approx(1.05, rel=1e-12)
    assert cycle.fixed == {"period"}
    assert cycle.lengthscale != 3


# -- days --------------------------------------------------------------------------------------------------------


def test_days_are_one_on_their_stretches_only():
    kernel = Days(variance=4.0, starts=[0.0, 5.0], ends=[1.0, 5.5])
    x = np.array([-0.1, 0.0, 0.9, 1.0, 4.9, 5.2, 5.5])
    np.testing.assert_array_equal(kernel.weight(x, np), [0, 1, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(kernel.diag(x), [0, 4, 4, 0, 0, 4, 0])
    assert kernel.gram(x)[1, 5] == 4


@settings(max_examples=30)
@given(st.floats(-5, 5), st.floats(0.1, 10), st.lists(st.floats(-3, 3), min_size=1, max_size=20))
def test_days_follow_a_change_of_units(shift, spread, x):
    kernel = Days(starts=[-1.03, 1.02], ends=[0.51, 2.04])
    x = np.round(np.array(x), 1)
    there = rescale(kernel, np.array([shift]), np.array([spread])).weight(shift + spread * x, np)
    np.testing.assert_array_equal(there, kernel.weight(x, np))


def test_long_lists_are_cut_short_for_reading_only():
    kernel: Kernel = Days(starts=np.arange(0.0, 60.0, 2), ends=np.arange(1.0, 61.0, 2))
    assert shortened(str(kernel)) == "Days(starts=[0.0, …, 58.0], ends=[1.0, …, 59.0])"
    assert parse(str(kernel)) == kernel
    assert shortened("SM(weight=[1.0, 2.0])") == "SM(weight=[1.0, 2.0])"
