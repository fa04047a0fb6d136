"""Keeps loop-invariant memory in registers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from weft.ir.addresses import root_of
from weft.ir.affine import address_key
from weft.ir.alias import Access, is_access, may_alias
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value, ops_of
from weft.ir.intervals import in_bounds, interval
from weft.ir.ops import Alloca, For, Kernel, Load, Store, Task, While
from weft.ir.passes import pass_
from weft.ir.tasks import Region, accesses, memory_space, private_spaces, separate_tasks
from weft.ir.types import pointer

__all__ = ["cache_invariant"]


@pass_("cache_invariant")
def cache_invariant(root: Kernel, config: CompileConfig) -> bool:
    """The pass makes three changes. First, it moves a load to the prologue if its address is loop-invariant and the
    task does not write the field:

        body (%i) { %k = load field_ptr @k() }   ->   prologue { %k = load field_ptr @k() }

    Second, it does the same for a loop inside the body, or inside a serial task, if the loop does not write the memory:

        for %j { %a = load field_ptr @a(%i) }    ->   %a = load field_ptr @a(%i) ; for %j { ... }

    Third, it replaces an element that a loop updates repeatedly by a local:

        for %j {                                      %acc = alloca ; store %acc, (load field_ptr @y(%i))
          %old = load field_ptr @y(%i)                for %j {
          store field_ptr @y(%i), %old + %v      ->     %old = load %acc ; store %acc, %old + %v
        }                                             }
                                                      store field_ptr @y(%i), (load %acc)

    A load moves only if it is safe to read early: its indices are known to be in range, or the address has been
    accessed before, or the loop certainly executes the load. An element becomes a local only if nothing else in the
    loop may access it and nothing leaves the task from inside the loop. In addition, no other iteration may access the
    element, because writing it back would undo the updates of that iteration. This last condition is not needed if the
    loop certainly stores to the element anyway. The pass runs after `demote_atomics`, and works before or after
    `scalarize`.
    """
    changed = False
    for task in separate_tasks(root):
        serial = task.kind == "serial" and not root.called
        loops = [loop for block in (task.prologue, task.body, task.epilogue) for loop in _innermost_first(block)]
        private = private_spaces(task) if loops else set[Hashable]()
        for loop in loops:
            changed |= _Loop(loop, private, serial).run()
        if task.kind != "serial":
            changed |= _to_prologue(task)
    return changed


def _innermost_first(block: Block) -> Iterator[For | While]:
    for op in block:
        for inner in op.regions:
            yield from _innermost_first(inner)
        if isinstance(op, (For, While)):
            yield op


def _to_prologue(task: Task) -> bool:
    written = {memory_space(op.ptr) for op in accesses(task) if not isinstance(op, Load)}
    loads = [op for op in ops_of(task.body) if isinstance(op, Load) and memory_space(op.ptr) not in written]
    if not loads:
        return False
    region, cached, builder = Region(task.body), dict[Hashable, Value](), Builder(task.prologue)
    changed = False
    for op in loads:
        if not region.invariant(op.ptr) or not in_bounds(op.ptr):
            continue
        key = address_key(op.ptr)
        if key not in cached:
            builder.span = op.span
            cached[key] = builder.add(Load(region.hoist(op.ptr, builder), op.invariant, name=op.name))
        op.replace(cached[key])
        changed = True
    return changed


@dataclass
class _Uses:
    """All accesses of the loop to one loop-invariant address."""

    ops: list[Load | Store]
    ptr: Value


class _Loop:
    def __init__(self, loop: For | While, private: set[Hashable], serial: bool) -> None:
        self.loop, self.private, self.serial = loop, private, serial

    def run(self) -> bool:
        spaces: dict[Hashable, list[Access]] = {}
        for op in accesses(self.loop):
            if not isinstance(root_of(op.ptr), Alloca):
                spaces.setdefault(memory_space(op.ptr), []).append(op)
        if not spaces:
            return False
        self.region = Region(self.loop.body)
        self.sure = _surely_run(self.loop)
        self.leaves = any(op.exits or op.fails for op in ops_of(self.loop.body))
        changed = False
        for memory in spaces.values():
            changed |= self.space(memory)
        return changed

    def space(self, memory: list[Access]) -> bool:
        """Examine one field: its loop-invariant addresses, and the other accesses that may alias them."""
        places: dict[Hashable, _Uses] = {}
        for op in memory:
            if isinstance(op, (Load, Store)) and self.region.invariant(op.ptr):
                places.setdefault(address_key(op.ptr), _Uses([], op.ptr)).ops.append(op)
        writes = [op for op in memory if not isinstance(op, Load)]
        changed = False
        for key, uses in places.items():
            mine: set[Op] = set(uses.ops)
            if all(isinstance(op, Load) for op in uses.ops):
                moved = not _touched(writes, mine, uses.ptr) and self.hoist_loads(key, uses)
            else:
                moved = not self.leaves and not _touched(memory, mine, uses.ptr) and self.promote(key, uses)
            if moved:
                memory = [op for op in memory if op not in mine]
                writes = [op for op in writes if op not in mine]
                changed = True
        return changed

    def hoist_loads(self, key: Hashable, uses: _Uses) -> bool:
        if not self.readable(key, uses):
            return False
        builder = Builder.at(self.loop)
        first = uses.ops[0]
        assert isinstance(first, Load)
        value = builder.add(Load(self.region.hoist(first.ptr, builder), first.invariant, name=first.name))
        for op in uses.ops:
            op.replace(value)
        return True

    def promote(self, key: Hashable, uses: _Uses) -> bool:
        stores = [op for op in uses.ops if isinstance(op, Store)]
        alone = self.serial or memory_space(uses.ptr) in self.private
        if not (alone or any(op in self.sure for op in stores)) or not self.readable(key, uses):
            return False
        assert self.loop.block is not None
        builder = Builder.at(self.loop)
        ptr, type = self.region.hoist(uses.ptr, builder), stores[0].value.type
        local = builder.add(Alloca(type=pointer(type), name=stores[0].name or "acc"))
        builder.add(Store(local, builder.add(Load(ptr))))
        after = Builder(self.loop.block, self.loop.next, self.loop.span)
        after.add(Store(ptr, after.add(Load(local))))
        for op in uses.ops:
            op.set_operand(0, local)
        return True

    def readable(self, key: Hashable, uses: _Uses) -> bool:
        """Whether it is safe to read the address before the loop."""
        return in_bounds(uses.ptr) or any(op in self.sure for op in uses.ops) or self.accessed_before(key)

    def accessed_before(self, key: Hashable) -> bool:
        """Whether an op that certainly ran before the loop in this iteration accesses the address."""
        op: Op | None = self.loop
        while op is not None and not isinstance(op, Task):
            before = op.prev
            while before is not None:
                if is_access(before) and address_key(before.ptr) == key:
                    return True
                before = before.prev
            op = op.parent
        return False


def _touched(memory: Sequence[Access], mine: set[Op], ptr: Value) -> bool:
    """Whether ops other than `mine` may access the memory at `ptr`."""
    return any(op not in mine and may_alias(op.ptr, ptr) for op in memory)


def _surely_run(loop: For | While) -> set[Op]:
    """The ops of the body that run whenever the loop is reached."""
    if isinstance(loop, For):
        (begin, last), (first, end) = interval(loop.begin), interval(loop.end)
        step = interval(loop.step)
        if not (last < first and step[0] > 0) and not (begin > end and step[1] < 0):
            return set()
    sure: set[Op] = set()
    for op in loop.body:
        sure.add(op)
        if any(inner.terminator or inner.fails for inner in op.walk()):  # the rest of the body may not run
            break
    return sure
