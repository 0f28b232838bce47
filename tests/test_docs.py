"""Every example in the documentation runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


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


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|png|svg))\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
