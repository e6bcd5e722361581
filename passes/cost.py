"""cost: floating-point operations and bytes moved, per node and in total.

flops: what the `cost` rule of each op states (a multiply-add counts 2, every other arithmetic
operation or function 1, a comparison or a move 0). A composite without a rule costs what its
expansion costs. bytes: every operand read once and every output written once, 8 bytes a number
and 1 a bool; what is fed or known before a run is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphattn.core.axes import Spec, describe
from graphattn.core.graph import Graph, Node
from graphattn.core.interpreter import padded, standalone
from graphattn.core.words import aligned

HEAD = ("node", "op", "shape", "flops", "bytes")
NUMBERS = {3, 4}
"""The columns of numbers."""


@dataclass(frozen=True, slots=True)
class NodeCost:
    """The cost of one node: flops, bytes read and written, cells in its outputs."""

    name: str
    op: str
    shape: str
    flops: int
    bytes: int
    cells: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The costs of all nodes that a run evaluates, in order."""

    nodes: tuple[NodeCost, ...]

    @property
    def flops(self) -> int:
        return sum(node.flops for node in self.nodes)

    @property
    def bytes(self) -> int:
        return sum(node.bytes for node in self.nodes)

    def by_op(self) -> dict[str, tuple[int, int]]:
        """Flops and bytes of each op, largest flops first."""
        totals: dict[str, tuple[int, int]] = {}
        for node in self.nodes:
            flops, moved = totals.get(node.op, (0, 0))
            totals[node.op] = flops + node.flops, moved + node.bytes
        return dict(sorted(totals.items(), key=lambda item: -item[1][0]))

    def __getitem__(self, name: str) -> NodeCost:
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def __iter__(self) -> Iterator[NodeCost]:
        return iter(self.nodes)

    def __str__(self) -> str:
        """A table: one line a node, the total last."""
        return self.text()

    def text(self, width: int | None = None) -> str:
        """The same, fitted into lines of `width` places."""
        return "\n".join(aligned([HEAD, *self._rows(), self._total()], limit=width, numbers=NUMBERS)) + "\n"

    def _repr_html_(self) -> str:
        from graphattn.dumps.notebook import table_html

        return table_html(HEAD, self._rows(), numbers=NUMBERS, foot=self._total())

    def _rows(self) -> list[tuple[str, ...]]:
        return [(n.name, n.op, n.shape, f"{n.flops:,}", f"{n.bytes:,}") for n in self.nodes]

    def _total(self) -> tuple[str, ...]:
        return "total", "", "", f"{self.flops:,}", f"{self.bytes:,}"


def cost(graph: Graph) -> Cost:
    """The cost of every node of the graph as it stands (`cost(graph.at("op"))` for its ops)."""
    return Cost(tuple(_of_node(graph, node) for node in graph.nodes.values() if node.operands))


def _of_node(graph: Graph, node: Node) -> NodeCost:
    specs = graph.operand_specs(node.operands)
    moved = sum(_bytes(spec) for spec in (*specs, *node.outputs) if spec is not None)
    shape = ", ".join(describe(spec) for spec in node.outputs[:1])
    shape += f" and {len(node.outputs) - 1} more" if len(node.outputs) > 1 else ""
    cells = sum(spec.size for spec in node.outputs)
    return NodeCost(node.name, node.op.name, shape, _flops(node, specs), moved, cells)


def _flops(node: Node, specs: list[Spec | None]) -> int:
    if node.op.cost is not None:
        return node.op.told("cost", node.name, *padded(node.op, specs), **node.attributes)
    alone, _, _ = standalone(node.op, specs, node.attributes)
    return cost(alone.at(node.op.inside)).flops


def _bytes(spec: Spec) -> int:
    return spec.size * (1 if spec.kind == "bool" else 8)
