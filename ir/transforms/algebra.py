"""Algebraic simplification by the table in `ir/rules.py`."""

from __future__ import annotations

from functools import cache

from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.float_bounds import positive
from weft.ir.ops import Binary, Cast, If, Kernel, Select, Unary
from weft.ir.passes import pass_
from weft.ir.rewrite import NUMBERS, Rewrite, Rewriter, Table, compile_rules, literal, rewrite
from weft.ir.rules import RULES
from weft.ir.scalar import BINARY
from weft.ir.transforms.fold import FOLDERS

__all__ = ["algebra", "algebra_table"]


@pass_("algebra")
def algebra(root: Kernel, config: CompileConfig) -> bool:
    """Replaces expressions by equal, cheaper ones, and folds constants.

        %b = binary mul %x, %one               %x
        %c = binary sub %y, %y         ->      const 0
        %d = binary floordiv %i, 8             binary shr %i, 3
        %q = binary eq %square_plus_1, 0.0     const false
        if (unary not %p) {A} else {B}         if %p {B} else {A}

    The pass does not apply a rule that would change NaN or an infinity, or that would change rounding or the sign of a
    zero without fast_math. It does not apply rules to operands of different types, which occur before `infer_types`.
    """
    return rewrite(root, algebra_table(config.fast_math))


@cache
def algebra_table(fast_math: bool) -> Table:
    """The rules and the constant folding as functions, by op class."""
    rules = compile_rules(RULES, fast_math)
    table = dict(FOLDERS)
    table[Unary] = _unary(rules)
    table[Binary] = _binary(rules)
    table[Select] = _first(FOLDERS[Select], rules["select"])
    table[Cast] = _first(FOLDERS[Cast], rules["cast"])
    table[If] = _turn_if
    return table


def _first(fold: Rewrite, rules: Rewrite) -> Rewrite:
    def run(op: Cast | Select, build: Rewriter) -> Value | None:
        return fold(op, build) or rules(op, build)

    return run


def _unary(rules: dict[str, Rewrite]) -> Rewrite:
    def run(op: Unary, build: Rewriter) -> Value | None:
        if literal(op.operands[0]) is not None:
            return build.unary(op.kind, op.operands[0])
        rule = rules.get(op.kind)
        return rule(op, build) if rule is not None else None

    return run


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_SWAPPED = {kind: kind for kind, row in BINARY.items() if row.commutative} | _MIRRORED  # -0.0 == 0.0


def _binary(rules: dict[str, Rewrite]) -> Rewrite:
    def run(op: Binary, build: Rewriter) -> Value | None:
        a, b = op.operands
        if a.type is not b.type:
            return None
        if type(a) in NUMBERS and literal(a) is not None:
            if literal(b) is not None:
                return build.binary(op.kind, a, b)
            if op.kind in _SWAPPED:
                return build.add(Binary(_SWAPPED[op.kind], b, a))
        rule = rules.get(op.kind)
        return (rule(op, build) if rule is not None else None) or _with_zero(op, build)

    return run


_OF_POSITIVE = {"eq": False, "le": False, "lt": False, "ne": True}  # compared with 0, also of NaN


def _with_zero(op: Binary, build: Rewriter) -> Value | None:
    """A comparison of a positive float with 0."""
    known = _OF_POSITIVE.get(op.kind)
    if known is None or literal(op.rhs) != 0 or not positive(op.lhs):
        return None
    return build.constant(known, op.type)


def _turn_if(op: If, build: Rewriter) -> None:
    condition = op.operands[0]
    if op.versioned or op.seldom or op.general:  # what holds of `orelse` does not hold of `then`
        return
    if isinstance(condition, Unary) and condition.kind == "not" and condition.x.type is op.condition.type:
        op.set_operand(0, condition.x)
        op.then, op.orelse = op.orelse, op.then
        build.changed = True
