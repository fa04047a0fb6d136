"""Mutants that mean the same as the original, by module and name: why no test can tell them apart. And conditions that
are no question of legality."""

from __future__ import annotations

__all__ = ["EQUIVALENT", "PROFIT"]

_QUICK = "a quick way to what follows from the rest of the function"
_TYPES = "for type checkers: the verifier lets nothing else stand there"
_INTEGERS = "it is asked of integers only"
_ADDRESS = "in lowered code all but locals and temporaries, which lanes share or split, is reached through an Address"
_CAST = "where no sum wraps around, a cast of it is the sum of the casts"
_STRIDES = "strides are constants, or those of an array: the same for all lanes"
_EARLY = "what waits may be written at any time"
_NEVER = "what is surely outside gets a mask that never holds"
_ONCE = "a task that is not doubled has its masks where the accesses are"
_WIDER = "what does not wrap around is the same number in 64 bits"
_PROVEN = "the end that is proven is asked for as well"
_SCATTERS = "lanes may scatter one value into one place"
_ONE_BY_ONE = "lanes may do it one after the other"
_SCALAR_LOCAL = "any two addresses of a local that is a number may be equal"
_NO_EFFECT = "`accesses` says the same of it"
_ONE_SCALAR = "a value of scalars, which are converted one by one"
_SCALAR = "after `scalarize`, each access is of one number"
_ALIGNED = "elements of one type in cells are whole elements apart"
_KIND = "steps into two objects of one type are of one kind as long as those before them are the same"

