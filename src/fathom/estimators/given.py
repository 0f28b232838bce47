"""What users hand over, as arrays that can be computed with; or one line that says what will not do, and where.

scikit-learn checks shapes, kinds and names. Here a cell that it refuses gets its row and column, and sizes are checked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from fathom.data.columns import Scaler

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from fathom.base.arrays import Rows

LARGEST = 1e150  # beyond it squares overflow, as those of a spread below its inverse vanish
FARTHEST = 1e15  # standard deviations from the rows learnt from: further out, distances overflow in single precision
TOO_LARGE = f"values beyond {LARGEST:.0e} cannot be squared: rescale the data"


def inputs(model: BaseEstimator, X: Rows, reset: bool, least: int = 2) -> np.ndarray:
    """Rows (N, D) of finite numbers; with `reset` at least so many to learn from, else as many columns as those had."""

    def checked(given: Rows) -> np.ndarray:
        return validate_data(model, given, reset=reset, dtype=float, ensure_min_samples=least if reset else 1)

    return _sizeable(_numbers(checked, X, "X"))


def outputs(y: Rows, n: int, missing: bool = False) -> np.ndarray:
    """Outputs (N) or (N, P) of n rows; with `missing`, NaN may mark some of several outputs."""

    def checked(given: Rows) -> np.ndarray:
        return check_array(given, ensure_2d=False, dtype=float, ensure_all_finite=False, input_name="y")

    found = _numbers(checked, y, "y")
    if found.ndim > 2 or len(found) != n:
        raise ValueError(f"y has shape {found.shape} for {n} rows of X: it must be (N) or (N, P)")
    several = found.ndim == 2 and found.shape[1] > 1
    for place in np.argwhere(np.isinf(found) if missing and several else ~np.isfinite(found))[:1]:
        raise ValueError(_objection(found[tuple(place)], "y", _place(y, *place)))
    return _sizeable(found)


def classes(y: Rows, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes (C) of n rows in order, and the number of each row's (N)."""
    _refuse_dates(y, "y")
    try:
        found = np.asarray(column_or_1d(y, warn=True))
    except (ValueError, TypeError) as problem:
        raise _told(problem) from None
    if len(found) != n:
        raise ValueError(f"y has {len(found)} labels for {n} rows of X")
    for row, label in enumerate(found.tolist()):
        if _is_missing(label) or label in (np.inf, -np.inf):
            raise ValueError(_objection(label, "y", f"row {row}"))
    try:
        with np.errstate(invalid="ignore"):  # it looks whether large numbers are whole
            check_classification_targets(found)
        return np.unique(found, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in found.tolist()})
        raise TypeError(f"labels of several kinds ({', '.join(kinds)}): make all of them text, or numbers") from None


def standard(X: np.ndarray, Y: np.ndarray | None = None) -> Scaler:
    """The standardisation of inputs and outputs, whose spreads must have squares."""
    if Y is not None and np.isnan(Y.reshape(len(Y), -1)).all(0).any():
        raise ValueError("an output has no known value: drop the column")
    scaler = Scaler.fit(X, Y)
    spreads = [(f"column {i} of X", sd) for i, sd in enumerate(scaler.x_sd)]
    for what, sd in [*spreads, *(("y", sd) for sd in scaler.y_sd)]:
        if sd < 1 / LARGEST:
            raise ValueError(f"{what} spreads by only {sd:.0e}, which cannot be squared: rescale the data")
    return scaler


def standardised(scaler: Scaler, X: np.ndarray) -> np.ndarray:
    """Rows (N, D) in standard units, none of them so far out that distances overflow."""
    with np.errstate(over="ignore"):
        rows = scaler.x(X)
    for row, column in np.argwhere(np.abs(rows) > FARTHEST)[:1]:
        raise ValueError(
            f"column {column} of X: row {row} lies {abs(rows[row, column]):.0e} standard deviations from the rows that "
            "the model was learnt from, too far to say anything"
        )
    return rows


# -- numbers from whatever was given ---------------------------------------------------------------------------------


def _numbers(checked: Callable[[Rows], np.ndarray], given: Rows, name: str) -> np.ndarray:
    """The array that scikit-learn makes of it, or its objection in one line, with the first cell that it is about."""
    _refuse_dates(given, name)
    given = _with_nan(given)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(checked(given))
    except (ValueError, TypeError, OverflowError) as problem:
        raise _told(problem, _bad_cell(given, name)) from None


