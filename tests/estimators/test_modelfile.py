"""Model files: the round trip, and what truncated, foreign and unwritable files get."""

import json
import zipfile

import numpy as np
import pytest

import fathom
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


def rewritten(fitted, path, changes):
    fathom.save(fitted, path)
    with zipfile.ZipFile(path) as archive:
        description, arrays = json.loads(archive.read("model.json")), archive.read("arrays.safetensors")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(description | changes))
        archive.writestr("arrays.safetensors", arrays)


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
