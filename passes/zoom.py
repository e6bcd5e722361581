"""zoom: the same graph at a finer level; fuse: back again.

`zoom` replaces every composite that is coarser than the level by its expansion, and records a
scope of the composite's name. `fuse` collapses the scopes whose content still equals their
expansion, and says in `graph.notes` why the others stay: `fuse(zoom(g)) == g`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref, Scope, Tensor
from graphattn.core.interpreter import padded
from graphattn.core.limits import most_cells, need_cells
from graphattn.core.names import owners
from graphattn.core.op import LEVELS, Op, broken, check_level
from graphattn.passes.rebuild import Rebuild


def zoom(graph: Graph, level: str = "primitive") -> Graph:
    """The graph with every composite that is coarser than `level` expanded.

    It goes level by level, and each round expands one layer, so composites may be made of
    composites. A graph with nothing to expand is returned as it is.
    """
    check_level(level)
    for finer in LEVELS[: LEVELS.index(level) + 1]:
        graph = expand_all(graph, lambda node, finer=finer: node.op.coarser(finer))
    return graph


DEPTH_LIMIT = 64
"""The most composites that may stand inside each other."""

Call = tuple[Op, Mapping[str, Any], list[Spec | None]]


Build = Callable[..., Any]
"""What builds a composite of smaller ops, as its `expand` does."""


def expand_all(graph: Graph, chosen: Callable[[Node], bool | Build]) -> Graph:
    """The graph with every node expanded that is `chosen` (by what chooses it, if that builds something),
    and those of the expansion that are. A graph with none is returned as it is. Raises a `GraphError` where
    that would never end."""
    calls: dict[str, Call] = {}
    while any(map(chosen, graph.nodes.values())):
        graph = _one_layer(graph, chosen, calls)
    return graph


def to_kernels(graph: Graph) -> Graph:
    """The graph with every composite expanded that has no kernel of its own, as far as a run of it goes:
    to primitives. Every node of the result can be called."""
    whole: set[str] = set()

    def chosen(node: Node) -> bool:
        if node.op.expand is None or node.op.fed:
            return False
        if node.op.kernel is None:
            whole.add(node.name)
            return True
        return node.op.coarser("primitive") and not whole.isdisjoint(owners(node.name))

    return expand_all(graph, chosen)


def _one_layer(graph: Graph, chosen: Callable[[Node], bool | Build], calls: dict[str, Call]) -> Graph:
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        how = chosen(node)
        if how:
            _need_end(graph, node, calls)
            if not node.operands:  # its cells may be made as it is expanded
                need_cells(f"{node.op.name} {node.name!r}", node.outputs, most_cells())
            build = how if callable(how) else None
            rebuild.become(node, expand(rebuild.graph, node, rebuild.operands(node), build))
        else:
            rebuild.keep(node)
    return rebuild.finish()


def _need_end(graph: Graph, node: Node, calls: dict[str, Call]) -> None:
    """Refuse a composite that stands in an expansion of the very same call, or too deep."""
    call = calls[node.name] = (node.op, node.attributes, graph.operand_specs(node.operands))
    outer, depth = node.scope, 0
    while outer is not None:
        depth += 1
        if calls.get(outer) == call or depth > DEPTH_LIMIT:
            raise GraphError(
                f"{node.op.name} {node.name[:100]!r} stands in its own expansion; expected an end to that"
            )
        outer = graph.scopes[outer].parent


def expand(
    graph: Graph, node: Node, operands: tuple[Ref | None, ...], build: Build | None = None
) -> tuple[Ref, ...]:
    """Build a composite's expansion, or what `build` makes instead of it, into `graph`, in a scope of its
    name; its outputs."""
    before = len(graph)
    scope = Scope(node.name, node.op, operands, node.attributes, (), node.ports, node.title, node.scope)
    refs = padded(node.op, operands)
    given = [None if ref is None else Tensor(graph, ref) for ref in refs]
    with graph.within(scope):
        if build is None:
            built = node.op.told("expand", node.name, graph, *given, **node.attributes)
        else:
            built = _built(build, node, graph, given)
    if len(graph) == before:
        raise GraphError(f"{node.op.name} {node.name!r} expands to nothing; expected at least one node")
    refs = _results(graph, node, built if isinstance(built, tuple) else (built,))
    graph.adopt_scope(replace(scope, outputs=refs))
    return refs


def _built(build: Build, node: Node, graph: Graph, given: list[Tensor | None]) -> Any:
    """What is built instead of an expansion."""
    try:
        return build(graph, *given, **node.attributes)
    except Exception as error:
        raise broken(f"{node.op.name} {node.name!r}: what it is expanded to instead", error) from error


def _results(graph: Graph, node: Node, built: tuple[Any, ...]) -> tuple[Ref, ...]:
    """The outputs that an expansion came to; refused where they are not those of the composite."""
    told = f"{node.op.name} {node.name!r} expands to"
    if len(built) != len(node.outputs):
        raise GraphError(f"{told} {len(built)} tensors; expected {len(node.outputs)}")
    for tensor, spec in zip(built, node.outputs, strict=True):
        if not isinstance(tensor, Tensor) or tensor.graph is not graph:
            raise GraphError(f"{told} a {type(tensor).__name__}; expected a tensor of the graph it is given")
        if (tensor.shape, tensor.kind) != (spec.shape, spec.kind):
            raise GraphError(
                f"{told} {describe(tensor.spec)}; expected {describe(spec)}, as its shape rule says"
            )
    return tuple(tensor.ref for tensor in built)


def fuse(graph: Graph, level: str = "block") -> Graph:
    """The graph with every scope collapsed that still equals the expansion of its composite.

    Composites that are coarser than `level` stay expanded. `graph.notes` says why each other scope
    stays: it was changed, something outside uses what is inside it, or an inner scope stays.
    """
    check_level(level)
    while True:
        reasons = _reasons(graph, level)
        ready = {name for name, reason in reasons.items() if reason is None}
        if not ready:
            break
        graph = _collapse(graph, ready)
    stays = [f"fuse: {name} stays expanded: {reason}" for name, reason in reasons.items()]
    stays = [told for told in stays if told not in graph.notes]
    if stays:
        graph = _copy(graph)
        graph.notes = (*graph.notes, *stays)
    return graph


def _reasons(graph: Graph, level: str) -> dict[str, str | None]:
    """For each scope of a composite, why it cannot be collapsed now (None = it can)."""
    inside: dict[str, list[Node]] = {name: [] for name in graph.scopes}
    order = {name: place for place, name in enumerate(graph.nodes)}
    for node in graph.nodes.values():
        if node.scope is not None:
            inside[node.scope].append(node)
    children: dict[str, list[str]] = {}
    for scope in graph.scopes.values():
        if scope.parent is not None:
            children.setdefault(scope.parent, []).append(scope.name)
    used = _used_outside(graph)
    reasons: dict[str, str | None] = {}
    for scope in graph.scopes.values():
        if scope.op is None or scope.op.coarser(level):
            continue
        nodes = inside[scope.name]
        places = [order[node.name] for node in nodes]
        if scope.name in children:
            reasons[scope.name] = f"{children[scope.name][0]} inside it stays"
        elif not nodes or places[-1] - places[0] != len(places) - 1:
            reasons[scope.name] = "its nodes do not stand together"
        elif nodes != _expansion(graph, scope):
            reasons[scope.name] = f"its content is not what {scope.op.name} expands to"
        else:
            leaks = [ref for ref in used.get(scope.name, ()) if ref not in scope.outputs]
            leak = f"{graph.tensor_name(leaks[0])} is used outside" if leaks else None
            reasons[scope.name] = leak
    return reasons


def _used_outside(graph: Graph) -> dict[str, list[Ref]]:
    """For each scope, the outputs of its own nodes that other scopes or the graph's outputs use."""
    used: dict[str, list[Ref]] = {}
    uses = [(ref, node.scope) for node in graph.nodes.values() for ref in node.operands if ref is not None]
    uses += [(tensor.ref, None) for tensor in graph.outputs.values()]
    for ref, scope in uses:
        home = graph.nodes[ref.node].scope
        if home is not None and home != scope:
            used.setdefault(home, []).append(ref)
    return used


