"""`python -m tests.fuzz --count 1000 --processes 8 --seed s`: random programs against the evaluator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.program import draw
from tests.fuzz.table import count, goals_of, shown
from tests.fuzz.workers import Plan, Report, run

_MODES = "jvp,vjp,vjp.jvp,jvp.vjp,vjp.vjp2"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--processes", "-P", type=int, default=1)
    parser.add_argument("--seed", default="s")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--arch", default="cpu", choices=("cpu", "cuda", "python", "emulated"))
    parser.add_argument("--verify", action="store_true", help="verify the IR after each pass")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--folder", type=Path, default=Path("out/fuzz"), help="where failures are written")
    parser.add_argument("--no-shrink", action="store_true", help="leave failures as they are")
    parser.add_argument("--scheduled", type=int, default=10, help="every which program runs under schedules; 0: none")
    parser.add_argument("--fast-math", action="store_true", help="fast_math against exact arithmetic: which rounding?")
    parser.add_argument("--derivatives", default="", nargs="?", const=_MODES, metavar="MODES",
                        help="derivatives: jvp by differences, vjp by dot products, vjp.jvp by symmetry")  # fmt: skip
    parser.add_argument("--compiled", type=int, default=3, help="every which derivative is machine code as well")
    parser.add_argument("--table", action="store_true", help="draw programs, run none, and show which pairs were met")
    given = parser.parse_args()
    if given.arch == "emulated" and not given.derivatives:
        parser.error("the emulated GPU runs derivatives only")
    return given


def of_derivatives(report: Report) -> str:
    """What was compared, and for each construct how many programs that have it ended in which way."""
    lines = [f"compared: {dict(report.counts)}", "construct: programs"]
    for row, ended in sorted(report.met.items(), key=lambda pair: pair[1]["same"]):
        lines.append(f"  {row}: {', '.join(f'{number} {status}' for status, number in ended.most_common())}")
    return "\n".join(lines)


def main() -> int:
    """Run them, tell what was found; 1 if anything was."""
    given = _options()
    if given.table:
        numbers = range(given.first, given.first + given.count)
        print(shown(count(draw(f"{given.seed}-{n}", goals_of(n)) for n in numbers)))
        return 0
    plan = Plan(given.seed, given.count, given.processes, given.arch, given.verify, given.minutes, given.first,
                given.folder, not given.no_shrink, given.scheduled, given.fast_math,
                tuple(filter(None, given.derivatives.split(","))), given.compiled)  # fmt: skip
    report = run(plan, lambda text: print(text, flush=True))
    rate = 60 * report.count / max(report.seconds, 1e-9)
    print(f"{report.count} programs in {report.seconds:.0f} s, {rate:.0f} a minute: {dict(report.ended)}")
    for cause, (name, detail) in sorted(report.rounded.items()):
        print(f"  {report.ended[cause]:5d} {cause}, {name} first: {detail}")
    if plan.modes:
        print(of_derivatives(report))
    for name, detail in report.found:
        print(f"{name}: {detail.splitlines()[0]}")
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(main())
