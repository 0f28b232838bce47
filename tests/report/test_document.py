"""The report as a file: whole, self-contained, the same in all formats, and safe with any column name."""

import copy
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.report import document, plaintext
from fathom.report.measure.future import members_of
from fathom.report.numbers import percent
from fathom.report.words.sure import alternatives

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """What matters of a page: its pictures, its references, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.pictures, self.references, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "svg" and found.get("role") == "img":
            self.pictures.append({"title": "", "desc": ""})
        self.references += [(name, value) for name, value in attributes if name in ("src", "href", "xlink:href")]
        self.break_line(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.break_line(tag)

    def break_line(self, tag):
        self.words.append("" if tag in ("span", "b", "i", "code") else " ")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("title", "desc") and "svg" in self.open:
            self.pictures[-1][self.open[-1]] += data
        elif self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.fixture(scope="session")
def pages(airline, several, searched, tmp_path_factory):
    """HTML of a given model, of several inputs, and of a search."""
    folder, found = tmp_path_factory.mktemp("pages"), {}
    for name, (data, model) in {"given": airline[:2], "several": several[:2], "searched": searched}.items():
        report = document.write(
            model, data, folder / f"{name}.html", command="fathom report d.csv", seed=3, seconds=1.0
        )
        found[name] = (folder / f"{name}.html", report)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["given", "several", "searched"])
def test_a_page_is_whole_and_needs_nothing_from_outside(pages, name):
    text = pages[name][0].read_text()
    page = Page(text)
    assert page.open == []
    assert all(value.startswith("#") and f'id="{value[1:]}"' in text for _, value in page.references)
    assert not re.search(r"https?:|url\(|@import|<link|<img|<iframe", text)
    assert len(text.encode()) < 400_000
    assert pages[name][1].headline in page.text
    assert "fathom report d.csv" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["given", "several", "searched"])
def test_every_picture_has_a_title_and_a_description(pages, name):
    pictures = Page(pages[name][0].read_text()).pictures
    assert len(pictures) >= 8
    assert all(picture["title"] and picture["desc"] for picture in pictures)
    assert len({picture["title"] for picture in pictures}) >= len(pictures) - 1  # the first one is drawn at two widths


def test_no_colour_is_written_into_a_picture(pages):
    for path, _ in pages.values():
        drawn = re.findall(r'<svg class="pic.*?</svg>', path.read_text(), flags=re.DOTALL)
        assert not re.search(r"#[0-9a-fA-F]{3,6}\b|rgb\(", "".join(drawn))


def test_the_search_is_told_only_where_there_was_one(pages):
    assert "How the model was found" not in pages["given"][0].read_text()
    text = pages["searched"][0].read_text()
    assert "How the model was found" in text
    trace = pages["searched"][1].model.trace_
    assert text.count('class="score"') == len(trace.levels)
    assert "Failures" in Page(text).text


@pytest.mark.slow
def test_an_approximation_of_the_search_is_told(searched):
    """A search of a long series may note on its trace how it compared candidates; a test's series is short."""
    data, model = searched
    told = copy.copy(model)
    told.trace_ = replace(model.trace_)
    object.__setattr__(told.trace_, "approximation", "inducing points: 300 of 5000 rows")
    words = "The record is long, so candidates were compared by an approximation (inducing points: 300 of 5000 rows)."
    assert words in Page(document.html(document.make(told, data))).text
    assert words in plaintext.markdown(document.make(told, data))
    assert "approximation" not in plaintext.markdown(document.make(model, data))


def test_several_inputs_have_bars_effects_and_maps(pages):
    text = pages["several"][0].read_text()
    for words in ("Which inputs matter", "heat map", "effect", "Predicted and observed", "pairs of inputs"):
        assert words in text
    assert "Three futures" not in text


def test_kernel_names_wait_for_the_search_and_the_fine_print(pages):
    for path, _ in pages.values():
        before = re.split("How the model was found|Fine print", Page(path.read_text()).text)[0]
        assert not re.search(r"\b(SE|Per|Lin|WN)\b", before)


