"""How the code is built: rooms, imports, sizes, and the one place that factorises."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "fathom"
FILES = sorted(SOURCE.rglob("*.py"))

# Rooms from the ground up. A file may import from its own room and from those above its line, never below.
ROOMS = [
    {"base"},
    {"kernels"},
    {"process", "predictive", "likelihoods"},
    {"data", "metrics"},
    {"gp"},
    {"sparse"},
    {"deep"},
    {"streams"},
    {"models"},
    {"inference"},
    {"search"},
    {"report"},
    {"plotting"},
    {"estimators"},
    {"cli", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of fathom that a file imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("fathom.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fathom":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    if room(path) == "__init__":
        return
    for other in imported_rooms(path) & set(LEVEL):
        assert LEVEL[other] <= LEVEL[room(path)], f"{room(path)} must not import {other}"


def test_every_file_has_a_room():
    assert {room(path) for path in FILES} - {"__init__"} == set(LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 32, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_linalg_factorises(path):
    if path.stem == "linalg":
        return
    strays = re.findall(r"cholesky\(|potr[fis]|\.eigh\(|cho_factor|linalg\.inv\(|linalg\.solve\(", path.read_text())
    allowed = ["eigvalsh("] if path.name == "laws.py" else []
    assert [stray for stray in strays if stray not in allowed] == []


def modules_after(code: str) -> set[str]:
    """The top-level modules loaded by a fresh interpreter that runs the code."""
    script = f"import sys\n{code}\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_fathom_is_light():
    loaded = modules_after("import fathom")
    assert not loaded & {"matplotlib", "pandas", "typer", "jax", "sklearn", "scipy", "numpy"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["kernels.plan", "gp.learn", "sparse.collapsed", "search.run", "data", "data.datasets", "metrics"]
)
def test_workers_need_no_jax(module):
    assert not modules_after(f"import fathom.{module}") & {"jax", "pandas", "matplotlib", "typer", "sklearn"}


@pytest.mark.slow
def test_the_numpy_path_runs_without_jax():
    loaded = modules_after(
        "import numpy as np, fathom\n"
        "from fathom.kernels.syntax import parse\n"
        "fathom.GPRegressor('SE*Per + Lin', n_restarts=1).fit(np.arange(9.0)[:, None], np.arange(9.0) % 3)"
    )
    assert "jax" not in loaded


@pytest.mark.slow
def test_the_jax_configuration_is_left_alone():
    code = (
        "import jax; before = jax.config.values.copy()\n"
        "import fathom, numpy as np\n"
        "fathom.kernels.SE().gram(np.zeros((2, 1)))\n"
        "fathom.GPRegressor(n_restarts=1, engine='jax').fit(np.arange(5.0)[:, None], np.arange(5.0) % 2)\n"
        "assert jax.config.values == before\n"
        "assert jax.numpy.ones(1).dtype == 'float32'\n"
    )
    modules_after(code)


def test_public_names_resolve():
    import fathom

    for name in fathom.__all__:
        assert getattr(fathom, name) is not None
    for name in fathom.kernels.__all__:
        assert getattr(fathom.kernels, name) is not None
    assert set(fathom.__all__) < set(dir(fathom))
    with pytest.raises(AttributeError, match="module 'fathom' has no attribute 'Nonsense'"):
        fathom.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="module 'fathom.kernels' has no attribute 'Nonsense'"):
        fathom.kernels.Nonsense  # noqa: B018
