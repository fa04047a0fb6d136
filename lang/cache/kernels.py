"""Compiled kernels from the disk: looked up before a kernel is translated, kept after it was compiled.

A kernel is found in two steps. Under the number of its own text, its arguments, the options, the machine and the
versions of all that takes part in compiling, there are the names that its compilations asked for. The key is the
fingerprint of what these names mean now. An entry holds the code, and which of the things that the fingerprint met the
kernel uses: its field trees, and the names whose values are constants in it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from weft.ir.archive import ArchiveError, pack, unpack
from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.lang.cache.walk import Fingerprint, TooLarge, fingerprint
from weft.lang.functions.captures import Attributes
from weft.lang.logs.topics import CACHE
from weft.lang.program.backends import threads_of
from weft.lang.program.store import hashed, native_target
from weft.lang.translate.contract import WARNINGS, Loss

__all__ = ["Found", "Lookup", "key_of", "look_up", "tell_why"]

_log = logging.getLogger("weft")

_BY_PLACE = b"see the key with the place\n"  # an entry in place of a kernel whose messages name files and lines
_MOST_ASKED = 8


class Found:
    """A kernel that was kept: `run` launches it, `trees` and `captures` are as a translation gives them."""

    def __init__(self, run: Callable[..., Any], trees: Sequence[Any], captures: Sequence[tuple[Any, str, Any]]) -> None:
        self.run, self.trees, self.captures = run, trees, captures


class Lookup:
    """One kernel's places in the store. `walk(names)` is its fingerprint, `words` what else its key depends on."""

    def __init__(
        self, store: Any, walk: Callable[..., Fingerprint], words: str, lines: bool, given: Mapping[str, Any]
    ) -> None:
        self._store, self._walk, self._words, self._lines, self._given = store, walk, words, lines, given
        self._walked = walk(())
        self._first = hashed(f"names {self._key(self._walked)}")
        self._before: Fingerprint | None = None  # all that a compilation can look up, before it is made
        self._failed = ""

    def find(self, device: Any) -> Found | None:
        """The kernel, ready to run on `device`; None if it is not kept, or cannot be used."""
        try:
            for names in self._asked():
                self._walked = self._walk(names)
                found = self._load(device)
                if found is not None:
                    return found
            with suppress(TooLarge):
                self._before = self._walk(None)
        except Exception as error:  # the walk meets objects of all kinds, and what they do is no reason to fail
            self._failed = f"{type(error).__name__}: {error}"
        return None

    def _load(self, device: Any) -> Found | None:
        key = self._key(self._walked)
        data = self._store.get(key)
        if data == _BY_PLACE:
            data = self._store.get(self._key_here(key))
        if data is None:
            return None
        try:
            artifact, head = unpack(data)
            trees = [self._walked.trees[number] for number in head["trees"]]
            captures = [self._capture(*pair) for pair in head["captures"]]
            losses = [self._loss(*loss) for loss in head["losses"]]
            found = Found(device.load(artifact), trees, captures)
        except (ArchiveError, WeftError, LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            _log.info("an entry of the cache cannot be used (%s): compiling anew", error)
            return None
        for loss in losses:
            loss.warn()
        return found

    def _asked(self) -> list[list[str]]:
        """The names that compilations of the kernel asked for: one list for each of the last few that differed."""
        data = self._store.get(self._first)
        try:
            found = json.loads(data or b"[]")
        except ValueError:
            return []
        plain = isinstance(found, list) and all(isinstance(names, list) for names in found)
        return found if plain and all(isinstance(name, str) for names in found for name in names) else []

    def _key(self, walked: Fingerprint) -> str:
        return hashed(f"{walked.key()} {self._words} {walked.place() if self._lines else ''}")

    def _loss(self, text: str, file: str, line: int, number: int | None, kind: str) -> Loss:
        space = {} if number is None else self._walked.spaces[number]
        if not isinstance(space, dict):
            raise TypeError("a warning is about a function, with globals")
        return Loss(str(text), str(file), int(line), space, WARNINGS[kind])

    def _capture(self, number: int, of_object: bool, name: str) -> tuple[Any, str, Any]:
        if of_object:
            owner = self._walked.objects[number]
            return Attributes(owner), name, getattr(owner, name)
        space = self._walked.spaces[number]
        return space, name, space[name] if isinstance(space, dict) else space.cell_contents

    def _number(self, space: Any) -> tuple[int | None, bool]:
        """The number of a namespace or cell, or of an object that has attributes elsewhere; and whether it is such."""
        if isinstance(space, Attributes):
            return self._walked.number_of_object(space.owner), True
        return self._walked.number_of_space(space), False

    def keep(self, artifact: Artifact, translation: Any) -> str:
        """Keep a kernel just compiled, if a key can say all that it depends on. Else why not."""
        if self._failed:
            return self._failed
        before = self._before
        uncomputed = before.uncomputed if before is not None else ()
        from weft.lang.cache.evidence import Evidence  # which kernels that are found need not

        evidence = Evidence(self._given, translation, before)
        try:
            why = evidence.examine(lambda names: self._walk(names, uncomputed))
            if not why and before is not None and self._walk(None, uncomputed).key() != before.key():
                why = "something in its reach was changed meanwhile, by what ran as it was compiled or by a thread"
        except Exception as error:  # as in `find`
            why = str(error) if isinstance(error, TooLarge) else f"{type(error).__name__}: {error}"
        if why:
            return why
        self._walked = walked = evidence.walked
        trees = [walked.number_of_tree(tree) for tree in translation.trees]
        computed = {} if before is None else _computed(before)
        spaces = [(computed.get((id(space), name), space), name) for space, name, _ in translation.captures]
        captures = [(*self._number(space), name) for space, name in spaces]
        losses = [
            (one.text, one.file, one.line, walked.number_of_space(one.space), one.kind.__name__)
            for one in translation.losses
        ]
        if why := _why_elsewhere(trees, captures):
            return why
        try:
            data = pack(artifact, {"trees": trees, "captures": captures, "losses": losses})
        except ArchiveError as error:
            return str(error)
        placed = bool(losses) or any(site.kind != "print" for site in artifact.sites)
        key = self._key(walked)
        self._store.put(self._key_here(key) if placed else key, data)
        if placed:
            self._store.put(key, _BY_PLACE)
        names = sorted(evidence.names)
        asked = [names, *(others for others in self._asked() if others != names)]
        self._store.put(self._first, json.dumps(asked[:_MOST_ASKED]).encode())
        return ""

    def _key_here(self, key: str) -> str:
        """The key of a kernel whose messages name files and lines."""
        return hashed(f"{key} {self._walked.place()}")


def _computed(before: Fingerprint) -> dict[tuple[int, str], Attributes]:
    """The cached properties that had no value then, by the identity of the namespace where it lies now."""
    owners = {id(x): x for x in before.objects}
    return {(id(vars(owners[one])), name): Attributes(owners[one]) for one, name in before.uncomputed}


def _why_elsewhere(trees: Sequence[int | None], captures: Sequence[tuple[int | None, bool, str]]) -> str:
    """Whether something that the kernel uses was not met."""
    if None in trees:
        return "one of its fields is found in a way that its key does not follow"
    lost = next((name for number, _, name in captures if number is None), "")
    return lost and f"`{lost}` is found in a way that its key does not follow"


def look_up(program: Any, function: Any, arguments: Sequence[Any], results: Sequence[Any]) -> Lookup | None:
    """The places of a kernel with those arguments; None where nothing is kept."""
    store = program.store
    if store is None:
        return None
    given = {argument.name: argument.value for argument in arguments if argument.type is None}
    try:
        return Lookup(
            store, _walk_of(function, arguments, results), _words(program), bool(program.config.line_info), given
        )
    except Exception as error:  # as in `find`
        tell_why(function.__name__, f"{type(error).__name__}: {error}")
        return None


def key_of(program: Any, function: Any, arguments: Sequence[Any], results: Sequence[Any]) -> str | None:
    """A number for all that a kernel with those arguments can depend on; None if there is too much of it."""
    try:
        return hashed(f"{_walk_of(function, arguments, results)(None).key()} {_words(program)}")
    except TooLarge:
        return None


def _walk_of(function: Any, arguments: Sequence[Any], results: Sequence[Any]) -> Callable[..., Fingerprint]:
    def roots(made: Fingerprint) -> None:
        made.function(function)
        for argument in arguments:
            made.say(argument.name, argument.type)
            made.value(argument.annotation)
            made.value(argument.value)
        made.value(list(results))

    def walk(names: Iterable[str] | None = None, computed: Iterable[tuple[int, str]] = ()) -> Fingerprint:
        return fingerprint(roots, names, computed=computed)

    return walk


def _words(program: Any) -> str:
    return f"{_options(program.config, threads_of(program.device))} {_target(program)}"


@lru_cache(64)
def _options(config: CompileConfig, threads: int) -> str:
    return str(astuple(replace(config, random_seed=0, threads=threads)))


def tell_why(kernel: str, why: str) -> None:
    """Say that a kernel is not kept."""
    if CACHE.on:
        CACHE.info("%s: not kept: %s", kernel, why)
    _log.debug("kernel %s is not kept: %s", kernel, why)


def _target(program: Any) -> str:
    """What machine the code is for."""
    if program.arch == "cpu":
        return native_target()
    library = import_module("weft.codegen.nvptx.target").libdevice()
    stamp = "" if library is None else f"{library} {library.stat().st_mtime_ns}"
    return f"{native_target()} {program.device.target} {stamp}"
