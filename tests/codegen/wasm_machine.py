"""Runs object files for wasm32: `wasm-ld` of the package ziglang links them, wasmtime runs them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.linking import link, zig
from weft.ir.artifact import ERROR_WORDS, SERVICES, Artifact
from weft.ir.types import Array, Prim, flatten

__all__ = ["WasmKernel", "linked", "needs_wasm"]

_STACK, _PAGE = 1 << 20, 1 << 16
_FUNCTIONS = {"fmod": np.fmod, "exp2": np.exp2}


needs_wasm = pytest.mark.skipif(
    zig() is None or importlib.util.find_spec("wasmtime") is None,
    reason="NOT RUN: nothing links or runs wasm32 here; pip install weft[targets]",
)


def linked(artifact: Artifact, folder: Path) -> bytes:
    """The module that the linker makes of an object file."""
    exports = [f"--export={name}" for name in artifact.functions]
    switches = ("--no-entry", "--allow-undefined", "--export-table", "--growable-table", f"-zstack-size={_STACK}")
    return link("wasm-ld", artifact.code, folder, *switches, *exports)


class WasmKernel:
    """A kernel in a WebAssembly machine of its own. `printed` is what it printed: (site, words of the values)."""

    def __init__(self, artifact: Artifact, folder: Path) -> None:
        import wasmtime

        self.artifact, self.printed = artifact, list[tuple[int, list[int]]]()
        code = linked(artifact, folder)
        self._store = wasmtime.Store()
        module = wasmtime.Module(self._store.engine, code)
        given = [self._function(one.name or "", one.type) for one in module.imports]
        self._exports: Any = wasmtime.Instance(self._store, module, given).exports(self._store)
        self._memory: Any = self._exports["memory"]
        self._end = self._memory.data_len(self._store)
        i64, i32 = wasmtime.ValType.i64(), wasmtime.ValType.i32()
        tell = wasmtime.Func(self._store, wasmtime.FuncType([i64, i32], []), self._print)
        self._printer = self._exports["__indirect_function_table"].grow(self._store, 1, tell)

    def _function(self, name: str, type: Any) -> Any:
        """A function of C's library."""
        import wasmtime

        kind = {"f32": np.float32, "f64": np.float64}[str(type.params[0])]
        function = _FUNCTIONS.get(name.removesuffix("f")) or getattr(np, name.removesuffix("f"))

        def call(*values: float) -> float:
            with np.errstate(all="ignore"):
                return float(function(*map(kind, values)))

        return wasmtime.Func(self._store, type, call)

    def _print(self, site: int, values: int) -> None:
        count = sum(len(flatten(type)) for type in self.artifact.sites[site].types)
        words = np.frombuffer(self._memory.read(self._store, values, values + 8 * count), np.int64)
        self.printed.append((site, words.tolist()))

    def _room(self, data: bytes) -> int:
        """The address of those bytes in the machine's memory."""
        place = -(-self._end // 64) * 64
        self._end = place + len(data)
        short = self._end - self._memory.data_len(self._store)
        if short > 0:
            self._memory.grow(self._store, -(-short // _PAGE))
        self._memory.write(self._store, data, place)
        return place

    def __call__(self, trees: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Run it on copies of the trees' bytes and of the arrays, and copy back. Gives the scalars of the results;
        the error record is in `record`."""
        slots = self.artifact.slots
        context = np.zeros(slots.count, np.uint64)
        table = np.zeros(len(SERVICES), np.uint64)
        table[SERVICES.index("print")], table[SERVICES.index("threads")] = self._printer, 1
        table[SERVICES.index("stack")] = _STACK // 2
        places = [(self._room(tree.tobytes()), tree) for tree in trees]
        record = self._room(bytes(8 * ERROR_WORDS))
        context[:3] = self._room(table.tobytes()), record, 7
        for number, (place, _) in enumerate(places):
            context[slots.FIRST_TREE + number] = place
        for param, first, arg in zip(slots.params, slots.param_start, args, strict=True):
            if isinstance(param.type, Array):
                place = self._room(arg.tobytes())
                places.append((place, arg))
                words = [place, *arg.shape, *np.empty(arg.shape, arg.dtype).strides]
                context[first : first + len(words)] = words
                continue
            for k, (prim, value) in enumerate(zip(flatten(param.type), np.ravel(arg), strict=True)):
                _put(context, first + k, prim, value)
        here = self._room(context.tobytes())
        self._exports[self.artifact.entry](self._store, here)
        for place, array in places:
            raw = bytes(self._memory.read(self._store, place, place + array.nbytes))
            array[...] = np.frombuffer(raw, array.dtype).reshape(array.shape)
        self.record = np.frombuffer(bytes(self._memory.read(self._store, record, record + 128)), np.int64).tolist()
        left = bytes(self._memory.read(self._store, here, here + 8 * slots.count))
        prims = [prim for type in slots.results for prim in flatten(type)]
        return [_get(left, slots.result_start + k, prim) for k, prim in enumerate(prims)]


def _put(context: Any, slot: int, prim: Prim, value: Any) -> None:
    raw = np.array(value, prim.np).tobytes().ljust(8, b"\0")
    context[slot] = np.frombuffer(raw, np.uint64)[0]


def _get(raw: bytes, slot: int, prim: Prim) -> Any:
    return np.frombuffer(raw[8 * slot : 8 * slot + prim.np.itemsize], prim.np)[0].item()
