"""How the benchmarks are told: lines on the terminal, the table and the plot of `docs/performance.md`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.codegen.llvm.instruction_sets import levels_here

if TYPE_CHECKING:
    from tests.bench.__main__ import Measured

__all__ = ["DERIVATIVES", "LEVELS", "SECTIONS", "heading", "notes", "row", "with_table", "write"]

DOCS = Path(__file__).parents[2] / "docs"
MARKS = "<!-- bench {}: begin -->", "<!-- bench {}: end -->"  # of the table of machines that reach a level, "v3"
PLOTTED = "v4"
LEVELS = {"v2": "Weft, SSE4.2", "v3": "Weft, AVX2", "v4": "Weft, AVX-512"}  # what code is made for
NAMES = {"weft": "Weft", **LEVELS, "cpp": "C++", "numba": "Numba", "warp": "Warp", "taichi": "Taichi",
         "jax": "JAX", "torch": "PyTorch"}  # fmt: skip
SECTIONS = {
    "stencils": [
        "heat_4096",
        "heat_4096_ndrange",
        "heat_4096_ndarray",
        "seven_point_256",
        "life_4096_i32",
        "life_4096_u8",
    ],
    "sums and maps": ["sum_64m", "saxpy_64m", "spmv_1m", "histogram_64m", "transcendental_16m", "matmul_1024"],
    "images": ["blur_5", "blur_11", "bilateral_1024", "mandelbrot_2048", "raymarch_1024"],
    "physics": ["nbody_8192", "mpm88_50", "mpm88_256k", "sph_256k", "sph_sorted_256k", "stable_fluids_1024"],
    "launches (us)": [
        "loop_1024",
        "launch_empty",
        "launch_scalars",
        "launch_arrays",
        "launch_result",
        "element_read",
    ],
}
_DIFFERENTIATED = {
    "GradBench": ("lse", "llsq", "kmeans", "gmm", "ode", "lstm", "ba", "det", "particle", "saddle"),
    "cells and pixels": ("heat_step_4096", "newton_1024", "rays_1024"),
    "simulations": ("wave_256", "springs_4096", "elastic_8192", "billiards_256"),
    "more simulations": (
        "elastic_3d", "liquid_8192", "rigid_1024", "charges_1024", "volume_256", "smoke_110", "energy_8192"
    ),
}  # fmt: skip
DERIVATIVES = {title: [f"{name}{what}" for name in names for what in ("", "_gradient")]
               for title, names in _DIFFERENTIATED.items()}  # fmt: skip
DERIVATIVES["second derivatives"] = ["energy_8192_hvp"]
HOW = {
    False: "All threads, the clock's time:",
    True: "One thread each, the processor's time (`--alone`), which others on the machine hardly change:",
}
_TOLERATED = 0.01  # part of a sample that may differ: pixels at an edge, particles that rounding set apart


def time_of(mine: Measured) -> str:
    """Milliseconds, or a dash; a mark where the results are not Weft's."""
    if mine.absent:
        return "-"
    return f"{mine.best:.3g}" if mine.best < 100 else f"{mine.best:.0f}"


def ratio_of(weft: Measured, peer: Measured) -> str:
    """Weft's time over the peer's."""
    if weft.absent or peer.absent:
        return "-"
    return f"{weft.best / peer.best:.2f}" + ("!" if peer.apart > _TOLERATED else "")


def heading(peers: Sequence[str]) -> str:
    """The first line of the table on the terminal."""
    columns = "".join(f"{NAMES[peer] + ' ms':>{_wide(peer)}} {'ratio':>7}" for peer in peers)
    return f"{'program':<20} {'Weft ms':>9}{columns}   first call, ms"


def _wide(peer: str) -> int:
    """How wide its column is on the terminal."""
    return max(11, len(NAMES[peer]) + 4)


def row(name: str, found: Mapping[str, Measured], peers: Sequence[str]) -> str:
    """One program on the terminal."""
    weft = found["weft"]
    columns = "".join(f"{time_of(found[p]):>{_wide(p)}} {ratio_of(weft, found[p]):>7}" for p in peers)
    return f"{name:<20} {time_of(weft):>9}{columns}   {weft.first:.0f}"


