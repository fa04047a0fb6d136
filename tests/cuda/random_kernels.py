"""Random kernels on a GPU, compared with the evaluator. On a machine with a GPU, from the repository's root:

    PYTHONPATH=.links python3 -m tests.cuda.random_kernels --count 10000 --processes 14
    PYTHONPATH=.links python3 -m tests.cuda.random_kernels --count 3000 --processes 14 --fast-math

The first wants no difference at all, and prints each one with its seed and the kernel's text. The second compares
fast_math with the exact code of the same arch, and says of each difference how large it is, in units in the last place,
and which freedom it comes from: the kernel is compiled again without one of them at a time. A difference that stays
without all of them is no rounding. `--arch cpu` does the same there. 1 is the status where something is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

__all__ = ["Finding", "examine", "main", "source_of", "ulps"]

ARGUMENTS = (5, 0.75)  # of a program of functions
_PATIENCE = 300.0  # seconds without any answer


@dataclass(frozen=True)
class Finding:
    """What a kernel's run showed. `kind`: "differs", "failed" or "rounds"; `causes`: the freedoms that it came from."""

    seed: int
    kind: str
    detail: str
    causes: tuple[str, ...] = ()
    size: float = 0.0


def source_of(seed: int) -> tuple[str, str, bool]:
    """The kernel of that seed: "kernels" or "programs" (which generator it is of), its text, whether its fields share
    blocks."""
    from hypothesis.internal.conjecture.data import ConjectureData

    from tests.generate_functions import sources
    from tests.generate_kernels import kernels

    random = Random(seed)
    data = ConjectureData(random=random)
    if seed % 2:
        return "programs", data.draw(sources()), False
    return "kernels", data.draw(kernels()), random.random() < 0.5


def _runners(seed: int) -> tuple[str, Callable[[], dict[str, Any]], Callable[..., dict[str, Any]]]:
    """The kernel's text; what the evaluator leaves; what a run with those options leaves."""
    from tests.lang.behaviour import test_programs, test_random_kernels

    generator, source, together = source_of(seed)
    if generator == "programs":

        def run(arch: str, **options: Any) -> dict[str, Any]:
            with _options(test_programs, options):
                return test_programs.on_arch(source, arch, ARGUMENTS)

        return source, lambda: test_programs.evaluated(source, ARGUMENTS), run

    def run_kernel(arch: str, **options: Any) -> dict[str, Any]:
        with _options(test_random_kernels, options):
            return test_random_kernels.on_arch(source, together, arch)

    return source, lambda: test_random_kernels.evaluated(source, together), run_kernel


@contextmanager
def _options(module: Any, options: dict[str, Any]) -> Generator[None]:
    """`init` of that module with other options than it says."""
    init = module.ti.init
    with patch.object(module.ti, "init", lambda **given: init(**{**given, **options})):
        yield


# ---- fast_math -------------------------------------------------------------------------------------------------------

_FLAGS = ("reassoc", "arcp", "contract", "afn")
FREEDOMS = (*_FLAGS, "approximate", "algebra")


@contextmanager
def without(freedoms: tuple[str, ...]) -> Generator[None]:
    """Kernels are compiled without these freedoms of fast_math."""
    from weft.codegen import cuda, module
    from weft.ir.transforms import algebra

    kept = "".join(f"{flag} " for flag in _FLAGS if flag not in freedoms)
    with ExitStack() as stack:
        flags = property(lambda self: kept if self.config.fast_math else "")
        stack.enter_context(patch.object(module.ModuleWriter, "fast", flags))
        if "approximate" in freedoms:
            own = cuda.own_operators
            stack.enter_context(patch.object(cuda, "own_operators", lambda math, fast: own(math, False)))
        if "algebra" in freedoms:
            table = algebra.compile_rules
            stack.enter_context(patch.object(algebra, "compile_rules", lambda rules, fast: table(rules, False)))
        yield


def ulps(found: Any, wanted: Any) -> float:
    """The largest distance of floats in units in the last place, that of integers as they are. Infinite where only one
    is a NaN."""
    found, wanted = np.atleast_1d(found), np.atleast_1d(wanted)
    if found.dtype.kind != "f":
        return float(np.max(np.abs(found.astype(np.float64) - wanted.astype(np.float64)), initial=0.0))
    if (np.isnan(found) != np.isnan(wanted)).any():
        return float("inf")
    kind = np.dtype(f"i{found.dtype.itemsize}")
    ordered = [_ordered(np.nan_to_num(array, nan=0.0).view(kind)) for array in (found, wanted)]
    return float(np.max(np.abs(ordered[0] - ordered[1]), initial=0.0))


