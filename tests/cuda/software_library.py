"""A libcuda.so.1 in software, below NVIDIA's package `cuda.bindings`: it tells what C calls the package makes.

    python tests/cuda/software_library.py FOLDER [FUNCTION]

makes every call of `Driver` once, in a process of its own, since a process loads one libcuda. It prints, as
JSON, what is wrong with each. A driver that is too old has no FUNCTION. The C signatures are those of the package's own
`cydriver.pxd`, so that each version of the package is checked against the header of CUDA that it was made for.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Callable
from ctypes import c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_ushort, c_void_p
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from weft.runtime.cuda_driver import CudaError, DeviceFacts, Driver

__all__ = ["CASES", "SOURCE"]

SOURCE = """
typedef int (*lookup_t)(const char *, void **, int, unsigned long long, void *);
lookup_t weft_lookup;
int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, void *status) {
    return weft_lookup(name, out, version, flags, status);
}
int cuLaunchKernel(void) { return 0; }
int cuPointerGetAttribute(void *out, int attribute, unsigned long long pointer) {
    int (*answer)(void *, int, unsigned long long);
    int status = weft_lookup("cuPointerGetAttribute", (void **)&answer, 12000, 0, 0);
    return status ? status : answer(out, attribute, pointer);
}
"""

_SCALARS: dict[str, Any] = {
    "size_t": c_size_t,
    "int": c_int,
    "unsigned int": c_uint,
    "unsigned char": c_ubyte,
    "unsigned short": c_ushort,
    "unsigned long long": c_ulonglong,
    "cuuint64_t": c_ulonglong,
    "float": c_float,
    "CUdevice": c_int,
    "CUdeviceptr": c_ulonglong,
    "const char*": c_char_p,
    "CUmemLocation": c_ulonglong,  # two ints: its type, and above it its number
}


_NOT_FOUND = 500  # CUDA_ERROR_NOT_FOUND
_RENAMED = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}  # as in CUDA's header


class _Signatures:
    """The C types of the driver's functions, as the installed package has them."""

    def __init__(self) -> None:
        found = find_spec("cuda.bindings")
        assert found is not None
        assert found.submodule_search_locations
        text = Path(found.submodule_search_locations[0], "cydriver.pxd").read_text()
        self._handles = set(re.findall(r"ctypedef \w+_st\* (\w+)", text))
        self._functions = dict(re.findall(r"^cdef CUresult (cu\w+)\((.*)\) except", text, re.MULTILINE))

    def types(self, function: str) -> list[str] | None:
        """Of its parameters; None if the package does not have it."""
        parameters = self._functions.get(function)
        if parameters is None:
            return None
        return [text.rsplit(" ", 1)[0] for text in parameters.split(", ")] if parameters else []

    def ctype(self, name: str) -> Any:
        """The same as a type of ctypes. Enumerations are ints."""
        if name in _SCALARS:
            return _SCALARS[name]
        return c_void_p if name.endswith("*") or name in self._handles else c_int