EQUIVALENT: dict[str, dict[str, str]] = {
    "weft.ir.addresses": {
        "is_index: isinstance(type, Prim) -> True": _TYPES,
    },
    "weft.ir.storage.path": {
        "_collapsed: isinstance(level, Dense) -> True": _TYPES,
    },
    "weft.ir.alias": {
        "may_alias: p is q -> False": _QUICK,
        "meets: root is not self._root -> True": _QUICK,
        "_difference: a is b -> False": _QUICK,
        "_difference: value_a is not None -> True": "both are None or neither: two None are one value",
        "_difference: value_b is not None -> True": "both are None or neither: two None are one value",
        "_step_apart: isinstance(a, MemberPtr) -> True": _KIND,
        "_step_apart: isinstance(b, MemberPtr) -> True": _KIND,
        "_step_apart: isinstance(a, ElementPtr) -> True": _KIND,
        "_step_apart: isinstance(b, ElementPtr) -> True": _KIND,
        "_bytes_apart: base_a -> True": "None is the base of temporaries, whose space meets no other",
        "_bytes_apart: base_b -> True": "None is the base of temporaries, whose space meets no other",
    },
    "weft.ir.affine": {
        "_cast: isinstance(source, Prim) -> True": _TYPES,
        "_cast: isinstance(target, Prim) -> True": _TYPES,
        "_cast: target.is_int -> True": _INTEGERS,
    },
    "weft.ir.linear": {
        "_keeps: isinstance(source, Prim) -> True": _TYPES,
        "conditions: isinstance(x.type, Prim) -> True": _TYPES,
    },
    "weft.ir.uniform": {
        "reads_common: isinstance(op, Load) -> True": "it is asked of loads only",
        "__init__: self.reason -> False": "nobody asks for steps then",
        "_set: known != 0 -> False": "what changes once more has become None, since a load of a local has",
    },
    "weft.ir.widen": {
        "constant: found is not None -> False": "`share` finds it as well",
        "_make: isinstance(value, Select) -> False": _CAST,
        "_make: isinstance(value, Unary) -> False": _CAST,
        "_make: value.kind == 'neg' -> False": _CAST,
        "_distributes: value.kind == 'mul' -> False": _CAST,
        "_distributes: isinstance(value.lhs, Const) -> False": _CAST,
        "_retype: old.users -> True": "a view that nobody uses",
    },
    "weft.ir.access_ranges": {
        "_may_double: isinstance(op, Load) -> False": _ONCE,
        "_may_double: space in written -> True": _ONCE,
        "wraps_not: wraps_not(value.lhs) -> False": _WIDER,
        "wraps_not: wraps_not(value.rhs) -> False": _WIDER,
        "wraps_not: wraps_not(value.a) -> False": _WIDER,
        "wraps_not: wraps_not(value.b) -> False": _WIDER,
        "wraps_not: key is value -> True": _WIDER,
        "wraps_not: itself -> True": _WIDER,
        "wraps_not: all(map(wraps_not, value.operands)) -> False": _WIDER,
        "inside: extent.type is i64 -> True": _WIDER,
        "inside: axis.low -> True #2": _PROVEN,
        "inside: axis.high -> True": _PROVEN,
        "inside: index.type.bits >= 32 -> True": "64 bits hold what is narrower as well",
        "_axis: any(open_ends) -> True": _QUICK,
        "_axis: form != exact -> True": _QUICK,
        "_extent: key not in self._extents -> True": "another op that gives the same, under one key in forms",
    },
    "weft.ir.shared_locals": {
        "sequence: isinstance(stmt, (tree.RangeFor, tree.BoxFor, tree.StructFor)) -> True": "others are no `loops`",
        "_facts: isinstance(write, tree.Assign) -> True": "a flag has no other writes",
        "_updates: shape_of(value.type) == shape_of(place.type) -> True": "what has another shape is not the place",
        "_is_one_writer_each: variables -> True": "a loop without variables has one iteration",
        "loop_locals: loops -> True": _QUICK,
        "_classify: isinstance(write, tree.AugAssign) -> True": "an atomic is of one of those kinds",
    },
    "weft.ir.transforms.cse": {
        "_scan: op.region_names -> True": _QUICK,
    },
    "weft.ir.transforms.licm": {
        "move_out: op.region_names -> True": _QUICK,
    },
    "weft.ir.transforms.lift_sums": {
        "_lift: isinstance(type, Prim) -> True": _TYPES,
        "_lift: local.within(op) -> False": "something in the `if` sets it first",
        "_lift: isinstance(old, Load) -> True": "an atomic gives what a load gives, and what it stores is stored over",
    },
    "weft.ir.transforms.cache_invariant": {
        "cache_invariant: loops -> True": _QUICK,
        "run: spaces -> True": _QUICK,
        "_to_prologue: loads -> True": _QUICK,
        "space: op not in mine -> True": "what was moved counts as another access of the field: less is moved",
        "space: op not in mine -> True #2": "its stores reach a local now",
    },
    "weft.ir.transforms.die": {
        "drop_dead: owner not in live -> True": "what is needed twice is live once",
    },
    "weft.ir.transforms.offload": {
        "price: (value, segment) not in self.prices -> True": _QUICK,
        "_price: isinstance(value, Op) -> True": _TYPES,
    },
    "weft.ir.overlaps": {
        "apart: any((isinstance(param.type, Array) for param in kernel.params)) -> True": _QUICK,
        "apart: isinstance(param.type, Array) -> True": _QUICK,
        "_is_exposed: isinstance(type, Array) -> True": _TYPES,
        "_arrays: isinstance(value, Arg) -> True": _TYPES,
    },
    "weft.ir.transforms.demote_atomics": {
        "demote_atomics: atomics -> True": _QUICK,
        "demote_atomics: task.kind != 'serial' -> True": "a serial task has no indices that spaces might name",
    },
    "weft.ir.transforms.dead_stores": {
        "block: kind is Load -> False": "`accesses` says the same of it",
        "block: op.pure -> False": "`accesses` says that it has no effects",
        "read: isinstance(space, Alloca) -> True": "nothing else is among those that are gone",
    },
    "weft.ir.transforms.bounds": {
        "_tests: wide.type is end.type -> False": "a cast to the type that it has",
        "_tests: index.type is i64 -> False": "a cast to the type that it has",
        "_tests: isinstance(extent, ops.ArrayShape) -> True": "a number is not where a loop ends: `leaf_key` keeps it",
        "named: isinstance(ptr, ops.ElementPtr) -> False": "`_name` goes on to the base as well",
        "_runs_over: index.block is None -> False": _TYPES,
    },
    "weft.ir.transforms.mask_accesses": {
        "mask: op.users -> True": "room that nobody reads",
        "early: value.pure -> False": "what is not asked together is asked at each access",
        "_not_positive: terms -> False": "0 is added",
        "_product: count == 1 -> False": "a product with 1",
        "_is_outside: high < axis.first -> False": _NEVER,
        "_is_outside: isinstance(axis.extent, int) -> False": _NEVER,
        "_is_outside: low >= axis.first + axis.extent -> False": _NEVER,
        "early: all(map(self.early, value.operands)) -> False": "what is not asked together is asked at each access",
        "hoist: isinstance(value, Op) -> True": "no argument of a block is `inside`",
        "op: isinstance(op, For | Task) -> True": _TYPES,
        "_product: value.type is i64 -> False": "a cast to the type that it has",
        "_copied: isinstance(axis.extent, Value) -> True": "a number has no copy",
        "_not_positive: constant -> True": "0 is added",
    },
    "weft.ir.transforms.defer_warning": {
        "can_wait: isinstance(doubt.op, Load) -> True": "stores have no type; a body with atomics is not straight",
        "load_anyway: wraps_not(axis.index) -> False": "an index that does not wrap around is the same in 64 bits",
        "load_anyway: index.type.bits >= 32 -> True": "64 bits hold what is narrower as well",
        "load_anyway: index.type not in (i32, i64) -> True": "a cast to the type that it has, or to 64 bits",
        "_worst: behind.type is i32 -> False": "64 bits hold it as well; cut off it is what it was",
    },
    "weft.ir.mapping.fold_choice": {
        "sums_fold: isinstance(local.type, Pointer) -> True": _TYPES,
        "sums_fold: isinstance(local.type.elem, Prim) -> True": _TYPES,
        "sums_fold: len(types) == len(kinds) -> True": _TYPES,
        "could_fold: isinstance(step, Const) -> True": "what counts in steps that are not known counts trips instead",
    },
    "weft.ir.mapping.moves": {
        "_load: step == _size(op.ptr) -> False": "a row of cells of one element",
        "_store: facts.varies(op.value) -> True": _SCATTERS,
        "_store: step == _size(op.ptr) -> False": _SCATTERS,
        "_meets: facts.step(op.ptr) == 0 -> False": _ONE_BY_ONE,
        "_meets: op.kind in _REDUCED -> False": _ONE_BY_ONE,
        "_meets: op.type is not u1 -> False": _ONE_BY_ONE,
        "_meets: op.users -> True": _ONE_BY_ONE,
        "can_wait: isinstance(op.ptr, Address) -> True": _ADDRESS,
        "can_wait: op.users -> True": _EARLY,
        "_size: isinstance(ptr.type.elem, Prim) -> True": _SCALAR,
        "_is_row: isinstance(ptr.type.elem, Prim) -> True": _SCALAR,
        "_tested: isinstance(ptr, Address) -> True": _ADDRESS,
    },
    "weft.ir.verify_schedule": {
        "_peeled: clamps -> True": _QUICK,
        "_phased: isinstance(address, Address) -> True": "only addresses are marked",
    },
    "weft.codegen.cpu.vectors": {
        "_splat: isinstance(type.elem, Prim) -> True": "no constant is an address",
        "_counted: isinstance(value, BlockArg) -> True": "an op is no argument of the loop around it",
        "_counted: value.block is not None -> True": _TYPES,
    },
    "weft.codegen.cpu.lane_loops": {
        "_lane: isinstance(op.number, Const) -> False": "the slot holds the same element",
        "_each_lane: isinstance(lane.x, Op) -> True": "no block has a vector as an argument",
    },
    "weft.codegen.cpu.vector_memory": {
        "_widened: isinstance(value, Const) -> False": "a constant may be spread like any other number",
        "_put: isinstance(f.target.math, CpuMath) -> True": "only CPUs have lanes, and their math is this",
    },
    "weft.codegen.llvm.cold_versions": {
        "write_apart: outside.prefix -> True": "the entry block defines twice what stays in place",
        "write_apart: moved -> True": "the entry block defines twice what stays in place",
        "_cut: text in taken -> True": "types of registers that are not taken",
    },
    "weft.codegen.nvptx.lost_wraps": {
        "keep_wraps: _SUSPECT.search(ptx) -> True": _QUICK,
    },
    "weft.ir.mapping.tiles": {
        "is_tiled: step % size == 0 -> True": _ALIGNED,
        "is_alike: all(((offset - offsets[0]) % size == 0 for offset in offsets)) -> True": _ALIGNED,
        "is_alike: (offset - offsets[0]) % size == 0 -> True": _ALIGNED,
        "group: op.block not in self._groups -> True": "the groups are found again",
        "_stops: isinstance(op.ptr, Address) -> True": _ADDRESS,
    },
    "weft.ir.mapping.joined_trees": {
        "joined_trees: isinstance((place := op.ptr), Address) -> True": "no other place has a tree's base as its root",
        "scope_in: joined -> True": _QUICK,
    },
    "weft.ir.scopes": {
        "whole: self.component == ALL -> False": "another scope that is equal",
    },
    "weft.ir.places": {
        "__call__: place is None -> True": "the same place is found again",
        "_number: found is None -> True": "the same number is found again",
        "_spelling: isinstance(value, Const) -> False": "indices and strides are integers, equal if they look equal",
        "touch: space != ANYWHERE -> False": _QUICK,
        "touch: ANYWHERE not in self.spaces -> False": _QUICK,
        "_touch: isinstance(space, Alloca) -> False": _SCALAR_LOCAL,
        "_touch: isinstance(space.type, Pointer) -> True": _TYPES,
        "_touch: isinstance(space.type, Pointer) -> False": _SCALAR_LOCAL,
        "_touch: isinstance(space.type.elem, Prim) -> False": _SCALAR_LOCAL,
        "keep: kept -> True": "a space of which nothing is known",
        "keep: len(kept) < len(known) -> True": "an equal copy",
        "meet: theirs is not self.spaces[space] -> True": "both agree on all that they share",
        "__call__: found is None -> True": "the same effects are found again",
        "_add: op.pure -> False": _NO_EFFECT,
        "_add: type(op) is Load -> False": _NO_EFFECT,
        "_add: type(op) is If -> False": "its effects are found, and included",
    },
    "weft.ir.memory_model": {
        "load: isinstance(type, Prim) -> False": _ONE_SCALAR,
        "store: isinstance(type, Prim) -> False": _ONE_SCALAR,
        "_cell: self.error -> True": "`check` asks the same",
        "_cell: 0 <= at <= len(self.buffer) - prim.np.itemsize -> False": "`check` asks the same",
        "flat_values: full -> False": "it has that shape",
        "convert: isinstance(type, Prim) -> False": _ONE_SCALAR,
        "convert: isinstance(type, Tensor) -> False": _ONE_SCALAR,
        "convert: isinstance(type, Lanes) -> False": _ONE_SCALAR,
    },
    "weft.ir.meetings": {
        "_end: one is not None -> True": _TYPES,
    },
    "weft.ir.gpu_machine": {
        "_runs: size > 1 -> True": "groups of one, whether they count as whole or not",
        "state: key not in self.known -> True": "an equal state",
        "may_group: self.clamps -> True": "without clamps, all is inside of them",
        "state: place[0] > 1 -> True": "an index in a group of one is a multiple of one",
    },
    "weft.ir.mapping.vectorize.state": {
        "op: made is not None -> True": "nobody asks for the value of an op that has none",
        "op: found -> True": "nobody asks for the value of an op that has none",
        "_stepped: first.type is i64 -> False": "a cast to the type that it has",
        "_alike: isinstance(op, Warn) -> True": "an op is written once more for each vector",
        "_alike: together -> False": "a store is written once more for each vector",
        "_alike: op not in self.facts.sums -> False": "a store is written once more for each vector",
    },
    "weft.ir.mapping.vectorize.folds": {
        "vectorize_loops: (home, local) not in totals -> True": "another vector of sums, which is added as well",
    },
    "weft.ir.mapping.vectorize.memory_state": {
        "_look: block in self._seen -> False": "the groups are found again",
    },
    "weft.ir.mapping.cell_parts": {
        "joint: block not in self._parts -> True": "the parts are found again",
        "joint: isinstance(ptr, Address) -> True": _ADDRESS,
        "joint: block is None -> False": _TYPES,
        "joint: isinstance(op.type, Prim) -> True": _TYPES,
    },
    "weft.ir.mapping.rows": {
        "in_cell: isinstance(ptr, Address) -> True": _ADDRESS,
        "likely_stride: isinstance(ptr.type, Pointer) -> True": _TYPES,
        "likely_stride: isinstance(ptr.type.elem, Prim) -> True": _TYPES,
        "likely_bytes: isinstance(ptr, Address) -> True": _ADDRESS,
        "likely_bytes: step is not None -> False": "it is the sum of the steps of its terms",
        "likely_bytes: facts.varies(stride) -> False": _STRIDES,
    },
    "weft.ir.mapping.interleaved_stores": {
        "store_groups: op.move == 'row' -> True": "stores that are moved in another way are to other cells",
        "_cell: isinstance(ptr, Address) -> True": _ADDRESS,
    },
    "weft.ir.mapping.fused_atomics": {
        "commutes: isinstance(op.ptr, Address) -> True": _ADDRESS,
        "commutes: isinstance(op.ptr, Address) -> True #2": _ADDRESS,
    },
    "weft.ir.mapping.shared_cells": {
        "shared_cells: op.move in _MOVES -> True": "the others are asked for no cell",
        "_cell_of: isinstance(ptr, Address) -> True": _ADDRESS,
        "_cell_of: op.move == 'cell' -> True": "a row of cells has their size as its step",
    },
    "weft.ir.mapping.vectorize.addresses": {
        "_unmoved: isinstance(vector, Address) -> True": "an address that is not evenly spaced is an Address",
        "_unmoved: isinstance(vector.base.type, Lanes) -> True": "without an index, only the base can be a vector",
        "_is_tested: isinstance(user, Address) -> True": "what uses no address has no loads either",
        "_find_row: v.facts.index_step(index) is None -> True": "what is surely even is found to be",
    },
    "weft.ir.mapping.vectorize.accesses": {
        "_load_row: row.step == lane_type(op.ptr).size -> False": "a vector whose elements stay in place",
        "_store: v.current -> False": "the same value is stored once more",
        "_ends_in: isinstance(local, Alloca) -> True": "only locals are split",
    },
    "weft.ir.mapping.vectorize.atomics": {
        "_each: op.users -> True": "room that nobody reads",
        "_each: results is not None -> True": _TYPES,
        "_each: results is not None -> True #2": _TYPES,
    },
    "weft.ir.mapping.vectorize.warnings": {
        "_warn: v.vectors == 1 -> False": "a vector with a lane is asked whether it has one",
    },
    "weft.ir.mapping.vectorize.cold": {
        "_forget_lanes: isinstance(op, If) -> True": "an attribute that other ops do not have",
    },
    "weft.codegen.gpu.wide_atomics": {
        "write_row: len(values) == unit -> False": "whichever end lies well, it is the same unit",
    },
    "weft.ir.mapping.wide_atomics": {
        "_runs: several >= _FEWEST -> True": "an odd number that is smaller is one: it stays alone",
        "_neighbours: row -> True": "an empty row holds no run",
        "_neighbours: row -> True #2": "an empty row holds no run",
    },
    "weft.codegen.gpu.unroll_and_jam": {
        "_indices: begin == '0' -> False": "0 is added",
        "write_sum: f.indices.steps -> True": _QUICK,
        "write_sum: result is not None -> True": _TYPES,
    },
    "weft.ir.mapping.serial_loops": {
        "trips_of: isinstance(value, Const) -> True #2": _TYPES,
    },
    "weft.ir.transforms.collapse": {
        "_collapse: isinstance(limits, Yield) -> True": _TYPES,
    },
    "weft.ir.transforms.mapping.warps_per_row": {
        "_loop_of: isinstance(loop.step, Const) -> True": "of another step the number of iterations is not known",
    },
    "weft.codegen.nvptx.lost_borrows": {
        "_function: _HIGH.search(text) -> True": _QUICK,
        "keep_borrows: 'mul.hi.' not in ptx -> False": _QUICK,
    },
    "weft.ir.mapping.clamps": {
        "_clamp: op.type not in (i32, i64) -> False": "nothing of another type is known to be an index moved",
        "_reach: op.type not in (i32, i64) -> False": "a cast from it must fit, and no float has an interval that does",
    },
    "weft.ir.transforms.forward": {
        "block: op.pure -> False": "`accesses` says that it has no effects",
        "branch: memory.spaces[space] is not before.get(space) -> True": "what was known before the `if` is not inside",
        "branch: then_ends -> True #2": "what stands after an if that both arms leave never runs",
    },
    "weft.ir.tasks": {
        "private_spaces: axes -> True": "a loop without indices has one iteration",
        "_slots: isinstance(root.array.type, Array) -> True": _TYPES,
        "tasks_of: isinstance(op, Task) -> True": "an offloaded kernel holds nothing else",
        "private_spaces: isinstance(root, Alloca) -> False": "a local names no index: it is not among them anyway",
    },
    "weft.ir.intervals": {
        "_index: isinstance(box, (Yield, ParallelFor)) -> True": _TYPES,
        "_cast: source.is_int -> True": "between the ends of a float lies more than an integer's type holds",
        "unclipped: isinstance(value.type, Prim) -> True": _TYPES,
        "type_interval: isinstance(type, Prim) -> True": _TYPES,
        "_cast: isinstance(source, Prim) -> True": _TYPES,
    },
    "weft.ir.transforms.thread_local": {
        "_reduce: candidates -> True": _QUICK,
    },
    "weft.ir.transforms.peel_cells": {
        "peel_cells: root.nodes -> True": _QUICK,
        "_largest: largest.kind != 'max' -> False": "before `thread_local`, threads have no other locals",
        "_largest: op.ptr in inside -> False": "a local that nothing else reads is dead",
    },
    "weft.ir.transforms.keep_values": {
        "keep_values: root.called -> False": "functions have no parallel loops",
        "number: value not in self.known -> True": "the same key gives the same number",
    },
}


