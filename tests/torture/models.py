"""Model files: one small model of every row of the table of models, saved and then damaged in some way.

A damaged file is refused in one line that names it, or it is read and answers with finite numbers. Bytes that were
changed on the way (and not in the contents, by somebody who knows the format) never change an answer.
"""

from __future__ import annotations

import functools
import io
import json
import math
import struct
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

import fathom
from fathom.data.columns import Columns
from fathom.data.timeaxis import TimeRule
from fathom.estimators.modelfile import ModelFileError
from fathom.inference import DGPS, DSPP, SEP, Sequential, Training
from fathom.models import MODELS
from tests.torture.tally import Tally

FULL = 2_000
SECONDS, MEGABYTES = 5.0, 500  # of a processor, and of memory beyond what was used before
NAMES = (*sorted(MODELS, key=lambda name: name != "search"), "two classes", "three classes")
Damage = Callable[[np.random.Generator, bytes], bytes]


def run(cases: range, seed: int) -> Tally:
    """Try these cases; those of one model stand together, since it must be fitted."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            name = NAMES[case * len(NAMES) // FULL % len(NAMES)]
            rng = np.random.default_rng([seed, case])
            damage = DAMAGES[rng.integers(len(DAMAGES))]
            path = Path(folder) / "damaged.fathom"
            path.write_bytes(damage(rng, saved(name)[0]))
            story = f"case {case} of seed {seed}, {name}, {damage.__name__.strip('_')}"
            tally.outcomes[tried(path, None if damage in KNOWING else saved(name)[1], tally, story)] += 1
    return tally


def tried(path: Path, truth: np.ndarray | None, tally: Tally, story: str) -> str:
    """Read the file and, if that works, ask the model; the answers are `truth` if it is given."""
    began, before = time.process_time(), _megabytes("VmRSS")
    try:
        found = answers(fathom.load(path))
        outcome = "understood"
        if not np.isfinite(found).all():
            tally.fault("NaN", story)
        elif truth is not None and not np.array_equal(found, truth):
            tally.fault("misread", story)
    except ModelFileError as problem:
        outcome, said = "refused", str(problem)
        if "\n" in said or len(said) > 600 or str(path) not in said:
            tally.fault("traceback", f"{story}: {said[:300]!r}")
    except Exception:
        outcome = "broken"
        tally.fault("traceback", f"{story}: {traceback.format_exc(limit=-1)}")
    if (took := time.process_time() - began) > SECONDS:
        tally.fault("hang", f"{story}: {took:.1f} s")
    if (grown := _megabytes("VmHWM") - before) > MEGABYTES:
        tally.fault("hang", f"{story}: {grown:.0f} MB")
    return outcome


def answers(model: Any) -> np.ndarray:
    """What the model says at the rows it was fitted to."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # names of columns are not given
        rows = (
            np.resize(X, (len(X), model.n_features_in_)) if model.n_features_in_ > 2 else X[:, : model.n_features_in_]
        )
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(rows))
        predictive = model.predict_dist(rows)
        return np.stack([predictive.mean(), predictive.std()])


def _megabytes(which: str) -> float:
    """Memory of this process, now (after which a new peak begins) or at its peak; 0 where Linux does not tell."""
    status, peak = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        return 0.0
    if which == "VmRSS":
        peak.write_text("5")
    line = next(line for line in status.read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) / 1024


# -- the models --------------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((14, 2))
Y = np.column_stack([3 + 2 * np.sin(X[:, 0]), X[:, 1] ** 2])
BRIEF = {"training": Training(n_steps=2), "random_state": 0}
ODD_INFERENCE = {"dspp": DSPP("qr1", 2), "sep": SEP(power=0.5), "sampling": DGPS(n_restarts=2)}


