"""A kernel as bytes comes back as it was; bytes that are none are refused, whatever they are."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ir.archive import ArchiveError, pack, unpack
from weft.ir.artifact import Artifact, Site, Slots
from weft.ir.errors import Span
from weft.ir.symbols import Param
from weft.ir.types import array, f16, f32, i32, i64, struct, tensor, u1

PAIR = struct((("a", i64), ("v", tensor(f32, (3,))), ("inner", struct((("m", tensor(f16, (2, 2))),)))))
PARTS: dict[str, Any] = {"int": 64, "str": "text", "tuple[int, ...]": (0, 1024), "tuple[str, ...]": ("a", "b")}
PLAIN: dict[str, Any] = {
    part.name: PARTS[str(part.type)] for part in dataclasses.fields(Artifact) if part.type in PARTS
}
WHOLE = dataclasses.replace(
    Artifact(
        name="k\u00e9rnel",
        target="cuda",
        code=b"\x00code\n\xff",
        entry="weft_entry",
        slots=Slots(2, (Param("x", array(PAIR, 2, False)), Param("p", PAIR), Param("n", i32)), (u1, PAIR), 40),
        sites=(
            Site("assert", ("i < n \n\u2028",), (i32,), Span("a b.py", 3, 4, 5, 6, "f", Span("c.py", 9))),
            Site("print", ("a", "b"), (tensor(f32, (2, 3)),)),
        ),
        host=b"\n{host}",
    ),
    **{**PLAIN, "target": "cuda", "llvm": ""},
)


def test_round_trip():
    data = pack(WHOLE)
    made = unpack(data)
    for field in dataclasses.fields(Artifact):
        mine, other = getattr(made, field.name), getattr(WHOLE, field.name)
        assert mine == other or field.name == "native", field.name
    assert made.slots.params[0].type is WHOLE.slots.params[0].type
    assert pack(made) == data


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes):
    with pytest.raises(ArchiveError):
        unpack(data)


@given(st.data())
def test_damage(data: st.DataObject):
    whole = bytearray(pack(WHOLE))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArchiveError):
        unpack(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_other_descriptions(data: st.DataObject):
    line, _, rest = pack(WHOLE).partition(b"\n")
    head: Any = json.loads(line)
    part: Any = data.draw(st.sampled_from([head, head["artifact"]]))
    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(JSON)
    try:
        made = unpack(json.dumps(head).encode() + b"\n" + rest)
    except ArchiveError:
        return
    assert isinstance(made, Artifact)
