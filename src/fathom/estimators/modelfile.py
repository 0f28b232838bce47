"""Model files: one zip of JSON and safetensors, versioned. Opening one runs no code of its own.

model.json            {"format": "fathom", "version": 2, "model": "DeepGPRegressor", "fathom": "0.1.0", ...}
arrays.safetensors
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

import fathom
from fathom.base.files import Facts, replacing
from fathom.estimators.base import Estimator, estimator
from fathom.estimators.format1 import as_second
from fathom.models import ESTIMATORS


class ModelFileError(ValueError):
    """The file cannot be read or written; the message says why in one line."""


def save(model: Estimator, path: str | Path) -> None:
    """Write a fitted model. The old file, if there is one, stays whole until the new one is complete."""
    from safetensors.numpy import save as to_bytes

    name = type(model).__name__
    if name not in ESTIMATORS:
        raise ModelFileError(f"{name} cannot be saved: only {', '.join(ESTIMATORS)} can")
    description, arrays = model.to_state()
    header = {"format": "fathom", "version": ESTIMATORS[name].version, "model": name, "fathom": fathom.__version__}
    with replacing(path, ModelFileError) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(header | description, indent=1))
        archive.writestr("arrays.safetensors", to_bytes({k: np.ascontiguousarray(v) for k, v in arrays.items()}))


def load(path: str | Path) -> Estimator:
    """Read a model that `save` wrote."""
    description, arrays = _read(Path(path))
    if not isinstance(description, dict) or description.get("format") != "fathom":
        raise ModelFileError(f"{path} is not a Fathom model: its model.json says nothing of the kind")
    name = description.get("model")
    if name not in ESTIMATORS:
        raise ModelFileError(f"{path} holds a model of unknown kind {name!r}; known are {', '.join(ESTIMATORS)}")
    version, known = description.get("version"), ESTIMATORS[name].version
    if version not in range(1, known + 1):
        raise ModelFileError(
            f"{path} has format version {version}, this Fathom reads {known}: "
            f"open it with Fathom {description.get('fathom', 'of another version')}, or fit the model again"
        )
    try:
        return estimator(name).from_state(description if version == known else as_second(description), arrays)
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise ModelFileError(f"{path} is damaged: {type(problem).__name__}: {problem}") from None


def _read(path: Path) -> tuple[Facts, dict[str, np.ndarray]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read("model.json")), from_bytes(archive.read("arrays.safetensors"))
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}") from None
    except OSError as problem:
        raise ModelFileError(f"cannot read {path}: {problem.strerror}") from None
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is not a Fathom model, or it was cut short: it is not a complete zip") from None
    except KeyError:
        raise ModelFileError(f"{path} is a zip, but not a Fathom model: it has no model.json") from None
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError, EOFError, RuntimeError) as problem:
        raise ModelFileError(f"{path} is damaged: {problem}") from None
