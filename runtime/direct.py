"""Kernel objects whose call is native code, and the plans that it follows (see `call_ir.py`).

A native type adds to a Python class three cells: the addresses of the function that a call goes to, of the first plan,
and of the signature. While the first is null, a call is that of the Python class. The rest of CPython sees an ordinary
class: the type is made by `PyType_FromSpecWithBases`, with the vectorcall protocol of PEP 590.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from weft.runtime.argument_ir import (
    ARGUMENT_WORDS,
    COMPOUND,
    COMPOUND_RULE,
    EQUAL,
    EQUAL_RULE,
    EXACT,
    EXACT_RULE,
    NUMPY,
    NUMPY_FLAGS,
    NUMPY_RULE,
    PACK,
    PACK_MEMBER,
    PACK_NODE,
    PACK_RULE,
    PACKED,
    PACKED_RULE,
    RECORDED,
    RECORDED_RULE,
)
from weft.runtime.call_ir import CELLS, MANY, MOST_NAMED, NONE, ONE, PLAN, Callable
from weft.runtime.epochs import settle
from weft.runtime.forks import forkable
from weft.runtime.launch_ir import FLOAT32, FLOAT64, INTEGER, TRUTH
from weft.runtime.number_ir import HEAD, NUMBER_RULE, REAL, SCALAR_ROW, SIGNED, UNSIGNED_WORD
from weft.runtime.recorded import Recorded

if TYPE_CHECKING:
    from weft.ir.artifact import Slots
    from weft.runtime.jit import Code

__all__ = [
    "Callable",
    "Guard",
    "Native",
    "PackNode",
    "Plan",
    "Signature",
    "Watched",
    "compound",
    "equal",
    "exact",
    "follow",
    "native_type",
    "number",
    "numpy_array",
    "numpy_supported",
    "packed",
    "recorded",
    "scalars_supported",
]

_TP_MEMBERS, _SSIZE, _READ_ONLY = 72, 19, 1
_BASETYPE, _VECTORCALL, _METHOD, _VERSION_TAG = 1 << 10, 1 << 11, 1 << 17, 1 << 18
_MOST_AXES_OF_ELEMENTS = 2
_NEXT = PLAN.names.index("next")
_ENTRIES, _PACK_TYPE = "entries", "pack_type"  # the attributes of an argument pack
_GREATEST = 2**63 - 1  # integers beyond that are Python's to read

Guard = tuple[Any, Any, Any]  # a dictionary or cell, the name or None, the object that it must mean


@dataclass(frozen=True)
class Native:
    """What a direct call needs of a loaded kernel: addresses of the functions that calls are, unless launches are
    watched, that calls by watches are, and that bindings are; of the kernel's entry, its
    service table and the seeds; what its runs exclude (see `launch_locks.py`); where its results lie, and by which
    rules (kind, shift) they become numbers; the address of the function that tells whether arguments overlap, or 0;
    whether it prints, so that the end of each call is Python's: it raises what a print raised."""

    call: int
    call_through: int
    bind: int
    entry: int
    table: int
    seeds: int
    memory: int
    slots: Slots
    rules: tuple[int, ...]
    overlap: int
    prints: bool


class _Member(ctypes.Structure):
    """CPython's PyMemberDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    """CPython's PyType_Slot."""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """CPython's PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


_kept: list[Any] = []  # what the types refer to


@cache
def native_type(base: type, method: bool) -> type:
    """A subclass of `base` with the cells; `base` itself where Python does not allow it. `method`: a call through an
    instance of the class that it is an attribute of passes that instance first, with no object between."""
    if not _supported() or base.__basicsize__ != CELLS:
        return base
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _SSIZE, CELLS, _READ_ONLY, None), _Member())
    slots = (_Slot * 2)(_Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot())
    name = f"{base.__module__}.{base.__qualname__}".encode()
    flags = _BASETYPE | _VECTORCALL | _VERSION_TAG | (_METHOD if method else 0)
    spec = _Spec(name, CELLS + 24, 0, flags, ctypes.addressof(slots))
    make: Any = ctypes.pythonapi.PyType_FromSpecWithBases
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.py_object), ctypes.py_object
    made: type = make(ctypes.addressof(spec), (base,))
    made.__doc__ = base.__doc__
    _kept.append((members, slots, spec))
    return made


@cache
def _supported() -> bool:
    """Whether this is the Python whose objects are laid out as `call_ir.py` has it. (A debug build asserts that such a
    type spells out its call.)"""
    if sys.implementation.name != "cpython":
        return False
    probe = Recorded()
    probe.record = b"weft"
    place = ctypes.c_void_p.from_address(id(probe) + object.__basicsize__)
    return not hasattr(sys, "gettotalrefcount") and place.value == id(probe.record)


