"""Where checkpoints go: binomial checkpointing, with leaves of several steps.

A chain of steps is reversed with a bounded memory. A *checkpoint* lets a step run again, and costs `state` bytes. The
*tape* of a step lets its gradients run, and costs `tape` bytes. From a checkpoint, as many steps as fit can be run with
their tapes (a leaf). Otherwise the chain is split: the left part runs without tapes, the right part is reversed first,
and then the left part again, from the checkpoint.

Let V(r, m) be the longest chain that m bytes reverse so that each step runs at most r times without its tape:

    V(0, m) = m / tape
    V(r, m) = V(r - 1, m) + max(V(r, m - state), V(0, m))

for the left part, and the right one with a checkpoint before it or as a leaf.

With leaves of one step this is the rule of Griewank and Walther (Algorithm 799: revolve, ACM TOMS 26, 2000). Longer
leaves use memory that the checkpoints still to come leave free."""

from __future__ import annotations

__all__ = ["split"]


def split(steps: int, free: int, state: int, tape: int) -> tuple[int, bool]:
    """How to reverse a chain of `steps` that begins with a checkpoint, with `free` bytes more: how many steps run
    without tapes first, and whether a checkpoint follows them. Without one, the steps after them are a leaf. A leaf of
    one step is always possible."""
    leaves = _leaves(steps, free, state, tape)
    before = leaves
    while before[0] < steps:
        after = [0] * len(leaves)
        right = 0
        for used in reversed(range(len(leaves))):
            right = after[used] = min(steps, before[used] + max(right, leaves[used]))
        if after[0] >= steps:
            first = _first(steps, before, after, leaves)
            return first, steps - first > leaves[0]
        before = after
    return 0, False


def _first(steps: int, before: list[int], after: list[int], leaves: list[int]) -> int:
    """The length of the left part, of those that need no more runs. `before` and `after` are V(r - 1, m) and
    V(r, m) after 0, 1, 2, ... checkpoints. The last leaf runs once less than the others, so it is as long as
    possible."""
    least = max(1, steps - max(after[1] if len(after) > 1 else 0, leaves[0]))
    most = min(before[0], steps - 1)
    if steps - leaves[0] <= most:
        return steps - leaves[0]
    parts = 0
    for left, leaf in zip(before, leaves):
        if parts + leaf >= steps:
            return max(least, most - (parts + leaf - steps))
        parts += left
    return most


def _leaves(steps: int, free: int, state: int, tape: int) -> list[int]:
    """V(0, m) after 0, 1, 2, ... more checkpoints, as long as a step fits."""
    if tape == 0:
        return [steps]
    found = [max(1, min(steps, free // tape))]
    while len(found) < steps and (left := (free - len(found) * state) // tape) >= 1:
        found.append(min(steps, left))
    return found
