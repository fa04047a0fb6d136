"""What a compilation is told: the options of `init` that passes and code generators read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.ir.target import Target
from weft.ir.types import Prim, f32, i32

if TYPE_CHECKING:
    from weft.ir.races import RaceTable

__all__ = ["MANY_THREADS", "CompileConfig"]

MANY_THREADS = 9  # code for the CPU is the same for all numbers of threads from here on


@dataclass(frozen=True)
class CompileConfig:
    """`arch` is "cpu", "cuda" or "python". `verify` checks the IR after every pass. `index_bits` is 32 where every
    field and array of the launch has fewer than 2**31 elements per axis. `threads` run kernels on a CPU; 0: nobody
    said how many. `cpu_features`: the instruction set of a CPU that code is made for, all of the host's or a level of
    x86-64. `cuda_stack_limit`: bytes of stack of a GPU's thread, for recursion; 0: the usual. `line_info`: the
    code says which lines of the program it comes from.
    `mask_out_of_bounds`: an access out of bounds reads 0, a store there is dropped, an atomic gives 0; it is told once.
    `check_overflow`: what computes an integer beyond its type tells so, once a place, and wraps. `check_nan`: what
    computes a NaN or an infinity of finite numbers is a fault. `check_races`: kernels are checked for races; `races` is
    then what the check of this kernel fills in. `check_uninitialised`: reading what nothing has written is a fault.
    These two check bounds as well: what lies out of bounds has no shadow. `target`: the machine that tasks are mapped
    to; None until then."""

    arch: str = "cpu"
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
    target: Target | None = None

    def __post_init__(self) -> None:
        if self.check_races or self.check_uninitialised:
            object.__setattr__(self, "boundary_check", True)

    @property
    def masks(self) -> bool:
        """Whether accesses out of bounds are masked. Where `bounds` asserts that there are none, they are not."""
        return self.mask_out_of_bounds and not (self.debug or self.boundary_check)
