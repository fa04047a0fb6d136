"""Source lines of instructions: LLVM's debug metadata, which becomes `.loc` in PTX and assembly.

Profilers, debuggers and `weft explore` use it. It contains only lines and no variables (like `nvcc -lineinfo`), so the
code stays as fast. It is an option because it puts paths of source files into the code.
"""

from __future__ import annotations

from os.path import basename, dirname

from weft.codegen.llvm.module import ModuleWriter
from weft.ir.errors import Span

__all__ = ["LineTable"]


class LineTable:
    """The lines of one entry. `subprogram` is the metadata of its function."""

    def __init__(self, module: ModuleWriter, name: str, span: Span | None) -> None:
        self.module = module
        self.files: dict[str, str] = {}
        self.places: dict[tuple[str, int, int], str] = {}
        self.scopes: dict[str, str] = {}
        file = self._file(span.file if span is not None else "<unknown>")
        unit = module.node(
            f'distinct !DICompileUnit(language: DW_LANG_Python, file: {file}, producer: "weft", isOptimized: true, '
            "runtimeVersion: 0, emissionKind: DebugDirectivesOnly)"
        )
        self._list("llvm.dbg.cu", unit)
        if "!llvm.module.flags" not in module.declarations:
            self._list("llvm.module.flags", module.node('!{i32 2, !"Debug Info Version", i32 3}'))
        nothing = module.node("!{null}")
        kind = module.node(f"!DISubroutineType(types: {nothing})")
        self.subprogram = module.node(
            f'distinct !DISubprogram(name: "{name}", scope: {file}, file: {file}, line: {span.line if span else 0}, '
            f"type: {kind}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )

    def mark(self, lines: list[str], first: int, span: Span | None) -> None:
        """Say of the lines of code from number `first` on, where nothing is said yet, where they come from."""
        if span is None:
            return
        place = self._place(span)
        for number in range(first, len(lines)):
            if lines[number].startswith("  ") and "!dbg" not in lines[number]:
                lines[number] += f", !dbg {place}"

    def _place(self, span: Span) -> str:
        key = span.file, span.line, span.column
        if key not in self.places:
            scope = self.scopes.get(span.file)
            if scope is None:
                file = self._file(span.file)
                scope = self.module.node(
                    f"!DILexicalBlockFile(scope: {self.subprogram}, file: {file}, discriminator: 0)"
                )
                self.scopes[span.file] = scope
            text = f"!DILocation(line: {span.line}, column: {span.column + 1}, scope: {scope})"
            self.places[key] = self.module.node(text)
        return self.places[key]

    def _file(self, path: str) -> str:
        if path not in self.files:
            name, folder = (part.replace("\\", "/").replace('"', "'") for part in (basename(path), dirname(path)))
            self.files[path] = self.module.node(f'!DIFile(filename: "{name}", directory: "{folder}")')
        return self.files[path]

    def _list(self, name: str, node: str) -> None:
        """Add a node to a named list of the module."""
        known = self.module.declarations.get(f"!{name}", f"!{name} = !{{}}")
        inside = known[known.index("{") + 1 : -1]
        self.module.declarations[f"!{name}"] = f"!{name} = !{{{', '.join(filter(None, [inside, node]))}}}"
