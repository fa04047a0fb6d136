"""`ti.testing`: measure how long something takes, plot it, and compare results.

The interface is that of `triton.testing`.
"""

from __future__ import annotations

import csv
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.program.init import program

if TYPE_CHECKING:
    from weft.runtime.device import Device

__all__ = ["Benchmark", "Mark", "assert_close", "do_bench", "perf_report"]

_QUICK = 5  # calls whose time gives the number of calls that fit the period
_LEAST = 1e-3  # milliseconds, the assumed minimum of a call

_SUMMARY: dict[str, Callable[[Sequence[float]], Any]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "all": list,
}


def do_bench(
    fn: Callable[[], Any],
    warmup: Any = 25,
    rep: Any = 100,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    clear_cache: bool = True,
    before: Callable[[], Any] | None = None,
) -> Any:
    """Return how long `fn()` takes, in milliseconds.

    `fn` runs for about `warmup` milliseconds unmeasured, then for about `rep` milliseconds in all, at least once each.
    On a GPU, events of the device around each run are used, so launch overhead is not included while the device is
    busy. On a CPU, the clock is used. `clear_cache` empties the caches before each run, so that data come from memory.
    `before` is also called then, unmeasured, to restore data.

    The result is the mean, or what `return_mode` says: "median", "min", "max", or "all" for the list of all runs. With
    `quantiles`, numbers in [0, 1], it is the list of these quantiles. Raises ValueError for another mode or quantile.

    Example:
        x = ti.field(ti.f32, 10000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        0 < ti.testing.do_bench(fill, warmup=1, rep=2) < 1000  # True
        len(ti.testing.do_bench(fill, warmup=1, rep=2, quantiles=[0.2, 0.5, 0.8]))  # 3
    """
    if not callable(fn):
        raise TypeMismatch(f"do_bench takes a function without parameters, not {fn!r}")
    if not all(isinstance(time, int | float | np.number) for time in (warmup, rep)):
        raise TypeMismatch(f"warmup and rep must be numbers of milliseconds, not {warmup!r} and {rep!r}")
    if return_mode not in _SUMMARY:
        raise ValueError(f"return_mode must be one of {', '.join(_SUMMARY)}, not {return_mode!r}")
    if quantiles is not None and not all(0 <= q <= 1 for q in quantiles):
        raise ValueError(f"quantiles must be in [0, 1], not {quantiles}")
    device = program().device
    flush = device.cache_flush() if clear_cache else _nothing
    prepare = before or _nothing
    _runs(device, fn, 1, prepare, flush)  # compiles, and touches memory for the first time
    began = time.perf_counter()
    quick = statistics.fmean(_runs(device, fn, _QUICK, prepare, flush))
    each = 1e3 * (time.perf_counter() - began) / _QUICK  # includes all overhead
    _runs(device, fn, max(1, int(warmup / max(quick, _LEAST))), prepare, _nothing)
    times = _runs(device, fn, max(1, int(rep / max(each, _LEAST))), prepare, flush)
    if quantiles is not None:
        return [float(t) for t in np.quantile(times, quantiles)]
    return _SUMMARY[return_mode](times)


def _runs(
    device: Device, fn: Callable[[], Any], count: int, prepare: Callable[[], Any], flush: Callable[[], Any]
) -> list[float]:
    """Return the milliseconds of `count` calls."""
    marks: list[tuple[Any, Any]] = []
    for _ in range(count):
        prepare()
        flush()
        begin = device.stamp()
        fn()
        marks.append((begin, device.stamp()))
    device.synchronize()
    return [1e3 * device.seconds_between(begin, end) for begin, end in marks]


def _nothing() -> None:
    """The default of `before`: do nothing."""


