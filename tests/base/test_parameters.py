"""Tables of what parameters may be: each kind of row, its words, and that no parameter lacks a row."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from fathom import models
from fathom.base.parameters import (
    PATH,
    RANDOM_STATE,
    Each,
    Instance,
    Integer,
    Number,
    ParameterError,
    check_parameters,
)
from fathom.estimators.base import estimator
from fathom.inference.base import Training, method

NAN, INF = float("nan"), float("inf")


class Holder(BaseEstimator):
    parameter_constraints = {}  # noqa: RUF012  (each test has its own)

    def __init__(self, value=None):
        self.value = value


def refused(value, *row):
    """The message that a value gets, or None."""
    Holder.parameter_constraints = {"value": row}
    try:
        check_parameters(Holder(value))
    except ParameterError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize(
    ("row", "words", "good", "bad"),
    [
        ([Integer(1)], "an integer of at least 1", [1, np.int32(7), 2**70], [0, -1, True, 1.0, NAN, "1", None]),
        ([Integer(0, 9)], "an integer from 0 to 9", [0, 9], [-1, 10]),
        ([Number(above=0)], "a number above 0", [1e-300, 3, np.float32(2)], [0, NAN, INF, -1.0, False, "1"]),
        ([Number(least=0, below=1)], "a number of at least 0 and below 1", [0, 0.5], [1, -0.1]),
        ([Number(above=0, most=1)], "a number above 0 and at most 1", [1], [0, 1.1]),
        ([None, "a", "b"], "None, 'a' or 'b'", [None, "a", np.str_("b")], ["c", 0, False, np.array(["a"])]),
        ([None, -1, Integer(1)], "None, -1 or an integer of at least 1", [None, -1, 2], [0, -2, False]),
        ([bool], "True or False", [True, np.bool_(False)], [0, 1, "x", None]),
        ([callable], "a callable", [len, Holder], [3]),
        (["auto", Each("integers", [Integer(1)])], "'auto' or a tuple of integers", [(), (1, 2), [3]], [3, (0,)]),
        ([Instance(f"{__name__}.Holder")], "a Holder", [Holder()], [Holder, BaseEstimator()]),
        (PATH, "None, text or a path", [None, "x", Path("x")], [3]),
        (
            RANDOM_STATE,
            "None, an integer from 0 to 4294967295, a Generator or a RandomState",
            [0, np.random.default_rng(0), np.random.RandomState(0)],
            [-1, 2**32, 0.5, "7"],
        ),
    ],
)
def test_what_a_row_allows(row, words, good, bad):
    assert [value for value in good if refused(value, *row)] == []
    for value in bad:
        assert refused(value, *row) == f"value must be {words}, not {' '.join(repr(value).split())}"


def test_a_long_value_is_cut():
    assert refused("x" * 1000, bool) == f"value must be True or False, not '{'x' * 58}…"


def test_the_error_is_of_both_kinds():
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)


@pytest.mark.parametrize(
    "kind",
    [*map(estimator, models.ESTIMATORS), *map(method, models.methods()), Training],
    ids=lambda kind: kind.__name__,
)
def test_every_parameter_has_a_row_that_allows_its_default(kind):
    names = set(inspect.signature(kind).parameters)
    assert names <= set(kind.parameter_constraints)
    check_parameters(kind())
