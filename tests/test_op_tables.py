"""Every op has a row in every table that is keyed by op, or a default that is written here with its reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from weft.codegen.cpu import kernel as cpu_kernel
from weft.codegen.cpu.vector_writer import VECTORS
from weft.codegen.gpu.ops import DEVICE, EPILOGUE
from weft.codegen.llvm.function import EMITTERS
from weft.ir import affine, evaluate, intervals
from weft.ir import uniform as uniform_module
from weft.ir.autodiff.demand import NEEDS
from weft.ir.autodiff.forward import DUALS
from weft.ir.autodiff.pullbacks import PULLBACKS
from weft.ir.autodiff.rules import DERIVATIVES
from weft.ir.core import OPS, Op, attr, operand, ops_at
from weft.ir.machine import RUNNERS, STEPPERS, WEAK_RUNNERS
from weft.ir.mapping.cost import PRICES
from weft.ir.mapping.lane_price import LANE_PRICES
from weft.ir.mapping.vectorize import tasks
from weft.ir.mapping.vectorize.state import WRITERS
from weft.ir.ops import Kernel
from weft.ir.scalar import BINARY, UNARY
from weft.ir.transforms import fold, infer_types, loop_tensors, scalarize
from weft.ir.verify_types import CHECKS

assert all((cpu_kernel, evaluate, tasks))  # their rows are there once they are imported

Kind = type[Op]


def _named(text: str) -> Callable[[Kind], bool]:
    names = frozenset(text.split())
    unknown = names - set(OPS)
    assert not unknown, f"there is no op {sorted(unknown)}"
    return lambda kind: kind.opname in names


def _not_at(level: str) -> Callable[[Kind], bool]:
    return lambda kind: kind.opname not in ops_at(level)


def _impure(kind: Kind) -> bool:
    return not kind.pure


def _of_vectors(kind: Kind) -> bool:
    return kind.levels == "vectors"


def _computes_addresses(kind: Kind) -> bool:
    return kind.place and kind.opname != "const"


@dataclass(frozen=True)
class Table:
    """`rows`: the ops, by name, that have a row. `defaults`: which ops need none, each with the reason."""

    name: str
    rows: Collection[str]
    defaults: tuple[tuple[str, Callable[[Kind], bool]], ...] = ()


def _rows(table: Mapping[Any, Any]) -> set[str]:
    return {key if isinstance(key, str) else key.opname for key in table if isinstance(key, str) or issubclass(key, Op)}


_EXPANDED = ("`expand_derivatives` has removed it", _named("vary derivative"))
_ON_CELLS = "activate deactivate is_active length append"
_LISTED = "visited_slot visited_index found_slot task yield temp_ptr"
_HOLD = "hold_interrupts run_routine"
_SYNCHRONIZATION = "atomic_load atomic_store exchange compare_exchange fence"
_NO_INSTRUCTION = "tree_base array_base array_extent array_stride scalar_arg temp_ptr"

TABLES = (
    Table("evaluator", _rows(RUNNERS), (_EXPANDED, ("`Machine.run` runs it", _named("kernel")))),
    Table(
        "evaluator, in steps",
        _rows(STEPPERS),
        (
            ("it runs at once", lambda kind: not kind.region_names),
            ("no iteration holds one", _named("kernel parallel_for struct_for")),
        ),
    ),
    Table(
        "evaluator, on weak memory",
        _rows(WEAK_RUNNERS),
        (
            ("it has no effect", lambda kind: kind.effect == ""),
            ("its effect has no address", lambda kind: kind.effect == "elsewhere"),
            ("the ops of the function that it calls access memory", _named("invoke")),
            ("it is not evaluated: its tasks are not in the kernel", _named("run_routine")),
            ("`lower_sparse` has replaced it: the memory of the oracle has no views", _named(_ON_CELLS)),
        ),
    ),
    Table(
        "verifier of types",
        CHECKS.keys(),
        (
            ("it has neither operands nor a free choice of type", _named("tree_base shared_base")),
            ("only where it may stand is checked, in `verify.py`", _named("exit while break continue kernel")),
            ("its type is any number's", _named("random")),
            ("the function that it calls is not at hand", _named("invoke returned")),
        ),
    ),
    Table(
        "infer_types",
        _rows(infer_types.RULES),
        (
            ("it comes into being after `infer_types`", _not_at("chi")),
            (
                "its type is given where it is made",
                _named("const arg random random_at alloca shared_local shared scalar_arg"),
            ),
            ("its type follows from its declaration", _named("array_shape member_ptr load atomic_load invoke")),
            ("it takes what it is given", _named("print warn")),
            ("it comes into being in `enumerate_cells`", _named(_LISTED)),
            ("it holds other ops and has no operands of its own to convert", _named("kernel while struct_for")),
            ("it has no operands", _named(f"break continue fence {_HOLD}")),
        ),
    ),
    Table(
        "forward mode",
        _rows(DUALS),
        (
            ("`expand_derivatives` has removed it", _named("derivative")),
            ("it comes into being after `differentiate`", _not_at("chi")),
            ("its value is a constant", _named("const array_shape random random_at scalar_arg")),
            ("`differentiate` refuses sparse fields", _named(f"{_ON_CELLS} {_LISTED}")),
            ("its address is that of a dual where an access needs it", _named("array_ptr element_ptr member_ptr")),
            ("control flow stays", _named("kernel if for while parallel_for struct_for break continue")),
            ("it gives no value", _named(f"print assert warn fence {_HOLD}")),
        ),
    ),
    Table(
        "reverse mode",
        _rows(PULLBACKS),
        (
            _EXPANDED,
            ("it comes into being after `differentiate`", _not_at("chi")),
            ("its value has no derivative", _named("const arg array_shape random random_at scalar_arg")),
            ("`differentiate` refuses sparse fields", _named(f"{_ON_CELLS} {_LISTED}")),
            ("an access at its address has the row", lambda kind: kind.local or kind.place),
            ("`reverse` turns it around, or removed it before", _named("kernel if for while parallel_for struct_for")),
            ("`structure` removed it before", _named("break continue return")),
            (
                "it is refused where a derivative goes through it",
                _named("invoke simt shared atomic_load atomic_store exchange compare_exchange"),
            ),
            ("it gives no value", _named(f"print assert warn fence {_HOLD}")),
        ),
    ),
    Table(
        "scalarize",
        _rows(scalarize.RULES),
        (
            _EXPANDED,
            ("it comes into being after `scalarize`", lambda kind: _not_at("tasks")(kind) and _not_at("chi")(kind)),
            (
                "its operands and its value are scalars",
                _named(
                    f"const random_at simt scalar_arg store_result exit yield break continue {_SYNCHRONIZATION} {_HOLD}"
                ),
            ),
            ("`offload` has replaced it", _named("shared_local parallel_for struct_for")),
            ("`lower_sparse` or `lower_visits` has replaced it", _named(f"{_ON_CELLS} {_LISTED}")),
            ("its elements are cut up by the address of each scalar", _named("shared field_ptr array_ptr temp_ptr")),
            ("its value is a scalar", _named("array_shape")),
            ("only its blocks hold tensors", _named("kernel task if for while")),
        ),
    ),
    Table(
        "loop_tensors",
        _rows(loop_tensors.RULES),
        (
            _EXPANDED,
            ("it comes into being later", lambda kind: _not_at("tasks")(kind) and _not_at("chi")(kind)),
            ("its value is no tensor", lambda kind: kind.effect == "" and not kind.pure),
            (
                "its value is a scalar or an address",
                lambda kind: kind.place or kind.opname in ("scalar_arg", "array_shape", "random_at"),
            ),
            ("structs stay whole until `scalarize`", _named("make_struct member")),
            ("`scalarize` cuts its tensors up, which are small", _named("invoke print assert warn")),
            ("it takes scalars", _named(f"simt store_result {_SYNCHRONIZATION} {_HOLD}")),
            ("`lower_sparse` or `lower_visits` has replaced it", _named(f"{_ON_CELLS} {_LISTED}")),
        ),
    ),
    Table(
        "fold",
        _rows(fold.FOLDERS),
        (
            _EXPANDED,
            ("an op with an effect or a jump is never a constant", _impure),
            ("it is a constant, or nothing is known of its value", _named("const arg scalar_arg returned")),
            ("its value is in memory", _named(_LISTED)),
            (
                "its address or extent comes with the launch",
                _named("tree_base array_base shared_base array_extent array_stride"),
            ),
            ("an address is no number", _computes_addresses),
            ("its extent comes with the launch", _named("array_shape")),
            ("its parts are taken out by the row of `extract` or `member`", _named("splat make_struct")),
            ("`scalarize` makes scalar ops of it, which are folded", _named("matmul")),
            ("it comes into being after all folding", _named("clamp")),
            ("it is on vectors, and comes into being after all folding", _of_vectors),
        ),
    ),
    Table(
        "intervals",
        _rows(intervals.RULES),
        (
            _EXPANDED,
            ("any number of its type, or no number", _impure),
            ("an address is no number", _computes_addresses),
            ("any number of its type", _named("arg scalar_arg returned bit_cast array_stride")),
            (
                "a tensor or a struct, or a part of one",
                _named("make_tensor splat extract matmul transpose reduce make_struct member"),
            ),
            ("it comes into being after the last pass that asks", _of_vectors),
        ),
    ),
    Table(
        "affine",
        _rows(affine.RULES),
        (
            _EXPANDED,
            ("a leaf: nothing is known of how it is computed", _impure),
            ("an address is no number", _computes_addresses),
            (
                "a leaf",
                _named(
                    f"{_LISTED} arg scalar_arg returned select bit_cast array_extent array_stride array_shape clamp"
                ),
            ),
            (
                "a tensor or a struct, or a part of one",
                _named("make_tensor splat extract matmul transpose reduce make_struct member"),
            ),
            ("it comes into being after the last pass that asks", _of_vectors),
        ),
    ),
    Table(
        "uniformity",
        _rows(uniform_module.RULES),
        (
            ("it cannot run in lanes", lambda kind: kind.lanes == ""),
            ("each lane has a value of its own", lambda kind: kind.lanes == "own"),
            ("one value if its operands have one", lambda kind: kind.lanes == "operands"),
        ),
    ),
    Table(
        "LLVM IR for CPUs",
        _rows(EMITTERS),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("the code around the tasks is written for it", _named("kernel task yield")),
            ("only kernels for GPUs have blocks of threads", _named("simt shared_base")),
        ),
    ),
    Table(
        "LLVM IR for GPUs",
        _rows(DEVICE),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("the code around the tasks is written for it", _named("kernel task yield")),
        ),
    ),
    Table(
        "LLVM IR for GPUs, epilogues",
        _rows(EPILOGUE),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("the code around the tasks is written for it", _named("kernel task yield")),
        ),
    ),
    Table(
        "vectorize",
        _rows(WRITERS),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("it cannot run in lanes", lambda kind: kind.lanes == ""),
            ("the same op on vectors", lambda kind: kind.elementwise),
            ("all lanes share it", _named(f"{_NO_INSTRUCTION} const")),
        ),
    ),
    Table(
        "vectors of CPUs",
        _rows(VECTORS),
        (
            ("it is in no code for CPUs", _not_at("vectors")),
            ("the code around the tasks is written for it", _named("kernel task yield")),
            ("only kernels for GPUs have it", _named("simt shared_base aligned atomic_row clamp")),
        ),
    ),
    Table(
        "prices",
        _rows(PRICES),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("what its blocks hold is added up", _named("kernel task if for while")),
            ("it comes with the launch, or with the thread", _named(f"{_NO_INSTRUCTION} shared_base simt const")),
            ("an instruction or none: `CHEAP`", _named("select cast bit_cast address alloca arg returned")),
            ("it leaves, which costs once", _named("break continue exit yield")),
            ("it is seldom reached", _named(f"print assert warn store_result {_HOLD}")),
        ),
    ),
    Table(
        "prices in lanes",
        _rows(LANE_PRICES),
        (
            ("it is not in lowered CHI", _not_at("lowered")),
            ("it cannot run in lanes", lambda kind: kind.lanes == ""),
            ("what its blocks hold is added up", _named("if for while")),
            ("it is there before the loop", _named(_NO_INSTRUCTION)),
            ("no instruction", _named("const address alloca bit_cast")),
            ("the loop around it is priced for it", _named("break continue")),
            ("it is seldom reached", _named("warn")),
        ),
    ),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_op_has_a_row_or_a_reason(table: Table) -> None:
    missing = [
        name
        for name, kind in OPS.items()
        if name not in table.rows and not any(holds(kind) for _, holds in table.defaults)
    ]
    assert not missing, f"the table '{table.name}' says nothing of {missing}: add a row, or a default with its reason"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_reason_is_needed(table: Table) -> None:
    unlisted = {name: kind for name, kind in OPS.items() if name not in table.rows}
    for reason, holds in table.defaults:
        assert any(holds(kind) for kind in unlisted.values()), f"'{table.name}': no op needs '{reason}'"


def test_each_pullback_says_what_it_needs() -> None:
    assert _rows(NEEDS) == _rows(PULLBACKS)


def test_rows_of_uniformity_are_those_of_the_trait() -> None:
    assert _rows(uniform_module.RULES) == {name for name, kind in OPS.items() if kind.lanes == "rule"}


def test_rows_in_lanes_are_of_ops_that_may_run_there() -> None:
    assert all(OPS[name].lanes for name in _rows(WRITERS))


def test_ops_that_passes_drop_or_merge_have_no_effects() -> None:
    for kind in OPS.values():
        assert not (kind.pure and kind.droppable), kind
        assert not (kind.droppable and kind.writes), kind
        assert kind.pure or not kind.place, kind
        assert kind.effect != "address" or kind.declared[0].name == "ptr" or kind.declared[1].name == "ptr", kind


# ---- declarations that contradict themselves -------------------------------------------------------------------------


def _declare(fields: Mapping[str, Any], **traits: Any) -> None:
    type("Odd", (Op,), {"__annotations__": dict.fromkeys(fields, "Any"), **fields}, name="odd", **traits)


def test_an_op_that_reads_says_where() -> None:
    with pytest.raises(TypeError, match="must have an `effect`"):
        _declare({"ptr": operand()}, reads=True)
    assert "odd" not in OPS


def test_an_unknown_trait_is_refused() -> None:
    with pytest.raises(TypeError, match="the trait pur=True does not exist"):
        _declare({"x": operand()}, pur=True)


def test_a_field_does_not_hide_a_trait() -> None:
    with pytest.raises(TypeError, match="the field 'exits' has the name of a trait"):
        _declare({"exits": attr()}, pure=True)


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"pure": True, "writes": True, "effect": "anywhere"}, "a pure op must not have an effect"),
        ({"reads": True, "effect": "somewhere"}, "not one of the four"),
        ({"effect": "address"}, "must have an `effect`"),
        ({"lanes": "maybe"}, "not a valid value of `lanes`"),
    ],
)
def test_traits_agree(traits: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _declare({}, **traits)


# ---- scalar operators ------------------------------------------------------------------------------------------------

# Operators without a rule for their derivative: they take or give integers or truth values only.
WITHOUT_DERIVATIVE = ("bit_not not popcnt clz", "and or xor shl shr bit_shr lt le gt ge eq ne")


@pytest.mark.parametrize(("rows", "empty"), [*zip((UNARY, BINARY), WITHOUT_DERIVATIVE)], ids=["unary", "binary"])
def test_rows_without_a_derivative_are_listed(rows: Mapping[str, Any], empty: str) -> None:
    assert [kind for kind, row in rows.items() if row.derivative is None] == empty.split()
    for kind in empty.split():  # neither the operands nor the result can be floats, or the result is a truth value
        assert rows[kind].typing in ("integer", "bits", "shift", "truth", "compare")


def test_each_rule_has_one_partial_derivative_for_each_operand_and_a_use() -> None:
    used = {row.derivative: count for rows, count in ((UNARY, 1), (BINARY, 2)) for row in rows.values()}
    assert {*DERIVATIVES} == {*used} - {None}
    for name, rule in DERIVATIVES.items():
        assert len(rule.partials) == used[name]
        assert all(len(kink.at) == len(kink.partials) == used[name] for kink in rule.kinks)


def test_a_kernel_is_an_op_like_others() -> None:
    assert OPS["kernel"] is Kernel
