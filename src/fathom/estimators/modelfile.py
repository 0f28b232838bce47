"""Model files: one zip of JSON and safetensors, versioned. Opening one runs no code of its own.

model.json            {"format": "fathom", "version": 2, "model": "DeepGPRegressor", "fathom": "0.1.0", ...}
arrays.safetensors
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import ClassifierMixin

import fathom
from fathom.base import archive
from fathom.base.archive import in_short
from fathom.base.files import Facts
from fathom.base.stored import Damaged, brief, check_finite
from fathom.estimators.base import Estimator, estimator
from fathom.estimators.format1 import as_second
from fathom.estimators.given import LARGEST
from fathom.models import ESTIMATORS

DESCRIPTION = "model.json"


class ModelFileError(ValueError):
    """The file cannot be read or written; the message says why in one line."""


def save(model: Estimator, path: str | Path) -> None:
    """Write a fitted model. The old file, if there is one, stays whole until the new one is complete."""
    name = type(model).__name__
    if name not in ESTIMATORS:
        raise ModelFileError(f"{name} cannot be saved: only {', '.join(ESTIMATORS)} can")
    description, arrays = model.to_state()
    header = {"format": "fathom", "version": ESTIMATORS[name].version, "model": name, "fathom": fathom.__version__}
    archive.write(Path(path), header | description, arrays, DESCRIPTION, ModelFileError)


def load(path: str | Path) -> Estimator:
    """Read a model that `save` wrote. A damaged file is an error that says so; what was read answers with numbers."""
    description, arrays = _read(Path(path))
    name = _kind(path, description)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # odd numbers are looked for in the answers
            warnings.simplefilter("ignore")
            check_finite(arrays)
            current = description["version"] == ESTIMATORS[name].version
            model = estimator(name).from_state(description if current else as_second(description), arrays)
            _try_out(model)
    except Damaged as problem:
        raise ModelFileError(f"{path} is damaged: {problem}") from None
    except Exception as problem:  # a description can be wrong in ways that nobody thought of
        raise ModelFileError(f"{path} is damaged: {in_short(problem)}") from problem
    return model


def _read(path: Path) -> tuple[Facts, dict[str, np.ndarray]]:
    try:
        return archive.read(path, DESCRIPTION)
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}") from None
    except OSError as problem:
        raise ModelFileError(f"cannot read {path}: {problem.strerror}") from None
    except archive.NoZip as problem:
        raise ModelFileError(f"{path} is not a Fathom model, or it was cut short: {problem}") from None
    except archive.NoMember as problem:
        raise ModelFileError(f"{path} is a zip, but not a Fathom model: {problem}") from None
    except archive.ArchiveError as problem:
        raise ModelFileError(f"{path} is damaged: {problem}") from None


def _kind(path: str | Path, description: Facts) -> str:
    """The estimator that a file holds, if this Fathom reads its format."""
    if description.get("format") != "fathom":
        raise ModelFileError(f"{path} is not a Fathom model: its model.json says nothing of the kind")
    name = description.get("model")
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(f"{path} holds a model of unknown kind {brief(name)}; known are {', '.join(ESTIMATORS)}")
    version, known = description.get("version"), ESTIMATORS[name].version
    if not isinstance(version, int) or version not in range(1, known + 1):
        writer = description.get("fathom")
        writer = writer if isinstance(writer, str) and re.fullmatch(r"[\w.+-]{1,30}", writer) else "of another version"
        raise ModelFileError(
            f"{path} has format version {brief(version)}, this Fathom reads {known}: "
            f"open it with Fathom {writer}, or fit the model again"
        )
    return name


def _try_out(model: Estimator) -> None:
    """Raise an error unless the model answers with finite numbers about the middle of its data."""
    middle, spread = model.scaler_.x_mean, model.scaler_.x_sd
    rows = np.clip([middle, middle + 0.7 * spread, middle - 0.7 * spread], -LARGEST, LARGEST)
    if isinstance(model, ClassifierMixin):
        answers = [model.predict_proba(rows)]
    else:
        predictive = model.predict_dist(rows)
        answers = [predictive.mean(), predictive.std()]
    if not all(np.isfinite(answer).all() for answer in answers):
        raise Damaged("the model answers with NaN or infinity")
