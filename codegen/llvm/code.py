"""The text of one LLVM function: registers, instructions, basic blocks, stack slots.

It is text and uses no builder library: an f-string line costs a fraction of a microsecond, and the code shows the IR.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Body", "Code", "Jump"]


@dataclass(frozen=True)
class Jump:
    """The targets of `break` and `continue` of the innermost loop."""

    stop: str
    next: str


@dataclass(frozen=True)
class Body:
    """The position of the body of a counted loop: the block `label` in the lines [begin, end), before the block
    `latch`."""

    label: str
    latch: str
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


@dataclass(kw_only=True)
class Code:
    """The text of a function, up to now."""

    slots: list[str] = field(default_factory=list[str])  # the lines of the entry block: stack slots, values needed once
    lines: list[str] = field(default_factory=list[str])  # the lines of all other blocks
    label: str = "start"  # of the current block
    open: bool = True  # whether the current block has no terminator yet
    exit_label: str = "exit"  # of the block that ends the function, or the work of this iteration
    jumps: list[Jump] = field(default_factory=list[Jump])  # of the loops around the current block, the innermost last
    bodies: list[Body] = field(default_factory=list[Body])  # of the loops that are complete (see `outline.py`)
    counter: int = 0  # the number of the last register or label

    # ---- registers and lines ----

    def register(self, hint: str = "v") -> str:
        """A fresh register name."""
        self.counter += 1
        return f"%{hint}{self.counter}"

    def set(self, text: str, hint: str = "v") -> str:
        """Write `%fresh = text` and give the register."""
        name = self.register(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without result."""
        self.lines.append(f"  {text}")

    # ---- blocks ----

    def fresh_label(self, hint: str) -> str:
        """A label not used yet."""
        self.counter += 1
        return f"{hint}{self.counter}"

    def start(self, label: str) -> None:
        """Begin the block `label`. An unfinished block falls through to it."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.label, self.open = label, True

    def jump(self, label: str, metadata: str = "") -> None:
        """End the current block with a branch, if it has not ended already."""
        if self.open:
            self.do(f"br label %{label}{metadata}")
            self.open = False

    def branch(self, condition: str, yes: str, no: str, metadata: str = "") -> None:
        """End the current block with a two-way branch."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{metadata}")
        self.open = False

    def text(self, signature: str) -> str:
        """The finished function. Every path ends at the exit label, which returns."""
        self.jump(self.exit_label)
        self.lines.append(f"{self.exit_label}:")
        return self.returning(signature, "void")

    def returning(self, signature: str, result: str) -> str:
        """The finished function, which returns that value at its end: `i32 %v3`."""
        body = "\n".join(["entry:", *self.slots, "  br label %start", "start:", *self.lines, f"  ret {result}"])
        return f"{signature} {{\n{body}\n}}\n"
