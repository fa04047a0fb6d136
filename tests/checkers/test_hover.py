"""What an editor shows for a name, asked from pyright's language server as editors ask it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.checkers.test_checkers import site

__all__ = ["site"]

PROGRAM = """\
import weft as ti
import weft.math as tm

x = ti.field(ti.f32, (8, 8))
v = ti.Vector.field(3, ti.f32, 8)

@ti.kernel
def scale(factor: ti.f32, a: ti.Array[ti.f32, 2], q: ti.Field[ti.vec3]) -> ti.f32:
    '''Scale x.'''
    s = ti.max(factor, 0.0)
    n = tm.normalize(q[0]).xy
    for i, j in x:
        x[i, j] *= ti.sqrt(s) + n.norm()
    return x[0, 0]

total = scale(1.0, x.to_numpy(), v)
"""


class _Server:
    """pyright's language server, by messages of its protocol."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.count = process, 0

    def send(self, method: str, parameters: Any, wants_answer: bool) -> Any:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if wants_answer:
            self.count += 1
            message["id"] = self.count
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()
        return self._answer() if wants_answer else None

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        while True:
            size = 0
            while line := self.process.stdout.readline().strip():
                size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else size
            message = json.loads(self.process.stdout.read(size))
            if message.get("id") == self.count and "method" not in message:
                return message["result"]
            if "method" in message and "id" in message:  # it asks for settings
                items = message.get("params", {}).get("items", ())
                reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": [None for _ in items]}).encode()
                assert self.process.stdin is not None
                self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(reply), reply))
                self.process.stdin.flush()


@contextmanager
def _server(folder: Path) -> Iterator[_Server]:
    command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        server = _Server(process)
        root = folder.as_uri()
        client = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}, "workspace": {"configuration": True}}
        folders = [{"uri": root, "name": "folder"}]
        server.send("initialize", {"rootUri": root, "workspaceFolders": folders, "capabilities": client}, True)
        server.send("initialized", {}, False)
        yield server
        process.kill()


def _hover(server: _Server, uri: str, name: str, line: str) -> str:
    """What is shown for `name` in the line that begins with `line`."""
    lines = PROGRAM.splitlines()
    number = next(k for k, text in enumerate(lines) if text.strip().startswith(line))
    place = {"line": number, "character": lines[number].index(name) + len(name) - 1}
    shown = server.send("textDocument/hover", {"textDocument": {"uri": uri}, "position": place}, True)
    assert shown is not None, name
    return str(shown["contents"]["value"])


@pytest.mark.exhaustive
def test_hover_texts(site: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(site)]}))
    with _server(tmp_path) as server:
        uri = program.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": PROGRAM}
        server.send("textDocument/didOpen", {"textDocument": document}, False)
        for name, line, texts in (
            (
                "field",
                "x = ",
                ("-> ScalarField[Number@field]", "Make a field.", "`order` is the memory order of the axes"),
            ),
            ("kernel", "@ti", ("function: ", "Make `function` a kernel", "`ti.Array[ti.f32, 2]`")),
            ("scale", "def", ("scale", "factor: f32", "q: Field[vec3]", "-> f32", "Scale x.")),
            ("Array", "def", ("class", "a parameter for arrays of that type of elements and number of axes")),
            ("Field", "def", ("class", "elements that kernels read and write")),
            ("f32", "x = ", ("f32", "float", "32-bit floating-point numbers")),
            ("vec3", "def", ("vec3", "Vector[float]", "Vectors of three numbers of the default float type")),
            ("max", "s = ", ("The largest of two or more values",)),
            ("s", "s = ", ("(variable) s: float",)),
            ("normalize", "n = ", ("-> Vector[float]", "v / length(v)")),
            ("n", "n = ", ("Vector[float]",)),
            ("sqrt", "x[i, j] *=", ("Square root",)),
            ("norm", "x[i, j] *=", ("-> float", "The square root of the sum of the squares")),
            ("to_numpy", "total", ("NDArray[Any]", "Copy all elements to a new numpy array")),
            ("total", "total", ("total: f32",)),
        ):
            shown = _hover(server, uri, name, line)
            for text in texts:
                assert text in shown, f"{name}: {text!r} is not in {shown!r}"
