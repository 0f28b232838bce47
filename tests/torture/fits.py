"""Fits of every estimator and method, at tiny sizes, to data and parameters that nobody should hand over.

A case draws an estimator, how its rows and targets look, what is asked of it then, and now and then a parameter that is
none. The oracle knows what it wrote: what cannot be read must be refused in one line that Fathom or scikit-learn raises
on purpose; what can be read must be understood as the plain numbers are; and answers are finite, with positive standard
deviations and intervals in order. Nothing may warn, and nothing may take a minute.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn
from sklearn.base import clone

import fathom
from fathom import DeepGPClassifier, DeepGPRegressor, GPRegressor, KernelSearch, SparseGPRegressor
from fathom.inference import DGPS, DSPP, ODSVGP, SEP, Training
from tests.torture.tally import Tally

FULL = 500
PATIENCE = 60.0  # seconds until a fit counts as hanging
OURS = tuple(str(Path(package.__file__).parent) for package in (fathom, sklearn))
BRIEF, FEW = {"training": Training(n_steps=10)}, {"training": Training(n_steps=4)}
HABITS = ("X does not have valid feature names", "A column-vector y was passed")  # warnings of scikit-learn
SMALL = {"n_inducing": 4, "random_state": 0}

# sizes are few, so that what is compiled for one case serves many
ESTIMATORS: list[Callable[[], object]] = [
    lambda: GPRegressor(n_restarts=1, max_iterations=10, random_state=0),
    lambda: GPRegressor("SE*Per[0] + Lin", n_restarts=1, max_iterations=5, random_state=0),
    lambda: GPRegressor("RQ + C", mean="zero", n_restarts=2, max_iterations=5, random_state=0),
    lambda: GPRegressor("Lin*Lin", n_restarts=1, max_iterations=5, random_state=0),
    lambda: GPRegressor("CP[0](SE, Matern12)", n_restarts=1, max_iterations=5, random_state=0),
    lambda: GPRegressor("CW[0](SE, C) + SM[0] + Cos[0]", n_restarts=1, max_iterations=5, random_state=0),
    lambda: KernelSearch(depth=1, n_jobs=1, random_state=0),
    lambda: KernelSearch(depth=2, base=("SE", "Lin"), n_jobs=1, variant="accuracy", criterion="cv", random_state=0),
    lambda: KernelSearch(depth=1, base=("Lin", "WN"), n_jobs=1, criterion="laplace", random_state=0),
    lambda: SparseGPRegressor("fitc", **SMALL, **FEW),
    lambda: SparseGPRegressor("vfe", **SMALL, **FEW),
    lambda: SparseGPRegressor("pep", **SMALL, **FEW),
    lambda: SparseGPRegressor("svgp", **SMALL, **BRIEF),
    lambda: SparseGPRegressor(ODSVGP(n_mean=5), **SMALL, **BRIEF),
    lambda: SparseGPRegressor("ppgpr", **SMALL, **BRIEF),
    lambda: DeepGPRegressor((1,), "dsvi", **SMALL, **BRIEF),
    lambda: DeepGPRegressor((1,), "gamma", **SMALL, **BRIEF),
    lambda: DeepGPRegressor((1,), DSPP(n_quadrature=2), **SMALL, **BRIEF),
    lambda: DeepGPRegressor((), "dspp", **SMALL, **BRIEF),
    lambda: DeepGPRegressor((1,), DGPS(n_samples=2, n_restarts=2), **SMALL, **FEW),
    lambda: DeepGPRegressor((1,), SEP(n_sweeps=1), **SMALL, **BRIEF),
    lambda: DeepGPClassifier((), "dsvi", **SMALL, **BRIEF),
    lambda: DeepGPClassifier((1,), DSPP(n_quadrature=2), **SMALL, **BRIEF),
    lambda: DeepGPClassifier((1,), DGPS(n_samples=2, n_restarts=1), **SMALL, **FEW),
]
SIZES = (12, 12, 12, 12, 12, 3, 2, 1)  # rows; the inducing points are four


# -- what is handed over: how it is made from plain numbers, and whether it must be read, must be refused, or either -

READ, REFUSED, EITHER = "read", "refused", "either"


def cells(X: np.ndarray, value: object) -> np.ndarray:
    """Rows with one cell in the middle that is something else."""
    changed = X.astype(float if isinstance(value, float) else object)
    changed[len(X) // 2, -1:].fill(value)
    return changed


def frame(X: np.ndarray, column: object = None) -> pd.DataFrame:
    """A data frame whose last column is something else."""
    table = pd.DataFrame(X, columns=[f"input {i}" for i in range(X.shape[1])])
    return table if column is None else table.assign(**{table.columns[-1]: column})


def days(n: int) -> pd.DatetimeIndex:
    return pd.date_range("2020-02-28", periods=n)


INPUTS: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "plain": (READ, lambda X: X),
    "a data frame": (READ, frame),
    "a list": (READ, lambda X: X.tolist()),
    "single precision": (READ, lambda X: X.astype(np.float32)),
    "half precision": (READ, lambda X: X.astype(np.float16)),
    "integers": (READ, lambda X: np.round(9 * X).astype(int)),
    "truth values": (READ, lambda X: X > 0),
    "numbers as objects": (READ, lambda X: X.astype(object)),
    "numeric categories": (READ, lambda X: frame(X, pd.Categorical(np.round(X[:, -1])))),
    "nullable integers": (READ, lambda X: frame(X, pd.array(np.round(9 * X[:, -1]), dtype="Int64"))),
    "read only, columns first": (READ, lambda X: np.asfortranarray(X)[::-1]),
    "nothing masked": (READ, lambda X: np.ma.masked_array(X, mask=False)),
    "names with signs": (READ, lambda X: frame(X).set_axis([f"a b+[{i}]*" for i in range(X.shape[1])], axis=1)),
    "a constant column": (READ, lambda X: np.column_stack([X[:, :-1], np.full(len(X), 7.0)])),
    "all constant": (READ, lambda X: np.full_like(X, -3.0)),
    "repeated rows": (READ, lambda X: np.repeat(X, 3, axis=0)[: len(X)]),
    "a far row": (READ, lambda X: cells(X, 1e9)),
    "on a large offset": (READ, lambda X: 1e9 + X),
    "spread at rounding": (EITHER, lambda X: 1e15 + X),
    "large": (READ, lambda X: 1e60 * X),
    "small": (READ, lambda X: 1e-60 * X),
    "very large": (EITHER, lambda X: 1e100 * X),
    "very small": (EITHER, lambda X: 1e-100 * X),
    "from small to large": (READ, lambda X: X * np.geomspace(1e-60, 1e60, X.shape[1])),
    "huge": (REFUSED, lambda X: cells(X, 1e300)),
    "tiny": (EITHER, lambda X: 1e-200 * X),
    "below normal numbers": (EITHER, lambda X: 1e-320 * np.sign(X)),
    "at the limit": (EITHER, lambda X: 9e149 * np.sign(X)),
    "NaN": (REFUSED, lambda X: cells(X, np.nan)),
    "infinity": (REFUSED, lambda X: cells(X, -np.inf)),
    "None": (REFUSED, lambda X: cells(X, None)),
    "NA": (REFUSED, lambda X: cells(X, pd.NA)),
    "NaT": (REFUSED, lambda X: cells(X, pd.NaT)),
    "text": (REFUSED, lambda X: cells(X, "red")),
    "a dict": (REFUSED, lambda X: cells(X, {"a": 1})),
    "an array in a cell": (REFUSED, lambda X: cells(X, np.arange(2.0))),
    "NA in a list": (REFUSED, lambda X: cells(X, pd.NA).tolist()),
    "an integer without end": (REFUSED, lambda X: cells(X, 10**400)),
    "a large integer": (EITHER, lambda X: cells(X, 2**70)),
    "more than doubles hold": (REFUSED, lambda X: cells(X.astype(np.longdouble), 1.0) * np.longdouble("1e4000")),
    "a masked cell": (REFUSED, lambda X: np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 0)),
    "nullable with NA": (REFUSED, lambda X: frame(X, pd.array([1] * (len(X) - 1) + [None], dtype="Int64"))),
    "nullable truth with NA": (REFUSED, lambda X: frame(X, pd.array([None] + [True] * (len(X) - 1), dtype="boolean"))),
    "objects with NA": (REFUSED, lambda X: frame(X, [pd.NA, *X[1:, -1]])),
    "categories of text": (REFUSED, lambda X: frame(X, pd.Categorical(["red"] * len(X)))),
    "dates": (REFUSED, lambda X: frame(X, days(len(X)))),
    "dates of a zone": (REFUSED, lambda X: frame(X, days(len(X)).tz_localize("UTC"))),
    "durations": (REFUSED, lambda X: frame(X, days(len(X)) - days(1)[0])),
    "dates of NumPy": (REFUSED, lambda X: np.array([days(len(X))] * X.shape[1], dtype="datetime64[D]").T),
    "numbers as text": (EITHER, lambda X: X.astype(str)),
    "complex numbers": (REFUSED, lambda X: X + 1j),
    "a sparse matrix": (REFUSED, lambda X: scipy.sparse.csr_matrix(X)),
    "one axis": (REFUSED, lambda X: X[:, 0]),
    "three axes": (REFUSED, lambda X: X[:, :, None]),
    "a series": (REFUSED, lambda X: pd.Series(X[:, 0])),
    "rows of two lengths": (REFUSED, lambda X: [[1.0], *X[1:].tolist(), [1.0, 2.0, 3.0]]),
    "no rows": (REFUSED, lambda X: X[:0]),
    "no columns": (REFUSED, lambda X: X[:, :0]),
    "nothing": (REFUSED, lambda X: None),
    "a number": (REFUSED, lambda X: 3.0),
    "names of two kinds": (REFUSED, lambda X: pd.DataFrame(X).assign(a=1.0)),
}
TARGETS: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "plain": (READ, lambda y: y),
    "a series": (READ, lambda y: pd.Series(y, name="y")),
    "integers": (READ, lambda y: np.round(9 * y).astype(int)),
    "truth values": (READ, lambda y: y > np.median(y)),
    "all equal": (READ, lambda y: np.full_like(y, 5.0)),
    "all equal and large": (READ, lambda y: np.full_like(y, -1e140)),
    "two values": (READ, lambda y: np.sign(y)),
    "an outlier": (READ, lambda y: np.where(np.arange(len(y)) == 1, 1e8, y)),
    "large": (READ, lambda y: 1e60 * y),
    "small": (READ, lambda y: 1e-60 * y),
    "very large": (EITHER, lambda y: 1e120 * y),
    "very small": (EITHER, lambda y: 1e-120 * y),
    "on a large offset": (READ, lambda y: 1e12 + y),
    "spread at rounding": (EITHER, lambda y: 1e16 + y),
    "tiny": (EITHER, lambda y: 1e-200 * y),
    "below normal numbers": (EITHER, lambda y: 1e-320 * np.sign(y)),
    "at the limit": (EITHER, lambda y: 9e149 * np.sign(y)),
    "huge": (REFUSED, lambda y: 1e300 * y),
    "nullable": (READ, lambda y: pd.Series(y).astype("Float64")),
    "a column": (READ, lambda y: y[:, None]),
    "two outputs": (EITHER, lambda y: np.column_stack([y, 1 - y])),
    "two outputs, some missing": (
        EITHER,
        lambda y: np.column_stack([y, np.where(np.arange(len(y)) % 3 == 1, np.nan, y)]),
    ),
    "an output that is missing": (REFUSED, lambda y: np.column_stack([y, np.full_like(y, np.nan)])),
    "NaN": (REFUSED, lambda y: np.where(np.arange(len(y)) == 0, np.nan, y)),
    "infinity": (REFUSED, lambda y: np.where(np.arange(len(y)) == 0, np.inf, y)),
    "NA": (REFUSED, lambda y: pd.Series([pd.NA, *y[1:]])),
    "text": (EITHER, lambda y: np.where(y > np.median(y), "high", "low")),
    "text among numbers": (REFUSED, lambda y: np.array(["low", *y[1:]], dtype=object)),
    "categories": (EITHER, lambda y: pd.Series(pd.Categorical(np.where(y > np.median(y), "high", "low")))),
    "dates": (REFUSED, lambda y: days(len(y))),
    "complex numbers": (REFUSED, lambda y: y + 1j),
    "too few": (REFUSED, lambda y: y[:-1]),
    "too many": (REFUSED, lambda y: np.append(y, 1.0)),
    "three axes": (REFUSED, lambda y: y[:, None, None] * np.ones((1, 2, 2))),
    "a sparse matrix": (REFUSED, lambda y: scipy.sparse.csr_matrix(y[:, None])),
    "nothing": (REFUSED, lambda y: None),
    "a dict": (REFUSED, lambda y: {"y": y}),
}
QUESTIONS: dict[str, tuple[str, Callable[[np.ndarray], object]]] = {
    "the same": (READ, lambda X: X),
    "one row": (READ, lambda X: X[:1]),
    "beside the data": (READ, lambda X: X + 0.37 * np.ptp(X, axis=0)),
    "far": (EITHER, lambda X: X + 1e12),
    "very far": (EITHER, lambda X: X + 1e30),
    "at the limit": (EITHER, lambda X: np.full_like(X, -1e150)),
    "huge": (REFUSED, lambda X: np.full_like(X, 1e300)),
    "NaN": (REFUSED, lambda X: np.full_like(X, np.nan)),
    "another width": (REFUSED, lambda X: np.column_stack([X, X])),
    "no rows": (REFUSED, lambda X: X[:0]),
    "text": (REFUSED, lambda X: np.full(X.shape, "red")),
}
LABELS = {"text", "categories"}  # which only a classifier can learn
NO_CLASSES = {"all equal", "all equal and large", "large", "small"}
STRANGE = (0, -1, 1.5, float("nan"), float("inf"), "x", "", True, [], {}, 2**70, np.ones(1), (0,), object(), b"SE")
HARMLESS = {"n_inducing", "batch_size", "random_state", "verbose"}  # of others nobody is kept from asking for 2**70


# -- a case ----------------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """A fit took too long."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise `TooLong` inside if it is not over in time."""

    def ring(*_: object) -> None:
        raise TooLong

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def drawn(rng: np.random.Generator, kinds: dict, hostile: float) -> str:
    """The name of a kind: the first, plain one unless it is to be hostile."""
    names = list(kinds)
    return str(rng.choice(names[1:])) if rng.random() < hostile else names[0]


