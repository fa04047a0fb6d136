"""Kernels in f64 for tests of derivatives, by name: the text of their bodies, and one kernel with random ops."""

from __future__ import annotations

import numpy as np

from weft.ir import ops
from weft.ir.core import Block, BlockArg, Builder, Value
from weft.ir.parse import parse
from weft.ir.types import Tensor, Type, f64, i32, pointer, tensor, u1

__all__ = ["BODIES", "FIELDS", "kernel_of", "random_kernel"]

EXTENT = 4
_TYPES = {"x": ("f64", 1), "y": ("f64", 1), "v": ("f64x2", 2), "m": ("f64x2x2", 4), "z": ("f64", 1)}
FIELDS = (*_TYPES, "total")
_PARTS = {1: "(0)", 2: "(0, 8)", 4: "(0, 8, 16, 24)"}


def _fields() -> str:
    lines: list[str] = []
    for number, (name, (type, count)) in enumerate(_TYPES.items()):
        layout = f"components={_PARTS[count]} terms=((0, 1, 4, {8 * count})) offset=(0) order=(0)"
        lines.append(f"field @{name}.dual: {type}[4] tree={2 * number} {layout}")
        lines.append(f"field @{name}: {type}[4] tree={2 * number + 1} {layout} dual=@{name}.dual")
    lines.append("field @total.dual: f64 tree=10 components=(0)")
    lines.append("field @total: f64 tree=11 components=(0) dual=@total.dual")
    return "\n".join(lines)


def kernel_of(body: str, mode: str = "jvp", results: str = "()", params: str = "()", fields: str = "") -> ops.Kernel:
    """A kernel at CHI level with that body, and with more fields."""
    head = f"kernel @k{params} -> {results}" + (f" mode={mode}" if mode else "")
    return parse(
        f"{head} {{\n{_fields()}\n{fields}\n%c0 = const 0 : i32 %c1 = const 1 : i32 %c4 = const 4 : i32\n{body}\n}}"
    )


def _loop(body: str) -> str:
    return f"parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ {_AT} {body} }}"


_AT = """%px = field_ptr @x[%i] : *f64  %x = load %px : f64
%py = field_ptr @y[%i] : *f64  %y = load %py : f64  %pt = field_ptr @total[] : *f64
%pv = field_ptr @v[%i] : *f64x2  %v = load %pv : f64x2  %pm = field_ptr @m[%i] : *f64x2x2  %m = load %pm : f64x2x2
%pz = field_ptr @z[%i] : *f64"""

