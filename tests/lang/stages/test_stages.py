"""`kernel.stages`, `kernel.last`: the texts of a compilation, and where their lines come from."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.lang.stages import Stages
from weft.lang.stages.listing import Listing, of_assembly, of_llvm, of_sass

HERE = Path(__file__)


def line_with(text: str) -> int:
    """The number of the only line of this file that ends so."""
    lines = HERE.read_text().splitlines()
    (found,) = [k for k, line in enumerate(lines, 1) if line.endswith(text)]
    return found


def from_line(stages: Stages, listing: Listing, line: int) -> list[str]:
    """The lines of a text that come from that line of this file, however they were called."""
    spots = {k for k, chain in enumerate(stages.spots.chains) if (str(HERE), line) in chain}
    return [text for text, spot in zip(listing.splitlines(), listing.spots, strict=True) if spot in spots]


@pytest.fixture
def step() -> Any:
    ti.init(arch=ti.cpu, offline_cache=False)
    x, y = ti.field(ti.f32, 256), ti.field(ti.f32, 256)

    @ti.func
    def root(a: ti.f32) -> ti.f32:
        return ti.sqrt(a)  # the root

    @ti.kernel
    def step(by: ti.f32):
        for i in x:
            x[i] = root(y[i])  # the first call
            y[i] += by  # the sum
        for i in y:
            y[i] = root(x[i])  # the second call

    return step


def test_every_text_says_where_its_lines_come_from(step: Any) -> None:
    stages = step.stages(0.5)
    add = line_with("# the sum")
    assert from_line(stages, stages.source, add) == ["            y[i] += by  # the sum"]
    assert from_line(stages, stages.tree, add) == ["        y[i] += by"]
    assert any("atomic add" in text for text in from_line(stages, stages.chi, add))
    assert any("atomic add" in text for text in from_line(stages, stages.tasks, add))
    assert any("binary add" in text for text in from_line(stages, stages.lowered, add))
    assert any("fadd" in text for text in from_line(stages, stages.llvm, add))
    assert any("fadd" in text for text in from_line(stages, stages.llvm_optimized, add))
    assert from_line(stages, stages.asm, add)
    assert stages.ptx is None
    assert stages.sass is None


def test_a_function_called_twice_is_told_apart(step: Any) -> None:
    stages = step.stages(0.5)
    first, second, body = (line_with(f"# the {name}") for name in ("first call", "second call", "root"))
    roots = [text for text in from_line(stages, stages.lowered, body) if "unary sqrt" in text]
    assert len(roots) == 2
    (one,) = [text for text in from_line(stages, stages.lowered, first) if "unary sqrt" in text]
    (other,) = [text for text in from_line(stages, stages.lowered, second) if "unary sqrt" in text]
    assert [one, other] == roots


def test_hoisted_instructions_keep_their_line() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, (64, 64))

    @ti.kernel
    def paint():
        for i, j in x:
            z = i * 0.3 + 1  # the same along a row
            k = 0
            while z < 40 and k < 9:
                z = z * z + j
                k += 1
            x[i, j] = z

    stages = paint.stages()
    line = line_with("# the same along a row")
    assert any("sitofp" in text for text in from_line(stages, stages.llvm_optimized, line))
    assert from_line(stages, stages.asm, line)


def test_the_code_shown_is_the_code_that_was_made(step: Any) -> None:
    from weft.codegen.llvm import machine

    stages = step.stages(0.5)
    assert stages.asm == of_assembly(machine.assembly(stages.artifact.llvm))


def test_no_debug_metadata_is_left(step: Any) -> None:
    stages = step.stages(0.5)
    for text in (stages.llvm, stages.llvm_optimized, stages.asm, stages.on("cuda").ptx):
        assert not re.search(r"!dbg|DILocation|DIFile|\.loc\b|debug", text)


def test_ptx_needs_no_gpu(step: Any) -> None:
    stages = step.stages(0.5).on("cuda")
    add = line_with("# the sum")
    assert any("add.f32" in text for text in from_line(stages, stages.ptx, add))
    assert ".visible .entry" in stages.ptx
    assert stages.asm is None


def test_passes_are_in_order_and_honest(step: Any) -> None:
    stages = step.stages(0.5)
    names = [one.name for one in stages.passes if not one.nested]
    assert names[0] == "lower_tree"
    assert names.index("infer_types") < names.index("offload") < names.index("lower_access")
    before = stages.passes[0]
    for record in stages.passes[1:]:
        assert record.changed or record.ir == before.ir
        assert record.milliseconds >= 0.0
        before = record
    assert "struct_for" in stages.chi
    assert "task range_for" not in stages.chi
    assert "task range_for" in stages.tasks
    assert "address" in stages.lowered


def test_texts_parse_back_and_values_keep_their_names(step: Any) -> None:
    stages = step.stages(0.5)
    for record in stages.passes:
        assert print_ir(parse(record.ir)) == print_ir(parse(print_ir(parse(record.ir))))
    (stored,) = re.findall(r"store (%\d+), %\d+\n", stages.chi)[:1]
    assert f"{stored} = field_ptr @x" in stages.chi
    assert f"{stored} = field_ptr @x" in stages.tasks


def test_last_is_what_was_compiled_last() -> None:
    ti.init(arch=ti.cpu)

    @ti.kernel
    def fill(a: ti.types.ndarray(dtype=ti.f32), how: ti.template()):
        for i in range(4):
            a[i] = how

    with pytest.raises(ti.lang.errors.WeftError, match="was not compiled yet"):
        fill.last
    fill(ti.ndarray(ti.f32, 4), 2.5)
    assert "2.5" in fill.last.tree
    fill(ti.ndarray(ti.f32, 4), 7.5)
    assert "7.5" in fill.last.tree
    assert "2.5" not in fill.last.tree


def test_nothing_is_kept_alive_and_what_is_gone_is_said() -> None:
    ti.init(arch=ti.cpu)

    @ti.data_oriented
    class Box:
        size = 4

        @ti.kernel
        def area(self) -> ti.i32:
            return self.size**2

    box = Box()
    assert box.area() == 16
    last, watch = box.area.last, weakref.ref(box)
    assert "16" in box.area.last.lowered
    del box
    gc.collect()
    assert watch() is None
    with pytest.raises(ti.lang.errors.WeftError, match="an object that no longer exists: its argument 'self'"):
        last.tree
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.lang.errors.WeftError, match=r"before the last `init` or `reset`"):
        last.chi


def test_methods_of_objects() -> None:
    ti.init(arch=ti.cpu)

    @ti.data_oriented
    class Box:
        def __init__(self) -> None:
            self.x = ti.field(ti.f32, 8)

        @ti.kernel
        def fill(self, a: ti.f32):
            for i in self.x:
                self.x[i] = a

    box = Box()
    assert "x: f32[8]" in box.fill.stages(1.0).tree
    assert box.fill.last.name == "fill"


def test_what_comes_from_the_disk_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_OFFLINE_CACHE", raising=False)

    def texts() -> tuple[str, str]:
        ti.init(arch=ti.cpu, offline_cache_file_path=str(tmp_path))
        x = ti.field(ti.f32, 8)

        @ti.kernel
        def fill(a: ti.f32):
            for i in x:
                x[i] = a

        fill(1.0)
        return fill.last.lowered, fill.last.asm

    assert texts() == texts()


def test_arch_python_has_the_texts_but_no_code() -> None:
    ti.init(arch=ti.python)

    @ti.kernel
    def half(a: ti.f32) -> ti.f32:
        return a / 2

    stages = half.stages(1.0)
    assert "return (a / 2)" in stages.tree
    assert "binary mul" in stages.lowered
    assert stages.llvm is None
    assert stages.asm is None


def test_facts_say_what_the_schedule_says() -> None:
    """How lanes move values, and of which fields each thread has a copy: nothing is decided once more."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=4)
    x, ends, total = ti.field(ti.f32, 1000), ti.field(ti.i32, 1000), ti.field(ti.f32, 1000)
    bins = ti.field(ti.i32, 32)

    @ti.kernel
    def walk():
        for i in x:
            s = ti.f32(0)
            while s < ends[i]:
                s += x[ends[i]] + 1
            total[i] = s

    @ti.kernel
    def count():
        for i in ends:
            bins[ends[i] & 31] += 1

    facts = walk.stages().facts
    if "iterations at once, one in each lane" in facts:  # the CPU has lanes
        assert re.search(r"moved by lanes +2 side by side, 1 gathered", facts)
    assert re.search(r"copies +bins: one for each thread", count.stages().facts)


