"""The graph that was meant, at one magnification, with the value of every tensor: what variants are made of.

    intended = Intended(graph, feeds)
    intended.values[ref]        the value of a tensor
    intended.groups             nodes that play one role: the same step in every head, in every layer
    intended.sizes              the sizes that a number in the graph may be meant to be: d_k, d_model, h, n

Values are computed once; a variant computes only what lies below what it changes (`evaluate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ...core import nested
from ...core.axes import Spec
from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref, Scope
from ...core.interpreter import FAILURES, function_of
from ...core.numbers import FLOAT
from ...core.op import Op
from ...passes.gradient import Tape
from .structure.groups import Group, kinds_of, roles_of
from .structure.parts import Part, parts_of
from .structure.rows import by_row
from .structure.rules import incoming, tape_kinds
from .structure.sizes import sizes_of
from .structure.stream import Stream, streams_of
from .structure.wholes import wholes_of

FAR = 6
"""How many edges away a tensor is taken for another because it is near."""
Shape = tuple[tuple[int, ...], str]
"""Shape and kind: what equal specs have in common besides the names of their axes."""


class Call:
    """How one node is evaluated on operands of given shapes."""

    def __init__(self, op: Op, operands: Sequence[Spec | None], attributes: Mapping[str, Any]) -> None:
        given: Any = op.shape(*operands, **attributes)
        outputs: Any = given if isinstance(given, dict) and given else {"": given}
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.ports: tuple[str, ...] = tuple(outputs)
        self.outputs: tuple[Spec, ...] = tuple(outputs.values())

    @cached_property
    def function(self) -> Callable[..., Any]:
        """What is called on whole operands, made when it is needed: many a variant is refused before."""
        return function_of(self.op, self.operands, self.attributes)

    @cached_property
    def by_row(self) -> tuple[tuple[bool, ...], Call] | None:
        """For each slot, whether a row of the results needs the same row of the operand alone, and the call
        that gives one row; None where a row cannot be computed by itself."""
        return by_row(self)

    def __call__(self, operands: Sequence[Any]) -> Sequence[Any]:
        """The results, as a sequence. Raises a `GraphError` for numbers that the op cannot take."""
        try:
            given = self.function(*operands)
        except GraphError:
            raise
        except FAILURES as error:
            raise GraphError(str(error)) from error
        return (given,) if len(self.ports) == 1 else given


class Intended:
    """A graph with values (see the module's docstring). `values` may hold any tensors that are known; the
    others are computed from them. `tape` says how its gradients came about, `coarse` which graph this one was
    expanded from, if any (`wholes`); `shared` keeps what is known of calls, of whichever graph."""

    def __init__(
        self, graph: Graph, feeds: Mapping[str, Any], values: Mapping[Ref, Any] | None = None,
        tape: Tape | None = None, coarse: Graph | None = None, shared: dict[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.nodes = dict(graph.nodes)
        self.coarse = coarse
        self.feeds = feeds
        self.tape = tape
        self.rules = {} if tape is None else tape.rules
        self.order = {name: place for place, name in enumerate(graph.nodes)}
        self.calls: dict[str, Call] = {}
        """How each node is evaluated, as far as that was asked."""
        self.shared: dict[Any, Any] = {} if shared is None else shared
        self.values: dict[Ref, Any] = dict(values or {})
        self.options: dict[Any, Any] = {}
        """What may be done to each node (`variant`)."""
        self.tails: dict[Any, Any] = {}
        self.units: dict[Ref, Any] = {}
        """What is computed below changed nodes, and by what (`tail`)."""
        self.specs: dict[Ref, Spec] = {}
        for node in graph.nodes.values():
            self.specs.update((Ref(node.name, port), spec) for port, spec in enumerate(node.outputs))
            if Ref(node.name) in self.values:
                continue
            if node.op.fed:
                spec = node.outputs[0]
                default = graph.defaults.get(node.name)
                if node.name not in feeds and default is None:
                    raise GraphError(f"input {node.name!r} of graph {graph.name!r} was not fed")
                given = feeds[node.name] if node.name in feeds else nested.full(spec.shape, default)
                self.values[Ref(node.name)] = nested.read(given, spec, node.name, FLOAT, True)
            else:
                operands = [None if ref is None else self.values[ref] for ref in node.operands]
                self.keep(node, self.call_of(node.name)(operands))

    def keep(self, node: Node, values: Sequence[Any]) -> None:
        for port, value in enumerate(values):
            self.values[Ref(node.name, port)] = value

    def call_of(self, name: str) -> Call:
        """How a node of the graph is evaluated."""
        found = self.calls.get(name)
        if found is None:
            node = self.nodes[name]
            specs = self.graph.operand_specs(node.operands)
            found = self.calls[name] = self.call(node.op, specs, node.attributes)
        return found

    def call(self, op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> Call:
        """How a node of that op is evaluated; kept by what it depends on. Raises a `GraphError` where the
        op refuses."""
        key = call_key(op, specs, attributes)
        found = self.shared.get(key) if key else None
        if found is None:
            found = _call(op, specs, attributes)
            if key:
                self.shared[key] = found
        if isinstance(found, GraphError):
            raise found.with_traceback(None)  # it is kept, and would keep every frame that it went through
        return found

    # ------------------------------------------------------------ how the nodes hang together

    @cached_property
    def users(self) -> dict[Ref, list[tuple[str, int]]]:
        """Who reads each tensor: (node, slot)."""
        users: dict[Ref, list[tuple[str, int]]] = {}
        for node in self.nodes.values():
            for slot, ref in enumerate(node.operands):
                if ref is not None:
                    users.setdefault(ref, []).append((node.name, slot))
        return users

    @cached_property
    def below(self) -> dict[str, int]:
        """For each node, itself and all that depends on it, as bits by place in the order."""
        below: dict[str, int] = {name: 1 << place for name, place in self.order.items()}
        for node in reversed(list(self.nodes.values())):
            for ref in node.operands:
                if ref is not None:
                    below[ref.node] |= below[node.name]
        return below

    def all_below(self, names: Iterable[str]) -> int:
        """The same for several nodes at once; one that the graph does not have counts for nothing."""
        found = 0
        for name in names:
            found |= self.below.get(name, 0)
        return found

    @cached_property
    def wholes(self) -> dict[Ref, list[Scope]]:
        """For each tensor, the composites that give it and can be computed by themselves (`wholes`)."""
        return {} if self.coarse is None else wholes_of(self.graph, self.coarse, self.order)

    def steps_from(self, name: str) -> dict[str, int]:
        """How many edges away each node is, up or down."""
        if name not in self._steps:
            steps, ring = {name: 0}, [name]
            for away in range(1, FAR + 1):
                ring = [near for here in ring for near in self._neighbours[here] if near not in steps]
                steps |= dict.fromkeys(ring, away)
            self._steps[name] = steps
        return self._steps[name]

    @cached_property
    def _steps(self) -> dict[str, dict[str, int]]:
        return {}

    @cached_property
    def _neighbours(self) -> dict[str, list[str]]:
        """Who reads a node, and whom it reads."""
        found: dict[str, list[str]] = {name: [] for name in self.order}
        for node in self.nodes.values():
            for ref in node.operands:
                if ref is not None:
                    found[node.name].append(ref.node)
                    found[ref.node].append(node.name)
        return found

    def depends(self, name: str, on: str) -> bool:
        """Whether a node needs another (or is it)."""
        return bool(self.below[on] >> self.order[name] & 1)

    @cached_property
    def _known(self) -> int:
        """The nodes that depend on nothing that is fed, as bits by place in the order."""
        fed = self.all_below(node.name for node in self.nodes.values() if node.op.fed)
        return ~fed

    def is_known(self, name: str) -> bool:
        """Whether a node depends on nothing that is fed: a table."""
        return bool(self._known >> self.order[name] & 1)

    def is_inside(self, node: Node) -> bool:
        """Whether a node is a step of an op that computes by itself, not of a part of a model."""
        scope = None if node.scope is None else self.graph.scopes[node.scope]
        return scope is not None and scope.op is not None and scope.op.kernel is not None

    def spec(self, ref: Ref) -> Spec:
        return self.specs[ref]

    def shape(self, ref: Ref) -> Shape:
        spec = self.specs[ref]
        return spec.shape, spec.kind

    @cached_property
    def alike(self) -> dict[Shape, list[Ref]]:
        """The tensors of each shape and kind, in the order of the graph."""
        alike: dict[Shape, list[Ref]] = {}
        for node in self.nodes.values():
            for port, spec in enumerate(node.outputs):
                alike.setdefault((spec.shape, spec.kind), []).append(Ref(node.name, port))
        return alike

    @cached_property
    def scoped(self) -> dict[tuple[str | None, str], list[Node]]:
        """The nodes of each scope, by op."""
        found: dict[tuple[str | None, str], list[Node]] = {}
        for node in self.nodes.values():
            found.setdefault((node.scope, node.op.name), []).append(node)
        return found

    @cached_property
    def roles(self) -> list[Group]:
        return roles_of(self.graph)

    @cached_property
    def kinds(self) -> dict[Group, str]:
        """Groups that are wider than a role, and what a sentence calls them."""
        kinds = {**kinds_of(self.graph), **tape_kinds(self.graph, self.tape)}
        return {group: told for group, told in kinds.items() if group not in self.roles}

    @cached_property
    def incoming(self) -> dict[str, list[Ref]]:
        """The cotangents that arrive at nodes with a gradient rule."""
        return incoming(self)

    @cached_property
    def groups(self) -> list[Group]:
        """Every role, every kind, each node by itself."""
        return [*self.roles, *self.kinds, *((name,) for name in self.nodes)]

    @cached_property
    def groups_of(self) -> dict[int, list[Group]]:
        """The same by how many nodes they are."""
        found: dict[int, list[Group]] = {}
        for group in self.groups:
            found.setdefault(len(group), []).append(group)
        return found

    @cached_property
    def siblings(self) -> dict[str, Group]:
        """The largest role of each node."""
        found: dict[str, Group] = {name: (name,) for name in self.nodes}
        for group in self.roles:
            for name in group:
                if len(found[name]) < len(group):
                    found[name] = group
        return found

    def roles_of(self, name: str) -> Sequence[Group]:
        """The roles of a node, the largest first."""
        return self._roles_of.get(name, ())

    @cached_property
    def _roles_of(self) -> dict[str, list[Group]]:
        found: dict[str, list[Group]] = {}
        for group in self.roles:
            for name in group:
                found.setdefault(name, []).append(group)
        return found

    def peers(self, node: Node) -> list[Node]:
        """Other nodes of the same op and shapes, the nearest first."""
        specs = [None if ref is None else self.shape(ref) for ref in node.operands]
        place = self.order[node.name]
        found = [
            other
            for other in self.nodes.values()
            if other.op is node.op and other is not node and len(other.operands) == len(specs)
            and [None if ref is None else self.shape(ref) for ref in other.operands] == specs
        ]  # fmt: skip
        return sorted(found, key=lambda other: abs(self.order[other.name] - place))[:8]

    @cached_property
    def streams(self) -> list[Stream]:
        return streams_of(self)

    @cached_property
    def stream_shapes(self) -> set[tuple[int, ...]]:
        """The shapes of the tensors that the stages of streams start and end with."""
        return {self.spec(stage.end).shape for stream in self.streams for stage in stream.wide.values()}

    @cached_property
    def parts(self) -> Mapping[str, Sequence[Sequence[Part]]]:
        return parts_of(self)

    @cached_property
    def sizes(self) -> list[tuple[str, int]]:
        return sizes_of(self)


def called(intended: Intended, record: Node, given: Sequence[Spec | None]) -> Call:
    """How a record is evaluated: as in the graph, if only its operands come from elsewhere."""
    before = intended.nodes.get(record.name)
    if before is not None and record.op is before.op and record.attributes is before.attributes:
        call = intended.call_of(record.name)
        if alike(call.operands, given):
            return call
    return intended.call(record.op, given, record.attributes)


def _call(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> Call | GraphError:
    try:
        return Call(op, specs, attributes)
    except GraphError as error:
        return error
    except FAILURES as error:
        return GraphError(str(error))


def alike(these: Sequence[Spec | None], those: Sequence[Spec | None]) -> bool:
    """Whether specs are of the same shapes and kinds."""
    if len(these) != len(those):
        return False
    for a, b in zip(these, those):  # an inner loop of a search
        if a is not b and (a is None or b is None or a.shape != b.shape or a.kind != b.kind):
            return False
    return True


def call_key(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> Any:
    """What a call depends on; attributes by their text, since False == 0 == 0.0. None for a node without
    operands, which is evaluated once."""
    if not specs:
        return None
    shapes = tuple([None if spec is None else (spec.shape, spec.kind) for spec in specs])
    return op.name, shapes, repr(attributes) if attributes else ""


__all__ = ["Call", "Intended", "alike", "call_key", "called"]
