"""`@ti.autotune`: try several configurations of a kernel and keep the fastest, for each kind of call::

    @ti.autotune(configs=[ti.Config(block_dim=128, TILE=4), ti.Config(block_dim=256, TILE=8)], key=["n"])
    @ti.kernel
    def step(x: ti.template(), n: ti.i32, TILE: ti.template()): ...

A configuration sets two kinds of values. The name of a parameter of the kernel sets this (template) parameter, which
callers leave out. `block_dim` and `simd` act like a `ti.loop_config` before each outermost loop of the kernel. A loop
that has its own `loop_config` with such a value keeps it.

Trials have no lasting effects: the memory that the kernel may write to, and the seed of its random numbers, are
restored. The choices are stored with the compiled kernels in the disk cache.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import RLock
from types import MethodType
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.lang.cache.kernels import key_of
from weft.lang.calls.parameters import Template, make_parameter
from weft.lang.data.field import Field
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.lang.measure.scopes import ScopedProfiler
from weft.lang.measure.testing import do_bench
from weft.lang.program import init as program_state
from weft.lang.translate.contract import Argument, with_loops
from weft.lang.translate.entry import translate_kernel
from weft.lang.tuning.autotune_state import Kept, saver
from weft.runtime.forks import forkable

__all__ = ["AutotuneError", "Autotuned", "Config", "autotune"]

_log = logging.getLogger("weft.autotune")

# The loop options that a configuration may set, and their valid values.
_SETTINGS: dict[str, tuple[Callable[[int], bool], str]] = {
    "block_dim": (lambda n: 1 <= n <= 1024, "1 to 1024"),
    "simd": (lambda n: n in (1, 2, 4, 8, 16, 32, 64), "1, 2, 4, ... or 64"),
}


_NUMBERS = frozenset((bool, int, float, str, type(None)))


class AutotuneError(WeftError):
    """All configurations of a kernel failed. The message has the error of each.

    Example:
        issubclass(ti.AutotuneError, ti.WeftError)  # True
    """


class Config:
    """One way to compile a kernel: `Config(block_dim=128, simd=8, TILE=4)`. The settings are `block_dim` (threads of a
    block on a GPU, 1 to 1024), `simd` (lanes on the CPU, 1 to 64) and globals of the kernel by name.

    Example:
        config = ti.Config(simd=8, TILE=4)
        config  # Config(simd=8, TILE=4)
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.settings == other.settings

    def __hash__(self) -> int:
        return hash(repr(self))


class _Way:
    """A kernel compiled with one configuration. `complete(args)` adds the parameters that callers leave out."""

    def __init__(self, kernel: Kernel, config: Config) -> None:
        names, settings = kernel.names, config.settings
        self.config = config
        self.given = sorted((names.index(name), value) for name, value in settings.items() if name in names)
        loops = {name: value for name, value in settings.items() if name not in names}
        self.kernel: Kernel = type(kernel)(with_loops(kernel.function, loops))

    def complete(self, args: Sequence[Any]) -> list[Any]:
        full = list(args)
        for position, value in self.given:
            full.insert(position, value)
        return full

    def __call__(self, args: Sequence[Any]) -> Any:
        return self.kernel(*(self.complete(args) if self.given else args))


