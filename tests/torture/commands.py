"""Command lines with odd options, wrong names and odd paths: status 0 or one clear line, and every input as it was."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import fathom
from fathom.cli.app import app
from fathom.search.trace import Trace
from tests.torture.tally import Tally

FULL = 400
PATIENCE = 90  # seconds for a command of any case

QUICK = {
    "fit": ["--restarts", "1"],
    "search": ["--depth", "1", "--jobs", "1"],
    "report": ["--depth", "1", "--jobs", "1"],
    "compare": ["--models", "gp,mean", "--folds", "2"],
}
NUMBERS = [
    "0",
    "-1",
    "nan",
    "-inf",
    "inf",
    "1e999",
    "9" * 23,
    "9" * 5000,
    "-" + "9" * 23,
    "1e-320",
    "٣",
    "1_0",
    "0x10",
]
WORDS = [
    "",
    " ",
    "-",
    "--",
    "abc",
    "½",
    "true",
    "[[[[",
    "{}",
    "a\nb",
    "null",
    "é",
    "\udcff",
    "a" * 3000,
    "%s",
    "$(x)",
    "=1",
]
COUNTS = {
    "fit": ["--restarts", "--inducing", "--steps", "--seed", "--widths", "--option", "--model", "--kernel"],
    "search": [
        "--depth",
        "--beam",
        "--time-limit",
        "--jobs",
        "--seed",
        "--address",
        "--backend",
        "--variant",
        "--criterion",
    ],
    "report": [
        "--depth",
        "--beam",
        "--time-limit",
        "--jobs",
        "--seed",
        "--horizon",
        "--format",
        "--variant",
        "--model",
    ],
    "compare": ["--folds", "--models", "--seed"],
    "predict": ["--horizon", "--quantiles"],
}
HOSTILE = ["=1+1", "@SUM(A1)", "+x", "-y", "<script>", "[a](b)", "a|b", "`x`", "*", "# h", "$\\alpha$", "{{x}}", "день"]


@dataclass
class Case:
    """A command line, in a folder of its own."""

    words: list[str]
    writes: dict[str, str] = field(default_factory=dict)  # files that may change, and what they are to be then
    must: int | None = None  # the status, where the oracle knows it
    environment: dict[str, str] = field(default_factory=dict)
    apart: bool = False  # in a process of its own


def run(cases: range, seed: int) -> Tally:
    """Try the cases."""
    tally = Tally()
    for i in cases:
        rng = np.random.default_rng([seed, 2, i])
        with tempfile.TemporaryDirectory(prefix="torture-") as name, _inside(Path(name)):
            _prepare(Path(name))
            make = KINDS[int(rng.integers(len(KINDS)))]
            _try(tally, make(rng), f"case {i} of {make.__name__}")
    return tally


# -- what a command finds in its folder ------------------------------------------------------------------------------


def _table(names: list[str], rows: list[list[float]]) -> str:
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in names)]
    return "\n".join([*lines, *(",".join(f"{value:.6g}" for value in row) for row in rows)]) + "\n"


@cache
def _contents() -> dict[str, bytes]:
    """The files, made once in each process: a series, a table, and a model of each kind."""
    rng = np.random.default_rng(0)
    t = np.arange(20.0)
    rows = [[x, math.sin(x) + 0.1 * e] for x, e in zip(t, rng.standard_normal(20), strict=True)]
    plane = [[a, b, a - b * b] for a, b in rng.uniform(-1, 1, (18, 2))]
    texts = {
        "d.csv": _table(["time", "y"], rows),
        "t.csv": _table(["a", "b", "y"], plane),
        "dates.csv": "month,sales\n"
        + "".join(f"{2000 + i // 12}-{i % 12 + 1:02d},{v:.4f}\n" for i, (_, v) in enumerate(rows)),
        "catalog.toml": '[[dataset]]\nname = "mine"\nfile = "d.csv"\ntargets = ["y"]\nn_rows = 20\nn_inputs = 1\n',
        "notes.txt": "not a table\n",
    }
    with tempfile.TemporaryDirectory(prefix="torture-") as name, _inside(Path(name)):
        for file, text in texts.items():
            Path(file).write_text(text, encoding="utf-8")
        for words in (
            "fit d.csv --restarts 1 --out m.fathom",
            "fit t.csv --restarts 1 --out tm.fathom",
            "fit dates.csv --restarts 1 --out dm.fathom",
            "fit d.csv --model svgp --inducing 4 --steps 10 --out v.fathom",
            "search d.csv --depth 1 --jobs 1 --out s.fathom",
        ):
            made = CliRunner().invoke(app, words.split())
            assert made.exit_code == 0, made.output
        return {path.name: path.read_bytes() for path in Path().iterdir()}


def _prepare(folder: Path) -> None:
    for name, content in _contents().items():
        (folder / name).write_bytes(content)
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to("d.csv")
    (folder / "sub" / "up.csv").symlink_to("../t.csv")
    os.link(folder / "d.csv", folder / "hard.csv")
    (folder / "here").symlink_to(".")
    (folder / "old.txt").write_text("old")
    (folder / "old.txt").chmod(0o640)
    (folder / "dangling").symlink_to("target.txt")
    (folder / "loop").symlink_to("loop")


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# -- cases -----------------------------------------------------------------------------------------------------------


def _pick(rng: np.random.Generator, choices: list[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def onto_an_input(rng: np.random.Generator) -> Case:
    """An output that is an input, under another name."""
    same = {
        "d.csv": ["d.csv", "./d.csv", "sub/../d.csv", "link.csv", "hard.csv", "here/d.csv", os.path.abspath("d.csv")]
    }
    same["mine"] = [*same["d.csv"], "catalog.toml"]
    same["link.csv"] = same["hard.csv"] = same["d.csv"]
    data = _pick(rng, list(same))
    onto = _pick(rng, same[data])
    os.link("d.csv", "x.trace.json"), os.link("d.csv", "x.checkpoint")
    lines = [
        ["fit", data, *QUICK["fit"], "--out", onto],
        ["fit", data, "--model", "svgp", "--steps", "10", "--out", "x"],
        ["search", data, *QUICK["search"], "--out", onto],
        ["search", data, *QUICK["search"], "--trace", onto],
        ["search", data, *QUICK["search"], "--out", "x"],
        ["search", "t.csv", *QUICK["search"], "--out", "both", "--trace", "here/both"],
        ["report", data, *QUICK["report"], "--out", onto],
        ["report", data, *QUICK["report"], "--save", onto],
        ["report", data, *QUICK["report"], "--out", "x"],
        ["report", "t.csv", *QUICK["report"], "--out", "both", "--save", "./both"],
        ["report", "d.csv", "--model", "m.fathom", "--out", "here/m.fathom"],
        ["report", "d.csv", "--model", "m.fathom", "--save", "m.fathom"],
        ["predict", "m.fathom", data, "--out", onto],
        ["predict", "m.fathom", "--horizon", "2", "--out", "sub/../m.fathom"],
        ["predict", "tm.fathom", "sub/up.csv", "--out", "t.csv"],
    ]
    return Case(lines[int(rng.integers(len(lines)))], must=2, environment={"FATHOM_DATA": os.getcwd()})


def odd_option(rng: np.random.Generator) -> Case:
    """A value that nobody expects."""
    command = _pick(rng, list(COUNTS))
    option = _pick(rng, COUNTS[command])
    value = _pick(rng, NUMBERS + WORDS if rng.random() < 0.5 else NUMBERS)
    data = _pick(rng, ["d.csv", "t.csv", "dates.csv"])
    words = [command, "m.fathom" if command == "predict" else data, *QUICK.get(command, [])]
    if option in ("--inducing", "--steps", "--widths", "--option"):
        words = ["fit", data, "--model", "dspp" if option == "--widths" else _pick(rng, ["vfe", "pep"])]
        words += [] if option != "--widths" else ["--inducing", "4", "--steps", "10"]
    if option == "--option":
        value = _pick(rng, ["power=", "=", "power"]) + value
    if option in words:
        at = words.index(option)
        words[at : at + 2] = []
    if option == "--address" and rng.random() < 0.5:
        words += ["--backend", "dask"]
    if option == "--quantiles":
        words += ["--horizon", "2"]
    outs = {"fit": "model.fathom", "search": "model.fathom", "report": "report.html"}
    made = {outs[command]: "any", f"{outs[command]}.trace.json": "trace"} if command in outs else {}
    return Case([*words, f"{option}={value}", *_maybe_json(rng)], {**made, "report.md": "any", "report.json": "any"})


def _maybe_json(rng: np.random.Generator) -> list[str]:
    return ["--json"] if rng.random() < 0.3 else []


def wrong_name(rng: np.random.Generator) -> Case:
    """A name of nothing, or of something else."""
    odd = ["nosuch.csv", "nosuch", "sub", ".", "/", "/dev/null", "notes.txt", "m.fathom", "loop", "dangling", "d.csv/x"]
    odd += ["a" * 300, "a/" * 3000, "\n", "день.csv", "\udcff.csv", "*.csv", "~/d.csv", "http://x/d.csv", "-", ""]
    name, column = _pick(rng, odd), _pick(rng, [*WORDS, "Y", "time ", "y y", "0"])
    lines = [
        ["fit", name, *QUICK["fit"]],
        ["search", name, *QUICK["search"]],
        ["report", name, *QUICK["report"]],
        ["compare", name, *QUICK["compare"]],
        ["predict", name, "--horizon", "2"],
        ["predict", "m.fathom", name],
        ["predict", "tm.fathom", "d.csv"],
        ["report", "t.csv", "--model", name],
        ["report", "t.csv", "--model", "m.fathom"],
        ["fit", "t.csv", *QUICK["fit"], f"--target={column}"],
        ["fit", "t.csv", *QUICK["fit"], f"--time={column}"],
        ["report", "t.csv", *QUICK["report"], f"--drop={column}"],
        ["bench", name],
        ["fit", "d.csv", *QUICK["fit"], f"--{column or 'x'}"],
        [column or "x", "d.csv"],
    ]
    words = lines[int(rng.integers(len(lines)))]
    words = [words[0], "--", *words[1:]] if words[1:] == [name] else words
    return Case(words, {"model.fathom": "any", "report.html": "any", "report.html.trace.json": "trace"})


def odd_place(rng: np.random.Generator) -> Case:
    """An output at a place that is no plain new file."""
    fine = [
        "old.txt",
        "dangling",
        "sub/new",
        "/dev/null",
        "a" * 200,
        "a" * 255,
        "день",
        "a b",
        "a\nb",
        "\udcff",
        "-x",
        "[x]",
    ]
    bad = ["sub", ".", "/", "/dev/full", "loop", "no/x", "d.csv/x", "a" * 256, "sub/", "", "old.txt/.."]
    place = _pick(rng, fine + bad)
    lines: list[tuple[list[str], str, str]] = [
        (["predict", "m.fathom", "--horizon", "3"], "--out", "csv"),
        (["predict", "tm.fathom", "t.csv"], "--out", "csv"),
        (["predict", "v.fathom", "d.csv"], "--out", "csv"),
        (["fit", "d.csv", *QUICK["fit"]], "--out", "model"),
        (["search", "d.csv", *QUICK["search"]], "--out", "model"),
        (["search", "d.csv", *QUICK["search"]], "--trace", "trace"),
        (["report", "d.csv", "--model", "m.fathom"], "--out", "html"),
        (["report", "d.csv", "--model", "s.fathom", "--format", "markdown"], "--out", "any"),
        (["report", "d.csv", "--model", "s.fathom", "--format", "json"], "--out", "json"),
        (["report", "d.csv", "--model", "m.fathom"], "--save", "model"),
    ]
    words, option, kind = lines[int(rng.integers(len(lines)))]
    known = place in fine and len(place) < 200  # with an ending behind it a long name may be too long
    kept = {
        place: kind,
        "target.txt": kind,
        f"{place}.trace.json": "trace",
        "model.fathom": "model",
        "report.html": "html",
    }
    must = (
        2 if place in bad else 0 if known and (option != "--trace" or place not in ("old.txt", "/dev/null")) else None
    )
    return Case([*words, f"{option}={place}", *_maybe_json(rng)], kept | {"model.fathom.trace.json": "trace"}, must)


def good(rng: np.random.Generator) -> Case:
    """Commands with nothing wrong: they succeed, and what they write can be read."""
    horizon = str(int(rng.integers(1, 40)))
    lines: list[tuple[list[str], dict[str, str]]] = [
        (["fit", "t.csv", *QUICK["fit"], "--kernel", "SE[a] + Lin[b]", "--out", "o"], {"o": "model"}),
        (["fit", "dates.csv", *QUICK["fit"], "--seed", str(int(rng.integers(100))), "--out", "o"], {"o": "model"}),
        (["predict", "dm.fathom", "--horizon", horizon, "--out", "o"], {"o": "csv"}),
        (["predict", "s.fathom", "--horizon", horizon, "--quantiles", "0.001,0.5", "--out", "o"], {"o": "csv"}),
        (["predict", "v.fathom", "d.csv", "--function", "--out", "o"], {"o": "csv"}),
        (["predict", "tm.fathom", "t.csv"], {}),
        (["search", "d.csv", "--depth", "1", "--jobs", "1", "--time-limit", "0.01", "--out", "o"], {"o": "model"}),
        (["report", "dates.csv", "--model", "dm.fathom", "--horizon", horizon, "--out", "o"], {"o": "html"}),
        (["compare", "t.csv", *QUICK["compare"]], {}),
        (["datasets"], {}),
    ]
    words, made = lines[int(rng.integers(len(lines)))]
    return Case([*words, *_maybe_json(rng)], made | {"o.trace.json": "trace"}, must=0)


def hostile_columns(rng: np.random.Generator) -> Case:
    """Names of columns that mean something to a spreadsheet, to Markdown or to a template."""
    names = [_pick(rng, HOSTILE), "z" + _pick(rng, HOSTILE), "target " + _pick(rng, HOSTILE)]
    rows = [[a, b, a - b * b] for a, b in rng.uniform(-1, 1, (18, 2))]
    Path("odd.csv").write_text(_table(names, rows), encoding="utf-8")
    if CliRunner().invoke(app, ["fit", "odd.csv", *QUICK["fit"], "--out", "o.fathom"]).exit_code:
        return Case(["fit", "odd.csv", *QUICK["fit"], "--out", "o.fathom"], {"o.fathom": "model"})
    form = _pick(rng, ["html", "markdown", "json"])
    report = ["report", "odd.csv", "--model", "o.fathom", "--format", form, "--out", "o"]
    kinds = {"html": "html", "markdown": "markdown", "json": "json"}
    lines = [(["predict", "o.fathom", "odd.csv", "--out", "o"], "csv"), (report, kinds[form])]
    words, kind = lines[int(rng.integers(2))]
    return Case(words, {"o": kind}, must=0)


def odd_surroundings(rng: np.random.Generator) -> Case:
    """Terminals that know no Unicode, platforms that JAX does not know, standard output as the file to write."""
    Path("день.csv").write_text(_contents()["d.csv"].decode().replace('"time","y"', "день,çà"), encoding="utf-8")
    plain = {"PYTHONIOENCODING": "ascii"}
    ascii_only = plain | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    fitting = ["fit", "день.csv", *QUICK["fit"], "--out", "о.fathom"]
    report = ["report", "dates.csv", "--model", "dm.fathom", "--out"]
    lines: list[tuple[list[str], dict[str, str], dict[str, str], int]] = [
        (fitting, {"о.fathom": "model"}, ascii_only, 0),
        ([*fitting, "--json"], {"о.fathom": "model"}, ascii_only, 0),
        (["fit", "день.csv", "--target", "çà", *QUICK["fit"]], {"model.fathom": "any"}, plain, 0),
        (["fit", "день.csv", "--target", "ночь"], {}, plain, 2),
        ([*report, "отчёт.html"], {"отчёт.html": "html"}, ascii_only, 0),
        (["datasets"], {}, ascii_only, 0),
        (["predict", "v.fathom", "d.csv"], {}, {"JAX_PLATFORMS": "abacus"}, 2),
        (["predict", "m.fathom", "--horizon", "3", "--out", "/dev/stdout"], {"<stdout>": "csv"}, {}, 0),
        ([*report, "/dev/fd/1"], {"<stdout>": "html"}, {}, 0),
        (["predict", "m.fathom", "--horizon", "3", "--out", "pipe"], {"<pipe>": "csv"}, {}, 0),
        (["predict", "m.fathom", "--horizon", "3", "--out", "/proc/self/fd/1"], {"<stdout>": "csv"}, {}, 0),
    ]
    words, made, environment, must = lines[int(rng.integers(len(lines)))]
    return Case(words, made, must, environment, apart=True)


KINDS: list[Callable[[np.random.Generator], Case]] = [
    *(onto_an_input,) * 4,
    *(odd_option,) * 6,
    *(wrong_name,) * 4,
    *(odd_place,) * 4,
    *(good,) * 2,
    *(hostile_columns,) * 2,
    odd_surroundings,
]


# -- the oracle ------------------------------------------------------------------------------------------------------


class Hang(BaseException):
    """A command took longer than it may."""


def _snapshot() -> dict[str, tuple[object, ...]]:
    """Every entry below the folder: what it is, its mode, its bytes."""
    found: dict[str, tuple[object, ...]] = {}
    for path in Path().rglob("*"):
        if path.is_symlink():
            found[str(path)] = ("link", os.readlink(path))
        elif path.is_file():
            found[str(path)] = ("file", stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


def _try(tally: Tally, case: Case, story: str) -> None:
    story = f"{story}: fathom {' '.join(case.words)[:300]!r}"
    before = _snapshot()
    try:
        status, out, err = _apart(case) if case.apart else _within(case)
    except (Hang, subprocess.TimeoutExpired):
        tally.outcomes["hung"] += 1
        tally.fault("hang", story)
        return
    tally.outcomes[{0: "done", 2: "refused"}.get(status, f"status {status}")] += 1
    one_line = err.startswith("error: ") and err.count("\n") == 1
    if not ((status == 2 and one_line) or (status == 0 and (err == "" or "<stdout>" in case.writes))):
        tally.fault("traceback", f"{story}: status {status}, {err[-400:]!r}")
    elif case.must is not None and status != case.must:
        tally.fault("misread", f"{story}: status {status}, expected {case.must}; {err.strip()}")
    _judge_files(tally, case, before, status, story)
    _judge_words(tally, case, status, out, story)


def _judge_files(tally: Tally, case: Case, before: dict[str, tuple[object, ...]], status: int, story: str) -> None:
    after, may = _snapshot(), {os.path.normpath(path) for path in case.writes}
    for path, was in before.items():
        now = after.get(path)
        if path not in may and now != was:
            tally.fault("destroyed", f"{story}: {path} was changed")
        elif now is None or now[0] != was[0] or (was[0] == "file" and now[1] != was[1]):
            tally.fault("destroyed", f"{story}: {path} is gone, or not what it was")
        elif status != 0 and was != now:
            tally.fault("destroyed", f"{story}: refused, but {path} was changed")
    for path in after.keys() - before.keys():
        if path not in may:
            tally.fault("destroyed", f"{story}: left {path} behind")
    for path, kind in case.writes.items():
        if status == 0 and os.path.normpath(path) in after and after[os.path.normpath(path)] != before.get(path):
            _judge(tally, kind, Path(path), f"{story}: wrote {path}")


def _judge_words(tally: Tally, case: Case, status: int, out: str, story: str) -> None:
    if status != 0:
        return
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        said = Path(folder, "said")
        said.write_text(out, encoding="utf-8", errors="surrogateescape")
        kind = next((kind for path, kind in case.writes.items() if path.startswith("<")), "")
        if not kind and "--json" in case.words:
            kind = "json"
        if not kind and case.words[0] == "predict" and "--out" not in " ".join(case.words):
            kind = "csv"
        if kind:
            _judge(tally, kind, said, f"{story}: said")


def _judge(tally: Tally, kind: str, path: Path, story: str) -> None:
    try:
        READERS[kind](path)
    except NotANumber as problem:
        tally.fault("NaN", f"{story}: {problem}")
    except Exception as problem:
        tally.fault("misread", f"{story}: no {kind}: {type(problem).__name__} {problem}")


class NotANumber(Exception):
    """NaN or an infinity where a number belongs."""


def _read_csv(path: Path) -> None:
    header, *rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if any(name.startswith(tuple("=+-@")) for name in header):
        raise ValueError(f"a formula: {header}")
    first = header.index("mean")
    for row in rows:
        if len(row) != len(header):
            raise ValueError("a row of another length")
        if not all(math.isfinite(float(cell)) for cell in row[first:]):
            raise NotANumber(str(row))


def _read_json(path: Path) -> None:
    def refuse(name: str) -> None:
        raise NotANumber(name)

    json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"), parse_constant=refuse)


def _read_html(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    HTMLParser().feed(text)
    if not text.rstrip().endswith("</html>") or "<script>" in text.split("<body", 1)[1].replace("<script>\n", ""):
        raise ValueError("cut short, or with a script of the data's")
    if "nan" in text.lower().replace("ç", " ").split():
        raise NotANumber("on the page")


def _read_markdown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        bare = "".join(line.split("`")[::2]) if line.count("`") % 2 == 0 else line
        for mark in ("<script>", "[a](b)", "a|b", "$\\alpha$"):
            if mark in bare:
                raise ValueError(f"markup of a name: {line}")


def _read_model(path: Path) -> None:
    fathom.load(path)


def _read_trace(path: Path) -> None:
    Trace.from_json(path.read_text(encoding="utf-8"))


READERS: dict[str, Callable[[Path], None]] = {
    "any": lambda path: None,
    "csv": _read_csv,
    "json": _read_json,
    "html": _read_html,
    "markdown": _read_markdown,
    "model": _read_model,
    "trace": _read_trace,
}


# -- running one -----------------------------------------------------------------------------------------------------


def _within(case: Case) -> tuple[int, str, str]:
    """In this process: status, standard output and error."""

    def give_up(*_: object) -> None:
        raise Hang

    alarmed = threading.current_thread() is threading.main_thread()
    before = dict(os.environ)
    os.environ.pop("FATHOM_DATA", None)
    os.environ.update(case.environment)
    if alarmed:
        old = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        result = CliRunner().invoke(app, case.words)
    finally:
        if alarmed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        os.environ.clear()
        os.environ.update(before)
    bug = result.exception if not isinstance(result.exception, SystemExit) else None
    return result.exit_code, result.stdout, result.stderr + (f"Traceback: {bug!r}" if bug is not None else "")


def _apart(case: Case) -> tuple[int, str, str]:
    """In a process of its own, with a reader at the pipe that it may write to."""
    environment = {name: value for name, value in os.environ.items() if name != "FATHOM_DATA"} | case.environment
    os.mkfifo("pipe")
    read = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) if "pipe" in case.words else None
    command = [sys.executable, "-m", "fathom", *case.words]
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=PATIENCE)
        out = done.stdout if read is None else read.communicate(timeout=5)[0]
    finally:
        if read is not None:
            read.kill()
        is_pipe = stat.S_ISFIFO(os.stat("pipe").st_mode)
        os.unlink("pipe")
    err = done.stderr.decode(errors="replace") + ("" if is_pipe else "the pipe was replaced")
    return done.returncode, out.decode("utf-8", "surrogateescape"), err
