"""The public names that `weft` imports when they are first used, each with the module that defines it."""

from __future__ import annotations

__all__ = ["MODULES", "NAMES"]

# Modules, which are used as `ti.ui` or by `import weft.ui`.
MODULES: dict[str, str] = {
    "ad": "weft.lang.autodiff",
    "algorithms": "weft.lang.algorithms.sort_and_scan",
    "graph": "weft.lang.kernels.graph",
    "profiler": "weft.lang.measure.profiler",
    "simt": "weft.lang.simt",
    "sparse": "weft.lang.sparse_fields.grids",
    "testing": "weft.lang.measure.testing",
    "tools": "weft.lang.ui.tools",
    "jax": "weft.lang.arrays.jax_op",  # not in __all__, as `torch`: `import *` leaves them what they were
    "torch": "weft.lang.arrays.torch_op",
    "ui": "weft.lang.ui",
    "views": "weft.lang.exports.views",
}

# Functions, classes and errors.
NAMES: dict[str, str] = {
    "GUI": "weft.lang.ui.gui",
    "Recorder": "weft.lang.exports.recorder",
    "Timer": "weft.lang.ui.tools",
    "elementwise": "weft.lang.arrays.elementwise",
    **dict.fromkeys(("CheckpointError", "load", "save"), "weft.lang.checkpoints.checkpoint"),
    "reduce": "weft.lang.arrays.reduction",
    "Tape": "weft.lang.autodiff.tape",
    "global_thread_idx": "weft.lang.simt.block",
    "profile": "weft.lang.measure.profile",
    "progress": "weft.lang.measure.launch_progress",
    **dict.fromkeys(("AutotuneError", "Config", "autotune"), "weft.lang.tuning.autotune"),
    **dict.fromkeys(("func", "real_func"), "weft.lang.functions.func"),
    "data_oriented": "weft.lang.kernels.data_oriented",
    "kernel": "weft.lang.kernels.kernel",
    "warm": "weft.lang.kernels.warm",
    **dict.fromkeys(
        (
            *("CompilationError", "WeftError", "TaichiAssertionError", "TaichiCompilationError", "TaichiIndexError"),
            *("TaichiNameError", "TaichiRuntimeError", "TaichiRuntimeTypeError", "TaichiSyntaxError"),
            *("OutOfBoundsWarning", "OverflowWarning", "PrecisionWarning", "RaceWarning", "TaichiTypeError"),
            *("ArgumentError", "DataRace", "GradientWarning", "InternalError", "MemoryFault", "OutOfMemory"),
            *("UninitialisedRead", "WrongResult"),
        ),
        "weft.lang.errors",
    ),
}
