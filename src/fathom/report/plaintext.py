"""The report without pictures, in the same words: Markdown to read, JSON to compute with."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict

import numpy as np

from fathom.report import prose
from fathom.report.contents import Report
from fathom.report.model import was_searched
from fathom.report.numbers import percent
from fathom.report.words.parameters import rounded, rows
from fathom.report.words.sure import approximation, ended, failures, forecasting
from fathom.report.words.verdicts import failed


def json_text(report: Report) -> str:
    """The report as JSON: facts, checks with their verdicts, agreement and trace. NaN and infinity become null."""
    trace = report.model.trace_ if was_searched(report.model) else None
    found = {
        "title": report.title,
        "headline": report.headline,
        "facts": asdict(report.facts),
        "checks": [asdict(check) | {"verdict": report.say(check)} for check in report.checks],
        "agreement": None if report.agreement is None else asdict(report.agreement),
        "trace": None if trace is None else json.loads(trace.to_json()),
        "data_notes": list(report.dataset.notes),
        "command": report.origin.command,
        "seconds": report.origin.seconds,
        "seed": report.origin.seed,
        "version": report.version,
    }
    return json.dumps(_plain(found), indent=1, ensure_ascii=False) + "\n"


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
    blocks = [f"# {escape(report.title)}", escape(report.headline), *_parts(report), *_sure(report)]
    blocks += [*_sections(report), *_checks(report), *_search(report), *_fine_print(report)]
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
    lines = ["| | part | share of variance | |", "|--:|:--|--:|:--|"]
    for c, texts in zip(report.facts.components, report.texts(), strict=True):
        share = percent(max(c.score.delta_r2, 0.0))
        lines.append(f"| {c.number} | {escape(texts.summary)} | {share} | {c.score.tag} |")
    return ["\n".join(lines)]


def _sure(report: Report) -> list[str]:
    lines = "\n".join(f"- **{about}:** {escape(text)}" for about, text in report.sure())
    short = escape(" ".join(prose.executive_summary(report.facts)))
    return ["## How sure are we", lines, short, _list(prose.remarks(report.facts))]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


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
    return ["## Checks", _list([report.say(check) for check in report.whole()])]


def _search(report: Report) -> list[str]:
    if not was_searched(report.model):
        return []
    trace = report.model.trace_
    lines = ["| level | score | structure |", "|--:|--:|:--|"]
    lines += [f"| {lv.depth} | {lv.best.score:.1f} | {_cell(lv.best.structure())} |" for lv in trace.levels]
    near = [f"{_code(tie.structure())} is {tie.score - trace.best.score:.1f} behind" for tie in trace.near_ties()]
    told = " ".join([*map(escape, [*approximation(trace), ended(trace)]), *forecasting(report.model)])
    return ["## How the model was found", "\n".join(lines), told, "\n".join(f"- {line}" for line in near)]


def _fine_print(report: Report) -> list[str]:
    facts, origin = report.facts, report.origin
    source = f"{escape(facts.setting.source)}, " if facts.setting.source else ""
    said = [f"kernel: {_code(rounded(facts.kernel))}", f"data: {source}{facts.setting.n_rows} rows"]
    said += [escape(note) for note in report.dataset.notes]
    if was_searched(report.model):
        said += [f"failed: {escape(text)}" for text in failures(report.model.trace_)]
    said.append(f"Fathom {report.version}")
    said += [f"seed {origin.seed}"] if origin.seed is not None else []
    said += [f"{origin.seconds:.1f} seconds"] if origin.seconds is not None else []
    said += [f"command: {_code(origin.command)}"] if origin.command else []
    return ["## Fine print", "\n".join(f"- {line}" for line in said)]
