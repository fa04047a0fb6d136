"""SIMT ops in the IR: what passes may not do to them, and blocks of threads in the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.simt import SIMT, Seat
from weft.ir.text import print_ir
from weft.ir.verify import verify

KERNEL = """\
kernel @reverse() -> () {
  field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  struct_for @x (%i: i32) {
    %0 = const 1 : i32
    %pad = shared shape=(8) : [f32; 1]
    %1 = array_ptr %pad[%i] : *f32
    %2 = cast %i : f32
    store %1, %2
    simt block_sync []
    %3 = load %1 : f32
    %4 = simt block_sync_count [%0] : i32
    %5 = simt block_sync_count [%0] : i32
    %6 = binary add %4, %5 : i32
    %7 = cast %6 : f32
    %8 = binary add %3, %7 : f32
    %9 = field_ptr @x[%i] : *f32
    store %9, %8
  }
}
"""


def test_barriers_keep_their_number_and_their_place() -> None:
    config = CompileConfig(verify=True)
    kernel = run_passes(parse(KERNEL), (*TO_TASKS, *TO_LOWERED), config)
    text = print_ir(kernel)
    assert text.count("simt block_sync_count") == 2
    assert text.index("simt block_sync []") > text.index("store")  # what is shared is stored before
    assert text.index("load") > text.index("simt block_sync []")  # and is not known after
    assert "shared_base number=0, bytes=32" in text
    assert 'scope="shared:0"' in text


@pytest.mark.parametrize("lowered", [False, True])
def test_the_evaluator_has_blocks_of_threads(lowered: bool) -> None:
    kernel = parse(KERNEL)
    memory = Memory.of(kernel.fields)
    config = CompileConfig()
    if lowered:
        run_passes(kernel, (*TO_TASKS, *TO_LOWERED), config)
    evaluate(kernel, [], memory, config)
    assert (memory.read(kernel.fields[0]) == np.arange(8) + 16).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("simt block_sync [%0]", "has 1 operands; expected 0"),
        ("%w = simt warp_ballot [%2] : i32", "of type f32; expected i32"),
        ("%w = simt warp_ballot [%0] : f32", "has the type f32; expected i32"),
        ("%w = shared shape=(0) : [f32; 1]", "has the shape"),
        ("%w = shared shape=(2, 2) : [f32; 1]", "has the shape"),
    ],
)
def test_the_verifier_says_what_is_wrong(wrong: str, said: str) -> None:
    with pytest.raises(InternalError, match=said):
        verify(parse(KERNEL.replace("simt block_sync []", wrong)), "chi")


def test_every_row_says_what_one_thread_gets() -> None:
    for row in SIMT.values():
        result = row.result(Seat(), {0: [np.int32(3) for _ in row.takes]})
        assert (result is None) == (repr(row.gives) == "void")
