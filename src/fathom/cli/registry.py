"""The registry of benchmarks: a folder with one file for each table or figure that is reproduced.

A benchmark is a module with a docstring, whose first line describes it, a function
`run(quick, say) -> {"title": ..., "rows": [...], "notes": [...]}` and, if it has a picture, `plot(result, path)`.
The package never imports one otherwise.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import ModuleType

from fathom.base.files import Facts
from fathom.data.table import DataError, did_you_mean

VARIABLE = "FATHOM_BENCHMARKS"
VERSIONS = {"fathom": "fathomgp", "numpy": "numpy", "scipy": "scipy", "jax": "jax"}  # import name: distribution


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that has been found but not run."""

    name: str
    path: Path

    @property
    def description(self) -> str:
        """The first line of the docstring, read without running the file."""
        text = ast.get_docstring(ast.parse(self.path.read_text(encoding="utf-8"))) or ""
        return text.splitlines()[0] if text else ""

    def load(self) -> ModuleType:
        """The module itself."""
        name = f"fathom_benchmark_{self.path.stem}"
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None:
            raise DataError(f"{self.path} cannot be loaded: it is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and workers look their module up by name
        if str(self.path.parent) not in sys.path:
            sys.path.append(str(self.path.parent))  # benchmarks share files whose names begin with "_"
        spec.loader.exec_module(module)
        if not callable(getattr(module, "run", None)):
            raise DataError(f"{self.path} has no function run(quick, say): add one")
        return module


def folder() -> Path:
    """Where the benchmarks are: `FATHOM_BENCHMARKS`, beside `src` in a clone, or in the current folder."""
    told = os.environ.get(VARIABLE)
    if told:
        if not Path(told).is_dir():
            raise DataError(f"{VARIABLE} is {told}, which is no folder: correct or unset it")
        return Path(told)
    for candidate in (Path(__file__).resolve().parents[3] / "benchmarks", Path("benchmarks")):
        if candidate.is_dir():
            return candidate
    raise DataError(f"there is no folder of benchmarks: run this in a clone of the repository, or set {VARIABLE}")


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name, in alphabetical order."""
    files = sorted(path for path in folder().glob("*.py") if not path.stem.startswith("_"))
    return {name: Benchmark(name, path) for path in files if (name := path.stem.replace("_", "-"))}


def find(name: str) -> Benchmark:
    """The benchmark called `name`; dashes and underscores are the same."""
    known = benchmarks()
    plain = name.replace("_", "-")
    if plain not in known:
        there = f"there are: {', '.join(known)}" if known else f"{folder()} holds none"
        raise DataError(f"there is no benchmark {name!r}{did_you_mean(plain, known)}; {there}")
    return known[plain]


def run(benchmark: Benchmark, quick: bool, say: Callable[[str], None]) -> tuple[Facts, ModuleType]:
    """What the benchmark found, with all that is needed to judge it later, and the module for its plot."""
    module = benchmark.load()
    start = time.perf_counter()
    found = module.run(quick=quick, say=say)
    about = {
        "name": benchmark.name,
        "quick": quick,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - start,
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in VERSIONS},
        "machine": {"cpus": os.cpu_count()},
    }
    return {"title": benchmark.name, "rows": [], "notes": [], **found, **about}, module


def _version(name: str) -> str | None:
    try:
        return metadata.version(VERSIONS[name])
    except metadata.PackageNotFoundError:
        return None
