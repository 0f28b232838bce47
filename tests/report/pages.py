"""Pages on simulated data, read by a stranger: a table of what he objects to.

python -m tests.report.pages [--share 1.0] [--searches 36] [--table FILE]

All 360 cases of `simulated` are fitted from a plausible kernel; for some, spread over all kinds, the structure is
searched for as well. Faults are listed as they are found; the exit status is 1 if there were any.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from fathom.report import consistency
from fathom.report.contents import Report, make
from fathom.report.prose import Words
from tests.report import simulated, stranger

Found = list[tuple[str, str]]  # (kind, story)


def read(i: int, search: bool = False) -> Found:
    """What is wrong with the page on case i."""
    case = simulated.case(i)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits of a few iterations may say that they have not converged
        data = case.load(Path(folder))
        model = case.search(data) if search else case.fit(data)
        report = make(model, data)
        found = stranger.faults(report, folder) + claims(report)
    how = " (searched)" if search else ""
    return [(kind, f"{i} {case.name}{how}: {story}") for kind, story in found]


def claims(report: Report) -> Found:
    """Contradictions among the claims of the sentences, before any is left out."""
    words = Words.of(report.facts, report.checks, report.agreement)
    found = consistency.contradictions(words, report.facts, report.checks)
    return [("claims", f"{c.what} in {c.statement.place}: {c.statement.text}") for c in found]


def table(faults: Found, pages: int) -> str:
    """Markdown: a row for each kind of fault, with how often and on how many pages it was found."""
    count, on = Counter(kind for kind, _ in faults), Counter()
    for kind, page in {(kind, story.split(":")[0]) for kind, story in faults}:
        on[kind] += bool(page)
    lines = ["| what is wrong | times | pages |", "|---|--:|--:|"]
    lines += [f"| {kind} | {n} | {on[kind]} |" for kind, n in count.most_common()]
    wrong = len({story.split(":")[0] for _, story in faults})
    return "\n".join([*lines, f"| **all** | {len(faults)} | {wrong} of {pages} |"])


def main() -> int:
    """Run what the command line asks for; 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.report.pages")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases")
    parser.add_argument("--searches", type=int, default=36, help="cases whose structure is searched for too")
    parser.add_argument("--table", type=Path, help="write the table there")
    given = parser.parse_args()
    step = max(1, round(1 / given.share)) if given.share else simulated.FULL
    cases = [(i, False) for i in range(0, simulated.FULL, step)]
    cases += [(7 * k % simulated.FULL + k % 7, True) for k in range(1, 8 * given.searches, 8)]
    start, faults = time.perf_counter(), []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(read, *zip(*cases, strict=True), chunksize=4):
            faults += found
            for kind, story in found:
                print(f"{kind}: {story}", flush=True)
    print(table(faults, len(cases)))
    print(f"{len(cases)} pages in {time.perf_counter() - start:.0f} s")
    if given.table:
        given.table.write_text(table(faults, len(cases)) + "\n", encoding="utf-8")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