@cache
def numpy_supported() -> bool:
    """Whether numpy's arrays are laid out so."""
    probe = np.zeros((3, 5), np.float32)[:, 1:4]
    start = id(probe) + object.__basicsize__
    word = ctypes.c_int64.from_address
    shape, strides = (ctypes.c_int64 * 2).from_address, (word(start + 16).value, word(start + 24).value)
    return (
        (word(start).value, ctypes.c_int32.from_address(start + 8).value) == (probe.ctypes.data, 2)
        and [tuple(shape(place)) for place in strides] == [probe.shape, probe.strides]
        and word(start + 40).value == id(probe.dtype)
        and ctypes.c_int32.from_address(start + 48).value == probe.flags.num
    )


# numpy's scalars that are read here. (Where two of them are alike, as `long` and `longlong` can be, one of them is.)
_SCALARS = {np.bool_: UNSIGNED_WORD, np.float32: REAL, np.float64: REAL} | {
    np.dtype(f"{sign}{size}").type: how for sign, how in (("i", SIGNED), ("u", UNSIGNED_WORD)) for size in (1, 2, 4, 8)
}


@cache
def scalars_supported() -> bool:
    """Whether numpy's scalars have their number right behind the head of the object."""
    probes = [kind(value) for kind in (*_SCALARS, np.float16) for value in (0, 1, 7)]
    return all(ctypes.string_at(id(one) + HEAD, one.itemsize) == one.tobytes() for one in probes)


@cache
def _numpy_scalars() -> Any:
    """The table of numpy's scalar types."""
    rows = [(id(kind), np.dtype(kind).itemsize, how) for kind, how in _SCALARS.items()] if scalars_supported() else []
    words = [SCALAR_ROW.words(type=kind, size=size, how=how) for kind, size, how in (*rows, (0, 0, 0))]
    return (ctypes.c_int64 * (len(words) * len(SCALAR_ROW)))(*chain.from_iterable(words))


def number(kind: int, least: int = 0, greatest: int = 0) -> list[int]:
    """The rule for a number, Python's or numpy's, by the kinds of `launch_ir.py`; integers from `least` to
    `greatest`."""
    types = {FLOAT32: (float, int), FLOAT64: (float, int), TRUTH: (bool, int), INTEGER: (int, bool)}[kind]
    type, alike = map(id, types)
    scalars = ctypes.addressof(_numpy_scalars())
    greatest = min(greatest, _GREATEST)
    return NUMBER_RULE.words(kind=kind, type=type, alike=alike, least=least, greatest=greatest, scalars=scalars)


def exact(value: Any) -> list[int]:
    """Return the rule that accepts one particular object. The user of the plan keeps the object alive, or invalidates
    the plan."""
    return EXACT_RULE.words(kind=EXACT, object=id(value))


def equal(value: Any) -> list[int]:
    """Return the rule that accepts an int of at most 64 bits or a float, and equal numbers of its type. The user of the
    plan keeps the object alive."""
    real = isinstance(value, float)
    bits = int.from_bytes(struct.pack("=d" if real else "=q", value), sys.byteorder, signed=True)
    return EQUAL_RULE.words(kind=EQUAL, object=id(value), type=id(type(value)), real=int(real), bits=bits)


class PackNode:
    """What native code is told of packs of one type: the class, the type, and the rule of each member. Keeps none of
    them."""

    def __init__(self, plain: type, kind: Any, names: Sequence[str], rules: Sequence[list[int]]) -> None:
        self._rules = [(ctypes.c_int64 * len(rule))(*rule) for rule in rules]
        head = PACK_NODE.words(
            **{"class": id(plain), "type": id(kind), "count": len(names)},
            **{"entries.name": id(_ENTRIES), "type.name": id(_PACK_TYPE)},
        )
        rows = [PACK_MEMBER.words(name=id(n), inner=ctypes.addressof(r)) for n, r in zip(names, self._rules)]
        words = [*head, *chain.from_iterable(rows)]
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.rule = PACK_RULE.words(kind=PACK, node=ctypes.addressof(self._words))


def packed(pack: Any, words: int, kind: type | None = None) -> list[int]:
    """The rule for an argument, exactly of that type if one is given, that `pack` makes bytes of, so many words; or
    None, where it is none of these."""
    return PACKED_RULE.words(kind=PACKED, **_packing(pack, words, kind))


def _packing(pack: Any, words: int, kind: type | None) -> dict[str, int]:
    return {"pack": id(pack), "width": words, "type": 0 if kind is None else id(kind), "bytes.type": id(bytes)}


def compound(pack: Any, words: int, node: int) -> list[int]:
    """The rule for a struct, vector or matrix that the node at that address describes; `pack` takes the others."""
    return COMPOUND_RULE.words(kind=COMPOUND, node=node, **_packing(pack, words, None))


def recorded(array: Recorded) -> list[int]:
    """The rule for objects with a record like that one's."""
    begins, width = int.from_bytes(array.record[:8], sys.byteorder), len(array.record) // 8 - 1
    return RECORDED_RULE.words(kind=RECORDED, type=id(type(array)), begins=begins, width=width)


