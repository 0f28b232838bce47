"""The report as one self-contained HTML file; `write` makes Markdown and JSON of the same facts too.

    >>> write(model, dataset, "report.html", command="fathom report airline")

Words come from `prose` and `words/`, pictures from `draw/`; here they are put in order. The file needs no network, and
no script to be read.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from fathom.base.files import replacing
from fathom.data.dataset import Dataset
from fathom.data.dates import MONTHS
from fathom.report import plaintext
from fathom.report.contents import Origin, Report, make
from fathom.report.model import Fitted
from fathom.report.view import view


def write(
    model: Fitted,
    dataset: Dataset,
    path: str | Path,
    *,
    command: str = "",
    python: str = "",
    seconds: float | None = None,
    seed: int | None = None,
    horizon: float | None = None,
    form: str = "html",
) -> Report:
    """Write the report on a model of the data it was fitted to, whole or not at all, and return what it says.

    `horizon` is the value of the input to which a series is continued, a tenth of its range without it. `command`
    and `python` reproduce the page. `form` is "html", "markdown" or "json".
    """
    report = make(model, dataset, Origin(command, python, seconds, seed), horizon)
    text = {"html": html, "markdown": plaintext.markdown, "json": plaintext.json_text}[form](report)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return report


@cache
def _environment() -> Environment:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["words"] = _words
    return environment


def _words(text: str) -> Markup:
    """A sentence for the page: no line ends inside a date or a p-value, or before a per cent sign."""
    kept = re.sub(r" (?=%)|(?<=\bp) (?=[=<])|(?<=\bp [=<]) ", "\N{NO-BREAK SPACE}", text)
    return Markup(re.sub(r"\d{4}-\d\d(-\d\d)?", r'<span class="whole">\g<0></span>', str(escape(kept))))


def html(report: Report) -> str:
    """The report as a page of HTML."""
    templates = files("fathom.report") / "templates"
    template = _environment().from_string((templates / "report.html.j2").read_text(encoding="utf-8"))
    style, script = (Markup((templates / name).read_text(encoding="utf-8")) for name in ("style.css", "page.js"))
    day = f"{report.written.day} {MONTHS[report.written.month - 1]} {report.written.year}"
    return template.render(style=style, script=script, report=report, date=day, **view(report))
