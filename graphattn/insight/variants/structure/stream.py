"""The streams of a graph: tensors that all ways from an input to a result go through, and the stages between.

A stage is a function of one tensor, of parameters and of what comes in from the side: a sublayer with its
residual, a norm, and one after another a layer. Which ops it is made of does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ....core.graph import Node, Ref
from .groups import Group
from .wholes import scopes_around

if TYPE_CHECKING:
    from ..intended import Intended

Span = tuple[int, int]
"""The first and the last of successive stages that are taken as one."""


@dataclass(frozen=True, eq=False)
class Stage:
    """What lies between two tensors that everything goes through."""

    start: Ref
    end: Ref
    nodes: Group
    """In the order of the graph, the one that gives the end last."""
    code: tuple[object, ...]
    """What it computes: equal for two that differ in their parameters alone."""
    parameters: tuple[tuple[str, int], ...]
    """Where parameters come in: (node, slot), in the same order for stages of equal code."""


@dataclass(frozen=True, eq=False)
class Stream:
    """The way from an input to a result."""

    stages: Sequence[Stage]
    """Those between neighbouring cuts, in order."""
    wide: Mapping[Span, Stage]
    """Stages that start and end with tensors that are alike: those, two of them (a sublayer and the norm after
    it), parts of the graph that have a name, layers."""
    runs: Sequence[Sequence[Span]]
    """Layers: stages, one after another, of equal code."""

    def after(self, span: Span) -> Stage | None:
        """The wide stage of as many that begins where one ends."""
        first, last = span
        return self.wide.get((last + 1, 2 * last - first + 1))

    def series(self, span: Span) -> list[list[Span]]:
        """A stage by itself; and, for one in the first of a run of layers, that in each of them."""
        first, last = span
        every = [
            [(first + layer - run[0][0], last + layer - run[0][0]) for layer, _ in run]
            for run in self.runs
            if run[0][0] <= first and last <= run[0][1] and run[0] != span
        ]
        return [[span], *(spans for spans in every if all(one in self.wide for one in spans))]


def streams_of(intended: Intended) -> list[Stream]:
    """Every stream, without the wide stages of one before it."""
    codes = _codes(intended)
    seen: set[tuple[Ref, Ref]] = set()
    found: list[Stream] = []
    nodes = intended.nodes.values()
    sources = [n for n in nodes if n.op.fed and n.op.drawn != "inside" and n.outputs[0].kind != "bool"]
    results = dict.fromkeys(tensor.ref for tensor in intended.graph.outputs.values())
    for source in sources:
        for result in results:
            if result.node not in intended.rules:
                cuts = _cuts(intended, source, result)
                stages = [_stage(intended, a, b, codes) for a, b in pairwise(cuts)]
                stream = _stream(intended, stages, seen, codes)
                if stream.wide:
                    found.append(stream)
    return found


def _cuts(intended: Intended, source: Node, result: Ref) -> list[Ref]:
    """The tensors that all ways from an input to a result go through, both included."""
    place, flow = intended.order, _way(intended, Ref(source.name), result.node)
    far, cuts = 0, []
    for name in flow:  # a node is passed by where an edge leads from before it to behind it
        ports = range(len(intended.nodes[name].ports))
        used = [p for p in ports if any(user in flow for user, _ in intended.users.get(Ref(name, p), ()))]
        if far <= place[name]:
            if name == result.node:
                cuts.append(result)
            elif len(used) == 1 and not intended.is_inside(intended.nodes[name]):
                cuts.append(Ref(name, used[0]))
        reached = [place[u] for p in used for u, _ in intended.users[Ref(name, p)] if u in flow]
        far = max([far, *reached])
    return cuts


def _way(intended: Intended, start: Ref, end: str) -> dict[str, None]:
    """The nodes on the ways from one to another, both included, in the order of the graph."""
    below, last = intended.below, intended.order[end]
    names = list(intended.order)
    reached = below[start.node]
    return dict.fromkeys(
        name for name in names[: last + 1] if reached >> intended.order[name] & 1 and below[name] >> last & 1
    )


def _stage(intended: Intended, start: Ref, end: Ref, codes: Mapping[str, int]) -> Stage:
    nodes = tuple(name for name in _way(intended, start, end.node) if name != start.node)
    inside = {name: place for place, name in enumerate(nodes)}
    code: list[object] = []
    parameters: list[tuple[str, int]] = []
    for name in nodes:
        node = intended.nodes[name]
        operands: list[object] = []
        for slot, ref in enumerate(node.operands):
            if ref == start or ref is None:
                operands.append(ref and "start")
            elif ref.node in inside:
                operands.append((inside[ref.node], ref.port))
            elif codes[ref.node] < 0:
                parameters.append((name, slot))
                operands.append(intended.shape(ref))
            else:
                operands.append((codes[ref.node], ref.port, "beside"))
        code.append((node.op.name, repr(sorted(node.attributes.items())), tuple(operands)))
    return Stage(start, end, nodes, tuple(code), tuple(parameters))


def _codes(intended: Intended) -> dict[str, int]:
    """A number for each node that two share if they compute the same; −1 for parameters, and for what is made
    of parameters alone."""
    nodes = intended.nodes
    fed = [n.name for n in nodes.values() if n.op.fed and n.op.drawn != "inside"]
    given = intended.all_below(fed)
    numbers: dict[object, int] = {}
    codes: dict[str, int] = {}
    for place, node in enumerate(nodes.values()):
        if not given >> place & 1 and not intended.is_known(node.name):
            codes[node.name] = -1
            continue
        operands = tuple(ref and (codes[ref.node], ref.port) for ref in node.operands)
        call = node.name if node.op.fed else (node.op.name, repr(sorted(node.attributes.items())), operands)
        codes[node.name] = numbers.setdefault(call, len(numbers))
    return codes


def _stream(
    intended: Intended, stages: Sequence[Stage], seen: set[tuple[Ref, Ref]], codes: Mapping[str, int]
) -> Stream:
    scopes = [intended.nodes[stage.end.node].scope for stage in stages]
    spans = [(i, i) for i in range(len(stages))]
    single = [len(stage.nodes) == 1 for stage in stages]
    spans += [
        (i, i + 1)
        for i, (a, b) in enumerate(pairwise(scopes))
        if a == b and single[i] <= single[i + 1]  # a norm goes with the sublayer before it
    ]
    spans += _scopes(intended, stages)
    series = _runs(stages)
    spans += [span for run in series for span in run]
    wide: dict[Span, Stage] = {}
    for i, j in dict.fromkeys(spans):
        start, end = stages[i].start, stages[j].end
        if _alike(intended, start, end) and (start, end) not in seen:
            seen.add((start, end))
            wide[i, j] = stages[i] if i == j else _stage(intended, start, end, codes)
    return Stream(stages, wide, [run for run in series if all(span in wide for span in run)])


def _alike(intended: Intended, a: Ref, b: Ref) -> bool:
    return intended.shape(a) == intended.shape(b)


def _scopes(intended: Intended, stages: Sequence[Stage]) -> list[Span]:
    """From which stage to which the parts of the graph that have a name go, where they are made of stages."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for place, stage in enumerate(stages):
        for name in stage.nodes:
            for scope in scopes_around(intended.graph, name):
                first.setdefault(scope, place)
                last[scope] = place
    return [
        (i, last[scope])
        for scope, i in first.items()
        if i < last[scope] and scope in scopes_around(intended.graph, stages[last[scope]].end.node)
    ]


def _runs(stages: Sequence[Stage]) -> list[list[Span]]:
    """Where so many successive stages come again right after, in their order: [(first, last), …] of each."""
    runs: list[list[Span]] = []
    taken: set[int] = set()
    numbers: dict[object, int] = {}
    codes = [numbers.setdefault(stage.code, len(numbers)) for stage in stages]
    for period in range(1, len(stages) // 2 + 1):
        place = 0
        while place + 2 * period <= len(stages):
            count = 1
            block = codes[place : place + period]
            while codes[place + count * period : place + (count + 1) * period] == block:
                count += 1
            covered = range(place, place + count * period)
            own = any(stage.parameters for stage in stages[place : place + period])
            if count > 1 and own and taken.isdisjoint(covered):
                taken.update(covered)
                at = [place + period * k for k in range(count)]
                runs.append([(i, i + period - 1) for i in at])
                place += count * period
            else:
                place += 1
    return runs
