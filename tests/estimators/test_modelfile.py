"""Model files: the round trip, and what truncated, foreign and unwritable files get."""

import json
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

import fathom
from fathom.base import archive
from fathom.base.archive import Size
from fathom.estimators.modelfile import ModelFileError


@pytest.fixture(scope="module")
def model():
    data = fathom.datasets.load("airline")
    model = fathom.GPRegressor("Lin + SE*Per", n_restarts=1, random_state=0).fit(data.X, data.y)
    model.columns_ = data.columns
    return model


def test_round_trip(model, tmp_path):
    path = tmp_path / "m.fathom"
    fathom.save(model, path)
    again = fathom.load(path)
    X = np.linspace(1955, 1963, 30)[:, None]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_dist(X).var(), model.predict_dist(X).var())
    assert again.kernel_ == model.kernel_
    assert again.columns_ == model.columns_
    assert again.log_evidence_ == model.log_evidence_
    assert not [p for p in tmp_path.iterdir() if p != path]


def test_names_and_outputs_survive(tmp_path):
    import pandas as pd

    X = pd.DataFrame({"a": np.linspace(0, 1, 12), "b": np.cos(np.arange(12.0))})
    model = fathom.GPRegressor("SE[b] + Lin[a]", n_restarts=1).fit(X, np.column_stack([X["a"], X["b"]]))
    fathom.save(model, tmp_path / "m")
    again = fathom.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.parts_) == list(model.parts_)


def test_it_is_json_and_arrays_only(model, tmp_path):
    fathom.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        assert set(archive.namelist()) == {"model.json", "arrays.safetensors"}
        description = json.loads(archive.read("model.json"))
    assert description["format"] == "fathom"
    assert description["model"] == "GPRegressor"


def rewritten(fitted, path, changes, arrays=None):
    fathom.save(fitted, path)
    with zipfile.ZipFile(path) as archive:
        description, held = json.loads(archive.read("model.json")), unpacked(archive.read("arrays.safetensors"))
    if callable(changes):
        changes(description)
        changes = {}
    zipped(path, json.dumps(description | changes), packed(held | (arrays or {})))


