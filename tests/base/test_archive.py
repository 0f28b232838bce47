"""A zip of JSON and arrays: the round trip, and what other files are called."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from fathom.base import archive

ARRAYS = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.ones((), np.float32)}


@pytest.mark.parametrize("compressed", [True, False])
def test_round_trip(tmp_path, compressed):
    path = tmp_path / "f"
    facts = {"n": np.int64(3), "list": np.arange(2), "path": Path("x"), "none": None}
    archive.write(path, facts, ARRAYS, "facts.json", ValueError, compressed)
    found, arrays = archive.read(path, "facts.json")
    assert found == {"n": 3, "list": [0, 1], "path": "x", "none": None}
    np.testing.assert_array_equal(arrays["a"], ARRAYS["a"])
    assert (arrays["b"].shape, arrays["b"].dtype) == ((), np.float32)
    kinds = {info.compress_type for info in zipfile.ZipFile(path).infolist()}
    assert kinds == {zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED}


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "f"
    path.write_text("precious")
    with pytest.raises(KeyError, match="cannot write .*: <object object at .* is nothing that a file can hold"):
        archive.write(path, {"x": object()}, {}, "facts.json", KeyError)
    assert path.read_text() == "precious"


def test_what_other_files_are_called(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"nonsense")
    with pytest.raises(archive.NoZip, match="it is not a complete zip"):
        archive.read(path, "facts.json")
    for member, content, message in (
        ("other.txt", "", "it has no facts.json"),
        ("facts.json", "{", r"its facts.json cannot be read \(JSONDecodeError: "),
        ("facts.json", "[]", "its facts.json holds no object"),
        ("facts.json", "[" * 100_000, r"its facts.json cannot be read \(RecursionError: "),
    ):
        with zipfile.ZipFile(path, "w") as written:
            written.writestr(member, content)
            written.writestr("arrays.safetensors", b"\x02" + bytes(7) + b"{}")
        with pytest.raises(archive.ArchiveError, match=message):
            archive.read(path, "facts.json")
    with pytest.raises(OSError, match="it is not a file"):
        archive.read(tmp_path, "facts.json")
