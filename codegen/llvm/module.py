"""State that the functions of one LLVM module share: declarations, alias metadata, sites, options."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.codegen.llvm.callees import Callee
from weft.ir.artifact import Site, Slots
from weft.ir.config import CompileConfig
from weft.ir.scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["ModuleWriter"]

_TAG = re.compile(r"!\{(scope|others):(\d+)\}")
_MOST_COMPONENTS = 32
_UNTAGGED = ("local", "")  # locals, which LLVM knows completely, and memory about which nothing is known


@dataclass
class ModuleWriter:
    """The module that is being emitted."""

    config: CompileConfig
    slots: Slots  # the words of the context of a launch
    callees: Mapping[str, Callee] = field(default_factory=dict[str, Callee])  # the functions that are called, by name
    functions: list[str] = field(default_factory=list[str])  # the texts of all functions so far
    declarations: dict[str, str] = field(default_factory=dict[str, str])  # and whatever else is global, by name
    kept: dict[str, None] = field(default_factory=dict[str, None])  # declarations that LLVM must keep
    sites: list[Site] = field(default_factory=list[Site])  # prints and assertions, by number
    metadata: list[str] = field(default_factory=list[str])  # nodes, by number
    hints: dict[str, str] = field(default_factory=dict[str, str])  # the nodes of loop hints, by their text
    scopes: dict[Scope, int] = field(default_factory=dict[Scope, int])  # the memory that accesses name, with a number

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

    def rows_inside(self, copies: bool) -> str:
        """What marks the branch back of a loop around loops of which LLVM shall make vectors."""
        return self.loop_hints(self.hint('!"llvm.loop.vectorize.enable", i1 false'), copies=copies)

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
