"""The command `fathom stream`: each row of a table predicted before it is learnt from."""

from __future__ import annotations

import csv
import itertools
import json
import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.base import files
from fathom.cli import console, outputs
from fathom.cli.options import Drop, Seed, Target, Time
from fathom.cli.outputs import Output
from fathom.data.forecast import inert

if TYPE_CHECKING:
    import numpy as np

    from fathom.base.arrays import Rows
    from fathom.data.columns import Columns
    from fathom.data.streaming import Piece
    from fathom.estimators.base import Estimator
    from fathom.estimators.deep import DeepGPRegressor
    from fathom.estimators.online import OnlineGPRegressor
    from fathom.predictive import Predictive

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
    from fathom.base.parameters import check_parameters
    from fathom.data import datasets
    from fathom.data.streaming import feed

    made = _made(model, kernel, budget, noise, forgetting, widths, seed)
    state = outputs.beside(out, ".state")
    read = [] if data == "-" else [outputs.data(data)]
    writes = [(out, "--out"), (state, "--out"), (save_to, "--save")]
    outputs.check([Output(file, option) for file, option in writes if file is not None], read)
    check_parameters(made.inference if model == "sequential" else made)  # type: ignore[arg-type]
    course = Course(made, out, state, as_json)
    course.resume()
    path = data if data == "-" else str([*datasets.files(data), data][0])
    rows = feed(path, target or None, time_column, drop, course.columns)
    course.begin(rows.columns)
    with closing(rows.source), console.progress("streaming") as step:
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

    seen: int = 0
    rows: int = 0
    density: float = 0.0
    squares: float = 0.0
    inside: int = 0

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


