"""The dataflow graph: a networkx DAG whose nodes are operations.

A `Graph` grows only through its builder methods, one per op. Each call adds one node to
`graph.dag`, a `networkx.MultiDiGraph` keyed by the node's unique name, and returns `Tensor`s:
the symbolic outputs of that node. Edges carry `slot` (which operand) and `port` (which output
of the producer); a MultiDiGraph, because `x * x` has two edges between the same nodes.

Builders store what was called, composites included; `graph.at(level)` is the same graph with
composites expanded, and its scopes remember what was expanded from what.

>>> g = Graph("example")
>>> x = g.input("x", shape=(2, 3), axes=("token", "feature"))
>>> y = g.softmax(x @ x.T, name="weights")
>>> y
weights: token 2 × token 2
>>> list(g.dag.successors("x"))
['transpose_x', 'matmul_x_transpose_x']
"""

from __future__ import annotations

import keyword
import math
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from . import nested
from .axes import KINDS, Spec, describe
from .builders import Builders
from .errors import GraphError, Rejected, suggest
from .op import Op, check_level, find
from .words import subscript

if TYPE_CHECKING:
    from .trace import Trace

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Ref(NamedTuple):
    """One output of one node."""

    node: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph. `operands` holds None where an optional operand is left out."""

    name: str
    op: Op
    operands: tuple[Ref | None, ...]
    attributes: Mapping[str, Any]
    outputs: tuple[Spec, ...]
    ports: tuple[str, ...]
    """The names of the outputs; ("",) where there is one."""
    title: str | None = None
    scope: str | None = None

    def tensor_name(self, port: int = 0) -> str:
        """The node's own name, or `node.port` where it has several outputs."""
        return f"{self.name}.{self.ports[port]}" if self.ports[port] else self.name

    @property
    def given(self) -> dict[str, Any]:
        """The attributes that differ from the op's defaults."""
        defaults = self.op.defaults
        return {k: v for k, v in self.attributes.items() if not _same(v, defaults[k])}


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


