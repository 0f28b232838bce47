"""Kernels as text: the round trip, and what a reader is told when the text is wrong."""

import pytest
from hypothesis import given

from fathom.kernels import SE, ArcCos, ChangePoint, KernelSyntaxError, Lin, Per, Product, Sum, parse
from tests.kernels.strategies import trees


@given(trees(inputs=[0, 1, "age", "fly ash", 'a "b" \\ c']))
def test_round_trip(kernel):
    assert parse(str(kernel)) == kernel


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("SE*Per + Lin", SE() * Per() + Lin()),
        ("SE × Per", SE() * Per()),
        ("SE[age](lengthscale=2)", SE(inputs="age", lengthscale=2.0)),
        ("SE[0, 1](lengthscale=[1e-3, 2.5E2])", SE(inputs=(0, 1), lengthscale=[0.001, 250.0])),
        (
            "CP[t](SE, Lin(location=-3), location=1950)",
            ChangePoint(SE(), Lin(location=-3.0), inputs="t", location=1950),
        ),
        ("ChangePoint(SE, Lin)", ChangePoint(SE(), Lin())),
        ("SE*(Per+Lin)", SE() * (Per() + Lin())),
        ("ArcCos(order=2)", ArcCos(order=2)),
        ('SE["fly ash"]', SE(inputs="fly ash")),
    ],
)
def test_parse(text, kernel):
    assert parse(text) == kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a kernel at position 1, found the end"),
        ("SE**Per", "expected a kernel at position 4, found '*'"),
        ("SE Per", "expected an operator (+ or *) or the end at position 4, found 'Per'"),
        ("SE[", "expected an input: a column number or name at position 4, found the end"),
        ("(SE + Per", "expected ')' at position 10, found the end"),
        ("SE(lengthscale=big)", "expected a number at position 16, found 'big'"),
        ("SE(lengthscale=-1)", "SE: lengthscale must be positive, got -1.0"),
        ("SE(lengthscale=1e999)", "SE: lengthscale must be finite, got inf"),
        ("SE(width=1)", "SE has no parameter 'width': it has variance, lengthscale"),
        ("CP(SE, Per, width=1)", "CP has no parameter 'width': it has location, steepness"),
        ("CP(SE)", "CP takes 2 kernels, got 1"),
        ("SE(Per)", "SE takes no kernels, got 1"),
        ("ArcCos(order=3)", "ArcCos has order 0, 1 or 2, not 3.0"),
        ("SE $ Per", "expected an operator (+ or *) or the end at position 4, found '$'"),
    ],
)
def test_what_a_wrong_text_gets(text, message):
    with pytest.raises(KernelSyntaxError) as problem:
        parse(text)
    assert str(problem.value) == f"cannot read kernel {text!r}: {message}"


def test_an_unknown_name_lists_the_known():
    with pytest.raises(
        KernelSyntaxError, match=r"expected a kernel \(After, ArcCos, .*, WN\) at position 6, found 'RBF'"
    ):
        parse("SE + RBF")


def test_what_python_misuse_gets():
    with pytest.raises(TypeError, match="parse reads text, not int"):
        parse(3)
    with pytest.raises(TypeError, match="Sum combines kernels, not int"):
        Sum((SE(), 3))
    with pytest.raises(TypeError, match="CP combines kernels, not str"):
        ChangePoint(SE(), "Lin")
    with pytest.raises(ValueError, match="an empty Product is no kernel"):
        Product(())
    with pytest.raises(ValueError, match="SE has no parameter 'scale': it has variance, lengthscale"):
        SE().replace(scale=2.0)
    with pytest.raises(TypeError):
        SE() + 1
