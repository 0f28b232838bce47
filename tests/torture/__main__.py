"""`make torture`: every case of every part, in as many processes as there are cores, and a table of what came out.

python -m tests.torture [PART ...] [--seed 0] [--share 1.0] [--table FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.torture.tally import KINDS, Tally, chunk, part, together

PARTS = ("files", "commands", "models", "kernels", "fits", "interrupts")
CHUNKS = 64


def try_part(name: str, seed: int, share: float, pool: ProcessPoolExecutor) -> tuple[Tally, float]:
    """Run a share of the cases of a part; its tally and the seconds it took."""
    start, n = time.perf_counter(), max(1, round(part(name).FULL * share))
    step = max(1, n // CHUNKS)
    chunks = [range(i, min(i + step, n)) for i in range(0, n, step)]
    tallies = pool.map(chunk, [name] * len(chunks), chunks, [seed] * len(chunks))
    return together(tallies), time.perf_counter() - start


def table(rows: list[tuple[str, Tally, float]]) -> str:
    """Markdown: a row a part with its outcomes, its faults by kind, and seconds."""
    head = ["part", "cases", "outcomes", *KINDS, "seconds"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, tally, seconds in rows:
        said = ", ".join(f"{n} {what}" for what, n in tally.outcomes.most_common())
        cells = [name, tally.outcomes.total(), said, *(tally.count(kind) for kind in KINDS), f"{seconds:.0f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> int:
    """Run what the command line asks for; 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each part")
    parser.add_argument("--table", type=Path, help="write the table there")
    given = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in given.parts or PARTS:
            tally, seconds = try_part(name, given.seed, given.share, pool)
            rows.append((name, tally, seconds))
            print(f"{name}: {tally.outcomes.total()} cases in {seconds:.0f} s, {len(tally.faults)} faults", flush=True)
            for kind, story in tally.faults[:20]:
                print(f"  {kind}: {story}", flush=True)
    print(table(rows))
    if given.table:
        given.table.write_text(table(rows) + "\n")
    return int(any(tally.faults for _, tally, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
