"""The report in a browser without a network: no errors, every figure to be seen, nothing wider than the window."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

from fathom.report import document

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the report in")

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--virtual-time-budget=3000", "--host-resolver-rules=MAP * ~NOTFOUND"),
]

WATCH = "<script>window.problems=[];window.onerror=function(m){problems.push(String(m))};"
WATCH += "document.addEventListener('securitypolicyviolation',function(e){problems.push(e.blockedURI)});</script>"
MEASURE = """<script>window.addEventListener("load", function () {
  function seen(e) { var b = e.getBoundingClientRect(); return b.width > 20 && b.height > 10; }
  var hidden = [], wide = [], limit = document.documentElement.clientWidth + 1;
  document.querySelectorAll("figure").forEach(function (f) {
    if (!seen(f) || !Array.from(f.querySelectorAll("svg[role=img]")).some(seen)) hidden.push(f.outerHTML.slice(0, 90));
  });
  document.querySelectorAll("svg.pic text").forEach(function (t) {
    var b = t.getBoundingClientRect();
    if (b.width && (b.right > limit || b.left < -1)) wide.push(t.textContent);
  });
  var r = document.documentElement;
  parent.postMessage(JSON.stringify({problems: problems, hidden: hidden, wide: wide, width: window.innerWidth,
    scroll: Math.max(r.scrollWidth, document.body.scrollWidth), figures: document.querySelectorAll("figure").length,
    ground: getComputedStyle(document.body).backgroundColor, copy: !document.getElementById("copy").hidden}), "*");
});</script>"""
# a window cannot be as narrow as a phone, a frame can
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><script>
window.addEventListener("message", function (e) {
  var found = document.createElement("pre");
  found.id = "measured";
  found.textContent = e.data;
  document.body.appendChild(found);
});</script><body><iframe src="PAGE" style="border:0;width:WIDTHpx;height:1500px"></iframe>"""


@pytest.fixture(scope="module")
def pages(searched, several, tmp_path_factory):
    """Reports with a script that measures them."""
    folder, found = tmp_path_factory.mktemp("browser"), {}
    for name, (data, model) in {"searched": searched, "several": several[:2]}.items():
        path = folder / f"{name}.html"
        document.write(model, data, path, command="fathom report d.csv --out " + "very-long-name-" * 12)
        text = path.read_text().replace("<head>", "<head>" + WATCH, 1)
        path.write_text(text.replace("</body>", MEASURE + "</body>", 1))
        found[name] = path
    return found


def measured(path, folder, width, *flags):
    """What the page measures of itself in a frame of this width, and what the browser logs."""
    frame = path.with_name(f"{path.stem}-{width}.html")
    frame.write_text(FRAME.replace("PAGE", path.name).replace("WIDTH", str(width)))
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "--window-size=1400,1600", *flags]
    run = subprocess.run([*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=60)
    found = re.search(r'<pre id="measured">(.*?)</pre>', run.stdout, flags=re.DOTALL)
    assert found, run.stderr[-2000:]
    return json.loads(unescape(found.group(1))), run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["searched", "several"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_opens_clean_and_fits_the_window(pages, name, width, tmp_path):
    found, log = measured(pages[name], tmp_path, width)
    assert found["width"] == width
    assert found["problems"] == []
    assert found["hidden"] == []
    assert found["wide"] == []
    assert found["scroll"] <= width
    assert found["figures"] >= 7
    assert "CONSOLE" not in log


POINT = """<script>window.addEventListener("load", function () {
  var found = {}, svg = Array.from(document.querySelectorAll(".hero svg[data-mean]")).find(function (s) {
    return s.getBoundingClientRect().width > 20;
  });
  var tip = svg.parentNode.querySelector("output"), box = svg.getBoundingClientRect();
  function press(key) {
    svg.dispatchEvent(new KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true}));
    return tip.hidden ? "" : tip.textContent;
  }
  found.before = tip.hidden;
  svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width / 2, clientY: box.top + 40}));
  found.pointed = tip.textContent;
  found.inside = tip.getBoundingClientRect().right <= document.documentElement.clientWidth;
  found.last = press("End");
  found.earlier = press("ArrowLeft");
  found.first = press("Home");
  found.gone = press("Escape");
  found.focus = svg.getAttribute("tabindex");
  found.live = tip.getAttribute("aria-live");
  found.buttons = Array.from(document.querySelectorAll("button")).map(function (b) { return b.hidden; });
  found.problems = problems;
  var shown = document.createElement("pre");
  shown.id = "measured";
  shown.textContent = JSON.stringify(found);
  document.body.appendChild(shown);
});</script>"""


@pytest.fixture
def pointed(searched, tmp_path):
    """A page whose first picture is pointed at, by a pointer and by keys."""
    data, model = searched
    path = tmp_path / "pointed.html"
    said = document.write(model, data, path, command="c", python="import fathom\n", horizon=1962.0)
    text = path.read_text().replace("<head>", "<head>" + WATCH, 1)
    path.write_text(text.replace("</body>", POINT + "</body>", 1))
    return said, path


def opened(path, folder):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "--window-size=1280,900"]
    return subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=60).stdout


@pytest.mark.slow
def test_a_picture_tells_its_numbers_to_pointer_and_keys(pointed, tmp_path):
    report, path = pointed
    dom = opened(path, tmp_path / "user")
    found = json.loads(unescape(re.search(r'<pre id="measured">(.*?)</pre>', dom, flags=re.DOTALL).group(1)))
    assert found["problems"] == []
    assert found["before"] is True
    assert re.fullmatch(
        r"195\d-\d\d: observed \d+ thousand; expected \d+ thousand \(90 %: \d+ to \d+ thousand\)", found["pointed"]
    )
    assert found["inside"]
    when, mean, *_ = report.forecast.rows[-1]
    assert found["last"].startswith(f"{when}: expected {round(mean)} thousand")
    assert found["earlier"].startswith(f"{report.forecast.rows[-2][0]}: ")
    assert found["first"].startswith("1949-01: observed 112 thousand")
    assert (found["gone"], found["focus"], found["live"]) == ("", "0", "polite")
    assert found["buttons"] == [False] * 3


@pytest.mark.slow
def test_without_scripts_nothing_is_missing_but_the_buttons(pointed, tmp_path):
    _, path = pointed
    path.write_text(path.read_text().replace("script-src 'unsafe-inline'", "script-src 'none'"))
    dom = opened(path, tmp_path / "user")
    assert "What comes next" in dom
    assert "<output" not in dom
    assert re.findall(r"<button[^>]*>", dom)
    assert all("hidden" in tag for tag in re.findall(r"<button[^>]*>", dom))


@pytest.mark.slow
def test_the_dark_page_is_dark(pages, tmp_path):
    light, _ = measured(pages["searched"], tmp_path / "a", 768)
    dark, _ = measured(pages["searched"], tmp_path / "b", 768, "--blink-settings=preferredColorScheme=0")
    assert light["ground"] == "rgb(255, 255, 255)"
    assert max(int(v) for v in re.findall(r"\d+", dark["ground"])) < 60
