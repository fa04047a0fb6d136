"""Random programs of several functions: those of `generate_source.py`, with `@func`s and `@real_func`s that they call.

    @ti.func                                        inlined: any kinds of parameters, early returns, loops
    def f1(i, p0, p1): ...
    @ti.real_func                                   called: with types, it may call itself until `n` is 0
    def r2(i: ti.i32, n: ti.i32, p0: S) -> ti.f32: ...
    @ti.func
    def f3(i, p0: ti.template()): ...               may change the variable of its caller

Every function takes the iteration's index first, so that it may touch what belongs to the iteration.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.generate_source import HEADER, Function, Writer

__all__ = ["sources"]

_TYPES = {
    "int": "ti.i32",
    "float": "ti.f32",
    "v3": "ti.math.vec3",
    "v2": "ti.types.vector(2, ti.i32)",
    "m2": "ti.math.mat2",
    "s": "S",
    "small": "ti.i32",
    "pair": "(ti.i32, ti.f32)",
    "xs": "ti.types.ndarray(dtype=ti.f32, ndim=2)",
    "ks": "ti.types.ndarray(dtype=ti.i32, ndim=1)",
}
_VALUES = ("int", "float", "v3", "v2", "m2", "s")


class _Body(Writer):
    """The body of a function that returns `result`; inside `loops` loops a `return` leaves all of them."""

    def __init__(self, draw: Any, functions: list[Function], function: Function, pure: bool, again: bool) -> None:
        super().__init__(draw, functions, pure)
        self.function, self.again = function, again
        names = [f"p{k}" for k, _ in enumerate(function.params)]
        self.scopes = [{"i": "index"}]
        known = {n: k for n, k in zip(names, function.params) if k not in ("xs", "ks")}
        self.scopes[0] |= {n: "index" if k == "small" else k.lstrip("&") for n, k in known.items()}

    def element(self, *types: str) -> str:
        """Arrays are in sight only where they are passed."""
        found = super().element(*types)
        return found if self.sees(found) else "oi[i]" if "i32" in types else "of[i]"

    def sees(self, text: str) -> bool:
        return text[:2] not in ("xs", "ks") or text[:2] in self.function.params

    def _array(self, depth: int, indent: int) -> None:
        before = len(self.lines)
        super()._array(depth, indent)
        if not self.sees(self.lines[-1].strip()):
            del self.lines[before:]
            self._let(depth, indent)

    def _called(self, depth: int, indent: int) -> None:
        """Functions that take arrays are left to those that have them."""
        known = self.functions
        self.functions = [one for one in known if not {"xs", "ks"} & {*one.params} - {*self.function.params}]
        super()._called(depth, indent)
        self.functions = known

    def _fitting(self, kind: str, effects: bool) -> list[Function]:
        mine = {*self.function.params}
        return [one for one in super()._fitting(kind, effects) if not {"xs", "ks"} & {*one.params} - mine]

    def _leave(self, indent: int) -> None:
        if self.chance(2):
            self.put(indent, f"if {self.truth(1)}:")
            self.put(indent + 1, self.pick(("break", "continue", self.given_back(1))))

    def given_back(self, depth: int) -> str:
        """A return statement."""
        kind = self.function.result
        if kind == "":
            return "return"
        if kind == "pair":
            return f"return {self.whole(depth)}, {self.real(depth)}"
        return f"return {self.value(kind, depth)}"

    def write(self) -> None:
        """All of it."""
        self.scopes.append({})
        if self.again:
            self.put(1, "if p0 <= 0:")
            self.put(2, self.given_back(1))
        for _ in range(self.draw(st.integers(1, 3))):
            self.statement(1, 1)
            ready = all(self.known(kind[1:]) for kind in self.function.params if kind[0] == "&")
            if self.function.result not in ("", "pair") and self.again and ready and self.chance(1):
                others = [self.argument(kind, 1) for kind in self.function.params[1:]]
                call = f"{self.function.name}({', '.join(['i', 'p0 - 1', *others])})"
                self.let(self.function.result, call, 1)
            if self.chance(3):
                self.put(1, f"if {self.truth(1)}:")
                self.put(2, self.given_back(1))
        self.put(1, self.given_back(2))


def _function(draw: Any, number: int, functions: list[Function]) -> tuple[Function, list[str]]:
    """One function and its lines. At most one parameter is a reference, so that no variable has two names."""
    real = draw(st.booleans())
    again = real and draw(st.booleans())
    arrays = draw(st.sampled_from(((), (), ("xs",), ("ks",), ("xs", "ks"))))
    values = draw(st.lists(st.sampled_from(_VALUES), max_size=3))
    result = draw(st.sampled_from(("int", "int", "float", "float", "v3", "v2", "m2", "s", "pair", "")))
    changed = [f"&{draw(st.sampled_from(_VALUES))}"] if draw(st.integers(0, 2)) == 2 else []
    params = (*(["small"] if again else []), *changed, *values, *arrays)
    pure = draw(st.booleans()) and result not in ("", "pair")
    made = Function(f"{'r' if real else 'f'}{number}", params, result, not pure or bool(changed))
    body = _Body(draw, functions, made, pure, again)
    body.write()
    names = [kind if kind in ("xs", "ks") else f"p{k}" for k, kind in enumerate(params)]
    types = {name: "ti.template()" if kind[0] == "&" else _TYPES[kind] for name, kind in zip(names, params)}
    typed = [f"{name}: {type}" if real or type == "ti.template()" else name for name, type in types.items()]
    head = f"def {made.name}({', '.join(['i: ti.i32' if real else 'i', *typed])})"
    arrow = f" -> {_TYPES[result]}" if real and result else ""
    return made, [f"@ti.{'real_func' if real else 'func'}", f"{head}{arrow}:", *body.lines, ""]


@st.composite
def sources(draw: Any) -> str:
    """The text of a program: functions, and the kernel `run`."""
    functions: list[Function] = []
    lines: list[str] = []
    for number in range(draw(st.integers(0, 3))):
        made, text = _function(draw, number, functions)
        functions.append(made)
        lines += text
    lines.append("@ti.kernel")
    lines.append(f"def run(a: ti.i32, b: ti.f32, xs: {_TYPES['xs']}, ks: {_TYPES['ks']}):")
    for _ in range(draw(st.integers(1, 2))):
        writer = Writer(draw, functions)
        writer.scopes = [{"i": "index", "a": "index", "b": "given"}, {}]
        lines.append(f"    for i in {draw(st.sampled_from(('range(COUNT)', 'oi', 'ov')))}:")
        for _ in range(draw(st.integers(2, 6))):
            writer.statement(2, 2)
        lines += writer.lines
    return HEADER + "\n".join(lines) + "\n"