def test_all_formats_state_the_same(searched):
    data, model = searched
    report = document.make(model, data, document.Origin("c", seed=0))
    facts, text = json.loads(plaintext.json_text(report)), plaintext.markdown(report)
    page = Page(document.html(report)).text
    assert facts["title"] in text
    assert facts["title"] in page
    shown = [c["score"] for c in facts["facts"]["components"] if c["head"] != "noise"]
    for share in (percent(max(score["gain"], 0)) for score in shown):
        assert share in text
        assert share.replace("less than", "<") in page
    for check in facts["checks"]:
        if check["subject"] == "whole" and check["p_value"] <= 0.05:
            assert check["verdict"] in page
    assert [level["best"]["score"] for level in facts["trace"]["levels"]] == [
        level.best.score for level in model.trace_.levels
    ]
    assert (facts["command"], facts["seed"], facts["version"]) == ("c", 0, fathom.__version__)


def test_the_headline_and_the_picture_forecast_alike(searched):
    data, model = searched
    report = document.make(model, data)
    peak = report.facts.forecast.peak
    low, high = model.predict_dist(np.array([[peak.at]])).interval(0.9)
    assert (peak.low, peak.high) == pytest.approx((low[0], high[0]))


def test_disagreement_of_models_within_reach_is_told(searched):
    data, model = searched
    found = document.make(model, data)
    assert len(model.members_) > 1
    said = alternatives(found.agreement, found.facts)
    assert "nearly as well" in said
    means = np.array([p.mean(model.scaler_.x(found.ahead[:, None]))[:, 0] for p, _ in members_of(model)])
    assert found.agreement.most == pytest.approx(float(np.ptp(means, axis=0).max() * model.scaler_.y_sd[0]))


def test_a_part_keeps_its_checks_whatever_its_numbers(searched):
    """A part is known by its key: the model and the page may differ in the last digit of its parameters."""
    data, model = searched
    report = document.make(model, data)
    parts = [check for check in report.checks if check.subject != "whole"]
    assert sorted(check.subject for c in report.facts.components for check in report.of_part(c)) == sorted(
        check.subject for check in parts
    )
    assert any(check.p_value <= 0.05 for check in parts)
    page = Page(document.html(report)).text
    assert all(report.say(check) in page for check in parts if check.p_value <= 0.05)
    for c in report.facts.components:
        moved = [replace(f, values={k: tuple(1.1 * v for v in vs) for k, vs in f.values.items()}) for f in c.factors]
        assert report.of_part(replace(c, factors=tuple(moved))) == report.of_part(c) != []


def test_parts_with_equal_numbers_keep_their_own_checks():
    x = np.linspace(0, 10, 40)
    data = Dataset(x[:, None], np.sin(x), ("depth",), ("y",))
    twins = fathom.GPRegressor("SE + SE + WN(variance=0.01)", optimise=False).fit(data.X, data.y)
    report = document.make(twins, data)
    assert sorted(c.part for c in report.facts.components) == ["SE", "SE #2", "WN"] == sorted(twins.parts_)
    for c in report.facts.components:
        assert {check.subject for check in report.of_part(c)} == {c.part}


def test_column_names_are_text_and_never_markup(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (30, 2))
    names = ("<b>bold</b>", 'x" onload="alert(1)')
    data = Dataset(X, X.sum(1) + 0.1 * rng.standard_normal(30), names, ("<script>y</script>",), units={names[0]: "<i>"})
    model = fathom.GPRegressor("SE[0] + Lin[1] + SE", n_restarts=1, random_state=0).fit(data.X, data.y)
    document.write(model, data, tmp_path / "r.html", command="fathom report '<x>.csv'")
    text = (tmp_path / "r.html").read_text()
    for bad in ("<b>bold", "<script>y", "<i>", 'x" onload', "<x>"):
        assert bad not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert Page(text).open == []
    assert "<b>" not in re.sub(
        r"`[^`]*`|\\\\<", "", plaintext.markdown(document.make(model, data))
    )  # but in code and escaped


