"""Values out of a file: of the kind that is wanted, or an error that names them."""

import math

import numpy as np
import pytest

from fathom.base.stored import Damaged, array, brief, check_finite, entries, entry, numbers, optional

FACTS = {"n": 3, "x": 1.5, "on": True, "text": "a", "list": [1, 2.5], "none": None, "nan": math.nan, "big": 10**400}


def test_what_is_of_its_kind():
    assert (entry(FACTS, "n", int), entry(FACTS, "n", float), entry(FACTS, "on", bool)) == (3, 3.0, True)
    assert optional(FACTS, "none", str) is None
    assert optional(FACTS, "text", str) == "a"
    assert entries(FACTS, "list", float) == [1.0, 2.5]
    np.testing.assert_array_equal(numbers(FACTS, "list", 2), [1.0, 2.5])
    np.testing.assert_array_equal(array({"a": np.zeros((2, 3))}, "a", None, 3), np.zeros((2, 3)))
    check_finite({"a": np.zeros(2, np.float32)})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: entry(FACTS, "other", int), "'other' is missing"),
        (lambda: optional(FACTS, "other", int), "'other' is missing"),
        (lambda: entry(FACTS, "on", int), "'on' must be a whole number, not True"),
        (lambda: entry(FACTS, "x", int), "'x' must be a whole number, not 1.5"),
        (lambda: entry(FACTS, "nan", float), "'nan' must be finite, not nan"),
        (lambda: entry(FACTS, "big", float), "'big' must be finite, not inf"),
        (lambda: entries(FACTS, "text", str), "'text' must be a list, not 'a'"),
        (lambda: entries(FACTS, "list", int), "each of 'list' must be a whole number, not 2.5"),
        (lambda: numbers(FACTS, "list", 3), "'list' has 2 numbers, not 3"),
        (lambda: array({}, "a", 1), "array 'a' is missing"),
        (lambda: array({"a": np.zeros((0, 3))}, "a", None, 3), "array 'a' has shape (0, 3), not (any, 3)"),
        (lambda: array({"a": np.zeros(3)}, "a", 3, 1), "array 'a' has shape (3,), not (3, 1)"),
        (lambda: check_finite({"a": np.array([1, 2])}), "array 'a' holds int64, not real numbers"),
        (lambda: check_finite({"a": np.array([1.0, np.inf])}), "array 'a' holds NaN or infinity"),
    ],
)
def test_what_is_not(asked, message):
    with pytest.raises(Damaged) as problem:
        asked()
    assert str(problem.value) == message


def test_long_values_are_cut():
    assert brief("x" * 100) == "'" + "x" * 39 + "…"