def test_facts_say_why_a_loop_is_no_vectors() -> None:
    ti.init(arch=ti.cpu)
    x, y, at = ti.field(ti.f32, 512), ti.field(ti.f32, 512), ti.field(ti.i32, 512)

    @ti.kernel
    def apart():
        for i in x:
            y[i] = x[at[i]] + 1

    @ti.kernel
    def meeting():
        for i in x:
            x[i] = x[at[i]] + 1

    assert ": vectorized loop" in apart.stages().facts
    assert "x anywhere" in apart.stages().facts
    facts = meeting.stages().facts
    assert ": vectorized loop" not in facts
    assert "loop not vectorized: cannot identify array bounds" in facts
    assert "8 B read, 4 B written" in facts


def test_code_with_lines_computes_the_same() -> None:
    def results(**options: Any) -> tuple[float, list[int], bool]:
        ti.init(arch=ti.cpu, offline_cache=False, **options)
        x, bins = ti.field(ti.f32, 512), ti.field(ti.i32, 4)

        @ti.real_func
        def more(a: ti.f32) -> ti.f32:
            return a + 1

        @ti.kernel
        def total(a: ti.f32) -> ti.f32:
            result = 0.0
            for i in x:
                x[i] = more(a) + i
                bins[i % 4] += 1
            for i in x:
                k = 0
                while k * k < i:  # in lanes
                    k += 1
                result += x[i] * k
            return result

        result = total(2.0)
        code = compile_instance_code(total)
        return result, bins.to_numpy().tolist(), b".debug_line" in code

    plain, lined = results(), results(line_info=True)
    assert plain[:2] == lined[:2]
    assert (plain[2], lined[2]) == (False, True)


