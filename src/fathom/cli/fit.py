"""The command `fathom fit`: one model, one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom.cli import console
from fathom.cli.options import Data, Drop, Json, Seed, Target, Time

_LEAVE_ONE_OUT = ("NLL", "RMSE", "CRPS", "coverage90")


def fit(
    data: Data,
    model: Annotated[
        str, typer.Option(help="gp, vfe, fitc, svgp, odsvgp, ppgpr, dsvi, gamma, dspp, sampling or sep.")
    ] = "gp",
    kernel: Annotated[
        str | None, typer.Option(help='In the kernel language, such as "SE*Per + Lin".', show_default="the model's own")
    ] = None,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.fathom"),
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    restarts: Annotated[int, typer.Option(help="Of gp: optimisations of the evidence.", min=1)] = 5,
    widths: Annotated[str | None, typer.Option(help="Of deep models: units of hidden layers, as 3,3; or auto.")] = None,
    inducing: Annotated[int | None, typer.Option(help="Of sparse and deep models: inducing points.", min=1)] = None,
    steps: Annotated[int | None, typer.Option(help="Of training.", min=1, show_default="from the rows")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit a model and write it to a file. Interrupted training goes on when the same command is given again."""
    from fathom.data.datasets import resolve
    from fathom.data.table import did_you_mean
    from fathom.estimators.comparison import SAVED
    from fathom.estimators.modelfile import save

    if model not in SAVED:
        near = did_you_mean(model, SAVED)
        raise ValueError(f"--model {model!r}: there is no such model{near}; choose from: {', '.join(SAVED)}")
    console.check_folder(out)
    dataset = resolve(data, target or None, time_column, drop)
    start = time.perf_counter()
    options = {"kernel": kernel, "seed": seed, "restarts": restarts, "inducing": inducing, "steps": steps}
    made = SAVED[model](**options, widths=_widths(widths), checkpoint=out.with_name(out.name + ".checkpoint"))
    fitted = _fit_exact(made, dataset) if model == "gp" else _train(made, dataset)
    about = {"model": model, "seconds": time.perf_counter() - start, "out": str(out)}
    save(fitted, out)
    console.wrote(out)
    _show(fitted, dataset, about, as_json)


def _widths(text: str | None) -> tuple[int, ...] | str | None:
    if text is None or text == "auto":
        return text
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError(f"--widths {text!r}: whole numbers separated by commas, such as 3 or 3,3, or auto") from None


def _fit_exact(model: Any, dataset: Any) -> Any:
    """Fit with a progress bar that shows the best evidence so far, in the user's units."""
    import numpy as np

    from fathom.data.dataset import Scaler
    from fathom.data.frames import inputs

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


def _train(model: Any, dataset: Any) -> Any:
    """Train with a progress bar that shows objective and held-out NLL."""
    from fathom.data.frames import inputs

    with console.progress("training") as step:

        def on_check(entry: dict[str, Any], total: int) -> None:
            held = entry["validation NLL"]
            tail = "" if held is None else f", held-out NLL {held:.3f}"
            step(f"training: objective {entry['objective']:.3f}{tail}", entry["step"] / total)

        model.fit(inputs(dataset), dataset.y, on_check=on_check)
    model.columns_ = dataset.columns
    return model


def _show(model: Any, dataset: Any, about: dict[str, Any], as_json: bool) -> None:
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


def _found(model: Any, dataset: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
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
    found = {"inference": model.inference, "steps": last["step"], "objective": last["objective"]}
    found |= {"validation_nll": held, "best_step": model.best_step_, "status": model.status_}
    lines = [("inference", model.inference), ("objective", f"{last['objective']:.4g} after {last['step']} steps")]
    if held is not None:
        lines.append(("held-out NLL", f"{held:.4g} in standard units, at step {model.best_step_}"))
    if len(weights := getattr(model, "weights_", [1.0])) > 1:
        found["weights"] = weights
        best = f"the best weighs {100 * weights[0]:.0f} %"
        lines.append(("predictions", f"average {len(weights)} of {len(model.history_)} starts; {best}"))
    return found, lines


def _score_text(scores: dict[str, float]) -> str:
    inside = f"{100 * scores['coverage90']:.0f} % of rows inside their 90 % intervals"
    return f"NLL {scores['NLL']:.4g}, RMSE {scores['RMSE']:.4g} (the target's units), {inside}"


def header(dataset: Any) -> Any:
    """From the name of a column to the name with its unit."""
    return lambda name: f"{name} ({dataset.units[name]})" if name in dataset.units else name
