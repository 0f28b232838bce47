"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DATA_HELP = "A CSV file, a bundled data set, or one of the catalogue in FATHOM_DATA."
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Target = Annotated[list[str] | None, typer.Option("--target", help="Column to model (may be repeated).", metavar="Y")]
Time = Annotated[str | None, typer.Option("--time", help="Column that is the time.", metavar="T")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out (may be repeated).", metavar="COL")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same answer.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
