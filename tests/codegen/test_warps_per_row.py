"""Which loops the lanes of a warp may share: those that only add to locals, in any order, along rows of memory."""

from __future__ import annotations

import re

import pytest

from tests.mapping import GPU, for_gpu
from weft.codegen.nvptx.kernel import emit_kernel
from weft.ir.config import CompileConfig
from weft.ir.mapping.warp_sums import LoopSum, sums_of, warp_loop
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of
from weft.ir.types import f32

KERNEL = """\
kernel @k(n: i32) -> () {
  task range_for bounds {
    %zero = const 0 : i64
    %end = const 5000 : i64
    BOUNDS
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %begin = const 0 : i64
    %one = const 1 : i64
    %two = const 2 : i64
    %four = const 4 : i64
    %sixteen = const 16 : i64
    %row = const 2048 : i64
    %rounds = const 512 : i64
    %few = const 255 : i64
    %n = scalar_arg index=0, part=0 : i32
    %m = cast %n : i64
    %nothing = const 0.0 : f32
    %whole = const 0 : i32
    %true = const true : u1
    PROLOGUE
  } body (%i: i64) {
    %acc = alloca : *f32
    store %acc, %nothing
    %other = alloca : *f32
    %count = alloca : *i32
    store %count, %whole
    %flag = alloca : *u1
    BEFORE
    for %begin, %rounds, %one (%k: i64) {
      %p = address %base, indices=[%i, %k], strides=[%row, %four], offset=0, scope="field:a" : *f32
      %v = load %p, invariant=true : f32
      %o = load %acc : f32
      %s = binary add %o, %v : f32
      store %acc, %s
      MORE
    }
    %t = load %acc : f32
    %q = address %base, indices=[%i], strides=[%four], offset=0, scope="field:y" : *f32
    store %q, %t
    AFTER
  } epilogue {
    EPILOGUE
  }
}
"""
PLACES = ("BOUNDS", "PROLOGUE", "BEFORE", "MORE", "AFTER", "EPILOGUE")
INSIDE = "%s = binary add %o, %v : f32"
AGAIN = "for %begin, %rounds, %one (%h: i64) {\n}"
PLACE = '%{0} = address %base, indices=[%i], strides=[%four], offset=8, scope="field:z" : *f32\n'


def shared(kernel: Kernel, fast_math: bool) -> tuple[LoopSum, ...]:
    """The sums of the loop that a warp shares; none where there is none."""
    (task,) = tasks_of(for_gpu(kernel, CompileConfig(arch="cuda", traits=CUDA, fast_math=fast_math)))
    loop = warp_loop(task)
    return () if loop is None else sums_of(loop)


def sums(fast_math: bool = True, change: tuple[str, str] = ("", ""), **texts: str) -> tuple[LoopSum, ...]:
    text = KERNEL.replace(*change) if change[0] else KERNEL
    assert not change[0] or text != KERNEL
    for place in PLACES:
        text = text.replace(place, texts.get(place, ""))
    return shared(parse(text), fast_math)


def test_a_sum_along_a_row() -> None:
    assert [(one.local.name, one.kind, one.type) for one in sums()] == [("acc", "add", f32)]
    assert not sums(fast_math=False)


def test_integers_need_no_fast_math() -> None:
    text = "%w = cast %v : i32\n%c = load %count : i32\n%d = binary max %w, %c : i32\nstore %count, %d"
    assert not sums(fast_math=False, MORE=text)  # the other one is a float
    only = KERNEL.replace("%o = load %acc : f32\n      %s = binary add %o, %v : f32\n      store %acc, %s", text)
    for place in PLACES:
        only = only.replace(place, "")
    assert [one.kind for one in shared(parse(only), False)] == ["max"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ((INSIDE, "%s = binary add %v, %o : f32"), "add"),
        ((INSIDE, "%s = binary sub %o, %v : f32"), "add"),
        ((INSIDE, "%s = binary min %v, %o : f32"), "min"),
        ((INSIDE, "%s = binary mul %o, %v : f32"), "mul"),
        ((INSIDE, "%s = binary sub %v, %o : f32"), None),
        ((INSIDE, "%s = binary add %o, %o : f32"), None),
        ((INSIDE, "%s = binary div %o, %v : f32"), None),
        ((INSIDE, "%s = binary add %o, %v : f32\n      %w = binary mul %s, %v : f32"), None),
        ((INSIDE, "%s = binary add %o, %v : f32\n      %w = binary mul %o, %v : f32"), None),
        ((INSIDE, "%u = load %acc : f32\n      %s = binary add %o, %u : f32"), None),
        ((INSIDE, "%u = load %acc : f32\n      %s = binary add %o, %v : f32"), None),
        (("store %acc, %s", "store %acc, %v"), None),
        (("store %acc, %s", "store %other, %s"), None),
        (("%begin, %rounds, %one", "%begin, %few, %one"), None),
        (("%begin, %rounds, %one", "%begin, %rounds, %two"), None),
        (("%begin, %rounds, %one", "%begin, %m, %one"), None),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%k, %i], strides=[%row, %four]"), None),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i, %k], strides=[%four, %four]"), None),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i, %k], strides=[%row, %sixteen]"), "add"),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i, %k], strides=[%row, %row]"), None),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i, %k], strides=[%m, %four]"), "add"),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i, %k], strides=[%row, %m]"), None),
        (("indices=[%i, %k], strides=[%row, %four]", "indices=[%i], strides=[%row]"), None),
        (("load %p, invariant=true", "load %p"), None),  # somebody may write it
    ],
)
def test_loops(change: tuple[str, str], kind: str | None) -> None:
    assert [one.kind for one in sums(change=change)] == ([] if kind is None else [kind])


