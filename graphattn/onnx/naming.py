"""ONNX names as names in a graph.

A tensor of a model may be called anything: `/encoder/layer.0/MatMul_output_0`, `lambda`, `a.b` beside `a_b`,
`123`. In a graph names are identifiers joined by dots, and what stands before a dot is a scope. So each part
of an ONNX name becomes an identifier (`encoder.layer0.MatMul`), what would clash gets a number, and the ONNX
name itself is an alias: wherever a tensor is asked for by name, its ONNX name does.

>>> parts("/encoder/layer.0/MatMul_output_0")
('encoder', 'layer0', 'MatMul_output_0')
>>> parts("onnx::MatMul_404"), parts("lambda"), parts("0")
(('MatMul_404',), ('lambda_',), ('t0',))
"""

from __future__ import annotations

import keyword
import unicodedata
import zlib
from collections.abc import Iterable, Sequence

from ..conventions.onnx.nodes import OnnxNode
from ..core.graph import Graph, Scope
from ..core.names import owners

DEPTH_LIMIT = 24
"""The most scopes inside each other; deeper ones are joined into one name."""
PART_LIMIT = 60
"""The longest part of a name; what is longer is cut, with a checksum."""


def parts(name: str) -> tuple[str, ...]:
    """An ONNX name as identifiers: its scopes, and what it is called there."""
    name = name.removeprefix("onnx::")
    found: list[str] = []
    for piece in name.replace("/", ".").split("."):
        if not piece:
            continue
        word = identifier(piece)
        if piece.isdecimal() and found:  # layer.0 is layer0
            found[-1] += f"{'_' if found[-1][-1].isdecimal() else ''}{int(piece)}"
        else:
            found.append(word)
    found = found or ["unnamed"]
    if len(found) > DEPTH_LIMIT:
        found[DEPTH_LIMIT - 1 :] = [identifier("_".join(found[DEPTH_LIMIT - 1 :]))]
    return tuple(found)


def identifier(text: str) -> str:
    """Any text as one identifier."""
    text = unicodedata.normalize("NFKC", text)
    word = "".join(c if c.isidentifier() or ("a" + c).isidentifier() else "_" for c in text)
    if not word.isidentifier():
        word = f"t{word}"
    if keyword.iskeyword(word):
        word += "_"
    if len(word) > PART_LIMIT:
        word = f"{word[: PART_LIMIT - 9]}_{zlib.crc32(text.encode('utf-8', 'replace')):08x}"
    return word


class ModelPlaces:
    """Where the tensors of a model stand in its graph; `taken` are all ONNX names, none of which another
    tensor may have as its name in the graph."""

    def __init__(self, graph: Graph, taken: Iterable[str]) -> None:
        self.graph = graph
        self.taken = frozenset(taken)
        self.scopes: dict[tuple[str, ...], Scope] = {}

    def scope(self, node: OnnxNode) -> tuple[tuple[Scope, ...], str]:
        """The scopes of a node, and the name of its own: that of its first output there."""
        path, local, first = _called(node)
        return self._place(path, local, first)

    def tensor(self, name: str, user: OnnxNode | None) -> tuple[tuple[Scope, ...], str]:
        """By its name; one without scopes stands beside the node that needs it."""
        *path, local = parts(name.removesuffix("_output_0") if name.startswith("/") else name)
        if not path and user is not None:
            path = list(_called(user)[0])
        return self._place(path, local, name)

    def alias(self, name: str) -> str:
        return name

    def name(self, onnx: str) -> str:
        """A new name at the top: of an input."""
        return self._free("", identifier("_".join(parts(onnx))), onnx)

    def _place(self, path: Sequence[str], local: str, onnx: str) -> tuple[tuple[Scope, ...], str]:
        scopes = self._path(tuple(path))
        inside = f"{scopes[-1].name}." if scopes else ""
        return scopes, self._free(inside, local, onnx)[len(inside) :]

    def _path(self, path: tuple[str, ...]) -> tuple[Scope, ...]:
        found: list[Scope] = []
        for depth in range(1, len(path) + 1):
            key = path[:depth]
            if key not in self.scopes:
                parent = found[-1].name if found else None
                inside = f"{parent}." if parent else ""
                name = self._free(inside, path[depth - 1], None)
                self.scopes[key] = Scope(name, parent=parent)
                self.graph.adopt_scope(self.scopes[key])
            found.append(self.scopes[key])
        return tuple(found)

    def _free(self, inside: str, local: str, onnx: str | None) -> str:
        """The first of local, local_2, … that is free, and is the ONNX name of no other tensor."""
        name, count = f"{inside}{local}", 1
        while not self._fits(name, onnx):
            count += 1
            name = f"{inside}{local}_{count}"
        return name

    def _fits(self, name: str, onnx: str | None) -> bool:
        if not self.graph.is_free(name) or (name in self.taken and name != onnx):
            return False
        nodes = self.graph.nodes
        return not any(owner in nodes for owner in owners(name))


def _called(node: OnnxNode) -> tuple[Sequence[str], str, str]:
    """The scopes of a node, its name there, and the ONNX name that both are of: `/encoder/MatMul` for
    `/encoder/MatMul_output_0`, as one exporter calls the only output of a node."""
    first = next((name for name in node.outputs if name), node.op)
    short = first.removesuffix("_output_0") if first.startswith("/") and len(node.outputs) == 1 else first
    *path, local = parts(short)
    return path if node.path is None else node.path, local, first


__all__ = ["ModelPlaces", "identifier", "parts"]
