"""A small sample of each part of the torture; `make torture` runs all of it."""

import pytest

from tests.torture.tally import part

# cases of each part that fit into a second or two
SAMPLE: dict[str, int] = {"files": 250, "commands": 12, "models": 40, "kernels": 100, "fits": 12, "interrupts": 1}


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.slow
def test_nothing_happens_that_must_not(name):
    tally = part(name).run(range(SAMPLE[name]), seed=1)
    assert tally.outcomes.total() == SAMPLE[name]
    assert tally.faults == []
