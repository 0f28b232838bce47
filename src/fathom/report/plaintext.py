"""The report without pictures, in the same words: Markdown to read, JSON to compute with."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict

import numpy as np

from fathom.data.forecast import Cell, Forecast
from fathom.report.contents import Report
from fathom.report.model import was_searched
from fathom.report.numbers import MINUS, percent
from fathom.report.words.parameters import rounded, rows
from fathom.report.words.sure import approximation, checked_parts, duration, ended, failures, forecasting
from fathom.report.words.tables import SHOWN, Grid, oddities, steps, surprises
from fathom.report.words.verdicts import failed


def json_text(report: Report) -> str:
    """The report as JSON: facts, checks with their verdicts, agreement and trace. NaN and infinity become null."""
    trace = report.model.trace_ if was_searched(report.model) else None
    found = {
        "title": report.title,
        "headline": report.headline,
        "facts": asdict(report.facts),
        "checks": [asdict(check) | {"verdict": report.say(check)} for check in report.checks],
        "forecast_table": None if report.forecast is None else _records(report.forecast),
        "anomalies": asdict(report.anomalies),
        "agreement": None if report.agreement is None else asdict(report.agreement),
        "trace": None if trace is None else json.loads(trace.to_json()),
        "known": None if report.known is None else report.known._asdict(),
        "data_notes": report.notes,
        "command": report.origin.command,
        "python": report.origin.python,
        "seconds": report.origin.seconds,
        "seed": report.origin.seed,
        "version": report.version,
    }
    return json.dumps(_plain(found), indent=1, ensure_ascii=False) + "\n"


def _records(table: Forecast) -> list[dict[str, Cell]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(report: Report) -> str:
    """The report as Markdown."""
    blocks = [f"# {escape(report.title)}", escape(report.headline), _list(report.notices)]
    blocks += [
        *_parts(report),
        *_sure(report),
        *_known(report),
        *_next(report),
        *_odd(report),
        *_sections(report),
        *_checks(report),
        *_search(report),
        *_fine_print(report),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


# what means something anywhere: ~ strikes through, & begins an entity, $ a formula, and an address is made a link
_MARKS = re.compile(r"[\\`*_<>|\[\]~&$^]|(?<=:)//|(?<=\bwww)\.", re.IGNORECASE)
_OPENING = re.compile(r"^(\d*)([-+#]|[.)](?=\s|$))")  # of a list, a rule or a heading


def escape(text: str) -> str:
    """Text that Markdown leaves as it is, HTML included."""
    return _OPENING.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", " ".join(text.split())))


def _code(text: str) -> str:
    """Text as code on one line, in which no mark has a meaning but the one that ends it."""
    text = " ".join(text.split())
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " * (longest > 0)
    return f"{fence}{space}{text}{space}{fence}"


def _cell(text: str) -> str:
    """Code in a table, where a bar would end the cell."""
    return _code(text).replace("|", "\\|")


def _parts(report: Report) -> list[str]:
    lines = ["| | part | less error on held-out data | |", "|--:|:--|--:|:--|"]
    for c, texts in zip(report.facts.components, report.texts(), strict=True):
        share = "" if c.head == "noise" else percent(max(c.score.gain, 0.0))
        lines.append(f"| {c.number} | {escape(texts.summary)} | {share} | {c.score.tag} |")
    return ["\n".join(lines)]


def _sure(report: Report) -> list[str]:
    lines = "\n".join(f"- **{about}:** {escape(text)}" for about, text in report.sure())
    short = escape(" ".join(report.summary))
    return ["## How sure are we", lines, short, "## Before you rely on it", _list(report.remarks)]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _table(grid: Grid) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [grid.header, ["--:" if numeric else ":--" for numeric in grid.numeric], *grid.rows]
    cells = [[cell if k == 1 else escape(cell) for cell in line] for k, line in enumerate(lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _next(report: Report) -> list[str]:
    if report.forecast is None:
        return []
    grid = steps(report.forecast.first(SHOWN), report.facts.setting)
    left = report.n_steps - len(grid.rows)
    more = f"{left:,} later steps are in the file that `--forecast` writes." if left else ""
    return ["## What comes next", _table(grid), more]


def _odd(report: Report) -> list[str]:
    said, grid = oddities(report.anomalies, report.facts.setting), surprises(report.anomalies, report.facts)
    return ["## What does not fit", said, _table(grid)] if grid.rows else []


def _known(report: Report) -> list[str]:
    if report.known is None:
        return []
    sentence, header, rows = report.known
    lines = [" | ".join(map(escape, line)) for line in (header, *rows) if line]
    lines[1:1] = [" | ".join([":--", *["--:"] * (len(header) - 1)])] if rows else []
    table = "\n".join(f"| {line} |" for line in lines)
    return ["## What comes next", escape(sentence), table]


def _sections(report: Report) -> list[str]:
    blocks = []
    for c, texts in zip(report.facts.components, report.texts(), strict=True):
        blocks += [f"## {c.number}. {escape(texts.name)}", escape(" ".join(texts.sentences))]
        blocks.append(escape("Beyond the data: " + " ".join(texts.extrapolation)) if texts.extrapolation else "")
        table = [
            f"| {escape(row.name)} | {escape(row.value)} | {escape(row.interval)} | {escape(row.unit)} |"
            for row in rows(c)
        ]
        if table:
            blocks.append("\n".join(["| parameter | value | 90 % interval | unit |", "|:--|--:|:--|:--|", *table]))
        blocks.append(_list([report.say(check) for check in failed(report.of_part(c))]))
    return blocks


def _checks(report: Report) -> list[str]:
    said = [report.say(check) for check in report.whole()]
    calm = [] if report.anomalies.count else [oddities(report.anomalies, report.facts.setting)]
    return ["## Checks", _list(said), escape(checked_parts(report.checks)), *calm]


def _search(report: Report) -> list[str]:
    if not was_searched(report.model):
        return []
    trace = report.model.trace_
    lines = ["| level | score | structure |", "|--:|--:|:--|"]
    lines += [f"| {lv.depth} | {_score(lv.best.score)} | {_cell(lv.best.structure())} |" for lv in trace.levels]
    near = [f"{_code(tie.structure())} {_behind(tie.score - trace.best.score)}" for tie in trace.near_ties()]
    told = " ".join([*map(escape, [*approximation(trace), ended(trace)]), *forecasting(report.model)])
    return ["## How the model was found", "\n".join(lines), told, "\n".join(f"- {line}" for line in near)]


def _score(value: float) -> str:
    return f"{value:.1f}".replace("-", MINUS)


def _behind(gap: float) -> str:
    """How a model within reach compares with the one chosen, which may be the simpler and not the better."""
    return f"is {gap:.1f} behind" if gap >= 0 else f"is {-gap:.1f} ahead, but with more parameters"


def _fine_print(report: Report) -> list[str]:
    facts, origin = report.facts, report.origin
    source = f"{escape(facts.setting.source)}, " if facts.setting.source else ""
    said = [f"kernel: {_code(rounded(facts.kernel))}", f"data: {source}{facts.setting.n_rows} rows"]
    said += [escape(note) for note in report.notes]
    if was_searched(report.model):
        said += [f"failed: {escape(text)}" for text in failures(report.model.trace_)]
    said.append(f"Fathom {report.version}")
    said += [f"seed {origin.seed}"] if origin.seed is not None else []
    said += [duration(origin.seconds)] if origin.seconds is not None else []
    said += [f"command: {_code(origin.command)}"] if origin.command else []
    lines = [f"```python\n{origin.python}```"] if origin.python else []
    return ["## Fine print", "\n".join(f"- {line}" for line in said), *lines]
