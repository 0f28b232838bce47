"""The Python that does what `fathom report` did, for its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset

# what the options of the command are called in Python: of the data, of the search, and what needs no word there
DATA = {"--target": "target", "--time": "time", "--drop": "drop", "--inputs": "inputs"}
SEARCH = {"--depth": "depth", "--variant": "variant", "--criterion": "criterion", "--beam": "beam"}
SEARCH |= {"--time-limit": "time_limit", "--paths": "paths", "--seed": "random_state"}
SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json"}
OTHER = ("--out", "--model", "--horizon", "--format", "--save", "--forecast", "--holidays", "--future")


def python(data: str, asked: Facts, usual: Facts, dataset: Dataset, end: float | None) -> str:
    """Lines that read the data, find or load the model, and write the page; options at their usual are left out."""
    changed = {option: value for option, value in asked.items() if value and value != usual.get(option)}
    changed |= {"--seed": asked["--seed"]} if asked.get("--seed") is not None else {}
    form = asked.get("--format", "html")
    path = _plain(str(changed.get("--out") or f"report{SUFFIXES[form]}"))
    horizon = "" if end is None else f", horizon={_end(dataset, changed, end)}"
    known = [f"{name}=data.{name}" for name in ("calendar", "terms") if getattr(dataset, name)]
    given = ", ".join(filter(None, (_given(changed, SEARCH), *known)))
    lines, model = ["import fathom"], f"fathom.KernelSearch({given}).fit(data.X, data.y)"
    written = f"model.report({path}, data{horizon})"
    if "--model" in changed or form != "html":
        lines.append("from fathom.report import document")
        written = f"document.write(model, data, {path}{horizon}{'' if form == 'html' else f', form={_plain(form)}'})"
    if "--model" in changed:
        model = f"fathom.load({_plain(str(changed['--model']))})"
    imports, more = _further(changed)
    read = [f"data = {_read(data, changed)}", *more]
    return "\n".join([*imports, *lines, "", *read, f"model = {model}", written, ""])


def _further(changed: Facts) -> tuple[list[str], list[str]]:
    """What is added to the data when they have been read: imports, and lines."""
    imports, lines = [], []
    if "--holidays" in changed:
        imports.append("from fathom.data.holidays import with_holidays")
        lines.append(f"data = with_holidays(data, {_plain(changed['--holidays'])})")
    if "--future" in changed:
        imports += ["from dataclasses import replace", "from fathom.data.ahead import read_ahead"]
        path = _plain(str(changed["--future"]))
        lines.append(f"data = replace(data, ahead=read_ahead({path}, data.columns, data.X[:, data.time]))")
    return imports, lines


def _read(data: str, changed: Facts) -> str:
    """The call that reads the data."""
    options = _given(changed, DATA)
    if Path(data).is_file():
        return f"fathom.load_csv({', '.join(filter(None, (_plain(data), options)))})"
    read = "resolve" if options else "load"
    return f"fathom.datasets.{read}({', '.join(filter(None, (_plain(data), options)))})"


def _given(changed: Facts, names: dict[str, str]) -> str:
    """The options among these, as arguments."""
    return ", ".join(f"{name}={_plain(changed[option])}" for option, name in names.items() if option in changed)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return _plain(value[0]) if len(value) == 1 else f"[{', '.join(map(_plain, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _end(dataset: Dataset, changed: Facts, end: float) -> str:
    """The end of the forecast: so many steps ahead, where the data have steps."""
    return f"data.future({changed['--horizon']})[-1]" if dataset.rule is not None else repr(end)
