"""verify: every broken rule of a graph in one report.

A graph that was made by its builders keeps the rules; one that a pass or a reader put together,
or whose DAG was changed behind its back, may not. `problems` must not be: an operand that is not
there or comes later, an output that is not what the op's shape rule gives, a scope or alias that
points nowhere, edges that do not say what the nodes say. `notes` may be meant: axis names that do
not agree, nodes that no output needs, inputs that nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphattn.core.axes import describe, noting
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.words import counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found in one graph."""

    graph: str
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.problems

    def check(self) -> None:
        """Raise a `GraphError` that lists every problem, if there is one."""
        if self.problems:
            raise GraphError(str(self))

    def __str__(self) -> str:
        """One line a finding, problems first."""
        count = counted(len(self.problems), "problem")
        lines = [f"graph {self.graph!r}: {count}, {counted(len(self.notes), 'note')}"]
        lines += [f"  problem  {finding}" for finding in self.problems]
        lines += [f"  note     {finding}" for finding in self.notes]
        return "\n".join(lines)


def verify(graph: Graph) -> Report:
    """Check every rule and report all that is broken, not only the first."""
    problems: list[Finding] = []
    notes: list[Finding] = []
    seen: set[str] = set()
    for node in graph.nodes.values():
        broken = [Finding(node.name, what) for what in _operand_problems(graph, node, seen)]
        seen.add(node.name)
        if not broken:
            with noting() as clashes:
                broken = [Finding(node.name, what) for what in _shape_problems(graph, node)]
            notes += [Finding(node.name, clash) for clash in clashes]
        broken += [Finding(node.name, what) for what in _edge_problems(graph, node)]
        if node.scope is not None and node.scope not in graph.scopes:
            broken.append(Finding(node.name, f"is in scope {node.scope!r}, which does not exist"))
        problems += broken
    problems += _stray_edges(graph)
    problems += _table_problems(graph)
    if not problems:
        notes += _unused(graph)
    return Report(graph.name, tuple(problems), tuple(notes))


def _operand_problems(graph: Graph, node: Node, seen: set[str]) -> Iterator[str]:
    for slot, ref in enumerate(node.operands):
        if ref is None:
            continue
        operand = f"operand {node.op.operand_name(slot)}"
        if ref.node not in graph.nodes:
            yield f"{operand} is {ref.node!r}, which does not exist"
        elif not 0 <= ref.port < len(graph.nodes[ref.node].ports):
            ports = len(graph.nodes[ref.node].ports)
            yield f"{operand} is output {ref.port} of {ref.node!r}, which has {ports}"
        elif ref.node not in seen:
            yield f"{operand} is {ref.node!r}, which comes later: the graph has a cycle or is out of order"


def _shape_problems(graph: Graph, node: Node) -> Iterator[str]:
    try:
        found = graph.infer(node.op, node.operands, node.attributes, node.name)
    except GraphError as error:
        yield str(error)
        return
    except TypeError as error:
        yield f"{node.op.name} cannot be called like this: {error}"
        return
    if found.ports != node.ports:
        yield f"has outputs {node.ports}; expected {found.ports}"
    for port, (stored, wanted) in enumerate(zip(node.outputs, found.outputs, strict=False)):
        if stored != wanted:
            yield f"output {port} is recorded as {describe(stored)}; {node.op.name} gives {describe(wanted)}"


def _edge_problems(graph: Graph, node: Node) -> Iterator[str]:
    wanted = sorted((ref.node, slot, ref.port) for slot, ref in enumerate(node.operands) if ref is not None)
    if node.name not in graph.dag:
        yield "is missing from the DAG"
        return
    edges = graph.dag.in_edges(node.name, data=True)
    found = sorted((source, data.get("slot", -1), data.get("port", -1)) for source, _, data in edges)
    if found != wanted:
        yield f"has edges {found} in the DAG; its operands say {wanted}"


def _stray_edges(graph: Graph) -> list[Finding]:
    return [Finding(name, "is in the DAG but is no node") for name in graph.dag if name not in graph.nodes]


def _table_problems(graph: Graph) -> Iterator[Finding]:
    def missing(ref: Ref | None) -> bool:
        if ref is None:
            return False
        node = graph.nodes.get(ref.node)
        return node is None or not 0 <= ref.port < len(node.ports)

    for name, ref in graph.aliases.items():
        if missing(ref):
            yield Finding(f"alias {name}", f"stands for {ref.node!r}, which does not exist")
    for name, tensor in graph.outputs.items():
        if missing(tensor.ref):
            yield Finding(f"output {name}", f"stands for {tensor.ref.node!r}, which does not exist")
    for scope in graph.scopes.values():
        for ref in (*scope.operands, *scope.outputs):
            if missing(ref):
                yield Finding(f"scope {scope.name}", f"refers to {ref.node!r}, which does not exist")  # type: ignore[union-attr]
        if scope.parent is not None and scope.parent not in graph.scopes:
            yield Finding(f"scope {scope.name}", f"is inside {scope.parent!r}, which does not exist")
        elif scope.parent is not None and not scope.name.startswith(f"{scope.parent}."):
            yield Finding(f"scope {scope.name}", f"is inside {scope.parent!r} but is not named after it")


def _unused(graph: Graph) -> Iterator[Finding]:
    results = [tensor.ref.node for tensor in graph.outputs.values()]
    needed = graph.ancestors(*results) if results else set(graph.nodes)
    for node in graph.nodes.values():
        if node.op.fed and node.name not in results and not graph.dag.out_degree(node.name):
            yield Finding(node.name, "must be fed but nothing uses it")
        elif not node.op.fed and node.name not in needed:
            yield Finding(node.name, "is not needed by any output")
