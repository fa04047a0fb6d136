"""The stages of a kernel: as it was translated, as code is generated from it, and the first pass that changed its
meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.passes import Observer
from weft.ir.pipeline import LEVEL_AFTER, STAGES, lower
from weft.ir.programs import function_tree, functions_in, refuse_draws
from weft.ir.runtime_library.sparse import functions_of as sparse_functions
from weft.ir.text import print_ir
from weft.ir.transforms.demote_atomics import demote_called
from weft.ir.tree import KernelTree

__all__ = ["Culprit", "Kept", "first_change", "lower_kept"]

# After this stage types are known, and the checks that the program asked for are in place: what comes then must keep
# what the kernel means.
_WHOLE = "uninitialised"


@dataclass
class Kept:
    """Copies of a kernel, and of the functions that it calls: `written` is their meaning, `lowered` is the IR from
    which code is generated."""

    written: list[Kernel] = field(default_factory=list[Kernel])
    lowered: list[Kernel] = field(default_factory=list[Kernel])
    trees: list[KernelTree] = field(default_factory=list[KernelTree])  # of these

    def keep(self, kernel: Kernel, functions: Sequence[Kernel]) -> None:
        """Code is made of these, mapped to a target."""
        self.lowered = [_copy(one) for one in (kernel, *functions)]


@dataclass(frozen=True)
class Culprit:
    """A pass that changed the meaning of a kernel. `stage` is the row of the pipeline that it ran in. `text` is its
    input IR."""

    name: str
    stage: str
    kernel: str
    text: str

    def __str__(self) -> str:
        inside = f" (in '{self.stage}')" if self.stage != self.name else ""
        return f"pass '{self.name}'{inside}, in '{self.kernel}'"


def lower_kept(
    root: KernelTree, config: CompileConfig, observe: Observer | None = None
) -> tuple[Kernel, list[Kernel], Kept]:
    """A kernel and its functions, lowered; and copies, the kernel's first."""
    kept, made = Kept(trees=[root, *([] if root.mode else root.functions)]), list[Kernel]()
    for tree in kept.trees:  # grows

        def watch(
            name: str, kernel: Kernel, changed: bool, began: float, ended: float, main: bool = tree is root
        ) -> None:
            if name == _WHOLE:
                kept.written.append(_copy(kernel))
            if main and observe is not None:
                observe(name, kernel, changed, began, ended)

        made.append(lower(tree, config, watch))
        kept.lowered.append(_copy(made[-1]))
        known = {one.name for one in kept.trees}
        if root.mode:
            kept.trees += [function_tree(root, name) for name in functions_in(root, made[-1]) if name not in known]
    refuse_draws(root, made[1:])
    demote_called(made[0], made[1:])
    return made[0], [*made[1:], *sparse_functions(made, config)], kept


def _copy(kernel: Kernel) -> Kernel:
    made = kernel.clone({})
    assert isinstance(made, Kernel)
    return made


def first_change(
    root: KernelTree, config: CompileConfig, kept: Kept, changed: Callable[[Sequence[Kernel]], bool]
) -> Culprit | None:
    """The first pass after which `changed` holds; None if it does after none. It is given the kernel and its functions
    as they are then; functions go all the way down before the kernel does."""
    now = list(kept.written)
    for number in (*range(1, len(now)), 0):
        search = _Search(number, now, changed)
        now[number] = lower(kept.trees[number], config, search.observe)
        if search.found is not None:
            return search.found
    return None


class _Search:
    """One kernel while it is lowered, evaluated after each pass that changed it."""

    def __init__(self, number: int, now: Sequence[Kernel], changed: Callable[[Sequence[Kernel]], bool]) -> None:
        self.number, self.now, self.changed = number, list(now), changed
        self.found: Culprit | None = None
        self.inner = ""  # a pass inside of the stage that runs
        self.level, self.text = "", ""  # of the kernel as it was last seen

    def observe(self, name: str, kernel: Kernel, changed: bool, *_: float) -> None:
        """An observer of the pipeline. It cannot stop the pipeline, so it ignores everything after the first change."""
        if self.found is not None:
            self.found = self._placed(self.found, name)
            return
        self.level = LEVEL_AFTER.get(name, self.level)
        if changed and self.text:
            self.now[self.number] = kernel
            if self.changed(self.now):
                stage = name if name in STAGES else ""
                self.found = Culprit(name, stage, kernel.symbol, f"# pass {name}, from level {self.level}\n{self.text}")
        if self.text or name == _WHOLE:
            self.text = print_ir(kernel)

    def _placed(self, found: Culprit, name: str) -> Culprit:
        """With the stage, which is observed after the passes in it."""
        if found.stage or name not in STAGES:
            return found
        return Culprit(found.name, name, found.kernel, found.text)
