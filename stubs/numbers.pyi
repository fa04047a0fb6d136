"""Numbers, as type checkers see them: `ti.f32` is Python's `float`, so that kernels take numbers of Python.

As values, they are the types of elements: `ti.field(ti.f32, 8)`. A call converts: `ti.i32(x)`."""

from typing import TypeAlias

f16: TypeAlias = float
f32: TypeAlias = float
f64: TypeAlias = float
i8: TypeAlias = int
i16: TypeAlias = int
i32: TypeAlias = int
i64: TypeAlias = int
u1: TypeAlias = int
u8: TypeAlias = int
u16: TypeAlias = int
u32: TypeAlias = int
u64: TypeAlias = int
float16: TypeAlias = float
float32: TypeAlias = float
float64: TypeAlias = float
int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
uint1: TypeAlias = int
uint8: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
uint64: TypeAlias = int
