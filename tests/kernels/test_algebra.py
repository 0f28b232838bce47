"""Simplification rules, parameter counts, binding to columns: golden answers and messages."""

import re

import numpy as np
import pytest
from hypothesis import given

from fathom.kernels import (
    Lin,
    Sum,
    bind,
    canonical,
    from_vector,
    n_effective,
    n_free,
    parse,
    rescale,
    scale,
    simplify,
    sum_of_products,
    terms,
    to_vector,
    with_names,
)  # fmt: skip
from fathom.kernels.algebra import distribute
from fathom.kernels.combine import n_terms
from fathom.kernels.plan import Plan
from tests.conftest import GRIDS
from tests.kernels.strategies import trees


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("SE(variance=2.0)*SE(variance=3.0)", f"SE(variance=6.0, lengthscale={2**-0.5})"),
        ("SE[0]*SE[1]", "SE[0]*SE[1]"),
        ("WN(variance=2.0)*SE(variance=3.0)*Per", "WN(variance=6.0)"),
        ("WN*WN*C(variance=2.0)", "WN(variance=2.0)"),
        ("WN*Lin", "Lin*WN"),
        ("C(variance=2.0)*Per", "Per(variance=2.0)"),
        ("C*C", "C"),
        ("C + C(variance=2.0) + WN + SE + WN", "SE + C(variance=3.0) + WN(variance=2.0)"),
        ("Lin*(Per + SE)", "Lin*(SE + Per)"),
        ("(SE + C)*(Lin + C)", "(SE + C)*(Lin + C)"),
        ("Per(variance=2.0)*SE(variance=3.0)", "SE(variance=6.0)*Per"),
    ],
)  # fmt: skip
def test_canonical(text, answer):
    assert str(canonical(parse(text))) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("SE*(Lin + Per)", "SE*Per + SE*Lin"),
        ("CP(SE, WN)", "SE*Before + WN*After"),
        ("CW(SE + C, Per)*Lin", "SE*Lin*Outside + Per*Lin*Inside + Lin*Outside"),
    ],
)
def test_simplify_is_a_sum_of_products(text, answer):
    assert str(simplify(parse(text))) == answer


def test_canonical_does_not_depend_on_order():
    assert canonical(parse("Lin*SE + Per")) == canonical(parse("Per + SE*Lin"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("C", 1), ("WN", 1), ("SE", 2), ("Lin", 2), ("Per", 3), ("RQ", 3), ("Cos", 2), ("Matern32", 2),
        ("SE + Lin", 4), ("SE*Lin", 3), ("SE*Per*Lin", 5), ("CP(SE, Lin)", 6), ("CW(SE, Lin)", 7),
        ("WN*SE", 1), ("C*SE", 2), ("SE*SE", 2), ("(SE + Lin)*(Per + C)", 7),
        ("SM(weight=[1.0, 2.0], lengthscale=[1.0, 1.0], frequency=[0.1, 0.2])", 6),
    ],
)  # fmt: skip
def test_effective_parameters(text, count):
    assert n_effective(parse(text)) == count


def test_ard_counts_one_lengthscale_for_each_input():
    assert n_effective(bind(parse("SE"), 4)) == 5


@given(trees())
def test_vector_round_trip(kernel):
    vector = to_vector(kernel)
    assert vector.shape == (n_free(kernel),)
    np.testing.assert_allclose(to_vector(from_vector(kernel, vector)), vector, atol=1e-12)
    moved = from_vector(kernel, vector + 0.1)
    assert moved.structure() == kernel.structure()


@given(trees())
def test_scaling_is_exact(kernel):
    X = GRIDS["irregular"]
    np.testing.assert_allclose(scale(kernel, 3.0).gram(X), 3 * kernel.gram(X), rtol=1e-12)


@given(trees())
def test_terms_sum_to_the_kernel(kernel):
    X = GRIDS["irregular"]
    total = sum(term.gram(X) for term in terms(kernel))
    np.testing.assert_allclose(total, kernel.gram(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sum_of_products(kernel).gram(X), total, rtol=1e-10, atol=1e-12)


def test_rescaling_there_and_back():
    kernel = parse("CW(SE*Per, Lin, location=1.0) + ArcCos(location=0.5)")
    back = rescale(rescale(kernel, [2.0], [3.0], 4.0), [-2.0 / 3.0], [1.0 / 3.0], 0.25)
    X = GRIDS["irregular"]
    np.testing.assert_allclose(back.gram(X), kernel.gram(X), rtol=1e-12)


def test_names_and_numbers():
    bound = bind(parse("SE[dose]*Per[age] + Lin"), ["age", "dose"])
    assert str(bound) == "SE[1]*Per[0] + Lin[0] + Lin[1]"
    assert str(with_names(bound, ["age", "dose"])) == "SE[dose]*Per[age] + Lin[age] + Lin[dose]"
    assert str(bind(parse("SE"), 2)) == "SE(lengthscale=[1.0, 1.0])"
    assert str(parse("(SE + Per)[0]")) == "SE[0] + Per[0]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SE[dosage]", "SE[dosage]: there is no input 'dosage'; there are age, dose"),
        ("SE[2]", "SE[2] asks for input 2, but there are 2 (0 to 1)"),
        ("Per", "Per looks at one input but gets 2: choose one, as in Per[age]"),
        ("SE(lengthscale=[1.0, 2.0, 3.0])", "SE: lengthscale has 3 values for 2 inputs"),
    ],
)
def test_what_binding_says(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        bind(parse(text), ["age", "dose"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SE[age]", "input 'age' of SE is a name: bind the kernel to column names first"),
        ("SE[3]", "SE[3] asks for input 3, but there are 2 (0 to 1)"),
        ("Lin", "Lin looks at one input but gets 2: choose one, as in Lin[0]"),
        ("SE(lengthscale=[1.0, 2.0, 3.0])", "SE: lengthscale has 3 values for 2 inputs"),
    ],
)
def test_what_evaluation_says(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse(text).gram(np.zeros((3, 2)))


def test_a_product_of_sums_that_explodes_is_refused():
    many = parse("*".join(["(SE + Lin)"] * 30))
    message = "^multiplied out, the kernel is a sum of over 5000 products: put fewer sums inside products$"
    for multiplied in (terms, sum_of_products, simplify, distribute, lambda k: Plan(k, np.zeros((3, 1)))):
        with pytest.raises(ValueError, match=message):
            multiplied(many)
    assert many.gram(np.zeros((3, 1))).shape == (3, 3)
    assert n_terms(many) == 2**30
    assert n_terms(parse("CP(SE + Lin, Per)*(C + WN)*SE")) == len(terms(parse("CP(SE + Lin, Per)*(C + WN)*SE"))) == 6


def test_a_long_sum_is_no_explosion():
    assert len(terms(Sum((Lin(),) * 6000))) == 6000


def test_what_shapes_say():
    with pytest.raises(ValueError, match=r"X has 1 columns and Z has 2: they must agree"):
        parse("SE").cross(np.zeros((3, 1)), np.zeros((3, 2)))
    with pytest.raises(
        ValueError, match=r"inputs must be a matrix of rows \(N, D\), not an array of shape \(1, 2, 3\)"
    ):
        parse("SE").gram(np.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match=r"SM needs as many weights as lengthscales and frequencies, not 2, 1, 1"):
        parse("SM(weight=[1.0, 2.0])").gram(np.zeros((3, 1)))