@dataclass(frozen=True, slots=True)
class Scope:
    """A group of nodes: what a composite was expanded into, or a part that the user named.

    For an expanded composite `op`, `operands`, `attributes` and `outputs` are those of the node
    that was there; a plain group has op None. Its nodes are those whose scope it is.
    """

    name: str
    op: Op | None = None
    operands: tuple[Ref | None, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    outputs: tuple[Ref, ...] = ()
    ports: tuple[str, ...] = ()
    title: str | None = None
    parent: str | None = None


class Tensor:
    """A symbolic tensor: one output of one node of a graph. `@ + - * /` and `.T` build nodes."""

    __slots__ = ("graph", "ref")
    __array_ufunc__ = None  # so that numpy leaves `array * tensor` to us

    def __init__(self, graph: Graph, ref: Ref) -> None:
        self.graph = graph
        self.ref = ref

    @property
    def node(self) -> Node:
        return self.graph.node(self.ref.node)

    @property
    def spec(self) -> Spec:
        return self.node.outputs[self.ref.port]

    @property
    def name(self) -> str:
        return self.node.tensor_name(self.ref.port)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def axes(self) -> tuple[str | None, ...]:
        return self.spec.axes

    @property
    def kind(self) -> str:
        return self.spec.kind

    @property
    def symbol(self) -> str:
        """Its short name in formulas and on edges: Q₀, K₀ᵀ, weights."""
        return self.graph.symbol(self.ref)

    @property
    def T(self) -> Tensor:
        """The last two axes swapped."""
        return self.graph.transpose(self)

    def __matmul__(self, other: Operand) -> Tensor:
        return self.graph.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return self.graph.matmul(other, self)

    def __add__(self, other: Operand) -> Tensor:
        return self.graph.add(self, other)

    def __sub__(self, other: Operand) -> Tensor:
        return self.graph.subtract(self, other)

    def __mul__(self, other: Operand) -> Tensor:
        return self.graph.multiply(self, other)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.graph.divide(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return self.graph.add(other, self)

    def __rsub__(self, other: Operand) -> Tensor:
        return self.graph.subtract(other, self)

    def __rmul__(self, other: Operand) -> Tensor:
        return self.graph.multiply(other, self)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self.graph.divide(other, self)

    def __neg__(self) -> Tensor:
        return self.graph.negate(self)

    def __bool__(self) -> bool:
        raise GraphError(
            f"{self.name} has no value while the graph is built; expected no truth test here (use where)"
        )

    def __iter__(self) -> Iterator[Any]:
        raise GraphError(f"{self.name} has no rows while the graph is built; expected no loop over it")

    def __repr__(self) -> str:
        return f"{self.name}: {describe(self.spec)}"


class Tensors(tuple[Tensor, ...]):
    """The outputs of one node: a tuple, whose items go by the names of the outputs too (`.weights`)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Tensor:
        ports = self[0].node.ports
        if name in ports:
            return self[ports.index(name)]
        raise AttributeError(f"{self[0].node.name} has no output {name!r}; expected one of {', '.join(ports)}")


Operand = Tensor | int | float


class Graph(Builders):
    """A dataflow graph (see the module's docstring).

    `title` is free text for people. `notes` says what passes did to it.
    """

    def __init__(self, name: str = "graph", title: str = "") -> None:
        from .. import ops  # noqa: F401  (fills the registry)

        check_name(name)
        self.name = name
        self.title = _free_text(title, "the title of a graph")
        self.notes: tuple[str, ...] = ()
        self._dag: nx.MultiDiGraph = nx.MultiDiGraph(name=name)
        self._nodes: dict[str, Node] = {}
        self._scopes: dict[str, Scope] = {}
        self._aliases: dict[str, Ref] = {}
        self._outputs: dict[str, Ref] = {}
        self._prefixes: set[str] = set()
        self._open: list[str] = []
        self._counters: dict[str, int] = {}
        self._cache: dict[Any, Any] = {}

    # ------------------------------------------------------------ reading

    @property
    def dag(self) -> nx.MultiDiGraph:
        """The DAG, read-only: nodes by name with `op` and `node` (the record); edges with `slot`
        and `port`. `graph.dag.copy()` is one's own."""
        return self._dag.copy(as_view=True)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Every node by name, in canonical order: producers before consumers."""
        return MappingProxyType(self._nodes)

    @property
    def scopes(self) -> Mapping[str, Scope]:
        """What was expanded or grouped, by name, outer scopes first."""
        return MappingProxyType(self._scopes)

    @property
    def aliases(self) -> Mapping[str, Ref]:
        """Names of expanded composites' tensors, and the tensors they stand for."""
        return MappingProxyType(self._aliases)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The named results, in the order in which they were declared."""
        return {name: Tensor(self, ref) for name, ref in self._outputs.items()}

    @property
    def inputs(self) -> dict[str, Spec]:
        """What a run must be fed: inputs and parameters."""
        return {n.name: n.outputs[0] for n in self._nodes.values() if n.op.fed}

    def node(self, name: str) -> Node:
        """The node of that name."""
        try:
            return self._nodes[name]
        except (KeyError, TypeError):
            raise GraphError(f"graph {self.name!r} has no node {name!r}{suggest(name, self._nodes)}") from None

    def resolve(self, name: str) -> Ref:
        """The output that a tensor name, an alias or an output name stands for.

        `head0.weights` also finds `block.heads.head0.weights` where no other name ends so.
        """
        if isinstance(name, Tensor):  # of this graph, or by its name: of the graph this was zoomed from
            if name.graph is self:
                return name.ref
            name = name.name
        if not isinstance(name, str):
            raise GraphError(f"graph {self.name!r} has no tensor {nested.shown(name)}")
        ref = self._exactly(name)
        if ref is not None:
            return ref
        if name in self._nodes:
            raise GraphError(
                f"node {name!r} has several outputs; expected one of "
                + ", ".join(self._nodes[name].tensor_name(p) for p in range(len(self._nodes[name].ports)))
            )
        endings = self._endings().get(name, ())
        if len(endings) == 1:
            return endings[0]
        if endings:
            raise GraphError(
                f"{name!r} could be {', '.join(map(self.tensor_name, endings))};"
                " expected a name that only one tensor ends in"
            )
        known = [*self.tensor_names(), *self._endings()]
        raise GraphError(f"graph {self.name!r} has no tensor {name!r}{suggest(name, known)}")

    def __contains__(self, name: object) -> bool:
        """Whether `resolve` finds a tensor by that name (quick in a large graph, for it looks for no
        similar one)."""
        if isinstance(name, Tensor):
            name = name.name
        if not isinstance(name, str):
            return False
        if self._exactly(name) is not None:
            return True
        return name not in self._nodes and len(self._endings().get(name, ())) == 1

    def _exactly(self, name: str) -> Ref | None:
        """The output that has this very name, or None."""
        node = self._nodes.get(name)
        if node is not None and len(node.ports) == 1:
            return Ref(name)
        for table in (self._aliases, self._outputs):
            if name in table:
                return table[name]
        owner, _, port = name.rpartition(".")
        node = self._nodes.get(owner)
        if node is None or not port or port not in node.ports:
            return None
        return Ref(owner, node.ports.index(port))

    def _endings(self) -> dict[Any, list[Ref]]:
        """Every dotted ending of a tensor's name, and the tensors whose names end so."""
        if "endings" not in self._cache:
            endings: dict[str, list[Ref]] = {}
            for name in self.tensor_names():
                ref = self.resolve(name)
                parts = name.split(".")
                for start in range(1, len(parts)):
                    found = endings.setdefault(".".join(parts[start:]), [])
                    if ref not in found:
                        found.append(ref)
            self._cache["endings"] = endings
        return self._cache["endings"]

    def tensor(self, name: str) -> Tensor:
        """The symbolic tensor of that name, alias or output name."""
        return Tensor(self, self.resolve(name))

    def spec(self, ref: Ref) -> Spec:
        """Shape, axes and kind of one output."""
        return self._nodes[ref.node].outputs[ref.port]

    def tensor_name(self, ref: Ref) -> str:
        """The name of one output."""
        return self._nodes[ref.node].tensor_name(ref.port)

    def tensor_names(self) -> Iterator[str]:
        """Every name that `resolve` knows."""
        for node in self._nodes.values():
            for port in range(len(node.ports)):
                yield node.tensor_name(port)
        yield from self._aliases
        yield from self._outputs

    def operand_specs(self, operands: Sequence[Ref | None]) -> list[Spec | None]:
        """The specs that the rules of an op are called with."""
        return [None if ref is None else self.spec(ref) for ref in operands]

    def symbol(self, ref: Ref, depth: int = 0) -> str:
        """The short name of an output in formulas and on edges."""
        node = self._nodes[ref.node]
        own = node.title or node.name.rpartition(".")[2]
        if len(node.ports) > 1 and "{i}" not in node.op.symbol:
            return node.ports[ref.port]
        inner = ""
        if "{x}" in node.op.symbol:
            first = node.operands[0] if node.operands else None
            inner = self.symbol(first, depth + 1) if first and depth < 3 else own
        return node.op.symbol.format(
            name=node.name.rpartition(".")[2], title=own, x=inner, i=subscript(ref.port)
        )

    # ------------------------------------------------------------ building

    def input(
        self,
        name: str,
        shape: Sequence[int],
        axes: Sequence[str | None] | None = None,
        kind: str = "float",
        title: str | None = None,
    ) -> Tensor:
        """Declare a tensor that each run is fed. `kind` is float, bool (masks) or int (indices)."""
        return self.apply("input", name=name, title=title, shape=shape, axes=axes, kind=kind)

    def parameter(
        self,
        name: str,
        shape: Sequence[int],
        axes: Sequence[str | None] | None = None,
        title: str | None = None,
    ) -> Tensor:
        """Declare a trained tensor: fed like an input, drawn inside the op that uses it."""
        return self.apply("parameter", name=name, title=title, shape=shape, axes=axes)

    def constant(  # pyright: ignore[reportIncompatibleMethodOverride]  (the stub has it as an op)
        self,
        value: Any,
        name: str | None = None,
        axes: Sequence[str | None] | None = None,
        title: str | None = None,
    ) -> Tensor:
        """A tensor that is part of the graph: a number, decimal text, or nested lists of numbers,
        bools or integers."""
        return self.apply("constant", value, name=name, title=title, axes=axes)

    def output(self, **tensors: Tensor) -> None:
        """Name results: `g.output(out=y, weights=w)`. A name is an alias, not a node."""
        for name, tensor in tensors.items():
            self._own(tensor, f"output {name!r}")
            check_name(name)
            if name in self._outputs:
                raise GraphError(f"output {name!r} is declared already; expected a new name")
            if self._names(name, tensor.ref):
                continue
            if self._occupied(name) or name in self._prefixes:
                raise GraphError(
                    f"output {name!r} names another tensor already;"
                    f" expected a name of its own for {tensor.name!r}"
                )
            self._need_free_owners(name, f"output {name!r}")
        for name, tensor in tensors.items():
            self._outputs[name] = tensor.ref
            self._prefixes.update(_owners(name))

    def apply(
        self, op: str | Op, /, *args: Any, name: str | None = None, title: str | None = None, **kwargs: Any
    ) -> Any:
        """Add a node: operands and attributes as the op's signature says.

        Returns its `Tensor`, or a tuple of them where the op has several outputs. Raises a
        `GraphError` that names the op, the node, each operand and what was expected.
        """
        op = op if isinstance(op, Op) else find(op)
        before = len(self._nodes)
        try:
            operands, attributes = self._bind(op, args, kwargs, name)
            refs = tuple(None if t is None else t.ref for t in operands)
            full_name = self._new_name(op, operands, name)
            title = None if title is None else _free_text(title, f"the title of {full_name!r}")
            node = self._infer(op, refs, attributes, full_name, title)
        except GraphError:
            self._withdraw(before)
            raise
        self._insert(node)
        if node.ports == ("",):
            return Tensor(self, Ref(full_name))
        return Tensors(Tensor(self, Ref(full_name, port)) for port in range(len(node.ports)))

    @contextmanager
    def scope(self, name: str, title: str | None = None) -> Iterator[None]:
        """Group the nodes that are added inside; their names are `scope.name`."""
        check_name(name)
        full_name = self._prefixed(name)
        if self._occupied(full_name) or full_name in self._prefixes:
            raise GraphError(f"scope {full_name!r}: the name is taken; expected a new one")
        self._need_free_owners(full_name, f"scope {full_name!r}")
        with self.within(Scope(full_name, title=title, parent=self._open[-1] if self._open else None)):
            yield

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Add nodes inside a given scope record (for passes and readers)."""
        self._scopes[scope.name] = scope
        self._open.append(scope.name)
        try:
            yield
        finally:
            self._open.pop()

    # ------------------------------------------------------------ for passes and readers

    def adopt(self, node: Node, operands: tuple[Ref | None, ...] | None = None) -> None:
        """Add a node record as it is, with other operands if given. Its name must be free."""
        node = node if operands is None else replace(node, operands=operands)
        if self._occupied(node.name):
            raise GraphError(f"node {node.name!r}: the name is taken; expected a new one")
        self._insert(node)

    def adopt_scope(self, scope: Scope) -> None:
        """Enter or replace a scope record."""
        self._scopes[scope.name] = scope

    def forget_scope(self, name: str) -> None:
        """Remove a scope record; its nodes, if any are left, must be given another scope first."""
        self._scopes.pop(name, None)

    def adopt_alias(self, name: str, ref: Ref) -> None:
        """Let `name` stand for an output."""
        if not self._names(name, ref):
            self._aliases[name] = ref

    def adopt_output(self, name: str, ref: Ref) -> None:
        """Let `name` be a result."""
        self._outputs[name] = ref

    def infer(
        self, op: Op, refs: tuple[Ref | None, ...], attributes: Mapping[str, Any], name: str,
        title: str | None = None, scope: str | None = None,
    ) -> Node:  # fmt: skip
        """The node that this call would add, checked by the op's shape rule."""
        return self._infer(op, refs, _frozen_attributes(op, attributes, name), name, title, scope)

    # ------------------------------------------------------------ inner workings

    def _infer(
        self, op: Op, refs: tuple[Ref | None, ...], attributes: Mapping[str, Any], name: str,
        title: str | None, scope: str | None = None,
    ) -> Node:  # fmt: skip
        specs = self.operand_specs(refs)
        try:
            found = op.shape(*specs, **attributes)
        except Rejected as error:
            raise GraphError(f"{op.name} {name!r}: {self._told(op, refs)}{error}") from None
        ports, outputs = (
            (tuple(found), tuple(found.values())) if found and isinstance(found, dict) else (("",), (found,))
        )
        for port, spec in zip(ports, outputs, strict=True):
            if not isinstance(spec, Spec) or (port and not port.isidentifier()):
                raise GraphError(
                    f"op {op.name!r}: its shape rule gives {nested.shown(found)};"
                    " expected a Spec, or Specs by the names of the outputs"
                )
            if spec.rank > nested.RANK_LIMIT:
                raise GraphError(
                    f"{op.name} {name!r} has rank {spec.rank}; expected at most {nested.RANK_LIMIT}"
                )
        scope = scope if scope is not None else self._open[-1] if self._open else None
        return Node(name, op, refs, attributes, outputs, ports, title, scope)

    def _told(self, op: Op, refs: Sequence[Ref | None]) -> str:
        told = [
            f"{op.operand_name(slot)} = {self.tensor_name(ref)} ({describe(self.spec(ref))})"
            for slot, ref in enumerate(refs)
            if ref is not None
        ]
        return f"{', '.join(told)}: " if told else ""

    def _insert(self, node: Node) -> None:
        self._dag.add_node(node.name, op=node.op.name, node=node)
        for slot, ref in enumerate(node.operands):
            if ref is not None:
                self._dag.add_edge(ref.node, node.name, key=slot, slot=slot, port=ref.port)
        self._nodes[node.name] = node
        self._prefixes.update(_owners(node.name))
        self._cache.clear()

    def _withdraw(self, count: int) -> None:
        """Take back the newest nodes until `count` are left: constants of a call that was refused."""
        while len(self._nodes) > count:
            name, _ = self._nodes.popitem()
            self._dag.remove_node(name)
            self._counters.clear()
            self._cache.clear()

    def _bind(
        self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None
    ) -> tuple[list[Tensor | None], Mapping[str, Any]]:
        where = f"{op.name} {name!r}" if name else op.name
        given: dict[str, Any] = {}
        rest: list[Any] = []
        positional = op.positional
        for place, value in enumerate(args):
            if positional and positional[-1].variadic and place >= len(positional) - 1:
                rest.append(value)
            elif place < len(positional):
                given[positional[place].name] = value
            else:
                raise GraphError(f"{where} takes {len(positional)} arguments, got {len(args)}")
        for key, value in kwargs.items():
            if key not in op.parameters:
                raise GraphError(f"{where} takes no argument {key!r}{suggest(key, op.parameters)}")
            if key in given:
                raise GraphError(f"{where} got {key!r} twice")
            given[key] = value
        operands: list[Tensor | None] = []
        attributes: dict[str, Any] = {}
        for p in op.parameters.values():
            if p.variadic:
                operands += [self._operand(v, where, f"{p.name}[{i}]") for i, v in enumerate(rest)]
            elif p.name not in given and p.required:
                raise GraphError(f"{where} needs {p.name!r}")
            elif p.operand:
                value = given.get(p.name)
                if value is None and p.required:
                    raise GraphError(f"{where}: {p.name} is None; expected a tensor of this graph")
                operands.append(None if value is None else self._operand(value, where, p.name))
            else:
                attributes[p.name] = given.get(p.name, p.default)
        while operands and operands[-1] is None:
            operands.pop()
        return operands, _frozen_attributes(op, attributes, where)

    def _operand(self, value: Any, where: str, what: str) -> Tensor:
        if isinstance(value, Tensor):
            self._own(value, where, what)
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self._number(value)
        hint = "; g.constant(...) makes one" if isinstance(value, (list, tuple)) else ""
        raise GraphError(
            f"{where}: {what} is a {type(value).__name__}; expected a tensor of this graph or a number{hint}"
        )

    def _number(self, value: float) -> Tensor:
        """The constant of a bare number, named after it and made once in each scope."""
        name = f"constant_{_spelled(value)}"
        node = self._nodes.get(self._prefixed(name))
        if node is None:
            return self.constant(value, name=name)
        if repr(node.attributes.get("value")) == repr(value):
            return Tensor(self, Ref(node.name))
        return self.constant(value)

    def _own(self, tensor: Any, *what: str) -> None:
        if isinstance(tensor, Tensor) and tensor.graph is self:
            return
        told = ": ".join(what)
        if not isinstance(tensor, Tensor):
            raise GraphError(f"{told} is a {type(tensor).__name__}; expected a tensor of graph {self.name!r}")
        raise GraphError(
            f"{told} is {tensor.name!r} of another graph ({tensor.graph.name!r});"
            f" expected a tensor of graph {self.name!r}"
        )

    def _prefixed(self, name: str) -> str:
        return f"{self._open[-1]}.{name}" if self._open else name

    def _new_name(self, op: Op, operands: Iterable[Tensor | None], name: str | None) -> str:
        if name is not None:
            check_name(name)
            full_name = self._prefixed(name)
            if self._occupied(full_name):
                raise GraphError(f"{op.name} {full_name!r}: the name is taken; expected a new one")
            if full_name in self._prefixes:
                raise GraphError(
                    f"{op.name} {full_name!r}: names that begin with '{full_name}.' are taken;"
                    " expected a new name"
                )
            self._need_free_owners(full_name, f"{op.name} {full_name!r}")
            return full_name
        base = self._prefixed(_automatic(op, [t.node for t in operands if t is not None][:2]))
        full_name, count = base, self._counters.get(base, 0)
        while self._occupied(full_name) or full_name in self._prefixes:
            count += 1
            full_name = f"{base}_{count}"
        self._counters[base] = count
        return full_name

    def _need_free_owners(self, name: str, what: str) -> None:
        """Refuse `a.b` where a node `a` keeps such names for its expansion, or `a` is a scope that
        is not open."""
        here = f"{self._open[-1]}." if self._open else ""
        for owner in _owners(name):
            if owner in self._nodes or (owner in self._scopes and not here.startswith(f"{owner}.")):
                raise GraphError(
                    f"{what}: names that begin with '{owner}.' belong to {owner!r}; expected another name"
                )

    def _occupied(self, name: str) -> bool:
        return (
            name in self._nodes
            or name in self._scopes
            or name in self._aliases
            or name in self._outputs
            or ("." in name and self._is_port(name))
        )

    def _is_port(self, name: str) -> bool:
        owner, _, port = name.rpartition(".")
        return owner in self._nodes and port in self._nodes[owner].ports

    def _names(self, name: str, ref: Ref) -> bool:
        return self._exactly(name) == ref

    # ------------------------------------------------------------ comparing

    def __eq__(self, other: object) -> bool:
        """Same name, title, nodes in the same order, scopes, aliases and outputs."""
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            (self.name, self.title) == (other.name, other.title)
            and list(self._nodes.values()) == list(other._nodes.values())
            and self._scopes == other._scopes
            and self._aliases == other._aliases
            and list(self._outputs.items()) == list(other._outputs.items())
        )

    __hash__ = object.__hash__

    def __len__(self) -> int:
        return len(self._nodes)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<graph {self.name!r}: {len(self._nodes)} nodes, {len(self.inputs)} fed>"

    # ------------------------------------------------------------ doors to the other wings

    def at(self, level: str) -> Graph:
        """This graph with the composites that are coarser than `level` expanded (kept until it
        grows). Levels: block, head, op, primitive."""
        check_level(level)
        if level not in self._cache:
            from ..passes.zoom import zoom

            self._cache[level] = zoom(self, level)
        return self._cache[level]

    def run(self, feeds: Mapping[str, Any] | None = None, **options: Any) -> Trace:
        """Evaluate; see `graphattn.run`."""
        from .trace import run

        return run(self, feeds, **options)

    def render(self, path: Any, **options: Any) -> Any:
        """Draw the graph into an .svg, .png, .pdf or .dot file; see `graphattn.dumps.picture.render`."""
        from ..dumps.picture import render

        return render(self, path, **options)

    def __str__(self) -> str:
        from ..dumps.graph_text import graph_text

        return graph_text(self)

    def _repr_svg_(self) -> str:
        from ..dumps.picture import svg

        return svg(self)


def check_name(name: Any) -> None:
    """Raise a `GraphError` unless `name` is identifiers joined by dots."""
    if not isinstance(name, str):
        raise GraphError(f"a name must be text, got {name!r}")
    for part in name.split("."):
        if not part.isidentifier() or keyword.iskeyword(part) or unicodedata.normalize("NFKC", part) != part:
            raise GraphError(
                f"{name!r} is not a name; expected identifiers joined by dots, like head0.weights"
                " (free text goes into titles)"
            )


def _free_text(text: Any, what: str) -> str:
    if not isinstance(text, str):
        raise GraphError(f"{what} is {text!r}; expected text")
    return text


def _owners(name: str) -> list[str]:
    """Every proper dotted prefix of a name."""
    return [name[:place] for place, letter in enumerate(name) if letter == "."] if "." in name else []


def _automatic(op: Op, operands: Sequence[Node]) -> str:
    """The name of a node that was given none: its op and its operands. It says what was done, so adding
    an unrelated node does not change it. Where it grows long, the operands' ops and a checksum stand
    for their names."""
    name = "_".join([op.name, *(node.name.rpartition(".")[2] for node in operands)])
    if len(name) <= 32:
        return name
    checksum = zlib.crc32(name.encode()) & 0xFFFF
    return "_".join([op.name, *(node.op.name for node in operands), f"{checksum:04x}"])


def _spelled(value: float) -> str:
    """A number as part of a name: 0.5 is 0_5, -1e-05 is minus_1e_minus_05."""
    return repr(value).replace("e-", "e_minus_").replace("e+", "e").replace("-", "minus_").replace(".", "_")


def _frozen_attributes(op: Op, attributes: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    if not attributes:
        return NOTHING
    return MappingProxyType({key: _frozen(value, f"{where}: {key}") for key, value in attributes.items()})


def _frozen(value: Any, what: str, depth: int = 0) -> Any:
    value = nested.listed(value, what)
    if value is None or isinstance(value, (bool, int, float, str)):
        return math.nan if value != value else value  # one NaN, so that equal graphs compare equal
    if isinstance(value, (list, tuple)) and depth < nested.RANK_LIMIT:
        if nested.plain(value):
            return tuple(value)
        return tuple(_frozen(item, what, depth + 1) for item in value)
    raise GraphError(
        f"{what} is a {type(value).__name__}; expected None, a number, text, or nested lists of them"
    )


__all__ = ["KINDS", "Graph", "Node", "Operand", "Ref", "Scope", "Tensor", "Tensors"]
