"""Launching CPU kernels: arguments into the context, the native call, results and faults out.

The work is done by native code (`launch_ir.py`) that each kernel wraps into a Python function of its own.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from itertools import chain
from threading import Lock, local
from typing import Any

import numpy as np

from weft.ir.artifact import SERVICES, Artifact, Slots
from weft.ir.errors import InternalError
from weft.ir.philox import launch_key
from weft.ir.scalar import cast_value
from weft.ir.types import Array, Prim, Type, f16, f32, f64, flatten, i64, u1, u16, u64
from weft.runtime.call_ir import call_ir
from weft.runtime.console import PrintService
from weft.runtime.direct import Native, Watched
from weft.runtime.epochs import Epochs
from weft.runtime.epochs_ir import epochs_ir
from weft.runtime.errors import Overlapping, fault
from weft.runtime.forks import forkable
from weft.runtime.graph_ir import graph_ir
from weft.runtime.guard_ir import FAULTED
from weft.runtime.guards import Guards, memory_fault, watch
from weft.runtime.interrupts import FUNCTIONS, INTERRUPTED, INTERRUPTS, raiser, watch_main_thread
from weft.runtime.jit import Code, Loader, emit
from weft.runtime.launch_ir import (
    ARRAY,
    DESCRIPTOR,
    FLOAT32,
    FLOAT64,
    INTEGER,
    ON_STACK,
    OVERLAPS,
    PYTHON_API,
    TRUTH,
    UNSIGNED,
    launch_ir,
)
from weft.runtime.launch_locks import DEVICE_LOCK, launch_locks_ir, memory_of
from weft.runtime.pool import Pool
from weft.runtime.pool_ir import pool_ir
from weft.runtime.repeats import Repeats

__all__ = ["CpuKernel", "Launcher", "Launching", "array_argument", "load_runtime", "runtime_ir"]

_KINDS: dict[Type, int] = {f32: FLOAT32, f64: FLOAT64, u1: TRUTH}
_METH_FASTCALL = 0x80


_runtime: list[Code] = []
_loading = forkable(Lock())


def load_runtime(emit: Callable[[str], bytes] = emit) -> Code:
    """The runtime's own machine code: launches, graphs and the pool. It stays for good: a program may end while a call
    that began in it is under way. `emit` makes an object file of LLVM IR; the first caller's is asked."""
    with _loading:
        if not _runtime:
            _runtime.append(_load_runtime(emit))
        return _runtime[0]


def runtime_ir() -> str:
    """The LLVM IR of the runtime's own machine code."""
    texts = pool_ir(), launch_ir(), launch_locks_ir(), INTERRUPTS.text(), epochs_ir(), call_ir(), graph_ir()
    return "\n".join(texts)


def _load_runtime(emit: Callable[[str], bytes]) -> Code:
    api: Any = ctypes.pythonapi
    symbols = {name: ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0 for name in PYTHON_API}
    calls = ("launch", "launch_bound", "launch_each", "call", "call_through", "bind", "set_watched", "set_repeat")
    own = (*calls, "launch_for", "launch_scratch", "graph_node", "graph_flush")
    functions = (*Pool.FUNCTIONS, *Epochs.FUNCTIONS, *Guards.FUNCTIONS, *FUNCTIONS, *own)
    code = Loader().load(emit(runtime_ir()), functions, symbols=symbols)
    Epochs(code)
    Guards(code)
    watch_main_thread(code)
    Watched(code)
    Repeats(code)
    return code


