"""The command `fathom fit`: one model, one file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import models
from fathom.cli import console, outputs
from fathom.cli.options import MANY, Data, Drop, Inputs, Json, Seed, Target, Time, completing
from fathom.cli.outputs import Output

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset
    from fathom.deep.training.loop import Entry
    from fathom.estimators.base import Estimator

FITTED = ("gp", *models.methods())  # what can be fitted without a search
MOST_LAYERS, MOST_UNITS = 100, 1000  # beyond is a slip of the finger, and no machine's memory
_LEAVE_ONE_OUT = ("NLL", "RMSE", "CRPS", "coverage90")


def fit(
    data: Data,
    model: Annotated[str, typer.Option(help=f"One of: {', '.join(FITTED)}.", autocompletion=completing(FITTED))] = "gp",
    kernel: Annotated[
        str | None, typer.Option(help='In the kernel language, such as "SE*Per + Lin".', show_default="the model's own")
    ] = None,
    out: Annotated[Path, typer.Option(help="The model file to write.", readable=False)] = Path("model.fathom"),
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    inputs: Inputs = None,
    restarts: Annotated[
        int | None, typer.Option(help="Of gp: optimisations of the evidence.", min=1, max=MANY, show_default="5")
    ] = None,
    widths: Annotated[str | None, typer.Option(help="Of deep models: units of hidden layers, as 3,3; or auto.")] = None,
    inducing: Annotated[
        int | None, typer.Option(help="Of sparse and deep models: inducing points.", min=1, max=MANY)
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Of sparse and deep models: training steps.", min=1, max=1000 * MANY, show_default="from the rows"
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Of the method, as power=0.5 (may be repeated).", metavar="NAME=VALUE")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit a model and write it to a file.

    Interrupted training on minibatches goes on when the same command is given again; gp, fitc, vfe, pep and small data
    by sampling are seen all at once and begin anew.

    Example: fathom fit motorcycle --model svgp --inducing 20 --out crash.fathom
    """
    from fathom.data.datasets import resolve
    from fathom.estimators.modelfile import save

    asked = {"--restarts": restarts, "--widths": widths, "--inducing": inducing, "--steps": steps, "--option": option}
    kept = outputs.beside(out, ".checkpoint")
    made = _made(model, kernel, seed, {name: value for name, value in asked.items() if value is not None}, kept)
    outputs.check([Output(file) for file in (out, kept) if file is not None], [outputs.data(data)])
    dataset = resolve(data, target or None, time_column, drop, inputs)
    start = time.perf_counter()
    fitted = _fit_exact(made, dataset) if model == "gp" else _train(made, dataset)
    about = {"model": model, "seconds": time.perf_counter() - start, "out": str(out)}
    save(fitted, out)
    _show(fitted, dataset, about, as_json)


def _made(model: str, kernel: str | None, seed: int, asked: Facts, kept: Path | None) -> Estimator:
    """The model to fit; an option that means nothing to it is an error."""
    from fathom.data.table import did_you_mean
    from fathom.estimators import comparison
    from fathom.inference.base import method

    if model not in FITTED:
        near = did_you_mean(model, FITTED)
        raise ValueError(f"--model {model!r}: there is no such model{near}; choose from: {', '.join(FITTED)}")
    if strange := [name for name in asked if (name == "--restarts") != (model == "gp")]:
        whose = "gp" if strange[0] == "--restarts" else "sparse and deep models"
        raise ValueError(f"{strange[0]} is for {whose}: --model {model} has none")
    if model == "gp":
        return comparison.gp(kernel, seed, asked.get("--restarts", 5))
    training: Facts = {"n_steps": asked["--steps"]} if "--steps" in asked else {}
    if kept is not None and "checkpoint" in method(model).uses:
        training["checkpoint"] = str(kept)
    options, widths = _options(asked.get("--option", ())), read_widths(asked.get("--widths"))
    return comparison.made(model, kernel, seed, asked.get("--inducing"), widths, options, training)