def notes(found: Mapping[str, Mapping[str, Measured]], peers: Sequence[str]) -> str:
    """Why there are dashes, and whose results differ."""
    reasons: dict[str, list[str]] = {}
    for name, row in found.items():
        for peer in ("weft", *peers):
            mine = row[peer]
            if mine.absent:
                reasons.setdefault(f"{NAMES[peer]}: {mine.absent}", []).append(name)
            elif mine.apart > _TOLERATED:
                reasons.setdefault(f"{NAMES[peer]}: the result is not Weft's (!)", []).append(name)
    return "\n".join(
        f"{why}: {'every program' if len(names) == len(found) else ', '.join(names)}" for why, names in reasons.items()
    )


def write(found: Mapping[str, Mapping[str, Measured]], peers: Sequence[str], alone: bool) -> None:
    """Renew the table of `docs/performance.md` that is of machines with the vectors of this one, and the plot that goes
    with the first."""
    level = levels_here()[-1].removeprefix("x86-64-")
    page = DOCS / "performance.md"
    page.write_text(with_table(page.read_text(encoding="utf-8"), level, found, peers, alone), encoding="utf-8")
    if level == PLOTTED:
        plot(found, peers, DOCS / "pictures" / "performance.svg")


def with_table(
    page: str, level: str, found: Mapping[str, Mapping[str, Measured]], peers: Sequence[str], alone: bool
) -> str:
    """The page with that table between the marks of that level."""
    begin, end = (mark.format(level) for mark in MARKS)
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    return f"{before}\n{HOW[alone]}\n\n{_table(found, peers)}\n{after}"


def _table(found: Mapping[str, Mapping[str, Measured]], peers: Sequence[str]) -> str:
    """Milliseconds of Weft and of each peer, and ratios in brackets."""
    lines = [
        "| program | Weft | " + " | ".join(NAMES[peer] for peer in peers) + " | first call |",
        "|---|---:|" + "---:|" * len(peers) + "---:|",
    ]
    for name, mine in found.items():
        cells = [_cell(mine["weft"], mine[peer]) for peer in peers]
        first = time_of(mine["weft"]), f"{mine['weft'].first:.0f}"
        lines.append(f"| `{name}` | {first[0]} | {' | '.join(cells)} | {first[1]} |")
    return "\n".join(lines)


def _cell(weft: Measured, peer: Measured) -> str:
    return "-" if peer.absent else f"{time_of(peer)} ({ratio_of(weft, peer)})"


def plot(found: Mapping[str, Mapping[str, Measured]], peers: Sequence[str], path: Path) -> None:
    """How many times as fast as each peer Weft is, on a logarithmic axis. The figure is narrow, so that a phone can
    show it: 360 pixels wide, its text is 11 pixels high."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "weft"
    from matplotlib import pyplot

    colours = {"cpp": "#222222", "numba": "#00a0d0", "warp": "#76b900", "taichi": "#d65f5f"}
    shapes = {"cpp": "o", "numba": "s", "warp": "^", "taichi": "D"}
    names = list(found)
    figure, axes = pyplot.subplots(figsize=(4.5, 0.25 * len(names) + 1.2))
    for peer in reversed([peer for peer in peers if peer in colours]):
        there = [k for k, name in enumerate(names) if not found[name][peer].absent]
        times = [found[names[k]][peer].best / found[names[k]]["weft"].best for k in there]
        axes.scatter(times, there, s=26, color=colours[peer], marker=shapes[peer], label=NAMES[peer], zorder=3)
    axes.set_xscale("log")
    axes.axvline(1, color="#888888", linewidth=1)
    axes.set_yticks(range(len(names)), names, fontsize=9.5)
    axes.set_ylim(len(names) - 0.4, -0.6)  # the first one is at the top
    ticks = [0.5, 1, 2, 5, 10, 30, 100, 300]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks], fontsize=9.5)
    axes.minorticks_off()
    axes.grid(color="#e4e4e4", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("time of the peer / time of Weft\n(right of the line, Weft is faster)", fontsize=9.5)
    legend = {"loc": "lower right", "bbox_to_anchor": (1.02, 1.0), "ncols": len(peers), "frameon": False}
    axes.legend(**legend, columnspacing=0.8, handletextpad=0.1)
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
