"""Mutants that mean the same as the original, by module and name: why no test can tell them apart."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

_QUICK = "a quick way to what follows from the rest of the function"
_TYPES = "for type checkers: the verifier lets nothing else stand there"
_KIND = "steps into two objects of one type are of one kind as long as those before them are the same"

EQUIVALENT: dict[str, dict[str, str]] = {
    "weft.ir.alias": {
        "may_alias: p is q -> False": _QUICK,
        "_difference: a is b -> False": _QUICK,
        "_difference: base_a is not None -> True": "both are None or neither: two None are one value",
        "_difference: base_b is not None -> True": "both are None or neither: two None are one value",
        "memory_effects: op.regions -> True": _QUICK,
        "_step_apart: isinstance(a, MemberPtr) -> True": _KIND,
        "_step_apart: isinstance(b, MemberPtr) -> True": _KIND,
        "_step_apart: isinstance(a, ElementPtr) -> True": _KIND,
        "_step_apart: isinstance(b, ElementPtr) -> True": _KIND,
        "_widens: isinstance(source, Prim) -> True": _TYPES,
        "_split: isinstance(lhs.value, int) -> True": _TYPES,
        "_split: isinstance(rhs.value, int) -> True": _TYPES,
        "_widens: isinstance(target, Prim) -> True": _TYPES,
        "_widens: target.is_int -> True": "what ends as an index and widens an integer widens it to an integer",
        "_bytes_apart: base_a -> True": "None is the base of temporaries, whose space meets no other",
        "_bytes_apart: base_b -> True": "None is the base of temporaries, whose space meets no other",
    },
    "weft.ir.affine": {
        "_cast: isinstance(source, Prim) -> True": _TYPES,
        "_cast: isinstance(target, Prim) -> True": _TYPES,
        "_is_index: isinstance(value.type, Prim) -> True": _TYPES,
    },
    "weft.ir.transforms.collapse": {
        "_collapse: isinstance(limits, Yield) -> True": _TYPES,
        "_collapse: _computable(value) -> True": "what is the same for all iterations is pure, and made of arguments",
        "_computable: isinstance(value, Op) -> True": "it is asked of what is the same for all iterations only",
        "_computable: value.pure -> True": "it is asked of what is the same for all iterations only",
        "_computable: all(map(_computable, value.operands)) -> True": "it is asked of what is the same for all only",
    },
    "weft.codegen.cuda_inside": {
        "_reach: op.type not in (i32, i64) -> False": "a cast from it must fit, and no float has an interval that does",
    },
    "weft.ir.transforms.forward": {
        "branch: then_ends -> True #2": "what stands after an if that both arms leave never runs",
    },
    "weft.ir.tasks": {
        "private_spaces: isinstance(root, Alloca) -> False": "a local names no index: it is not among them anyway",
    },
    "weft.ir.intervals": {
        "unclipped: isinstance(value.type, Prim) -> True": _TYPES,
        "type_interval: isinstance(type, Prim) -> True": _TYPES,
        "_cast: isinstance(source, Prim) -> True": _TYPES,
    },
    "weft.ir.transforms.thread_local": {
        "_reduce: candidates -> True": _QUICK,
        "identity: type.is_signed -> True": "a constant is taken modulo its width: -1 has all bits",
    },
}
