"""A stranger who reads a page: what each sentence says, against the other sentences and against what is drawn.

It knows nothing of how sentences are made. It reads the text of a page as the reader meets it, and measures the curves
and observations of the facts by itself. `faults(report)` lists what does not hold, as pairs (kind, story).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from fathom.data.dates import MONTHS
from fathom.report import document, plaintext
from fathom.report.contents import Report
from fathom.report.facts.part import Component

Faults = Iterator[tuple[str, str]]
NUMBER = (
    r"[−-]?\d[\d,]*+(?:\.\d++)?+(?:e[+−-]?\d++| × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]++)?+"
    r"(?: (?:million|billion|trillion|quadrillion))?+"
)
SIZES = {"million": 1e6, "billion": 1e9, "trillion": 1e12, "quadrillion": 1e15}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NEAR = 0.15  # by which a number in words may differ from what is drawn


def value(text: str) -> float:
    """A number as it is written."""
    text, _, size = text.replace(",", "").replace("−", "-").partition(" ")
    factor = SIZES.get(size, 1.0)
    if size.startswith("×"):
        factor = 10.0 ** int(size.removeprefix("× 10").translate(RAISED))
    return float(text) * factor


def faults(report: Report, folder: str = "") -> list[tuple[str, str]]:
    """Everything that a careful reader would object to."""
    found = [*_written(report, folder), *_checks(report), *_first_share(report), *_shares(report)]
    if report.facts.setting.series:
        for k in range(len(report.facts.components)):
            found += [*_swings(report, k), *_peaks(report, k), *_direction(report, k), *_step(report, k)]
        found += [*_noise(report), *_next_peak(report), *_row_of_table(report)]
    return found


# -- what must not be written ------------------------------------------------------------------------------------------

FORBIDDEN = {
    "exponent": r"\d(?:\.\d+)?e[+−-]?\d{1,3}\b",
    "one of many": r"(?<![\d.,])(?:1|1\.0) times\b"
    r"|(?<![\d.,])1 (?:standard deviations|seconds|years|months|weeks|days|hours|units)\b",
    "about none": r"no more than about 0\b|±0(?![.\d])|p = 0\.00\b|\bless than [\d.e−,]+ [^.,;]*(?:higher|lower)",
    "doubled word": r"\b([a-z]+) \1\b",
    "not a number": r"\b(?:NaN|nan|inf|None)\b",
    "from itself": r"(?<![\w.,−-])([\d−A-Z][\w.,−-]*(?: \d{4})?) (?:to|and) \1(?![\w.,]*\d)",
    "tiny unit": r"\b0\.0\d* years\b",
    "per many": r"\bper (?:days|years|hours|weeks|months)\b",
}


def said(report: Report) -> str:
    """The page in Markdown without its kernels and its command."""
    text = re.sub(r"``?[^`]+``?", "", plaintext.markdown(report).replace("\\", ""))
    return re.sub(r"(?m)^- command:.*$", "", text)


def _written(report: Report, folder: str) -> Faults:
    text = said(report)
    for kind, pattern in FORBIDDEN.items():
        for match in re.finditer(pattern, text):
            if kind == "doubled word" and match.group(1) in ("that", "had"):
                continue
            yield kind, text[max(match.start() - 40, 0) : match.end() + 20].replace("\n", " ")
    drawn = re.sub(r"<(code|style|script)\b.*?</\1>", "", document.html(report), flags=re.DOTALL)
    drawn = re.sub(r"<[^>]*>", " ", drawn)
    for match in re.finditer(FORBIDDEN["exponent"], drawn):
        if match.group() not in text:
            yield "exponent", f"on a picture: {match.group()}"
    if folder and (folder in text or folder in drawn):
        yield "path", folder
    if re.match(r"Y\b", report.title):
        yield "title", report.title
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[0].startswith(("period", "distance over", "width")):
            if not (cells[3] or re.search(r"[a-z]", cells[1])):
                yield "no unit", line
            if cells[3] == "years" and abs(value(cells[1])) < 0.02:
                yield "tiny unit", line
    for length in re.findall(rf"cycle of about ({NUMBER})(?=[.,;](?!\d)|$)", text):
        yield "no unit", f"cycle of about {length}"


# -- checks ------------------------------------------------------------------------------------------------------------

COUNT = {w: n for n, w in enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])}


def _count(word: str) -> int:
    return COUNT.get(word.lower(), int(word) if word.isdigit() else -1)


def _checks(report: Report) -> Faults:
    whole, failed = report.whole(), [c for c in report.checks if c.p_value <= 0.05]
    told = dict(report.sure())["Checked"]
    number = r"(no|one|two|three|four|five|six|seven|eight|nine|\d+)"
    if match := re.search(rf"(?:All )?{number} checks? of the whole passed", told):
        shown, bad = _count(match.group(1)), 0
    elif match := re.search(rf"^{number} of {number} checks?", told, re.IGNORECASE):
        bad, shown = _count(match.group(1)), _count(match.group(2))
    else:
        shown, bad = len(whole), 0 if "passed" in told else -1
    page = document.html(report)
    drawn = re.split(r'<section class="[a-z]+"', page.split('<section class="checks">')[1])[0].count('class="verdict')
    if (bad, shown) != (sum(c in failed for c in whole), len(whole)) or drawn != shown:
        yield "count of checks", f"{told} ({len(whole)} made, {drawn} shown)"
    cautions = " ".join(report.remarks)
    if failed and not re.search(r"\bchecks?\b", cautions):
        yield "failed in silence", f"{len(failed)} of {len(report.checks)} checks"
    ends = {(c.statistic, c.detail.get("side")): c.meaning for c in failed if c.subject == "whole"}
    tails = {m for (name, _), m in ends.items() if name.startswith("qq")}
    shape = ends.get(("normality", None))
    if {"heavy tails": "light tails", "light tails": "heavy tails"}.get(shape or "") in tails:
        yield "check against check", f"{shape} and {tails}"
    record = np.ptp(report.dataset.X[:, 0])
    for c in failed:
        if 0.6 * record < c.detail.get("period", 0.0) and "cycle of about" in report.say(c):
            yield "cycle as long as the record", report.say(c)


# -- shares ------------------------------------------------------------------------------------------------------------


def _first_share(report: Report) -> Faults:
    """The first share that a reader meets must not be that of the fit where held-out data say much less."""
    patterns = [c for c in report.facts.components if c.head != "noise"]
    if not patterns or not report.facts.baseline_mae:
        return
    foreseen = 1 - patterns[-1].score.mae / report.facts.baseline_mae
    if report.facts.explained - foreseen < 0.3:
        return
    header = ""
    for line in said(report).replace("(90 %)", "").splitlines():
        header = line if line.startswith("| |") else header
        found = next((s for s in re.split(r"(?<=[.;]) ", line) if re.search(r"\d %", s)), "")
        if found:
            if "held" not in (header if line.startswith("|") else found):
                yield "first number is of the fit", f"{found.strip()} against {foreseen:.0%} less error"
            return


def _shares(report: Report) -> Faults:
    """The share of variance that the whole explains is one number."""
    found = re.findall(r"(?:patterns (?:together )?|inputs )explain ([^%]*%)", said(report))
    if len(set(found)) > 1:
        yield "share against share", ", ".join(found)


# -- parts -------------------------------------------------------------------------------------------------------------


def _own(report: Report, k: int) -> str:
    """Everything that is said under the heading of a part, and in the list of parts."""
    texts = report.texts()[k]
    return " ".join([texts.name + ".", texts.summary, *texts.sentences, *texts.extrapolation])


def _clause(report: Report, k: int) -> str:
    """The clause of the headline on a cycle, found by its name."""
    head, text = report.headline.split(";")[0], report.texts()[k].summary
    name = re.search(r"(\w+ cycle(?: of about [\d.,]+ \w+)?)", text)
    if not name or name.group(1) not in head:
        return ""
    return re.split(r", | and a | \(|; ", head.split(name.group(1), 1)[1])[0]


def _drawn(report: Report, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A part at the observations where it applies, in order."""
    c = report.facts.components[k]
    x = report.dataset.X[:, 0]
    order = np.argsort(x, kind="stable")
    x, y = x[order], np.array(c.at_data.mean)[order]
    inside = (x >= c.shape.start - 1e-9) & (x <= c.shape.end + 1e-9) if c.shape else np.ones(len(x), bool)
    return x[inside], y[inside]


