"""Bodies of loops that access memory in every way, for tests of lanes.

`&x.1[k]` is the address of component 1 of `x[%k]`, `&x.1[k+2]` that of `x[%k + 2]`."""

from __future__ import annotations

import re

from tests.ir.tile_cases import TILES

__all__ = ["CASES", "kernel_text"]

KERNEL = """\
kernel @k() -> () {
  field @x: f32x3[96] tree=0 components=(0, 4, 8) terms=((0, 1, 96, 12))
  field @y: i32x2[96] tree=1 components=(0, 4) terms=((0, 1, 96, 8))
  field @z: f32x4[96] tree=2 components=(0, 4, 8, 12) terms=((0, 1, 96, 16))
  field @out: f32[96] tree=3 components=(0) terms=((0, 1, 96, 4))
  field @idx: i32[96] tree=4 components=(0) terms=((0, 1, 96, 4))
  field @b: u8[96] tree=5 components=(0) terms=((0, 1, 96, 1))
  field @t: u1[96] tree=6 components=(0) terms=((0, 1, 96, 1))
  field @h: f16[96] tree=7 components=(0) terms=((0, 1, 96, 2))
  field @n: i32[4] tree=8 components=(0) terms=((0, 1, 4, 4))
  field @p: f32x12[96] tree=9 components=PARTS terms=((0, 1, 96, 48))
  task range_for schedule={SCHEDULE} bounds {
    %start = const 0 : i64
    %end = const COUNT : i64
    yield begins=[%start], ends=[%end]
  } prologue {
    %zero = const 0 : i64
    %one = const 1 : i64
    %two = const 2 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %twelve = const 12 : i64
    %sixteen = const 16 : i64
    %forty = const 40 : i64
    %some = const 7 : i32
    %three = const 3 : i32
    %half = const 0.5 : f32
    %base_x = tree_base tree=0 : *i64
    %base_y = tree_base tree=1 : *i64
    %base_z = tree_base tree=2 : *i64
    %base_out = tree_base tree=3 : *i64
    %base_idx = tree_base tree=4 : *i64
    %base_b = tree_base tree=5 : *i64
    %base_t = tree_base tree=6 : *i64
    %base_h = tree_base tree=7 : *i64
    %base_n = tree_base tree=8 : *i64
    %fortyeight = const 48 : i64
    %base_p = tree_base tree=9 : *i64
    %n = address %base_n, indices=[], strides=[], offset=0, scope="field:n" : *i32
  } body (%i: i64) {
    %i32 = cast %i : i32
    %f = cast %i : f32
    %at = address %base_idx, indices=[%i], strides=[%four], offset=0, scope="field:idx" : *i32
    %k32 = load %at : i32
    %k = cast %k32 : i64
    %odd = binary and %k32, %three : i32
    %here = binary lt %odd, %three : u1
BODY
  }
}
"""
FIELDS = {
    "x": ("f32", "twelve", 12),
    "y": ("i32", "eight", 8),
    "z": ("f32", "sixteen", 16),
    "out": ("f32", "four", 4),
    "b": ("u8", "one", 1),
    "t": ("u1", "one", 1),
    "h": ("f16", "two", 2),
    "n": ("i32", "four", 4),
    "p": ("f32", "fortyeight", 48),
}
PLACE = re.compile(r"&(\w+)(?:\.(\d+))?\[(\w+)(?:\+(\d+))?\]")

