"""Every benchmark runs in its quick version and says what it measured. Those on catalogue data need FATHOM_DATA."""

import json
import os

import pytest
from typer.testing import CliRunner

from fathom.cli.app import app
from fathom.cli.registry import benchmarks

NEEDS_DATA = {"additive-regression", "catalogue", "abcd-extrapolation", "structure-regression"}
NEEDS_DATA |= {"dspp-univariate", "dspp-multivariate", "dspp-quadrature", "dspp-layers", "dspp-dkl", "sep-uci"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_quick_version(name, tmp_path):
    if name in NEEDS_DATA and "FATHOM_DATA" not in os.environ:
        pytest.skip("FATHOM_DATA is not set: no benchmark data")
    result = CliRunner().invoke(app, ["bench", name, "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["rows"]
    assert written["quick"] is True
