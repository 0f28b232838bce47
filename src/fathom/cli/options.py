"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import typer


def completing(names: Sequence[str]) -> Callable[[str], list[str]]:
    """What a shell offers for a word that has been begun."""

    def matching(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return matching


def _data_sets(incomplete: str) -> list[str]:
    from fathom.data import datasets

    return [name for name in datasets.names() if name.startswith(incomplete)]


def _seconds(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter("give a number of seconds above 0, or leave it out for no limit")
    return value


MANY = 1_000_000  # of whatever is counted: more is a slip of the finger
DATA_HELP = "A CSV file, a bundled data set, or one of the catalogue in FATHOM_DATA."
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False, autocompletion=_data_sets)]
Target = Annotated[list[str] | None, typer.Option("--target", help="Column to model (may be repeated).", metavar="Y")]
Time = Annotated[str | None, typer.Option("--time", help="Column that is the time.", metavar="T")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out (may be repeated).", metavar="COL")]
Holidays = Annotated[
    str | None,
    typer.Option("--holidays", help="Country whose public holidays may matter, as DE or US-CA.", metavar="COUNTRY"),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--inputs",
        help="Columns to learn from beside the time, as price,promo; or all.",
        metavar="X",
        show_default=False,
    ),
]
Paths = Annotated[
    int, typer.Option("--paths", help="Searches with other seeds, the best of which counts.", min=1, max=MANY)
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same answer.", min=0, max=2**32 - 1)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds that the whole command may take.", callback=_seconds)]