GROWING = r"swings (?:that )?(?:grow|grew|have grown)|growing with|go on growing"
SHRINKING = r"swings (?:that )?(?:shrink|shrank|have shrunk)|shrinking with|go on shrinking"
BOTH = r"both sides|smallest around|were smallest"


def _swings(report: Report, k: int) -> Faults:
    c = report.facts.components[k]
    if c.head != "cycle" or c.shape is None or c.shape.cycle is None:
        return
    ring = c.shape.cycle
    x, y = _drawn(report, k)
    text = " ".join([_own(report, k), _clause(report, k)])
    ways = {way for way, p in (("grow", GROWING), ("shrink", SHRINKING), ("both", BOTH)) if re.search(p, text)}
    if len(ways - ({"grow"} if "both" in ways and "go on growing" in text else set())) > 1:
        yield "swings against swings", f"{sorted(ways)}: {text[:300]}"
    if x[-1] - x[0] < 2 * ring.period or np.ptp(y) == 0 or np.sum(x <= x[0] + ring.period) < 4:
        return
    steps = ring.period / float(np.median(np.diff(x)))
    reach = ring.period * (1 if abs(steps - round(steps)) < 0.1 or steps > 8 else np.ceil(8 / steps))
    ends = [float(np.ptp(y[s])) for s in (x <= x[0] + reach, x >= x[-1] - reach)]
    if ("grow" in ways and "both" not in ways and ends[1] < 0.95 * ends[0]) or (
        "shrink" in ways and ends[1] > 1.05 * ends[0]
    ):
        yield "swings against the curve", f"{sorted(ways)} from {ends[0]:.4g} to {ends[1]:.4g}: {text[:200]}"
    for first, last in re.findall(rf"from about ({NUMBER}) to ({NUMBER})", text):
        if abs(value(first) - ends[0]) > NEAR * max(ends) or abs(value(last) - ends[1]) > NEAR * max(ends):
            yield "size against the curve", f"{first} to {last}, drawn {ends[0]:.4g} to {ends[1]:.4g}"
    if "every cycle is the same" in text.lower():
        yield from _same(c, abs(steps - round(steps)) < 0.1)


