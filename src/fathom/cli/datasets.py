"""The command `fathom datasets`."""

from __future__ import annotations

from fathom.cli import console
from fathom.cli.options import Json


def datasets(as_json: Json = False) -> None:
    """List the data sets at hand.

    Example: fathom datasets --json
    """
    import os

    from fathom.data import datasets as known

    found = [known.describe(name) for name in known.names()]
    rows = [{**vars(info), "targets": list(info.targets)} for info in found]
    folder = os.environ.get(known.VARIABLE) or None
    if as_json:
        console.show_json({known.VARIABLE: folder, "datasets": rows})
        return
    shown = ("name", "rows", "inputs", "targets", "source")
    table = [{key: ", ".join(row[key]) if key == "targets" else row[key] for key in shown} for row in rows]
    hint = f"Set {known.VARIABLE} to a folder with a catalog.toml and its data sets are listed here too."
    console.show_table(table, footnotes=[] if folder else [hint])
