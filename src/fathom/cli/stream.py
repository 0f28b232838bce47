"""The command `fathom stream`: each row of a table predicted before it is learnt from."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.base import files
from fathom.cli import console, outputs
from fathom.cli.options import Drop, Seed, Target, Time
from fathom.cli.outputs import Output

if TYPE_CHECKING:
    import numpy as np

    from fathom.data.columns import Columns
    from fathom.data.streaming import Piece
    from fathom.estimators.deep import DeepGPRegressor
    from fathom.estimators.online import OnlineGPRegressor

    Model = OnlineGPRegressor | DeepGPRegressor

STREAMED = ("online", "sequential")
PIECE = 200  # lines at once
FIRST = 100  # rows from which a deep model begins
OFTEN = 5.0  # seconds between two states on disk


def stream(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV file, or - for standard input.", show_default=False)
    ],
    model: Annotated[str, typer.Option(help=f"One of: {', '.join(STREAMED)}.")] = "online",
    out: Annotated[Path, typer.Option(help="The CSV of predictions to write.", readable=False)] = Path(
        "predictions.csv"
    ),
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    kernel: Annotated[str, typer.Option(help="In the kernel language.")] = "SE",
    budget: Annotated[int, typer.Option(help="Rows that are kept.", min=1, max=10_000)] = 100,
    noise: Annotated[str, typer.Option(help="constant or heteroscedastic.")] = "constant",
    forgetting: Annotated[str, typer.Option(help="1 keeps everything, 0.999 forgets; of online also auto.")] = "1",
    widths: Annotated[str, typer.Option(help="Of sequential: units of hidden layers, as 2,2.")] = "2",
    save_to: Annotated[Path | None, typer.Option("--save", help="Keep the model in this file.", readable=False)] = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each row instead.")] = False,
) -> None:
    """Predict each row of a table before learning from it, in constant memory.

    Interrupted, the same command goes on where it was, to the same predictions. Lines that cannot be read are told and
    passed over; a row without its target is predicted only.

    Example: fathom stream airline.csv --budget 50 --out predictions.csv
    """
    from fathom.data.streaming import feed

    made = _made(model, kernel, budget, noise, forgetting, widths, seed)
    state = outputs.beside(out, ".state")
    read = [] if data == "-" else [outputs.data(data)]
    outputs.check([Output(p) for p in (out, state) if p is not None], read)
    outputs.check([Output(save_to, "--save")] if save_to else [], read)
    course = Course(made, out, state, as_json)
    course.resume()
    rows = feed(data, target or None, time_column, drop, course.columns)
    course.begin(rows.columns)
    with console.progress("streaming") as step:
        for piece in rows.pieces(PIECE, course.line):
            course.take(piece)
            step(course.tally.line(), 0.0)
    course.end(save_to)


def _made(model: str, kernel: str, budget: int, noise: str, forgetting: str, widths: str, seed: int) -> Model:
    if model not in STREAMED:
        raise ValueError(f"--model {model!r}: there is no such stream; choose from: {', '.join(STREAMED)}")
    rate: float | str = "auto"
    if forgetting != "auto":
        try:
            rate = float(forgetting)
        except ValueError:
            raise ValueError(f"--forgetting {forgetting!r}: a rate above 0 and at most 1, or auto") from None
    if model == "online":
        from fathom.estimators.online import OnlineGPRegressor

        return OnlineGPRegressor(kernel, budget, noise, rate, random_state=seed)
    from fathom.cli.fit import read_widths
    from fathom.estimators.deep import DeepGPRegressor
    from fathom.inference.sequential import Sequential

    method = Sequential(noise=noise, forgetting=rate)  # type: ignore[arg-type]
    return DeepGPRegressor(read_widths(widths) or (), method, budget, kernel=kernel, random_state=seed)


@dataclass
class Tally:
    """How well rows were foretold so far, but for those from which a stream began."""

    rows: int = 0
    density: float = 0.0
    squares: float = 0.0
    inside: int = 0
    missed: int = 0

    def add(self, error: float, log_density: float, inside: bool) -> None:
        """One value of a row."""
        self.rows, self.density = self.rows + 1, self.density + log_density
        self.squares, self.inside = self.squares + error**2, self.inside + inside

    def line(self) -> str:
        """The scores in a line."""
        if not self.rows:
            return "gathering the first rows"
        nll, rmse = -self.density / self.rows, math.sqrt(self.squares / self.rows)
        return f"{self.rows} rows: NLL {nll:.4g}, RMSE {rmse:.4g}, coverage {self.inside / self.rows:.0%} of 90 %"


@dataclass
class Course:
    """A stream on its way from a table to a file of predictions."""

    model: Model
    out: Path
    state: Path | None
    as_json: bool
    tally: Tally = field(default_factory=Tally)
    line: int = 0  # of the table, up to which everything is written
    columns: Columns | None = None
    waiting: list[Piece] = field(default_factory=list)  # rows from which a deep model will begin
    saved: float = field(default_factory=time.monotonic)

    def resume(self) -> None:
        """Take up the state of an earlier run of the same command, and cut its file to what that state knows."""
        if self.state is None or not self.state.exists() or not self.out.exists():
            return
        from fathom.estimators.modelfile import ModelFileError, load

        try:
            found = load(self.state)
        except ModelFileError:
            return
        same = type(found) is type(self.model) and _asked(found) == _asked(self.model)
        if not same or not hasattr(found, "columns_"):
            return
        self.model, self.columns = found, found.columns_  # type: ignore[assignment]
        self._cut(found.n_seen_, len(found.columns_.target))  # type: ignore[attr-defined]

    def _cut(self, seen: int, n_targets: int) -> None:
        """Keep the rows of the file that the model has seen; their scores are taken up again."""
        with self.out.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        kept: list[list[str]] = []
        learnt = 0
        for row in rows:
            if learnt == seen or len(row) != len(header):
                break
            kept.append(row)
            learnt += any(row[-STATISTICS * n_targets + STATISTICS * p] for p in range(n_targets))
            self._score([row[len(row) - STATISTICS * (n_targets - p) :][:STATISTICS] for p in range(n_targets)], learnt)
        self.line = int(kept[-1][0]) if kept else 0
        with files.replacing(self.out) as path, path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *kept])

    def begin(self, columns: Columns) -> None:
        """Write the header of a new file."""
        self.columns = columns
        if self.line:
            return
        names = [name for t in columns.target for name in (t, *(f"{t} {s}" for s in ("mean", "q0.05", "q0.95", "log density")))]
        self._write([["line", *columns.names, *names]], "w")

    def take(self, piece: Piece) -> None:
        """Predict and learn some rows, write them, and now and then the state."""
        for said in piece.passed_over:
            console.complain(f"passed over: {said}")
            self.tally.missed += 1
        if len(piece.X):
            self._learn(piece)
        if self.state is not None and time.monotonic() - self.saved > OFTEN:
            self._save(self.state)
            self.saved = time.monotonic()

    def _learn(self, piece: Piece) -> None:
        import numpy as np

        known = ~np.isnan(piece.Y).all(1)
        start = 0
        for stop in [*np.flatnonzero(np.diff(known)) + 1, len(known)]:
            part = slice(start, int(stop))
            rows = [values[part] for values in piece[:3]]
            told = self._follow(rows[1], rows[2]) if known[start] else self._predict(rows[1])
            self._put(rows[0], rows[1], rows[2], *told)
            start = int(stop)

    def _predict(self, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return _columns(self.model.predict_dist(X), len(self._targets))

    def _follow(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        y = Y[:, 0] if Y.shape[1] == 1 else Y
        told = self.model.follow(X, y)
        return _columns(told, Y.shape[1])
