"""Connects the layers of Weft: translate, lower, generate code, load, launch.

An `Instance` is a kernel that was compiled for one combination of compile-time arguments. Compiled code contains no
addresses. The base address of each field tree is looked up at each launch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from weft.ir.artifact import Artifact, GradientFacts
from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.ir.symbols import RECORDING, role_of
from weft.ir.trace import Listener, Trace
from weft.lang.cache.kernels import Entry, entry_of
from weft.lang.calls.collecting import uncollected
from weft.lang.calls.exclusive import Exclusive, takes_turns
from weft.lang.calls.matching import refuse_writes
from weft.lang.calls.parameters import ArrayParameter, Parameter
from weft.lang.calls.results import giver, results_of
from weft.lang.checks.tally import skipped
from weft.lang.data.derived import Lacking
from weft.lang.functions.captures import Captures
from weft.lang.logs.compilations import trace_of
from weft.lang.logs.topics import CACHE
from weft.lang.measure import recording
from weft.lang.measure.profiler import measured
from weft.lang.measure.ranges import named
from weft.lang.measure.recording import COMPILE
from weft.lang.measure.scopes import ScopedProfiler
from weft.lang.program.backends import BACKENDS, Request
from weft.lang.program.store import kept_in
from weft.lang.translate.entry import Argument, Translation, translate_kernel

if TYPE_CHECKING:  # code generation is imported where it is used: kernels from the disk cache do not need it
    from weft.codegen.llvm.crew import Helpers
    from weft.codegen.llvm.machine import Keep
    from weft.ir import tree
    from weft.ir.mapping.routines import Routine
    from weft.ir.ops import Kernel
    from weft.runtime.device import Device

__all__ = ["FieldDropped", "Instance", "as_lowered", "compile_instance", "counts_on_nothing", "rehearse"]


class FieldDropped(WeftError):
    """A field that an instance was compiled for is no longer referenced."""


class Instance:
    """A compiled kernel, bound to the field trees that it accesses. `instance(args)` launches it. `alive()` says
    whether it is still valid for the program."""

    def __init__(
        self,
        run: Callable[[Sequence[int], Sequence[Any]], Any],
        translation: Translation,
        parameters: Sequence[Parameter],
        arguments: Sequence[Argument],
        results: Sequence[Any],
    ) -> None:
        self.run: Any = run
        self.results, self.captures = tuple(results), Captures(translation.captures)
        self.trees = [weakref.ref(one) for one in translation.trees]
        self._grown = translation.grown
        self._addresses: list[int] | None = None
        # what a launch is made in, if trees may grow: see `FieldTree.held`
        self.held: Callable[[], Any] | None = next(
            (t.program.layouts.held for t in translation.trees if t.may_grow), None
        )
        own = arguments[len(arguments) - len(parameters) :]  # without the object of a method
        self._packs = [(k, p.pack) for k, (p, a) in enumerate(zip(parameters, own, strict=True)) if a.type is not None]
        self._arrays = {position for position, p in enumerate(parameters) if isinstance(p, ArrayParameter)}
        self.give = giver(results)
        self.guards: list[Any] = []
        self.program: Callable[[], Any] = _never  # returns the program that it was compiled for
        self.recipe: Any = None  # how to compile it again, see `Recipe`
        self.was_stored = False  # whether its code comes from the disk cache
        self.seconds = 0.0  # that it took to translate and compile it, or to load it
        self.choices: dict[Any, Any] = {}  # the choices of a rehearsed kernel, see `Translation`
        self.plans: dict[Any, Any] = {}  # how native code calls it, by the classes of the arguments, see `direct.py`
        self.plans_made = 0
        self.facts: GradientFacts | None = None  # of a gradient
        self.loaded: Any = None  # what launches it, without instrumentation
        self.pieces: list[Any] = []  # the pieces that tapes run in its place (`ir/pieces.py`)
        self.is_recorded = False  # whether tapes run its recording kernel in its place (`ir/autodiff/records.py`)
        self.key = 0  # with arch=python, the key of the random numbers of the last launch
        self.warned = False  # of old values, see `gradient_warnings.py`
        self.token = weakref.ref(self)  # what bound launches say that they are of
        self.recorded: Any = None  # what tapes know about it, see `autodiff/memory_use.py`
        self.careful: Instance | None = None  # the variant for overlapping arguments, from the first such call on

    def alive(self) -> bool:
        """Whether every field tree still exists and every captured constant has its old value. (If a tree was dropped,
        names refer to other fields now.)"""
        for ref in self.trees:
            if ref() is None:
                return False
        return self.fits() and not self.captures.changed()

    def fits(self) -> bool:
        """Whether the layout of each field tree is the one that it was compiled for, see `FieldTree.grow`."""
        for ref, grown in zip(self.trees, self._grown, strict=True):
            tree = ref()
            if tree is not None and tree.grown != grown:
                return False
        return True

    def overlap(self, args: Sequence[Any], with_fields: bool = False) -> bool:
        """Whether some of these arguments overlap although the code assumes that they do not: with one another or, if
        `with_fields` is set, with a field. Without it, fields are not asked for their addresses, since they may have no
        memory yet."""
        overlap = getattr(self.run, "overlap", None)
        if overlap is None:
            return False
        values = [pack(args[position]) if position in self._arrays else None for position, pack in self._packs]
        bases = [address for address, _ in self.memory()] if with_fields else [0] * len(self.trees)
        return bool(overlap(bases, values))

    @property
    def positions(self) -> list[int]:
        """For each parameter of the launch, the position of its argument."""
        return [position for position, _ in self._packs]

    def forget_plans(self) -> None:
        """Make the next calls take the path through Python."""
        self.plans = {}
        if self.careful is not None:
            self.careful.plans = {}

    @property
    def drawn(self) -> int:
        """The key of the random numbers of the last launch; 0 before the first one."""
        return self.key or int(getattr(self.loaded, "drawn", 0))

    def __call__(self, args: Sequence[Any]) -> Any:
        """Launch the kernel. If arguments overlap that must not, raise Overlapping before anything runs."""
        return self.launch(self.packed(args))

    def packed(self, args: Sequence[Any]) -> list[Any]:
        """The arguments for the launcher, which later changes of vectors and structs do not affect."""
        return [pack(args[position]) for position, pack in self._packs]

    def launch(self, values: Sequence[Any]) -> Any:
        """Launch the kernel with arguments that `packed` gave."""
        if self.held is None:
            return self._launch(values)
        with self.held():
            return self._launch(values)

    def _launch(self, values: Sequence[Any]) -> Any:
        # keeps the memory alive until the launch is over: another thread may release a field in the meantime
        memory = self.memory()
        return self.give(self.run([address for address, _ in memory], values))

    def memory(self) -> list[tuple[int, Any]]:
        """The address of each tree, and the object that owns the memory. Raises an error if a tree was destroyed."""
        buffers = [_buffer(ref()) for ref in self.trees]
        if not self.fits():  # (not before: another thread may let a tree grow)
            raise FieldDropped(
                "a field that a launch in a block of ti.ad uses lies in other memory now, because its tree has grown "
                "for a derivative meanwhile: run the block again"
            )
        if self._addresses is None:
            trees = [tree for ref in self.trees if (tree := ref()) is not None]
            self._addresses = [_address(tree, buffer) for tree, buffer in zip(trees, buffers, strict=True)]
        return list(zip(self._addresses, buffers, strict=True))


def _buffer(tree: Any) -> Any:
    if tree is None:
        raise FieldDropped("another thread dropped a field that this kernel uses")
    return tree.buffer()


def _address(tree: Any, buffer: Any) -> int:
    return int(tree.program.device.memory.address(buffer))


def compile_instance(
    program: Any,
    function: Callable[..., Any],
    arguments: Sequence[Argument],
    parameters: Sequence[Parameter],
    results: Sequence[Any],
    mode: str = "",
    piece: int | None = None,
    config: CompileConfig | None = None,
) -> Instance:
    """Compile a kernel, or a piece of it, or its derivative in a mode of MODES (`symbols.py`), for the device of the
    program: translate it, then find it in the disk cache or compile it. `config`: None for that of the program.
    WEFT_DUMP and WEFT_TIME print the steps."""
    chosen: CompileConfig = program.config if config is None else config
    began = perf_counter()
    trace = trace_of(program, function.__name__)
    trace.listener = _listener()
    # (as a whole: a collection in between would visit all that was translated)
    with uncollected(), ScopedProfiler("compile", COMPILE), ScopedProfiler(function.__name__, COMPILE):
        translation = _translate(program, chosen, function, arguments, results, mode, trace, piece)
        kept = not (trace.active or _watches(chosen) or program.verifies_results)
        entry = entry_of(program, translation.tree) if kept else None
        run = None if entry is None else _found(program, entry)
        found = run is not None
        if run is None:
            with program.seats:
                run, artifact = _compile(program, chosen, translation, trace, entry)
        else:
            artifact = run.artifact
    if CACHE.on and entry is not None:
        CACHE.info("%s: %s", function.__name__, "found" if found else "not found, compiled")
    loaded = run
    while hasattr(loaded, "inner"):
        loaded = loaded.inner
    if takes_turns(translation.tree) and not program.backend.blocks:
        run = Exclusive(run)
    if program.profiling and program.backend.times_tasks:
        run = measured(translation.tree.name if mode else function.__name__, run)
    if program.chosen.get("nvtx"):
        run = named(function, run)
    # a recording kernel returns what the kernel returns, or forward mode of it
    roles = [role_of(param.hidden) for param in translation.tree.params]
    returns = next(("jvp" if paired else "" for role, _, paired in roles if role == RECORDING), mode)
    given = results_of(results if translation.tree.results else (), returns)
    made = Instance(run, translation, parameters, arguments, given)
    made.loaded, made.facts = loaded, artifact.facts if mode else None
    made.was_stored, made.seconds = found, perf_counter() - began
    return made


def compile_again(instance: Instance, translation: Translation) -> Any:
    """What launches an instance that was translated again, with a change. It is in the disk cache, too."""
    program = instance.program()
    trace = trace_of(program, translation.tree.name)
    entry = entry_of(program, translation.tree)
    run = None if entry is None else _found(program, entry)
    if run is None:
        with uncollected(), program.seats:
            run, _ = _compile(program, instance.recipe.config, translation, trace, entry)
    return run


def _listener() -> Listener | None:
    """The function that is called for each pass of the compiler."""
    record = recording.current
    return None if record is None else lambda name, began, ended: record.span(COMPILE, name, began, ended)


def _translate(
    program: Any,
    config: CompileConfig,
    function: Callable[..., Any],
    arguments: Sequence[Argument],
    results: Sequence[Any],
    mode: str,
    trace: Trace,
    piece: int | None = None,
) -> Translation:
    with ScopedProfiler("translate", COMPILE), trace.stage("translate"):
        translation: Translation | None = None
        while translation is None:
            with program.lock:  # while no layout changes
                growths = program.growths
            try:
                made = translate_kernel(function, arguments, tuple(results), config, mode, piece)
                translation = _of_one_layout(program, growths, made)
            except Lacking as lacking:
                lacking.supply()
            except Exception:
                if program.growths == growths:
                    raise
    refuse_writes(translation, arguments)
    return translation


def _of_one_layout(program: Any, growths: int, made: Translation) -> Translation | None:
    """A translation that began when trees of the program had grown so often, with that of each tree. None: another
    thread has let one grow meanwhile, so that the kernel may be translated to the old layout of it."""
    with program.lock:
        fits = program.growths == growths
        return replace(made, grown=tuple(tree.grown for tree in made.trees)) if fits else None


def _found(program: Any, entry: Entry) -> Any:
    """The kernel from the disk cache. None if it is not there."""
    began = perf_counter()
    with program.lock:  # the device makes objects at their first use, once
        run = entry.find(program.device)
    if recording.current is not None:
        recording.current.span(COMPILE, "cache lookup", began, perf_counter(), found=run is not None)
    return run


def _compile(
    program: Any, config: CompileConfig, translation: Translation, trace: Trace, entry: Entry | None
) -> tuple[Any, Artifact]:
    """Compile a kernel, and return what launches it and its code. Store it in the disk cache if `entry` is given."""
    tree = translation.tree
    with ScopedProfiler("generate code", COMPILE):
        if program.verifies_results and not (_watches(config) or tree.nodes):
            return _verified(tree, program, trace)
        config = as_lowered(program, config)
        keep = None if entry is None else partial(kept_in, program)
        artifact = make_artifact(tree, config, program.device, trace, _helpers(program, trace), keep)
        with program.lock:
            run = _instrumented(program, load_artifact(artifact, config, program.device, trace), artifact)
        if program.verifies_results:
            why = "sparse fields" if tree.nodes else "checks of races or of uninitialised elements"
            run = skipped(tree.name, run, f"with {why}")
    if entry is not None:
        began = perf_counter()
        entry.keep(artifact)
        if trace.listener is not None:
            trace.listener("cache store", began, perf_counter())
    return run, artifact


def as_lowered(program: Any, config: CompileConfig) -> CompileConfig:
    """The options for the code that runs."""
    return replace(
        config, arch=program.backend.lowered_as, apart=program.backend.compiles_apart and not config.line_info
    )


def rehearse(
    program: Any,
    function: Callable[..., Any],
    arguments: Sequence[Argument],
    parameters: Sequence[Parameter],
    results: Sequence[Any],
    mode: str = "",
    piece: int | None = None,
) -> Instance:
    """Translate a kernel that will run as Python, so that its mistakes raise the same errors as on other arches. The
    instance stores what the translation depended on. It cannot be launched."""
    trace = trace_of(program, function.__name__)
    translation = _translate(program, program.config, function, arguments, results, mode, trace)
    _show_tree(translation.tree, trace)
    made = Instance(_never, translation, parameters, arguments, results)
    made.choices = translation.choices
    return made


def _never(*_: Any) -> Any:
    raise AssertionError("a rehearsed kernel runs as Python")


def _watches(config: CompileConfig) -> bool:
    """Whether kernels have checks that need memory of their own. Such kernels are not stored on disk, because the disk
    cache does not contain what the numbers in the race shadow mean."""
    return bool(config.check_races or config.check_uninitialised)


def counts_on_nothing(config: CompileConfig) -> bool:
    """Whether each kernel has only one variant, which also runs overlapping arguments. This is so where speed does not
    matter."""
    return _watches(config)


def _instrumented(program: Any, run: Callable[..., Any], artifact: Artifact) -> Callable[..., Any]:
    """The loaded kernel with the instrumentation data that depends on the arguments of a launch."""
    if any(param.hidden == "marks" for param in artifact.slots.params):
        from weft.lang.data.marks import Marking

        run = Marking(program, run, artifact)
    if artifact.races is not None:
        from weft.lang.checks.races import Checked

        run = Checked(program, run, artifact)
    return run


def _verified(root: tree.KernelTree, program: Any, trace: Trace) -> tuple[Any, Artifact]:
    """Compile a tree to a launcher that also evaluates each launch."""
    from weft.ir.shadow.stages import lower_kept
    from weft.lang.checks.results import Verified

    config = program.config
    _show_tree(root, trace)
    kernel, functions, kept = lower_kept(root, config, trace.observer)
    facts = _facts_of(root, kernel)
    mapped = _mapped(kernel, functions, config, program.device, trace)
    kept.keep(kernel, functions)
    backend, helpers = BACKENDS[config.arch], _helpers(program, trace)
    machine = backend.machine(program.device)
    artifact = _with_facts(backend.compile(Request(kernel, functions, mapped, machine, trace.lap, helpers)), facts)
    with program.lock:
        run = load_artifact(artifact, config, program.device, trace)
    return Verified(program, run, root, config, kept), artifact


def make_artifact(
    root: tree.KernelTree,
    config: CompileConfig,
    device: Device,
    trace: Trace,
    helpers: Helpers | None = None,
    keep: Keep | None = None,
) -> Artifact:
    """Compile a tree to code. `keep` keeps object files that several kernels have."""
    from weft.ir.programs import lower_program

    _show_tree(root, trace)
    lowered = lower_program(root, config, trace.observer)
    facts = _facts_of(root, lowered.kernel)  # before mapping, which changes the kernel
    artifact = _with_facts(_code_of(lowered.kernel, lowered.functions, config, device, trace, helpers, keep), facts)
    return artifact if lowered.races is None else replace(artifact, races=lowered.races)


def _facts_of(root: tree.KernelTree, kernel: Kernel) -> GradientFacts | None:
    """The facts of lowered CHI, if it is a derivative."""
    if not root.mode:
        return None
    from weft.ir.autodiff.facts import facts_of

    runs = any(role_of(param.hidden)[0] == RECORDING for param in root.params)  # in the place of the kernel
    return facts_of(kernel, root.fields, again="vjp" in root.mode and not runs)


def _with_facts(artifact: Artifact, facts: GradientFacts | None) -> Artifact:
    """The artifact of a gradient kernel, with the facts about it."""
    if facts is None:
        return artifact
    sites = (*artifact.sites, *facts.lost)
    made = replace(artifact, reads=facts.reads, saved=facts.saved, records=facts.records)
    return replace(made, draws_again=facts.draws, grad_accesses=facts.grad_accesses, sites=sites)


def _code_of(
    kernel: Kernel,
    functions: Sequence[Kernel],
    config: CompileConfig,
    device: Device,
    trace: Trace,
    helpers: Helpers | None,
    keep: Keep | None,
) -> Artifact:
    """Compile lowered CHI to code."""
    config, backend = _mapped(kernel, functions, config, device, trace), BACKENDS[config.arch]
    apart = _apart(kernel, config) if config.apart else ()
    return backend.compile(Request(kernel, functions, config, backend.machine(device), trace.lap, helpers, keep, apart))


def _apart(kernel: Kernel, config: CompileConfig) -> Sequence[Routine]:
    """The routines that the kernel runs and does not have, mapped to the target."""
    from weft.ir.transforms.apart import routines_apart

    return routines_apart(kernel, config)


def _mapped(
    kernel: Kernel, functions: Sequence[Kernel], config: CompileConfig, device: Device, trace: Trace
) -> CompileConfig:
    """Map lowered CHI to the target, in place. Returns the configuration with the target."""
    from weft.ir.pipeline import map_to_target

    backend = BACKENDS[config.arch]
    config = replace(config, target=backend.mapping(config, backend.machine(device)))
    map_to_target(kernel, functions, config, trace.observer)
    return config


def _helpers(program: Any, trace: Trace) -> Helpers | None:
    """The other threads that help to compile a kernel. None if there are none."""
    from weft.codegen.llvm.crew import Helpers

    return Helpers(program.seats, trace.beside) if program.seats.count > 1 else None


def _show_tree(root: tree.KernelTree, trace: Trace) -> None:
    if trace.wants("tree"):
        from weft.ir.treetext import print_tree

        trace.show("tree", root.name, lambda: print_tree(root))


def load_artifact(artifact: Artifact, config: CompileConfig, device: Device, trace: Trace) -> Callable[..., Any]:
    """Load code onto the device. Returns the function that launches it."""
    from weft.codegen.llvm.machine import assembly

    trace.lap("load")
    loaded: Callable[..., Any] = device.load(artifact)
    trace.lap()
    trace.show("llvm", artifact.name, lambda: artifact.llvm)
    trace.show("asm", artifact.name, lambda: artifact.ptx or assembly(artifact.llvm, config.opt_level))
    trace.report(artifact.name)
    return loaded