@dataclass
class Benchmark:
    """What `perf_report` measures. The function is called with `line_arg` set to each of `line_vals`, which gives one
    curve each, and with all of `x_names` set to each of `x_vals` along the curve. `args` are passed unchanged.

    A value of `x_vals` is one number for all of `x_names`, or a tuple with one number for each. `line_names` are the
    labels of the curves. The other fields describe the plot; `styles` are (color, dash) pairs.

    Example:
        sizes = ti.testing.Benchmark(
            x_names=["n"], x_vals=[100, 1000], line_arg="library", line_vals=["numpy"], line_names=["numpy"],
            plot_name="sum",
        )
        sizes.ylabel  # 'ms'
    """

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    xlabel: str = ""
    ylabel: str = "ms"
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        if len(self.line_vals) != len(self.line_names):
            raise ValueError(f"there are {len(self.line_vals)} line_vals, but {len(self.line_names)} line_names")
        if self.styles is not None and len(self.styles) < len(self.line_vals):
            raise ValueError(f"there are {len(self.line_vals)} line_vals, but {len(self.styles)} styles")


Rows = list[tuple[Any, ...]]


class Mark:
    """A function with its benchmarks, as `perf_report` makes it. `run` runs them.

    Example:
        sizes = ti.testing.Benchmark(
            x_names=["n"], x_vals=[1, 2], line_arg="scale", line_vals=[10], line_names=["ten"], plot_name="product"
        )

        @ti.testing.perf_report(sizes)
        def bench(n, scale):
            return float(n * scale)

        bench.run()  # [[(1, 10.0), (2, 20.0)]]
    """

    def __init__(self, fn: Callable[..., Any], benchmarks: Sequence[Benchmark]) -> None:
        self.fn, self.benchmarks = fn, benchmarks

    def run(
        self, show_plots: bool = False, print_data: bool = False, save_path: str | Path = "", **extra: Any
    ) -> list[Rows]:
        """Run the benchmarks. Returns the rows of each benchmark: the x values, then one number per curve.

        The function returns a number, or (number, lowest, highest) for a band around the curve. `save_path` is a folder
        for PLOT_NAME.csv and, if matplotlib is installed, PLOT_NAME.png. `extra` is passed to the function."""
        found: list[Rows] = []
        for benchmark in self.benchmarks:
            points = [
                (x, [_point(self._call(benchmark, x, line, extra)) for line in benchmark.line_vals])
                for x in benchmark.x_vals
            ]
            rows: Rows = [(*_values(benchmark, x), *(middle for middle, _, _ in curves)) for x, curves in points]
            if print_data:
                _print(benchmark, rows)
            if save_path:
                _save(benchmark, rows, Path(save_path))
            if save_path or show_plots:
                _plot(benchmark, points, Path(save_path) if save_path else None, show_plots)
            found.append(rows)
        return found

    def _call(self, benchmark: Benchmark, x: Any, line: Any, extra: dict[str, Any]) -> Any:
        along = dict(zip(benchmark.x_names, _values(benchmark, x), strict=True))
        return self.fn(**along, **{benchmark.line_arg: line}, **benchmark.args, **extra)


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    """Decorate a function with benchmarks (one `Benchmark`, or a list). The result is a `Mark`. The function returns a
    number, or a tuple of a number and the ends of its range.

    Example:
        sizes = ti.testing.Benchmark(
            x_names=["n"], x_vals=[100, 1000], line_arg="library", line_vals=["numpy"], line_names=["numpy"],
            plot_name="sum",
        )

        @ti.testing.perf_report(sizes)
        def bench(n, library):
            x = np.ones(n)
            return ti.testing.do_bench(lambda: x.sum(), warmup=1, rep=1)

        type(bench).__name__  # 'Mark'
    """
    given = [benchmarks] if isinstance(benchmarks, Benchmark) else benchmarks
    if not isinstance(given, list | tuple) or not all(isinstance(one, Benchmark) for one in given):
        raise TypeMismatch(f"perf_report takes ti.testing.Benchmark(...), or a list of them, not {benchmarks!r}")
    return lambda fn: Mark(fn, given)