def _ordered(bits: Any) -> Any:
    """The bits of floats as numbers that are ordered as the floats are; both zeros are 0."""
    low = float(np.iinfo(bits.dtype).min)
    return np.where(bits < 0, low - bits.astype(np.float64), bits.astype(np.float64))


def _differing(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, float]:
    """By the name of what differs, how much."""
    made = dict[str, float]()
    for name, values in wanted.items():
        if not np.array_equal(found[name], values, equal_nan=np.asarray(values).dtype.kind == "f"):
            made[name] = ulps(found[name], values)
    return made


def _causes(run: Callable[..., dict[str, Any]], arch: str, wanted: dict[str, Any]) -> tuple[str, ...]:
    """Which freedoms of fast_math the difference comes from; none where it stays without all of them."""

    def equal(off: tuple[str, ...]) -> bool:
        with without(off):
            return not _differing(run(arch, fast_math=True), wanted)

    if not equal(FREEDOMS):
        return ()
    alone = tuple(one for one in FREEDOMS if equal((one,)))
    if alone:
        return alone
    return tuple(one for one in FREEDOMS if not equal(tuple(other for other in FREEDOMS if other != one))) or ("all",)


# ---- runs ------------------------------------------------------------------------------------------------------------


def examine(seed: int, arch: str, fast: bool) -> Finding | None:
    """Run the kernel of that seed; None where all is well."""
    import weft as ti

    try:
        source, evaluated, run = _runners(seed)
    except RecursionError:  # a generator may nest deeper than Python likes
        return Finding(seed, "too deep", "")
    try:
        if not fast:
            differing = _differing(run(arch), evaluated())
            if differing:
                return Finding(seed, "differs", f"{differing}\n{source}", size=max(differing.values()))
            return None
        wanted = run(arch)
        differing = _differing(run(arch, fast_math=True), wanted)
        if not differing:
            return None
        causes = _causes(run, arch, wanted)
        kind = "rounds" if causes else "differs"
        return Finding(
            seed, kind, str(differing) if causes else f"{differing}\n{source}", causes, max(differing.values())
        )
    except Exception:
        return Finding(seed, "failed", traceback.format_exc(limit=-4))
    finally:
        ti.reset()


def _work(given: tuple[int, str, bool]) -> Finding | None:
    return examine(*given)


def _begin() -> None:
    """A process runs no kernels of the disk's, since it compiles some in other ways."""
    import warnings

    os.environ["WEFT_OFFLINE_CACHE"] = "0"
    warnings.simplefilter("ignore")


def main() -> int:
    """Run them all, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.cuda.random_kernels")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--arch", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--fast-math", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    given = parser.parse_args()
    began, counted, causes, worst = time.monotonic(), Counter[str](), Counter[str](), dict[str, float]()
    work = ((seed, given.arch, given.fast_math) for seed in range(given.first, given.first + given.count))
    with multiprocessing.get_context("spawn").Pool(given.processes, _begin, maxtasksperchild=400) as pool:
        results = pool.imap_unordered(_work, work)
        for number in range(given.count):
            found = results.next(timeout=_PATIENCE)
            counted[found.kind if found else "same"] += 1
            if found is not None and found.kind != "too deep":
                cause = " or ".join(found.causes)
                causes[cause] += 1
                worst[cause] = max(worst.get(cause, 0.0), found.size)
                print(f"seed {found.seed} {found.kind} {cause}: {found.detail}", flush=True)
            if number % 500 == 499:
                print(f"{number + 1} kernels in {time.monotonic() - began:.0f} s: {dict(counted)}", flush=True)
            if time.monotonic() - began > 60 * given.minutes:
                pool.terminate()
                break
    print(f"{counted.total()} kernels in {time.monotonic() - began:.0f} s: {dict(counted)}")
    for cause, times in causes.most_common():
        print(f"  {times:5d} from {cause or 'nothing that fast_math allows'}; the largest: {worst[cause]:.0f}")
    return 1 if counted["differs"] or counted["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
