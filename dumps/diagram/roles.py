"""The parts that tensors play, which pictures colour: Q, K, V, weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from graphattn.core.graph import Graph, Ref
from graphattn.core.op import Op
from graphattn.dumps.alike import ancestors
from graphattn.dumps.diagram.uses import Use


class Roles(NamedTuple):
    """The parts that tensors play: by use (a node's slot), by output, and by node."""

    uses: Mapping[tuple[str, int], str]
    outputs: Mapping[Ref, str]
    nodes: Mapping[str, str]


def roles_of(graph: Graph, uses: Mapping[str, list[Use]]) -> Roles:
    """A use has the role of the operand that it is; an output the role that its composite gives it.

    A node has the role that all its uses share; one that only moves numbers hands it back to what
    it moves. A tensor that is several operands at once (self-attention's input) has none.
    """
    of_use: dict[tuple[str, int], str] = {}
    of_output: dict[Ref, str] = {}
    of_node: dict[str, str] = {}
    parts: dict[str, dict[Ref, str]] = {}
    for scope in graph.scopes.values():
        if scope.op is not None and scope.op.roles:
            parts[scope.name] = _parts(scope.op, scope.operands)
            of_output |= _given(scope.op, zip(scope.ports, scope.outputs))
    for node in graph.nodes.values():
        of_output |= _given(node.op, ((port, Ref(node.name, i)) for i, port in enumerate(node.ports)))
        own = _parts(node.op, node.operands)
        around = [parts[scope] for scope in ancestors(graph, node.scope) if scope in parts]
        for slot, ref in enumerate(node.operands):
            role = next((table[ref] for table in (own, *around) if ref in table), None) if ref else None
            if role is not None:
                of_use[node.name, slot] = role
    for node in reversed(list(graph.nodes.values())):
        shared = {
            of_output.get(Ref(node.name, use.port)) or of_use.get((use.by, use.slot))
            for use in uses[node.name]
            if use.slot >= 0
        }
        role = shared.pop() if len(shared) == 1 else None
        if role is not None:
            of_node[node.name] = role
            if node.op.moves and len(node.operands) == 1:
                of_use.setdefault((node.name, 0), role)
    return Roles(of_use, of_output, of_node)


def _parts(op: Op, operands: tuple[Ref | None, ...]) -> dict[Ref, str]:
    """The role of each operand that is no other operand too."""
    if not op.roles:
        return {}
    known = [(ref, op.roles.get(op.operand_name(slot))) for slot, ref in enumerate(operands)]
    return {ref: role for ref, role in known if ref and role and [r for r, _ in known].count(ref) == 1}


def _given(op: Op, outputs: Iterable[tuple[str, Ref]]) -> dict[Ref, str]:
    return {ref: op.roles[port] for port, ref in outputs if port in op.roles}