BODIES: dict[str, str] = {
    "operators": _loop(
        """%a = unary sin %x : f64  %b = binary mul %a, %y : f64  %d = binary div %b, %x : f64
        %e = binary pow %x, %y : f64  %f = binary atan2 %d, %e : f64  %g = binary max %f, %y : f64 store %pz, %g"""
    ),
    "tensors": _loop(
        """%w = matmul %m, %v : f64x2  %t = transpose %m : f64x2x2  %q = matmul %m, %t : f64x2x2
        %s = reduce mul %v : f64  %g = reduce max %w : f64  %h = reduce add %q : f64
        %e = extract %w, index=1 : f64  %n = make_tensor [%e, %s] : f64x2  %k = splat %x : f64x2
        %o = binary mul %n, %k : f64x2 store %pv, %o  %1 = binary mul %g, %h : f64 store %pz, %1
        %2 = element_ptr %pm[%c1, %c0] : *f64 store %2, %s"""
    ),
    "structs": _loop(
        """%one = const 1 : i32  %s = make_struct [%one, %v, %x] : {k: i32, p: f64x2, q: f64}
        %l = alloca : *{k: i32, p: f64x2, q: f64}  store %l, %s
        %lp = member_ptr %l, index=1 : *f64x2  %e = element_ptr %lp[%one] : *f64  store %e, %y
        %b = load %l : {k: i32, p: f64x2, q: f64}  %p = member %b, index=1 : f64x2  %q = member %b, index=2 : f64
        %r = reduce add %p : f64  %t = binary mul %r, %q : f64  %u = load %e : f64  %w = binary mul %u, %t : f64
        store %pz, %w"""
    ),
    "branches": _loop(
        """%p = binary lt %x, %y : u1  %l = alloca : *f64  store %l, %x
        if %p then { %1 = binary mul %x, %y : f64 store %l, %1 } orelse { %2 = unary exp %y : f64 store %l, %2 }
        %a = load %l : f64  %b = select %p, %a, %y : f64  %n = cast %b : i32  %f = cast %n : f64
        %o = binary add %b, %f : f64  store %pz, %a  store %px, %o"""
    ),
    "loops": _loop(
        """%l = alloca : *f64  store %l, %x  %two = const 2 : i32
        for %c0, %c4, %c1 (%k: i32) {
          %o = binary eq %k, %two : u1  if %o then { continue }
          %1 = load %l : f64  %2 = unary sin %1 : f64  %3 = binary mul %2, %y : f64  store %l, %3 }
        %n = alloca : *i32  store %n, %c0
        while { %a = load %n : i32  %p = binary ge %a, %two : u1  if %p then { break }
          %b = binary add %a, %c1 : i32  store %n, %b  %d = load %l : f64  %e = binary add %d, %x : f64
          %f = binary mul %e, %d : f64  store %l, %f }
        %z = load %l : f64  store %pz, %z"""
    ),
    "sums": _loop(
        """%a = binary mul %x, %y : f64  %b = atomic add %pt, %a : f64  %d = atomic sub %pz, %a : f64
        %e = unary cos %d : f64  store %px, %e  %f = atomic mul %py, %y : f64  %g = atomic add %pv, %v : f64x2"""
    ),
    "extremes": _loop(
        """%a = binary mul %x, %y : f64  %b = atomic max %pt, %a : f64
        %p = field_ptr @z[%c0] : *f64  %d = atomic min %p, %y : f64"""
    ),
    "products": _loop("%a = atomic mul %pt, %x : f64  %p = field_ptr @z[%c1] : *f64  %d = atomic xchg %p, %y : f64"),
    "shared locals": "%s = shared_local : *f64  %f0 = const 0.5 : f64  store %s, %f0\n"
    + _loop("%a = binary mul %x, %y : f64  %b = atomic add %s, %a : f64")
    + "\n%r = load %s : f64  %q = unary sqrt %r : f64  %t = field_ptr @total[] : *f64  store %t, %q",
    "elements": f"""struct_for @x (%i: i32) {{ {_AT}
        %j = binary add %i, %c1 : i32  %p = binary lt %j, %c4 : u1
        if %p then {{ %q = field_ptr @y[%j] : *f64  %a = load %q : f64  %b = binary mul %a, %x : f64
          %r = field_ptr @z[%j] : *f64  store %r, %b }} orelse {{ continue }}
        store %px, %y }}""",
}


def random_kernel(number: int) -> ops.Kernel:
    """A kernel of random ops, smooth nearly everywhere. Its values stay small."""
    kernel = kernel_of("")
    return _Random(np.random.default_rng(number), kernel).draw()


_VEC, _MAT = tensor(f64, (2,)), tensor(f64, (2, 2))