# What only chooses between two ways, each of which is right: of a module the functions, or single conditions of them.
# Breaking one costs time, never a result; so they are no legality conditions, and there are no mutants of them.
PROFIT: dict[str, tuple[str, ...]] = {
    "weft.ir.autodiff.stencils": ("_is_cheap", "_is_side_by_side", "_price"),
    "weft.ir.transforms.peel_cells": (  # where a row is cut, and whether its cell becomes one iteration
        "_inside: place.factor",
        "_leaves",
        "_looks_around: node.",
        "_looks_around: any(",
        "_has_small_cells: total",
        "peel_cells: encloses",
    ),
    "weft.ir.tasks": ("is_masked", "usual_ops"),
    "weft.ir.intervals": ("interval: depth == 0",),
    "weft.ir.linear": ("proves: rest",),
    "weft.ir.access_ranges": (
        "_may_double: len(ops_of(task.body)) <= _LONG_TASK",
        "_weakest",
        "_may_hold",
        "_lifted: rest",
        "_lifted: self._steps < 0",
        "_lifted: depth",
        "_lifted: end not in whole",
    ),
    "weft.ir.transforms.collapse": ("_long: inner.end.value - inner.begin.value >= _SHORTEST",),
    "weft.ir.transforms.defer_warning": (
        "can_wait: len(doubt.axes) <= _MOST_AXES",
        "in_straight_body: any(",
        "in_straight_body: other.",
    ),
    "weft.ir.transforms.lift_sums": ("_is_brief: len(inside) <= _MOST + 1",),
    "weft.ir.transforms.mask_accesses": ("group: len(copied) > _LONG",),
    "weft.ir.transforms.offload": ("_price: total <= _CHEAP",),
    "weft.ir.transforms.thread_local": ("_reduce: scalars > _MOST",),
    "weft.ir.mapping.fold_choice": (
        "fold_prices: known",
        "fold_prices: isinstance(x, Const)",
        "fold_prices: facts.sums",
        "fold_prices: count < _SHORT",
        "fold_prices: count >= _LONG",
        "fold_prices: is_straight(loop.body)",
        "fold_prices: cost * _MARGIN < ",
    ),
    "weft.ir.mapping.sides": ("_is_dear", "_is_cheap: few", "_is_cheap: any(", "_is_cheap: _is_dear"),
    "weft.ir.mapping.interleaved_stores": (
        "is_between: isinstance(op, (Load, Store)) -> False",
        "is_between: isinstance(root_of(op.ptr), Alloca) -> False",
        "is_between: isinstance(op, Alloca) -> False",
        "_cell: isinstance(x, Const) -> False",
    ),
    "weft.ir.mapping.fused_atomics": (
        "commutes: isinstance(op, Alloca) -> False",
        "commutes: isinstance(op, (Load, Store)) -> False",
        "commutes: isinstance(root_of(op.ptr), Alloca) -> False",
        "commutes: isinstance(op, Atomic) -> False",
        "commutes: op.move == 'combine' -> False",
        "commutes: isinstance(op.ptr, Address) -> False #2",
        "commutes: all((FAMILY.get(op.kind) == FAMILY.get(other.kind) or not _meets",
        "commutes: FAMILY.get(op.kind) == FAMILY.get(other.kind) -> False",
        "commutes: _meets(op.ptr, other) -> True #2",
    ),
    "weft.ir.mapping.shared_cells": (
        "changes_cells: isinstance(op, Store) -> False",
        "changes_cells: isinstance(root_of(op.ptr), Alloca) -> False",
        "changes_cells: op.effect != 'elsewhere' -> True",
    ),
    "weft.ir.mapping.vectorize.cells": ("_parts_of: lanes < stride -> True",),
    "weft.ir.mapping.vectorize.cold": ("can_run_by_lane: target_of(op) not in own -> True",),
    "weft.ir.mapping.lane_choice": (
        *(
            "_too_dear",
            "_is_long",
            "_asks",
            "_gathers",
            "_brief",
            "_is_local",
            "_usual_bits",
            "_filled",
            "_interleaved",
        ),
        "lane_decision: _is_long(task)",
        "vector_bits: 'avx",
        "lane_decision: asked",
    ),
    "weft.ir.mapping.vectorize.control": ("_masked_if: block is op.orelse", "_masked_if: is_masked(op)"),
    "weft.ir.mapping.cell_parts": ("joint: len(self._parts[block][place_of(ptr)]) > 1",),
    "weft.ir.mapping.rows": ("is_row: type.size >= 4",),
    "weft.ir.transforms.mapping.choose_axes": ("_written", "_along", "_axis_of"),
    "weft.ir.mapping.coarsening": ("has_long_loop", "_shares_loop", "loops_alike"),
    "weft.ir.transforms.mapping.warps_per_row": ("_along_rows",),
    "weft.codegen.gpu.unroll_and_jam": ("_write_out: f.phased",),
    "weft.ir.transforms.mapping.unroll_and_jam": ("_schedule: size_of(op.body) <= _SMALL",),
    "weft.ir.runtime_library.hashed_cells": ("_factor", "_hashed: total -> False #2"),  # any hash is right
    "weft.ir.runtime_library.hashed_lists": ("_touched",),  # none stands for all
    "weft.ir.autodiff.topology": (  # what it saves in kernels without sparse fields, and in dense fields
        *("of: kernel.nodes -> True", "keep_cells: kernel.nodes -> True", "split_addresses: kernel.nodes -> True"),
        *("_readdress: root.field.node is None -> False", "_readdress: root.activates == activates -> False"),
    ),
    "weft.ir.mapping.serial_loops": (
        *("most_places", "is_long", "is_shared", "_varying"),
        "worth_it: trips < _FEWEST",
        "worth_it: size_of(op.body) > _MOST_SIDE_BY_SIDE",
    ),
}
