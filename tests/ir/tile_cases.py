"""Bodies of loops that access parts of wide cells, in the form of `vector_cases.py`."""

from __future__ import annotations

__all__ = ["TILES"]

TILES = {
    "tile": """
        %a = load &p.1[i] : f32
        %b = load &p.4[i] : f32
        %c = load &p.11[i] : f32
        %d = binary sub %a, %b : f32
        %e = binary mul %d, %c : f32
        store &out[i], %e""",
    "tile stored": """
        store &p.3[i], %f
        store &p.4[i], %half
        store &out[i], %half
        %a = binary mul %f, %half : f32
        store &p.9[i], %a""",
    "tile updated in place": """
        %a = load &p.0[i] : f32
        %b = binary mul %a, %half : f32
        store &p.0[i], %b
        %c = load &p.1[i] : f32
        %d = binary sub %c, %b : f32
        store &p.1[i], %d
        %e = load &p.2[i] : f32
        %g = binary sub %e, %d : f32
        store &p.2[i], %g""",
    "tile read after it is stored": """
        %a = load &p.0[i] : f32
        %b = load &p.5[i] : f32
        store &p.5[i], %a
        store &p.6[i], %b
        %c = load &p.5[i] : f32
        store &p.7[i], %c
        %d = load &p.6[i] : f32
        store &out[i], %d""",
    "part of a tile stored twice": """
        store &p.3[i], %f
        store &p.4[i], %f
        store &p.3[i], %half""",
    "tile written elsewhere in between": """
        %a = load &p.0[i] : f32
        %b = load &p.1[i] : f32
        store &p.2[k], %b
        %c = load &p.2[i] : f32
        %d = binary sub %a, %c : f32
        store &p.3[i], %d
        %e = load &p.3[k] : f32
        store &p.4[i], %e""",
    "tile at equal indices": """
        %j = binary mul %i, %one : i64
        %a = load &p.0[i] : f32
        %b = load &p.1[i] : f32
        store &p.2[j], %b
        %c = load &p.2[i] : f32
        %d = binary sub %a, %c : f32
        store &p.3[i], %d
        %e = load &p.3[j] : f32
        store &p.4[i], %e
        store &p.5[i], %f
        store &p.5[j], %d""",
    "tile loaded while a store waits": """
        store &p.1[i], %half
        %a = load &p.11[i] : f32
        store &p.6[i], %f
        %b = load &p.1[i] : f32
        %c = binary sub %a, %b : f32
        store &out[i], %c""",
    "tile and an atomic": """
        %a = load &p.0[i] : f32
        store &p.6[i], %a
        %0 = atomic add &p.1[i], %half : f32
        %b = load &p.1[i] : f32
        store &p.7[i], %b""",
    "tile in a branch": """
        %a = load &p.0[i] : f32
        %b = load &p.1[i] : f32
        store &p.2[i], %b
        if %here then {
          store &p.2[i], %f
          store &p.3[i], %a
        }
        %c = load &p.2[i] : f32
        store &p.4[i], %c""",
    "tiles of two cells": """
        %a = load &p.0[i] : f32
        %b = load &p.11[i] : f32
        %c = load &p.1[i+1] : f32
        %d = load &p.3[i+1] : f32
        %e = binary sub %a, %b : f32
        %g = binary sub %c, %d : f32
        store &out[i], %e
        store &z.0[i], %g""",
    "tile behind a lane that leaves": """
        %a = load &p.0[i] : f32
        store &p.2[i], %a
        if %here orelse {
          continue
        }
        %b = load &p.1[i] : f32
        store &p.3[i], %b
        store &p.4[i], %f""",
}
