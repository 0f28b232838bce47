"""Kernels as text: the round trip, and what a reader is told when the text is wrong."""

import numpy as np
import pytest
from hypothesis import given

from fathom.kernels import SE, SM, ArcCos, ChangePoint, KernelSyntaxError, Lin, Per, Product, Sum, parse
from tests.kernels.strategies import trees


@given(trees(inputs=[0, 1, "age", "fly ash", 'a "b" \\ c', "two\\\nlines"]))
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
        ("SM(weight=2, frequency=0)", SM(weight=[2.0], frequency=[0.0])),
        ("(" * 50 + "SE" + ")" * 50, SE()),
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
        ("SE(lengthscale=-1)", "SE: lengthscale must be positive, got -1.0 (at position 1)"),
        ("SE(lengthscale=1e999)", "SE: lengthscale must be finite, got inf (at position 1)"),
        ("SE(width=1)", "SE has no parameter 'width': it has variance, lengthscale (at position 1)"),
        ("CP(SE, Per, width=1)", "CP has no parameter 'width': it has location, steepness (at position 1)"),
        ("CP(SE)", "CP takes 2 kernels, got 1 (at position 1)"),
        ("SE(Per)", "SE takes no kernels, got 1 (at position 1)"),
        ("ArcCos(order=3)", "ArcCos has order 0, 1 or 2, not 3.0 (at position 1)"),
        ("SE + Lin*Per(period=0)", "Per: period must be positive, got 0.0 (at position 10)"),
        ("SE(lengthscale=0)", "SE: lengthscale must be positive, got 0.0 (at position 1)"),
        ("WN(variance=-1)", "WN: variance must not be negative, got -1.0 (at position 1)"),
        ("Lin(location=[1, 2])", "Lin: location must be a number, got [1.0, 2.0] (at position 1)"),
        ("SE(lengthscale=[[1]])", "expected a number at position 17, found '['"),
        ("SE(lengthscale=1, lengthscale=2)", "lengthscale is given twice, again at position 19"),
        ("SE(inputs=1)", "SE has no parameter 'inputs': it has variance, lengthscale (at position 1)"),
        ("ArcCos(SE)", "ArcCos takes no kernels, got 1 (at position 1)"),
        (
            "SM(weight=[1, 2])",
            "SM needs as many weights as lengthscales and frequencies, not 2, 1, 1 (at position 1)",
        ),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 51 + "SE" + ")" * 51, "more than 50 parentheses inside each other at position 52"),
        ("CP(" * 51, "more than 50 parentheses inside each other at position 154"),
        ("SE[" + "9" * 5000 + "]", "a column number has at most 6 digits, not 5000 at position 4"),
        ("9" * 10_000 + "x", "expected a kernel at position 1, found '9'"),
        ("WN" + " " * 5_000_000, "a kernel has at most 5000000 characters, not 5000002"),
    ],
    ids=["parentheses", "operands", "index", "number", "characters"],
)
def test_what_has_no_end_is_refused(text, message):
    with pytest.raises(KernelSyntaxError) as problem:
        parse(text)
    assert message in str(problem.value)
    assert len(str(problem.value)) < 350


def test_too_many_kernels_are_refused(monkeypatch):
    monkeypatch.setattr("fathom.kernels.syntax.MOST", 4)
    assert parse("SE + CP(Lin, Per)") == SE() + ChangePoint(Lin(), Per())
    with pytest.raises(KernelSyntaxError, match="more than 4 kernels at position 16"):
        parse("SE + CP(Lin, C*WN)")


def test_an_error_in_a_long_text_shows_where():
    text = "SE + " * 100 + "Foo" + " + SE" * 100
    with pytest.raises(
        KernelSyntaxError, match=r"cannot read kernel '….* \+ SE \+ Foo \+ SE \+ .*…': .* 501, found 'Foo'"
    ):
        parse(text)


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
    with pytest.raises(ValueError, match="SE: lengthscale must be a number, got 'long'"):
        SE(lengthscale="long")
    with pytest.raises(ValueError, match="SE: lengthscale must be a number or a list of them, got \\[\\]"):
        SE(lengthscale=[])
    with pytest.raises(ValueError, match="SE: an input is a column number from 0 on, or a name, not -1"):
        SE(inputs=-1)
    with pytest.raises(ValueError, match="SE chooses no input: leave them out for all"):
        SE(inputs=())
    assert SE(inputs=np.int64(2)) == SE(inputs=2)