def _told(problem: Exception, better: str | None = None) -> Exception:
    """scikit-learn's objection in one line, or in better words; names that do not match stay a list."""
    message = better or re.sub(r"\narray=.*?\n(?=Reshape)", " ", str(problem), flags=re.DOTALL)
    message = message.splitlines()[0] if message.startswith("Complex") else message
    kind = TypeError if isinstance(problem, TypeError) and not message.startswith("Input") else ValueError
    return kind(message)


def _refuse_dates(given: object, name: str) -> None:
    """scikit-learn would make numbers of some of them, in units that nobody chose."""
    for column, kind in enumerate(_kinds(given)):
        if kind in "mM":
            raise ValueError(f"{_place(given, None, column)} of {name} holds dates: give numbers, such as days")


def _frame(given: object) -> pd.DataFrame | None:
    """A data frame or series of pandas, as a data frame."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(given, pandas.DataFrame | pandas.Series):
        return None
    return given.to_frame() if isinstance(given, pandas.Series) else given


def _kinds(given: object) -> list[str]:
    """The kind of each column, or that of the whole array, in NumPy's letters."""
    frame = _frame(given)
    kinds = [getattr(given, "dtype", None)] if frame is None else list(frame.dtypes)
    return [str(getattr(kind, "kind", " ")) for kind in kinds]


def _with_nan(given: Rows) -> Rows:
    """The same with NaN for what is masked, and for what is missing among objects."""
    if isinstance(given, np.ma.MaskedArray):
        return np.ma.filled(given.astype(float), np.nan)
    if isinstance(given, np.ndarray) and given.dtype == object:
        return np.where([_is_missing(cell) for cell in given.ravel()], np.nan, given.ravel()).reshape(given.shape)
    frame = _frame(given)
    if frame is None or "O" not in _kinds(given):
        return given
    found = frame.where(frame.notna(), np.nan)
    return found.iloc[:, 0] if np.ndim(given) == 1 else found


def _bad_cell(given: object, name: str) -> str | None:
    """What is wrong with the first cell that is no finite number, if there is one."""
    frame = _frame(given)
    try:
        cells = np.asarray(given) if frame is None else frame.to_numpy(dtype=object)
    except (ValueError, TypeError):
        return None
    if cells.ndim not in (1, 2) or cells.dtype.kind not in "biufOSU":
        return None
    if cells.dtype.kind in "biuf":
        good = np.isfinite(cells)
    else:
        good = np.array([_is_number(cell) for cell in cells.ravel().tolist()], dtype=bool).reshape(cells.shape)
    for place in np.argwhere(~good)[:1]:
        cell = cells[tuple(place)]
        return _objection(cell.item() if isinstance(cell, np.generic) else cell, name, _place(given, *place))
    return None


def _is_number(cell: object) -> bool:
    try:
        return bool(np.isfinite(float(cell)))  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return False


def _is_missing(cell: object) -> bool:
    """True of None, NaN, NaT and NA: what is not equal to itself, or does not say."""
    try:
        return cell is None or not bool(cell == cell)
    except TypeError:  # of NA
        return True
    except ValueError:  # of an array in a cell
        return False


def _objection(cell: object, name: str, place: str) -> str:
    """Why a cell cannot be computed with."""
    what = "NaN" if _is_missing(cell) else "infinity or a value too large for dtype('float64')"
    if not _is_missing(cell):
        try:
            float(cell)  # type: ignore[arg-type]
        except OverflowError:
            return TOO_LARGE
        except (ValueError, TypeError) as problem:
            return f"{problem} in {place} of {name}: encode it as a number, or drop it"
    return f"Input {name} contains {what}. The first is in {place}: drop the row or fill it in."


def _place(given: object, row: int | None, column: int | None = None) -> str:
    """A row, and a column where there are several, in words."""
    frame = _frame(given)
    names = None if frame is None else [str(each) for each in frame.columns]
    width = np.shape(np.asarray(given))[-1:] if names is None else (len(names),)
    said = [] if row is None else [f"row {row}"]
    if column is not None and (width[0] > 1 or row is None):
        said.append(f"column {column}" if names is None else f"column {names[column]!r}")
    return ", ".join(said)


def _sizeable(values: np.ndarray) -> np.ndarray:
    """The values, if they can be squared."""
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        raise ValueError(TOO_LARGE)
    return values