def _composite(graph: Graph, scope: Scope) -> Node:
    """The node that a scope was expanded from."""
    assert scope.op is not None
    return graph.infer(scope.op, scope.operands, scope.attributes, scope.name, scope.title, scope.parent)


def _expansion(graph: Graph, scope: Scope) -> list[Node]:
    """The nodes that the scope's composite expands to, built apart."""
    apart = Graph(graph.name)
    for ref in scope.operands:
        _stand_in(apart, graph, ref)
    refs = expand(apart, _composite(graph, scope), scope.operands)
    nodes = [node for node in apart.nodes.values() if node.scope == scope.name]
    return nodes if refs == scope.outputs else []


def _stand_in(apart: Graph, graph: Graph, ref: Ref | None) -> None:
    """Copy the producer of an operand, and the chain of first operands that its symbol shows."""
    chain = []
    while ref is not None and ref.node not in apart.nodes and len(chain) < 4:
        node = graph.nodes[ref.node]
        chain.append(node)
        ref = node.operands[0] if node.operands else None
    for node in reversed(chain):
        known = (
            node.operands[:1]
            if node.operands and node.operands[0] and node.operands[0].node in apart.nodes
            else ()
        )
        apart.adopt(node, known)


def _collapse(graph: Graph, ready: set[str]) -> Graph:
    rebuild = Rebuild(graph)
    done: set[str] = set()
    for name in ready:
        rebuild.forget_scope(name)
    for node in graph.nodes.values():
        if node.scope not in ready:
            rebuild.keep(node)
        elif node.scope not in done:
            scope = graph.scopes[node.scope]
            done.add(scope.name)
            composite = _composite(graph, scope)
            rebuild.graph.adopt(composite, rebuild.operands(composite))
            for port, ref in enumerate(scope.outputs):
                rebuild.redirect(ref, Ref(scope.name, port))
    return rebuild.finish()


def _copy(graph: Graph) -> Graph:
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        rebuild.keep(node)
    return rebuild.finish()