def numpy_array(array: Any, inner: int) -> list[int] | None:
    """The rule for numpy arrays like that one, whose last `inner` axes belong to the element. None if there is none."""
    if inner > _MOST_AXES_OF_ELEMENTS or not numpy_supported():
        return None
    axes = array.ndim - inner
    extent0, extent1 = (*array.shape[axes:], 0, 0)[:2]
    stride0, stride1 = (*array.strides[axes:], 0, 0)[:2]
    return NUMPY_RULE.words(
        kind=NUMPY,
        type=id(type(array)),
        dtype=id(array.dtype),
        axes=axes,
        flags=array.flags.num & NUMPY_FLAGS,
        inner=inner,
        extent0=extent0,
        extent1=extent1,
        stride0=stride0,
        stride1=stride1,
    )


class Plan:
    """One way to run a kernel: see `call_ir.py`. A plan keeps its arguments alive, but not the objects that trees,
    guards and rules point to."""

    def __init__(
        self,
        native: Native,
        trees: Sequence[int],
        guards: Sequence[Guard],
        arguments: Sequence[list[int]],
        epoch: Any,
        right: int,
        conclude: Any,
        check: Any,
        single: bool,
        token: Any,
        keeps: Any,
    ) -> None:
        """`epoch` is a counter (a ctypes integer) that stands at `right` as long as the plan is good. `conclude`
        makes the answer of the tuple of results, and raises for the bytes of an error record; `check` is None, or says
        whether something changed; `single`: the only result is the answer. `token` is the first of the pair that a
        binding gives; None: the plan does not bind."""
        results = len(native.rules) // 2
        self.epoch, self.right = epoch, right
        self.native, self.keeps = native, (keeps, conclude, check, token)
        plan = PLAN.words(
            next=0,
            epoch=ctypes.addressof(epoch),
            right=self.right,
            check=0 if check is None else id(check),
            conclude=id(conclude),
            gives=MANY if native.prints or (results and not single) else ONE if results else NONE,
            arguments=len(arguments),
            trees=len(trees),
            guards=len(guards),
            kernel=native.entry,
            table=native.table,
            seeds=native.seeds,
            memory=native.memory,
            slots=native.slots.count,
            first_result=native.slots.result_start,
            results=results,
            none=id(None),
            overlap=native.overlap,
            token=0 if token is None else id(token),
        )
        watched = chain.from_iterable((id(s), 0 if n is None else id(n), id(value)) for s, n, value in guards)
        rules = chain.from_iterable((*rule, *[0] * (ARGUMENT_WORDS - len(rule))) for rule in arguments)
        words = (*plan, *trees, *watched, *rules, *native.rules)
        self.words = (ctypes.c_int64 * len(words))(*words)

    @property
    def good(self) -> bool:
        """Whether nothing happened since it was made."""
        return bool(self.epoch.value == self.right)


class Signature:
    """The parameters of a kernel, in order: their names, and defaults where they have one."""

    def __init__(self, parameters: Sequence[tuple[str, Any]], nothing: Any) -> None:
        """(name, default) of each; `nothing` in place of a default: there is none."""
        self._keeps = [(sys.intern(name), default) for name, default in parameters]
        names = [id(name) for name, _ in self._keeps]
        defaults = [0 if default is nothing else id(default) for _, default in self._keeps]
        self._words = (ctypes.c_int64 * (1 + 2 * len(names)))(len(names), *names, *defaults)
        self._known = len(names) <= MOST_NAMED

    def tell(self, target: Callable) -> None:
        """Let calls of `target`, an object of a native type that keeps this, find arguments by name."""
        if self._known:
            ctypes.c_void_p.from_address(id(target) + CELLS + 16).value = ctypes.addressof(self._words)


def follow(target: Callable, plans: Sequence[Plan], entry: str = "call") -> None:
    """Let calls of `target` try these plans in order, and be the function of that name in `Native`. `target` keeps the
    plans alive. Without plans, Python makes all calls. Other threads may be calling `target` at the same time. They
    must only reach plans that are complete, so the links are written from the last plan to the first. (Plans that were
    followed before must be kept until the calls that use them are over: see `epochs.py`.)"""
    after = 0
    for plan in reversed(plans):
        plan.words[_NEXT] = after
        after = ctypes.addressof(plan.words)
    settle()
    cells = (ctypes.c_void_p * 2).from_address(id(target) + CELLS)
    cells[1] = after or None
    cells[0] = getattr(plans[0].native, entry) if plans else None


class Watched:
    """Tells the native code of a loaded runtime how many watches of launches there are."""

    _all: ClassVar[list[Watched]] = []
    _now = 0
    _lock = forkable(RLock())  # see `watching.py`

    def __init__(self, code: Code) -> None:
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code["set_watched"])
        with Watched._lock:
            Watched._all.append(self)
            self._set(Watched._now)

    @classmethod
    def tell(cls, now: int) -> None:
        """Let all calls of kernels go through Python if there are watches, and natively again if there are none."""
        with cls._lock:
            Watched._now = now
            for one in cls._all:
                one._set(now)
