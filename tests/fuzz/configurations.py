"""Random configurations: options of `init`, passes switched off, shares so small that threads meet."""

from __future__ import annotations

import random as randomness
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import weft as ti
from weft.ir.passes import PASSES
from weft.ir.pipeline import find_pass
from weft.lang.program.options import OPTIONS

__all__ = ["OPTIONAL", "Configuration", "applied", "drawn"]

# Passes that a kernel means the same without.
OPTIONAL = ("algebra", "cse", "forward", "dead_stores", "licm", "unreachable", "collapse", "demote_atomics",
            "cache_invariant", "thread_local", "loop_tensors", "lift_sums")  # fmt: skip
_FEATURES = ("x86-64-v2", "v3", "v4", "native")


@dataclass(frozen=True)
class Configuration:
    """How a kernel is compiled and run. `off`: passes that do nothing; `share`: the price of a share of a loop."""

    arch: str = "cpu"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    default_fp: str = "f32"
    default_ip: str = "i32"
    off: tuple[str, ...] = ()
    share: float = 40_000.0

    def __str__(self) -> str:
        return (f"arch={self.arch} {self.options} default_fp={self.default_fp} default_ip={self.default_ip} "
                f"off={self.off} share={self.share}")  # fmt: skip

    @property
    def init(self) -> str:
        """The call of `init`, as text."""
        options = {"arch": self.arch, **self.options}
        types = f"default_fp=ti.{self.default_fp}, default_ip=ti.{self.default_ip}"
        return f"ti.init({', '.join(f'{name}={value!r}' for name, value in options.items())}, {types})"


def drawn(seed: str, arch: str = "cpu", safe: bool = False, verify: bool = False) -> Configuration:
    """The configuration of that seed. Debug is only for what is `safe`."""
    random = randomness.Random(f"configuration {seed}")
    options: dict[str, Any] = {"fast_math": False, "offline_cache": False, "compile_threads": 1}
    options |= {"cpu_max_num_threads": random.choice((1, 1, 2, 3, 8)), "random_seed": random.randrange(4)}
    off: tuple[str, ...] = ()
    if random.random() < 0.35:
        off = tuple(sorted(random.sample(OPTIONAL, random.choice((1, 1, 2, 4)))))
    if random.random() < 0.15:
        options["advanced_optimization"] = False
    if random.random() < 0.6:  # LLVM's optimizer takes most of the time, and is not what is tested
        options["opt_level"] = random.choice((0, 0, 0, 0, 1, 2))
    if safe and random.random() < 0.3:
        options["debug"] = True
    elif random.random() < 0.15:
        options["check_out_of_bound"] = True
    if random.random() < 0.3 and "cpu_features" in OPTIONS and arch == "cpu":
        wanted = random.choice(_FEATURES)  # drawn on every machine, so that one seed is one program everywhere
        options["cpu_features"] = wanted if wanted in _usable() else "native"
    if verify:
        options["verify"] = True
    wide = random.random()
    return Configuration(arch, options, "f64" if wide < 0.15 else "f32", "i64" if 0.1 < wide < 0.25 else "i32", off,
                         random.choice((40_000.0, 100.0, 20.0)))  # fmt: skip


@cache
def _usable() -> tuple[str, ...]:
    """The instruction sets that this machine has."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = {*file.read().partition("flags")[2].partition("\n")[0].split()}
    return tuple(f for f in _FEATURES if {"v3": "avx2", "v4": "avx512f"}.get(f, "sse2") in flags)


def _nothing(root: Any, config: Any) -> bool:
    return False


@contextmanager
def applied(configuration: Configuration) -> Iterator[None]:
    """The program that was started so, until the end of the block. Passes are called by the name that their callers
    imported, so each of these is replaced."""
    simplify = import_module("weft.ir.transforms.full_simplify")
    cpu = import_module("weft.codegen.cpu.kernel")
    saved = (simplify._ORDER, simplify._WAKES, cpu._CHUNK)
    registered = {name: find_pass(name) for name in configuration.off}
    gone = {registered[name] for name in configuration.off}
    simplify._ORDER = tuple(one for one in simplify._ORDER if one not in gone)
    cpu._CHUNK = configuration.share
    for name in configuration.off:
        PASSES[name] = _nothing
    try:
        prims = {f"default_{n}": getattr(ti, getattr(configuration, f"default_{n}")) for n in ("fp", "ip")}
        ti.init(arch=configuration.arch, **prims, enable_fallback=False, log_level="error", **configuration.options)
        yield
    finally:
        ti.reset()
        PASSES.update(registered)
        simplify._ORDER, simplify._WAKES, cpu._CHUNK = saved