# Where a case needs `%j`, its first line defines it, and its addresses follow.
CASES = {
    **TILES,
    "row of three": """
        %a = load &x.0[i] : f32
        %b = load &x.1[i] : f32
        %c = load &x.2[i] : f32
        %d = binary sub %a, %b : f32
        %e = binary mul %d, %c : f32
        store &out[i], %e""",
    "row stored whole": """
        store &x.0[i], %f
        store &x.1[i], %half
        %a = binary mul %f, %half : f32
        store &x.2[i], %a""",
    "row read in between": """
        store &x.0[i], %f
        %a = load &x.0[i] : f32
        store &x.1[i], %a
        %b = load &x.1[i] : f32
        store &out[i], %b""",
    "row read in a branch": """
        store &x.0[i], %f
        if %here then {
          %a = load &x.0[i] : f32
          store &out[i], %a
        }
        store &x.1[i], %half""",
    "part stored twice": """
        store &x.0[i], %f
        store &x.1[i], %f
        store &x.0[i], %half""",
    "row of some lanes": """
        if %here then {
          store &x.1[i], %f
          store &x.2[i], %f
          store &y.1[i], %k32
        }""",
    "rows two apart": """
        %j = binary mul %i, %two : i64
        store &y.0[j], %i32
        store &y.1[j], %k32
        %a = load &z.3[j] : f32
        store &z.1[j], %a""",
    "cells of two": """
        %a = load &y.0[k] : i32
        %b = load &y.1[k] : i32
        %c = binary sub %a, %b : i32
        store &n[zero], %some
        store &y.0[i], %c""",
    "cells of three": """
        %a = load &x.0[k] : f32
        %b = load &x.1[k] : f32
        %c = load &x.2[k] : f32
        %d = binary sub %a, %b : f32
        %e = binary mul %d, %c : f32
        store &out[i], %e""",
    "cells of four": """
        if %here then {
          %a = load &z.1[k] : f32
          %g = binary mul %a, %half : f32
          %b = load &z.3[k] : f32
          %c = binary sub %g, %b : f32
          store &out[i], %c
        }""",
    "cell written in between": """
        %a = load &x.0[k] : f32
        %b = load &x.1[k] : f32
        %c = binary sub %a, %b : f32
        store &x.1[k], %c
        %d = load &x.1[k] : f32
        %e = binary add %d, %a : f32
        store &out[i], %e""",
    "cell written in a branch": """
        %a = load &y.0[k] : i32
        %b = load &y.1[k] : i32
        if %here then {
          store &y.1[k], %i32
        }
        %c = load &y.1[k] : i32
        %d = binary sub %c, %a : i32
        %e = binary add %d, %b : i32
        store &y.0[i], %e""",
    "cells that are neighbours": """
        %a = load &x.0[k] : f32
        %b = load &x.1[k] : f32
        %c = load &x.0[k+1] : f32
        %d = load &x.2[k+1] : f32
        %e = binary sub %a, %b : f32
        %g = binary mul %e, %c : f32
        %h = binary add %g, %d : f32
        store &out[i], %h""",
    "addresses in steps": """
        %cell = address %base_z, indices=[%k], strides=[%sixteen], offset=0, scope="field:z" : *f32
        %wide = cast %odd : i64
        %own = address %cell, indices=[%wide], strides=[%four], offset=0, scope="field:z" : *f32
        %a = load %own : f32
        for %zero, %two, %one (%c: i64) {
          %p = address %cell, indices=[%c], strides=[%four], offset=4, scope="field:z" : *f32
          %b = load %p : f32
          %q = address %base_y, indices=[%wide, %c], strides=[%eight, %four], offset=640, scope="field:y" : *i32
          %d0 = load %q : i32
          %t = address %base_y, indices=[%wide, %one], strides=[%eight, %four], offset=640, scope="field:y" : *i32
          %d1 = load %t : i32
          %d = binary sub %d0, %d1 : i32
          %e = cast %d : f32
          %g = binary sub %b, %e : f32
          %r = address %base_x, indices=[%i, %c], strides=[%twelve, %four], offset=0, scope="field:x" : *f32
          store %r, %g
        }
        store &out[i], %a
        %0 = atomic add %own, %half : f32
        %1 = atomic add %cell, %f : f32
        %mine = address %base_z, indices=[%i], strides=[%sixteen], offset=0, scope="field:z" : *f32
        %any = address %mine, indices=[%wide], strides=[%four], offset=0, scope="field:z" : *f32
        store %any, %half""",
    "clamped twice": """
        %next = binary add %i, %one : i64
        %near = binary min %next, %twelve : i64
        %few = binary min %i, %two : i64
        %p = address %base_z, indices=[%near, %few], strides=[%sixteen, %four], offset=0, scope="field:z" : *f32
        %a = load %p : f32
        store &out[i], %a""",
    "cells of inactive lanes are outside": """
        %j = binary sub %k, %forty : i64
        %a = load &x.0[j] : f32
        %b = load &x.1[j] : f32
        %c = binary sub %a, %b : f32
        store &out[i], %c""",
    "unsigned index": """
        %j0 = cast %k32 : u32
        %j = cast %j0 : i64
        %a = load &h[j] : f16
        store &h[i], %a""",
    "clamped in steps": """
        %next = binary add %i, %two : i64
        %near = binary min %next, %twelve : i64
        %cell = address %base_z, indices=[%near], strides=[%sixteen], offset=0, scope="field:z" : *f32
        %p = address %cell, indices=[], strides=[], offset=8, scope="field:z#2" : *f32
        %a = load %p : f32
        store &out[i], %a""",
    "indices that fall": """
        %j = binary sub %forty, %i : i64
        %a = load &x.1[j] : f32
        %falls = binary sub %some, %i32 : i32
        %wide = cast %falls : i64
        %p = address %base_out, indices=[%wide], strides=[%four], offset=64, scope="field:out" : *f32
        %b = load %p : f32
        %c = binary sub %a, %b : f32
        store &z.0[i], %c
        %0 = atomic add &y.0[k], %falls : i32""",
    "rare store to one address": """
        %rare = binary eq %i32, %some : u1
        if %rare then {
          store %n, %k32
        }""",
    "bytes": """
        %a = load &b[k] : u8
        %c = load &b[i] : u8
        %d = binary add %a, %c : u8
        if %here then {
          store &b[i], %d
        }""",
    "truth values": """
        %a = load &t[i] : u1
        %b = load &t[k] : u1
        %c = binary xor %a, %here : u1
        store &t[k], %c
        store &t[i], %b""",
    "half floats": """
        %a = load &h[k] : f16
        %b = load &h[i] : f16
        %c = binary add %a, %b : f16
        store &h[i], %c""",
    "clamped": """
        %j0 = binary add %i, %one : i64
        %j = binary min %j0, %sixteen : i64
        %a = load &x.1[j] : f32
        %b = load &out[j] : f32
        if %here then {
          %c = load &x.2[j] : f32
          %d = binary sub %a, %c : f32
          %e = binary add %d, %b : f32
          store &y.1[i], %three
          store &z.0[i], %e
        }""",
    "own and common": """
        %v = alloca : *i32
        store %v, %some
        %w = alloca : *f32
        store %w, %half
        while {
          %a = load %v : i32
          %go = binary lt %a, %k32 : u1
          if %go orelse {
            break
          }
          %b = binary add %a, %three : i32
          store %v, %b
          %c = load %w : f32
          %d = binary add %c, %f : f32
          store %w, %d
        }
        %e = load %w : f32
        store &out[i], %e""",
    "local that outlives a loop": """
        %v = alloca : *i32
        store %v, %some
        %w = alloca : *i32
        store %w, %three
        for %zero, %two, %one (%c: i64) {
          while {
            %a = load %v : i32
            %b = load %w : i32
            %d = binary add %a, %b : i32
            store %w, %d
            %go = binary lt %a, %k32 : u1
            if %go orelse {
              break
            }
            %e = binary add %a, %three : i32
            store %v, %e
          }
        }
        %g = load %w : i32
        store &y.0[i], %g""",
    "local array": """
        %v = alloca : *i32x4
        %first = address %v, indices=[], strides=[], offset=0, scope="local:0" : *i32
        %second = address %v, indices=[], strides=[], offset=4, scope="local:0" : *i32
        %third = address %v, indices=[], strides=[], offset=8, scope="local:0" : *i32
        %last = address %v, indices=[], strides=[], offset=12, scope="local:0" : *i32
        %wide = cast %odd : i64
        %any = address %v, indices=[%wide], strides=[%four], offset=0, scope="local:0" : *i32
        store %first, %k32
        store %second, %i32
        store %third, %some
        store %last, %three
        if %here then {
          store %any, %odd
        }
        %a = load %any : i32
        %b = load %second : i32
        %c = binary mul %a, %b : i32
        store &y.0[i], %c""",
    "atomics together": """
        %0 = atomic add &x.0[k], %f : f32
        %1 = atomic add &x.2[k], %half : f32
        %2 = atomic sub &x.1[k+1], %f : f32""",
    "atomics of two kinds": """
        %0 = atomic add &y.0[i], %i32 : i32
        %1 = atomic max &y.0[i], %some : i32
        %2 = atomic sub &y.0[i], %three : i32""",
    "atomic read in between": """
        %0 = atomic add &y.0[i], %i32 : i32
        %a = load &y.0[i] : i32
        %1 = atomic add &y.1[i], %a : i32""",
    "atomics and other accesses": """
        %0 = atomic add &y.0[k], %i32 : i32
        %a = load &x.0[k] : f32
        %b = cast %a : i32
        %1 = atomic add &y.1[k], %b : i32
        store &out[i], %a
        %2 = atomic add &y.1[k], %three : i32""",
    "atomic stored over": """
        %0 = atomic add &y.0[i], %i32 : i32
        store &y.0[i], %k32
        %1 = atomic add &y.1[i], %three : i32""",
    "atomic read in a branch": """
        %0 = atomic add &y.0[i], %i32 : i32
        if %here then {
          %a = load &y.0[i] : i32
          store &y.1[i], %a
        }
        %1 = atomic add &y.0[i], %three : i32""",
    "old value in between": """
        %0 = atomic add &y.0[k], %i32 : i32
        %a = atomic add &y.0[k], %three : i32
        %1 = atomic add &y.1[k], %a : i32""",
    "atomic and another part": """
        %0 = atomic add &y.0[k], %i32 : i32
        %a = load &y.1[k] : i32
        %1 = atomic add &y.0[k], %a : i32
        %b = load &y.0[k] : i32
        store &y.0[i], %b""",
    "atomics of one address": """
        if %here then {
          %0 = atomic add %n, %i32 : i32
          %1 = atomic sub %n, %k32 : i32
          %2 = atomic add &y.0[k], %i32 : i32
        }""",
    "old values": """
        if %here then {
          %a = atomic add &y.0[i], %i32 : i32
          store &y.1[i], %a
          %b = atomic or &t[i], %here : u1
          %c = cast %b : u8
          store &b[i], %c
        }""",
    "atomics that do not commute": """
        %j = cast %odd : i64
        %0 = atomic add &n[j], %three : i32
        %1 = atomic max %n, %some : i32
        %2 = atomic add &n[j], %three : i32""",
    "warning": """
        %rare = binary eq %i32, %some : u1
        if %rare then {
          warn [%k32, %i32, %some], message="read {} in iteration {}, not {}", kind="overflow"
          store &out[i], %f
        }""",
    "warning of what lanes share": """
        %rare = binary eq %i32, %some : u1
        if %rare then {
          warn [%some], message="read {}", kind="overflow"
        }""",
    "rarely needed version": """
        %a = load &out[k] : f32
        if %here, versioned=true then {
          store &out[i], %a
        } orelse {
          %b = binary mul %a, %half : f32
          %v = alloca : *f32
          store %v, %b
          if %here then {
            store %v, %a
          }
          for %zero, %two, %one (%c: i64) {
            %d = load %v : f32
            if %here then {
              store &out[i], %d
            } orelse {
              store &x.1[i], %f
              store &x.2[i], %half
              %0 = atomic add &y.0[k], %i32 : i32
            }
          }
        }""",
    "version that uses a local": """
        %v = alloca : *f32
        store %v, %half
        if %here, versioned=true then {
          store %v, %f
        } orelse {
          if %here then {
            store %v, %f
          }
        }
        %a = load %v : f32
        store &out[i], %a""",
    "version that draws": """
        if %here, versioned=true then {
          %a = random stream=1 : f32
          store &out[i], %a
        } orelse {
          %b = random stream=1 : f32
          store &out[i], %b
        }""",
    "version that leaves": """
        if %here, versioned=true then {
          store &out[i], %f
        } orelse {
          if %here orelse {
            continue
          }
          store &out[i], %f
        }
        store &y.0[i], %i32""",
    "random": """
        if %here then {
          %a = random stream=1 : f32
          %b = random stream=1 : f32
          %c = binary sub %a, %b : f32
          store &out[i], %c
        }""",
}
CASES |= {
    f"{name} for all lanes": CASES[name].replace("versioned=true", "general=true")
    for name in ("rarely needed version", "version that uses a local", "version that leaves")
}