STATISTICS = ("", "mean", "q0.05", "q0.95", "log density")  # of each target; the first is what was observed


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
    first: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)  # rows from which a deep model begins
    saved: float = field(default_factory=time.monotonic)

    # -- where an earlier run stopped ------------------------------------------------------------------------------

    def resume(self) -> None:
        """Take up the state of an earlier run of the same command, and cut its file to what that state knows."""
        if self.state is None or not self.state.exists() or not self.out.exists():
            return
        from fathom.estimators.modelfile import ModelFileError, load

        try:
            found = load(self.state)
        except ModelFileError:
            return
        if type(found) is not type(self.model) or _asked(found) != _asked(self.model):
            return
        self.model, self.columns = found, found.columns_
        self._cut(int(found.n_seen_), found.columns_.target)

    def _cut(self, seen: int, targets: tuple[str, ...]) -> None:
        """Keep the rows that the model has learnt, and those without a target among them."""
        with self.out.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        kept: list[list[str]] = []
        for row in rows:
            told = [row[len(row) - (len(targets) - p) * len(STATISTICS) :] for p in range(len(targets))]
            learnt = any(values[0] for values in told)
            if learnt and seen == 0:
                break
            seen -= learnt
            kept.append(row)
            for values in told:
                self._count([float(v) if v else math.nan for v in values[: len(STATISTICS)]])
        self.line = int(kept[-1][0]) if kept else 0
        with files.replacing(self.out) as path, path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *kept])

    # -- rows ------------------------------------------------------------------------------------------------------

    def begin(self, columns: Columns) -> None:
        """Write the header of a new file."""
        self.columns = columns
        if not self.line:
            self._write([self._header(columns)], "w")

    def _header(self, columns: Columns) -> list[str]:
        names = [f"{target} {what}".strip() for target in columns.target for what in STATISTICS]
        return ["line", *columns.names, *names]

    def take(self, piece: Piece) -> None:
        """Predict and learn some rows, write them, and now and then the state."""
        for said in piece.passed_over:
            console.complain(f"passed over: {said}")
        import numpy as np

        known = ~np.isnan(piece.Y).all(1)
        bounds = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), len(known)]
        for start, stop in itertools.pairwise(bounds):
            if stop > start:
                self._some(_rows_of(piece, start, stop), bool(known[start]))
        if self.state is not None and time.monotonic() - self.saved > OFTEN and self._begun():
            self._save(self.state)
            self.saved = time.monotonic()

    def _some(self, rows: tuple[np.ndarray, ...], known: bool) -> None:
        """Rows that all have a target, or none of them."""
        import numpy as np

        lines, X, Y = rows
        told = self._follow(X, Y) if known else self._foretell(X, Y.shape[1])
        mean, low, high = (values.reshape(Y.shape) for values in (told.mean(), *told.interval(0.9)))
        density = told.log_prob(Y[:, 0] if len(told.shape) == 1 else Y).reshape(Y.shape)
        statistics = np.stack([Y, mean, low, high, np.where(np.isnan(Y), np.nan, density)], -1)
        found = []
        for line, x, values in zip(lines, X, statistics, strict=True):
            for each in values:
                self._count(each.tolist())
            found.append([int(line), *self._inputs(x), *(_short(v) for v in values.ravel().tolist())])
        self._write(found)
        self.line = int(lines[-1])

    def _follow(self, X: np.ndarray, Y: np.ndarray) -> Predictive:
        y = Y[:, 0] if Y.shape[1] == 1 else Y
        if self._begun() or not hasattr(self.model, "inference"):
            return self.model.follow(self._named(X), y)
        return self._gather(X, Y)

    def _gather(self, X: np.ndarray, Y: np.ndarray) -> Predictive:
        """Rows from which a deep model will begin, foretold by their mean and spread so far."""
        import numpy as np

        from fathom.predictive import Predictive

        taken = min(len(X), FIRST - sum(len(x) for x, _ in self.first))
        told = [self._spread([*self.first, (X[:i], Y[:i])]) for i in range(taken)]
        self.first.append((X[:taken], Y[:taken]))
        mean, var = (np.array([pair[k] for pair in told]) for k in (0, 1))
        if sum(len(x) for x, _ in self.first) == FIRST:
            all_X, all_Y = (np.concatenate(parts) for parts in zip(*self.first, strict=True))
            self.model.fit(self._named(all_X), all_Y[:, 0] if Y.shape[1] == 1 else all_Y)
            if taken < len(X):
                further = self._follow(X[taken:], Y[taken:])
                shape = (len(X) - taken, Y.shape[1])
                mean = np.vstack([mean, further.mean().reshape(shape)])
                var = np.vstack([var, further.var().reshape(shape)])
        return Predictive.gaussian(mean, var)

    def _spread(self, rows: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        from fathom.streams.online import spread_so_far

        return spread_so_far(np.concatenate([y for _, y in rows]))

    def _foretell(self, X: np.ndarray, n_targets: int) -> Predictive:
        """Rows whose target nobody knows."""
        import numpy as np

        from fathom.predictive import Predictive

        if self._begun() or hasattr(self.model, "_waiting"):
            return self.model.predict_dist(self._named(X))
        mean, var = self._spread([*self.first, (X[:0], np.zeros((0, n_targets)))])
        return Predictive.gaussian(np.tile(mean, (len(X), 1)), np.tile(var, (len(X), 1)))

    def _begun(self) -> bool:
        return hasattr(self.model, "learnt_")

    def _named(self, X: np.ndarray) -> Rows:
        from fathom.data.dataset import named

        assert self.columns is not None
        return named(X, self.columns.names)

    def _inputs(self, x: np.ndarray) -> list[str | float]:
        """The inputs of a row as they were written."""
        columns = self.columns
        assert columns is not None
        found: list[str | float] = [_short(float(value)) for value in x]
        if columns.rule is not None and columns.time is not None:
            found[columns.time] = columns.rule.format(float(x[columns.time]))
        return found

    def _count(self, values: Sequence[float]) -> None:
        """Score an observed value (value, mean, 5 %, 95 %, log density), but for those from which a stream begins."""
        self.tally.seen += 1
        value, mean, low, high, density = values
        if self.tally.seen > FIRST and not math.isnan(value):
            self.tally.add(value - mean, density, low <= value <= high)

    # -- files -----------------------------------------------------------------------------------------------------

    def _write(self, rows: Sequence[Sequence[str | float]], mode: str = "a") -> None:
        """Append rows to the file, or print them."""
        if self.as_json and mode == "a":
            assert self.columns is not None
            names = [
                "line",
                *self.columns.names,
                *(f"{t} {s}".strip() for t in self.columns.target for s in STATISTICS),
            ]
            for row in rows:
                console.say(json.dumps({n: (None if v == "" else v) for n, v in zip(names, row, strict=True)}))
        with self.out.open(mode, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([[inert(cell) for cell in row] for row in rows])

    def _save(self, path: Path) -> None:
        from fathom.estimators.modelfile import save

        self.model.columns_ = self.columns  # type: ignore[assignment]
        save(self.model, path)

    def end(self, save_to: Path | None) -> None:
        """Save what was asked for, forget the state, and say how it went."""
        if save_to is not None and self._begun():
            self._save(save_to)
        if self.state is not None:
            self.state.unlink(missing_ok=True)
        if not self.as_json:
            console.show_lines([self.tally.line()])
            changes = getattr(self.model, "changes_", []) if self._begun() else []
            if changes:
                row, how = changes[-1]
                console.show_lines([f"{len(changes)} changes; the last, {how}, at row {row + 1}"])
            console.show_facts([("written to", str(self.out))])


def _rows_of(piece: Piece, start: int, stop: int) -> tuple[np.ndarray, ...]:
    """Some rows of a piece."""
    return piece.lines[start:stop], piece.X[start:stop], piece.Y[start:stop]


def _short(value: float) -> float | str:
    """Eight digits; nothing for what is missing."""
    return "" if math.isnan(value) else float(f"{value:.8g}")


def _asked(model: Estimator) -> dict[str, str]:
    """The parameters of a model as text, but for the seed, which files do not keep."""
    return {name: str(value) for name, value in model.get_params().items() if name != "random_state"}
