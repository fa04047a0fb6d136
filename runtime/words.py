"""Blocks of 8-byte words that Python writes and native code reads, both by the words' names."""

from __future__ import annotations

__all__ = ["Words"]


class Words:
    """The words of one kind of block, in order: `Words("plan", "next", "entry")` is a block that native code has in
    `%plan`."""

    def __init__(self, pointer: str, *names: str) -> None:
        self.pointer, self.names = pointer, names

    def __len__(self) -> int:
        return len(self.names)

    def block(self, **values: int) -> list[int]:
        """The words with those values, one for each name."""
        assert values.keys() == set(self.names), sorted(values.keys() ^ set(self.names))
        return [values[name] for name in self.names]

    def read(self, *wanted: str) -> str:
        """LLVM IR that loads words: `read("ptr entry")` defines `%entry`, and `%entry.at`, where it lies."""
        lines: list[str] = []
        for one in wanted:
            kind, name = one.split()
            lines.append(f"%{name}.at = getelementptr i64, ptr %{self.pointer}, i64 {self.names.index(name)}")
            lines.append(f"%{name} = load {kind}, ptr %{name}.at")
        return "\n  ".join(lines)
