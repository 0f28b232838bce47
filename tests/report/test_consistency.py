"""A page is of one mind: sentences agree with each other, with the checks and with the pictures."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from fathom.report import consistency, contents
from fathom.report.consistency import contradictions, flaws, settled
from fathom.report.measure.checks import check
from fathom.report.prose import Words
from fathom.report.words.said import Claim, Said, claims_of, tell
from fathom.report.words.text import capital, listed, sentence, uncapital
from tests.report import pages, simulated, stranger


@pytest.fixture(scope="module")
def page(airline):
    """Words, facts and checks of the airline page."""
    data, model, facts = airline
    checks = check(model, data, n_draws=100)
    return Words.of(facts, checks, None), facts, checks


# -- texts that know what they claim -----------------------------------------------------------------------------------


def test_a_text_keeps_the_claims_of_its_pieces():
    size, way = Claim("part 1", "size", 3.0), Claim("part 1", "way", "growing")
    text = tell("a cycle ", Said("that grows", way), " to ", Said("3", size))
    assert text == "a cycle that grows to 3"
    assert claims_of(text) == (way, size)
    for changed in (sentence(text), capital(text), uncapital(text), listed(["one", text]), Said(text)):
        assert claims_of(changed) == (way, size)
    assert claims_of(f"{text}") == claims_of("plain") == ()


def test_a_page_claims_what_it_says(page):
    words, facts, _ = page
    cycle = next(c for c in facts.components if c.head == "cycle")
    said = {(c.about, c.quantity): c.value for c in claims_of(words.headline)}
    assert said["trend", "direction"] == "up"
    assert said[f"part {cycle.number}", "way"] == cycle.shape.course.way == "growing"
    assert said[f"part {cycle.number}", "last size"] == cycle.shape.course.last
    assert said[f"part {cycle.number}", "peak"] == facts.forecast.peak.at
    for c, texts in zip(facts.components, words.parts, strict=True):
        assert {claim.about for claim in claims_of(texts.summary)} == {f"part {c.number}"}


# -- what is found -----------------------------------------------------------------------------------------------------


def whats(words, facts, checks):
    return [found.what for found in contradictions(words, facts, checks)]


def cycle_of(facts):
    return next(c for c in facts.components if c.head == "cycle")


def test_a_true_page_has_no_contradiction(page):
    assert whats(*page) == []
    assert settled(*page) is page[0]


@pytest.mark.parametrize(
    ("quantity", "value", "what"),
    [
        ("way", "shrinking", "way of part {k}: growing and shrinking"),
        ("last size", 900.0, "last size of part {k}"),
        ("peak", 1960.0, "peak of part {k}"),
        ("period 1", 2.0, "period 1 of part {k}: "),
    ],
)
def test_two_sentences_that_disagree_are_found_and_the_more_general_goes(page, quantity, value, what):
    words, facts, checks = page
    k = cycle_of(facts).number
    lie = Said("A lie.", Claim(f"part {k}", quantity, value))
    wrong = replace(words, summary=[*words.summary, lie])
    assert any(found.startswith(what.format(k=k)) for found in whats(wrong, facts, checks))
    assert settled(wrong, facts, checks) == words


def test_peaks_of_one_cycle_agree_in_any_round_to_a_step(page):
    words, facts, checks = page
    c = cycle_of(facts)
    for shift, agrees in ((1.0, True), (5.0, True), (1 + 1 / 24, True), (0.25, False)):
        text = Said("It peaks.", Claim(f"part {c.number}", "peak", c.shape.cycle.peak + 2 + shift))
        found = whats(replace(words, remarks=[*words.remarks, text]), facts, checks)
        assert (found == []) is agrees


def test_a_sentence_that_the_picture_does_not_show_is_left_out(page):
    words, facts, checks = page
    line = next(c for c in facts.components if c.head == "line")
    drawn = replace(line.curve, mean=tuple(-v for v in line.curve.mean))
    turned = replace(facts, components=tuple(replace(c, curve=drawn) if c is line else c for c in facts.components))
    found = whats(words, turned, checks)
    assert any(what.startswith(f"direction of part {line.number}: 1, drawn") for what in found)
    assert any(what.startswith("direction of trend") for what in found)
    kept = settled(words, turned, checks)
    assert kept.parts[line.number - 1].summary == "Straight-line trend."
    assert not any("rise" in text for text in kept.parts[line.number - 1].sentences)
    assert kept.headline == words.title
    assert len(kept.parts[0].sentences) < len(words.parts[0].sentences)


def test_every_failed_check_is_among_the_cautions_once(page):
    words, facts, checks = page
    worse = [replace(c, p_value=0.001) for c in checks]
    told = Words.of(facts, worse, None)
    assert whats(told, facts, worse) == []
    assert sum(claim.quantity == "failed in the cautions" for t in told.remarks for claim in claims_of(t)) == len(worse)
    silent = replace(told, remarks=words.remarks)
    assert sum("in 0 cautions" in what for what in whats(silent, facts, worse)) == sum(not c.failed for c in checks)
    twice = replace(told, remarks=told.remarks * 2)
    assert sum("in 2 cautions" in what for what in whats(twice, facts, worse)) == len(worse)
    assert any("failed checks of whole" in what for what in whats(replace(told, sure=words.sure), facts, worse))


def test_effects_of_inputs_are_held_to_their_pictures(several):
    data, model, facts = several
    checks = check(model, data, n_draws=50)
    words = Words.of(facts, checks, None)
    assert whats(words, facts, checks) == []
    turned = [replace(e, mean=e.mean[::-1]) for e in facts.effects]
    found = whats(words, replace(facts, effects=tuple(turned)), checks)
    assert sum(what.startswith("direction of input") for what in found) >= 2


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("Half of it by 1.1e+04.", "an exponent"),
        ("A level about 1.5e06 g lower.", "an exponent"),
        ("The spread is 1 times that at first.", "one of many"),
        ("They are 1 standard deviations away.", "one of many"),
        ("It took 1.0 seconds.", "one of many"),
        ("It is the the same.", "a doubled word"),
        ("About nan thousand.", "not a number"),
        ("None is left.", "not a number"),
        ("A cycle of about 3.6, with swings of 4.", "a length without a unit"),
        ("A cycle of about 12.", "a length without a unit"),
        ("A cycle of about 3.6 years, 21 years long and 1.1 times as wide.", None),
        ("Between 1.2 and 1.9 × 10⁻⁶ g, that that is known.", None),
    ],
)
def test_flaws_of_a_text(text, flaw):
    assert flaws(text) == ([flaw] if flaw else [])


def test_the_words_of_the_reader_are_let_alone():
    assert flaws("None rises with nan by 3 so so.", ("None", "nan", "so so")) == []
    assert flaws("1e5 rises by 2e+04.", ("1e5",)) == ["an exponent"]


def test_a_page_is_settled_before_it_is_written(airline, monkeypatch):
    data, model, _ = airline
    asked = []
    monkeypatch.setattr(consistency, "settled", lambda words, facts, checks: asked.append(words) or words)
    report = contents.make(model, data)
    assert asked == [report.words]


# -- simulated data ----------------------------------------------------------------------------------------------------

SAMPLE = range(0, simulated.FULL, 12)


def test_cases_are_always_the_same_and_of_many_kinds():
    names = [simulated.case(i).name for i in range(simulated.FULL)]
    assert simulated.case(7) == simulated.case(7)
    assert len(set(names)) == simulated.FULL >= 300
    kinds = {" ".join(name.split()[:2]) if name.startswith("table") else name.rsplit(" ", 2)[0] for name in names}
    assert len(kinds) == len(simulated.SHAPES) + len(simulated.TABLES) == 25
    for calendar in simulated.CALENDARS:
        assert sum(calendar.name in name for name in names) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("i", SAMPLE)
def test_a_stranger_finds_nothing_wrong(i, tmp_path):
    """A thirtieth of what `python -m tests.report.pages` reads."""
    case = simulated.case(i)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = case.load(tmp_path)
        report = contents.make(case.fit(data), data)
    assert stranger.faults(report, str(tmp_path)) == []
    assert contradictions(Words.of(report.facts, report.checks, report.agreement), report.facts, report.checks) == []


@pytest.mark.slow
def test_the_stranger_notices(airline):
    """Words that are changed after they were settled: what a reader who can measure would object to."""
    data, model, _ = airline
    report = contents.make(model, data)
    assert stranger.faults(report) == []
    cycle = cycle_of(report.facts)
    texts = report.words.parts[cycle.number - 1]

    def kinds(**changed):
        parts = list(report.words.parts)
        parts[cycle.number - 1] = replace(texts, **changed)
        return {kind for kind, _ in stranger.faults(replace(report, words=replace(report.words, parts=parts)))}

    assert "swings against swings" in kinds(name="Yearly cycle, shrinking with time")
    assert "size against the curve" in kinds(summary="A yearly cycle, with swings that grow from about 10 to 900.")
    moved = [t.replace("highest in July", "highest in March") for t in texts.sentences]
    assert {"peak against the curve", "peak against peak"} <= kinds(sentences=moved)
    silent = replace(report, words=replace(report.words, headline="Passengers: up by about 1.1e+04."))
    assert {"exponent"} <= {kind for kind, _ in stranger.faults(silent)}


def test_numbers_in_words_are_read():
    texts = {"12,500": 12500.0, "−7": -7.0, "1.4 trillion": 1.4e12, "2 × 10⁻⁶": 2e-6, "1.1e+04": 11000.0}
    assert [stranger.value(text) for text in texts] == pytest.approx(list(texts.values()))


def test_the_table_counts_kinds_and_pages():
    faults = [("exponent", "3 step: a"), ("exponent", "3 step: b"), ("path", "4 gap: c")]
    lines = pages.table(faults, 10).splitlines()
    assert lines[2:] == ["| exponent | 2 | 1 |", "| path | 1 | 1 |", "| **all** | 3 | 2 of 10 |"]
    assert np.all([line.count("|") == 4 for line in lines])
