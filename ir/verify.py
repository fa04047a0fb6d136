"""The verifier: checks the rules for a kernel at each level, op by op.

It checks three kinds of facts. The structure: links, users, and every use inside the scope of its definition. The
place: the level allows the op, and its parent allows an op of its kind. The types of operands and results: a table with
one row per op.

It also checks schedules (see `verify_schedule.py`).

The levels are those of `levels.py` and two more: "untyped" is CHI before `infer_types`, when the types of operands may
still disagree. "lowering" is between "tasks" and "lowered", when both kinds of ops may be present.
"""

from __future__ import annotations

from weft.ir import ops, verify_control, verify_lowered
from weft.ir.addresses import root_of
from weft.ir.alias import Access, is_access
from weft.ir.core import LEVELS, Block, Op, Value, ops_at
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.storage.cell import SHADOWS
from weft.ir.symbols import BOX, COMPANIONS, MODES, RERUN, FieldSymbol
from weft.ir.types import VOID, Array, Lanes, Pointer, Prim, Type
from weft.ir.verify_nodes import verify_nodes
from weft.ir.verify_schedule import verify_schedule
from weft.ir.verify_types import CHECKS, require, show
from weft.ir.verify_vectors import verify_vectorized

__all__ = ["ALLOWED", "verify"]

_RULES = (verify_control, verify_lowered)  # imported for the rows that they add to `CHECKS`

ALLOWED: dict[str, frozenset[str]] = {level: ops_at(level) for level in LEVELS} | {
    "untyped": ops_at("chi"),
    "lowering": ops_at("tasks") | ops_at("lowered"),
}

_LOOPS = ("for", "while")
_SPREAD = ("parallel_for", "struct_for", "task")
_TASKS_ONLY = ("tasks", "lowering", "lowered", "mapped", "vectors")
# The types of values, where a level has no tensors.
_HELD: dict[str, tuple[type[Type], ...]] = {
    "lowered": (Prim, Pointer),
    "mapped": (Prim, Pointer),
    "vectors": (Prim, Pointer, Lanes),
}
# The ops that may contain such an op. The innermost of these around it decides.
_PLACES: dict[str, tuple[str, ...]] = {
    "task": ("kernel",),
    "parallel_for": ("kernel",),
    "struct_for": ("kernel",),
    "shared_local": ("kernel",),
    "yield": ("task",),
}


def verify(kernel: Kernel, level: str) -> None:
    """Raise InternalError, naming the op, unless `kernel` is well-formed at `level`."""
    if level not in ALLOWED:
        raise InternalError(f"there is no level '{level}'; there are {', '.join(ALLOWED)}")
    _Verifier(kernel, level).run()


class _Verifier:
    def __init__(self, kernel: Kernel, level: str) -> None:
        self.kernel, self.level = kernel, level
        self.visible: set[Value] = set()
        self.uses: dict[Value, dict[Op, int]] = {}
        self.defined: list[Value] = []

    def run(self) -> None:
        self.uses[self.kernel] = {}
        for symbol in self.kernel.fields:
            _storage(symbol, self.kernel)
        verify_nodes(self.kernel)
        _companions(self.kernel)
        self.block(self.kernel.body, self.kernel, [])
        for value in self.defined:
            if value.users != self.uses[value]:
                wrong = set(value.users.items()) ^ set(self.uses[value].items())
                names = ", ".join(sorted(repr(user) for user, _ in wrong))
                raise InternalError(
                    f"{show(value)}: its list of users does not match the ops that use it; they differ in {names}"
                )

    def define(self, value: Value) -> None:
        self.visible.add(value)
        self.defined.append(value)
        self.uses[value] = {}

    def block(self, block: Block, owner: Op, around: list[Op]) -> list[Value]:
        """Check a block inside `owner`, which is itself inside the ops `around`. Gives the values that the block
        defines. The caller ends its scope."""
        start, stack = len(self.defined), [*around, owner]
        require(block.owner is owner, owner, "has a region whose owner is another op")
        for arg in block.args:
            require(arg.block is block, owner, f"has a block argument {show(arg)} that refers to another block")
            self.define(arg)
        previous: Op | None = None
        for op in block:
            require(op.block is block, op, "refers to another block than the one that contains it")
            require(op.prev is previous, op, "is not linked to the op before it")
            require(previous is None or not previous.terminator, op, "follows a terminator")
            self.op(op, stack)
            previous = op
        require(block.last is previous, owner, "has a region whose `last` is not its last op")
        return self.defined[start:]

    def op(self, op: Op, around: list[Op]) -> None:
        require(op.opname in ALLOWED[self.level], op, f"does not belong to the level '{self.level}'")
        for operand in op.operands:
            if operand not in self.visible:
                raise InternalError(f"{show(op)}: uses {show(operand)} outside the scope of its definition")
            uses = self.uses[operand]
            uses[op] = uses.get(op, 0) + 1
        require(sum(op.groups) <= len(op.operands), op, "has operand groups that are longer than its list of operands")
        _place(op, around, self.level)
        if isinstance(op, (ops.Task, ops.For)):
            if self.level == "vectors":
                verify_vectorized(op)
            else:
                verify_schedule(op, self.kernel, self.level == "mapped")
        if is_access(op) and op.writes:
            _shared_write(op, around)
        if self.level != "untyped":
            self.types(op)
        inside: list[Value] = []
        for position, region in enumerate(op.regions):
            defined = self.block(region, op, around)
            if op.opname == "task" and position == 1:  # body and epilogue see the values of the prologue
                inside = defined
            else:
                self.visible.difference_update(defined)
        self.visible.difference_update(inside)
        self.define(op)

    def types(self, op: Op) -> None:
        if self.level in _HELD:
            array = op.opname == "arg" and isinstance(op.type, Array)  # handed on to a function
            scalar = isinstance(op.type, _HELD[self.level]) or op.type is VOID
            require(
                scalar or array, op, f"has the type {op.type}; expected a scalar, an address or (in lanes) a vector"
            )
        check = CHECKS.get(op.opname)
        if check is not None:
            check(op, self.kernel)
        if type(op).result_type is not Op.result_type:
            derived = op.result_type()
            require(op.type is derived, op, f"has type {op.type}, but its operands give {derived}")