def _same(c: Component, even: bool) -> Faults:
    """Cycles that are said to be the same must swing alike on the chart, unless it is drawn at `even` steps alone."""
    if even or c.curve is None or c.shape is None or c.shape.cycle is None:
        return
    x, y, period = np.array(c.curve.x), np.array(c.curve.mean), c.shape.cycle.period
    first = y[(x >= c.shape.start) & (x <= c.shape.start + period)]
    last = y[(x <= c.shape.end) & (x >= c.shape.end - period)]
    if min(len(first), len(last)) >= 16 and abs(np.ptp(first) - np.ptp(last)) > 0.2 * np.ptp(first):
        yield "same cycles differ", f"drawn {np.ptp(first):.4g} to {np.ptp(last):.4g}"


def _month(moment: float) -> str:
    return MONTHS[int(np.floor(12 * (moment % 1.0) + 1e-6)) % 12]


QUARTERS = ("first", "second", "third", "fourth")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _season(text: str) -> str:
    """The month of a date in words, or its quarter as "Q3"."""
    if match := re.search(r"Q[1-4]", text):
        return match.group()
    if match := re.search(rf"({'|'.join(QUARTERS)}) quarter", text):
        return f"Q{QUARTERS.index(match.group(1)) + 1}"
    if match := re.search("|".join(MONTHS), text):
        return match.group()
    match = re.search(r"\d{4}-(\d\d)", text)
    return MONTHS[int(match.group(1)) - 1] if match else ""


def _same_season(first: str, second: str) -> bool:
    def quarter(text: str) -> str:
        return text if text.startswith("Q") else f"Q{MONTHS.index(text) // 3 + 1}"

    if first.startswith("Q") or second.startswith("Q"):
        return quarter(first) == quarter(second)
    return first == second


