"""A launch that was found, and is made later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.calls.compile import FieldDropped, Instance
from weft.lang.data.field_tree import NOT_HELD
from weft.lang.kernels.draws import numbers_from
from weft.lang.measure import watching
from weft.lang.program import init as program_state

__all__ = ["Launch", "Replay", "Target", "held_by", "replay_each"]


class Launch:
    """A launch of `instance` with these arguments. Numbers, vectors and structs have the values that they had when this
    object was made. Fields and arrays have the values that they have when it is called. It keeps their memory.
    `owner`: the object of a method."""

    def __init__(
        self,
        kernel: Any,
        program: Any,
        instance: Instance,
        flat: Sequence[Any],
        python: Callable[[], Any] | None,
        owner: Any = None,
    ) -> None:
        self.kernel, self.instance, self.flat, self.owner = kernel, instance, flat, owner
        self.program, self._values = program, instance.packed(flat)
        self.key: int | None = None  # of the launch whose random numbers this one draws again, if it does
        self._python = python  # with arch=python, what runs the kernel
        self._trees = [tree() for tree in instance.trees]

    def give_last(self, value: Any) -> None:
        """Give the last parameter another argument of the same kind."""
        self.flat = [*self.flat[:-1], value]
        self._values = self.instance.packed(self.flat)

    def __call__(self) -> Any:
        """Launch it. Raises WeftError if the program has ended."""
        if program_state.program() is not self.program:
            raise WeftError(f"a call of kernel '{self.kernel.__name__}' was recorded before the last `init` or `reset`")
        watches = watching.watches
        if not watches:
            return self._run()
        return watching.all_watch(self.kernel, self._run, tuple(self.flat), {})

    def _run(self, *_: Any, **__: Any) -> Any:
        if self.key is None:
            return self._launched()
        facts = self.instance.facts
        alone = facts is not None and facts.draws
        with self.program.device.replaying(self.key) if alone else numbers_from(self.program, self.key):
            return self._launched()

    def _launched(self) -> Any:
        if self._python is not None:
            return self._python()
        watching.launch_begins()
        while True:
            if not self.instance.fits():
                self._find()
            try:
                return self.instance.launch(self._values)
            except FieldDropped:  # before anything ran
                if self.instance.fits():
                    raise

    def _find(self) -> None:
        """Find the code again, because fields lie in other memory now."""
        kernel, flat = self.kernel, self.flat
        instance = kernel._instance(self.program, self.owner, flat)
        overlap = instance.overlap(flat, True)
        self.instance = kernel._careful(self.program, instance, self.owner, flat) if overlap else instance
        self._values, self._trees = self.instance.packed(flat), [tree() for tree in self.instance.trees]


class Target:
    """What bound launches of an instance run. It keeps the memory of the fields."""

    def __init__(self, kernel: Any, instance: Instance) -> None:
        self.kernel, self.instance = kernel, instance
        self.program = instance.program()
        self.replay: Callable[[bytes], Any] = instance.run.replay
        self.held = instance.held  # what launches are made in, see `Instance`
        self.epoch, self.right = self.program.epoch, self.program.epoch.value
        self._keeps = [tree() for tree in instance.trees], instance.memory()

    @property
    def in_series(self) -> Any:
        """The kernel for launches of several targets by one call. None: it takes no part in that."""
        return getattr(self.instance.run, "in_series", None)

    def current(self) -> None:
        """Raise WeftError if the program or a field is gone."""
        if self.epoch.value != self.right:
            self.check()

    def check(self) -> None:
        """Find out whether the program and the fields are still there, because something is gone. Raises WeftError."""
        right = self.epoch.value
        if program_state.program() is not self.program:
            raise WeftError(f"a call of kernel '{self.kernel.__name__}' was recorded before the last `init` or `reset`")
        self.instance.memory()
        self.right = right


class Replay:
    """A launch of a target whose arguments are bound: `context` has their values, or the addresses of `args`, which it
    keeps."""

    __slots__ = ("args", "context", "target")

    def __init__(self, target: Target, context: bytes, args: tuple[Any, ...]) -> None:
        self.target, self.context, self.args = target, context, args

    def __call__(self) -> None:
        """Launch it. Raises WeftError if the program has ended, or a field is gone."""
        if self.target.held is None:
            self._launch()
        else:
            with self.target.held():
                self._launch()

    def _launch(self) -> None:
        target = self.target
        if target.epoch.value != target.right:  # `current`, without a call
            target.check()
        if watching.watches:
            watching.all_watch(target.kernel, self._run, self.args, {})
        else:
            target.replay(self.context)

    def _run(self, *_: Any, **__: Any) -> None:
        watching.launch_begins()
        self.target.replay(self.context)


def replay_each(launches: Sequence[tuple[Replay, int]]) -> None:
    """Make launches one after another, each with the key of its random numbers: by one call of native code, if nobody
    watches, and all of them can be launched so. Raises what they raise, with the later ones not made."""
    with held_by([replay.target for replay, _ in launches]):
        _replay_each(launches)


def held_by(targets: Iterable[Target]) -> AbstractContextManager[Any]:
    """What launches of these targets are made in."""
    held = next((target.held for target in targets if target.held is not None), None)
    return NOT_HELD if held is None else held()


def _replay_each(launches: Sequence[tuple[Replay, int]]) -> None:
    kernels: dict[Target, Any] = {}
    for replay, _ in launches:
        if replay.target not in kernels:
            replay.target.current()
            kernels[replay.target] = replay.target.in_series
    device = launches[0][0].target.program.device
    if watching.watches or device.times_tasks or None in kernels.values():
        for replay, device.random_key in launches:
            replay()
        return
    ready = [(kernels[replay.target], replay.context, key) for replay, key in launches]
    ready[0][0].replay_each(ready)
