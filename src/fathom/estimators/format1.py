"""Files of sparse and deep models of format 1, in which the options of all methods were parameters of the estimator."""

from __future__ import annotations

from fathom.base.files import Facts
from fathom.base.stored import Damaged, brief, entry
from fathom.inference.base import method

_TRAINING = ("n_steps", "batch_size", "learning_rate", "validation_fraction", "refit", "time_limit")
_KEPT = ("widths", "n_inducing", "input_connected", "kernel", "mean", "shared", "features", "dtype", "verbose")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "fitc": (),
    "vfe": (),
    "pep": ("power",),
    "svgp": ("beta",),
    "odsvgp": ("n_mean", "beta"),
    "ppgpr": ("beta",),
    "dsvi": ("n_samples", "beta"),
    "gamma": ("n_samples", "beta"),
    "dspp": ("quadrature", "n_quadrature", "beta"),
    "sampling": ("n_samples", "n_restarts", "optimizer", "estimator", "prior", "posterior"),
    "sep": ("power", "n_sweeps"),
}
_OF_ALL_ROWS = ("fitc", "vfe", "pep")


def as_second(old: Facts) -> Facts:
    """The description of a format 1 file as one of format 2. None meant the method's own choice, and is left out."""
    params, fit = entry(old, "params", dict), entry(old, "fit", dict)
    name = entry(params, "inference", str)
    if name not in _OPTIONS:
        raise Damaged(f"its inference must be one of {', '.join(_OPTIONS)}, not {brief(name)}")
    usual = method(name)().get_params()
    options = {key: params[key] for key in _OPTIONS[name] if params.get(key) not in (None, usual[key])}
    trained = {name: params[name] for name in _TRAINING if name in params}
    if name in _OF_ALL_ROWS:
        trained = {"n_steps": params.get("n_steps")}
    learnt = {**fit, "weights": old.get("weights", [1.0]), "notes": []} | {"kernel": old.get("fitted")}
    return {
        **{key: old[key] for key in ("scaler", "names", "n_inputs", "columns", "single", "classes") if key in old},
        "params": {name: params[name] for name in _KEPT if name in params} | {"random_state": None},
        "inference": {"name": name, "options": options, "named": not options},
        "training": trained,
        "learnt": learnt,
        "n_seen": 0,  # was not kept
        "last": fit.get("last"),
        "remarks": fit.get("notes"),
    }