def _storage(symbol: FieldSymbol, kernel: Kernel) -> None:
    """A field's path is collapsed, its halo fits its shape, and its shadows match their kinds."""
    path, cell, name = symbol.path, symbol.path.cell, f"field '{symbol.name}'"
    require(path.is_collapsed, kernel, f"{name} has a path that is not collapsed: {path}")
    require(
        symbol.hidden in ("", *SHADOWS), kernel, f"{name} is hidden as '{symbol.hidden}', which is not a kind of shadow"
    )
    pairs = zip(cell.halo, symbol.shape, strict=False)
    fits = all(low >= 0 <= high and low + high <= extent for (low, high), extent in pairs)
    require(fits and len(cell.halo) in (0, len(symbol.shape)), kernel, f"{name} has a halo that does not fit its shape")
    for shadow in cell.shadows:
        require(shadow.kind in SHADOWS, kernel, f"{name} has a shadow of the unknown kind '{shadow.kind}'")
        for other in (other for other in kernel.fields if other.name == shadow.field and other.hidden):
            same = (other.hidden, other.tree, other.space) == (shadow.kind, shadow.tree, symbol.space)
            require(same, kernel, f"{name} has the shadow '{other.name}', which is in another tree or space")


def _companions(kernel: Kernel) -> None:
    """The mode is known, and the fields and parameters of derivatives match those that they belong to."""
    modes = MODES if not kernel.called else (*MODES, RERUN, *(f"{RERUN}.{mode}" for mode in COMPANIONS), f"jvp.{RERUN}")
    require(kernel.mode in modes, kernel, f"has the unknown mode '{kernel.mode}'; expected one of {modes}")
    before = set[FieldSymbol]()
    for symbol in kernel.fields:
        for kind in COMPANIONS.values():
            other: FieldSymbol | None = getattr(symbol, kind)
            if other is None:
                continue
            name = f"field '{symbol.name}' has '{other.name}' for its {kind}"
            require(other in before, kernel, f"{name}, which is not listed before it")
            same = (other.dtype, other.shape, other.space.first) == (symbol.dtype, symbol.shape, symbol.space.first)
            require(same, kernel, f"{name}, which has another type or shape")
        before.add(symbol)
    own = {param.name: param.type for param in kernel.params if param.hidden in ("", BOX, *COMPANIONS.values())}
    for param in kernel.params:
        if param.hidden not in COMPANIONS.values():
            continue
        of = own.get(param.name.removesuffix(f".{param.hidden}"))
        alike = of is param.type
        if isinstance(of, Array) and isinstance(param.type, Array):
            alike = (of.elem, of.ndim, of.wide) == (param.type.elem, param.type.ndim, param.type.wide)
        require(
            alike, kernel, f"has the parameter '{param.name}', but no parameter of its type to be the {param.hidden} of"
        )


def _shared_write(op: Access, around: list[Op]) -> None:
    """Iterations of a parallel loop write a local of the kernel by atomics and relaxed stores only, and such a local is
    a shared_local."""
    loop = next((outer for outer in around if isinstance(outer, (ops.ParallelFor, ops.StructFor))), None)
    root = root_of(op.ptr)
    if loop is None or not isinstance(root, Op) or not root.local or root.within(loop):
        return
    require(
        isinstance(root, ops.SharedLocal),
        op,
        f"writes {show(root)}, a local of the code around the loop; expected a shared_local",
    )
    require(
        not isinstance(op, ops.Store) or op.relaxed,
        op,
        f"is a plain store to {show(root)}, which iterations share; expected an atomic or a relaxed store",
    )


def _place(op: Op, around: list[Op], level: str) -> None:
    """The places where control flow is allowed: a terminator must have a target, and a task occurs only at the top
    level."""
    require(op.opname == "task" or around[-1].opname != "kernel" or level not in _TASKS_ONLY, op, "is not in a task")
    if isinstance(op, ops.Task) and level not in _TASKS_ONLY:
        require(op.routine != "", op, f"is a task of the program at level '{level}'")
    if op.opname in _PLACES:
        require(
            around[-1].opname in _PLACES[op.opname],
            op,
            f"is in the block of a {around[-1].opname}; expected {' or '.join(sorted(_PLACES[op.opname]))}",
        )
    names = [outer.opname for outer in around]
    if "each_lane" in names:  # no jump leaves its body
        names = names[len(names) - names[::-1].index("each_lane") :]
    if op.opname == "break":
        # The jump leaves the innermost enclosing loop or parallel loop.
        loops = [name for name in names if name in _LOOPS or name in _SPREAD]
        require(bool(loops) and loops[-1] in _LOOPS, op, "is not in a serial loop")
    elif op.opname == "continue":
        require(any(name in _LOOPS or name in _SPREAD for name in names), op, "is not in a loop")
    elif op.opname in ("return", "exit"):
        spread = any(
            outer.opname in ("parallel_for", "struct_for") or (isinstance(outer, ops.Task) and outer.kind != "serial")
            for outer in around
        )
        require(not spread, op, "is in a parallel loop")
