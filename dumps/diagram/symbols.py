"""The short names of tensors in a picture: Q₀, K₀ᵀ, scores; and how texts are put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphattn.core.axes import Spec
from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.interpreter import padded
from graphattn.core.names import automatic
from graphattn.core.op import Op
from graphattn.core.words import SUBSCRIPTS, subscript
from graphattn.dumps import wording
from graphattn.dumps.alike import ancestors

GAP = "   "
"""Between the parts of a muted line."""


class Symbols:
    """What the tensors of a graph are called."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.results_of: dict[Ref, list[Scope]] = {}
        for scope in graph.scopes.values():
            for ref in dict.fromkeys(scope.outputs):
                self.results_of.setdefault(ref, []).append(scope)

    def of(self, ref: Ref, reader: Node | None = None, outside: bool = False, depth: int = 0) -> str:
        """The short name of an output, as the node that reads it would call it.

        What leaves a scope is called what the scope is called (Q, where the last op inside is
        named `product`). Empty where there is only an automatic name.
        """
        node = self.graph.nodes[ref.node]
        around = set(ancestors(self.graph, reader.scope)) if reader is not None else set()
        results = [(s, s.op) for s in self.results_of.get(ref, ()) if s.op is not None]  # outer ones first
        for scope, op in results:
            port = scope.ports[scope.outputs.index(ref)]
            if port in op.symbols:
                return self._formatted(op.symbols[port], scope, None, depth)
        if reader is not None or outside:
            for scope, op in results:
                if scope.name not in around and len(scope.outputs) == 1:
                    return self._formatted(op.symbol, scope, None, depth)
        port = node.ports[ref.port]
        if port in node.op.symbols:
            return self._formatted(node.op.symbols[port], node, None, depth)
        if port and "{i}" not in node.op.symbol:
            return port
        return self._formatted(node.op.symbol, node, ref.port, depth)

    def _formatted(self, form: str, what: Node | Scope, port: int | None, depth: int) -> str:
        """A symbol of a node or a scope, filled in; without a port, {i} is that of its first operand."""
        own = what.name.rpartition(".")[2]
        title = wording.clean(what.title or "")
        unnamed = form == "{name}" or (form == "{title}" and not title)
        if unnamed and what.op is not None and automatic(own, what.op):
            return ""
        inner = ""
        if what.operands and what.operands[0] is not None and depth < 4 and "{name}" != form != "{title}":
            reader = what if isinstance(what, Node) else None
            inner = self.of(what.operands[0], reader, reader is None, depth + 1)
        index = inner[len(inner.rstrip(SUBSCRIPTS)) :] if port is None else subscript(port)
        text = form.format(name=own, title=title or own, x=inner or "x", i=index)
        return wording.elide(wording.clean(text), 24)


def pieces_of(graph: Graph) -> frozenset[tuple[str, int]]:
    """The axes that were cut into pieces, with the size of a piece."""
    found: set[tuple[str, int]] = set()
    whole: set[tuple[str, int]] = set()
    for node in graph.nodes.values():
        source = graph.spec(node.operands[0]) if node.operands and node.operands[0] else None
        if node.op.moves and len(node.ports) > 1 and source is not None:
            for spec in node.outputs:
                if spec.rank == source.rank:
                    found.update(_shorter(spec, source))
        if node.op.fed and node.op.drawn is None:
            whole.update((a, s) for a, s in zip(node.outputs[0].axes, node.outputs[0].shape) if a)
    return frozenset(found - whole)


def _shorter(piece: Spec, whole: Spec) -> Iterator[tuple[str, int]]:
    for axis, size, full in zip(piece.axes, piece.shape, whole.shape, strict=True):
        if axis and size != full:
            yield axis, size


def note_of(op: Op, graph: Graph, operands: tuple[Ref | None, ...], attributes: Mapping) -> str:
    if op.note is None:
        return ""
    specs = graph.operand_specs(padded(op, operands))
    note = op.told("note", op.title, *specs, **attributes)
    return GAP.join(wording.clean(part) for part in note.split(GAP) if part.strip())


def muted(shape: str, told: str) -> list[str]:
    """The last line of a box; two where it would be long."""
    line = GAP.join(text for text in (shape, told) if text)
    if len(line) <= 36:
        return [line] if line else []
    return [*([shape] if shape else []), *wording.wrap(told, 40)]


def spaced(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def joined(*texts: str) -> str:
    return " · ".join(text for text in map(wording.clean, texts) if text)
