"""Which stores clobber a value that the gradient loads again, case by case: what reverse mode says of small kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import CONFIGS, in_mode
from weft.ir.autodiff.torn import Torn
from weft.ir.ops import Kernel
from weft.ir.pipeline import run_passes

_NAMES = "%c2 = const 2 : i32 %c3 = const 3 : i32 %x0 = field_ptr @total[] : *f64 %v0 = load %x0 : f64 "
_A = "%a = arg index=0 : {0} %b = arg index=1 : {0} %s = arg index=2 : i32 %f = arg index=3 : f64 "
_KIND = "[f64; 1]"


def _square(source: str, target: str) -> str:
    """Reads one address, whose value is needed, and then stores to the other."""
    return f"""%p = {source} : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
        %q = {target} : *f64  store %q, %2 """


def _stored_first(source: str, target: str) -> str:
    """Stores to the one address, and then reads the other, whose value is needed."""
    return f"""%q = {target} : *f64  %yk = field_ptr @y[%k] : *f64 %w = load %yk : f64 store %q, %w
        %p = {source} : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64 %zk = field_ptr @z[%k] : *f64
        store %zk, %2 """


def _for(body: str, head: str = "%c0, %c3, %c1", name: str = "k") -> str:
    return f"for {head} (%{name}: i32) {{ {body} }} "


def _x(index: str) -> str:
    return f"field_ptr @x[{index}]"


_PART = "%pm = field_ptr @m[%c1] : *f64x2x2  %pv = field_ptr @v[%k] : *f64x2 "
_CALL = "%r = invoke function=f, [%v0], touched=(y), only_read=(y) : f64 %z0 = field_ptr @z[%c0] : *f64 "
_USED = "%rr = binary mul %r, %r : f64 store %z0, %rr "
_PUT = "invoke function=g, [%v0], touched=(y), only_written=(y) "
_READ = ("%y2 = field_ptr @y[%c1] : *f64 %yv = load %y2 : f64 %yy = binary mul %yv, %yv : f64 "
         "%z1 = field_ptr @z[%c1] : *f64 store %z1, %yy ")  # fmt: skip
_STORE = "%y1 = field_ptr @y[%c1] : *f64 store %y1, %v0 "


# An extreme that stays an atomic, since other iterations take it, too. And a load that carries a derivative.
def _most(name: str = "m", kind: str = "max", index: str = "%c1") -> str:
    return f"%{name}p = field_ptr @y[{index}] : *f64 %{name} = atomic {kind} %{name}p, %v0 : f64 "


def _many(body: str) -> str:
    return f"parallel_for begins=[%c0], ends=[%c3] (%n: i32) {{ {body} }} "


_TAKEN = ("%y2 = field_ptr @y[%c1] : *f64 %yv = load %y2 : f64 %yy = binary add %yv, %yv : f64 "
          "%z1 = field_ptr @z[%c1] : *f64 %zs = atomic add %z1, %yy : f64 ")  # fmt: skip

# The body of a kernel, and what must be put back; None: it is refused, since the value is in memory at no time.
CASES: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "behind the loop": (_for(_square(_x("%k"), "field_ptr @z[%k]")) + "%w = field_ptr @x[%c1] : *f64 store %w, %v0",
                        ("x",)),
    "before the loop": ("%w = field_ptr @x[%c1] : *f64 store %w, %v0 "
                        + _for(_square(_x("%k"), "field_ptr @z[%k]")), ()),
    "two variables": (
        "%j = cast %v0 : i32 " + _for("%up = binary add %j, %c1 : i32 " + _square(_x("%k"), _x("%up"))), None),
    "two variables, the other way": (
        "%j = cast %v0 : i32 " + _for("%up = binary sub %j, %c1 : i32 " + _square(_x("%k"), _x("%up"))), None),
    "one variable": ("%j = cast %v0 : i32 " + _for("%up = binary add %j, %c1 : i32 " + _square(_x("%j"), _x("%up"))),
                     ()),
    "a variable that the loop changes": (
        "%l = alloca : *i32 store %l, %c0 " + _for("%j = load %l : i32 %up = binary add %j, %c1 : i32 store %l, %up "
                                                   + _square(_x("%j"), _x("%up"))), None),
    "a value that the loop computes from constants": (
        "%s2 = arg index=2 : i32 " + _for("%j = binary mul %s2, %c2 : i32 %up = binary add %j, %c1 : i32 "
                                         + _square(_x("%j"), _x("%up"))), ()),
    "a value that the loop computes from its index": (
        _for("%j = binary mul %k, %c2 : i32 %up = binary add %j, %c2 : i32 " + _square(_x("%j"), _x("%up"))), None),
    "a value that the loop reads": (
        _for("%t = field_ptr @y[%c1] : *f64 %tv = load %t : f64 store %t, %v0 %j = cast %tv : i32 "
             "%up = binary add %j, %c1 : i32 " + _square(_x("%j"), _x("%up"))), None),
    "the index of the loop around": (
        _for(_for("%up = binary add %j, %c1 : i32 " + _square(_x("%j"), _x("%up"))), name="j"), ()),
    "the index of the loop around, downwards": (
        _for(_for("%up = binary add %j, %c1 : i32 " + _square(_x("%up"), _x("%j"))), name="j"), ("x",)),
    "the index of a loop inside": (
        _for(_for("%up = binary add %j, %c1 : i32 " + _square(_x("%j"), _x("%up")), name="j")), None),
    "a step that is known later": (
        "%s2 = arg index=2 : i32 " + _for("%up = binary add %k, %c1 : i32 " + _square(_x("%k"), _x("%up")),
                                         "%c0, %c3, %s2"), None),
    "a while loop": (
        "%n = alloca : *i32 store %n, %c0 while { %k = load %n : i32 %t = binary ge %k, %c3 : u1 if %t then { break } "
        "%up = binary add %k, %c1 : i32 store %n, %up " + _square(_x("%c0"), _x("%c1")) + "}", ()),
    "a while loop with an index": (
        "%n = alloca : *i32 store %n, %c0 while { %k = load %n : i32 %t = binary ge %k, %c3 : u1 if %t then { break } "
        "%up = binary add %k, %c1 : i32 store %n, %up " + _square(_x("%k"), _x("%up")) + "}", None),
    "other members of one struct": (
        "%e = field_ptr @s[%c1] : *{k: i32, f: f64, g: f64} "
        + _for(_square("member_ptr %e, index=1", "member_ptr %e, index=2")), ()),
    "one member of one struct": (
        "%e = field_ptr @s[%c1] : *{k: i32, f: f64, g: f64} "
        + _for(_square("member_ptr %e, index=1", "member_ptr %e, index=1")), ("s",)),
    "two fields of one memory": (
        _for("%up = binary add %k, %c1 : i32 " + _square("field_ptr @low[%k]", "field_ptr @high[%up]")), None),
    "one field that shares its memory": (
        _for("%up = binary add %k, %c1 : i32 " + _square("field_ptr @low[%k]", "field_ptr @low[%up]")), ()),
    "another member of the step": (
        _for("%up = binary add %k, %c1 : i32 " + _square(_x("%k"), _x("%up")), "%c0, %c4, %c2"), ()),
    "columns of a matrix": (
        _for(_PART + _square("element_ptr %pm[%k, %c0]", "element_ptr %pm[%k, %c1]"), "%c0, %c2, %c1"), ()),
    "an element of a matrix and any": (
        _for(_PART + _square("element_ptr %pm[%c0, %c0]", "element_ptr %pm[%k, %c0]"), "%c0, %c2, %c1"), ("m",)),
    "any element of a matrix, one after the other": (
        _for(_PART + _square("element_ptr %pm[%k, %c0]", "element_ptr %pm[%k, %c0]"), "%c0, %c2, %c1"), ("m",)),
    "any element of a matrix, and then one of them": (
        _for(_PART + _stored_first("element_ptr %pm[%c0, %c0]", "element_ptr %pm[%k, %c0]"), "%c0, %c2, %c1"),
        ("m",),
    ),
    "one element of a matrix, and then any of them": (
        _for(_PART + _stored_first("element_ptr %pm[%k, %c0]", "element_ptr %pm[%c0, %c0]"), "%c0, %c2, %c1"),
        ("m",),
    ),
    "an element of a vector and the vector": (
        _for(_PART + "%p = element_ptr %pv[%c0] : *f64 %1 = load %p : f64 %2 = binary mul %1, %1 : f64 "
             "%3 = splat %2 : f64x2 store %pv, %3"), ("v",)),
    "a call, and then a store": (_CALL + _USED + _STORE, ("y",)),
    "a store, and then a call": (_STORE + _CALL + _USED, ()),
    "a call and a store in a loop": (_for(_CALL + _USED + _STORE), None),
    "a call whose value nobody uses": (_CALL + _STORE, ()),
    "a call that gives an index": (
        "%r = invoke function=f, [%v0], touched=(y), only_read=(y) : i32 %p = field_ptr @x[%r] : *f64 "
        "%1 = load %p : f64 "
        "%2 = binary mul %1, %1 : f64 %z0 = field_ptr @z[%c0] : *f64 store %z0, %2 " + _STORE, ("y",)),
    "a call whose value is added": (
        _CALL + "%rr = binary add %r, %r : f64 store %z0, %rr " + _STORE, ("y",)),
    "a call that writes, behind a load": (_READ + _PUT, ("y",)),
    "a call that writes, before a load": (_PUT + _READ, ()),
    "a call that writes, on both sides of a load": (_PUT + _READ + _PUT, None),
    "a call that writes, in a loop": (_for(_READ + _PUT), None),
    "a call that writes, and then a store": (_PUT + _STORE, ()),
    "a call that writes what another one reads": (_CALL + _USED + _PUT, ("y",)),
    "a call that writes what another one has read": (_PUT + _CALL + _USED + _PUT, None),
    "either a load or a call that writes": (
        "%half = const 0.5 : f64 %t = binary lt %v0, %half : u1 if %t then { " + _READ + "} orelse { " + _PUT
        + "}", ()),
    "either a call or a store": (
        "%half = const 0.5 : f64 %t = binary lt %v0, %half : u1 if %t then { " + _CALL + _USED + "} orelse { " + _STORE
        + "}", ()),
    "extremes of one kind": (_many(_most() + _most("w")), ()),
    "extremes of both kinds": (_many(_most() + _most("w", "min")), None),
    "extremes, and a load between them": (_many(_most() + _TAKEN + _most("w")), None),
    "extremes, and a load of another element between them": (
        _many(_most() + _TAKEN.replace("%c1", "%c2") + _most("w")), ()),
    "extremes, and a load between them that carries no derivative": (
        _many(_most() + _TAKEN.replace("binary add %yv, %yv", "unary floor %yv") + _most("w")), ()),
    "extremes, and a load behind them": (_many(_most() + _most("w") + _TAKEN), ()),
    "extremes, and a load before them": (_many(_TAKEN + _most() + _most("w")), ()),
    "an extreme and a load in a loop": (_many(_for(_most() + _TAKEN)), None),
    "a load and an extreme in a loop": (_many(_for(_TAKEN + _most())), None),
    "an extreme in a loop": (_many(_for(_most())), ()),
    "an extreme and a load of the element behind it in a loop": (
        _many(_for("%up = binary add %k, %c1 : i32 " + _most(index="%k") + _TAKEN.replace("%c1", "%up"))), ()),
    "extremes, and a call between them": (
        _many(_most() + _CALL + "%zs = atomic add %z0, %r : f64 " + _most("w")), None),
}  # fmt: skip


_MORE = ("s", "{k: i32, f: f64, g: f64}", "(0, 8, 16)", 24, ""), ("low", "f64", "(0)", 8, " exposed=true"), \
    ("high", "f64", "(0)", 8, " exposed=true")  # fmt: skip


def _fields() -> str:
    """More fields: of structs, and two whose memory others may have, too."""
    lines: list[str] = []
    for number, (name, type, parts, size, more) in enumerate(_MORE):
        for kind, tree in ((".dual", 12 + 2 * number), ("", 13 + 2 * number)):
            layout = f"components={parts} terms=((0, 1, 4, {size})) offset=(0) order=(0){more}"
            lines.append(f"field @{name}{kind}: {type}[4] tree={tree} {layout}" + f" dual=@{name}.dual" * (not kind))
    return "\n".join(lines)


def made_of(body: str, kind: str = _KIND, config: str = "optimized") -> Kernel:
    params = f"(a: {kind}, b: {kind}, s: i32, f: f64, a.grad: {kind} hidden=grad, b.grad: {kind} hidden=grad)"
    kernel = in_mode(kernel_of(_NAMES + _A.format(kind) + body, params=params, fields=_fields()), "vjp")
    return run_passes(kernel, ("differentiate",), CONFIGS[config])


@pytest.mark.parametrize("name", CASES)
def test_what_must_be_put_back(name: str) -> None:
    body, saved = CASES[name]
    if saved is not None:
        assert made_of(body).saved == saved
        return
    with pytest.raises(Torn, match="but the kernel overwrites it"):
        made_of(body)


def _next(source: str, target: str, body: Callable[[str, str], str] = _square) -> str:
    return _for("%up = binary add %k, %c1 : i32 " + body(f"array_ptr {source}", f"array_ptr {target}"))


ARRAYS: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "the next element": (_next("%a[%k]", "%a[%up]"), _KIND, ()),
    "the next element of an exposed array": (_next("%a[%k]", "%a[%up]"), "[f64; 1 exposed]", ()),
    "the next element of a strided array": (_next("%a[%k]", "%a[%up]"), "[f64; 1 strided]", None),
    "the next element, stored first": (_next("%a[%k]", "%a[%up]", _stored_first), _KIND, ()),
    "the next element of a strided array, stored first": (
        _next("%a[%k]", "%a[%up]", _stored_first),
        "[f64; 1 strided]",
        None,
    ),
    "the next element of another array": (_next("%a[%k]", "%b[%up]"), "[f64; 1 exposed]", None),
    "an exposed array, and then a part of its elements": (
        "%p = array_ptr %a[%c0] : *f64 %1 = load %p : f64 %2 = binary mul %1, %1 : f64 %z0 = field_ptr @z[%c0] : *f64 "
        "store %z0, %2 %q = array_ptr %a[%c1] : *f64 store %q, %v0", _KIND, ()),
    "an array that a function reads": (
        "%r = invoke function=f, [%a, %v0] : f64 %rr = binary mul %r, %r : f64 %z0 = field_ptr @z[%c0] : *f64 "
        "store %z0, %rr %q = array_ptr %a[%c1] : *f64 store %q, %v0", _KIND, ("a",)),
    "an array beside one that a function reads": (
        "%r = invoke function=f, [%a, %v0] : f64 %rr = binary mul %r, %r : f64 %z0 = field_ptr @z[%c0] : *f64 "
        "store %z0, %rr %q = array_ptr %b[%c1] : *f64 store %q, %v0", _KIND, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_which_arrays_must_be_put_back(name: str) -> None:
    body, kind, saved = ARRAYS[name]
    if saved is not None:
        assert made_of(body, kind).saved == saved
        return
    with pytest.raises(Torn, match="value of 'a' that is read here, but the kernel overwrites it"):
        made_of(body, kind)


def test_the_error_names_the_array() -> None:
    text = _next("%b[%c0]", "%b[%k]")
    with pytest.raises(Torn, match="value of 'b' that is read here"):
        made_of(text)


def _product(factor: str) -> str:
    return _for(f"%j = binary mul %s, {factor} : i32 %up = binary add %j, %c1 : i32 " + _square(_x("%j"), _x("%up")))


_ELEMENT = "field_ptr @s[%c1] : *{k: i32, f: f64, g: f64} "
# Without optimizations, values that do not change stay in the loop, and loads do not become the values stored before.
AS_WRITTEN: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "a product of constants": (_product("%c2"), ()),
    "a product with the index": (_product("%k"), None),
    "one member, and then itself": (
        "%e = " + _ELEMENT + _for(_stored_first("member_ptr %e, index=1", "member_ptr %e, index=1")),
        ("s",),
    ),
    "one member, and then another one": (
        "%e = " + _ELEMENT + _for(_stored_first("member_ptr %e, index=1", "member_ptr %e, index=2")),
        (),
    ),
    "one element, and then itself": (
        _for(_PART + _stored_first("element_ptr %pm[%c0, %c0]", "element_ptr %pm[%c0, %c0]"), "%c0, %c2, %c1"),
        ("m",),
    ),
}


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_what_must_be_put_back_without_optimizations(name: str) -> None:
    body, saved = AS_WRITTEN[name]
    if saved is not None:
        assert made_of(body, config="not optimized").saved == saved
        return
    with pytest.raises(Torn):
        made_of(body, config="not optimized")