@functools.cache
def saved(name: str) -> tuple[bytes, np.ndarray]:
    """The file of a small model, and its answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.fathom"
        fathom.save(_fitted(name), path)
        return path.read_bytes(), answers(fathom.load(path))


def _fitted(name: str) -> Any:
    if name == "search":
        model = fathom.KernelSearch(1, base=("SE", "Lin"), n_jobs=1, random_state=0).fit(X[:, :1], Y[:, 0])
        model.columns_ = Columns(("year",), ("tons",), {"tons": "t"}, 0, TimeRule("decimal year", "numbers", 1 / 12))
        return model
    if name == "gp":
        import pandas as pd

        return fathom.GPRegressor("SE[a] + Lin[b]", n_restarts=1, max_iterations=5).fit(
            pd.DataFrame(X, columns=["a", "b"]), Y
        )
    if name == "two classes":
        return fathom.DeepGPClassifier((), "dsvi", 4, **BRIEF).fit(X, X[:, 0] > 0)
    if name == "three classes":
        labels = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
        return fathom.DeepGPClassifier((1,), "dspp", 4, **BRIEF).fit(X, labels)
    if name == "online":
        return fathom.OnlineGPRegressor(budget=5, episodes=1, random_state=0).fit(X, Y[:, 0])
    if name == "sequential":
        return fathom.DeepGPRegressor((2,), Sequential(n_particles=5), 4, random_state=0).fit(X, Y)
    if MODELS[name].estimator == "SparseGPRegressor":
        return fathom.SparseGPRegressor(name, 4, **BRIEF).fit(X, Y[:, 0])
    return fathom.DeepGPRegressor((2,), ODD_INFERENCE.get(name, name), 4, **BRIEF).fit(X, Y)


# -- damage on the way -------------------------------------------------------------------------------------------------


def _some_bytes(rng: np.random.Generator, whole: bytes) -> bytes:
    found = bytearray(whole)
    for i in rng.integers(0, len(found), int(rng.integers(1, 20))):
        found[i] = rng.integers(256)
    return bytes(found)


def _headers(rng: np.random.Generator, whole: bytes) -> bytes:
    """Bytes of the headers of the zip only."""
    found, starts = bytearray(whole), []
    for mark, length in ((b"PK\x03\x04", 30), (b"PK\x01\x02", 46), (b"PK\x05\x06", 22)):
        at = whole.find(mark)
        while at >= 0:
            starts.append((at + 4, length - 4))
            at = whole.find(mark, at + 1)
    start, length = starts[rng.integers(len(starts))]
    for i in rng.integers(start, start + length, int(rng.integers(1, 4))):
        found[i] = rng.choice([0, 1, 127, 255, int(rng.integers(256))])
    return bytes(found)


def _cut_short(rng: np.random.Generator, whole: bytes) -> bytes:
    return whole[: rng.integers(len(whole))]


def _block(rng: np.random.Generator, whole: bytes) -> bytes:
    """A block of zeros, of another place of the file, or missing."""
    i, j = sorted(rng.integers(0, len(whole), 2))
    k = int(rng.integers(len(whole)))
    part = (bytes(j - i), whole[k : k + j - i], b"")[rng.integers(3)]
    return whole[:i] + part + whole[j:]


def _surrounded(rng: np.random.Generator, whole: bytes) -> bytes:
    """Something before and after the file."""
    junk = rng.bytes(int(rng.integers(1, 70_000)))
    return (junk + whole, whole + junk, junk, b"", whole + whole, whole[::-1])[rng.integers(6)]


# -- damage by those who know the format -------------------------------------------------------------------------------


def _taken_apart(whole: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return json.loads(archive.read("model.json")), unpacked(archive.read("arrays.safetensors"))


def _together(*members: tuple[str, str | bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", how) as archive:
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def _both(description: object, arrays: dict[str, np.ndarray]) -> bytes:
    return _together(("model.json", json.dumps(description)), ("arrays.safetensors", packed(arrays)))


def _members(rng: np.random.Generator, whole: bytes) -> bytes:
    """Members that are missing, changed about, empty, doubled, another model's, or compressed in another way."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        (_, text), (_, arrays) = own = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(io.BytesIO(saved(NAMES[rng.integers(2)])[0])) as archive:
        foreign = archive.read("arrays.safetensors")
    names = ("model.json", "arrays.safetensors")
    choices: list[Callable[[], bytes]] = [
        lambda: _together(own[rng.integers(2)]),
        lambda: _together((names[0], arrays), (names[1], text)),
        lambda: _together((names[0], text), (names[1], foreign)),
        lambda: _together((names[0], b""), own[1]),
        lambda: _together(own[0], (names[1], b"")),
        lambda: _together(*own, (names[rng.integers(2)], b"{}")),
        lambda: _together(*own, ("../../evil", b"#!/bin/sh")),
        lambda: _together(*own, how=[zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_STORED][rng.integers(3)]),
        lambda: _together(own[0], (names[1], _some_bytes(rng, arrays))),
        lambda: _together(own[0], (names[1], _cut_short(rng, arrays))),
        lambda: _together((names[0], _some_bytes(rng, text)), own[1]),
        lambda: _together((names[0], _cut_short(rng, text)), own[1]),
        lambda: _together((names[0], b"\xef\xbb\xbf" + text), own[1]),
        lambda: _together((names[0], b"[" * int(10 ** rng.uniform(1, 6))), own[1]),
        lambda: _together((names[0], b'{"format":' * int(10 ** rng.uniform(1, 5))), own[1]),
    ]
    return choices[rng.integers(len(choices))]()


