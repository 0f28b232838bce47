"""From a file to numbers with names: tables, dates, time axes, data sets, and the units of each column.

pandas is used here only. May import `base`.
"""

from fathom.data.dataset import (
    Columns,
    Dataset,
    Scaler,
    Split,
    k_folds,
    load_csv,
    read_inputs,
    train_test_split,
)
from fathom.data.table import DataError

__all__ = [
    "Columns",
    "DataError",
    "Dataset",
    "Scaler",
    "Split",
    "k_folds",
    "load_csv",
    "read_inputs",
    "train_test_split",
]
