"""State that the functions of one LLVM module share: declarations, alias metadata, sites, the math library, the
options.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from weft.ir.artifact import Site, Slots
from weft.ir.config import CompileConfig
from weft.ir.scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from weft.codegen.llvm.call_ops import Callee
    from weft.codegen.llvm.function import FunctionWriter
    from weft.ir.mapping.stretches import Stretches
    from weft.ir.types import Prim

__all__ = ["MathLibrary", "ModuleWriter"]

_TAG = re.compile(r"!\{(scope|others):(\d+)\}")
_MOST_COMPONENTS = 32
_UNTAGGED = ("local", "")  # locals, of which LLVM knows all, and memory that we know nothing of


class MathLibrary(Protocol):
    """How a target computes sin, exp, pow ..."""

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        """Emit a call of the function `kind` on operands of `type`. Gives the register of the result."""
        ...


@dataclass
class ModuleWriter:
    """The module that is being emitted.

    `callees` are the called functions, by name. `floor` computes the end of the stack in an entry of the arch.
    `leave_if_failed` leaves a function after a called one has failed. `stretches` says where loops test whether the
    launch must end, if they do.

    An arch may override the following. `own` emits an operator on a type in its own way. `sync_scope` says which
    threads take part in atomics (empty: all). `tree_base` is metadata on the addresses of SNode trees. `local_space` is
    the address space of locals (empty: the default one).
    """

    config: CompileConfig
    slots: Slots
    math: MathLibrary
    attributes: str = "nounwind"
    functions: list[str] = field(default_factory=list[str])
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    kept: dict[str, None] = field(default_factory=dict[str, None])
    sites: list[Site] = field(default_factory=list[Site])
    metadata: list[str] = field(default_factory=list[str])
    hints: dict[str, str] = field(default_factory=dict[str, str])
    scopes: dict[Scope, int] = field(default_factory=dict[Scope, int])
    own: dict[tuple[str, Prim], Callable[..., str]] = field(default_factory=dict)
    callees: Mapping[str, Callee] = field(default_factory=dict[str, "Callee"])
    floor: Sequence[str] = ()
    leave_if_failed: Callable[[FunctionWriter], None] | None = None
    stretches: Stretches | None = None
    sync_scope: str = ""
    tree_base: str = ""
    local_space: str = ""

    @property
    def fast(self) -> str:
        """Fast-math flags. NaN and infinity keep their meaning, so that a simulation that diverged shows it. `nsz` is
        left to Weft's own rules: with it, LLVM spends most of its time on the signs of long sums."""
        return "reassoc arcp contract afn " if self.config.fast_math else ""

    def declare(self, signature: str, attributes: str = "") -> str:
        """Declare `type @name(types)` once; gives the name without '@'."""
        name = signature.partition("@")[2].partition("(")[0]
        self.declarations.setdefault(name, f"declare {signature} {attributes}".rstrip())
        return name

    def keep(self, name: str) -> None:
        """Keep the declaration `name` although nothing calls it yet."""
        self.kept[name] = None

    def site(self, site: Site) -> int:
        """Number a print or an assertion."""
        self.sites.append(site)
        return len(self.sites) - 1

    def node(self, text: str) -> str:
        """A fresh metadata node."""
        self.metadata.append(text)
        return f"!{len(self.metadata) - 1}"

    def hint(self, text: str) -> str:
        """The metadata node of a loop hint. All loops share it."""
        if text not in self.hints:
            self.hints[text] = self.node(f"!{{{text}}}")
        return self.hints[text]

    def odds(self, likely: bool) -> str:
        """The metadata of a branch of which one side is rarely taken: the second one if `likely`."""
        first, second = (1 << 20, 1) if likely else (1, 1 << 20)
        weights = self.hint(f'!"branch_weights", i32 {first}, i32 {second}')
        return f", !prof {weights}"

    def loop_hints(self, *hints: str, copies: bool = True) -> str:
        """What marks the branch back to the head of a loop with those metadata nodes. Without `copies`, LLVM does not
        unroll it."""
        if not copies:
            hints = (*hints, self.hint('!"llvm.loop.unroll.disable"'))
        if not hints:
            return ""
        loop = self.node("")
        self.metadata[int(loop[1:])] = f"distinct !{{{', '.join([loop, *hints])}}}"
        return f", !llvm.loop {loop}"

    def access(self, scope: Scope, group: str) -> str:
        """The metadata of a memory access: the memory that it may access, and its parallel loop."""
        if scope.kind in _UNTAGGED:
            return ""
        number = self.scopes.setdefault(scope, len(self.scopes))
        tag = f", !alias.scope !{{scope:{number}}}, !noalias !{{others:{number}}}"
        return tag + (f", !llvm.access.group {group}" if group else "")

    def text(self, header: str, functions: Sequence[str] | None = None) -> str:
        """The finished module, or one with only those functions."""
        nodes = [*self.metadata]
        kept = ", ".join(f"ptr @{name}" for name in self.kept)
        used = f'@llvm.compiler.used = appending global [{len(self.kept)} x ptr] [{kept}], section "llvm.metadata"'
        written = self.functions if functions is None else functions
        body = "\n".join([header, used if kept else "", *self.declarations.values(), "", *written])
        body = self._resolve_scopes(body, nodes)
        numbered = (f"!{number} = {text}" for number, text in enumerate(nodes))
        return body + "\n" + "\n".join(numbered) + "\n"

    def _resolve_scopes(self, body: str, metadata: list[str]) -> str:
        """Fill in the alias scopes, which are known only after every access is emitted.

        Fields and arrays do not overlap, except exposed ones.
        """
        if not self.scopes:
            return body
        named = _bounded(self.scopes)

        def node(text: str) -> str:
            metadata.append(text)
            return f"!{len(metadata) - 1}"

        domain = node('distinct !{!"fields"}')
        nodes = {scope: node(f'distinct !{{!"{scope}", {domain}}}') for scope in dict.fromkeys(named)}
        tags: dict[tuple[str, Scope], str] = {}
        for scope, own in nodes.items():
            tags["scope", scope] = node(f"!{{{own}}}")
            apart = [n for other, n in nodes.items() if not scope.may_overlap(other)]
            tags["others", scope] = node(f"!{{{', '.join(apart)}}}")
        return _TAG.sub(lambda found: tags[found[1], named[int(found[2])]], body)


def _bounded(scopes: Iterable[Scope]) -> list[Scope]:
    """The scopes that the metadata names: the components of a field separately, or as one if there are many. (The
    metadata lists each pair of distinct scopes, and LLVM finds by itself that components are distinct.)"""
    components = Counter(scope.whole for scope in scopes)
    return [scope.whole if components[scope.whole] > _MOST_COMPONENTS else scope for scope in scopes]