KERNELS = [
    "SE", "WN", "C(variance=0)", "SE[7]", "SE(lengthscale=1e-320)", "SE(variance=1e308)*SE(variance=1e308)", "Lin*Per",
    "(" * 300 + "SE" + ")" * 300, "*".join(["(SE+SE)"] * 30), "SE(lengthscale=[1, 2, 3])", "RQ(alpha=1e-300) + WN",
    "Per(period=1e-300)", "Lin(location=1e200)", "SE + WN(variance=1e-300)", "SE +", "", "CP(SE, Lin, steepness=1e300)",
    'SE["a"]', "SM(weight=[1, 2])", "SE+" * 3000 + "WN", "SE(lengthscale=1e300)*WN(variance=0)",
    "Matern52(lengthscale=1e-200)",
]  # fmt: skip


def _odd(rng: np.random.Generator) -> Any:
    """A value that stands in the wrong place."""
    values = [
        None, True, False, [], {}, "", "x", "\x00", 0, -1, 1, 2, 7, 0.5, 1e308, -1e308, 1e-320, 10**9, 10**30, 2**63,
        10**400, math.nan, math.inf, -math.inf, "9" * 5000, "é\u2028\ud800", [None], [[]], [[[1]]], {"a": {}},
        [math.nan], [0.0], [1e308], [1] * 1000, [10**9],
        [10**6] * 50, [1] * 10_000, "a" * 100_000, ["x", "y"], [0, 0], [-1], [True],
    ]  # fmt: skip
    return KERNELS[rng.integers(len(KERNELS))] if rng.random() < 0.15 else values[rng.integers(len(values))]


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all values inside of one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, v in inside for place in ((*way, key), *_places(v, (*way, key)))]


def _json(rng: np.random.Generator, whole: bytes) -> bytes:
    """A few values of the description changed, missing or exchanged."""
    description, arrays = _taken_apart(whole)
    if "trace" in description and rng.random() < 0.5:  # a text that holds JSON
        trace = json.loads(description["trace"])
        _edited(rng, trace)
        return _both(description | {"trace": json.dumps(trace)}, arrays)
    for _ in range(rng.integers(1, 4)):
        _edited(rng, description)
    return _both(description, arrays)


def _edited(rng: np.random.Generator, description: Any) -> None:
    places = _places(description)
    if not places:
        return
    *way, last = places[rng.integers(len(places))]
    inner = functools.reduce(lambda value, key: value[key], way, description)
    kind = rng.integers(4)
    if kind == 0 and isinstance(inner, dict):
        del inner[last]
    elif kind == 1:
        *way, other = places[rng.integers(len(places))]
        inner[last] = json.loads(
            json.dumps(functools.reduce(lambda value, key: value[key], [*way, other], description))
        )
    else:
        inner[last] = _odd(rng)


def _texts(rng: np.random.Generator, whole: bytes) -> bytes:
    """Another kernel in the place of one that the file names."""
    description, arrays = _taken_apart(whole)
    text = json.dumps(description)
    for key in ("kernel", "members"):
        places = [place for place in _places(description) if key in place]
        if places:
            *way, last = places[rng.integers(len(places))]
            functools.reduce(lambda value, k: value[k], way, description)[last] = KERNELS[rng.integers(len(KERNELS))]
    return _both(description, arrays) if json.dumps(description) != text else _json(rng, whole)


