"""What is handed over as data: which cell will not do, and that nothing is taken for what it is not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from fathom import DeepGPClassifier, GPRegressor, KernelSearch, SparseGPRegressor, Training

X = np.column_stack([np.linspace(0, 1, 8), np.arange(8) % 3])
y = X[:, 0] ** 2
EXACT = GPRegressor(n_restarts=1, max_iterations=5, random_state=0)
SPARSE = SparseGPRegressor("svgp", 3, training=Training(n_steps=10), random_state=0)
CLASSES = DeepGPClassifier((), "dsvi", 3, training=Training(n_steps=10), random_state=0)


def frame(column):
    return pd.DataFrame({"age": X[:, 0], "group": column})


def cell(value, row=5):
    changed = X.astype(object)
    changed[row, 1] = value
    return changed


@pytest.mark.parametrize("model", [EXACT, SPARSE], ids=["exact", "sparse"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (cell(pd.NA), "Input X contains NaN. The first is in row 5, column 1: drop the row or fill it in."),
        (cell(None), "Input X contains NaN. The first is in row 5, column 1: drop the row or fill it in."),
        (frame([*"1234567", pd.NA]), "Input X contains NaN. The first is in row 7, column 'group': drop the row"),
        (frame(pd.array([None, *range(7)], dtype="Int64")), "Input X contains NaN. The first is in row 0, column 'gro"),
        (np.ma.masked_array(X, mask=X == 2), "Input X contains NaN. The first is in row 2, column 1: drop the row"),
        (cell(np.inf), "Input X contains infinity or a value too large for dtype('float64'). The first is in row 5, "),
        (cell("red"), "could not convert string to float: 'red' in row 5, column 1 of X: encode it as a number"),
        (frame(pd.Categorical([*"abababab"])), "could not convert string to float: 'a' in row 0, column 'group' of X"),
        (cell(10**400), "values beyond 1e+150 cannot be squared: rescale the data"),
        (frame(pd.date_range("2020", periods=8)), "column 'group' of X holds dates: give numbers, such as days"),
        (X.astype("timedelta64[s]"), "column 0 of X holds dates: give numbers, such as days"),
        (X + 1j, "Complex data not supported"),
        (X[:, 0], "Expected 2D array, got 1D array instead: Reshape your data either using array.reshape(-1, 1)"),
        (np.column_stack([X[:, 0], 1e-200 * X[:, 1]]), "column 1 of X spreads by only 8e-201, which cannot be squared"),
    ],
)  # fmt: skip
def test_inputs_that_will_not_do(model, given, message):
    with pytest.raises(ValueError) as told:  # noqa: PT011  (the words are compared)
        model.fit(given, y)
    assert str(told.value).startswith(message)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("model", [EXACT, SPARSE], ids=["exact", "sparse"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (y * 1e-200, "y spreads by only 3e-201, which cannot be squared: rescale the data"),
        (["a", *y[1:]], "could not convert string to float: 'a' in row 0 of y: encode it as a number, or drop it"),
        (pd.Series(y, dtype="Float64").where(y > 0), "Input y contains NaN. The first is in row 0: drop the row"),
        (y[:5], "y has shape (5,) for 8 rows of X: it must be (N) or (N, P)"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)  # fmt: skip
def test_targets_that_will_not_do(model, given, message):
    with pytest.raises(ValueError) as told:  # noqa: PT011  (the words are compared)
        model.fit(X, given)
    assert message in str(told.value)


def test_an_object_that_is_no_number_is_a_type_error():
    with pytest.raises(TypeError, match="not 'dict' in row 5, column 1 of X: encode it as a number, or drop it"):
        EXACT.fit(cell({}), y)
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense data is required"):
        EXACT.fit(scipy.sparse.csr_matrix(X), y)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a", None, *"abababab"[:6]], ValueError, "Input y contains NaN. The first is in row 1: drop the row"),
        ([1.0, np.inf] * 4, ValueError, "Input y contains infinity or a value too large .* The first is in row 1"),
        (
            np.array(["a", 1.5] * 4, dtype=object),
            TypeError,
            r"labels of several kinds \(float, str\): make all of them",
        ),
        (pd.date_range("2020", periods=8), ValueError, "column 0 of y holds dates"),
        ([0, 1], ValueError, "y has 2 labels for 8 rows of X"),
        (X, ValueError, r"y should be a 1d array, got an array of shape \(8, 2\)"),
    ],
)
def test_labels_that_will_not_do(given, error, message):
    with pytest.raises(error, match=message):
        CLASSES.fit(X, given)


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        X.astype(object),
        pd.DataFrame(X),
        frame(pd.Categorical(X[:, 1])),
        frame(pd.array(X[:, 1], dtype="Int64")),
        frame(pd.Series(X[:, 1], dtype=object)),
        np.ma.masked_array(X, mask=False),
        np.asfortranarray(X),
    ],
    ids=["list", "objects", "frame", "categories", "nullable", "object column", "mask", "order"],
)
def test_the_same_numbers_are_the_same_rows(given):
    assert np.array_equal(EXACT.fit(given, y).posterior_.X, EXACT.fit(X, y).posterior_.X)


def test_questions_too_far_to_answer():
    model = EXACT.fit(X, y)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1"):
        model.predict(pd.DataFrame(X[:0]))
    with pytest.raises(ValueError, match=r"column 1 of X: row 2 lies 1e\+30 standard deviations .* too far to say"):
        model.predict([[0, 0], [0, 1], [0, 1e30]])
    assert np.all(np.isfinite(model.predict([[1e12, -1e12]])))


@pytest.mark.slow
def test_further_rows_need_as_many_outputs():
    model = SPARSE.fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="y has 1 outputs, but the model has learnt 2"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(("unit", "what"), [(1e100, "must be finite, got inf"), (1e-100, "vanishes")])
def test_units_that_numbers_do_not_reach(unit, what):
    with pytest.raises(ValueError, match=f"Lin: variance {what}: numbers do not reach so far, rescale the data"):
        GPRegressor("Lin*Lin", n_restarts=1).fit(unit * X[:, :1], y)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_product_is_learnt_in_any_unit(unit):
    """The scales of factors after the first are not learnt: they must not depend on the units."""
    model, other = (GPRegressor("SE*Lin", n_restarts=2, random_state=0).fit(u * X[:, :1], y) for u in (1.0, unit))
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=0.1)
    assert other.kernel_.children[0].children[1].variance == 1.0


@pytest.mark.slow
def test_a_search_along_constants_finds_noise():
    """No period is looked for along them: medians and slopes of nothing would warn."""
    model = KernelSearch(depth=1, n_jobs=1, random_state=0).fit(np.full((8, 1), 3.0), y)
    assert np.allclose(model.predict([[3.0]]), y.mean(), atol=1e-6)
