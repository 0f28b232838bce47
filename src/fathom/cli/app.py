"""The command line: parse, call, print.

Nothing heavy loads before a command needs it, so that `fathom --help` answers at once. Failures are turned into exit
statuses in `console.py`, signals in `stopping.py`.
"""

from __future__ import annotations

from typing import Annotated

import typer

import fathom
from fathom.cli import console, stopping
from fathom.cli.bench import bench
from fathom.cli.compare import compare
from fathom.cli.datasets import datasets
from fathom.cli.fit import fit
from fathom.cli.predict import predict
from fathom.cli.report import report
from fathom.cli.search import search
from fathom.cli.stream import stream

app = typer.Typer(
    name="fathom",
    cls=console.Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Gaussian processes from a CSV to an explanation.",
)


def main() -> None:
    """Run the command line; does not return."""
    stopping.at_once()
    console.any_terminal()
    console.keep_compiled()
    try:
        app(prog_name="fathom")
    except SystemExit as end:
        stopping.ended(end.code if isinstance(end.code, int) else 0)
        raise


def _version(asked: bool) -> None:
    if asked:
        print(f"fathom {fathom.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


for command in (report, search, fit, predict, stream, compare, datasets, bench):
    app.command()(command)