def zipped(path, description, arrays, how=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr("model.json", description)
        archive.writestr("arrays.safetensors", arrays)


def told(path):
    """What loading says, which must be one line that names the file."""
    with pytest.raises(ModelFileError) as problem:
        fathom.load(path)
    said = str(problem.value)
    assert "\n" not in said
    assert str(path) in said
    return said.removeprefix(f"{path} ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "is not a Fathom model: its model.json says nothing of the kind"),
        (
            {"version": 99, "fathom": "9.0"},
            "has format version 99, this Fathom reads 1: open it with Fathom 9.0, or fit",
        ),
        ({"model": "os.system"}, "holds a model of unknown kind 'os.system'; known are GPRegressor, KernelSearch"),
        ({"kernel": "SE + nonsense"}, "is damaged: KernelSyntaxError: cannot read kernel"),
        ({"scaler": {}}, "is damaged: DataError: the stored scaling is damaged"),
    ],
)
def test_what_a_foreign_description_gets(model, tmp_path, changes, message):
    path = tmp_path / "m.fathom"
    rewritten(model, path, changes)
    with pytest.raises(ModelFileError) as problem:
        fathom.load(path)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": []}, "holds a model of unknown kind []; known are GPRegressor, "),
        ({"version": "x" * 99}, "has format version 'xxxxx"),
        ({"version": 9, "fathom": "9\n"}, "this Fathom reads 1: open it with Fathom of another version"),
        ({"scaler": []}, "is damaged: 'scaler' must be an object, not []"),
        ({"params": None}, "is damaged: 'params' must be an object, not None"),
        ({"params": {"depth": 1}}, "is damaged: TypeError: GPRegressor.__init__() got an unexpected keyword"),
        ({"single": 1}, "is damaged: 'single' must be true or false, not 1"),
        ({"kernel": 3}, "is damaged: 'kernel' must be text, not 3"),
        ({"kernel": "(" * 300 + "SE" + ")" * 300}, "more than 50 parentheses inside each other"),
        ({"kernel": "SE(lengthscale=1e-320)"}, "NotPositiveDefinite: the covariance of row 0 is not finite"),
        ({"names": ["a", "b"]}, "is damaged: 2 inputs have names, the model has 1"),
        ({"columns": {"names": 3}}, "DataError: the stored column description is damaged ('names' must be"),
        (lambda d: d.pop("kernel"), "is damaged: 'kernel' is missing"),
        (lambda d: d["scaler"].update(x_sd=[0.0]), "scaling is damaged (a standard deviation must be positive)"),
        (lambda d: d["scaler"].update(y_mean=[1.0, 2.0]), "scaling is damaged ('y_sd' has 1 numbers, not 2)"),
        (lambda d: d["scaler"].update(x_mean=[1, 2], x_sd=[1, 2]), "the scaling is that of 2 inputs, the model has 1"),
        (lambda d: d["scaler"].update(x_mean=[float("nan")]), "each of 'x_mean' must be finite, not nan"),
        (lambda d: d["scaler"].update(y_sd=[10**400]), "each of 'y_sd' must be finite, not inf"),
        (lambda d: d["columns"]["rule"].update(step="long"), "damaged ('step' must be a number, not 'long')"),
    ],
)  # fmt: skip
def test_what_a_damaged_description_gets(model, tmp_path, changes, message):
    rewritten(model, tmp_path / "m", changes)
    assert message in told(tmp_path / "m")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.full((144, 1), np.nan)}, "is damaged: array 'X' holds NaN or infinity"),
        ({"Y": np.zeros((144, 1), int)}, "is damaged: array 'Y' holds int64, not real numbers"),
        ({"X": np.zeros((0, 1))}, "is damaged: array 'X' has shape (0, 1), not (any, any)"),
        ({"Y": np.zeros((143, 1))}, "is damaged: array 'Y' has shape (143, 1), not (144, 1)"),
        ({"X": np.zeros((20_000, 1))}, "is damaged: ValueError: 20000 rows need a matrix of 3 GB"),
        ({"X": np.full((144, 1), 1e200)}, "is damaged: NotPositiveDefinite: the covariance of row 0 is not finite"),
    ],
)
def test_what_damaged_arrays_get(model, tmp_path, arrays, message):
    rewritten(model, tmp_path / "m", {}, arrays)
    assert message in told(tmp_path / "m")


def test_what_a_file_that_expands_gets(model, tmp_path):
    path = tmp_path / "m"
    zipped(path, json.dumps({"format": "fathom"}) + " " * 20_000_000, b"")
    assert told(path) == "is damaged: its model.json is said to expand to 20 MB"
    zipped(path, "{}", bytes(100), zipfile.ZIP_BZIP2)
    assert told(path) == "is damaged: its model.json is compressed in a way that Fathom does not use"
    fathom.save(model, path)
    found = bytearray(path.read_bytes())
    struct.pack_into("<L", found, found.rfind(b"PK\x01\x02") + 24, 2**32 - 1)  # what the directory says of the arrays
    path.write_bytes(found)
    assert told(path) == "is damaged: its arrays.safetensors is said to expand to 4295 MB"
    zipped(path, "{}", struct.pack("<Q", 10**9) + bytes(100))
    assert told(path) == "is damaged: its arrays.safetensors cannot be read (ValueError: a header of 1000000000 bytes)"


