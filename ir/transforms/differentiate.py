"""Replaces a kernel by its derivative, if it has a mode.

`autodiff/forward.py` describes the mode "jvp", and `autodiff/reverse.py` the mode "vjp". The pass runs after
`check_arithmetic`, so that the checks are those of what the user wrote, and before all instrumentation, so that the
accesses to derivatives are checked as all others are. It simplifies the kernel first: differentiating simple code is
cheaper than simplifying derivatives. Reverse mode begins with `autodiff/tensors.py`, `autodiff/hoisting.py`,
`autodiff/sinking.py`, `autodiff/winners.py` and `autodiff/powers.py`, which make the adjoints simpler.
"""

from __future__ import annotations

from time import perf_counter

from weft.ir import ops
from weft.ir.autodiff.boxes import use_boxes
from weft.ir.autodiff.companions import Companions, carries
from weft.ir.autodiff.forward import Forward
from weft.ir.autodiff.fresh import begin_with_zeros
from weft.ir.autodiff.hoisting import hoist_loads
from weft.ir.autodiff.powers import multiply_by_inverse_roots
from weft.ir.autodiff.recording import record
from weft.ir.autodiff.records import record_param
from weft.ir.autodiff.rerun import drop_effects
from weft.ir.autodiff.reverse import Reverse
from weft.ir.autodiff.sinking import sink_into_branches
from weft.ir.autodiff.tensors import assemble_tensors
from weft.ir.autodiff.topology import share_cells
from weft.ir.autodiff.winners import split_extremes
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.passes import OBSERVER, pass_
from weft.ir.symbols import READING, RERUN, is_reverse
from weft.ir.transforms.full_simplify import full_simplify
from weft.ir.transforms.licm import move_out

__all__ = ["differentiate"]


@pass_("differentiate")
def differentiate(root: ops.Kernel, config: CompileConfig) -> bool:
    """Add the duals of forward mode to a kernel whose mode is "jvp", or replace a kernel whose mode is "vjp" by the one
    that computes its gradients, and clear the mode. If that has a parameter for records, it becomes what the parameter
    says. In the mode "vjp.jvp", the kernel computes gradients, and the duals of these; in the mode "vjp.vjp2", the
    gradients of a function of gradients. In the mode "rerun", a function has no effects. Without a mode it does
    nothing."""
    if not root.mode:
        return False
    modes = root.mode.split(".")
    use_boxes(root)
    full_simplify(root, config)
    for number, mode in enumerate(modes):
        root.mode = mode
        if mode == RERUN:
            drop_effects(root)
            continue
        _no_lost_overlap(root)
        _no_cells_elsewhere(root)
        if is_reverse(mode):
            if number:
                _told(root)
                full_simplify(root, config)
            assemble_tensors(root)
            hoist_loads(root)
            if config.advanced_optimization:
                move_out(root.body)
                sink_into_branches(root)
                if config.fast_math:
                    split_extremes(root)
                    multiply_by_inverse_roots(root)
            _reverse(root, config)
        else:
            Forward(root).run()
    if not root.called:
        begin_with_zeros(root)
    root.mode = ""
    return True


def _reverse(root: ops.Kernel, config: CompileConfig) -> None:
    """Make the gradient kernel, or one of those that make its records."""
    param = record_param(root)
    if param is None or param[1] == READING:
        Reverse(root, config.fast_math, config.traits.memory).run()
    else:
        record(root, config.fast_math, param)


def _told(root: ops.Kernel) -> None:
    """Let an observer see the first derivative, before passes change it."""
    observe, now = OBSERVER.get(), perf_counter()
    if observe is not None:
        observe("differentiate", root, True, now, now)


def _no_lost_overlap(root: ops.Kernel) -> None:
    """A field and a field of one of its components have derivatives that overlap in the same way, or both have none."""
    companions = Companions(root)
    fields = [symbol for symbol in root.fields if carries(symbol.dtype)]
    for one in fields:
        made = companions.field(one)
        for other in fields:
            if made is None or other is one or not one.shares_with(other):
                continue
            paired = companions.field(other)
            if paired is None or not made.shares_with(paired):
                raise CompilationError(
                    f"the fields '{one.name}' and '{other.name}' share memory, but their {companions.kind}s do not; "
                    "give both of them one, with the same components",
                    root.span,
                )


def _no_cells_elsewhere(root: ops.Kernel) -> None:
    """A gradient or a dual is active where its field is."""
    companions = Companions(root)
    for symbol in root.fields:
        made = companions.field(symbol) if carries(symbol.dtype) else None
        if made is not None and not share_cells(symbol, made):
            raise CompilationError(
                f"'{symbol.name}' and its {companions.kind} '{made.name}' are not in the same cells: place both below "
                "the same sparse node, or let lazy_grad() and lazy_dual() place them",
                root.span,
            )
