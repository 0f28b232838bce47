"""Model files: one zip of JSON and safetensors, versioned. Opening one runs no code of its own.

model.json            {"format": "fathom", "version": 2, "model": "DeepGPRegressor", "fathom": "0.1.0", ...}
arrays.safetensors
"""

from __future__ import annotations

import json
import re
import stat
import warnings
import zipfile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin

import fathom
from fathom.base.files import Facts, replacing
from fathom.base.stored import Damaged, brief, check_finite
from fathom.estimators.base import Estimator, estimator
from fathom.estimators.format1 import as_second
from fathom.estimators.given import LARGEST
from fathom.models import ESTIMATORS


class Size(NamedTuple):
    """Bytes that a member of a file may have, in any case or for each byte of the file."""

    free: int
    times: int


MEMBERS = {"model.json": Size(16_000_000, 20), "arrays.safetensors": Size(64_000_000, 100)}
MOST_NAMES = 10_000_000  # bytes in which arrays are named


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
    texts = json.dumps(header | description, indent=1, default=_plain).encode()
    packed = to_bytes({k: np.ascontiguousarray(v) for k, v in arrays.items()})
    contents = zip(MEMBERS.items(), (texts, packed), strict=True)
    with replacing(path, ModelFileError) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for (member, size), content in contents:  # large ones stay as they are, so that no model looks like a bomb
            how = zipfile.ZIP_DEFLATED if len(content) <= size.free else zipfile.ZIP_STORED
            archive.writestr(member, content, how)


def _plain(value: object) -> object:
    """What JSON has in place of a parameter that came from NumPy or is a path."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise ModelFileError(f"a model with {brief(value)} for a parameter cannot be saved")


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
        raise ModelFileError(f"{path} is damaged: {_in_short(problem)}") from problem
    return model


def _kind(path: str | Path, description: Facts) -> str:
    """The estimator that a file holds, if this Fathom reads its format."""
    if not isinstance(description, dict) or description.get("format") != "fathom":
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


def _in_short(problem: Exception) -> str:
    said = (str(problem).splitlines() or [""])[0]
    return f"{type(problem).__name__}: {said if len(said) <= 200 else said[:200] + '…'}"


# -- the zip ---------------------------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[Facts, dict[str, np.ndarray]]:
    """The description and the arrays."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe without a writer would be waited for
            raise ModelFileError(f"{path} is not a file")
        file = path.open("rb")
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}") from None
    except OSError as problem:
        raise ModelFileError(f"cannot read {path}: {problem.strerror}") from None
    with file, _opened(path, file) as archive:
        texts, packed = (_member(path, archive, name) for name in MEMBERS)
    name = "model.json"
    try:
        description = json.loads(texts)
        name = "arrays.safetensors"
        return description, _arrays(packed)
    except Exception as problem:  # of JSON, of safetensors, or of too little memory
        raise ModelFileError(f"{path} is damaged: its {name} cannot be read ({_in_short(problem)})") from None


def _arrays(packed: bytes) -> dict[str, np.ndarray]:
    """The arrays, unless the list of their names is too long to be one."""
    from safetensors.numpy import load as from_bytes

    if (length := int.from_bytes(packed[:8], "little")) > MOST_NAMES:
        raise ValueError(f"a header of {length} bytes")
    return from_bytes(packed)


def _opened(path: Path, file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception:  # zipfile has many: of the zip, of seeking, of text that is none
        raise ModelFileError(f"{path} is not a Fathom model, or it was cut short: it is not a complete zip") from None


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """A member of the zip, unless it is far larger than what it is said to come from."""
    if name not in archive.namelist():
        raise ModelFileError(f"{path} is a zip, but not a Fathom model: it has no {name}")
    info, most = archive.getinfo(name), MEMBERS[name]
    if info.file_size > max(most.free, most.times * path.stat().st_size):
        raise ModelFileError(f"{path} is damaged: its {name} is said to expand to {info.file_size / 1e6:.0f} MB")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others expand without a limit
        raise ModelFileError(f"{path} is damaged: its {name} is compressed in a way that Fathom does not use")
    try:
        with archive.open(info) as member:
            return member.read(info.file_size)
    except Exception as problem:  # zipfile and zlib have many
        raise ModelFileError(f"{path} is damaged: its {name} cannot be unpacked ({_in_short(problem)})") from None