def _options(texts: Sequence[str]) -> Facts:
    """Options of a method from NAME=VALUE; a value is a number, true, false or a word."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise ValueError(f"--option {text!r}: write NAME=VALUE, such as power=0.5")
        try:
            found[name.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            found[name.strip()] = value.strip()
    return found


def read_widths(text: str | None) -> tuple[int, ...] | str | None:
    """Hidden widths from 3,3 or auto."""
    if text is None or text == "auto":
        return text
    try:
        widths = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError(f"--widths {text!r}: whole numbers separated by commas, such as 3 or 3,3, or auto") from None
    if len(widths) > MOST_LAYERS or not all(1 <= width <= MOST_UNITS for width in widths):
        raise ValueError(f"--widths {text!r}: at most {MOST_LAYERS} layers of 1 to {MOST_UNITS} units")
    return widths


def _fit_exact(model: Estimator, dataset: Dataset) -> Estimator:
    """Fit with a progress bar that shows the best evidence so far, in the user's units."""
    import numpy as np

    from fathom.data.columns import Scaler
    from fathom.data.dataset import inputs

    units = dataset.n_rows * float(np.log(Scaler.fit(dataset.X, dataset.y).y_sd).sum())
    best = -np.inf
    with console.progress("fitting") as step:

        def on_step(restart: int, evidence: float) -> None:
            nonlocal best
            best = max(best, evidence - units)
            share = restart / model.n_restarts
            step(f"fitting: restart {restart + 1} of {model.n_restarts}, log evidence {best:.1f}", share)

        model.fit(inputs(dataset), dataset.y, on_step=on_step)
    model.columns_ = dataset.columns
    return model


def _train(model: Estimator, dataset: Dataset) -> Estimator:
    """Train with a progress bar that shows objective and held-out NLL."""
    from fathom.data.dataset import inputs

    with console.progress("training") as step:

        def on_check(entry: Entry, total: int) -> None:
            held = entry["validation NLL"]
            tail = "" if held is None else f", held-out NLL {held:.3f}"
            step(f"training: objective {entry['objective']:.3f}{tail}", entry["step"] / total)

        model.fit(inputs(dataset), dataset.y, on_check=on_check)
    model.columns_ = dataset.columns
    return model


def _show(model: Estimator, dataset: Dataset, about: Facts, as_json: bool) -> None:
    facts, lines = _found(model, dataset)
    if as_json:
        described = {"data": dataset.source, "rows": dataset.n_rows, "inputs": dataset.names, "target": dataset.target}
        console.show_json(described | {"data_notes": dataset.notes} | facts | {"notes": model.notes_} | about)
        return
    rows = f"{dataset.n_rows} rows, {len(dataset.names)} input{'s' * (len(dataset.names) > 1)}"
    console.show_facts(
        [
            ("data", f"{dataset.source}: {rows}; target {', '.join(map(header(dataset), dataset.target))}"),
            *(("", note) for note in dataset.notes),
            *lines,
            *(("note", note) for note in model.notes_),
            ("fitted in", f"{about['seconds']:.2f} s"),
            ("written to", about["out"]),
        ]
    )


def _found(model: Estimator, dataset: Dataset) -> tuple[Facts, list[tuple[str, str]]]:
    """What was learnt, for JSON and for reading."""
    from fathom import metrics
    from fathom.kernels.syntax import to_text

    if hasattr(model, "leave_one_out"):
        scores = {k: v for k, v in metrics.summary(model.leave_one_out(), dataset.y).items() if k in _LEAVE_ONE_OUT}
        found = {"kernel": to_text(model.kernel_), "log_evidence": model.log_evidence_, "leave_one_out": scores}
        evidence = ("log evidence", f"{model.log_evidence_:.2f}")
        kernel = ("kernel", to_text(console.rounded(model.kernel_)))
        return found, [kernel, evidence, ("leave-one-out", _score_text(scores))]
    last = model.history_[-1]
    held = min((h.get("validation NLL") for h in model.history_ if h.get("validation NLL") is not None), default=None)
    learnt, name = model.learnt_, model.inference if isinstance(model.inference, str) else model.inference.name
    found = {"inference": name, "steps": last["step"], "objective": last["objective"]}
    found |= {"validation_nll": held, "best_step": learnt.best_step, "status": model.status_}
    lines = [("inference", str(model.inference)), ("objective", f"{last['objective']:.4g} after {last['step']} steps")]
    if held is not None:
        lines.append(("held-out NLL", f"{held:.4g} in standard units, at step {learnt.best_step}"))
    if len(weights := getattr(learnt, "weights", [1.0])) > 1:
        found["weights"] = weights
        best = f"the best weighs {100 * weights[0]:.0f} %"
        lines.append(("predictions", f"average {len(weights)} of {len(model.history_)} starts; {best}"))
    return found, lines


def _score_text(scores: dict[str, float]) -> str:
    inside = f"{100 * scores['coverage90']:.0f} % of rows inside their 90 % intervals"
    return f"NLL {scores['NLL']:.4g}, RMSE {scores['RMSE']:.4g} (the target's units), {inside}"


def header(dataset: Dataset) -> Callable[[str], str]:
    """From the name of a column to the name with its unit."""
    return lambda name: f"{name} ({dataset.units[name]})" if name in dataset.units else name
