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


@pytest.mark.slow
def test_the_dark_page_is_dark(pages, tmp_path):
    light, _ = measured(pages["searched"], tmp_path / "a", 768)
    dark, _ = measured(pages["searched"], tmp_path / "b", 768, "--blink-settings=preferredColorScheme=0")
    assert light["ground"] == "rgb(255, 255, 255)"
    assert max(int(v) for v in re.findall(r"\d+", dark["ground"])) < 60