def spoilt(model: object, rng: np.random.Generator) -> str | None:
    """Give a parameter of the model, its method or its training a strange value; which, if it may be refused."""
    holders = [model]
    for name in ("inference", "training"):
        if hasattr(getattr(model, name, None), "get_params"):
            holders.append(getattr(model, name))
    holder = holders[rng.integers(len(holders))]
    names = sorted(set(holder.get_params(deep=False)) - {"trace_path", "checkpoint", "address", "n_jobs"})
    if not names:
        return None
    name, value = str(rng.choice(names)), STRANGE[rng.integers(len(STRANGE))]
    if value == 2**70 and name not in HARMLESS:
        value = 0
    holder.set_params(**{name: value})
    return f"{name}={value!r}"


def purposeful(problem: BaseException) -> bool:
    """True of an error that Fathom or scikit-learn raises on purpose, in one line.

    Names of columns that do not match are listed by scikit-learn, one a line.
    """
    last = traceback.extract_tb(problem.__traceback__)[-1]
    raised = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise")
    message = str(problem)
    brief = message.strip() and ("\n" not in message or message.startswith("The feature names should match"))
    return bool(isinstance(problem, (ValueError, TypeError)) and raised and last.filename.startswith(OURS) and brief)


def answers(model: object, X: object) -> np.ndarray:
    """What the model says at X; raises AssertionError, with the reason, if that makes no sense."""
    if isinstance(model, DeepGPClassifier):
        chances = model.predict_proba(X)
        assert np.all(np.isfinite(chances)), "a probability that is no number"
        assert np.all(chances >= 0), "a probability below zero"
        assert np.allclose(chances.sum(1), 1), "probabilities that do not sum to one"
        assert set(model.predict(X)) <= set(model.classes_), "a class that there was not"
        return chances
    mean, sd = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean)), "a mean that is no number"
    assert np.all(np.isfinite(sd)), "a standard deviation that is no number"
    assert np.all(sd > 0), "a standard deviation of zero"
    predictive = model.predict_dist(X)
    lower, upper = predictive.interval(0.9)
    assert np.all(np.isfinite(lower) & np.isfinite(upper)), "an interval that is no number"
    assert np.all(lower <= upper), "an interval upside down"
    assert np.all((lower <= predictive.quantile(0.5)) & (predictive.quantile(0.5) <= upper)), "a median outside"
    assert close(mean, predictive.mean()), "two means"
    return mean


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two answers are the same to rounding, whatever their size."""
    return np.allclose(a, b, rtol=1e-9, atol=1e-9 * float(np.max(np.abs(a))))


def as_numbers(given: object) -> np.ndarray:
    """What was handed over, as plain numbers."""
    return np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given).astype(float)


@dataclass
class Case:
    """One fit: the model, how rows, targets and questions look, and the sizes of the rows."""

    model: object
    looks: tuple[str, str, str]
    shape: tuple[int, int]
    seed: list[int]
    strange: str | None = None
    goes_on: bool = False  # with the same rows once more, where the method can

    @classmethod
    def drawn(cls, i: int, seed: int) -> Case:
        """Case i of a seed."""
        rng = np.random.default_rng([seed, i])
        model = clone(ESTIMATORS[i % len(ESTIMATORS)]())  # its method and training too
        shape = SIZES[rng.integers(len(SIZES))], int(rng.integers(1, 3))
        looks = drawn(rng, INPUTS, 0.4), drawn(rng, TARGETS, 0.3), drawn(rng, QUESTIONS, 0.4)
        strange = spoilt(model, rng) if rng.random() < 0.15 else None
        return cls(model, looks, shape, [seed, i], strange, rng.random() < 0.2)

    def __str__(self) -> str:
        n, d = self.shape
        asked = "X {}, y {}, asked {}".format(*self.looks)
        return f"case {self.seed}: {self.model!r} of {n}×{d}, {asked}; strange: {self.strange}".replace("\n", "")

    def data(self) -> tuple[object, object]:
        """Rows and targets as they are handed over."""
        rng = np.random.default_rng([*self.seed, 1])
        X = rng.standard_normal(self.shape)
        y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
        y = np.where(y > np.median(y), 1.0, 0.0) if isinstance(self.model, DeepGPClassifier) else y
        return INPUTS[self.looks[0]][1](X), TARGETS[self.looks[1]][1](y)

    def expected(self) -> str:
        """Whether the fit must be read or refused, or may be either."""
        may = {INPUTS[self.looks[0]][0], TARGETS[self.looks[1]][0]}
        classifies = isinstance(self.model, DeepGPClassifier)
        if self.looks[1] in LABELS and not classifies:
            may.add(REFUSED)
        if self.strange or self.shape[0] < 12 or (self.looks[1] in NO_CLASSES and classifies):
            may.add(EITHER)
        return next(each for each in (REFUSED, EITHER, READ) if each in may)

    def question(self, X: object) -> object:
        """The rows asked about: made from those learnt from, as numbers, with their names."""
        rows = as_numbers(X)
        asked = QUESTIONS[self.looks[2]][1](rows)
        named = isinstance(X, pd.DataFrame) and asked.shape[1] == rows.shape[1]
        return pd.DataFrame(asked, columns=X.columns) if named else asked

    def run(self) -> str:
        """What came of it, in a word; raises whatever must not happen."""
        X, y = self.data()
        try:
            self.model.fit(X, y)
        except (ValueError, TypeError) as problem:
            if not purposeful(problem) or self.expected() == READ:
                raise
            return "refused"
        assert self.expected() != REFUSED, "misread"
        if self.goes_on and hasattr(self.model, "partial_fit"):
            self.model.partial_fit(X, y)
        may = QUESTIONS[self.looks[2]][0]
        try:
            said = answers(self.model, self.question(X))
        except (ValueError, TypeError) as problem:
            if not purposeful(problem) or may == READ:
                raise
            return "a question refused"
        assert may != REFUSED, "misread"
        if isinstance(self.model, GPRegressor) and self.expected() == READ:
            plain = clone(self.model).fit(as_numbers(X), as_numbers(y))
            assert close(plain.predict(as_numbers(self.question(X))), said), "misread"
        return "answered"


def judged(case: Case, tally: Tally) -> None:
    """Try a case, and tally what came of it."""
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        for habit in HABITS:
            warnings.filterwarnings("ignore", habit)
        try:
            with patience(PATIENCE):
                tally.outcomes[case.run()] += 1
        except TooLong:
            tally.fault("hang", str(case))
        except AssertionError as nonsense:
            tally.fault("misread" if str(nonsense) == "misread" else "NaN", f"{case}: {nonsense}")
        except Exception as problem:
            tally.fault("traceback", f"{case}: {type(problem).__name__}: {' '.join(str(problem).split())}")
    for warning in warned:
        tally.fault("traceback", f"{case}: {warning.category.__name__}: {warning.message}")


def run(cases: range, seed: int) -> Tally:
    """Try these cases."""
    tally = Tally()
    for i in cases:
        judged(Case.drawn(i, seed), tally)
    return tally
