"""Show a kernel at each stage of its compilation, down to machine code: `kernel.stages(...)` and `kernel.last`.

    print(step.last.tree)                    the typed tree
    for one in step.last.passes: ...         the IR after each pass
    print(step.last.asm)                     the machine code

Compiled kernels do not keep their stages. A `Stages` compiles its kernel again when a stage is first requested, with an
observer of the passes and with line numbers in the code. It never launches the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.errors import Span
from weft.ir.ops import Kernel
from weft.ir.pipeline import STAGES, TO_LANES, TO_LOWERED, map_to_target
from weft.ir.programs import lower_program
from weft.ir.text import Lister
from weft.ir.treetext import tree_lines
from weft.lang.calls.recipe import Recipe
from weft.lang.errors import ArgumentError
from weft.lang.functions.source import source_lines, source_of
from weft.lang.program.backends import BACKENDS, Request
from weft.lang.stages.listing import Listing, Spots, of_assembly, of_llvm, with_places
from weft.lang.stages.variants import checked_options

if TYPE_CHECKING:
    from weft.lang.stages.disassembly import Cubin
    from weft.lang.stages.throughput import Throughput
    from weft.runtime.line_sampler import LineSamples

__all__ = ["PassRecord", "Stages"]

# The last pass before `vectorize`.
_DECIDED = next(name for name, following in pairwise(TO_LANES["cpu"]) if following == "vectorize")


@dataclass(frozen=True)
class PassRecord:
    """One run of a pass: the IR after it, whether the pass changed the IR, and the time it took. A `nested` pass ran
    inside the stage whose record follows it. The time of that stage includes the time of the nested pass."""

    name: str
    ir: Listing
    changed: bool
    milliseconds: float
    nested: bool

    def __str__(self) -> str:
        return self.ir


@dataclass
class _Lowered:
    """The part of the compilation before LLVM: the tree and the result of the passes. `decided` is the kernel before
    `vectorize`, which carries out the decisions of the passes before it. `functions` are the called functions."""

    tree: Listing
    kernel: Kernel
    decided: Kernel
    functions: list[Kernel]
    passes: list[PassRecord]
    spots: Spots
    times: dict[str, float]


class Stages:
    """The stages of one instance of a kernel. Every text is a `Listing`: a string whose lines know their places.

    The stages are `source` (Python), `tree`, `chi` (simplified, before it is cut into tasks), `tasks`, `lowered`,
    `passes` (a list of `PassRecord`), `llvm` (as Weft writes it), `llvm_optimized`, and the machine code: `asm`, or
    `ptx` and `sass` on NVIDIA's GPUs. `object` is the object file. A stage that the arch does not have is None. `sass`
    raises WeftError if a tool of NVIDIA's is missing, and names the tool. `facts` describes how each task runs.
    `throughput` has the cycles of loops, and raises WeftError without LLVM's `llvm-mca`."""

    def __init__(self, recipe: Recipe, arch: str = "", processor: str = "") -> None:
        self._recipe = recipe
        self.name: str = recipe.function.__name__ + recipe.suffix
        self.arch: str = arch or recipe.config.arch
        if self.arch not in BACKENDS:
            raise ArgumentError(f"arch must be one of {', '.join(BACKENDS)}, not {arch!r}")
        self._backend = BACKENDS[self.arch]
        self.variant: str = processor  # what distinguishes these stages from those of the program: options, a processor
        if processor and self._backend.processor is None:
            raise ArgumentError(f"arch={self.arch} has no choice of processors")
        self.task_times: dict[int, tuple[float, int]] | None = None  # what a `TaskClock` measured, once it did
        self.line_samples: dict[str, LineSamples] | None = None  # what a `LineSampler` counted, once it did
        self._chosen = self._backend.processor(processor) if processor and self._backend.processor else None

    def with_options(self, **options: Any) -> Stages:
        """Return the stages of the same kernel with other options of the compiler: `fast_math`, `opt_level`,
        `advanced_optimization`, `mask_out_of_bounds` or `cpu_features`, as `ti.init` takes them. Raises ArgumentError
        for another name, and for a value that `ti.init` refuses."""
        changed = Stages(self._recipe.with_config(**checked_options(options)), self.arch)
        changed._chosen = self._chosen
        changed.variant = ", ".join(filter(None, (self.variant, *(f"{name}={v}" for name, v in options.items()))))
        return changed

    def on(self, arch: str, processor: str = "") -> Stages:
        """Return the stages of the same kernel for another arch: "cpu", "cuda", "python", "amdgcn" or "wasm32". The
        arch need not be available on this machine. `processor` is a processor of the arch, such as "sm_90" or
        "gfx1100"."""
        other = Stages(self._recipe, arch, processor)
        other.variant = ", ".join(filter(None, (self.variant, processor)))
        return other

    @cached_property
    def config(self) -> CompileConfig:
        """The options of the compiler: those of the program, with line numbers."""
        config: CompileConfig = replace(
            self._recipe.config,
            arch=self._backend.lowered_as,
            traits=self._backend.traits,
            line_info=True,
            threads=self._recipe.threads(),
        )
        return config

    @cached_property
    def _machine(self) -> Any:
        return self._chosen or self._recipe.machine(self._backend)

    @cached_property
    def mapping(self) -> CompileConfig:
        """The same options with the target that tasks are mapped to."""
        return replace(self.config, target=self._backend.mapping(self.config, self._machine))

    # -- Weft's stages -------------------------------------------------------------------------------------------------

    @cached_property
    def _half(self) -> _Lowered:
        start = perf_counter()
        translation = self._recipe.translate()
        times = {"translate": (perf_counter() - start) * 1e3}
        spots = Spots()
        tree = spots.listing(*tree_lines(translation.tree))
        observer = _Observer(spots)
        lowered = lower_program(translation.tree, self.config, observer)
        kernel, functions = lowered.kernel, [*lowered.functions]
        if not self._backend.interprets:
            map_to_target(kernel, functions, self.mapping, observer)
        return _Lowered(tree, kernel, observer.decided or kernel, functions, observer.records, spots, times)

    @cached_property
    def source(self) -> Listing:
        """The Python source of the kernel, including its decorators."""
        lines, first = source_lines(self._recipe.function.__code__)
        file = source_of(self._recipe.function).file
        spans = [Span(file, first + k) for k in range(len(lines))]
        return self.spots.listing([line.rstrip() for line in lines], spans)

    @property
    def spots(self) -> Spots:
        """The places that the lines of all texts refer to by number."""
        return self._half.spots

    @property
    def tree(self) -> Listing:
        """The typed tree that the translator made."""
        return self._half.tree

    @property
    def passes(self) -> list[PassRecord]:
        """Every run of every pass, in order. Values keep their names from one record to the next."""
        return self._half.passes

    @property
    def chi(self) -> Listing:
        """The IR before it is cut into tasks."""
        return self._before("offload")

    @property
    def tasks(self) -> Listing:
        """The IR cut into tasks, before each is lowered."""
        return self._before(TO_LOWERED[0])

    @property
    def lowered(self) -> Listing:
        """The IR with all addresses computed explicitly, from which the code is emitted."""
        return self.passes[-1].ir

    def _before(self, name: str) -> Listing:
        """Return the input of the stage `name`, which includes its nested passes."""
        stages = [k for k, one in enumerate(self.passes) if not one.nested]
        place = next(k for k in stages if self.passes[k].name == name)
        return self.passes[max(k for k in stages if k < place)].ir

    # -- LLVM's stages -------------------------------------------------------------------------------------------------

    @cached_property
    def artifact(self) -> Artifact | None:
        """The code, with spots as line numbers; None for arch=python."""
        if self._backend.interprets:
            return None
        half = self._half
        for kernel in dict.fromkeys((half.kernel, half.decided, *half.functions)):
            half.spots.mark(kernel)
        lap = _Laps(half.times)
        request = Request(half.kernel, half.functions, self.mapping, self._machine, lap)
        made = self._backend.compile(request)
        lap("")
        return made

    @cached_property
    def object(self) -> bytes | None:
        """The object file, without line numbers; None if the arch has none."""
        if not self._backend.links:
            return None
        translation = self._recipe.translate()
        config = replace(self.mapping, line_info=self._recipe.config.line_info)
        lowered = lower_program(translation.tree, config)
        map_to_target(lowered.kernel, lowered.functions, config)
        return self._backend.compile(Request(lowered.kernel, lowered.functions, config, self._machine)).code

    @cached_property
    def facts(self) -> str:
        """For each task: how often it runs, what memory it accesses, and how it is vectorized or why it is not."""
        text: str = import_module("weft.lang.stages.facts").facts_text(self)
        return text

    @property
    def kernel(self) -> Kernel:
        """The kernel with all decisions about how it runs, before vectors are made of iterations. Once code was made,
        the line numbers of its ops are spots."""
        return self._half.decided

    @property
    def functions(self) -> list[Kernel]:
        """The lowered functions that the kernel calls."""
        return self._half.functions

    @property
    def times(self) -> dict[str, float]:
        """Milliseconds spent outside of the passes: translate, emit, optimize, codegen."""
        _ = self.artifact
        return self._half.times

    @cached_property
    def llvm(self) -> Listing | None:
        """The LLVM IR that Weft writes."""
        return None if self.artifact is None else of_llvm(self.artifact.llvm)

    @cached_property
    def llvm_optimized(self) -> Listing | None:
        """The LLVM IR after LLVM's passes."""
        return None if self.artifact is None else of_llvm(self._optimized)

    @cached_property
    def _optimized(self) -> str:
        """The optimized module, with line metadata."""
        assert self.artifact is not None
        assert self.llvm is not None
        return with_places(self._backend.optimized(self.artifact, self.config), self.llvm)

    @cached_property
    def asm(self) -> Listing | None:
        """The machine code as assembly; None on NVIDIA's GPUs, which have `ptx` and `sass`."""
        write = self._backend.assembly
        if self.artifact is None or write is None:
            return None
        return of_assembly(write(self.artifact, self._optimized, self.config))

    @cached_property
    def throughput(self) -> Throughput | None:
        """How many cycles the innermost loops take, as LLVM's `llvm-mca` simulates them; None on other arches than the
        CPU. Raises WeftError if the program is missing, or has no model of a processor like this one."""
        if self.asm is None or self.arch != "cpu":
            return None
        from weft.codegen.llvm.machine import host_cpu

        host = host_cpu()
        target = str(host.machine.triple).partition("-")[0]
        made: Throughput = import_module("weft.lang.stages.throughput").throughput_of(
            self.asm, target, host.name, host.features
        )
        return made

    @cached_property
    def ptx(self) -> Listing | None:
        """The PTX that NVIDIA's driver receives; None on other arches."""
        return of_assembly(self.artifact.ptx) if self.artifact is not None and self.artifact.ptx else None

    @cached_property
    def cubin(self) -> Cubin | None:
        """The output of ptxas for the PTX, and its messages; None on a CPU. Raises WeftError if there is no ptxas."""
        if self.artifact is None or not self.artifact.ptx:
            return None
        made: Cubin = import_module("weft.lang.stages.disassembly").cubin_of(self.artifact.ptx)
        return made

    @cached_property
    def sass(self) -> Listing | None:
        """The instructions of the GPU; None on a CPU. Raises WeftError if NVIDIA's tools are missing."""
        if self.cubin is None:
            return None
        made: Listing = import_module("weft.lang.stages.disassembly").sass_of(self.cubin)
        return made

    def __repr__(self) -> str:
        return f"<stages of kernel {self.name} on arch={self.arch}>"


