"""Numbers, as type checkers see them: `ti.f32` is Python's `float`, so that kernels take numbers of Python.

As values, they are the types of elements: `ti.field(ti.f32, 8)`. A call converts: `ti.i32(x)`."""

from typing import TypeAlias

f16: TypeAlias = float
"""16-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f16(x)` converts."""
f32: TypeAlias = float
"""32-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f32(x)` converts."""
f64: TypeAlias = float
"""64-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f64(x)` converts."""
i8: TypeAlias = int
"""8-bit signed integers: the type of a value, or of the elements of a field. `ti.i8(x)` converts."""
i16: TypeAlias = int
"""16-bit signed integers: the type of a value, or of the elements of a field. `ti.i16(x)` converts."""
i32: TypeAlias = int
"""32-bit signed integers: the type of a value, or of the elements of a field. `ti.i32(x)` converts."""
i64: TypeAlias = int
"""64-bit signed integers: the type of a value, or of the elements of a field. `ti.i64(x)` converts."""
u1: TypeAlias = int
"""Truth values: 0 or 1."""
u8: TypeAlias = int
"""8-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u8(x)` converts."""
u16: TypeAlias = int
"""16-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u16(x)` converts."""
u32: TypeAlias = int
"""32-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u32(x)` converts."""
u64: TypeAlias = int
"""64-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u64(x)` converts."""
float16: TypeAlias = float
"""16-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f16(x)` converts."""
float32: TypeAlias = float
"""32-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f32(x)` converts."""
float64: TypeAlias = float
"""64-bit floating-point numbers: the type of a value, or of the elements of a field. `ti.f64(x)` converts."""
int8: TypeAlias = int
"""8-bit signed integers: the type of a value, or of the elements of a field. `ti.i8(x)` converts."""
int16: TypeAlias = int
"""16-bit signed integers: the type of a value, or of the elements of a field. `ti.i16(x)` converts."""
int32: TypeAlias = int
"""32-bit signed integers: the type of a value, or of the elements of a field. `ti.i32(x)` converts."""
int64: TypeAlias = int
"""64-bit signed integers: the type of a value, or of the elements of a field. `ti.i64(x)` converts."""
uint1: TypeAlias = int
"""Truth values: 0 or 1."""
uint8: TypeAlias = int
"""8-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u8(x)` converts."""
uint16: TypeAlias = int
"""16-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u16(x)` converts."""
uint32: TypeAlias = int
"""32-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u32(x)` converts."""
uint64: TypeAlias = int
"""64-bit unsigned integers: the type of a value, or of the elements of a field. `ti.u64(x)` converts."""
