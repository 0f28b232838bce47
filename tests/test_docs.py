"""Every example in the documentation runs."""

import re
from inspect import signature
from pathlib import Path

import pytest

from fathom import models
from fathom.inference import method

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    """Block after block; one that begins with the name of a file is that file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(models, "MODELS", dict(models.MODELS))  # a page may add a row
    names: dict = {}
    for block in blocks(page, "python"):
        if own := re.match(r"# (\S+\.py)\n", block):
            (tmp_path / own[1]).parent.mkdir(exist_ok=True)
            (tmp_path / own[1]).write_text(block)
        else:
            exec(compile(block, page.name, "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sh")], ids=lambda p: p.name)
def test_commands_run(page, tmp_path, monkeypatch):
    """Each line `fathom …` of a page, in order, in one empty folder."""
    from typer.testing import CliRunner

    from fathom.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FATHOM_DATA", raising=False)
    for line in (line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("fathom ")):
        arguments = re.sub(r"\s+#.*", "", line).split()[1:]
        arguments = [word.strip("\"'") for word in arguments]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}: {result.output}"


def test_the_table_of_models_is_that_of_the_code():
    rows = []
    for name, model in models.MODELS.items():
        kind = method(name) if model.inference else None
        options = f"`{kind.__name__}({', '.join(list(signature(kind.__init__).parameters)[1:])})` " if kind else ""
        rows.append(f"| `{name}` | `{model.estimator}` | {options}| {model.what} |")
    assert "\n".join(rows) in (ROOT / "docs" / "models.md").read_text()


def test_links_lead_somewhere():
    for page in [*PAGES, *(ROOT / "benchmarks" / "notes").glob("*.md")]:
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|png|svg))\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
