"""The options of a compilation: the options of `init` that passes and code generators read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.ir.target import CPU, Target, Traits
from weft.ir.types import Prim, f32, i32

if TYPE_CHECKING:
    from weft.ir.races import RaceTable

__all__ = ["MANY_THREADS", "CompileConfig"]

MANY_THREADS = 9  # from this number of threads on, code for the CPU does not depend on it


@dataclass(frozen=True)
class CompileConfig:
    """The options of one compilation.

    - `arch` is "cpu", "cuda" or "python". Passes read `traits` instead.
    - `traits`: how the machines of the arch differ for passes.
    - `verify` checks the IR after every pass.
    - `index_bits` is 32 if every field and array of the launch has fewer than 2**31 elements per axis.
    - `threads` run kernels on a CPU; 0: the number is unknown.
    - `cpu_features`: the instruction set of the CPU that code is compiled for: all features of the host, or a level of
      x86-64.
    - `cuda_stack_limit`: bytes of stack of a GPU thread, for recursion; 0: the default.
    - `line_info`: the code records the source lines that it comes from.
    - `mask_out_of_bounds`: a load out of bounds gives 0, a store there is dropped, an atomic gives 0. It is reported
      once.
    - `check_overflow`: an integer operation that overflows is reported, once per place, and wraps.
    - `check_nan`: an operation that computes a NaN or an infinity from finite numbers is a fault.
    - `check_races`: kernels are checked for races. The check of this kernel then fills in `races`.
    - `check_uninitialised`: reading an element that nothing has written is a fault.
    - `apart`: routines of the run-time library are left out of kernels, and compiled apart from them.
    - `target`: the machine that tasks are mapped to; None until then.

    `check_races` and `check_uninitialised` check bounds as well, because elements out of bounds have no shadow.
    """

    arch: str = "cpu"
    traits: Traits = CPU
    debug: bool = False
    fast_math: bool = True
    default_fp: Prim = f32
    default_ip: Prim = i32
    opt_level: int = 3
    advanced_optimization: bool = True
    verify: bool = False
    boundary_check: bool = False
    mask_out_of_bounds: bool = True
    random_seed: int = 0
    threads: int = 0
    cuda_stack_limit: int = 0
    line_info: bool = False
    check_races: bool = False
    check_nan: bool = False
    check_overflow: bool = False
    cpu_features: str = "native"
    races: RaceTable | None = field(default=None, repr=False, compare=False)
    check_uninitialised: bool = False
    apart: bool = False
    target: Target | None = None

    def __post_init__(self) -> None:
        if self.check_races or self.check_uninitialised:
            object.__setattr__(self, "boundary_check", True)

    @property
    def masks(self) -> bool:
        """Whether accesses out of bounds are masked. They are not if `bounds` asserts that there are none."""
        return self.mask_out_of_bounds and not (self.debug or self.boundary_check)