class SoftwareLibrary:
    """Answers what a case says, and writes down the calls."""

    def __init__(self, folder: Path, missing: tuple[str, ...]) -> None:
        """`missing`: functions that this driver is too old for."""
        path = folder / "libcuda.so.1"
        (folder / "libcuda.c").write_text(SOURCE)
        command = ["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(path), str(folder / "libcuda.c")]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self.signatures = _Signatures()
        self.calls = list[tuple[Any, ...]]()
        self.status, self.given = dict[str, int](), dict[str, dict[int, Any]]()
        self._missing = missing
        self._kept = dict[str, Any]()
        kind = ctypes.CFUNCTYPE(c_int, c_char_p, ctypes.POINTER(c_void_p), c_int, c_ulonglong, c_void_p)
        self._lookup = kind(self._look_up)
        c_void_p.in_dll(self.library, "weft_lookup").value = ctypes.cast(self._lookup, c_void_p).value

    def _look_up(self, symbol: bytes, out: Any, version: int, flags: int, status: int | None) -> int:
        name = symbol.decode()
        name = _RENAMED.get(name, name)
        types = None if name in self._missing else self.signatures.types(name)
        if types is None:
            out[0] = None
            return _NOT_FOUND
        if name not in self._kept:
            kind = ctypes.CFUNCTYPE(c_int, *map(self.signatures.ctype, types))
            self._kept[name] = kind(lambda *arguments: self._answer(name, types, arguments))
        out[0] = ctypes.cast(self._kept[name], c_void_p).value
        return 0

    def _answer(self, name: str, types: list[str], arguments: tuple[Any, ...]) -> int:
        given = self.given.get(name, {})
        written = list(arguments)
        for k, value in given.items():
            written[k] = "out"
            if callable(value):
                written[k] = value(*arguments)
                continue
            ctype = self.signatures.ctype(types[k].removesuffix("*"))
            ctype.from_address(arguments[k]).value = value
        self.calls.append((name, *written))
        return self.status.get(name, 0)


class Case(NamedTuple):
    """A call, what the driver is asked for by it and what it gives back; a function for an argument reads or writes it
    and gives what to write down."""

    call: Callable[[Driver], Any]
    calls: list[tuple[Any, ...]]
    result: Any = None
    given: dict[str, dict[int, Any]] = {}  # noqa: RUF012 - nobody changes it
    status: dict[str, int] = {}  # noqa: RUF012


def _bytes_at(pointer: int, size: int) -> Callable[..., str]:
    return lambda *arguments: ctypes.string_at(arguments[pointer], size).decode()


def _put(pointer: int, data: bytes) -> Callable[..., str]:
    def put(*arguments: Any) -> str:
        ctypes.memmove(arguments[pointer], data, len(data))
        return "out"

    return put


def _pointer_to(pointer: int, count: int) -> Callable[..., Any]:
    return lambda *arguments: list((c_void_p * count).from_address(arguments[pointer]))


def _node(*arguments: Any) -> list[int]:
    size = [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p, c_void_p]
    fields = [(f"f{k}", type) for k, type in enumerate(size)]
    node: Any = type("Node", (ctypes.Structure,), {"_fields_": fields}).from_address(arguments[4])
    return [getattr(node, name) or 0 for name, _ in fields]


_TEXT = ctypes.create_string_buffer(b"what went wrong")
_CUBIN = ctypes.create_string_buffer(b"a cubin")
_ATTRIBUTES = {75: 9, 76: 1, 16: 132, 115: 1, 89: 1}


def _attribute(out: int, attribute: int, device: int) -> str:
    c_int.from_address(out).value = _ATTRIBUTES[attribute]
    return "out"


def _log(module: int, image: int, count: int, options: int, values: int) -> list[Any]:
    where = (c_void_p * count).from_address(values)
    ctypes.memmove(where[0] or 0, b"line 3: no such thing\0", 22)
    return [*(c_int * count).from_address(options), where[1]]


_PTX_FAILS = (
    "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (what went wrong): Weft generated invalid PTX. This is a bug in "
)
_PTX_FAILS += "Weft: please report it\nline 3: no such thing"
_BAD_PTX = {"cuModuleLoadDataEx": 218}
_WORDS = {"cuGetErrorString": {1: ctypes.addressof(_TEXT)}}
_SAY = ("cuGetErrorString", 218, "out")
_LINKED = {
    "cuLinkCreate": {1: lambda *_: "none", 2: lambda *_: "none", 3: 77},
    "cuLinkAddData": {
        2: _bytes_at(2, 5),
        4: lambda *arguments: "name",
        6: lambda *_: "options",
        7: lambda *_: "values",
    },
    "cuLinkComplete": {1: ctypes.addressof(_CUBIN), 2: 7},
}
_LINKER = [
    ("cuLinkCreate", 0, "none", "none", "out"),
    ("cuLinkAddData", 77, 1, "PTX!\0", 5, "name", 0, "options", "values"),
]

CASES: dict[str, Case] = {
    "version": Case(
        lambda d: d.version(), [("cuDriverGetVersion", "out")], 13_000, {"cuDriverGetVersion": {0: 13_000}}
    ),
    "start": Case(lambda d: d.start(), [("cuInit", 0)]),
    "device_count": Case(lambda d: d.device_count(), [("cuDeviceGetCount", "out")], 2, {"cuDeviceGetCount": {0: 2}}),
    "device": Case(lambda d: d.device(1), [("cuDeviceGet", "out", 1)], 5, {"cuDeviceGet": {0: 5}}),
    "facts": Case(
        lambda d: d.facts(5),
        [
            ("cuDeviceGetName", "out", 256, 5),
            ("cuDeviceTotalMem", "out", 5),
            *(("cuDeviceGetAttribute", "out", attribute, 5) for attribute in _ATTRIBUTES),
        ],
        DeviceFacts("A GPU", 1 << 36, 91, 132, True, True),
        {
            "cuDeviceGetName": {0: _put(0, b"A GPU\0")},
            "cuDeviceTotalMem": {0: 1 << 36},
            "cuDeviceGetAttribute": {0: _attribute},
        },
    ),
    "retain_context": Case(
        lambda d: d.retain_context(5),
        [("cuDevicePrimaryCtxRetain", "out", 5)],
        1 << 40,
        {"cuDevicePrimaryCtxRetain": {0: 1 << 40}},
    ),
    "reset_context": Case(lambda d: d.reset_context(5), [("cuDevicePrimaryCtxReset", 5)]),
    "current_context": Case(
        lambda d: d.current_context(), [("cuCtxGetCurrent", "out")], 1 << 40, {"cuCtxGetCurrent": {0: 1 << 40}}
    ),
    "current_context, none": Case(
        lambda d: d.current_context(), [("cuCtxGetCurrent", "out")], 0, {"cuCtxGetCurrent": {0: None}}
    ),
    "use_context": Case(lambda d: d.use_context(1 << 40), [("cuCtxSetCurrent", 1 << 40)]),
    "use_context, none": Case(lambda d: d.use_context(0), [("cuCtxSetCurrent", None)]),
    "synchronize_context": Case(lambda d: d.synchronize_context(), [("cuCtxSynchronize",)]),
    "stack_limit": Case(lambda d: d.stack_limit(), [("cuCtxGetLimit", "out", 0)], 1024, {"cuCtxGetLimit": {0: 1024}}),
    "set_stack_limit": Case(lambda d: d.set_stack_limit(1 << 33), [("cuCtxSetLimit", 0, 1 << 33)]),
    "create_stream": Case(
        lambda d: d.create_stream(), [("cuStreamCreate", "out", 0)], 1 << 41, {"cuStreamCreate": {0: 1 << 41}}
    ),
    "is_done": Case(lambda d: d.is_done(1 << 41), [("cuStreamQuery", 1 << 41)], True),
    "is_done, not yet": Case(
        lambda d: d.is_done(1 << 41), [("cuStreamQuery", 1 << 41)], False, {}, {"cuStreamQuery": 600}
    ),
    "synchronize_stream": Case(lambda d: d.synchronize_stream(1 << 41), [("cuStreamSynchronize", 1 << 41)]),
    "wait_event": Case(lambda d: d.wait_event(1 << 41, 3), [("cuStreamWaitEvent", 1 << 41, 3, 0)]),
    "create_event": Case(lambda d: d.create_event(False), [("cuEventCreate", "out", 2)], 9, {"cuEventCreate": {0: 9}}),
    "create_event, timed": Case(
        lambda d: d.create_event(True), [("cuEventCreate", "out", 0)], 9, {"cuEventCreate": {0: 9}}
    ),
    "record_event": Case(lambda d: d.record_event(3, 1 << 41), [("cuEventRecord", 3, 1 << 41)]),
    "synchronize_event": Case(lambda d: d.synchronize_event(3), [("cuEventSynchronize", 3)]),
    "seconds_between": Case(
        lambda d: d.seconds_between(3, 4),
        [("cuEventElapsedTime", "out", 3, 4)],
        0.25,
        {"cuEventElapsedTime": {0: 250.0}},
    ),
    "destroy_event": Case(lambda d: d.destroy_event(3), [("cuEventDestroy", 3)]),
    "allocate": Case(
        lambda d: d.allocate(1 << 34, 1 << 41),
        [("cuMemAllocAsync", "out", 1 << 34, 1 << 41)],
        1 << 45,
        {"cuMemAllocAsync": {0: 1 << 45}},
    ),
    "free": Case(
        lambda d: d.free(1 << 45, 1 << 41), [("cuMemFreeAsync", 1 << 45, 1 << 41)], None, {}, {"cuMemFreeAsync": 700}
    ),
    "free_memory": Case(
        lambda d: d.free_memory(),
        [("cuMemGetInfo", "out", "out")],
        [1 << 35, 1 << 36],
        {"cuMemGetInfo": {0: 1 << 35, 1: 1 << 36}},
    ),
    "default_pool": Case(
        lambda d: d.default_pool(5),
        [("cuDeviceGetDefaultMemPool", "out", 5)],
        1 << 42,
        {"cuDeviceGetDefaultMemPool": {0: 1 << 42}},
    ),
    "keep_pool": Case(
        lambda d: d.keep_pool(1 << 42),
        [("cuMemPoolSetAttribute", 1 << 42, 4, 2**64 - 1)],
        None,
        {"cuMemPoolSetAttribute": {2: lambda *arguments: c_ulonglong.from_address(arguments[2]).value}},
    ),
    "trim_pool": Case(lambda d: d.trim_pool(1 << 42), [("cuMemPoolTrimTo", 1 << 42, 0)]),
    "allocate_pinned": Case(
        lambda d: d.allocate_pinned(256), [("cuMemHostAlloc", "out", 256, 0)], 1 << 43, {"cuMemHostAlloc": {0: 1 << 43}}
    ),
    "allocate_managed": Case(
        lambda d: d.allocate_managed(1 << 36),
        [("cuMemAllocManaged", "out", 1 << 36, 1)],
        1 << 44,
        {"cuMemAllocManaged": {0: 1 << 44}},
    ),
    "prefer_device": Case(
        lambda d: d.prefer_device(1 << 44, 1 << 36, 1),
        [("cuMemAdvise", 1 << 44, 1 << 36, 3, 1 | 1 << 32)],
    ),
    "free_managed": Case(lambda d: d.free_managed(1 << 44), [("cuMemFree", 1 << 44)]),
    "free_pinned": Case(lambda d: d.free_pinned(1 << 43), [("cuMemFreeHost", 1 << 43)]),
    "copy_in": Case(
        lambda d: d.copy_in(1 << 45, 1 << 43, 100, 1 << 41), [("cuMemcpyHtoDAsync", 1 << 45, 1 << 43, 100, 1 << 41)]
    ),
    "copy_in, bytes": Case(
        lambda d: d.copy_in(1 << 45, b"abc", 3, 1 << 41),
        [("cuMemcpyHtoDAsync", 1 << 45, "abc", 3, 1 << 41)],
        None,
        {"cuMemcpyHtoDAsync": {1: _bytes_at(1, 3)}},
    ),
    "copy_out": Case(
        lambda d: d.copy_out(1 << 43, 1 << 45, 100, 1 << 41), [("cuMemcpyDtoHAsync", 1 << 43, 1 << 45, 100, 1 << 41)]
    ),
    "copy_in, numpy's integers": Case(
        lambda d: d.copy_in(np.int64(1 << 45), np.int64(1 << 43), np.int64(100), 1 << 41),  # type: ignore[arg-type]
        [("cuMemcpyHtoDAsync", 1 << 45, 1 << 43, 100, 1 << 41)],
    ),
    "copy_out, numpy's integers": Case(
        lambda d: d.copy_out(np.int64(1 << 43), np.int64(1 << 45), np.int64(100), 1 << 41),  # type: ignore[arg-type]
        [("cuMemcpyDtoHAsync", 1 << 43, 1 << 45, 100, 1 << 41)],
    ),
    "copy": Case(
        lambda d: d.copy(1 << 45, 1 << 44, 99, 1 << 41), [("cuMemcpyDtoDAsync", 1 << 45, 1 << 44, 99, 1 << 41)]
    ),
    "fill, 1": Case(lambda d: d.fill(1 << 45, 255, 1, 9, 1 << 41), [("cuMemsetD8Async", 1 << 45, 255, 9, 1 << 41)]),
    "fill, 2": Case(
        lambda d: d.fill(1 << 45, 65535, 2, 9, 1 << 41), [("cuMemsetD16Async", 1 << 45, 65535, 9, 1 << 41)]
    ),
    "fill, 4": Case(
        lambda d: d.fill(1 << 45, 2**32 - 1, 4, 9, 1 << 41), [("cuMemsetD32Async", 1 << 45, 2**32 - 1, 9, 1 << 41)]
    ),
    "owner": Case(
        lambda d: d.owner(1 << 45),
        [("cuPointerGetAttribute", "out", 9, 1 << 45)],
        3,
        {"cuPointerGetAttribute": {0: _put(0, (3).to_bytes(4, "little"))}},
    ),
    "load_ptx": Case(
        lambda d: d.load_ptx(b"PTX!"),
        [("cuModuleLoadDataEx", "out", "PTX!\0", 2, "options", "values")],
        1 << 44,
        {"cuModuleLoadDataEx": {0: 1 << 44, 1: _bytes_at(1, 5), 3: lambda *_: "options", 4: lambda *_: "values"}},
    ),
    "load_ptx, refused": Case(
        lambda d: d.load_ptx(b"PTX!"),
        [("cuModuleLoadDataEx", "out", "PTX!\0", 2, [5, 6, 8192], "values"), _SAY],
        _PTX_FAILS,
        {"cuModuleLoadDataEx": {0: None, 1: _bytes_at(1, 5), 3: _log, 4: lambda *_: "values"}, **_WORDS},
        _BAD_PTX,
    ),
    "load_cubin": Case(
        lambda d: d.load_cubin(b"a cubin"),
        [("cuModuleLoadData", "out", "a cubin")],
        1 << 44,
        {"cuModuleLoadData": {0: 1 << 44, 1: _bytes_at(1, 7)}},
    ),
    "assemble": Case(
        lambda d: d.assemble(b"PTX!"),
        [*_LINKER, ("cuLinkComplete", 77, "out", "out"), ("cuLinkDestroy", 77)],
        "a cubin",
        _LINKED,
    ),
    "assemble, refused": Case(
        lambda d: d.assemble(b"PTX!"),
        [*_LINKER, _SAY, ("cuLinkDestroy", 77)],
        _PTX_FAILS.partition("\n")[0].replace("cuModuleLoadDataEx", "cuLinkAddData"),
        _LINKED | _WORDS,
        {"cuLinkAddData": 218},
    ),
    "unload_module": Case(lambda d: d.unload_module(1 << 44), [("cuModuleUnload", 1 << 44)]),
    "function": Case(
        lambda d: d.function(1 << 44, "k"),
        [("cuModuleGetFunction", "out", 1 << 44, "k")],
        1 << 46,
        {"cuModuleGetFunction": {0: 1 << 46, 2: lambda *arguments: arguments[2].decode()}},
    ),
    "allow_shared": Case(lambda d: d.allow_shared(1 << 46, 99_000), [("cuFuncSetAttribute", 1 << 46, 8, 99_000)]),
    "resident_blocks": Case(
        lambda d: d.resident_blocks(1 << 46, 256, 99_000),
        [("cuOccupancyMaxActiveBlocksPerMultiprocessor", "out", 1 << 46, 256, 99_000)],
        7,
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor": {0: 7}},
    ),
    "launch": Case(
        lambda d: d.launch(1 << 46, (7, 8, 9), (32, 2, 1), 99_000, 1 << 41, 1 << 43),
        [("cuLaunchKernel", 1 << 46, 7, 8, 9, 32, 2, 1, 99_000, 1 << 41, 1 << 43, None)],
    ),
    "create_graph": Case(
        lambda d: d.create_graph(), [("cuGraphCreate", "out", 0)], 1 << 40, {"cuGraphCreate": {0: 1 << 40}}
    ),
    "add_kernel": Case(
        lambda d: d.add_kernel(1 << 40, 0, 1 << 46, 256, 1 << 43),
        [("cuGraphAddKernelNode", "out", 1 << 40, "none", 0, [1 << 46, 1, 1, 1, 256, 1, 1, 0, 1 << 43, 0, 0, 0])],
        1 << 39,
        {"cuGraphAddKernelNode": {0: 1 << 39, 2: lambda *_: "none", 4: _node}},
    ),
    "add_kernel, after another": Case(
        lambda d: d.add_kernel(1 << 40, 1 << 38, 1 << 46, 1, 1 << 43),
        [("cuGraphAddKernelNode", "out", 1 << 40, [1 << 38], 1, [1 << 46, 1, 1, 1, 1, 1, 1, 0, 1 << 43, 0, 0, 0])],
        1 << 39,
        {"cuGraphAddKernelNode": {0: 1 << 39, 2: _pointer_to(2, 1), 4: _node}},
    ),
    "instantiate": Case(
        lambda d: d.instantiate(1 << 40),
        [("cuGraphInstantiate", "out", 1 << 40, 0)],
        1 << 37,
        {"cuGraphInstantiate": {0: 1 << 37}},
    ),
    "destroy_executable": Case(lambda d: d.destroy_executable(1 << 37), [("cuGraphExecDestroy", 1 << 37)]),
    "destroy_graph": Case(lambda d: d.destroy_graph(1 << 40), [("cuGraphDestroy", 1 << 40)]),
}


def _problem(library: SoftwareLibrary, driver: Driver, case: Case) -> str:
    library.calls.clear()
    library.given, library.status = case.given, case.status
    try:
        result = case.call(driver)
    except CudaError as error:
        result = str(error)
    plain = [result.decode() if isinstance(result, bytes) else result, library.calls]
    wanted = [case.result, case.calls]
    if isinstance(result, DeviceFacts) and result == case.result:
        plain[0] = wanted[0] = None
    got, want = json.dumps(plain, default=bytes.decode), json.dumps(wanted)
    return "" if got == want else f"got {got}, not {want}"


def main(folder: str, *missing: str) -> None:
    """All of it."""
    library = SoftwareLibrary(Path(folder), missing)
    from cuda.bindings import driver as bindings  # type: ignore[import-not-found]

    driver = Driver(bindings, library.library)
    driver.start()  # at the first call, the package loads the library
    print(json.dumps({name: _problem(library, driver, case) for name, case in CASES.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