def compile_instance_code(kernel: Any) -> bytes:
    """The object file of a kernel as the program's options make it."""
    from tests.mapping import for_cpu
    from weft.codegen.cpu.kernel import compile_kernel
    from weft.ir.pipeline import lower

    recipe = kernel._latest
    root = recipe.translate().tree
    functions = [lower(one, recipe.config) for one in root.functions]
    made = for_cpu(lower(root, recipe.config), recipe.config, functions=functions)
    return compile_kernel(made, recipe.config, functions=functions).code


def test_facts_describe_the_schedules_of_gpu_tasks() -> None:
    """The schedules of tasks, in words."""
    ti.init(arch=ti.cpu)
    x, bins, a = ti.field(ti.f32, 5000), ti.field(ti.i32, 16), ti.field(ti.f32, (64, 512))

    @ti.kernel
    def scheduled():
        for i in x:
            x[i] += 1.0
        for i in x:
            bins[int(x[i]) % 16] += 1
        for i in range(64):
            total = 0.0
            for j in range(512):
                total += a[i, j]
            x[i] = total

    facts = scheduled.stages().on("cuda").facts
    assert "a thread takes    4 neighbours" in facts
    assert "a block has       32 copies of bins" in facts
    assert "a warp takes      one iteration, and its lanes share the iterations of the loop in it" in facts


def test_registers_and_blocks_of_a_gpu(step: Any) -> None:
    facts = step.stages(0.5).on("cuda").facts
    assert "256 threads" in facts
    assert re.search(r"registers +\d+ per thread|no ptxas was found", facts)


def test_functions_that_are_called_on_a_gpu() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 16)

    @ti.real_func
    def digits(n: ti.i32) -> ti.i32:
        result = 1
        if n >= 10:
            result = 1 + digits(n // 10)
        return result

    @ti.kernel
    def count():
        for i in x:
            x[i] = digits(i * i)

    stages = count.stages().on("cuda")
    assert "256 threads" in stages.facts
    assert "weft_fn_digits" in stages.ptx


# ---- texts of others -------------------------------------------------------------------------------------------------


def test_metadata_of_llvm_becomes_places() -> None:
    text = '  %a = add i32 1, 2, !dbg !7\n  ret void\n!7 = !DILocation(line: 3, column: 1, scope: !5)\n!8 = !{!"x"}\n'
    listing = of_llvm(text)
    assert listing == '  %a = add i32 1, 2\n  ret void\n!8 = !{!"x"}\n'
    assert listing.spots == (3, 0, 0)


def test_places_of_assembly() -> None:
    text = (
        "f:\n\t.cfi_startproc\n\t.loc\t1 4 1\n\tmov\teax, ebx\n.LBB0_1:\n\tret\n\t.section\t.debug_abbrev\n\t.byte\t1\n"
    )
    listing = of_assembly(text)
    assert listing == "f:\n\tmov\teax, ebx\n.LBB0_1:\n\tret\n"
    assert listing.spots == (0, 4, 0, 4)


def test_places_of_sass() -> None:
    text = '\t.text.f:\n\t//## File "spots", line 6\n        /*0000*/       MOV R1, R2 ;\n'
    text += f"        /*0010*/{' ' * 14}@P0 EXIT ;\n"  # an instruction stands far from its address
    listing = of_sass(text)
    assert listing == "\t.text.f:\n        /*0000*/       MOV R1, R2 ;\n        /*0010*/  @P0 EXIT ;\n"
    assert listing.spots == (0, 6, 6)