class _Random:
    def __init__(self, random: np.random.Generator, kernel: ops.Kernel) -> None:
        self.random, self.kernel = random, kernel
        self.build = Builder(kernel.body)
        self.locals: list[Value] = []
        self.fields = {symbol.name: symbol for symbol in kernel.fields}

    def pick(self, *options: str) -> str:
        return str(self.random.choice(options))

    def integer(self, value: int) -> Value:
        return self.build.add(ops.Const(value, type=i32))

    def draw(self) -> ops.Kernel:
        for _ in range(self.random.integers(1, 4)):
            arg = BlockArg(i32, "i")
            loop = ops.ParallelFor([self.integer(0)], [self.integer(EXTENT)], body=Block([arg]))
            self.build.add(loop)
            outer = self.build
            self.build, self.locals = Builder(loop.body), []
            self.owned = self.pick("x", "y", "z")
            for _ in range(2):
                local, value = self.build.add(ops.Alloca(type=pointer(f64))), self.scalar(arg, 1)
                self.build.add(ops.Store(local, value))
                self.locals.append(local)
            for _ in range(self.random.integers(2, 6)):
                self.statement(arg, 2)
            self.build.add(ops.Store(self.place(self.owned, arg), self.scalar(arg, 2)))
            self.build = outer
        return self.kernel

    def place(self, name: str, *indices: Value) -> Value:
        return self.build.add(ops.FieldPtr(self.fields[name], [*indices]))

    def inside(self, block: Block, arg: Value, depth: int) -> None:
        outer, self.build = self.build, Builder(block)
        for _ in range(self.random.integers(1, 3)):
            self.statement(arg, depth)
        self.build = outer

    def statement(self, arg: Value, depth: int) -> None:
        kind = self.pick("local", "local", "field", "sum", *(("if", "for", "while") if depth else ()))
        local = self.locals[self.random.integers(len(self.locals))]
        if kind == "local":
            self.build.add(ops.Store(local, self.scalar(arg, 3)))
        elif kind == "field":
            self.build.add(ops.Store(self.place(self.owned, arg), self.scalar(arg, 2)))
        elif kind == "sum":
            target = local if self.random.random() < 0.5 else self.place("total")
            which = self.pick("add", "sub") if target is not local else self.pick("add", "min", "max", "mul", "xchg")
            self.build.add(ops.Atomic(which, target, self.scalar(arg, 2)))
        elif kind == "if":
            branch = self.build.add(ops.If(self.condition(arg)))
            self.inside(branch.then, arg, depth - 1)
            self.inside(branch.orelse, arg, depth - 1)
        elif kind == "for":
            block = Block([BlockArg(i32, "k")])
            loop = ops.For(self.integer(0), self.integer(int(self.random.integers(1, 4))), self.integer(1), body=block)
            self.inside(self.build.add(loop).body, arg, depth - 1)
            self.leave(loop.body, arg, "continue")
            self.inside(loop.body, arg, 0)
        else:
            loop_ = self.build.add(ops.While())
            self.inside(loop_.body, arg, depth - 1)
            self.leave(loop_.body, arg, "break")
            self.inside(loop_.body, arg, 0)
            loop_.body.append(ops.Break())

    def leave(self, block: Block, arg: Value, kind: str) -> None:
        outer, self.build = self.build, Builder(block)
        branch = self.build.add(ops.If(self.condition(arg)))
        branch.then.append(ops.Break() if kind == "break" else ops.Continue())
        self.build = outer

    def condition(self, arg: Value) -> Value:
        return self.build.add(ops.Binary(self.pick("lt", "gt"), self.scalar(arg, 1), self.scalar(arg, 1), type=u1))

    def scalar(self, arg: Value, depth: int) -> Value:
        add = self.build.add
        if not depth:
            kind = self.pick("field", "local", "const")
            if kind == "local" and self.locals:
                return add(ops.Load(self.locals[self.random.integers(len(self.locals))]))
            if kind == "const":
                return add(ops.Const(round(float(self.random.uniform(-2, 2)), 2), type=f64))
            # other loops own other fields, so no iteration reads what another one writes
            return add(ops.Load(self.place(self.owned, arg)))
        kind = self.pick("unary", "binary", "binary", "select", "reduce", "extract", "power")
        if kind == "power":
            base: Value = self.scalar(arg, depth - 1)
            power = base
            for _ in range(self.random.integers(1, 4)):
                power = add(ops.Binary("mul", *([power, base] if self.random.random() < 0.5 else [base, power])))
            return add(ops.Unary("tanh", power))
        if kind == "unary":
            return add(ops.Unary(self.pick("sin", "cos", "tanh", "atan", "abs", "neg"), self.scalar(arg, depth - 1)))
        if kind == "binary":
            which = self.pick("add", "sub", "mul", "min", "max", "atan2")
            made: Value = add(ops.Binary(which, self.scalar(arg, depth - 1), self.scalar(arg, depth - 1)))
            return add(ops.Unary("tanh", made)) if which == "mul" else made
        if kind == "select":
            condition = self.condition(arg)
            return add(ops.Select(condition, self.scalar(arg, depth - 1), self.scalar(arg, depth - 1)))
        vector = self.vector(arg, depth - 1)
        if kind == "reduce":
            return add(ops.Unary("sin", add(ops.Reduce(self.pick("add", "mul", "min", "max"), vector))))
        return add(ops.Extract(vector, int(self.random.integers(2))))

    def vector(self, arg: Value, depth: int) -> Value:
        add = self.build.add
        kind = self.pick("field", "make", "splat", "matmul")
        if kind == "make":
            return add(ops.MakeTensor([self.scalar(arg, depth), self.scalar(arg, depth)], type=_VEC))
        if kind == "splat":
            return add(ops.Splat(self.scalar(arg, depth), type=_VEC))
        if kind == "matmul":
            matrix: Value = self.load("m", arg, _MAT)
            matrix = add(ops.Transpose(matrix)) if self.random.random() < 0.5 else matrix
            return add(ops.MatMul(matrix, self.load("v", arg, _VEC)))
        return self.load("v", arg, _VEC)

    def load(self, name: str, arg: Value, type: Type) -> Value:
        assert isinstance(type, Tensor)
        return self.build.add(ops.Load(self.place(name, arg)))