def test_what_damaged_bytes_get(model, tmp_path):
    path = tmp_path / "m"
    fathom.save(model, path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = {info.filename: info.header_offset + 30 + len(info.filename) for info in archive.infolist()}
    for name, start in starts.items():
        for at in range(start, start + 300, 30):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
            assert told(path).startswith(f"is damaged: its {name} cannot be unpacked (")


def test_what_no_file_gets(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert told(tmp_path / "pipe").endswith("/pipe: it is not a file")
    assert told(tmp_path).endswith(": it is not a file")


def test_large_members_are_not_compressed(model, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "JSON_SIZE", Size(10, 0))
    monkeypatch.setattr(archive, "ARRAYS_SIZE", Size(10, 1))
    fathom.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as written:
        assert {info.compress_type for info in written.infolist()} == {zipfile.ZIP_STORED}
    assert told(tmp_path / "m").startswith("is damaged: its model.json is said to expand to 0 MB")


def test_a_search_remembers_all_of_it(tmp_path):
    x = np.arange(12.0)[:, None]
    settings = {"base": ("SE", "Lin"), "backend": "serial", "n_jobs": 1}
    model = fathom.KernelSearch(1, trace_path=tmp_path / "t.json", time_limit=None, random_state=3, **settings)
    model.fit(x, np.sin(x[:, 0])).set_params(backend="dask", address="tcp://nowhere:1")  # where it might have run
    fathom.save(model, tmp_path / "m")
    again = fathom.load(tmp_path / "m")
    assert again.get_params() == model.get_params() | {"trace_path": str(tmp_path / "t.json")}
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    for name, changes, message in (
        ("members", {"members": [["SE", 1.0, 0]]}, "is damaged: ValueError: zip() argument 2 is shorter"),
        ("weight", {"members": [["SE", "a", 0, False]]}, "is damaged: 'weight' must be a number, not 'a'"),
        ("caution", {"caution": []}, "is damaged: 'caution' must be a number, not []"),
        (
            "trace",
            {"trace": "[]"},
            "is damaged: TraceError: the trace is not a trace of a search (a trace must be an object",
        ),
        ("noise", {"members": [["SE", 0.0, 0, False]]}, "is damaged: ValueError: weights must not all be zero"),
    ):
        rewritten(model, tmp_path / name, changes)
        assert message in told(tmp_path / name)


def test_parameters_may_come_from_numpy(tmp_path):
    model = fathom.GPRegressor(n_restarts=np.int64(1), max_iterations=np.int64(5)).fit(
        [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    )
    fathom.save(model, tmp_path / "m")
    assert fathom.load(tmp_path / "m").n_restarts == 1
    model.engine = {1, 2}
    with pytest.raises(ModelFileError, match=r"cannot write .*: \{1, 2\} is nothing that a file can hold"):
        fathom.save(model, tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("vfe", [3.10525, 3.84443], [0.86633, 0.90208]),
        ("dspp", [[2.61053, 0.5019], [2.61768, 0.50526]], [[1.34011, 0.67867], [1.34263, 0.6815]]),
    ],
)
@pytest.mark.slow
def test_files_of_format_1_are_read(name, mean, std, tmp_path):
    """Written by the last version of that format, to the rows below."""
    path = Path(__file__).parent / "format1" / f"{name}.fathom"
    predictive = fathom.load(path).predict_dist(np.random.default_rng(0).standard_normal((14, 2))[:2])
    np.testing.assert_allclose(predictive.mean(), mean, rtol=1e-4)
    np.testing.assert_allclose(predictive.std(), std, rtol=1e-4)
    with zipfile.ZipFile(path) as archive:
        description = json.loads(archive.read("model.json"))
        arrays = archive.read("arrays.safetensors")
    for changes, message in (
        ({"fit": None}, "is damaged: 'fit' must be an object, not None"),
        (
            {"params": description["params"] | {"inference": "best"}},
            "is damaged: its inference must be one of fitc, vfe, ",
        ),
    ):
        zipped(tmp_path / "m", json.dumps(description | changes), arrays)
        assert message in told(tmp_path / "m")


def test_what_a_file_that_is_none_gets(model, tmp_path):
    path = tmp_path / "m.fathom"
    fathom.save(model, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="is not a Fathom model, or it was cut short"):
        fathom.load(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(ModelFileError, match="is not a Fathom model, or it was cut short"):
        fathom.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(ModelFileError, match="is a zip, but not a Fathom model: it has no model.json"):
        fathom.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        archive.writestr("arrays.safetensors", b"rubbish")
    with pytest.raises(ModelFileError, match="is damaged"):
        fathom.load(path)
    with pytest.raises(ModelFileError, match="there is no model file"):
        fathom.load(tmp_path / "absent")


def test_a_full_disk_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "m.fathom"
    path.write_text("precious")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(ModelFileError, match="cannot write .*m.fathom: No space left on device; nothing was changed"):
        fathom.save(model, path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(
        ModelFileError, match="dict cannot be saved: only GPRegressor, KernelSearch, SparseGPRegressor, "
    ):
        fathom.save({}, tmp_path / "m")
    model = fathom.GPRegressor(n_restarts=1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    with pytest.raises(ModelFileError, match="cannot write .*: No such file or directory"):
        fathom.save(model, tmp_path / "no" / "m")
