"""How long to train: held-out rows choose among schedules, and how wide the intervals are.

On small data a predictive objective is best after few steps, a schedule that ends there is better than one that is cut
off there, and a tenth of the rows is too few to say where. So every row is held out once, and the model is trained
again on all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.deep.predict import AS_LEARNT, Scales
from fathom.deep.training.calibration import score
from fathom.deep.training.loop import CHUNK, Entry, OnCheck, Settings, Trained, train

ALL = "all"  # name of the run on all rows


@dataclass(frozen=True)
class Plan:
    """Lengths of schedule to try, the number of parts to hold out in turn, and whether to train on all rows then."""

    lengths: tuple[int, ...]
    parts: int = 1
    refit: bool = False
    keep: Path | None = None  # checkpoints: here, when there is one run, else here with the run's name behind

    def place(self, name: str) -> Path | None:
        """Of a run's checkpoint."""
        single = len(self.lengths) * self.parts == 1 and name != ALL
        return self.keep if single or self.keep is None else Path(f"{self.keep}.{name}")

    def forget(self) -> None:
        """Remove all checkpoints."""
        names = [f"{n}.{part}" for n in self.lengths for part in range(self.parts)]
        for place in map(self.place, [*names, ALL]):
            if place is not None:
                place.unlink(missing_ok=True)


def carry_out(
    plan: Plan,
    loss: Loss,
    model: DeepGP,
    X: np.ndarray,
    Y: np.ndarray,
    settings: Settings,
    time_limit: float | None = None,
    on_check: OnCheck | None = None,
) -> Trained:
    """The model of the schedule and step that held-out rows prefer."""
    runs: dict[int, list[Trained]] = {}
    report = _Whole(plan, on_check)
    if plan.parts > 1:  # with batches of one size, whichever part is held out or none: one compilation
        fewest = len(X) - math.ceil(len(X) / plan.parts)
        settings = replace(settings, validation=1 / plan.parts, batch_size=min(settings.batch_size, fewest))
    for n_steps in plan.lengths:
        for part in range(plan.parts):
            own = replace(settings, n_steps=n_steps, part=part)
            place = plan.place(f"{n_steps}.{part}")
            run = train(loss, model, X, Y, own, keep=place, time_limit=time_limit, on_check=report.next(n_steps))
            runs.setdefault(n_steps, []).append(run)
    n_steps, step, scales = chosen(runs)
    if not plan.refit:
        return runs[n_steps][0]
    own = replace(settings, n_steps=n_steps, validation=0.0, stop_at=max(step, CHUNK))
    again = train(loss, model, X, Y, own, keep=plan.place(ALL), on_check=report.next(step))
    again.scales, again.history = scales, _history(runs[n_steps], step)
    return again


def chosen(runs: dict[int, list[Trained]]) -> tuple[int, int, Scales]:
    """Length of schedule, step, and scales under which all held-out rows together are most probable."""
    found = {}
    for n_steps, parts in runs.items():
        for step in set.intersection(*(set(part.profiles) for part in parts)):
            worth, scales = score(np.concatenate([part.profiles[step] for part in parts], axis=1))
            found[worth] = (n_steps, step, scales)
    if not found:  # nothing was held out
        n_steps = max(runs)
        return n_steps, runs[n_steps][0].best_step, AS_LEARNT
    return found[max(found)]


def _history(parts: list[Trained], until: int) -> list[Entry]:
    """Of all parts together."""
    entries: list[Entry] = []
    for together in zip(*(part.history for part in parts), strict=False):
        if (step := together[0]["step"]) <= until:
            seconds, objective = (float(np.mean(v)) for v in zip(*map(_times, together), strict=True))
            nlls = [nll for e in together if (nll := e["validation NLL"]) is not None]
            nll = float(np.mean(nlls)) if len(nlls) == len(together) else None
            entries.append({"step": step, "seconds": seconds, "objective": objective, "validation NLL": nll})
    return entries


def _times(entry: Entry) -> tuple[float, float]:
    return entry["seconds"], entry["objective"]


class _Whole:
    """Progress over all runs."""

    def __init__(self, plan: Plan, on_check: OnCheck | None):
        self.total = plan.parts * sum(plan.lengths) + max(plan.lengths) * plan.refit
        self.before, self.on_check = 0, on_check

    def next(self, n_steps: int) -> OnCheck | None:
        """What the next run of so many steps reports to."""
        begun = self.before
        self.before += n_steps
        if self.on_check is None:
            return None
        return lambda entry, _: self.on_check(entry | {"step": begun + entry["step"]}, self.total)  # type: ignore[misc]
