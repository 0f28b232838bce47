"""What the command line shows and how it fails: tables, progress, one-line errors.

Only the standard library and Typer load with this module: `fathom --help` has to answer at once.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from typer.core import TyperGroup

from fathom.base import files
from fathom.base.files import Facts
from fathom.cli import stopping

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from fathom.base.arrays import Array
    from fathom.kernels.base import Kernel

PACKAGE = Path(__file__).parents[1]
ENOUGH = 141  # 128 + SIGPIPE: whoever read the output went away
Step = Callable[[str, float], None]  # what is being done, and how much of the whole is done

_aside = False  # standard output is a file that the command writes: what it says goes to standard error


# -- failing -----------------------------------------------------------------------------------------------------


class Commands(TyperGroup):
    """The commands, with every expected failure told in one line and status 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:  # as Click has it
        kwargs["standalone_mode"] = False  # else the parser prints usage errors itself, on several lines
        try:
            status = super().main(*args, **kwargs)
            if sys.stdout is not None:
                sys.stdout.flush()  # a full disk is told here, not after the end
        except BrokenPipeError:
            status = _hang_up()
        except Exception as problem:
            message = reason(problem)
            if message is None:
                raise
            complain(f"error: {message}")
            status = 2
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: Any) -> object:  # Typer brings a Click of its own, or not
        aside(False)
        files.forget()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(_hang_up()) from None
        except KeyboardInterrupt:  # where `stopping.at_once` was not called: inside another program
            complain(stopping.said(signal.SIGINT, files.abandon()))
            raise typer.Exit(128 + signal.SIGINT) from None


def reason(problem: Exception) -> str | None:
    """The one line for an expected failure; None for a bug, which deserves its traceback."""
    if hasattr(problem, "format_message"):  # the parser's own
        return _usage(problem)
    if isinstance(problem, MemoryError) or "RESOURCE_EXHAUSTED" in str(problem):
        return _line(f"not enough memory ({problem}): use fewer rows")
    if isinstance(problem, RuntimeError) and str(problem).startswith("Unable to initialize backend"):
        return _line(f"{problem}; correct or unset JAX_PLATFORMS")
    if isinstance(problem, OSError):
        named = f"{problem.filename}: " if problem.filename else ""
        return _line(f"{named}{problem.strerror or problem}")
    expected = isinstance(problem, ValueError | TypeError) and (_is_ours(type(problem)) or _raised_here(problem))
    return _line(str(problem)) if expected else None


def _hang_up() -> int:
    """Say no more to standard output, whose reader went away; the status for it."""
    with suppress(OSError, AttributeError, ValueError):  # a stream of the caller's need not have a number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ENOUGH


def complain(message: str) -> None:
    """A line on standard error."""
    print(_shown(message, sys.stderr), file=sys.stderr)


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "fathom"


def _raised_here(problem: Exception) -> bool:
    """True when a `raise` statement of this package made the exception, and not a library that it called wrongly."""
    frames = traceback.extract_tb(problem.__traceback__)
    last = frames[-1] if frames else None
    return last is not None and PACKAGE in Path(last.filename).parents and (last.line or "").startswith("raise ")


def _usage(problem: Exception) -> str:
    text = str(getattr(problem, "format_message")()).strip().rstrip(".")  # noqa: B009
    close = getattr(problem, "possibilities", None)
    if (named := getattr(problem, "option_name", None)) and close is not None:
        text = f"no such option {named}" + (f" (did you mean {close[0]}?)" if close else "")
    text = re.sub(r"\.? Did you mean (.+)$", r" (did you mean \1)", text)
    ctx = getattr(problem, "ctx", None)
    remedy = f"; see '{ctx.command_path} --help'" if ctx is not None else ""
    return _line(text[:1].lower() + text[1:] + remedy)


def _line(text: str) -> str:
    return " ".join(text.split())


# -- where it runs -----------------------------------------------------------------------------------------------------


def any_terminal() -> None:
    """What the terminal cannot show is printed as an escape: a name in Cyrillic is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def aside(yes: bool = True) -> None:
    """Speak on standard error, because standard output is a file that the command writes."""
    global _aside
    _aside = yes


def keep_compiled() -> None:
    """Code that JAX compiles is kept for later commands on this machine, unless the environment says otherwise.

    Compiling is most of the time of a small fit. A cache that cannot be read or written is none: no word about it.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(home) / "fathom" / platform.node()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    warnings.filterwarnings("ignore", message=".*persistent compilation cache")