CHANGES: list[Callable[[np.random.Generator, np.ndarray], np.ndarray]] = [
    lambda rng, a: np.full_like(a, rng.choice([np.nan, np.inf, -np.inf, 0.0, 1e30, -1e30, 1.0])),
    lambda rng, a: np.where(rng.random(a.shape) < 0.2, a.dtype.type(rng.choice([np.nan, np.inf, 0.0, 1e30, -1e30])), a),
    lambda rng, a: (a * 10.0 ** rng.integers(-30, 30)).astype(a.dtype),
    lambda rng, a: -a,
    lambda rng, a: rng.standard_normal(a.shape).astype(a.dtype),
    lambda rng, a: a.T.copy(),
    lambda rng, a: a[:0],
    lambda rng, a: a[: max(1, len(a) // 2)],
    lambda rng, a: a.ravel(),
    lambda rng, a: a[None],
    lambda rng, a: a[..., None],
    lambda rng, a: np.concatenate([a, a]),
    lambda rng, a: np.repeat(a, 2, -1),
    lambda rng, a: np.resize(a, (int(10 ** rng.uniform(4.3, 6)), *a.shape[1:])),
    lambda rng, a: a.astype(str(rng.choice(["int64", "float16", "bool", "uint8", "float32", "float64"]))),
    lambda rng, a: np.zeros(()),
    lambda rng, a: np.zeros((0, 0)),
]


def _arrays(rng: np.random.Generator, whole: bytes) -> bytes:
    """Some arrays rewritten: not finite, of another size or type, missing, renamed, exchanged."""
    description, arrays = _taken_apart(whole)
    for _ in range(rng.integers(1, 3)):
        name, other = (sorted(arrays)[i] for i in rng.integers(0, len(arrays), 2))
        kind = rng.integers(12)
        if kind == 0 and len(arrays) > 1:
            del arrays[name]
        elif kind == 1:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif kind == 2:
            arrays[f"{name}x"] = arrays.pop(name)
        else:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arrays[name] = CHANGES[rng.integers(len(CHANGES))](rng, arrays[name])
    return _both(description, {name: np.ascontiguousarray(a) for name, a in arrays.items()})


def _huge(rng: np.random.Generator, whole: bytes) -> bytes:
    """Sizes that are far from what is there."""
    description, arrays = _taken_apart(whole)
    text, name = json.dumps(description), str(sorted(arrays)[rng.integers(len(arrays))])
    kind, content = rng.integers(7), packed(arrays)
    if kind == 0:  # what the directory of the zip says of the members
        found, at = bytearray(whole), whole.rfind(b"PK\x01\x02")
        struct.pack_into("<L", found, at + int(rng.choice([20, 24])), int(rng.choice([2**32 - 1, 2**32 - 2, 10**9, 0])))
        return bytes(found)
    if kind == 1:  # what the arrays say of themselves
        shape = [int(10 ** rng.uniform(3, 15)) for _ in range(rng.integers(1, 4))]
        head = json.dumps({name: {"dtype": "F64", "shape": shape, "data_offsets": [0, 8 * math.prod(shape)]}}).encode()
        content = struct.pack("<Q", int(rng.choice([len(head), 2**62]))) + head + bytes(100)
    elif kind == 2:  # zeros, a thousand times smaller in the zip
        content = packed(arrays | {name: np.zeros((int(10 ** rng.uniform(6, 7.3)), 1))})
    elif kind == 3:
        text = text + " " * int(10 ** rng.uniform(6, 7.6))
    elif kind == 6:
        content = packed({str(i): np.zeros(0) for i in range(int(10 ** rng.uniform(3, 5.5)))})
    elif kind == 4:
        key = str(rng.choice(["widths", "n_inducing", "n_quadrature", "n_mean", "kernel"]))
        place = (
            description["params"]
            if rng.random() < 0.5
            else description.get("inference", description).get("options", {})
        )
        place[key] = [[10**9], [10**6, 10**6], [1] * 10**5, 10**12, 10**5, ["SE"] * 10**5][rng.integers(6)]
        text = json.dumps(description)
    else:
        n = int(10 ** rng.uniform(4, 5.5))
        scaler = {key: values * n for key, values in description["scaler"].items()}
        text = json.dumps(description | {"scaler": scaler} | ({"n_inputs": n} if rng.random() < 0.5 else {}))
    return _together(("model.json", text), ("arrays.safetensors", content))


def _old(rng: np.random.Generator, whole: bytes) -> bytes:
    """A file that says that it is of an older format, or of none."""
    description, arrays = _taken_apart(whole)
    fit = description.get("learnt", {}) | {"last": description.get("last", []), "notes": []}
    said = {"version": int(rng.choice([1, 1, 1, 0, 3, -1])), "fit": fit, "fitted": fit.get("kernel")}
    flat = description["params"] | {"inference": description.get("inference", {}).get("name", "svgp"), "n_steps": 2}
    old = description | said | {"params": flat}
    if rng.random() < 0.5:
        _edited(rng, old)
    return _both(old, arrays)


KNOWING: tuple[Damage, ...] = (_members, _json, _json, _json, _texts, _arrays, _arrays, _huge, _old)
DAMAGES: tuple[Damage, ...] = (_some_bytes, _headers, _cut_short, _block, _surrounded, *KNOWING)