@pytest.mark.slow
def test_a_long_series_stays_light(tmp_path):
    t = np.arange(600) / 12 + 1900
    rng = np.random.default_rng(0)
    y = np.sin(2 * np.pi * t) + 0.01 * (t - 1900) ** 1.5 + 0.1 * rng.standard_normal(600)
    data = Dataset(t[:, None], y, ("year",), ("level",), time=0)
    parts = " + ".join(["SE(variance=1, lengthscale=20)", "Per(variance=1, period=1)"] * 4)
    kernel = f"{parts} + Lin(location=1900) + SE(variance=0.01, lengthscale=0.2) + WN(variance=0.01)"
    model = fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)
    document.write(model, data, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 1_500_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    ["WN", "C + WN", "SE*WN", "CP(Per, Lin) + WN", "CW(SE, WN) + C"],
)
def test_any_structure_can_be_shown(model, tmp_path):
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 5, 25))
    data = Dataset(x[:, None], np.sin(3 * x) + 0.1 * rng.standard_normal(25), ("depth",), ("y",))
    fitted = fathom.GPRegressor(model, n_restarts=1, random_state=0).fit(data.X, data.y)
    document.write(fitted, data, tmp_path / "r.html")
    assert Page((tmp_path / "r.html").read_text()).open == []


def test_only_the_data_of_the_model_are_described(airline):
    data, model, _ = airline
    other = Dataset(data.X, data.y + np.arange(data.n_rows), data.names, data.target, source="other.csv")
    with pytest.raises(ValueError, match="other.csv is not what the model was fitted to: give its own data"):
        document.make(model, other)


@pytest.mark.slow
def test_writing_is_whole_or_not_at_all(airline, tmp_path, monkeypatch):
    data, model, _ = airline
    (tmp_path / "r.html").write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="cannot write .*r.html: No space left on device; nothing was changed"):
        document.write(model, data, tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert (tmp_path / "r.html").read_text() == "before"
    monkeypatch.undo()
    with pytest.raises(OSError, match="cannot write .*: No such file or directory; nothing was changed"):
        document.write(model, data, tmp_path / "missing" / "r.html")


@pytest.mark.slow
def test_the_estimator_reports_on_itself(searched, tmp_path):
    data, model = searched
    said = model.report(tmp_path / "own.html")
    assert said.title == document.make(model, data).title
    assert "the data of the model" in (tmp_path / "own.html").read_text()
    plain = fathom.KernelSearch(depth=1, n_jobs=1, random_state=0).fit(np.arange(12.0)[:, None], np.arange(12.0) % 3)
    assert plain.report(tmp_path / "plain.html").title == "Y, x 0 to 11"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *b* _c_ `d` <e> [f](g) ~~h~~", "a \\*b\\* \\_c\\_ \\`d\\` \\<e\\> \\[f\\](g) \\~\\~h\\~\\~"),
        ("1 | 2 & 3 &lt; $x^2$", "1 \\| 2 \\& 3 \\&lt; \\$x\\^2\\$"),
        ("see https://a.b or WWW.a.b", "see https:\\//a.b or WWW\\.a.b"),
        ("- one", "\\- one"),
        ("+ one", "\\+ one"),
        ("# one", "\\# one"),
        ("12. one", "12\\. one"),
        ("1) one", "1\\) one"),
        ("3.5 kg rise - slowly", "3.5 kg rise - slowly"),
        ("one\n\n# two", "one # two"),
    ],
)
def test_markdown_leaves_escaped_text_as_it_is(text, expected):
    assert plaintext.escape(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("SE[a]", "`SE[a]`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("a\n\n# b", "`a # b`")],
)
def test_code_ends_only_where_it_should(text, expected):
    assert plaintext._code(text) == expected
    assert plaintext._cell(f"|{text}") == plaintext._code(f"|{text}").replace("|", "\\|")


def test_names_are_no_markup_in_markdown():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (30, 2))
    names = ("[a](http://b)", "x|y")
    data = Dataset(X, X.sum(1) + 0.1 * rng.standard_normal(30), names, ("~~y~~ & `z`",), source="$d$.csv")
    model = fathom.GPRegressor("SE[0] + Lin[1] + SE", n_restarts=1, random_state=0).fit(data.X, data.y)
    text = plaintext.markdown(document.make(model, data, document.Origin("fathom report 'a`b\n\n# c'")))
    for bad in ("[a](", "x|y", "~~y", "& `", "$d$", "\n# c"):
        assert bad not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "\\[a\\](http:\\//b)" in text
