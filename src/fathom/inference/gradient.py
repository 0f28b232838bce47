"""What methods that train by stochastic gradients share: steps from the number of rows, held-out rows, calibration.

A method of this kind says three things: how a model begins (`beginning`), what is made small (`loss`), and the defaults
that were measured for it (class attributes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import jax
import numpy as np

from fathom.base.compiling import precision
from fathom.base.files import Facts
from fathom.base.parameters import Constraints, Number
from fathom.deep.build import Beginning, build
from fathom.deep.ensemble import Ensemble
from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.deep.training.calibration import calibrate
from fathom.deep.training.loop import Settings, train, whole
from fathom.deep.training.schedule import Plan, carry_out
from fathom.inference.base import Inference, Task

BETAS = (0.05, 0.2, 1.0)  # tried by beta="cv"
HELD_FOR_BETA = 0.1  # part of the rows that choose it, where no other is held out
MOST_STEPS = 4000
ENOUGH = 500  # held-out rows that can decide alone; with fewer, every row is held out once
HELD_FROM_NETWORKS = 0.1  # part of the rows, whatever the method: a network learns any rows by heart
HELD = 25  # rows held out at least, as far as three tenths of them go: stopping on fewer is a lottery
Beta = float | Literal["cv"]  # weight of the KL; "cv" chooses among `BETAS` by held-out rows


class Gradient(Inference):
    """A method that trains by Adam on minibatches."""

    natural: ClassVar[float] = 0.0  # natural-gradient step of the last layer's q; 0: Adam
    validation: ClassVar[float] = 0.0  # part of the rows held out to stop in time
    schedules: ClassVar[tuple[int, ...]] = (4, 2, 1)  # small data choose among schedules of these parts of the steps
    parts: ClassVar[int] = 5  # of small data, held out in turn
    epochs: ClassVar[int] = 100  # passes over the rows, as far as the limits of steps allow
    fewest: ClassVar[int] = 2000  # steps on small data
    calibrated: ClassVar[bool] = False  # training rows, where they are many, set the width of intervals
    parameter_constraints: ClassVar[Constraints] = {"beta": ["cv", Number(least=0)]}
    beta: Beta = 1.0  # an option of the methods whose objective has a KL to weigh

    def beginning(self) -> Beginning:
        """How a model of this method begins."""
        raise NotImplementedError

    def loss(self) -> Loss:
        """What training makes small."""
        raise NotImplementedError

    def finished(self, model: DeepGP, task: Task, n_seen: int) -> DeepGP:
        """The trained model after what the method does last."""
        return model

    def resumed(self, model: DeepGP) -> DeepGP:
        """The model in the form in which it is trained: the inverse of `finished`, where there is one."""
        return model

    def learn(self, task: Task) -> Ensemble:
        """Train a model, on held-out schedules where the data are few."""
        with precision(task.arch.dtype):
            model = self._begun(task, self.beginning())
            settings = self.settings(task)
            settings = replace(settings, beta=self._chosen_beta(model, task, settings))
            plan = self.plan(task, settings)
            limit = task.training.time_limit
            trained = carry_out(plan, self.loss(), model, *task.rows, settings, limit, task.on_check)
            trained.model = self.finished(trained.model, task, len(task.X))
            if self.calibrated and task.training.validation_fraction is None and not settings.validation:
                trained.scales = calibrate(trained.model, *task.rows, settings.seed)
        plan.forget()
        return Ensemble.of(trained, settings.seed, settings.beta)

    def go_on(self, learnt: Ensemble, task: Task, n_seen: int) -> Ensemble:
        """Train on further rows; of an average the heaviest model goes on."""
        settings = replace(self.settings(task), validation=0.0, beta=learnt.beta, n_rows=n_seen, seed=learnt.seed)
        with precision(task.arch.dtype):
            trained = train(self.loss(), self.resumed(learnt.models[0]), *task.rows, settings)
            trained.model = self.finished(trained.model, task, n_seen)
        trained.history, trained.scales = [*learnt.history, *trained.history], learnt.scales
        trained.notes = [*learnt.notes, *trained.notes]
        return Ensemble.of(trained, learnt.seed, learnt.beta)

    def restored(self, task: Task, facts: Facts, arrays: Mapping[str, np.ndarray]) -> Ensemble:
        """The models of a file."""
        with precision(task.arch.dtype):
            return Ensemble.from_state(self._begun(task, self.ending()), facts, arrays)

    def ending(self) -> Beginning:
        """The structure of a model that has been trained."""
        return self.beginning()

    def _begun(self, task: Task, beginning: Beginning) -> DeepGP:
        features = None
        if task.features is not None:
            from fathom.deep.features import extractor

            features = extractor(task.features, task.X, task.seed, task.arch.dtype)
        return build(jax.random.key(task.seed), task.arch, beginning, *task.rows, task.n_classes, features)

    # -- how long, and what is held out ------------------------------------------------------------------------

    def settings(self, task: Task) -> Settings:
        """Steps, rate and held-out part for so many rows."""
        n, said = len(task.X), task.training
        steps = said.n_steps or whole(np.clip(self.epochs * n / said.batch_size, self.fewest, MOST_STEPS))
        rate = said.learning_rate or (0.03 if steps <= max(self.fewest, 1500) else 0.02)
        held = said.validation_fraction
        if held is None:
            held = max(self.validation, HELD_FROM_NETWORKS * (task.features is not None))
            held = min(max(held, HELD / n), 0.3) if held else 0.0
        return Settings(steps, said.batch_size, rate, validation=held, seed=task.seed, natural=self.natural)

    def plan(self, task: Task, settings: Settings) -> Plan:
        """One run, when anything about it was said or held-out rows are many; else every row is held out once."""
        said, n = task.training, len(task.X)
        keep = None if said.checkpoint is None else Path(said.checkpoint)
        fixed = any(x is not None for x in (said.n_steps, said.time_limit, said.validation_fraction))
        if fixed or not settings.validation or settings.validation * n >= ENOUGH:
            return Plan((settings.n_steps,), refit=said.refit and settings.validation > 0, keep=keep)
        lengths = tuple(whole(settings.n_steps / part) for part in self.schedules)
        return Plan(lengths, min(self.parts, n), refit=True, keep=keep)

    def _chosen_beta(self, model: DeepGP, task: Task, settings: Settings) -> float:
        """β as given or, for "cv", the one with the best NLL on held-out rows."""
        if self.beta != "cv":
            return float(self.beta)
        settings = replace(settings, validation=settings.validation or HELD_FOR_BETA)
        found = {}
        for beta in BETAS:
            history = train(self.loss(), model, *task.rows, replace(settings, beta=beta)).history
            found[beta] = min((h["validation NLL"] or math.inf for h in history), default=math.inf)
        return min(found, key=lambda beta: found[beta])
