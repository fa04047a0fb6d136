"""The memory of derivatives for the transforms of functions, `ti.ad.grad` and the others.

They differentiate by every field and ndarray of floats that a function uses, whether or not it was made with
`needs_grad` or `needs_dual`. A gradient or dual that the program made is used as it is. One that is missing is made
here, and stays with its field. That of a dense field has a tree of its own. That of a sparse field must lie in its
cells, so the tree of the field grows (`FieldTree.grow`): all of its fields get one then.

A *mode* of a kernel ends with `*` in that case: "vjp*" for "vjp". A `-` in it says that a part of it uses only what the
program made: "vjp-.vjp2*" is reverse mode of `kernel.grad`. "vjp=" is the mode of `kernel.grad.assign`, which sets
gradients instead of adding to them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from weft.ir.symbols import COMPANIONS
from weft.lang.data.field import Field, MatrixField, ScalarField
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import shaped_node
from weft.lang.values.makers import MAKERS

__all__ = [
    "ASSIGNS",
    "Lacking",
    "at_path",
    "derived",
    "derived_fields",
    "ir_mode",
    "is_derived",
    "is_full",
    "kinds_of",
    "nested_mode",
    "path_of",
    "suffix_of",
    "supply",
    "with_siblings",
]

_FULL, _DECLARED, _SET = "*", "-", "="
_NO_MARKS = str.maketrans("", "", _FULL + _DECLARED + _SET)
ASSIGNS = f"vjp{_SET}"


def ir_mode(mode: str) -> str:
    """The mode of MODES (`ir/symbols.py`) for the mode of a kernel."""
    return mode.translate(_NO_MARKS)


def is_full(mode: str, kind: str = "") -> bool:
    """Whether all floats have companions in a mode; of that kind, if one is given."""
    parts = {COMPANIONS[ir_mode(part)]: not part.endswith(_DECLARED) for part in mode.split(".")} if mode else {}
    return mode.endswith(_FULL) and parts.get(kind, True)


def nested_mode(inner: str, outer: str) -> str:
    """The mode in which all floats have companions for the mode `outer`, of a kernel in the mode `inner`."""
    return f"{ir_mode(inner)}{'' if is_full(inner) else _DECLARED}.{outer}{_FULL}"


def kinds_of(mode: str) -> tuple[str, ...]:
    """The companions that memory has in a mode, as paths: "grad.dual" is the dual of the gradient."""
    found = list[str]()
    for part in ir_mode(mode).split(".") if mode else ():
        kind = COMPANIONS[part]
        found += [kind, *(f"{path}.{kind}" for path in found)]
    return tuple(found)


def suffix_of(mode: str) -> str:
    """What the name of a derivative ends with: "grad" in the mode "vjp"."""
    return ".".join(COMPANIONS[part] for part in ir_mode(mode).split(".")) if mode else ""


def derived_fields(of: Any, mode: str) -> list[tuple[str, Any]]:
    """The companions of a field in a mode, each with its kind. A gradient has a dual in the mode "vjp.jvp"."""
    kinds = [kind for kind in kinds_of(mode) if "." not in kind]
    if of.role in kinds:
        kinds = kinds[kinds.index(of.role) + 1 :]
    full = [kind for kind in kinds if is_full(mode, kind)]
    lacking = [kind for kind in full if lacks(of, kind)]
    if lacking:
        raise Lacking(of, lacking, mode)
    found = [(kind, derived(of, kind) if kind in full else of.hidden(kind)) for kind in kinds]
    return [(kind, one) for kind, one in found if one is not None]


class Lacking(BaseException):
    """A kernel in this mode needs companions of the fields of a sparse tree, and of this one these `kinds`. While it is
    translated, the layout of the tree must not change. (It is no error, so no code that handles errors catches it.)"""

    def __init__(self, of: Any, kinds: Sequence[str], mode: str) -> None:
        super().__init__(of, kinds, mode)
        self.of, self.kinds, self.mode = of, kinds, mode

    def supply(self) -> None:
        """Make the companions."""
        grow(self.of, self.kinds, kinds_of(self.mode), self.mode)


def supply(of: Any, mode: str) -> None:
    """Make the companions of a field or an ndarray that a mode begins with. The tree of a sparse field grows once, for
    all that the mode needs."""
    paths = kinds_of(mode)
    if isinstance(of, Field) and not of.role:
        lacking = [kind for kind in paths if "." not in kind and lacks(of, kind)]
        if lacking:
            grow(of, lacking, paths, mode)
    derived(of, paths[0])


def lacks(of: Any, kind: str) -> bool:
    """Whether a sparse field has no such companion, so that its tree must grow."""
    if not of.dtype.is_float or kind in of.companions or of.describe().node is None:
        return False
    slot = of._slots[0]
    return kind not in (slot.whole or slot).made


def grow(lacking: Any, kinds: Sequence[str], paths: Sequence[str], mode: str = "") -> None:
    """Make companions in the tree of a sparse field: its own of these kinds, and at these paths those of all sparse
    fields of floats that the program made. They lie in the cells of the fields. A part of the `mode` may use only what
    the program made."""
    tree = lacking.describe().tree
    whole = [with_siblings(one) for one in list(tree.fields.values())]
    owners = {one._slots[0]: one for one in whole if not one.role and one.dtype.is_float}

    def add() -> None:
        for path in paths:
            *above, kind = path.split(".")
            for owner in owners.values() if not mode or is_full(mode, kind) else ():
                of = owner
                for step in above:
                    of = None if of is None else _known(of, step)
                if of is not None and _known(of, kind) is None and _is_inside(of, tree):
                    _place_beside(of, kind, tree)
        for kind in kinds:  # the field may be a gradient or a dual itself, whose field nobody has any more
            if lacks(lacking, kind):
                _place_beside(with_siblings(lacking), kind, tree)

    tree.grow(add, lambda: any(lacks(lacking, kind) for kind in kinds))


def _known(of: Any, kind: str) -> Any:
    """The companion of a whole field. None if it has none yet."""
    slot, own = of._slots[0], of.companions.get(kind)
    return (slot.whole or slot).made.get(kind) if own is None else own


def _is_inside(of: Any, tree: FieldTree) -> bool:
    """Whether a field lies in cells of a tree that may be inactive."""
    slot = of._slots[0]
    return slot.tree is tree and slot.node.above() is not None


def _place_beside(of: Any, kind: str, tree: FieldTree) -> None:
    """Make a companion of a whole field, in the cell in which the field lies."""
    whole, name = of._slots[0].whole, f"{of.name}.{kind}" if of.name else ""
    made = ScalarField(of.dtype, name) if whole is None else MatrixField(whole.inner, of.dtype, name)
    for mine, own in zip(made._slots, of._slots, strict=True):
        mine.attach(tree.companions.twin(kind, own.node.parent), tree, own.offset)
        assert mine.node is not None
        tree.fields[mine.node] = made
    (whole or of._slots[0]).made[kind] = _owned(made, kind, of)


def path_of(of: Any) -> str:
    """The path of a companion from the field that the program made: "grad.dual" of the dual of its gradient."""
    found, owner = list[str](), of
    while owner is not None and owner.role:
        found.insert(0, owner.role)
        owner = owner._owner()
    return ".".join(found)


def with_siblings(of: Any) -> Any:
    """The field of vectors or matrices that a field of one component belongs to, and what a view is a view of; any
    other memory itself."""
    if isinstance(of, Ndarray) and of.base is not None:
        return with_siblings(of.base)
    if not isinstance(of, ScalarField) or (whole := of._slots[0].whole) is None:
        return of
    made = MatrixField(whole.inner, of.dtype, of.name)
    made._slots = whole.slots
    return made


def is_derived(of: Any) -> bool:
    """Whether a field or ndarray is a gradient or a dual."""
    return bool(getattr(of, "role", ""))


def at_path(of: Any, path: str) -> Any:
    """The companion of memory at a path, such as "grad.dual". None if it has no floats."""
    for kind in path.split("."):
        of = None if of is None else derived(of, kind)
    return of


def derived(of: Any, kind: str) -> Any:
    """The gradient or the dual of a field or ndarray: the one that the program made, else one that is made at the first
    call. None if it has no floats, and for arrays of other libraries."""
    if not isinstance(of, Field | Ndarray) or not of.dtype.is_float:
        return None
    known = of.companions.get(kind)
    if known is not None:
        return known
    if isinstance(of, Ndarray) and of.base is not None:
        if kind not in of.made:
            of.made[kind] = of.again(derived(of.base, kind))
        return of.made[kind]
    if isinstance(of, Ndarray):
        if kind not in of.made:
            made = of.made[kind] = MAKERS.ndarray(of.element_type, of.shape)
            made.role = kind
            made._mark()  # it is 0 from the start
        return of.made[kind]
    whole, slot = of._slots[0].whole, of._slots[0]
    if whole is None:
        return _made(slot, kind, of, lambda name: ScalarField(of.dtype, name))
    made = _made(whole, kind, of, lambda name: MatrixField(whole.inner, of.dtype, name))
    if isinstance(of, MatrixField):
        return made
    if kind not in of.made:  # the field of one component
        k, m = whole.slots.index(slot), made.m
        of.made[kind] = made.get_scalar_field(k // m, k % m)
        _owned(of.made[kind], kind, of)
    return of.made[kind]


def _made(keeper: Any, kind: str, of: Any, make: Any) -> Any:
    """The companion of what `keeper` stands for: a component, or all components of a field. That of a sparse field lies
    in its cells."""
    if lacks(of, kind):
        path = path_of(of)
        grow(of, [kind], [f"{path}.{kind}" if path else kind])
    with of.describe().tree.program.lock:
        if kind not in keeper.made:
            made = make(f"{of.name}.{kind}" if of.name else "")
            offset = of.offset if any(of.offset) else None
            tree = FieldTree()
            made.attach(shaped_node(tree, of.shape, None).node, tree, offset)
            keeper.made[kind] = _owned(made, kind, of)
        return keeper.made[kind]


def _owned(made: Any, kind: str, of: Any) -> Any:
    made._owner, made.role = weakref.ref(of), kind
    return made
