"""What every inference method is: a holder of its own options that learns, goes on, and is read from a file."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator

from fathom import models
from fathom.base.files import Facts
from fathom.base.parameters import PATH, Constraints, Integer, Number, check_parameters
from fathom.deep.build import Architecture
from fathom.deep.model import Features
from fathom.deep.predict import Mixture
from fathom.deep.training.loop import Entry, OnCheck


class Options(BaseEstimator):
    """A holder of options in the manner of scikit-learn, which says who knows an option that it does not."""

    parameter_constraints: ClassVar[Constraints] = {}  # what each option may be

    def __new__(cls, *args: object, **options: object) -> Self:
        for name in options:
            if name not in cls._get_param_names():
                raise TypeError(cls._unknown(name))
        return super().__new__(cls)

    def set_params(self, **options: object) -> Self:
        """Set options by name."""
        for name in options:
            if name.partition("__")[0] not in self._get_param_names():
                raise ValueError(self._unknown(name))
        return super().set_params(**options)

    @classmethod
    def _unknown(cls, name: str) -> str:
        own = cls._get_param_names()
        said = f"{cls.__name__} has no option {name!r}; it has {', '.join(own) if own else 'none'}"
        known: list[type[Options]] = [Training, *map(method, models.methods())]
        others = [kind.__name__ for kind in known if name in kind._get_param_names()]
        return f"{said}; {name} is an option of {', '.join(others)}" if others else said


class Training(Options):
    """How long and how fast to train, whatever the method; None leaves the choice to it.

    Parameters
    ----------
    n_steps : int
        Steps, or iterations of a method that sees all rows at once. None: from the number of rows.
    batch_size : int
        Rows of a minibatch.
    learning_rate : float
        At its peak; None: .03 or .02, by the number of steps.
    validation_fraction : float
        Part of the rows held out: training ends with the step that was best there, and their errors set the width of
        intervals. None: what the method needs (a tenth for "dspp", which overfits small data; none for variational
        ones, whose intervals many rows set by themselves). 0: none, and variances as they were learnt.
    refit : bool
        After a held-out stop, train again on all rows for as many steps.
    checkpoint : path
        Training is written there as it goes; killed, the same call resumes. Removed at the end.
    time_limit : seconds
        Training ends there with what it has.
    """

    parameter_constraints: ClassVar[Constraints] = {
        "n_steps": [None, Integer(1)],
        "batch_size": [Integer(1)],
        "learning_rate": [None, Number(above=0)],
        "validation_fraction": [None, Number(least=0, below=1)],
        "refit": [bool],
        "checkpoint": PATH,
        "time_limit": [None, Number(above=0)],
    }

    def __init__(
        self,
        n_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float | None = None,
        validation_fraction: float | None = None,
        refit: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        time_limit: float | None = None,
    ):
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.checkpoint = checkpoint
        self.time_limit = time_limit

    def changed(self) -> tuple[str, ...]:
        """Names of the options that are not at their defaults."""
        usual = Training().get_params()
        return tuple(name for name, value in self.get_params().items() if value != usual[name])


@dataclass(frozen=True)
class Task:
    """What is to be learnt, on standardised rows: X (N, D), Y (N, P) with NaN for missing outputs, or labels (N, 1)."""

    X: np.ndarray
    Y: np.ndarray
    arch: Architecture
    training: Training = field(default_factory=Training)
    n_classes: int = 0  # 0: regression
    features: Features = None
    seed: int = 0
    on_check: OnCheck | None = None

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """X and Y."""
        return self.X, self.Y


class Learnt(Protocol):
    """What a method has learnt, in standard units; how it came to it; and how that goes into a file."""

    seed: int
    history: list[Entry]
    best_step: int
    notes: list[str]
    status: str

    def predict(self, X: np.ndarray, observed: bool) -> Mixture:
        """Means and variances (S, N, P) and weights (S) of new observations, or of the function, at X (N, D)."""

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Probabilities (N, C) of the classes at X (N, D)."""

    def functions(self, X: np.ndarray, n: int, seed: int) -> np.ndarray:
        """Whole functions (n, N, P) at the rows of X (N, D)."""

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Plain values for JSON, and arrays."""


class Inference(Options):
    """A method of inference: its options, the defaults measured for it, and how it learns.

    A method of one's own is a subclass with a `name`, the three functions below, and a row in `fathom.models.MODELS`
    under that name if its models are to be saved.
    """

    name: ClassVar[str]
    n_inducing: ClassVar[int] = 100  # where the user names no number
    dtype: ClassVar[str] = "float32"
    deep: ClassVar[bool] = True  # hidden layers are possible
    uses: ClassVar[tuple[str, ...]] = tuple(Training._get_param_names())  # options of `Training` that mean something

    def check(self, arch: Architecture, training: Training) -> None:
        """Raise an error that names the first option with a wrong value."""
        check_parameters(training)
        check_parameters(self)
        if strange := [name for name in training.changed() if name not in self.uses]:
            raise ValueError(
                f"{strange[0]} means nothing to {self.name!r}; it knows {', '.join(self.uses) or 'none of them'}"
            )

    def learn(self, task: Task) -> Learnt:
        """Learn a model from the rows of the task."""
        raise NotImplementedError

    def go_on(self, learnt: Any, task: Task, n_seen: int) -> Learnt:
        """Go on learning from further rows, `n_seen` with those seen before."""
        raise ValueError(f"inference={self.name!r} sees all rows at once: use 'svgp' for partial_fit")

    def restored(self, task: Task, facts: Facts, arrays: Mapping[str, np.ndarray]) -> Learnt:
        """What `Learnt.to_state` took apart; of the task only the shapes count."""
        raise NotImplementedError


def method(name: str) -> type[Inference]:
    """The class of the inference method that has this name in the table of models."""
    module, _, kind = models.MODELS[name].inference.rpartition(":")
    home = module if "." in module else f"fathom.inference.{module}"
    found: type[Inference] = getattr(importlib.import_module(home), kind)
    return found
