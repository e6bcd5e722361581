"""The dataflow graph: a networkx DAG whose nodes are operations.

A `Graph` grows only through its builder methods, one per op. Each call adds one node to its one
store, a `networkx.MultiDiGraph` keyed by the node's unique name, and returns `Tensor`s: the symbolic
outputs of that node. The node's record lives on the DAG; its edges carry `slot` (which operand) and
`port` (which output of the producer); a MultiDiGraph, because `x * x` has two edges between the same
nodes. Nodes stand in the order in which they came, producers before consumers: the canonical order.

`graph.nodes` is a view of the records, `graph.dag` a read-only view of the DAG for any algorithm of
networkx, which is asked for what it knows (`ancestors`, `descendants`, orders, paths).

Builders store what was called, composites included; `graph.at(level)` is the same graph with
composites expanded, and its scopes remember what was expanded from what.

>>> g = Graph("example")
>>> x = g.input("x", shape=(2, 3), axes=("token", "feature"))
>>> y = g.softmax(x @ x.T, name="weights")
>>> y
weights: token 2 × token 2
>>> nx.shortest_path(g.dag, "x", "weights")
['x', 'matmul_x_transpose_x', 'weights']
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx

from . import nested, refused
from .arguments import fixed, results, sorted_out
from .axes import KINDS, Spec
from .builders import Builders
from .elsewhere import meant
from .errors import GraphError, suggest
from .names import Names, automatic, check_name, described, free_text, spelled
from .node import Node, Nodes, Ref, Scope, immutable
from .op import Op, check_level, find
from .tensor import Operand, Tensor, Tensors
from .words import joined, listed, subscript, typed

if TYPE_CHECKING:
    from .trace import Trace


T = TypeVar("T")


class Dag(nx.MultiDiGraph):
    """networkx's directed graph with parallel edges, whose table of nodes can be looked into without
    its views (3 times as quick, and building a node looks up ten)."""

    @property
    def table(self) -> dict[str, dict[str, Any]]:
        """The data of each node."""
        return self._node  # pyright: ignore[reportAttributeAccessIssue]  (networkx's, for who derives)


class Graph(Builders):
    """A dataflow graph (see the module's docstring).

    `title` is free text for people. `notes` says what passes did to it. One class, because it is the noun
    that every room holds: names, records, arguments and the DAG have a file each, and what is left are
    their many doors.
    """

    def __init__(self, name: str = "graph", title: str = "") -> None:
        from .. import ops  # noqa: F401  (fills the registry)

        self._dag = Dag()
        self._nodes = Nodes(self._dag.table)
        self._names = Names(self._nodes)
        self._open: list[str] = []
        self._cache: dict[Hashable, Any] = {}
        self._notes: tuple[str, ...] = ()
        self.name = name
        self.title = title

    # ------------------------------------------------------------ reading

    @property
    def name(self) -> str:
        """What the graph is called."""
        return self._dag.graph["name"]

    @name.setter
    def name(self, name: str) -> None:
        check_name(name)
        self._dag.graph["name"] = name
        self._cache.clear()

    @property
    def title(self) -> str:
        """Free text for people."""
        return self._title

    @title.setter
    def title(self, title: str) -> None:
        self._title = free_text(title, "the title of a graph")
        self._cache.clear()

    @property
    def notes(self) -> tuple[str, ...]:
        """What passes did to the graph, in order."""
        return self._notes

    @notes.setter
    def notes(self, notes: Iterable[str]) -> None:
        self._notes = tuple(notes)
        self._cache.clear()

    @property
    def dag(self) -> nx.MultiDiGraph:
        """The DAG, read-only: nodes by name with `op` and `node` (the record); edges with `slot`
        and `port`. `graph.dag.copy()` is one's own."""
        return self._dag.copy(as_view=True)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Every node by name, in canonical order: producers before consumers."""
        return self._nodes

    @property
    def scopes(self) -> Mapping[str, Scope]:
        """What was expanded or grouped, by name, outer scopes first."""
        return MappingProxyType(self._names.scopes)

    @property
    def aliases(self) -> Mapping[str, Ref]:
        """Names of expanded composites' tensors, and the tensors they stand for."""
        return MappingProxyType(self._names.aliases)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The named results, in the order in which they were declared."""
        return {name: Tensor(self, ref) for name, ref in self._names.outputs.items()}

    @property
    def inputs(self) -> dict[str, Spec]:
        """What a run must be fed: inputs and parameters."""
        return {n.name: n.outputs[0] for n in self._nodes.values() if n.op.fed and _default(n) is None}

    @property
    def defaults(self) -> dict[str, float]:
        """What a run may be fed, and what each of its cells is otherwise."""
        given = {n.name: _default(n) for n in self._nodes.values() if n.op.fed}
        return {name: default for name, default in given.items() if default is not None}

    @property
    def fed(self) -> dict[str, Spec]:
        """What a run may be fed: its inputs, and what has a default."""
        return {name: self._nodes[name].outputs[0] for name in (*self.inputs, *self.defaults)}

    def node(self, name: str) -> Node:
        """The node of that name."""
        try:
            return self._nodes[self._names.former.get(name, name)]
        except (KeyError, TypeError):
            raise GraphError(f"graph {self.name!r} has no node {name!r}{suggest(name, self._nodes)}") from None

    def resolve(self, name: str | Tensor) -> Ref:
        """The output that a tensor name, an alias or an output name stands for.

        `head0.weights` also finds `block.heads.head0.weights` where no other name ends so, and
        `block.head0.weights`, which leaves out parts of it, where only one tensor is meant.
        """
        if isinstance(name, Tensor):  # of this graph, or by its name: of the graph this was zoomed from
            if name.graph is self:
                return name.ref
            name = name.name
        if not isinstance(name, str):
            raise GraphError(f"graph {self.name!r} has no tensor {nested.shown(name)}")
        ref = self._names.exactly(name)
        if ref is not None:
            return ref
        if name in self._nodes:
            node = self._nodes[name]
            raise GraphError(
                f"node {name!r} has several outputs; expected one of "
                + ", ".join(node.tensor_name(port) for port in range(len(node.ports)))
            )
        endings = self._names.endings().get(name, ())
        meant = endings or self._names.abridged(name)
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise GraphError(
                f"{name!r} could be {listed(map(self.tensor_name, meant))};"
                f" expected a name that only one tensor {'ends in' if endings else 'fits'}"
                f" (or '*.{name}' where a pattern is taken)"
            )
        if inside := self._names.inside(name):
            raise GraphError(f"{name!r} holds several tensors; expected one of {listed(inside)}")
        raise GraphError(f"graph {self.name!r} has no tensor {name!r}{self._names.similar(name)}")

    def __contains__(self, name: object) -> bool:
        """Whether a tensor has that name, or alone ends so. (`resolve` finds more: a name of which parts
        are left out.)"""
        if isinstance(name, Tensor):
            name = name.name
        if not isinstance(name, str):
            return False
        if self._names.exactly(name) is not None:
            return True
        return name not in self._nodes and len(self._names.endings().get(name, ())) == 1

    def tensor(self, name: str) -> Tensor:
        """The symbolic tensor of that name, alias or output name."""
        return Tensor(self, self.resolve(name))

    def current(self, ref: Ref) -> Ref:
        """The same output by the name that its node has now."""
        name = self._names.former.get(ref.node)
        return ref if name is None else Ref(name, ref.port)

    def spec(self, ref: Ref) -> Spec:
        """Shape, axes and kind of one output."""
        return self._nodes[ref.node].outputs[ref.port]

    def tensor_name(self, ref: Ref) -> str:
        """The name of one output."""
        return self._nodes.table[ref.node]["node"].tensor_name(ref.port)

    def tensor_names(self) -> Iterator[str]:
        """Every name that `resolve` knows."""
        return self._names.all()

    def matching(self, pattern: str) -> list[Ref]:
        """The tensors whose name, alias or output name matches a pattern (`*.weights`), or an ending of it
        does; a pattern that matches none must be a tensor's name, as `resolve` takes it."""
        names = self._names.matching(pattern) if isinstance(pattern, str) else []
        return [self.resolve(name) for name in names or [pattern]]

    def operand_specs(self, operands: Sequence[Ref | None]) -> list[Spec | None]:
        """The specs that the rules of an op are called with."""
        return [None if ref is None else self.spec(ref) for ref in operands]

    def ancestors(self, *names: str) -> set[str]:
        """The nodes that these nodes need, themselves included."""
        return set(chain.from_iterable(nx.bfs_layers(self._dag.reverse(copy=False), names)))

    def descendants(self, *names: str) -> set[str]:
        """The nodes that need one of these nodes, themselves included."""
        return set(chain.from_iterable(nx.bfs_layers(self._dag, names)))

    def is_free(self, name: str) -> bool:
        """Whether no node, scope, alias or output has this name, nor one that begins with it and a dot."""
        return self._names.free(name)

    @property
    def path(self) -> str | None:
        """The name of the innermost scope that is open, if one is."""
        return self._open[-1] if self._open else None

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, kept with the graph until that changes (plans, zooms, derivations)."""
        self._names.unnamed.clear()
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def symbol(self, ref: Ref, depth: int = 0) -> str:
        """The short name of an output in formulas and on edges; x where it has none of its own."""
        node = self._nodes[ref.node]
        name = node.name.rpartition(".")[2]
        name = "x" if automatic(name, node.op) else name
        own = node.title or name
        if len(node.ports) > 1 and "{i}" not in node.op.symbol:
            return node.ports[ref.port]
        inner = ""
        if "{x}" in node.op.symbol:
            first = node.operands[0] if node.operands else None
            inner = self.symbol(first, depth + 1) if first and depth < 3 else own
        return node.op.symbol.format(name=name, title=own, x=inner, i=subscript(ref.port))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or name not in self:
                raise
        raise AttributeError(f"graph has no method or op {name!r}; graph.tensor({name!r}) is that tensor")

    # ------------------------------------------------------------ building

    @meant
    def input(
        self,
        name: str,
        shape: Sequence[int],
        axes: Sequence[str | None] | None = None,
        kind: str = "float",
        title: str | None = None,
        default: float | None = None,
    ) -> Tensor:
        """Declare a tensor that each run is fed. `kind` is float, bool (masks) or int (indices); with a
        `default`, a run need not feed it: each of its cells is that."""
        return self.apply("input", name=name, title=title, shape=shape, axes=axes, kind=kind, default=default)

    @meant
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

    @meant
    def output(self, **tensors: Tensor) -> None:
        """Name results: `g.output(out=y, weights=w)`. A name is an alias, not a node; a node that was given no
        name takes it for its own (see `named`)."""
        for name, tensor in tensors.items():
            self._own(tensor, f"output {name!r}")
            check_name(name)
            if name in self._names.outputs:
                raise GraphError(f"output {name!r} is declared already; expected a new name")
            if self._names.exactly(name) == tensor.ref:
                continue
            if not self._names.free(name):
                raise GraphError(
                    f"output {name!r} names another tensor already;"
                    f" expected a name of its own for {tensor.name!r}"
                )
            self._names.need_free_owners(name, f"output {name!r}", self.path)
        for name, tensor in tensors.items():
            self._call(name, tensor)
            self._names.entered(name)
            self.adopt_output(name, tensor.ref)

    def named(self, tensor: Tensor, name: str) -> Tensor:
        """Name the node of a tensor that was given none, as operators give none: `(q @ k.T).named("scores")`.
        A graph that was run, drawn or expanded keeps its names."""
        self._own(tensor, f"named {nested.shown(name)}")
        check_name(name)
        scope = tensor.node.scope
        full_name = name if scope is None else f"{scope}.{name}"
        self._names.need_free(full_name, f"named {full_name!r}", scope)
        if not self._call(full_name, tensor):
            raise GraphError(
                f"{tensor.name!r} has its name already; expected name={name!r} where it is made, or .named(…)"
                " of what was given none and has one output, before the graph is run or drawn"
            )
        return tensor

    def _call(self, name: str, tensor: Tensor) -> bool:
        """Give a node that was given no name this one, if that is free and the node may have it."""
        node, names = tensor.node, self._names
        inside = node.scope is None or name.startswith(f"{node.scope}.")
        if node.name not in names.unnamed or node.ports != ("",) or not inside or not names.free(name):
            return False
        old, new = Ref(node.name), Ref(name)

        def moved(refs: tuple[Ref | None, ...]) -> tuple[Ref | None, ...]:
            return tuple(new if ref == old else ref for ref in refs)

        later: list[Node] = []  # it and all behind it are entered anew, so that their order stays
        for other in reversed(self._dag.table.values()):
            later.append(other["node"])
            if later[-1] is node:
                break
        self._dag.remove_nodes_from([other.name for other in later])
        for other in reversed(later):
            other = replace(other, name=name) if other is node else other
            self._insert(replace(other, operands=moved(other.operands)) if old in other.operands else other)
        for table in (names.aliases, names.outputs):
            table.update({called: new for called, ref in table.items() if ref == old})
        names.former[node.name] = name
        return True

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
            where = f"{op.name} {name!r}" if name else op.name
            operands, attributes = sorted_out(op, args, kwargs, where)
            refs = tuple([self._operand(value, where, what) for what, value in operands])
            full_name = self._new_name(op, refs, name)
            title = None if title is None else free_text(title, f"the title of {full_name!r}")
            node = self._inferred(op, refs, attributes, full_name, title, self.path)
        except GraphError:
            self._withdraw(before)
            raise
        self._insert(node)
        if name is None:
            self._names.unnamed.add(full_name)
        if op.caution is not None:
            for sentence in op.told("caution", full_name, *self.operand_specs(refs), **node.attributes):
                warnings.warn(f"{op.name} {full_name!r}: {sentence}", stacklevel=3)
        if node.ports == ("",):
            return Tensor(self, Ref(full_name))
        return Tensors(Tensor(self, Ref(full_name, port)) for port in range(len(node.ports)))

    @contextmanager
    def scope(self, name: str, title: str | None = None) -> Iterator[None]:
        """Group the nodes that are added inside; their names are `scope.name`."""
        check_name(name)
        full_name = self._prefixed(name)
        if not self._names.free(full_name):
            raise GraphError(f"scope {full_name!r}: the name is taken; expected a new one")
        self._names.need_free_owners(full_name, f"scope {full_name!r}", self.path)
        with self.within(Scope(full_name, title=title, parent=self.path)):
            yield

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Add nodes inside a given scope record (for passes and readers)."""
        self.adopt_scope(scope)
        self._open.append(scope.name)
        try:
            yield
        finally:
            self._open.pop()

    # ------------------------------------------------------------ for passes and readers

    def adopt(self, node: Node, operands: tuple[Ref | None, ...] | None = None) -> None:
        """Add a node record as it is, with other operands if given. Its name must be free, and its
        operands must be there."""
        node = node if operands is None else replace(node, operands=operands)
        if self._names.taken(node.name):
            raise GraphError(f"node {node.name!r}: the name is taken; expected a new one")
        for ref in node.operands:
            if ref is not None and ref.node not in self._nodes:
                raise GraphError(
                    f"node {node.name!r} has the operand {ref.node!r}, which is not there;"
                    " expected producers before consumers"
                )
        self._insert(immutable(node))

    def adopt_scope(self, scope: Scope) -> None:
        """Enter or replace a scope record."""
        self._names.scopes[scope.name] = immutable(scope)
        self._changed()

    def forget_scope(self, name: str) -> None:
        """Remove a scope record; its nodes, if any are left, must be given another scope first."""
        self._names.scopes.pop(name, None)
        self._changed()

    def adopt_alias(self, name: str, ref: Ref) -> None:
        """Let `name` stand for an output."""
        if self._names.exactly(name) != ref:
            self._names.aliases[name] = ref
            self._changed()

    def forget_alias(self, name: str) -> None:
        """Let `name` stand for nothing."""
        self._names.aliases.pop(name, None)
        self._changed()

    def adopt_output(self, name: str, ref: Ref) -> None:
        """Let `name` be a result."""
        self._names.outputs[name] = ref
        self._changed()

    def infer(
        self, op: Op, refs: tuple[Ref | None, ...], attributes: Mapping[str, Any], name: str,
        title: str | None = None, scope: str | None = None,
    ) -> Node:  # fmt: skip
        """The node that this call would add, checked by the op's shape rule."""
        where = f"{op.name} {name!r}"
        return self._inferred(op, refs, fixed(attributes, where), name, title, scope or self.path)

    # ------------------------------------------------------------ inner workings

    def _inferred(
        self, op: Op, refs: tuple[Ref | None, ...], attributes: Mapping[str, Any], name: str,
        title: str | None, scope: str | None,
    ) -> Node:  # fmt: skip
        table = self._nodes.table
        specs = [None if ref is None else table[ref.node]["node"].outputs[ref.port] for ref in refs]

        def named(slot: int) -> str:
            ref = refs[slot]
            return "" if ref is None else self.tensor_name(ref)

        ports, outputs = results(op, name, specs, attributes, named)
        return Node(name, op, refs, attributes, outputs, ports, title, scope)

    def _insert(self, node: Node) -> None:
        self._dag.add_node(node.name, op=node.op.name, node=node)
        for slot, ref in enumerate(node.operands):
            if ref is not None:
                self._dag.add_edge(ref.node, node.name, key=slot, slot=slot, port=ref.port)
        self._names.entered(node.name)
        self._cache.clear()

    def _changed(self) -> None:
        """A name or a scope came or went: forget what was kept."""
        self._names.changed()
        self._cache.clear()

    def _withdraw(self, count: int) -> None:
        """Take back the newest nodes until `count` are left: constants of a call that was refused."""
        if len(self._nodes) > count:
            self._dag.remove_nodes_from(list(islice(self._nodes, count, None)))
            self._names.withdrawn()
            self._cache.clear()

    def _operand(self, value: Any, where: str, what: str) -> Ref | None:
        if value is None:
            return None
        if isinstance(value, Tensor):
            if value.graph is not self:
                self._own(value, where, what)
            return value.ref
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self._number(value).ref
        if isinstance(value, Tensors):
            self._own(value, where, what)
        hint = (
            "; g.constant(...) makes one"
            if isinstance(value, (list, tuple)) or hasattr(value, "tolist")
            else ""
        )
        raise GraphError(
            f"{where}: {what} is {typed(value)}; expected a tensor of this graph or a number{hint}"
        )

    def _number(self, value: float) -> Tensor:
        """The constant of a bare number, named after it and made once in each scope."""
        value = float(value) if isinstance(value, float) else int(value)  # also numpy's
        name = f"constant_{spelled(value)}"
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
        if isinstance(tensor, Tensors):
            ports = tensor[0].node.ports
            raise GraphError(
                f"{told} is all that {tensor[0].node.name!r} gives: {joined(ports)};"
                f" expected one of them, like .{ports[0]}"
            )
        if not isinstance(tensor, Tensor):
            raise GraphError(f"{told} is {typed(tensor)}; expected a tensor of graph {self.name!r}")
        raise GraphError(
            f"{told} is {tensor.name!r} of another graph ({tensor.graph.name!r});"
            f" expected a tensor of graph {self.name!r}"
        )

    def _prefixed(self, name: str) -> str:
        return f"{self._open[-1]}.{name}" if self._open else name

    def _new_name(self, op: Op, refs: Iterable[Ref | None], name: str | None) -> str:
        if name is None:
            given = [(self._nodes[ref.node], ref.port) for ref in refs if ref is not None]
            return self._names.automatic(self._prefixed(described(op, given[:2])))
        check_name(name)
        full_name = self._prefixed(name)
        self._names.need_free(full_name, f"{op.name} {full_name!r}", self.path)
        return full_name

    # ------------------------------------------------------------ comparing and copying

    def __eq__(self, other: object) -> bool:
        """Same name, title, nodes in the same order, scopes, aliases and outputs."""
        if not isinstance(other, Graph):
            return NotImplemented
        if self is other:
            return True
        mine, theirs = self._names, other._names
        return (
            (self.name, self.title) == (other.name, other.title)
            and list(self._nodes.values()) == list(other._nodes.values())
            and (mine.scopes, mine.aliases) == (theirs.scopes, theirs.aliases)
            and list(mine.outputs.items()) == list(theirs.outputs.items())
        )

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, Any]:
        """All that a copy or a pickle needs: the records, which are immutable, and the names."""
        names = self._names
        return {
            "name": self.name, "title": self.title, "notes": self.notes,
            "nodes": tuple(self._nodes.values()), "scopes": dict(names.scopes),
            "aliases": dict(names.aliases), "outputs": dict(names.outputs), "former": dict(names.former),
            "open": tuple(self._open),
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        Graph.__init__(self, state["name"], state["title"])
        for node in state["nodes"]:
            self._insert(node)
        self._names.scopes.update(state["scopes"])
        self._names.aliases.update(state["aliases"])
        self._names.former.update(state["former"])
        for name, ref in state["outputs"].items():
            self._names.entered(name)
            self._names.outputs[name] = ref
        self._open += state["open"]
        self.notes = state["notes"]

    def __len__(self) -> int:
        return len(self._nodes)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<graph {self.name!r}: {len(self)} nodes, {len(self.inputs)} fed>"

    # ------------------------------------------------------------ doors to the other wings

    def at(self, level: str) -> Graph:
        """This graph with the composites that are coarser than `level` expanded (kept until it
        grows). Levels: block, head, op, primitive."""
        check_level(level)
        self._names.unnamed.clear()
        if level not in self._cache:
            from ..passes.zoom import zoom

            self._cache[level] = zoom(self, level)
        return self._cache[level]

    def opened(self, names: Collection[str]) -> Graph:
        """This graph with the composites of these names expanded, and no others."""
        from ..passes.zoom import expand_all

        return expand_all(self, lambda node: node.name in names)

    def fused(self) -> Graph:
        """This graph with its composites collapsed again where they still are what they expand to."""
        from ..passes.zoom import fuse

        return fuse(self)

    def callable(self, level: str = "op") -> Graph:
        """This graph at a level, "op" or finer, with what has no kernel expanded too: every node of it can
        be called (kept until it changes)."""
        key = ("callable", level)
        if key not in self._cache:
            from ..passes.zoom import to_kernels

            self._cache[key] = to_kernels(self.at(level))
        return self._cache[key]

    def run(self, feeds: Mapping[str, Any] | None = None, **options: Any) -> Trace:
        """Evaluate; see `graphattn.run`."""
        from .run import run

        return run(self, feeds, **options)

    @meant
    def render(self, path: Any, **options: Any) -> Any:
        """Draw the graph into an .svg, .png, .pdf or .dot file; see `graphattn.dumps.picture.render`."""
        from ..dumps.picture import render

        return render(self, path, **options)

    def __str__(self) -> str:
        from ..dumps.graph_text import graph_text

        return graph_text(self, readable=False)

    def _repr_svg_(self) -> str:
        from ..dumps.picture import svg

        return svg(self)

    def _repr_html_(self) -> str:
        from ..dumps.notebook import graph_html

        return graph_html(self)


refused.refuse(Graph, refused.OF_GRAPHS)


def _default(node: Node) -> float | None:
    return node.attributes.get("default")


__all__ = ["KINDS", "Graph", "Node", "Operand", "Ref", "Scope", "Tensor", "Tensors"]
