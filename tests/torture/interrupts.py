"""Commands ended at any moment: nothing keeps running, files are old or complete, and the rerun is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import fathom
from fathom.data.dataset import named
from fathom.search.trace import Trace
from tests.torture.tally import Tally

FULL = 60
SOON = 10.0  # seconds in which everything must have ended
PATIENCE = 180.0  # seconds for a command that nobody interrupts
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}


@dataclass(frozen=True)
class Command:
    """A command, the file that it writes, and what of its answer must be the same every time."""

    words: tuple[str, ...]
    out: str
    parallel: bool = False


COMMANDS = [
    Command(("search", "d.csv", "--depth", "1", "--jobs", "2"), "o.fathom", parallel=True),
    Command(("report", "d.csv", "--depth", "1", "--jobs", "2"), "o.html", parallel=True),
    Command(("search", "d.csv", "--depth", "2", "--jobs", "1"), "o.fathom"),
    Command(("fit", "d.csv", "--model", "svgp", "--inducing", "5", "--steps", "1500"), "o.fathom"),
    Command(("fit", "d.csv", "--restarts", "20"), "o.fathom"),
    Command(("predict", "m.fathom", "--horizon", "30"), "o.csv"),
]


def run(cases: range, seed: int) -> Tally:
    """Try the cases."""
    tally = Tally()
    for i in cases:
        rng = np.random.default_rng([seed, 5, i])
        command = COMMANDS[i % len(COMMANDS)]
        number = list(STATUS)[int(rng.integers(len(STATUS)))]
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            _try(tally, command, number, Path(folder), rng, f"case {i}: {number.name} for {' '.join(command.words)}")
    return tally


# -- one interrupted run ---------------------------------------------------------------------------------------------


def _try(
    tally: Tally, command: Command, number: signal.Signals, folder: Path, rng: np.random.Generator, story: str
) -> None:
    expected, seconds = _reference(command)
    _prepare(folder)
    old = rng.random() < 0.5
    if old:
        (folder / command.out).write_bytes(b"old")
        (folder / command.out).chmod(0o600)
    process = _started(command, folder)
    _wait_until_it_listens(process)
    try:
        said = process.communicate(timeout=float(rng.uniform(0, 0.8 * seconds)))
        sent = False
    except subprocess.TimeoutExpired:
        group = number != signal.SIGKILL and rng.random() < 0.5  # a terminal tells all of them
        (os.killpg if group else os.kill)(process.pid, number)
        sent, said = True, _rest(tally, process, story)
    if said is None:
        tally.outcomes["hung"] += 1
        return
    _judge_end(tally, process, said[1], number if sent else None, story)
    _judge_files(tally, command, folder, old, number, story)
    again = _answer(command, folder)
    if again != expected:
        tally.fault("misread", f"{story}: the rerun answered {again[:300]!r}, not {expected[:300]!r}")


def _rest(tally: Tally, process: subprocess.Popen[str], story: str) -> tuple[str, str] | None:
    """What it said, once the pipes are closed, which is when nobody holds them any more."""
    try:
        return process.communicate(timeout=SOON)
    except subprocess.TimeoutExpired:
        alive = process.poll() is None
        tally.fault("hang" if alive else "left running", f"{story}: {'goes on' if alive else 'the pipe is still open'}")
        for pid in _left(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()
        return None


def _judge_end(
    tally: Tally, process: subprocess.Popen[str], err: str, number: signal.Signals | None, story: str
) -> None:
    status = process.returncode
    tally.outcomes["done" if status == 0 else "ended"] += 1
    allowed = {0} if number is None else {STATUS[number]} | ({0} if number == signal.SIGKILL else set())
    if status not in allowed:
        tally.fault("misread", f"{story}: status {status}, {err[-300:]!r}")
    lines = {signal.SIGINT: "interrupted: ", signal.SIGTERM: "ended by SIGTERM: "}
    told = lines.get(number, "") if status != 0 and number is not None else ""
    if not err.startswith(told) or err.count("\n") != bool(told):
        tally.fault("traceback", f"{story}: {err[-600:]!r}")
    limit = time.monotonic() + SOON
    while (left := _left(process.pid)) and time.monotonic() < limit:
        time.sleep(0.05)
    if left:
        tally.fault("left running", f"{story}: processes {left}")


def _judge_files(tally: Tally, command: Command, folder: Path, old: bool, number: signal.Signals, story: str) -> None:
    out = folder / command.out
    if old and (not out.exists() or out.stat().st_mode & 0o777 != 0o600):
        tally.fault("destroyed", f"{story}: {out.name} is gone, or has another mode")
    if out.exists() and out.read_bytes() != b"old":
        try:
            _read(out)
        except Exception as problem:
            tally.fault("destroyed", f"{story}: {out.name} is neither old nor complete: {problem}")
    trace = folder / f"{command.out}.trace.json"
    if trace.exists():
        Trace.from_json(trace.read_text())
    half = [path.name for path in folder.glob(".fathom-*")]
    if half and number != signal.SIGKILL:
        tally.fault("left running", f"{story}: left {half} behind")


def _read(out: Path) -> None:
    if out.suffix == ".fathom":
        fathom.load(out)
    elif not out.read_text().rstrip().endswith("</html>" if out.suffix == ".html" else tuple("0123456789")):
        raise ValueError("cut short")


# -- running ---------------------------------------------------------------------------------------------------------


@cache
def _inputs() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    t = np.arange(24)
    y = 0.1 * t + np.sin(2 * np.pi * t / 8) + 0.1 * rng.standard_normal(24)
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = Path(name)
        (folder / "d.csv").write_text("t,y\n" + "".join(f"{a},{b:.4f}\n" for a, b in zip(t, y, strict=True)))
        data = fathom.load_csv(folder / "d.csv")
        model = fathom.GPRegressor(n_restarts=1, random_state=0).fit(named(data.X, data.names), data.y)
        model.columns_ = data.columns
        fathom.save(model, folder / "m.fathom")
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _prepare(folder: Path) -> None:
    for name, content in _inputs().items():
        (folder / name).write_bytes(content)


@cache
def _reference(command: Command) -> tuple[str, float]:
    """The answer of a run that nobody interrupts, and how long it takes."""
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        _prepare(Path(name))
        start = time.monotonic()
        found = _answer(command, Path(name))
        return found, time.monotonic() - start


def _answer(command: Command, folder: Path) -> str:
    """Run to the end: the answer, less the time it took."""
    process = _started(command, folder)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it did not end"
    if process.returncode != 0:
        return f"status {process.returncode}: {err}"
    if command.out.endswith(".csv"):
        return (folder / command.out).read_text()
    found = json.loads(out)
    timed = ("seconds", "fitted in", "levels")  # a level says how long it took
    found["best"] = [level["best"] for level in found.get("levels", ())]
    return json.dumps({key: value for key, value in found.items() if key not in timed}, sort_keys=True)


def _started(command: Command, folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "fathom", *command.words, "--out", command.out, "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def _wait_until_it_listens(process: subprocess.Popen[str]) -> None:
    """Until the command answers signals; before, the interpreter is still starting."""
    limit = time.monotonic() + SOON
    while process.poll() is None and time.monotonic() < limit:
        with open(f"/proc/{process.pid}/status") as file:
            caught = next((line.split()[1] for line in file if line.startswith("SigCgt")), "0")
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


def _left(session: int) -> list[int]:
    """Processes of a session that are not dead: its workers, and those that clear up after them."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, theirs = (place / "stat").read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(theirs) == session and state not in "ZX":
            found.append(int(place.name))
    return found
