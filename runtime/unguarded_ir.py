"""The functions of `guard_ir.py` for systems where faults cannot be caught. (Native code, see `native.py`.)"""

from __future__ import annotations

from weft.runtime.native import Function, Module, Value

__all__ = ["UNGUARDED"]

UNGUARDED = Module()


@UNGUARDED.function("i64", "ptr", "ptr")
def guard_run(f: Function, function: Value, argument: Value) -> None:
    """Call the function. A fault ends the process."""
    f.call(function, argument, type="void")
    f.ret(0)


@UNGUARDED.function("void", "i64")
def guard_leave(f: Function, fault: Value) -> None:
    """There is no `guard_run` to end."""
    del fault
    f.ret()


@UNGUARDED.function("ptr", exported=True)
def guard_pause(f: Function) -> None:
    """There is no frame to forget."""
    f.ret(0, "ptr")


@UNGUARDED.function("void", "ptr", exported=True)
def guard_resume(f: Function, frame: Value) -> None:
    """There is no frame to remember."""
    del frame
    f.ret()


@UNGUARDED.function("void", "ptr", exported=True)
def guard_install(f: Function, table: Value) -> None:
    """There is no signal to handle."""
    del table
    f.ret()
