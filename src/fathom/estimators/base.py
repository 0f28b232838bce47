"""What every estimator trained by stochastic gradients shares: checks, units, training, predictions, files."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from fathom.data.dataset import Columns, Scaler
from fathom.estimators.exact import LARGEST, short_text, with_row
from fathom.predictive import Predictive

BETAS = (0.05, 0.2, 1.0)  # tried by beta="cv"
_FITTED = (
    "seed",
    "beta",
    "history",
    "best_step",
    "status",
    "notes",
    "scales",
    "last",
)  # attributes that go into a model file
MOST_STEPS = 4000
ENOUGH = 500  # held-out rows that can decide alone; with fewer, every row is held out once
HELD_FROM_NETWORKS = 0.1  # part of the rows, whatever the method
HELD = 25  # rows held out at least, as far as three tenths of them go: stopping on fewer is a lottery


class Stochastic(BaseEstimator):
    """A sparse or deep GP on standardised data. Subclasses say which methods they know and what an answer is."""

    methods: tuple[str, ...] = ()

    def _architecture(self) -> Any:
        """The `Architecture` that the parameters ask for."""
        raise NotImplementedError

    # -- settings ----------------------------------------------------------------------------------------------

    def _method(self) -> Any:
        from fathom.deep.methods import METHODS

        if self.inference not in self.methods:
            raise ValueError(f"inference must be one of {', '.join(self.methods)}, not {self.inference!r}")
        return METHODS[self.inference]

    def _dtype(self) -> str:
        if self.dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', not {self.dtype!r}")
        return str(self.dtype or self._method().dtype)

    @contextlib.contextmanager
    def _precision(self) -> Iterator[None]:
        """float64 inside, when asked for, without touching the user's JAX configuration."""
        import jax

        with jax.enable_x64(self._dtype() == "float64"):
            yield

    def _settings(self, n: int) -> Any:
        from fathom.deep.training.loop import Settings, whole

        for name, least in (("batch_size", 1), ("n_inducing", 1)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.n_steps is not None and self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1 (or None), not {self.n_steps}")
        method = self._method()
        steps = self.n_steps or whole(np.clip(method.epochs * n / self.batch_size, method.fewest, MOST_STEPS))
        rate = self.learning_rate or (0.03 if steps <= max(method.fewest, 1500) else 0.02)
        held = self.validation_fraction
        if held is None:
            networked = getattr(self, "features", None) is not None  # a network learns any rows by heart
            held = max(method.validation, HELD_FROM_NETWORKS * networked)
            held = min(max(held, HELD / n), 0.3) if held else 0.0
        if not 0 <= held < 1:
            raise ValueError(f"validation_fraction must be at least 0 and below 1, not {held}")
        beta = 1.0 if self.beta is None or self.beta == "cv" else self.beta
        if isinstance(beta, str) or beta < 0:
            raise ValueError(f"beta must be a positive number, None or 'cv', not {self.beta!r}")
        return Settings(steps, self.batch_size, rate, beta, held, seed=self._seed())

    def _seed(self) -> int:
        rng = self.random_state
        if rng is None or isinstance(rng, (int, np.integer)):
            return int(rng or 0)
        return int(np.random.default_rng(rng).integers(2**31))

    # -- fitting -----------------------------------------------------------------------------------------------

    def _learn(self, X: np.ndarray, Y: np.ndarray, n_classes: int, on_check: Any) -> None:
        """Build and train on standardised rows."""
        import jax

        from fathom.deep.heldout import tails
        from fathom.deep.model import build
        from fathom.deep.training.schedule import carry_out

        settings, method = self._settings(len(X)), self._method()
        if n_starts := self._n_starts(*X.shape):
            self._climb(X, Y, n_classes, n_starts, settings.seed, self._report(on_check))
            return
        with self._precision():
            features = self._features(X)
            model = build(jax.random.key(settings.seed), self._architecture(), method, X, Y, n_classes, features)
            self.beta_ = self._chosen_beta(model, X, Y, settings) if self.beta == "cv" else settings.beta
            settings = replace(settings, beta=self.beta_)
            plan, report = self._plan(settings, len(X)), self._report(on_check)
            trained = carry_out(plan, method, model, X, Y, settings, self.time_limit, report)
            trained.model = self._finished(trained.model, X, Y)
            if method.tails and self.validation_fraction is None and not settings.validation:
                trained.scales = tails(trained.model, X, Y, settings.seed)
        plan.forget()
        self._keep(trained, settings.seed)
        self.n_seen_ = len(X)

    def _choose_widths(self, X: np.ndarray, Y: np.ndarray, n_classes: int) -> None:
        """Of hidden layers, where there are any and they were left open."""

    def _finished(self, model: Any, X: np.ndarray, Y: np.ndarray) -> Any:
        """The trained model after what a method does last."""
        return model

    def _n_starts(self, n: int, d: int) -> int:
        """Starts of a climb with all rows at once; 0: minibatches."""
        return 0

    def _climb(self, X: np.ndarray, Y: np.ndarray, n_classes: int, n_starts: int, seed: int, tell: Any) -> None:
        from fathom.deep.restarts import learn

        how = (n_starts, self.n_steps, seed, n_classes, self.time_limit, tell)
        with self._precision():
            trained = learn(self._method(), self._architecture(), X, Y, *how)
        self.beta_, self.n_seen_ = 1.0, len(X)
        self._keep(trained, seed)

    def _plan(self, settings: Any, n: int) -> Any:
        """One run, when anything about it was said; else what `deep.schedule` says of small data."""
        from fathom.deep.training.loop import whole
        from fathom.deep.training.schedule import Plan

        keep = None if self.checkpoint is None else Path(self.checkpoint)
        said = any(x is not None for x in (self.n_steps, self.time_limit, self.validation_fraction))
        if said or not settings.validation or settings.validation * n >= ENOUGH:
            return Plan((settings.n_steps,), refit=self.refit and settings.validation > 0, keep=keep)
        method = self._method()
        lengths = tuple(whole(settings.n_steps / part) for part in method.schedules)
        return Plan(lengths, min(method.parts, n), refit=True, keep=keep)

    def _features(self, X: np.ndarray) -> Any:
        from fathom.deep.features import extractor

        return extractor(getattr(self, "features", None), X, self._seed(), self._dtype())

    def _chosen_beta(self, model: Any, X: np.ndarray, Y: np.ndarray, settings: Any) -> float:
        """The β with the best NLL on held-out rows."""
        from fathom.deep.training.loop import train

        settings = replace(settings, validation=settings.validation or 0.1)
        found = {}
        for beta in BETAS:
            history = train(self._method(), model, X, Y, replace(settings, beta=beta)).history
            found[beta] = min((h["validation NLL"] or math.inf for h in history), default=math.inf)
        return min(found, key=lambda beta: found[beta])

    def _report(self, on_check: Callable[[dict[str, Any], int], None] | None) -> Any:
        def tell(entry: dict[str, Any], total: int) -> None:
            if self.verbose:
                held = entry["validation NLL"]
                tail = "" if held is None else f", held-out NLL {held:.3f}"
                print(f"step {entry['step']} of {total}: objective {entry['objective']:.3f}{tail}")
            if on_check is not None:
                on_check(entry, total)

        return tell

    def _keep(self, trained: Any, seed: int) -> None:
        self.weights_, self.models_ = map(list, zip(*(trained.parts or [(1.0, trained.model)]), strict=True))
        self.history_ = trained.history
        self.best_step_, self.status_, self.scales_ = trained.best_step, trained.status, trained.scales
        self.notes_ = [*getattr(self, "notes_", []), *trained.notes]
        self.seed_ = seed

    @property
    def model_(self) -> Any:
        """The layers; where predictions average several models, those of the one with the most weight."""
        return self.models_[0]

    @property
    def kernels_(self) -> list[str]:
        """The structure of each layer's kernel."""
        check_is_fitted(self)
        return [short_text(layer.form.kernel) for layer in self.model_.layers]

    # -- data --------------------------------------------------------------------------------------------------

    def _checked_inputs(self, X: Any, reset: bool) -> np.ndarray:
        try:
            X = validate_data(self, X, reset=reset, dtype=float, ensure_min_samples=1 + reset)
        except ValueError as problem:
            raise ValueError(with_row(problem, X, None)) from None
        if np.abs(X).max(initial=0.0) > LARGEST:
            raise ValueError(f"values beyond {LARGEST:.0e} cannot be squared: rescale the data")
        if reset:
            self.last_ = X.max(0).tolist()  # where a forecast begins: the rows themselves are not kept
        return X

    def _inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.scaler_.x(self._checked_inputs(X, reset=False))

    def _latent(self, X: Any) -> list[tuple[Any, np.ndarray, np.ndarray, np.ndarray]]:
        """Of each model that is averaged: its likelihood, and the mixture of its latent functions."""
        from fathom.deep.heldout import latent

        X_std = self._inputs(X)
        with self._precision():
            return [(model.likelihood, *latent(model, X_std, self.seed_)) for model in self.models_]

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    # -- model files -------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything a model file needs: JSON values and arrays."""
        from fathom.deep.training.checkpoint import arrays_of

        check_is_fitted(self)
        if getattr(self, "features", None) is not None and not isinstance(self.features, str):
            raise ValueError("a model with a feature extractor of your own cannot be saved: only named ones can")
        arrays: dict[str, np.ndarray] = {}
        for i, model in enumerate(self.models_):
            arrays |= arrays_of(_name(i), model)
        return self._described() | {"weights": self.weights_}, arrays

    def _described(self) -> dict[str, Any]:
        columns: Columns | None = getattr(self, "columns_", None)
        kernel = None if self.kernel is None else _kernel_text(self.kernel)
        return {
            "params": {**self.get_params(), "kernel": kernel, "random_state": None, "checkpoint": None},
            "scaler": self.scaler_.to_dict(),
            "names": self._names(),
            "n_inputs": int(self.n_features_in_),
            "columns": None if columns is None else columns.to_dict(),
            "fit": {name: getattr(self, f"{name}_") for name in _FITTED},
            **self._own_state(),
        }

    def _own_state(self) -> dict[str, Any]:
        """What a subclass adds to the file."""
        return {}

    def _set_own(self, description: dict[str, Any]) -> None:
        """The inverse of `_own_state`."""

    def _shapes(self, description: dict[str, Any]) -> tuple[np.ndarray, int]:
        """A row of standardised outputs and the number of classes, to rebuild the model's structure."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `to_state`."""
        import jax

        from fathom.deep.model import build
        from fathom.deep.training.checkpoint import filled

        model = cls._restored(description)
        rows = np.random.default_rng(0).standard_normal((4, model.n_features_in_))
        Y, n_classes = model._shapes(description)
        with model._precision():
            method = model._method()
            settings = jax.random.key(0), model._architecture(), replace(method, q=method.learnt_q)
            like = build(*settings, rows, np.repeat(Y, 4, 0), n_classes, model._features(rows))
            model.weights_ = description.get("weights", [1.0])
            model.models_ = [filled(_name(i), like, arrays) for i in range(len(model.weights_))]
        return model

    @classmethod
    def _restored(cls, description: dict[str, Any]) -> Self:
        """Everything but what was learnt."""
        model = cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in description["params"].items()})
        model.n_features_in_, model.scaler_ = int(description["n_inputs"]), Scaler.from_dict(description["scaler"])
        if description["names"] is not None:
            model.feature_names_in_ = np.asarray(description["names"], dtype=object)
        if description["columns"] is not None:
            model.columns_ = Columns.from_dict(description["columns"])
        for name in _FITTED:
            setattr(model, f"{name}_", description["fit"][name])
        model._set_own(description)
        return model


