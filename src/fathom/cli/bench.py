"""The command `fathom bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.base import files
from fathom.cli import console, outputs
from fathom.cli.options import Json
from fathom.cli.outputs import Input, Output


def _starting_with(incomplete: str) -> list[str]:
    from fathom.cli import registry

    return [name for name in registry.benchmarks() if name.startswith(incomplete)]


def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Left out: list them.", autocompletion=_starting_with)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke version, in seconds.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and, if there is a plot, NAME.png.")] = Path(
        "results"
    ),
    as_json: Json = False,
) -> None:
    """Run a benchmark: a table or figure of a paper, ours beside theirs.

    Example: fathom bench dgps-step --quick
    """
    from fathom.cli import registry

    if name is None:
        rows = [{"name": b.name, "what": b.description} for b in registry.benchmarks().values()]
        console.show_json({"benchmarks": rows}) if as_json else console.show_table(rows)
        return
    benchmark = registry.find(name)
    out.mkdir(parents=True, exist_ok=True)
    written = out / f"{benchmark.name}.json"
    picture = written.with_suffix(".png")
    outputs.check([Output(written), Output(picture)], [Input("the benchmark", (benchmark.path,))])
    with console.progress(benchmark.name) as step:
        result, module = registry.run(benchmark, quick, lambda text: step(text, 0.0))
    with files.replacing(written) as path:
        path.write_text(console.json_text(result) + "\n", encoding="utf-8")
    if hasattr(module, "plot"):
        with files.replacing(picture) as path:
            module.plot(result, path)
    if as_json:
        console.show_json(result)
    else:
        console.show_table(result["rows"], result["title"], [*result["notes"], f"Written to {written}"])