def array_argument(array: Any, ndim: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """What an `Array` parameter takes for a numpy array: address, extents and byte strides of its first `ndim` axes."""
    return array.__array_interface__["data"][0], array.shape[:ndim], array.strides[:ndim]


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Launcher:
    """Makes Python functions of kernels: `function(*trees, *scalars)` gives the tuple of results."""

    def __init__(self, code: Code, key: int) -> None:
        self._code = code  # what the method definition points to
        self._method = _MethodDef(b"launch", code["launch"], _METH_FASTCALL, None)
        self._bound_method = _MethodDef(b"launch_bound", code["launch_bound"], _METH_FASTCALL, None)
        # Launches take consecutive keys; the streams of a counter-based generator differ by key alone.
        self._seeds = ctypes.c_uint64(key)
        self._replayed = local()  # the key of the launch whose random numbers this thread draws again
        self.throw = raiser(code)
        self._new: Any = ctypes.pythonapi.PyCFunction_NewEx
        self._new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self._new.restype = ctypes.py_object
        self._each_method = _MethodDef(b"launch_each", code["launch_each"], _METH_FASTCALL, None)
        self.each: Callable[..., Any] = self._new(ctypes.addressof(self._each_method), None, None)

    def reseed(self, key: int) -> None:
        """The key of the next launch."""
        self._seeds.value = key

    @property
    def key(self) -> int:
        """What `reseed` would set to have the launches to come draw what they will draw."""
        return int(self._seeds.value)

    @property
    def seeds(self) -> int:
        """Where that key is."""
        return ctypes.addressof(self._seeds)

    @contextmanager
    def replaying(self, key: int) -> Generator[None]:
        """In the block, gradients that this thread launches compute the random numbers of the launch with that key."""
        self._replayed.key = key
        try:
            yield
        finally:
            del self._replayed.key

    @property
    def present_key(self) -> int:
        """The key that a gradient which draws again takes."""
        return int(getattr(self._replayed, "key", self.key))

    def native(self, entry: int, table: int, overlap: int, memory: int, slots: Slots, prints: bool) -> Native:
        """What calls of that kernel need that Python has no part in."""
        code, rules = self._code, _result_rules(slots)
        calls = (code["call"], code["call_through"], code["bind"])
        return Native(*calls, entry, table, self.seeds, memory, slots, rules, overlap, prints)

    def function(
        self,
        entry: int,
        table: int,
        seeds: int,
        overlap: int,
        memory: int,
        slots: Slots,
        kinds: Sequence[int],
        bound: bool = False,
    ) -> Callable[..., Any]:
        """The native function that launches the kernel at `entry`, for arguments of those kinds behind the trees,
        unless the function at `overlap`, if that is not 0, says that they overlap. Keys of random numbers are counted
        at the address `seeds`. With `bound`, it takes the bytes of a context that `bind` has filled. It does not keep
        the kernel alive."""
        inputs = [INTEGER] * slots.trees + list(kinds)
        outputs, rules = _flatten(slots.results), _result_rules(slots)
        descriptor = DESCRIPTOR.words(
            kernel=entry,
            table=table,
            seeds=seeds,
            memory=memory,
            slots=slots.count,
            inputs=len(inputs),
            outputs=len(outputs),
            first_result=slots.result_start,
            overlap=overlap,
        )
        words = (*descriptor, *inputs, *rules)
        method = self._bound_method if bound else self._method
        function: Callable[..., Any] = self._new(ctypes.addressof(method), struct.pack(f"={len(words)}Q", *words), None)
        return function


class _OwnKey:
    """The key of a gradient that draws again, which one thread at a time sets and launches with."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher, self._lock, self._key = launcher, forkable(Lock()), ctypes.c_uint64()
        self.address = ctypes.addressof(self._key)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._key.value = self._launcher.present_key

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Launching:
    """What the devices that launch kernels by machine code of our own have in common."""

    _emit: Callable[[str], bytes]
    _seed: int

    @cached_property
    def native(self) -> Code:
        """The runtime's own machine code."""
        return load_runtime(self._emit)

    @cached_property
    def launcher(self) -> Launcher:
        """The object that makes Python functions of kernels."""
        return Launcher(self.native, launch_key(self._seed))

    @property
    def random_key(self) -> int:
        """The seed of the random numbers of the next launch."""
        return self.launcher.present_key

    @random_key.setter
    def random_key(self, key: int) -> None:
        self.launcher.reseed(key)

    def replaying(self, key: int) -> AbstractContextManager[None]:
        """In the block, gradients that this thread launches compute the random numbers of the launch with that key."""
        return self.launcher.replaying(key)

    def reseed(self, random_seed: int) -> None:
        """Set the seed for the random numbers of later launches."""
        self._seed = random_seed
        if "launcher" in self.__dict__:
            self.launcher.reseed(launch_key(random_seed))


class CpuKernel:
    """A loaded kernel: `kernel(trees, args)`.

    `trees` are the base addresses of the kernel's SNode trees. `args` has one item per parameter: a number for a
    primitive, the sequence of its scalars (row-major) for a tensor or struct, and for an array either a numpy array
    (of at least as many axes) or `(address, shape, byte strides)`; numpy arrays are the quicker. Returns the scalars of
    all results, as Python numbers. Raises what an assertion or a print raised; Overlapping, before anything ran, where
    arguments overlap that must not.
    """

    def __init__(
        self,
        artifact: Artifact,
        code: Code,
        launcher: Launcher,
        services: Callable[[int], Any],
        refused: Callable[[int], Exception] | None = None,
    ) -> None:
        """`services(print address)` makes a service table. `refused` makes an exception of a driver's status; where
        there is a driver, arrays come as addresses only."""
        slots = artifact.slots
        self.artifact = artifact
        self._refused = refused
        self._code, self._launcher = code, launcher
        self._services = services  # a device's, whose pool the service table points to
        self._print = PrintService(artifact.sites, artifact.name)
        self._raised = self._print.raised
        self.heard = self._print.heard  # who is told what it prints
        self._table = services(self._print.address)
        self._owners: list[Any] = []  # of services that were replaced
        watch()
        memory = DEVICE_LOCK if refused is not None else memory_of(slots, self._print.prints)
        self._overlap = code[artifact.check] if artifact.check else 0
        entry, table, rest = code[artifact.entry], ctypes.addressof(self._table), (self._overlap, memory, slots)
        self._again = _OwnKey(launcher) if artifact.draws_again else None
        small = slots.count <= ON_STACK and self._again is None
        self.native = launcher.native(entry, table, *rest, self._print.prints) if small else None
        place = entry, table, launcher.seeds if self._again is None else self._again.address, *rest
        self._launch_bound = launcher.function(*place, [], bound=True) if small else None
        self._launch_flat = launcher.function(*place, [_KINDS.get(prim, INTEGER) for prim in _scalars(slots)])
        direct = [_direct_kind(param.type) for param in slots.params]
        if refused is not None:
            direct = [None if kind is not None and kind >= ARRAY else kind for kind in direct]
        kinds = [kind for kind in direct if kind is not None]
        self._launch = launcher.function(*place, kinds) if len(kinds) == len(direct) else None
        self._spread = [_spreader(param.type) for param in slots.params]
        self._halves = [k for k, prim in enumerate(_flatten(slots.results)) if prim is f16]

    def address(self, function: str) -> int:
        """The address of a function that the code exports."""
        return self._code[function]

    def replace_service(self, name: str, address: int, owner: Any) -> int:
        """Let launches call the function at that address in the place of a service. `owner`, which keeps the function,
        lives as long as the kernel. Returns the address that was there."""
        place = SERVICES.index(name)
        before, self._table[place] = int(self._table[place]), address
        self._owners.append(owner)
        return before

    @property
    def drawn(self) -> int:
        """The key of the random numbers of the last launch; 0 before the first one."""
        return int(self._table[SERVICES.index("drawn")]) % 2**64

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        if self._again is None:
            return self._call(trees, args)
        with self._again:
            return self._call(trees, args)

    def _call(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        result: Any
        if self._launch is None:
            result = self._spread_out(trees, args)
        else:
            try:
                result = self._launch(*trees, *args)
            except (TypeError, ValueError, OverflowError, BufferError):  # an address, or a float for an integer
                result = self._spread_out(trees, args)
        if result.__class__ is bytes or self._raised:
            self._fail(result, len(trees), len(args))
        return self._finished(result)

    def replay(self, context: bytes) -> tuple[Any, ...]:
        """Launch it with a context that `bind` has filled (see `call_ir.py`). The caller keeps what its arguments refer
        to."""
        assert self._launch_bound is not None
        result: Any = self._launch_bound(context)
        if result.__class__ is bytes or self._raised:
            self._fail(result, 0, 0)
        return self._finished(result)

    @property
    def in_series(self) -> CpuKernel | None:
        """What takes part in `replay_each`. None if a launch must be made by itself."""
        return None if self._launch_bound is None or self._print.prints else self

    @property
    def descriptor(self) -> bytes:
        """What `replay_all` knows a kernel by that takes part in it."""
        assert self._launch_bound is not None
        return self._launch_bound.__self__  # type: ignore[attr-defined,no-any-return]

    def replay_each(self, launches: Sequence[tuple[CpuKernel, bytes, int]]) -> None:
        """Launch kernels of this device one after another: each with a context that `bind` has filled, and the key of
        its random numbers. The caller keeps what the arguments refer to."""
        items = [part for kernel, *rest in launches for part in (kernel.descriptor, *rest)]
        self.replay_all(items, {kernel for kernel, *_ in launches})

    def replay_all(self, items: Sequence[Any], kernels: Collection[CpuKernel]) -> None:
        """As `replay_each`, for those who make the same launches again: `items` has three values for each launch, with
        the descriptor in place of the kernel. `kernels` are all of them."""
        done = self._launcher.each(*items)
        if done.__class__ is tuple:
            failed = items[3 * done[0]]
            next(kernel for kernel in kernels if kernel.descriptor == failed)._fail(done[1], 0, 0)
        for kernel in kernels:
            if kernel._raised:
                kernel._fail(None, 0, 0)

    def overlap(self, trees: Sequence[int], args: Sequence[Any]) -> bool:
        """Whether such a call would raise Overlapping."""
        if not self._overlap:
            return False
        slots = self.artifact.slots
        context = (ctypes.c_int64 * slots.count)()
        context[Slots.FIRST_TREE : Slots.FIRST_TREE + slots.trees] = [*trees]
        for param, start, arg in zip(slots.params, slots.param_start, args, strict=True):
            if isinstance(param.type, Array):
                words = list[Any]()
                _spread_array(param.type.ndim, words, arg)
                context[start : start + len(words)] = words
        return bool(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(self._overlap)(ctypes.addressof(context)))

    def conclude(self, outcome: Any) -> tuple[Any, ...]:
        """For direct calls: the scalars of the results, from the tuple that native code made. For the bytes of an error
        record raises what went wrong."""
        if outcome.__class__ is bytes or self._raised:
            self._fail(outcome, 0, 0)
        return self._finished(outcome)

    def _finished(self, result: Any) -> tuple[Any, ...]:
        if self._halves:
            return tuple(_as_float(value) if k in self._halves else value for k, value in enumerate(result))
        return result  # type: ignore[no-any-return]

    def _spread_out(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        """The slower way: every scalar by itself, and cast if need be."""
        flat: list[Any] = []
        for spread, arg in zip(self._spread, args):
            spread(flat, arg)
        flat += args[len(self._spread) :]  # too many: let the launch say so
        try:
            return self._launch_flat(*trees, *flat)
        except (TypeError, ValueError, OverflowError):
            return self._launch_flat(*trees, *self._cast(flat))

    def _cast(self, values: Sequence[Any]) -> list[Any]:
        return [cast_value(value, type).item() for value, type in zip(values, _scalars(self.artifact.slots))]

    def _fail(self, record: Any, trees: int, args: int) -> None:
        """Raises what went wrong."""
        if (raised := self._print.taken()) is not None:
            raise raised
        if record.__class__ is not bytes:  # what was raised was another thread's launch of this kernel
            return
        slots, name = self.artifact.slots, self.artifact.name
        if not record:
            right = f"{slots.trees} trees and {len(slots.params)} arguments"
            raise InternalError(f"launch: kernel {name} takes {right}; got {trees} and {args}, or more axes")
        state, site = struct.unpack_from("=QQ", record)
        if state == OVERLAPS:
            raise Overlapping
        if state == FAULTED:
            raise memory_fault(name, site)
        if state == INTERRUPTED:
            self._launcher.throw()
        if state == 3 and self._refused is not None:
            raise self._refused(site)
        if state != 2 or site >= len(self.artifact.sites):
            raise InternalError(f"launch: kernel {name} wrote an invalid error record (state {state}, site {site})")
        raise fault(self.artifact.sites[site], record[16:])


def _scalars(slots: Slots) -> list[Prim]:
    """The type of each slot that the parameters take; the bits of an f16 travel as an integer."""
    result: list[Prim] = []
    for param in slots.params:
        type = param.type
        result += [u64] + [i64] * (2 * type.ndim) if isinstance(type, Array) else flatten(type)
    return [u16 if prim is f16 else prim for prim in result]


def _flatten(types: Sequence[Type]) -> list[Prim]:
    return [prim for type in types for prim in flatten(type)]


def _result_kind(prim: Prim) -> int:
    return _KINDS.get(prim, INTEGER if prim.is_signed and not prim.is_float else UNSIGNED)


def _result_rules(slots: Slots) -> tuple[int, ...]:
    """Kind and shift of each number of the results."""
    prims = _flatten(slots.results)
    return tuple(chain.from_iterable((_result_kind(prim), 64 - 8 * prim.size) for prim in prims))


def _as_bits(value: Any) -> int:
    return int(cast_value(value, f16).view(np.uint16))


def _as_float(bits: int) -> float:
    return float(struct.unpack("=e", bits.to_bytes(2, sys.byteorder))[0])


def _direct_kind(type: Type) -> int | None:
    """How the native code takes an argument of that type as it is; None if it must be spread first."""
    if isinstance(type, Array):
        return ARRAY + type.ndim
    return _KINDS.get(type, INTEGER) if isinstance(type, Prim) and type is not f16 else None


def _spreader(type: Type) -> Callable[[list[Any], Any], None]:
    """Puts the scalars of an argument of that type at the end of a list."""
    if isinstance(type, Array):
        return partial(_spread_array, type.ndim)
    if type is f16:
        return lambda flat, arg: flat.append(_as_bits(arg))
    if isinstance(type, Prim):
        return list[Any].append
    prims = flatten(type)
    if f16 not in prims:
        return list[Any].extend
    return lambda flat, arg: flat.extend(_as_bits(x) if prim is f16 else x for x, prim in zip(arg, prims))


def _spread_array(ndim: int, flat: list[Any], arg: Any) -> None:
    address, shape, strides = arg if isinstance(arg, tuple) else array_argument(arg, ndim)
    flat.append(address)
    flat.extend(shape)
    flat.extend(strides)
