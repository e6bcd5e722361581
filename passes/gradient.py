"""gradient: the graph with, behind its own nodes, those that compute derivatives.

With L = Σ over `of` of Σ (tensor · its cotangent), the result holds d_x = ∂L/∂x for every tensor x
between `wrt` and `of`. Each tensor of `of` is fed its cotangent, as input `d_<name>`; that of a tensor
of one cell is 1 where it is not fed. Each op's `gradient` rule builds the nodes that it needs;
composites without a rule are expanded. Backward nodes sit in the scope `backward` and are named after
what they are:

    scores          = matmul(q, keys)               backward.scores.…     what its rule needs besides
    weights         = softmax(scores)               backward.d_scores     = multiply(…)

so `trace["d_scores"]` finds it; `backward.d_x` is the sum where several nodes use x. The outputs are
those of the graph, and `d_<name>` for each `wrt`; `notes` says how many nodes came. Work that nothing
needs, and work that is there already, is left out. The gradient of such a graph is again one: its scope
is `backward2`, its names begin with `d2_`.

>>> g = Graph("example")
>>> x = g.input("x", (1, 1))
>>> g.output(y=x * x)
>>> value_and_grad(g, {"x": [[3.0]]}, of="y")
(9.0, {'x': [[6.0]]})
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref, Scope, Tensor
from graphattn.core.interpreter import padded
from graphattn.core.names import owners
from graphattn.core.op import Op
from graphattn.core.run import run
from graphattn.core.words import listed, typed
from graphattn.passes.common_subexpressions import common_subexpressions
from graphattn.passes.dead_code import dead_code
from graphattn.passes.rename import rename
from graphattn.passes.zoom import expand_all

CHECKSUM = re.compile(r"_[0-9a-f]{4}$")
"""How a name ends that was too long (`core.names.described`)."""


PATHS = 2000
"""So many paths are followed depth first."""


class Rule(NamedTuple):
    """Where a backward node comes from: the place-th step of the gradient rule of a node."""

    op: Op
    node: str
    place: int


@dataclass(frozen=True, slots=True)
class Tape:
    """How a graph with derivatives came about, step by step."""

    source: Graph
    """What was differentiated, and of what by what."""
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    rules: Mapping[str, Rule]
    """For each backward node, which rule it comes from."""
    handed: Mapping[Ref, tuple[str, int]]
    """Each tensor that a rule hands on, as a tensor of its own: (node, the slot of its operand)."""
    arrived: Mapping[Ref, tuple[Ref, ...]]
    """For each cotangent, what arrived and is summed up in it, in the order in which it arrived."""
    tensors: Mapping[Ref, Ref]
    """For each cotangent, the tensor of which it is."""

    @property
    def gradients(self) -> tuple[Ref, ...]:
        """The cotangents that were asked for."""
        asked = {self.source.resolve(name) for name in self.wrt}
        return tuple(found for found, of in self.tensors.items() if of in asked)

    def cotangent(self, of: Ref) -> Ref | None:
        """The cotangent of a tensor."""
        return next((found for found, tensor in self.tensors.items() if tensor == of), None)


@dataclass(frozen=True, slots=True)
class Differentiated:
    """A graph with derivatives, and how its parts are called."""

    graph: Graph
    cotangents: Mapping[str, str]
    """For each tensor of `of`, the input that is its cotangent; that of a tensor of one cell need not be
    fed, and is 1 then."""
    gradients: Mapping[str, str]
    """For each name of `wrt`, the output that is its gradient."""
    tape: Tape | None = None
    """How it came about, where rules are kept `apart`."""


def gradient(graph: Graph, of: str | Iterable[str], wrt: str | Iterable[str] | None = None) -> Graph:
    """The graph with the derivatives of `of` (see the module's docstring).

    of: the name of an output or of any tensor, or several; wrt: names of tensors, all float inputs
    and parameters if left out. A tensor that `of` does not depend on gets zeros. Raises a
    `GraphError` for names that are not there, tensors that are not float, and ops between them that
    have no gradient.
    """
    return differentiate(graph, of, wrt).graph


def differentiate(
    graph: Graph,
    of: str | Iterable[str],
    wrt: str | Iterable[str] | None = None,
    apart: bool = False,
    depth_first: int = 0,
    stop: Iterable[str] = (),
) -> Differentiated:
    """As `gradient`, with the names of what is fed and of what comes out. It is kept with the graph
    until that grows. `apart` leaves what each rule gives by itself, and keeps the tape; `depth_first` is how an
    engine goes wrong that knows no order: from the first operand on (1), or from the last (−1). Nothing goes
    back through the nodes that `stop` names.
    """
    if not isinstance(graph, Graph):
        raise GraphError(f"gradient got {typed(graph)}; expected a Graph")
    asked = _names(of, "of")
    wanted = None if wrt is None else _names(wrt, "wrt")
    if depth_first:
        return _DepthFirst(graph, asked, wanted, depth_first).result()
    stopped = frozenset(stop)
    key = ("gradient", asked, wanted, apart, stopped)
    return graph.kept(key, lambda: _Backward(graph, asked, wanted, apart, stopped).result())


def value_and_grad(
    graph: Graph,
    feeds: Mapping[str, Any],
    of: str | Iterable[str],
    wrt: str | Iterable[str] | None = None,
    **options: Any,
) -> tuple[Any, dict[str, Any]]:
    """The value of `of` and its gradients by name of `wrt`, as nested lists.

    The value of a tensor of one cell is that number; of several tensors, a dict by name. Feeds have
    the cotangents of all others beside the inputs (`d_<name>`). Options are those of `run`.
    """
    found = differentiate(graph, of, wrt)
    names = list(dict.fromkeys(_names(of, "of")))
    trace = run(found.graph, feeds, targets=[*names, *found.gradients.values()], **options)
    values = {name: _number(trace[name], trace.spec(name)) for name in names}
    gradients = {name: trace[output] for name, output in found.gradients.items()}
    return (values[names[0]] if isinstance(of, str) else values), gradients


def _number(value: Any, spec: Spec) -> Any:
    return next(nested.flat(value)) if spec.size == 1 else value


def _names(names: Any, what: str) -> tuple[str, ...]:
    """Names or symbolic tensors, one or several, as a tuple of names."""
    several = [names] if isinstance(names, (str, Tensor)) else names
    if not isinstance(several, Iterable):
        raise GraphError(f"{what} is {typed(names)}; expected the name of a tensor, or several")
    found = tuple(name.name if isinstance(name, Tensor) else name for name in several)
    for name in found:
        if not isinstance(name, str):
            raise GraphError(f"{what} holds {typed(name)}; expected names of tensors")
    if not found and what == "of":
        raise GraphError("of is empty; expected the name of a tensor, or several")
    return found


def without_rule(node: Node) -> bool:
    """Whether a node's derivative is that of its expansion."""
    floats = any(spec.kind == "float" for spec in node.outputs)
    return bool(node.operands) and floats and node.op.gradient is None and node.op.expand is not None


class _Backward:
    """One derivation: the old graph with its backward nodes first as they come, then put in order."""

    def __init__(
        self, graph: Graph, of: Sequence[str], wrt: Sequence[str] | None, apart: bool = False,
        stop: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.stop = stop
        self.apart = apart
        self.rules: dict[str, Rule] = {}
        self.handed: dict[Ref, tuple[str, int]] = {}
        self.arrived: dict[Ref, tuple[Ref, ...]] = {}
        self.old = expand_all(graph, without_rule)
        self.of = {name: self._float(name, "of") for name in of}
        names = [n for n, spec in self.old.inputs.items() if spec.kind == "float"] if wrt is None else wrt
        self.wrt = {name: self._float(name, "wrt") for name in names}
        self.scope, self.prefix = self._own_names()
        self.raw = copy(self.old)
        self.found: dict[Ref, list[Ref]] = {}
        """What arrives at each tensor of the old graph."""
        self.final: dict[Ref, Ref] = {}
        """The cotangent of each of them, when all that arrives is summed up."""
        self.cotangents: dict[str, str] = {}
        self.raw.adopt_scope(Scope(self.scope, title=f"gradient of {', '.join(of)}"))

    def _float(self, name: str, what: str) -> Ref:
        ref = self.old.resolve(name)
        if self.old.spec(ref).kind != "float":
            raise GraphError(
                f"gradient: {what} {name!r} is {describe(self.old.spec(ref))}; expected a tensor of floats"
            )
        return ref

    def _own_names(self) -> tuple[str, str]:
        """The scope of the backward nodes, and what their names begin with."""
        order = 1
        while True:
            end = str(order) if order > 1 else ""
            scope = f"backward{end}"
            if self.old.is_free(scope):
                return scope, f"d{end}_"
            order += 1

    def result(self) -> Differentiated:
        """The rules of all ops asked, then the passes: equal work merged, dead work dropped, nodes named."""
        self._seed()
        self._go_back()
        outputs = {name: self._output(name, ref) for name, ref in self.wrt.items()}
        marks = self._marked()
        own = [n.name for n in self.raw.nodes.values() if n.name not in self.old.nodes and not n.op.fed]
        merged = self.raw if self.apart else common_subexpressions(self.raw, set(own))
        graph = dead_code(merged, set(own))
        graph = self._named(graph, [name for name in own if name in graph.nodes], marks)
        told = f"gradient: of {listed(self.of, 5)}, by {listed(self.wrt, 5)}"
        backward = sum(node.scope == self.scope for node in graph.nodes.values())
        graph.notes = (*self.old.notes, f"{told}: added {backward} nodes in {self.scope}")
        return Differentiated(graph, self.cotangents, outputs, _tape(self, graph) if self.apart else None)

    def _marked(self) -> dict[str, str]:
        """Aliases that no name can be, by which each cotangent is found again after the passes, and what
        it is to be called."""
        marks = {}
        for number, (ref, last) in enumerate(self.final.items()):
            mark = f"{self.scope}.{number}"
            self.raw.adopt_alias(mark, last)
            marks[mark] = f"{self.scope}.{self.cotangent_name(self.old.tensor_name(ref))}"
        return marks

    def _named(self, graph: Graph, own: Sequence[str], marks: Mapping[str, str]) -> Graph:
        """The graph with every backward node named after the cotangent that it is."""
        names, free = dict.fromkeys(own, ""), _Free(own)
        for mark, name in marks.items():
            ref = graph.aliases.get(mark)
            if ref is not None and names.get(ref.node) == "" and graph.nodes[ref.node].ports == ("",):
                names[ref.node] = free.take(name)
        for old, new in names.items():
            path, dot, leaf = old.rpartition(".")
            if not new and CHECKSUM.search(leaf):  # too long to say; the scope says what it belongs to
                names[old] = free.take(f"{path}{dot}{graph.nodes[old].op.name}")
        self.named = {old: new or old for old, new in names.items()}
        graph = rename(graph, self.named, self.scope)
        for mark, name in marks.items():
            ref = graph.aliases.get(mark)
            if ref is not None:
                graph.forget_alias(mark)
                if name not in graph.aliases and graph.is_free(name):
                    graph.adopt_alias(name, ref)
        return graph

    # ------------------------------------------------------------ what comes in

    def _seed(self) -> None:
        for name, ref in self.of.items():
            spec = self.old.spec(ref)
            one = 1.0 if spec.size == 1 else None
            seed = self.raw.input(self._fed_name(name), spec.shape, spec.axes, default=one)
            self.cotangents[name] = seed.name
            self.found.setdefault(ref, []).append(seed.ref)

    def _fed_name(self, name: str) -> str:
        choices = [self.prefix + name.rpartition(".")[2], self.prefix + name.replace(".", "_")]
        return self._free(next((c for c in choices if self._is_free(c)), choices[-1]))

    def _is_free(self, name: str) -> bool:
        return self.raw.is_free(name)

    def _free(self, name: str) -> str:
        while not self._is_free(name):
            name += "_"
        return name

    def _inside(self, name: str) -> Any:
        """The scope, for the time being, of what belongs to one node."""
        return self.raw.within(Scope(f"{self.scope}.{name}", parent=self.scope))

    # ------------------------------------------------------------ from the results to the operands

    def _go_back(self) -> None:
        active = self._active()
        for node in reversed(list(self.old.nodes.values())):
            refs = [Ref(node.name, port) for port in range(len(node.ports))]
            if any(ref in self.found for ref in refs):
                with self._inside(node.name):
                    self._settle(node, refs)
                    if any(ref in self.final for ref in refs) and any(ref in active for ref in node.operands):
                        self._apply(node, refs, active)

    def _active(self) -> set[Ref | None]:
        """The tensors that depend on `wrt`, as far as floats carry it. (Asking networkx for the nodes below,
        in a view of the edges that carry floats, takes 7 times as long: 12.7 and 1.8 ms for 1,500 nodes.)"""
        active: set[Ref | None] = set(self.wrt.values())
        for node in self.old.nodes.values():
            if not active.isdisjoint(node.operands) and node.name not in self.stop:
                active |= {Ref(node.name, p) for p, spec in enumerate(node.outputs) if spec.kind == "float"}
        return active

    def _settle(self, node: Node, refs: Sequence[Ref]) -> None:
        """Sum up what arrives at the results of a node."""
        for ref, port in zip(refs, node.ports, strict=True):
            found = self.found.pop(ref, [])
            arrived = self._together(found)
            if arrived:
                whole = Tensor(self.raw, arrived[0])
                name = self.prefix + (port or node.name.rpartition(".")[2])
                for left, more in zip(range(len(arrived) - 2, -1, -1), arrived[1:], strict=True):
                    own = self._free_inside(f"{name}_{left}" if left else name)
                    whole = self.raw.add(whole, Tensor(self.raw, more), name=own)
                self.final[ref] = whole.ref
                self.arrived[whole.ref] = tuple(arrived)

    def _together(self, arrived: list[Ref]) -> list[Ref]:
        """What arrives, in fewer tensors where several come from one kind of op that knows how to."""
        groups: dict[Any, list[Ref]] = {}
        for ref in arrived:
            node = self.raw.nodes[ref.node]
            alike = node.op.summed is not None and node.ports == ("",) and ref.node not in self.old.nodes
            key = (node.op, tuple(sorted(node.attributes.items()))) if alike and not self.apart else ref
            groups.setdefault(key, []).append(ref)
        kept: list[Ref] = []
        for refs in groups.values():
            op = self.raw.nodes[refs[0].node].op
            if len(refs) > 1 and op.summed is not None:
                nodes = [self.raw.nodes[ref.node] for ref in refs]
                calls = [tuple(None if r is None else Tensor(self.raw, r) for r in n.operands) for n in nodes]
                whole = op.told("summed", nodes[0].name, self.raw, *calls, **nodes[0].attributes)
                refs = refs if whole is None else [whole.ref]
            kept += refs
        return kept

    def _free_inside(self, name: str) -> str:
        full, count, start = name, 0, self.raw.path
        while not self._is_free(f"{start}.{full}"):
            count += 1
            full = f"{name}_{count}"
        return full

    def _apply(self, node: Node, refs: Sequence[Ref], active: set[Ref | None]) -> None:
        """Hand the cotangents of a node's results on to its operands."""
        raw, op = self.raw, node.op
        if op.gradient is None:
            raise GraphError(
                f"gradient: {op.name} {node.name!r} has no gradient rule and no expansion that has one;"
                " expected one of them"
            )
        incoming = tuple(Tensor(raw, self.final[ref]) if ref in self.final else None for ref in refs)
        results = tuple(Tensor(raw, ref) for ref in refs)
        operands = [None if ref is None else Tensor(raw, ref) for ref in padded(op, node.operands)]
        single = node.ports == ("",)
        count = len(raw.nodes)
        built = op.told(
            "gradient", node.name, raw, incoming[0] if single else incoming,
            results[0] if single else results, *operands, **node.attributes,
        )  # fmt: skip
        if not isinstance(built, tuple) or not len(node.operands) <= len(built) <= len(operands):
            raise GraphError(
                f"the gradient rule of {op.name} gave {type(built).__name__} for {node.name!r};"
                f" expected a tuple of {len(operands)} cotangents, one for each operand"
            )
        for slot, (ref, cotangent) in enumerate(zip(node.operands, built, strict=False)):
            if ref is not None and ref in active and cotangent is not None:
                self._check(node, slot, ref, cotangent)
                handed = self._by_itself(cotangent, incoming) if self.apart else cotangent.ref
                self.handed[handed] = node.name, slot
                self.found.setdefault(ref, []).append(handed)
        if self.apart:
            for place, name in enumerate(islice(raw.nodes, count, None)):
                self.rules[name] = Rule(op, node.name, place)

    def _by_itself(self, cotangent: Tensor, incoming: Sequence[Tensor | None]) -> Ref:
        """What a rule hands on as a tensor of its own, where it is what arrived, or handed on before."""
        ref = cotangent.ref
        if ref in self.handed or any(t is not None and t.ref == ref for t in incoming):
            return self.raw.broadcast(cotangent, cotangent.shape, name=self._free_inside("handed_on")).ref
        return ref

    def _check(self, node: Node, slot: int, ref: Ref, cotangent: Any) -> None:
        spec = self.old.spec(ref)
        fits = isinstance(cotangent, Tensor) and (cotangent.shape, cotangent.kind) == (spec.shape, "float")
        if not fits:
            told = describe(cotangent.spec) if isinstance(cotangent, Tensor) else type(cotangent).__name__
            raise GraphError(
                f"the gradient rule of {node.op.name} gave, for {node.op.operand_name(slot)} of"
                f" {node.name!r}, {told}; expected {describe(replace(spec, axes=()))}"
            )

    # ------------------------------------------------------------ what comes out

    def _output(self, name: str, ref: Ref) -> str:
        if ref not in self.final:
            spec = self.old.spec(ref)
            with self._inside(ref.node):
                zero = self.raw.constant("0", name=self._free_inside("zero"))
                self.final[ref] = self.raw.broadcast(zero, spec.shape, name=self._free_inside("zeros")).ref
        output = self._free(self.cotangent_name(name))
        self.raw.adopt_output(output, self.final[ref])
        return output

    def cotangent_name(self, name: str) -> str:
        """What the cotangent of a tensor is called: head0.scores → head0.d_scores."""
        path, dot, leaf = name.rpartition(".")
        return f"{path}{dot}{self.prefix}{leaf}"


def _tape(back: _Backward, graph: Graph) -> Tape:
    """What was noted on the way, by the names that nodes have now, of those that are left."""

    def now(ref: Ref) -> Ref | None:
        name = back.named.get(ref.node, ref.node)
        return Ref(name, ref.port) if name in graph.nodes else None

    def found(refs: Iterable[Ref]) -> Iterable[tuple[Ref, Ref]]:
        return ((ref, new) for ref in refs if (new := now(ref)) is not None)

    tensors = {new: ref for ref, own in back.final.items() if (new := now(own)) is not None}
    called = {back.named.get(name, name): rule for name, rule in back.rules.items()}
    rules = {name: rule for name, rule in called.items() if name in graph.nodes}
    handed = {new: back.handed[ref] for ref, new in found(back.handed)}
    arrived = {
        new: tuple(arrival for _, arrival in found(back.arrived[ref])) for ref, new in found(back.arrived)
    }
    return Tape(back.old, tuple(back.of), tuple(back.wrt), rules, handed, arrived, tensors)


class _DepthFirst(_Backward):
    """An engine that goes back depth first: whenever something arrives at a tensor, it hands on all that it has
    so far. Raises a `GraphError` where too many paths lead back."""

    def __init__(self, graph: Graph, of: Sequence[str], wrt: Sequence[str] | None, step: int) -> None:
        super().__init__(graph, of, wrt)
        self.step = step

    def _go_back(self) -> None:
        active = self._active()
        arriving = [(ref, seed) for ref, seeds in self.found.items() for seed in seeds]
        self.found.clear()
        for _ in range(PATHS):
            if not arriving:
                return
            ref, cotangent = arriving.pop()
            node = self.old.nodes[ref.node]
            with self._inside(node.name):
                so_far = self.final.get(ref)
                if so_far is not None:
                    cotangent = self.raw.add(Tensor(self.raw, so_far), Tensor(self.raw, cotangent)).ref
                self.final[ref] = cotangent
                if any(operand in active for operand in node.operands):
                    self._apply(node, [Ref(node.name, port) for port in range(len(node.ports))], active)
            handed = [(to, given) for to, found in self.found.items() for given in found]
            self.found.clear()
            arriving += handed[:: -self.step]
        raise GraphError(f"gradient: more than {PATHS} paths lead back; expected fewer")


class _Free:
    """Names for backward nodes, chosen so that none begins with the name of a node."""

    def __init__(self, inner: Iterable[str]) -> None:
        self.taken = set(inner)
        self.owners = {owner for name in self.taken for owner in owners(name)}

    def take(self, name: str) -> str:
        """The name, or one like it that is free; it is taken then."""
        while name in self.taken or name in self.owners or not self.taken.isdisjoint(owners(name)):
            path, dot, leaf = name.rpartition(".")
            name = f"{path}{dot}{leaf}_" if self.taken.isdisjoint(owners(name)) else path + "_" + leaf
        self.taken.add(name)
        self.owners.update(owners(name))
        return name