def _highest(report: Report, k: int) -> str:
    match = re.search(r"highest in ([^.]*?) and lowest", _own(report, k))
    return _season(match.group(1)) if match else ""


def _peaks(report: Report, k: int) -> Faults:
    c = report.facts.components[k]
    told = _highest(report, k)
    if not told or c.shape is None or c.shape.cycle is None:
        return
    x, y = _drawn(report, k)
    last = x > x[-1] - c.shape.cycle.period + 1e-6
    if np.ptp(np.diff(x)) > 0.5 * np.median(np.diff(x)):
        return
    top = np.flatnonzero(last & (y >= y[last].max() - 1e-3 * np.ptp(y[last])))
    if not any(_same_season(told, _month(float(x[j]))) for j in top):
        yield "peak against the curve", f"{told}, drawn {_month(float(x[top[0]]))}"


def _next_peak(report: Report) -> Faults:
    match = re.search(r"next peak[^;]*?,? (?:around|in|on) ([^;(]*?),? (?:should|the model)", report.headline)
    told = [h for k in range(len(report.facts.components)) if (h := _highest(report, k))]
    yield from _next_day(report, match.group(1) if match else "")
    when = _season(match.group(1)) if match and told and _clause_of_year(report) else ""
    if when and not any(_same_season(when, h) for h in told):
        yield "peak against peak", f"next in {when}, highest in {told}"


def _next_day(report: Report, when: str) -> Faults:
    """A weekly cycle is next highest on the weekday on which it was, a daily one at the hour."""
    f = report.facts.forecast
    own = _own(report, f.part - 1) if f is not None and f.part else ""
    day, hour = re.search(r"highest on (\w+)s\b", own), re.search(r"highest around (\d\d):", own)
    if day and day.group(1) in DAYS and day.group(1) not in when:
        yield "peak against peak", f"next {when}, highest on {day.group(1)}s"
    if hour and f"{hour.group(1)}:" not in when:
        yield "peak against peak", f"next {when}, highest around {hour.group(1)}:00"


def _clause_of_year(report: Report) -> bool:
    f = report.facts.forecast
    return f is not None and f.cycle is not None and abs(f.cycle - 1) < 0.03


WAY = re.compile(
    rf"\b(?:a|of) ?[\w-]*(?: [\w-]+)*? (rise|fall) of about ({NUMBER})|(?:that )(rises|falls) by about ({NUMBER})"
)


def _direction(report: Report, k: int) -> Faults:
    c, summary = report.facts.components[k], report.texts()[k].summary
    match = WAY.search(summary)
    if not match or c.head == "cycle":
        return
    x, y = _drawn(report, k)
    way = 1 if (match.group(1) or match.group(3)).startswith("rise") else -1
    change, told = float(y[-1] - y[0]), value(match.group(2) or match.group(4))
    if change * way < 0:
        yield "direction against the curve", f"{summary} drawn {change:.4g}"
    elif " in all" in summary and abs(told - abs(change)) > NEAR * abs(change):
        yield "size against the curve", f"{summary} drawn {change:.4g}"
    qualified = re.search(r"other parts|all parts together", summary)
    X, S = _sum(report)
    where = np.abs(X - (x[0] + x[-1]) / 2) <= (x[-1] - x[0]) / 2 + 1e-9
    total = float(S[where][-1] - S[where][0])
    if not qualified and total * way < 0 and abs(total) > 0.25 * abs(change):
        yield "part against the sum", f"{summary} the sum changes by {total:.4g}"
    if c.regions and " in all" in summary and c.curve is not None:
        everywhere = float(np.ptp(c.curve.mean))
        if everywhere > 2 * abs(change) and "runs from" not in _own(report, k):
            yield "size against the chart", f"{summary} the chart spans {everywhere:.4g}"


def _sum(report: Report) -> tuple[np.ndarray, np.ndarray]:
    """All parts but cycles and noise at the observations."""
    x = report.dataset.X[:, 0]
    order = np.argsort(x, kind="stable")
    slow = [c for c in report.facts.components if c.head not in ("cycle", "noise")]
    return x[order], np.sum([np.array(c.at_data.mean)[order] for c in slow], axis=0) if slow else np.zeros(len(x))