def assert_close(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol |expected|` everywhere. NaN is close to NaN.

    The values are fields, ndarrays, numpy arrays, torch tensors or numbers. The default tolerances are those of the
    coarser of the two types: f16 1e-3, f32 1.3e-6 and f64 1e-7 relative, 1e-5 (f64: 1e-7) absolute, and exact for
    integers. The error gives the number of elements that differ, and the place of the worst one.

    Example:
        x = ti.field(ti.f32, 3)
        x.fill(1)
        ti.testing.assert_close(x, np.ones(3))
        ti.testing.assert_close(x, np.array([1.0, 1.0, 1.1]))  # raises AssertionError
    """
    a, b = _array(actual), _array(expected)
    if a.shape != b.shape:
        raise AssertionError(f"the shapes differ: {a.shape} and {b.shape}")
    usual = max((_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)), default=(0.0, 0.0))
    rtol, atol = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    exact = not (rtol or atol) and a.dtype.kind in "iub" and b.dtype.kind in "iub"
    near = a == b if exact else np.isclose(_wide(a), _wide(b), rtol=rtol, atol=atol, equal_nan=True)
    if near.all():
        return
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(near, -1.0, np.abs(_wide(a) - _wide(b)))
    apart = np.where(np.isnan(apart), np.inf, apart)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
    raise AssertionError(
        f"{int((~near).sum())} of {near.size} elements differ by more than rtol={rtol:g}, atol={atol:g}; "
        f"the worst is at {list(worst)}: {a[worst]} and {b[worst]}"
    )


_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def _wide(values: Any) -> Any:
    """Return the values as doubles, whose differences do not wrap around; complex numbers are unchanged."""
    return values if values.dtype.kind == "c" else values.astype(np.float64)


def _array(value: Any) -> Any:
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeMismatch(f"assert_close compares numbers, not {value!r}")
    return array


def _values(benchmark: Benchmark, x: Any) -> tuple[Any, ...]:
    """Return the values of all `x_names` at that point of the curve."""
    values: tuple[Any, ...] = x if isinstance(x, tuple) else (x,) * len(benchmark.x_names)
    if len(values) != len(benchmark.x_names):
        raise ValueError(f"{x} has {len(values)} values for {', '.join(benchmark.x_names)}")
    return values


def _point(answer: Any) -> tuple[float, float | None, float | None]:
    """Return (value, lowest, highest) of the function's result."""
    if isinstance(answer, tuple | list):
        middle, low, high = answer
        return float(middle), float(low), float(high)
    return float(answer), None, None


def _heads(benchmark: Benchmark) -> list[str]:
    return [*benchmark.x_names, *(f"{name} ({benchmark.ylabel})" for name in benchmark.line_names)]


def _print(benchmark: Benchmark, rows: Rows) -> None:
    table = [_heads(benchmark), *([f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in table]
    sys.stdout.write("\n".join([f"{benchmark.plot_name}:", *lines, ""]))


def _save(benchmark: Benchmark, rows: Rows, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{benchmark.plot_name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([_heads(benchmark), *rows])


def _plot(benchmark: Benchmark, points: Sequence[Any], folder: Path | None, show: bool) -> None:
    """Plot the curves, with a band if the function returned one. Without matplotlib, print a line that says so."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        sys.stderr.write(
            "weft.testing: cannot plot, because matplotlib is not installed: type `pip install weft[viz]`\n"
        )
        return
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    xs = [_values(benchmark, x)[0] for x, _ in points]
    for k, name in enumerate(benchmark.line_names):
        color, dash = benchmark.styles[k] if benchmark.styles else (f"C{k}", "-")
        values = [curves[k] for _, curves in points]
        axes.plot(xs, [v[0] for v in values], color=color, linestyle=dash, label=name)
        if all(v[1] is not None for v in values):
            axes.fill_between(xs, [v[1] for v in values], [v[2] for v in values], color=color, alpha=0.15)
    axes.set(xlabel=benchmark.xlabel or ", ".join(benchmark.x_names), ylabel=benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    axes.set_title(benchmark.plot_name)
    axes.grid(alpha=0.3)
    axes.legend()
    if folder is not None:
        figure.savefig(folder / f"{benchmark.plot_name}.png", dpi=120)
    if show:
        plt.show()
    plt.close(figure)
