"""The search operators: what each rule makes, that nothing is made twice, and that values are carried over."""

import numpy as np
import pytest

from fathom.gp.starts import given
from fathom.kernels import canonical, n_free, parse, to_vector, walk
from fathom.search.grammar import (
    RULES,
    Grammar,
    baseline,
    default_grammar,
    distribute,
    drop,
    everywhere,
    expand,
    nesting,
    noisy,
    normal_form,
    remember,
    size,
)  # fmt: skip

SMALL = Grammar(base=("SE", "Lin"))


def made(rule: str, text: str, grammar: Grammar = SMALL) -> set[str]:
    """What a rule makes of a kernel, structure only."""
    from fathom.kernels.syntax import to_text

    return {to_text(k, values=False) for k in everywhere(parse(text), RULES[rule], grammar)}


@pytest.mark.parametrize(
    ("rule", "text", "answers"),
    [
        ("add", "WN", {"WN + SE", "WN + Lin"}),
        ("multiply", "WN", {"WN*SE", "WN*Lin"}),
        ("replace", "SE", {"Lin"}),
        ("changepoint", "SE", {"CP(SE, SE)"}),
        ("window", "SE", {"CW(SE, SE)"}),
        ("outside", "SE", {"CW(SE, C)"}),
        ("inside", "SE", {"CW(C, SE)"}),
        ("collapse", "SE*Per", {"SE", "Lin"}),
        ("collapse", "SE", set()),
        ("drop", "SE + Per", {"SE", "Per"}),
        ("drop", "SE*Per", {"SE", "Per"}),
        ("multiply shifted", "Per", {"Per*(SE + C)", "Per*(Lin + C)"}),
        ("push", "SE + CW(Per, C)", {"CW(Per + SE, C)", "CW(Per, C + SE)"}),
        ("push", "CW(SE, Per) + CW(Lin, C)", {"CW(SE + Lin, Per + C)", "CW(Lin + SE, C + Per)"}),
        ("add", "C*Per",
         {"C*Per + SE", "C*Per + Lin", "(C + SE)*Per", "(C + Lin)*Per", "C*(Per + SE)", "C*(Per + Lin)"}),
        ("multiply", "C + Per",
         {"(C + Per)*SE", "(C + Per)*Lin", "C*SE + Per", "C*Lin + Per", "C + Per*SE", "C + Per*Lin"}),
    ],
)  # fmt: skip
def test_rules(rule, text, answers):
    assert made(rule, text) == answers


def test_add_cycle():
    assert made("add cycle", "WN", Grammar()) == {"WN + SE*Per"}
    assert made("add cycle", "WN", SMALL) == set()


def test_several_inputs_have_a_leaf_each_and_no_switches():
    grammar = Grammar(base=("SE",), n_inputs=2)
    assert made("add", "WN", grammar) == {"WN + SE[0]", "WN + SE[1]"}
    assert made("changepoint", "WN", grammar) == set()


def test_over_several_inputs_only_the_function_grows():
    grammar = default_grammar(2, "accuracy", ("SE", "Lin"))
    for candidate in expand(parse("SE[0] + WN"), grammar):
        assert [str(term) for term in candidate.children if "WN" in str(term)] == ["WN(variance=1.0)"]


@pytest.mark.parametrize("variant", ["interpretability", "accuracy"])
@pytest.mark.parametrize("text", ["WN", "SE + WN", "SE*Per*Lin + SE + WN", "CW(SE + WN, C) + WN + Per"])
def test_expansion_is_canonical_noisy_and_without_duplicates(text, variant):
    candidates = expand(parse(text), Grammar(variant=variant))
    assert len({c.structure() for c in candidates}) == len(candidates)
    for candidate in candidates:
        assert canonical(candidate) == candidate
        assert noisy(candidate)
        assert n_free(candidate) <= 30
        assert nesting(candidate) <= 2
        if variant == "interpretability":
            assert canonical(distribute(candidate)).structure() == candidate.structure()


def test_distribution_preserves_values(grid):
    for text in ("SE*(Per + Lin*(C + SE))", "Lin*CW(SE + Per, C, location=1.0)*(SE + C)"):
        np.testing.assert_allclose(distribute(parse(text)).gram(grid), parse(text).gram(grid), atol=1e-12)
    assert str(distribute(parse("Lin*CP(SE + Per, C)"))) == "CP(SE*Lin + Per*Lin, C*Lin)"


def test_old_parameters_are_kept_and_new_ones_are_new():
    parent = parse("SE(variance=2.0, lengthscale=0.3) + WN(variance=0.1)")
    child = next(c for c in expand(parent, Grammar()) if c.structure() == parse("SE + Per + WN").structure())
    assert child.children[0] == parse("SE(variance=2.0, lengthscale=0.3)")
    flags = dict(zip([s.name for s in walk(child) for _ in s.parameters], given(child), strict=True))
    assert flags == {"SE": True, "Per": False, "WN": True}
    assert len(to_vector(child)) == len(given(child))
    assert all(given(remember(parse("SE*Per + WN"))))


@pytest.mark.parametrize("gone", [0, 1])
def test_what_is_left_of_a_product_keeps_its_size(gone):
    """On standardised inputs the mean variance before a factor goes is that after, wherever the scale stood."""
    X = np.linspace(-1, 1, 2001)[:, None] * np.sqrt(3)
    product = parse("SE(variance=5.0)*Lin(location=9.0)")
    rest = list(drop(product, Grammar()))[gone]
    if gone == 1:  # the line
        assert rest.diag(X).mean() == pytest.approx(product.diag(X).mean(), rel=1e-3)
    assert size(rest) == pytest.approx(size(product))


def test_noise_is_on_both_sides_of_a_switch():
    assert noisy(parse("CP(SE + WN, WN*Lin)"))
    assert not noisy(parse("CP(SE + WN, SE)"))
    assert str(normal_form(parse("CP(SE + WN, SE)"), Grammar())) == "WN + CP(SE + WN, SE)"


@pytest.mark.parametrize(
    "name", ["linear", "SE", "Bayesian MKL", "trend-cyclical-irregular", "spectral mixture", "changepoint"]
)
def test_baselines_are_restrictions(name):
    grammar = baseline(name)
    for candidate in expand(parse("WN"), grammar):
        assert {node.name for node in walk(candidate)} <= {*grammar.base, "Sum", "Product", "CP", "CW", "Per", "SE"}


def test_what_a_wrong_grammar_gets():
    with pytest.raises(ValueError, match="'RBF' is no base kernel of the search; there are SE, Lin, Per, C, WN"):
        Grammar(base=("RBF",))
    with pytest.raises(ValueError, match="'swap' is no rule of the search; there are drop, add"):
        Grammar(rules=("swap",))
    with pytest.raises(ValueError, match="there is no baseline 'lasso'"):
        baseline("lasso")