def kernel_text(body: str, schedule: str = "", count: int = 11) -> str:
    """A kernel with a loop of that body. `%k` is `idx[%i]`."""
    known: dict[str, str] = {}
    lines = list[str]()
    for line in body.strip("\n").splitlines():
        for found in PLACE.finditer(line):
            name, text = _address(found)
            if name not in known:
                known[name] = text
                depth = 0 if "%j" not in text else len(lines)
                lines.insert(depth, text)
        lines.append("    " + PLACE.sub(lambda found: f"%{_address(found)[0]}", line.strip()))
    return (
        KERNEL.replace("SCHEDULE", schedule)
        .replace("COUNT", str(count))
        .replace("BODY", "\n".join(lines))
        .replace("PARTS", str(tuple(range(0, 48, 4))))
    )


def _address(found: re.Match[str]) -> tuple[str, str]:
    field, part, index, more = found.groups()
    type, stride, size = FIELDS[field]
    scope, offset = f"field:{field}" + (f"#{part}" if part else ""), 4 * int(part or 0) + size * int(more or 0)
    name = f"{field}{part or ''}_{index}{more or ''}"
    where = f'indices=[%{index}], strides=[%{stride}], offset={offset}, scope="{scope}"'
    return name, f"    %{name} = address %base_{field}, {where} : *{type}"