class Autotuned:
    """A kernel that runs the fastest of its configurations. `choices` are the configurations chosen so far, by their
    keys."""

    def __init__(
        self,
        kernel: Kernel,
        configs: Sequence[Config],
        key: Sequence[str],
        restore: Sequence[Any],
        reset_to_zero: Sequence[Any],
        times: tuple[float, float],
    ) -> None:
        _check(kernel, configs)
        self.kernel, self.configs = kernel, tuple(configs)
        self.__name__, self.__doc__ = kernel.__name__, kernel.__doc__
        self._ways = [_Way(kernel, config) for config in configs]
        self._chosen = {name for name in configs[0].settings if name in kernel.names}
        self.names = [name for name in kernel.names if name not in self._chosen]
        self._signature = kernel.signature.replace(
            parameters=[one for name, one in kernel.signature.parameters.items() if name not in self._chosen]
        )
        self._key = frozenset(_known("key", key, self.names))
        self._restore = _known("restore", restore, self.names)
        self._reset = _known("reset_to_zero", reset_to_zero, self.names)
        self._times = times
        self._lock = forkable(RLock())
        self._generation = -1
        self._found: dict[tuple[Any, ...], _Way] = {}

    @property
    def choices(self) -> dict[tuple[Any, ...], Config]:
        """The choices in this program, by the facts about the arguments."""
        return {key: way.config for key, way in self._found.items()}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._way(args := self._ordered(args, keywords))(args)

    def tune(self, *args: Any, **keywords: Any) -> Config:
        """Return the configuration for such a call, and choose it now if necessary. The contents of the arguments do
        not change."""
        return self._way(self._ordered(args, keywords)).config

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<autotuned {self.kernel!r}, {len(self.configs)} configurations>"

    def _ordered(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the order of `names`."""
        if not keywords and len(args) == len(self.names):
            return args
        for name in keywords:
            if name in self._chosen:
                raise ArgumentError(f"'{name}' of kernel '{self.__name__}' is chosen by autotune: do not pass it")
        try:
            bound = self._signature.bind(*args, **keywords)
        except TypeError as error:
            wanted = ", ".join(self.names) or "no arguments"
            raise ArgumentError(f"the tuned kernel '{self.__name__}' takes {wanted}: {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _way(self, args: Sequence[Any]) -> _Way:
        program = program_state.program()
        key = tuple(_facts(value, name in self._key) for name, value in zip(self.names, args))
        if program.generation == self._generation and (known := self._found.get(key)) is not None:
            return known
        with self._lock:
            if program.generation != self._generation:
                self._found, self._generation = {}, program.generation
            if key not in self._found:
                self._found[key] = self._choose(program, key, args)
            return self._found[key]

    def _choose(self, program: Any, key: tuple[Any, ...], args: Sequence[Any]) -> _Way:
        what = f"{self.__name__}{_spoken(self._key, self.names, key)}"
        if len(self._ways) == 1 or program.backend.interprets:
            _log.info("%s: %s, without trying", what, self._ways[0].config)
            return self._ways[0]
        place = self._place(program, key, args)
        kept = _read(program.store, place, self._ways)
        if kept is not None:
            _log.info("%s: %s, as chosen before", what, kept.config)
            return kept
        with ScopedProfiler(f"autotune {self.__name__}"):
            times = self._try_all(program, what, args)
        best = min(times, key=lambda way: times[way])
        _log.info("%s: %s, %.4f ms, is the fastest of %d", what, best.config, times[best], len(times))
        if place is not None:
            said = {"choice": self._ways.index(best), "milliseconds": [times.get(way) for way in self._ways]}
            program.store.put(place, json.dumps(said).encode())
        return best

    def _try_all(self, program: Any, what: str, args: Sequence[Any]) -> dict[_Way, float]:
        """Return the milliseconds of each configuration that works."""
        times: dict[_Way, float] = {}
        failed: list[str] = []
        named = dict(zip(self.names, args))
        kept = Kept(program)
        for value in args:
            kept.argument(value)
        before = [saver(program, one).put_back for one in _meant(self._restore, named)]
        before += [_zeroed(one) for one in _meant(self._reset, named)]
        for way in self._ways:
            try:
                kept.reached(_reached(way.kernel, way.complete(args)))
                times[way] = self._measure(way, args, before)
                _log.debug("%s: %s: %.4f ms", what, way.config, times[way])
            except Exception as error:
                reason = f"{type(error).__name__}: {str(error).strip()}"
                _log.warning("%s: %s is left out: %s", what, way.config, reason)
                failed.append(f"{way.config}: {reason}")
            finally:
                kept.put_back()
        if not times:
            raise AutotuneError(f"no configuration of kernel '{self.__name__}' works:\n" + "\n".join(failed))
        return times

    def _measure(self, way: _Way, args: Sequence[Any], before: Sequence[Callable[[], Any]]) -> float:
        def prepare() -> None:
            for put_back in before:
                put_back()

        warmup, rep = self._times
        full = way.complete(args)
        time = do_bench(lambda: way.kernel(*full), warmup, rep, None, "median", clear_cache=False, before=prepare)
        return float(time)

    def _place(self, program: Any, key: tuple[Any, ...], args: Sequence[Any]) -> str | None:
        """Return the key of the stored choice: everything that the kernel depends on, the configurations and the
        machine."""
        if program.store is None:
            return None
        kernel = self._ways[0].kernel
        arguments = _translated(kernel, self._ways[0].complete(args))
        try:
            tree = translate_kernel(kernel.function, arguments, tuple(kernel.results), program.config).tree
        except WeftError:  # `_times_of` reports the error
            return None
        found = key_of(program, tree)
        text = f"autotune {found} {self.configs} {sorted(self._key)} {key} {program.device.processors}"
        return blake2b(text.encode(), digest_size=20).hexdigest()


def autotune(
    configs: Sequence[Config],
    key: Sequence[str] = (),
    restore: Sequence[Any] = (),
    reset_to_zero: Sequence[Any] = (),
    warmup: float = 5,
    rep: float = 30,
) -> Callable[[Kernel], Autotuned]:
    """Decorate a kernel (above `@ti.kernel`) so that calls use the fastest of `configs`.

    Each configuration is timed in the first call with new values of the parameters named in `key` (of arrays and
    fields: new shapes), or with arrays of other types: `warmup` milliseconds unmeasured and `rep` milliseconds
    measured. Afterwards all memory that the kernel can write to is restored, and the call itself is made. If a run
    depends on the results of the run before, name parameters, fields or ndarrays in `restore` to restore them before
    each run, or in `reset_to_zero` to fill them with 0.

    A configuration that fails is left out, with a warning of the logger "weft.autotune". Raises AutotuneError if all
    fail, and ArgumentError for a value that a configuration cannot set.

    Example:
        x = ti.field(ti.f32, 10000)

        @ti.autotune([ti.Config(simd=1), ti.Config(simd=8)], warmup=1, rep=2)
        @ti.kernel
        def fill(step: ti.f32):
            for i in x:
                x[i] = i * step

        fill(0.5)  # measures both, then runs
        x[10]  # 5.0
    """
    if not isinstance(configs, list | tuple):
        raise ArgumentError(f"autotune takes configs=[ti.Config(...), ...], not {configs!r}")
    return lambda kernel: Autotuned(kernel, configs, key, restore, reset_to_zero, (warmup, rep))


def _check(kernel: Any, configs: Sequence[Any]) -> None:
    if not isinstance(kernel, Kernel):
        raise ArgumentError(f"autotune takes a kernel, not {kernel!r}: put it above @ti.kernel")
    if not configs or not all(isinstance(config, Config) for config in configs):
        raise ArgumentError("autotune takes configs=[ti.Config(...), ...], at least one")
    templates = {name for name, annotation in kernel.params if isinstance(make_parameter(name, annotation), Template)}
    chosen = set(configs[0].settings) & set(kernel.names)
    for config in configs:
        for name, value in config.settings.items():
            if name in templates:
                continue
            if name in kernel.names:
                raise ArgumentError(f"{config}: parameter '{name}' must be annotated ti.template() to be tuned")
            if name not in _SETTINGS:
                can = ", ".join([*sorted(templates), *_SETTINGS])
                raise ArgumentError(
                    f"{config}: kernel '{kernel.__name__}' has no parameter '{name}'; a configuration can set {can}"
                )
            fits, wanted = _SETTINGS[name]
            if not isinstance(value, int) or not fits(value):
                raise ArgumentError(f"{config}: {name} must be {wanted}, not {value!r}")
        if set(config.settings) & set(kernel.names) != chosen:
            raise ArgumentError(
                f"all configurations must set the same parameters, but {configs[0]} and {config} do not"
            )


def _known(what: str, given: Sequence[Any], names: Sequence[str]) -> tuple[Any, ...]:
    for one in given:
        if isinstance(one, str) and one not in names:
            raise ArgumentError(f"{what}: '{one}' is not one of {', '.join(names) or 'the parameters: there are none'}")
    return tuple(given)


def _meant(given: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """Return the arrays and fields that are given by name or directly."""
    return [named[one] if isinstance(one, str) else one for one in given]


def _zeroed(value: Any) -> Callable[[], Any]:
    return value.zero_ if hasattr(value, "zero_") else lambda: value.fill(0)


def _translated(kernel: Kernel, args: Sequence[Any]) -> list[Argument]:
    """Return the arguments, with the owner first if there is one, as the translator takes them."""
    kernel._program()
    owner, given = _owned(kernel, args)
    first = [Argument(kernel.names[0], value=owner)] if kernel.has_self else []
    flat = kernel._unpacked(given)
    return [*first, *(one.argument(value) for one, value in zip(kernel._parameters, flat, strict=True))]


def _reached(kernel: Kernel, args: Sequence[Any]) -> list[Any]:
    """Compile the kernel and return the trees of the fields that a call with those arguments may write to."""
    program = kernel._program()
    owner, given = _owned(kernel, args)
    return [tree for ref in kernel._instance(program, owner, kernel._unpacked(given)).trees if (tree := ref())]


def _owned(kernel: Kernel, args: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    return (args[0], args[1:]) if kernel.has_self else (None, args)


def _facts(value: Any, keyed: bool) -> Any:
    """Return the facts about an argument that a choice depends on: the kind of an array and, if it is in the key, its
    shape, or a number."""
    if value.__class__ in _NUMBERS:
        return value if keyed else None
    if isinstance(value, np.generic):
        return value.item() if keyed else None
    of = value.describe() if isinstance(value, Field) else value
    shape = getattr(of, "shape", None)
    if shape is None:
        return type(value).__name__ if keyed else None
    return getattr(of, "dtype", None), tuple(shape) if keyed else len(shape)


def _spoken(key: frozenset[str], names: Sequence[str], facts: Sequence[Any]) -> str:
    return "".join(f", {name}={fact}" for name, fact in zip(names, facts) if name in key)


def _read(store: Any, place: str | None, ways: Sequence[_Way]) -> _Way | None:
    """Return the stored choice if it is one of these configurations."""
    data = store.get(place) if place is not None else None
    if data is None:
        return None
    try:
        choice = json.loads(data)["choice"]
    except (ValueError, LookupError, TypeError):
        return None
    return ways[choice] if type(choice) is int and 0 <= choice < len(ways) else None