@pytest.mark.parametrize("rounds", [512, 300, 257])
def test_each_op_is_written_where_it_is_needed(rounds: int) -> None:
    """Before the loop in all lanes, behind it in one. Rounds that are left over are those of some lanes."""
    before = "%d = cast %i : f32\nstore %other, %d"
    for kind in ("i64", "i32"):
        text = KERNEL.replace("const 512 : i64", f"const {rounds} : {kind}").replace("BEFORE", before)
        if kind == "i32":
            text = text.replace("for %begin, %rounds, %one (%k: i64) {", "for %whole, %rounds, %step (%h: i32) {")
            text = text.replace("%p = address", "%k = cast %h : i64\n      %p = address")
            text = text.replace("%true = const", "%step = const 1 : i32\n    %true = const")
        for place in PLACES:
            text = text.replace(place, "")
        config = CompileConfig(arch="cuda", traits=CUDA)
        emitted, _ = emit_kernel(for_gpu(parse(text), config), config, GPU)
        code = "\n".join(emitted.module.functions)
        assert f"phi {kind} [ 0" in code
        assert f", {rounds // 32 // 4}\n" in code
        assert code.count("sitofp i64") == 1
        assert code.count("load float, ptr %v") == 4 + rounds // 32 % 4 + (rounds % 32 > 0)
        assert not re.search(r"zext (\w+) %\w+ to \1\b", code)


@pytest.mark.parametrize(
    ("texts", "taken"),
    [
        ({"MORE": PLACE.format("z") + "store %z, %v"}, False),
        ({"MORE": PLACE.format("z") + "%w = atomic add %z, %v : f32"}, False),
        ({"MORE": "if %true then {\n  %w = cast %k : i32\n}"}, False),
        ({"MORE": "%c = load %count : i32\n%w = cast %k : i32\n%d = binary or %c, %w : i32\nstore %count, %d"}, True),
        ({"MORE": "%c = load %other : f32"}, False),  # it may be what the round before has stored
        ({"MORE": "%o2 = load %acc : f32\n%s2 = binary add %o2, %v : f32\nstore %acc, %s2"}, False),
        ({"MORE": "%c = load %flag : u1\n%d = binary or %c, %true : u1\nstore %flag, %d"}, False),
        ({"MORE": "%own = alloca : *f32\n%c = load %own : f32\n%d = binary add %c, %v : f32\nstore %own, %d"}, False),
        ({"BEFORE": PLACE.format("z") + "%w = load %z : f32\nstore %other, %w"}, True),
        ({"BEFORE": PLACE.format("z") + "store %z, %nothing"}, False),
        ({"BEFORE": "if %true then {\n}"}, False),
        ({"BEFORE": AGAIN}, False),
        ({"AFTER": AGAIN}, False),
        ({"MORE": AGAIN}, False),
        ({"MORE": "while {\n}"}, False),
        ({"MORE": "%own = alloca : *f32"}, False),
        ({"MORE": "store %acc, %s"}, False),
        ({"AFTER": "%pad = shared_base number=0, bytes=400 : *i64"}, False),  # threads that count themselves
        ({"BEFORE": PLACE.format("z").replace("[%four]", "[%row]"),
          "MORE": "%c = load %z : f32\n%d = binary add %c, %v : f32\nstore %z, %d"}, False),
        ({"AFTER": PLACE.format("z") + "%w = atomic add %z, %t : f32"}, True),
        ({"AFTER": 'print [], parts=("x")'}, False),
        ({"PROLOGUE": "%sum = alloca : *f32\nstore %sum, %nothing"}, True),
        ({"PROLOGUE": PLACE.format("z").replace("%i", "%one") + "store %z, %nothing"}, False),
        ({"EPILOGUE": "%w = cast %n : i8"}, False),
        ({"BOUNDS": '%b = tree_base tree=0 : *i64\n'
                     '%g = address %b, indices=[], strides=[], offset=0, scope="field:n" : *i64\n'
                    "%h = load %g : i64"}, False),
    ],
)  # fmt: skip
def test_what_stands_around(texts: dict[str, str], taken: bool) -> None:
    assert bool(sums(**texts)) == taken
