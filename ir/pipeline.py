"""The pipelines: from the tree to tasks, from tasks to lowered CHI, and from there to the code of a target. These
tables are the outline of the compiler.

A pass is found by its name, in the file of that name under `transforms/` or `transforms/mapping/`. With
`config.verify`, the IR is verified after every pass, nested ones included, and a pass that returns "nothing changed" is
checked for that. With `config.debug`, the IR is verified after each row of the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter

from weft.ir.calls import note_effects
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError, WeftError
from weft.ir.mapping.stretches import note_costs
from weft.ir.ops import Kernel
from weft.ir.passes import OBSERVER, PASSES, Observer, Pass
from weft.ir.text import print_ir
from weft.ir.tree import KernelTree
from weft.ir.verify import verify

__all__ = [
    "LEVEL_AFTER",
    "STAGES",
    "TO_LANES",
    "TO_LOWERED",
    "TO_MAPPED",
    "TO_TASKS",
    "find_pass",
    "lower",
    "map_to_target",
    "run_passes",
]

TO_TASKS: tuple[str, ...] = (
    "infer_types",
    "check_arithmetic",
    "expand_derivatives",
    "differentiate",
    "races",
    "uninitialised",
    "full_simplify",
    "gather_adjoints",
    "note_gradients",
    "bounds",
    "locate_faults",
    "full_simplify",
    "keep_values",
    "store_first",
    "enumerate_cells",
    "offload",
    "collapse",
    "full_simplify",
    "mask_accesses",
    "count_appends",
    "activate_ahead",
    "peel_cells",
    "lower_sparse",
    "flag_access",
)

TO_LOWERED: tuple[str, ...] = (
    "demote_atomics",
    "cache_invariant",
    "thread_local",
    "loop_tensors",
    "lower_visits",
    "scalarize",
    "lower_access",
    "demote_ops",
    "version_interior",
    "full_simplify",
    "lift_sums",
)

# By kind of target: passes that decide which thread runs which iterations, and in which order.
TO_MAPPED: dict[str, tuple[str, ...]] = {
    "cpu": ("forget_invariants", "check_recursion"),
    "gpu": (
        "forget_invariants",
        "check_recursion",
        "number_iterations",
        "choose_axes",
        "privatize_in_blocks",
        "warps_per_row",
        "coarsen",
        "peel_boundaries",
        "unroll_and_jam",
        "version_rows",
        "choose_blocks",
        "place_shared_arrays",
        "plan_launches",
        "choose_grids",
    ),
}

# By kind of target, after `TO_MAPPED`: how the accesses of a thread become instructions.
TO_LANES: dict[str, tuple[str, ...]] = {
    "cpu": (
        "flatten_axes",
        "choose_lanes",
        "choose_moves",
        "privatize",
        "choose_threads",
        "hint_vectorizer",
        "join_scopes",
        "choose_stretches",
        "vectorize",
        "join_reductions",
    ),
    "gpu": ("widen_atomics",),
}

_MAPPING = frozenset(name for table in (TO_MAPPED, TO_LANES) for names in table.values() for name in names)

# The stages of the pipelines; other passes run inside of these.
STAGES = frozenset(("lower_tree", *TO_TASKS, *TO_LOWERED, *_MAPPING))

# The level (see `verify.py`) of the kernel after this pass.
LEVEL_AFTER: dict[str, str] = {
    "lower_tree": "untyped",
    "infer_types": "chi",
    "offload": "tasks",
    "scalarize": "lowering",
    "demote_ops": "lowered",
    "vectorize": "vectors",
}

# Passes that simplify to a fixpoint. They are skipped if nothing has changed since they last ran.
TIDYING: frozenset[str] = frozenset({"full_simplify"})


def find_pass(name: str) -> Pass:
    """The pass of that name. Its file is imported on first use."""
    file = f"weft.ir.transforms.{'mapping.' if name in _MAPPING else ''}{name}"
    if name not in PASSES or file in sys.modules:
        import_module(file)  # waits where another thread is at it: a pass is registered before its file ends
    return PASSES[name]


def lower(tree: KernelTree, config: CompileConfig, observe: Observer | None = None) -> Kernel:
    """Lower a kernel from its tree to lowered CHI. `observe(stage, kernel, changed, began, ended)` is called after each
    stage, beginning with "lower_tree". It is also called after passes nested in a stage, before the stage itself."""
    lower_tree: Callable[[KernelTree, CompileConfig], Kernel]
    lower_tree = import_module("weft.ir.transforms.lower_tree").lower_tree
    began = perf_counter()
    with _blame("lower_tree", tree.name):
        kernel = lower_tree(tree, config)
    ended, watch = perf_counter(), _Watch(config, observe, "untyped")
    watch("lower_tree", kernel, True, began, ended)
    _run(kernel, TO_TASKS + TO_LOWERED, config, watch)
    return kernel


def map_to_target(
    kernel: Kernel, functions: Sequence[Kernel], config: CompileConfig, observe: Observer | None = None
) -> None:
    """Map a kernel of lowered CHI, and the functions that it calls, to `config.target`, in place. `observe` is called
    for the passes over the kernel."""
    if config.target is None:
        raise InternalError(f"kernel '{kernel.symbol}' has no target to be mapped to")
    note_effects(kernel, functions)
    names = TO_MAPPED[config.target.kind] + TO_LANES[config.target.kind]
    if "choose_stretches" in names:
        note_costs(kernel, functions)
    for one in functions:
        _run(one, names, config, _Watch(config, None, "mapped"))
    _run(kernel, names, config, _Watch(config, observe, "mapped"))


def run_passes(
    kernel: Kernel,
    names: Iterable[str],
    config: CompileConfig,
    observe: Observer | None = None,
    level: str = "chi",
) -> Kernel:
    """Run these passes in order on a kernel at `level`. The kernel is changed in place and returned."""
    _run(kernel, names, config, _Watch(config, observe, level))
    return kernel


def _run(kernel: Kernel, names: Iterable[str], config: CompileConfig, watch: _Watch) -> None:
    tidy: set[str] = set()
    token = OBSERVER.set(watch if config.verify or config.debug or watch.observe is not None else None)
    try:
        for name in names:
            if name in tidy:
                continue
            run = find_pass(name)
            watch.begin(name, kernel)
            with _blame(name, kernel.symbol):
                changed = run(kernel, config)
            if changed:
                tidy.clear()
            if name in TIDYING:
                tidy.add(name)
    except InternalError as error:
        error.text = watch.given
        raise
    finally:
        OBSERVER.reset(token)


class _Watch:
    """Observes the kernel after every pass: verifies it, then calls the caller's observer."""

    def __init__(self, config: CompileConfig, observe: Observer | None, level: str) -> None:
        self.config, self.observe, self.level = config, observe, level
        self.stage = "lower_tree"
        self.text = ""  # of the kernel as it was last seen
        self.given = ""  # the input of the running stage, and its current text

    def begin(self, stage: str, kernel: Kernel) -> None:
        """A stage of the pipeline is about to run."""
        self.stage = stage
        if self.config.verify:
            self.text = self.text or print_ir(kernel)
            self.given = f"# pass {stage}, from level {self.level}\n{self.text}"

    def __call__(self, name: str, kernel: Kernel, changed: bool, began: float, ended: float) -> None:
        if self.observe is not None:
            self.observe(name, kernel, changed, began, ended)
        if name == self.stage:
            self.level = LEVEL_AFTER.get(name, self.level)
        if self.config.verify or (self.config.debug and name == self.stage):
            with _blame(name, kernel.symbol):
                verify(kernel, self.level)
        if self.config.verify:
            self.hold_to_its_word(name, kernel, changed)

    def hold_to_its_word(self, name: str, kernel: Kernel, changed: bool) -> None:
        """Check a pass that reports no change. If it changed the kernel, later passes would skip work."""
        text = print_ir(kernel)
        if not changed and self.text and text != self.text:
            raise InternalError(f"pass '{name}' changed kernel '{kernel.symbol}', but returned that it had not")
        self.text = text


@contextmanager
def _blame(name: str, kernel: str) -> Generator[None, None, None]:
    """Report an unexpected error inside a pass as an internal error that names the pass and the kernel."""
    try:
        yield
    except InternalError as error:
        if error.__cause__ is not None:  # already blamed, further in
            raise
        raise InternalError(f"pass '{name}', kernel '{kernel}': {error}") from error
    except (WeftError, RecursionError):  # for code that is nested too deeply: `lang` reports it
        raise
    except Exception as error:
        raise InternalError(f"pass '{name}', kernel '{kernel}': {type(error).__name__}: {error}") from error