class _Observer:
    """Records passes. The time that recording takes is not counted, neither for a pass nor for the stage around it."""

    def __init__(self, spots: Spots) -> None:
        self.spots, self.lister = spots, Lister()
        self.records: list[PassRecord] = []
        self.decided: Kernel | None = None  # a copy of the kernel before `vectorize`
        self.own = 0.0

    def __call__(self, name: str, kernel: Kernel, changed: bool, began: float, ended: float) -> None:
        start, nested, milliseconds = perf_counter(), name not in STAGES, (ended - began) * 1e3
        if not nested:
            milliseconds, self.own = max(0.0, milliseconds - self.own), 0.0
        last = self.records[-1].ir if self.records else None
        ir = self.spots.listing(*self.lister.lines(kernel)) if changed or last is None else last
        self.records.append(PassRecord(name, ir, changed, milliseconds, nested))
        if name == _DECIDED:
            self.decided = cast(Kernel, kernel.clone({}))
        if nested:
            self.own += (perf_counter() - start) * 1e3


class _Laps:
    """Measures the time of consecutive stages. An empty name ends the last one."""

    def __init__(self, times: dict[str, float]) -> None:
        self.times, self.name, self.start = times, "", perf_counter()

    def __call__(self, name: str) -> None:
        now = perf_counter()
        if self.name:
            self.times[self.name] = self.times.get(self.name, 0.0) + (now - self.start) * 1e3
        self.name, self.start = name, now