def _step(report: Report, k: int) -> Faults:
    c, summary = report.facts.components[k], report.texts()[k].summary
    match = re.search(rf"level about ({NUMBER}).* (higher|lower)", summary)
    if not match or not c.regions:
        return
    x, S = _sum(report)
    own = value(match.group(1)) * (1 if match.group(2) == "higher" else -1)
    for interval in c.regions[0].within(x[0], x[-1]).intervals:
        for edge, way in ((interval.low, 1), (interval.high, -1)):
            if edge is None:
                continue
            before, after = x < edge.at - edge.width, x > edge.at + edge.width
            if before.sum() < 3 or after.sum() < 3:
                continue
            jump = float(S[after][0] - S[before][-1]) * way
            if jump * own < 0 or abs(jump) < 0.5 * abs(own):
                yield "level against the sum", f"{summary} the sum changes by {jump * way:.4g} at {edge.at:.5g}"


# -- noise -------------------------------------------------------------------------------------------------------------


def _noise(report: Report) -> Faults:
    parts = [k for k, c in enumerate(report.facts.components) if c.head == "noise"]
    if len(parts) != 1:
        return
    (k,) = parts
    if report.facts.setting.n_rows < 30:  # a flexible model leaves nothing over of so few
        return
    c, text = report.facts.components[k], _own(report, k)
    left = np.array(c.at_data.mean)[np.argsort(report.dataset.X[:, 0], kind="stable")]
    third = max(len(left) // 3, 1)
    sizes = [float(np.sqrt(np.mean(v**2))) for v in (left, left[:third], left[-third:])]
    match = re.search(rf"standard deviation of about ({NUMBER})", text)
    if match and value(match.group(1)) < sizes[0] / 1.6:  # more may be: a flexible part takes some of the noise
        yield "noise against the dots", f"{match.group()}, drawn {sizes[0]:.4g}"
    first = re.search(
        rf"(?:noise that \w+|standard deviation \w+[^.;|]*?),? from about ±?({NUMBER})", report.headline + text
    )
    if first and sizes[1] > 0 and not sizes[1] / 3 < value(first.group(1)) < 3 * sizes[1]:
        yield "noise against the dots", f"{first.group()}, drawn {sizes[1]:.4g}"
    told = [value(v) for v in re.findall(rf"noise of about ±({NUMBER})", report.headline)]
    told += [value(v) for v in re.findall(rf"standard deviation of about ({NUMBER})", text)]
    told += [value(v) for v in re.findall(rf"strays by about ±({NUMBER})(?! at first)", said(report))]
    if told and max(told) > 1.06 * min(told):
        yield "noise against noise", str(told)
    pairs = re.findall(rf"noise that \w+ from about ±({NUMBER}) to ±({NUMBER})", report.headline)
    pairs += re.findall(rf"standard deviation grows[^.]*from about ({NUMBER}) to ({NUMBER})", text)
    starts = [value(a) for a, _ in pairs]
    if starts and max(starts) > 1.25 * min(starts):
        yield "noise against noise", str(pairs)


# -- the forecast ------------------------------------------------------------------------------------------------------


def _row_of_table(report: Report) -> Faults:
    """The interval of the headline is that of its row in the table of the forecast."""
    table, f = report.forecast, report.facts.forecast
    if table is None or f is None or report.dataset.rule is None:
        return
    what = f.peak if f.cycle is not None else f.end
    columns = [table.header.index(name) for name in ("q0.05", "q0.95") if name in table.header]
    for row in table.rows:
        if str(row[0]) == report.dataset.rule.format(what.at) and len(columns) == 2:
            shown, room = [float(row[k]) for k in columns], NEAR * (what.high - what.low) + 1e-6 * abs(what.mean)
            if max(abs(shown[0] - what.low), abs(shown[1] - what.high)) > room:
                yield "headline against the table", f"{what.low:.4g} to {what.high:.4g}, in the table {shown}"
