"""The Python that does what `fathom report` did, for its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset

# what the options of the command are called in Python: of the data, of the search, and what needs no word there
DATA = {"--target": "target", "--time": "time", "--drop": "drop"}
SEARCH = {"--depth": "depth", "--variant": "variant", "--criterion": "criterion", "--beam": "beam"}
SEARCH |= {"--time-limit": "time_limit", "--seed": "random_state"}
SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json"}
OTHER = ("--out", "--model", "--horizon", "--format", "--save", "--forecast")


def python(data: str, asked: Facts, usual: Facts, dataset: Dataset, end: float | None) -> str:
    """Lines that read the data, find or load the model, and write the page; options at their usual are left out."""
    changed = {option: value for option, value in asked.items() if value and value != usual.get(option)}
    changed |= {"--seed": asked["--seed"]} if asked.get("--seed") is not None else {}
    form = asked.get("--format", "html")
    path = _plain(str(changed.get("--out") or f"report{SUFFIXES[form]}"))
    horizon = "" if end is None else f", horizon={_end(dataset, changed, end)}"
    lines, model = ["import fathom"], f"fathom.KernelSearch({_given(changed, SEARCH)}).fit(data.X, data.y)"
    written = f"model.report({path}, data{horizon})"
    if "--model" in changed or form != "html":
        lines.append("from fathom.report import document")
        written = f"document.write(model, data, {path}{horizon}{'' if form == 'html' else f', form={_plain(form)}'})"
    if "--model" in changed:
        model = f"fathom.load({_plain(str(changed['--model']))})"
    return "\n".join([*lines, "", f"data = {_read(data, changed)}", f"model = {model}", written, ""])


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
