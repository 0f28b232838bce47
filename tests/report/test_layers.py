"""Imports inside the report point one way: numbers, then what is measured, then words, then pictures, then the page."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import fathom

ROOM = Path(fathom.__file__).parent / "report"
FILES = sorted(ROOM.rglob("*.py"))
# A file may import from its own floor and from those above its line, never below.
FLOORS = [
    {"numbers", "model"},
    {"facts"},
    {"measure"},
    {"words", "prose"},
    {"draw"},
    {"consistency"},
    {"contents"},
    {"plaintext", "view"},
    {"document"},
]
LEVEL = {name: level for level, floor in enumerate(FLOORS) for name in floor}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOM).with_suffix("").parts)


def imported(path: Path) -> set[str]:
    """The files of the report that a file imports, at the top or inside functions."""
    known, found = {name_of(other) for other in FILES}, set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fathom.report"):
            module = node.module.removeprefix("fathom.report").lstrip(".")
            found |= {".".join(filter(None, (module, alias.name))) for alias in node.names} | {module}
    return found & known


def test_every_file_has_a_floor():
    assert {name_of(path).split(".")[0] for path in FILES} - {"__init__"} == set(LEVEL)


def test_floors_import_only_from_those_above():
    strays = [
        f"{name_of(path)} imports {other}"
        for path in FILES
        for other in imported(path)
        if LEVEL[other.split(".")[0]] > LEVEL.get(name_of(path).split(".")[0], -1)
    ]
    assert strays == []


def test_no_two_files_import_each_other():
    graph = {name_of(path): imported(path) for path in FILES}
    assert sum(map(len, graph.values())) > 50
    list(TopologicalSorter(graph).static_order())  # raises where there is a cycle
