"""Object files in memory."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import subprocess
import sys

import pytest

from weft.codegen.llvm import machine
from weft.runtime.jit import Code, Loader

# Reserves all free addresses but for small holes, as far as to the lowest mapping and beyond, and then loads code that
# writes to a table of that size.
CROWDED = """
import ctypes, sys
from weft.codegen.llvm import machine
from weft.runtime.jit import Loader

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)

def reserve(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # PROT_NONE; MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE

def lowest():
    places = [int(line.partition("-")[0], 16) for line in open("/proc/self/maps")]
    return min(place for place in places if place > 1 << 44)

host, loader, size = machine.host_cpu(1), Loader(), int(sys.argv[1])
first = host.machine.emit_object(machine.parse(host.header + "define i64 @one() { ret i64 1 }"))
code = [loader.load(first, ["one"])]
text = f'''
@table = internal global [{size} x i8] zeroinitializer
define i64 @count(i64 %i) {{
  %at = getelementptr [{size} x i8], ptr @table, i64 0, i64 %i
  %old = load i8, ptr %at
  %new = add i8 %old, 1
  store i8 %new, ptr %at
  %wide = zext i8 %new to i64
  ret i64 %wide
}}
'''
object_file = host.machine.emit_object(machine.parse(host.header + text))
hole = 1 << 30
while hole >= 1 << 16:
    low = lowest()
    while reserve(hole) > low:
        pass
    hole >>= 1
reserve(1 << 34)
code.append(loader.load(object_file, ["count"]))
count = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code[1]["count"])
print(count(0), count(0), count(size - 1))
"""


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the places of memory are those of Linux on x86-64",
)
@pytest.mark.parametrize("size", [8, 40_000, 1 << 18, 1 << 22])
def test_code_and_data_lie_together(size: int) -> None:
    done = subprocess.run([sys.executable, "-c", CROWDED, str(size)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1 2 1\n"), done.stderr[-500:]


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="hands no free memory back")
@pytest.mark.parametrize("kind", ["scalar", "method", "function", "array_debug", "field"])
def test_dropped_kernels_leave_nothing_behind(kind: str) -> None:
    """(Of so few kernels each still warms LLVM up a little. `tests.bench.dropped_kernels` runs 2000.)"""
    command = [sys.executable, "-m", "tests.bench.dropped_kernels", "64", "150", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    process, python = (float(word) for word in re.findall(r"-?[\d.]+", done.stdout))
    assert process < 6 << 10
    assert python < 2


def test_code_outlives_its_loader_and_the_code_loaded_beside_it() -> None:
    host, loader = machine.host_cpu(), Loader()
    loaded: dict[int, Code] = {}
    for number in range(100):
        text = f"{host.header}define i64 @number() {{ ret i64 {number} }}"
        loaded[number] = loader.load(machine.compile_object(text, 0), ["number"])
        if number % 20:
            del loaded[number]
    del loader
    gc.collect()
    for number, code in loaded.items():
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(code["number"])() == number