def _name(i: int) -> str:
    """Of the arrays of a model in a file."""
    return f"model{i or ''}"


def _kernel_text(kernel: Any) -> Any:
    return [str(k) for k in kernel] if isinstance(kernel, (tuple, list)) else str(kernel)


def checked_outputs(y: Any, n: int) -> np.ndarray:
    """Outputs (N) or (N, P); NaN marks a missing one where there are several."""
    y = check_array(y, ensure_2d=False, dtype=float, ensure_all_finite=False, input_name="y")
    if y.ndim > 2 or len(y) != n:
        raise ValueError(f"y has shape {y.shape} for {n} rows of X: it must be (N) or (N, P)")
    single = y.ndim == 1 or y.shape[1] == 1
    bad = np.isinf(y) | (np.isnan(y) & single)
    if bad.any():
        row = int(np.argmax(bad.reshape(n, -1).any(1)))
        raise ValueError(f"Input y contains NaN or infinity. The first is in row {row}: drop the row or fill it in.")
    if np.all(np.isnan(y.reshape(n, -1)), axis=0).any():
        raise ValueError("an output has no known value: drop the column")
    if np.nanmax(np.abs(y)) > LARGEST:
        raise ValueError(f"values beyond {LARGEST:.0e} cannot be squared: rescale the data")
    return y


def mixture(means: np.ndarray, variances: np.ndarray, weights: np.ndarray, scaler: Scaler, single: bool) -> Predictive:
    """Moments (S, N, P) in standard units as a `Predictive` in the user's."""
    means, variances = (np.moveaxis(np.asarray(a, dtype=float), 0, -1) for a in (means, variances))
    standard = Predictive(weights, means, variances).affine(scaler.y_mean, scaler.y_sd)
    return Predictive(standard.weights, standard.means[:, 0], standard.variances[:, 0]) if single else standard
