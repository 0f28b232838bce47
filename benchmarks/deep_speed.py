"""A training step of two-layer deep GPs against GPyTorch's, as ratios in one run on one core.

D = 8, three hidden units with inducing points of their own, S = 8 sigma points, float32; a step is value, gradient and
Adam. Set FATHOM_PEERS to the Python of an environment with GPyTorch (see peers/gpytorch_models.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fathom.deep.build import Architecture, build
from fathom.deep.training import steps
from fathom.deep.training.loop import CHUNK
from fathom.inference import method as method_of

PEERS = "FATHOM_PEERS"
SIZES = {(100, 256): 5.0, (300, 256): 3.5, (100, 1024): 3.5}  # (M, batch) and the ratio asked for


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    cores, rows = os.sched_getaffinity(0), []
    os.sched_setaffinity(0, {max(cores)})  # inherited by the peers' process: both run on the same core
    try:
        for name in ("dspp",) if quick else ("dspp", "dsvi", "svgp"):
            for (m, b), target in list(SIZES.items())[: 1 if quick else None]:
                say(f"{name}, M = {m}, batch {b}")
                ours, theirs = zip(
                    *(pair(name, m, b, 3 if quick else 10) for _ in range(1 if quick else 3)), strict=True
                )
                rows.append(row(name, m, b, min(ours), min(theirs), target))
    finally:
        os.sched_setaffinity(0, cores)
    notes = [
        "Milliseconds of one step, the least of interleaved repeats, both on one core",
        "GPyTorch: its own examples' models, one step a call; Fathom: ten steps a compiled call",
    ]
    if PEERS not in os.environ:
        notes.append("GPyTorch was not measured: set FATHOM_PEERS to a Python that has it")
    return {"title": "Training steps of sparse and deep GPs", "rows": rows, "notes": notes}


def pair(name: str, m: int, b: int, repeats: int) -> tuple[float, float]:
    return fathom_step(name, m, b, repeats), gpytorch_step(name, m, b, repeats)


def fathom_step(name: str, m: int, b: int, repeats: int) -> float:
    rng, method = np.random.default_rng(0), method_of(name)()
    X, Y = rng.standard_normal((2000, 8)), rng.standard_normal((2000, 1))
    widths = (3,) if method.deep else ()
    model = build(jax.random.key(0), Architecture(widths, m), method.beginning(), X, Y)
    loss, state = method.loss(), steps.begin(model, bool(method.natural))
    knobs = steps.Knobs(*(jnp.float32(v) for v in (0.01, 1e4, 1.0, 2000.0, method.natural)))
    rows = rng.integers(0, 2000, (CHUNK, b))
    Xs, Ys = (jnp.asarray(a[rows], jnp.float32) for a in (X, Y))
    times = []
    for i in range(repeats + 1):
        start = time.perf_counter()
        state, costs = steps.run(loss, state, Xs, Ys, jax.random.key(1), knobs)
        jax.block_until_ready(costs)
        if i:  # the first compiles
            times.append((time.perf_counter() - start) / CHUNK)
    return 1e3 * min(times)


def gpytorch_step(name: str, m: int, b: int, repeats: int) -> float:
    if PEERS not in os.environ:
        return float("nan")
    script = Path(__file__).parent / "peers" / "gpytorch_models.py"
    task = json.dumps({"do": "speed", "repeats": repeats, "cases": [[name, m, b]]})
    done = subprocess.run([os.environ[PEERS], str(script)], input=task, capture_output=True, text=True, check=True)
    return float(next(iter(json.loads(done.stdout).values())))


def row(name: str, m: int, b: int, ours: float, theirs: float, target: float) -> dict[str, Any]:
    ratio = theirs / ours
    asked = f">= {target:g}" if name != "svgp" else "-"
    return {
        "model": name,
        "M": m,
        "batch": b,
        "Fathom (ms)": ours,
        "GPyTorch (ms)": theirs,
        "ratio": ratio,
        "target": asked,
    }
