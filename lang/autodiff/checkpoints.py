"""The values that memory had at the begin of steps: copies that are made when memory is first overwritten after it.

    checkpoint at 0        x before step 0, y before step 0
    checkpoint at 4        x before step 4                      (no step from 4 on wrote y)

Memory that is not overwritten is not copied. A checkpoint has no copy of what a later checkpoint has, unless it was
overwritten in between. When the later one is dropped, the earlier one takes over what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from weft.lang.autodiff.memory import Copy, Key, key_of
from weft.lang.autodiff.memory_use import Touch
from weft.lang.autodiff.versions import Latest
from weft.lang.data.field_tree import FieldTree

__all__ = ["Budget", "Checkpoints"]


class Budget:
    """Counts the bytes of copies. A copy that two things hold counts once."""

    def __init__(self) -> None:
        self.used = 0
        self._held: dict[int, int] = {}

    def hold(self, copies: Iterable[Copy]) -> None:
        """Count these copies."""
        for copy in copies:
            times = self._held.get(id(copy), 0)
            self._held[id(copy)] = times + 1
            if not times:
                self.used += copy.size

    def add(self, size: int) -> None:
        """Count so many bytes of something else; fewer, if it is negative."""
        self.used += size

    def release(self, copies: Iterable[Copy]) -> None:
        """Count these copies no more."""
        for copy in copies:
            times = self._held.pop(id(copy))
            if times > 1:
                self._held[id(copy)] = times - 1
            else:
                self.used -= copy.size


@dataclass
class _Checkpoint:
    """The values before the step with this number, as far as they were overwritten before the next checkpoint. It has
    copies of all that was `done`."""

    step: int
    copies: dict[Key, Copy] = field(default_factory=dict[Key, Copy])
    bytes: int = 0
    done: dict[int, Sequence[Touch]] = field(default_factory=dict[int, Sequence[Touch]])  # writes, by their identity


_NONE: Mapping[Key, Copy] = {}


class Checkpoints:
    """The checkpoints of a loop, the first one at its begin."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._all = [_Checkpoint(0)]
        self._sizes: dict[Key, int] = {}  # of all that the steps overwrite

    @property
    def newest(self) -> int:
        """The step of the newest checkpoint."""
        return self._all[-1].step

    @property
    def state(self) -> int:
        """How many bytes a checkpoint takes, as far as one knows."""
        return max(one.bytes for one in self._all)

    @property
    def touched(self) -> int:
        """How many bytes the steps overwrite."""
        return sum(self._sizes.values())

    @property
    def missing(self) -> int:
        """How many bytes the present checkpoints may still take."""
        state = self.state
        return sum(state - one.bytes for one in self._all)

    def take(self, step: int) -> None:
        """Make a checkpoint before that step, which comes next."""
        assert step > self.newest
        self._all.append(_Checkpoint(step))

    def has(self, writes: Sequence[Touch]) -> bool:
        """Whether the newest checkpoint has all that is about to be overwritten."""
        return id(writes) in self._all[-1].done

    def save(self, writes: Sequence[Touch]) -> Mapping[Key, Copy]:
        """Copy what is about to be overwritten, where the newest checkpoint lacks it. Returns the copies."""
        newest = self._all[-1]
        if id(writes) in newest.done:
            return _NONE
        made: dict[Key, Copy] = {}
        for write in writes:
            key = key_of(write.memory, write.box)
            if key in newest.copies or (key[0], ()) in newest.copies:
                continue
            copy = write.memory.copy(write.box)
            if copy is None:
                continue
            self._add(newest, key, copy)
            self._sizes.setdefault(key, copy.size)
            made[key] = copy
        self._budget.hold(made.values())
        newest.done[id(writes)] = writes  # it lives as long, so that no other list has its identity
        return made

    @property
    def trees(self) -> list[FieldTree]:
        """The sparse trees whose active cells change behind the newest checkpoint."""
        owners = (copy.memory.owner for copy in self._all[-1].copies.values())
        return [owner for owner in owners if isinstance(owner, FieldTree)]

    def back_to_newest(self, latest: Latest) -> None:
        """Give memory the values of the newest checkpoint."""
        for copy in reversed(self._all[-1].copies.values()):
            latest.put_back(copy)

    def drop_from(self, step: int) -> None:
        """Drop the checkpoints before that step and later ones, except the first one."""
        while len(self._all) > 1 and self.newest >= step:
            dropped, before = self._all.pop(), self._all[-1]
            for key, copy in dropped.copies.items():
                if key in before.copies or (key[0], ()) in before.copies:
                    self._budget.release([copy])
                else:
                    self._add(before, key, copy)

    def clear(self) -> None:
        """Forget all copies."""
        for one in self._all:
            self._budget.release(one.copies.values())
        self._all = [_Checkpoint(0)]

    @staticmethod
    def _add(checkpoint: _Checkpoint, key: Key, copy: Copy) -> None:
        checkpoint.copies[key] = copy
        checkpoint.bytes += copy.size