# -- showing -----------------------------------------------------------------------------------------------------


def show_json(value: Facts) -> None:
    """One JSON object on standard output; numbers that JSON does not know become null."""
    say(json_text(value, ascii_only=not _knows_unicode()))


def json_text(value: Facts, ascii_only: bool = False) -> str:
    """A result as JSON text."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=ascii_only)


def show_csv(text: str) -> None:
    """A table on standard output, in UTF-8 as it would stand in a file."""
    if _knows_unicode() or not hasattr(sys.stdout, "buffer"):
        print(text, end="")
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())


def say(text: str) -> None:
    """A line for the reader."""
    print(_shown(text, _stream()), file=_stream())


def _shown(text: str, stream: TextIO | None) -> str:
    """The text with escapes for what a stream cannot show: half a character in the name of a file."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _stream() -> TextIO:
    return sys.stderr if _aside else sys.stdout


def _knows_unicode() -> bool:
    return (getattr(_stream(), "encoding", None) or "utf-8").lower().startswith("utf")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, str | bool | int | None):
        return value
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Lines of a name and what is known of it."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, text in facts:
        table.add_row(_text(name, "dim"), _text(text))
    _print(table)


def show_lines(lines: Iterable[str], style: str = "") -> None:
    """Plain lines, each wrapped to the terminal."""
    for line in lines:
        _print(_text(line, style))


def show_table(
    rows: Sequence[Facts],
    title: str = "",
    footnotes: Iterable[str] = (),
    best: Callable[[str, int], bool] = lambda column, row: False,
) -> None:
    """Rows as a table whose columns are all their keys; entries that are `best` stand in bold."""
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(box=box.SIMPLE_HEAD, title=_text(title, "bold") if title else None, title_justify="left")
    for column in columns:
        numeric = all(isinstance(row.get(column, 0.0), int | float | None) for row in rows)
        table.add_column(_text(column), justify="right" if numeric else "left", overflow="fold")
    for i, row in enumerate(rows):
        table.add_row(*(_text(number_text(row.get(c)), "bold" if best(c, i) else "") for c in columns))
    _print(table)
    show_lines(footnotes, "dim")


def number_text(value: object) -> str:
    """A table entry: numbers to four significant digits, nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, float) and not hasattr(value, "dtype"):
        return str(value)
    number = float(str(value))
    return f"{number:.0f}" if 1e3 <= abs(number) < 1e7 else f"{number:#.4g}"


def rounded(kernel: Kernel) -> Kernel:
    """The kernel with its parameters rounded for reading."""
    import numpy as np

    def nice(value: Array, digits: int) -> Array:
        return np.vectorize(lambda v: float(f"{v:.{digits}g}"))(value)

    # A place on an axis of years needs more digits than a size: 1955.25 is not 1955.
    new = {p.name: nice(getattr(kernel, p.name), 6 if p.unit == "location" else 4) for p in kernel.parameters}
    return kernel.replace(children=tuple(rounded(child) for child in kernel.children), **new)


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)  # as it is: column names may hold brackets, which Rich would read as markup


def _print(*renderables: RenderableType) -> None:
    from rich.console import Console

    console = Console(highlight=False, file=_stream())
    if console.is_terminal:
        console.print(*renderables, sep="\n")
        return
    console.width = 1000  # no reader's window to fit: lines are not broken, nor padded
    with console.capture() as captured:
        console.print(*renderables, sep="\n")
    say("\n".join(line.rstrip() for line in captured.get().splitlines()))


@contextmanager
def progress(what: str) -> Iterator[Step]:
    """A bar on standard error while it is a terminal; a pipe sees nothing."""
    if not sys.stderr.isatty():
        yield lambda text, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with stopping.drawing(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def step(text: str, share: float) -> None:
            # a share of zero is not yet known to be a part of anything: the bar goes on pulsing
            bar.update(task, description=text, total=1.0 if share > 0 else None, completed=share)

        yield step
