"""Where a number comes from: any cell split exactly over what wrote it.

    sources(trace, "layer1.attention.head0.scaled", 10, 6)  ->  Sources

A cell of a transformer is, with its norms and attention weights as recorded, linear in what was written into
the residual stream before it: embeddings, each head, each feed-forward, biases. So it is the sum of their
parts. A score is a product, of a query and a key: its parts go by pairs, what wrote the query's row × what
wrote the key's row. A weight has the parts of a difference of scores: ln(A[q, k] / A[q, k₂]).

A part says what was added here; it is not what would be missing if its source were taken away, for the norms
and weights in between would change (`ablate=` shows that beside it). The method is direct logit attribution
(Elhage et al. 2021, "A mathematical framework for transformer circuits") for any cell, on any graph: ops say
in `Op.linear` in which operands they are linear, and no op is known here but for the default cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Node, Ref
from ...core.interpreter import padded
from ...core.trace import Trace
from ..heads import is_part
from ..why.index import read_index, show_index, split_cell
from .ablation import effects, largest
from .flow import Call, Key, Parts, Source, carried, carries, live_groups
from .window import Window, cut, cut_spec, operand_windows, whole, windowed

CUT = ("attention", "feed_forward", "embedding")
"""Ops whose results count as written by them, however they came about."""
BY = ("head", "layer", "token")
TOLERANCE = 1e-12
"""The largest residue from rounding, as a part of the sum of the parts' sizes."""


@dataclass(frozen=True)
class Sources:
    """A cell and its parts. `parts` are by one source, or by two where the cell is a product; `sides` name
    the factors then. `against` is the cell that it is compared with, where it is. `effects`, where they were
    asked for: by source, how much the cell loses when it is taken away and everything behind it runs again."""

    cell: str
    value: float
    parts: dict[Key, float]
    sides: tuple[str, ...]
    by: str
    residue: float
    against: str | None = None
    note: str = ""
    tokens: tuple[str, ...] = ()
    effects: Mapping[str, float] | None = None

    def side(self, which: int = 0) -> dict[Source, float]:
        """The parts by one factor's sources, summed over the other's, largest first."""
        found: dict[Source, list[float]] = {}
        for key, part in self.parts.items():
            found.setdefault(key[min(which, len(key) - 1)], []).append(part)
        total = {source: math.fsum(parts) for source, parts in found.items()}
        return dict(sorted(total.items(), key=lambda item: -abs(item[1])))

    def text(self, limit: int = 12, width: int | None = None) -> str:
        """The largest `limit` parts of each side, and what all add up to; `width` is how long a line may be."""
        from .sources_text import sources_text

        return sources_text(self, limit, width)

    def record(self) -> dict[str, Any]:
        """All of it as JSON holds it, every part with its exact number, largest first."""

        def told(source: Source) -> dict[str, Any]:
            fields = {"name": source.name, "token": source.token, "via": list(source.via)}
            return {field: value for field, value in fields.items() if value not in (None, [])}

        largest_first = sorted(self.parts.items(), key=lambda item: -abs(item[1]))
        return {
            "format": "graphattn sources 1",
            "cell": self.cell,
            "against": self.against,
            "value": self.value,
            "by": self.by,
            "sides": list(self.sides),
            "parts": [{"sources": [told(s) for s in key], "part": part} for key, part in largest_first],
            "residue": self.residue,
            "effects": None if self.effects is None else dict(self.effects),
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{len(self.parts)} parts of {self.cell}>"


def sources(
    trace: Trace, tensor: str, *index: Any, by: str = "head", through: Iterable[str] = (), against: Any = None,
    ablate: int = 0,
) -> Sources:  # fmt: skip
    """The parts of one cell.

    index: a number or a label for each axis. by: "head" tells every source apart, "layer" sums those of a
    layer, "token" tells the rows of a source apart. through: names or patterns (`layer0.*`) of heads and
    feed-forwards that are looked through, their attention weights and gates as recorded; what they carried
    says so. against: an index of the last axis: the parts of the difference to that cell. For an attention
    weight, the scores' difference to the runner-up's is taken. ablate: also take away so many sources, those
    with the largest parts, one at a time, and say what the cell loses (`Sources.effects`): a run for each.

    Raises a `GraphError` where the cell is not linear in anything, a product of more than two things, hidden,
    or where the parts do not add up to it.
    """
    if by not in BY:
        raise GraphError(f"by is {by!r}; expected one of {', '.join(BY)}{suggest(str(by), BY)}")
    tensor, place = split_cell(tensor, index)
    ref = trace.graph.resolve(tensor)
    at = _index(trace, ref, place)
    note = ""
    walk = _Walk(trace, by, [through] if isinstance(through, str) else list(through))
    if not walk.splits(ref):
        ref, at, against, note = _scores_of(trace, ref, at, against)
        if ref not in walk.leaves and not walk.splits(ref):
            raise _nothing(trace, ref)
    other = None if against is None else _index(trace, ref, (*at[:-1], against))
    if other == at:
        raise GraphError(f"{tensor} is compared with itself; expected another index of the last axis")
    if type(ablate) is not int or ablate < 0:
        raise GraphError(f"ablate is {ablate!r}; expected how many sources to take away")
    value, parts = walk.cell(ref, at)
    if other is not None:
        less, minus = walk.cell(ref, other)
        value -= less
        parts = {key: parts.get(key, 0.0) - minus.get(key, 0.0) for key in dict.fromkeys((*parts, *minus))}
    single = parts
    if by == "layer":
        parts = _by_layer(parts)
    residue = value - math.fsum(parts.values())
    size = math.fsum(map(abs, parts.values()))
    if not abs(residue) <= TOLERANCE * max(size, abs(value)):
        raise GraphError(
            f"the parts of {_cell_name(trace, ref, at)} add up to {value - residue:.9g}, but it is {value:.9g}:"
            " an op on the way is not linear as it says; expected the same"
        )
    found = Sources(
        _cell_name(trace, ref, at), value, parts, walk.sides(ref, at), by, residue,
        None if other is None else _cell_name(trace, ref, other), note, trace.labels.get("token", ()),
    )  # fmt: skip
    if not ablate:
        return found
    cells = [(ref, at, 1.0)] if other is None else [(ref, at, 1.0), (ref, other, -1.0)]
    tensors = {name: leaf for leaf, name in walk.leaves.items()}
    tensors |= {name: trace.graph.resolve(name) for name in trace.graph.tensor_names() if name not in tensors}
    taken = {name: tensors[name] for name in largest(single, ablate, tensors)}
    return replace(found, effects=effects(trace, cells, taken))


class _Walk:
    """The way back from cells of a trace, with the parts that were found on it."""

    def __init__(self, trace: Trace, by: str, through: Sequence[str]) -> None:
        self.trace, self.graph, self.by = trace, trace.graph, by
        self.leaves: dict[Ref, str] = {}
        self.looked_through: dict[Ref, str] = {}
        self._parts: dict[tuple[Ref, Window], Parts] = {}
        self._calls: dict[tuple[Ref, Window], Any] = {}
        self._find_leaves(through)
        self._live: set[Ref] = set()
        self._find_live()

    # ------------------------------------------------------------ what counts as a source

    def _find_leaves(self, through: Sequence[str]) -> None:
        matched: set[str] = set()
        known = []

        def enter(name: str, refs: Iterable[Ref]) -> None:
            known.append(name)
            fitting = {p for p in through if _fits(p, name)}
            matched.update(fitting)
            for ref in refs:
                if fitting:
                    self.looked_through[ref] = name
                elif self.graph.spec(ref).kind == "float":
                    self.leaves[ref] = name

        for scope in self.graph.scopes.values():
            if scope.op is not None and scope.op.name in CUT:
                enter(scope.name, scope.outputs[:1])
        patched = {self.graph.resolve(name) for name in self.trace.patched}
        for node in self.graph.nodes.values():
            refs = [Ref(node.name, port) for port in range(len(node.ports))]
            if node.op.fed:
                if node.op.name != "parameter":
                    self.leaves.update((ref, node.name) for ref in refs if self.graph.spec(ref).kind == "float")
            elif node.op.name in CUT:
                enter(node.name, refs[:1])
            for ref in patched.intersection(refs):
                self.leaves[ref] = self.graph.tensor_name(ref)
        missing = [pattern for pattern in through if pattern not in matched]
        if missing:
            raise GraphError(
                f"through {missing[0]!r} fits no head or feed-forward; expected one of {', '.join(known[:8])}"
                + suggest(missing[0], known)
            )

    def _find_live(self) -> None:
        """Which tensors are linear in sources."""
        self._live.update(self.leaves)
        gates = {name for name, s in self.graph.scopes.items() if s.op and s.op.family == "function"}
        for node in self.graph.nodes.values():
            if gates and any(scope in gates for scope in _scopes(self.graph, node)):
                continue
            live = [ref in self._live for ref in padded(node.op, node.operands)]
            if not node.op.fed and any(live) and carries(node.op, self._specs(node), node.attributes, live):
                self._live.update(Ref(node.name, port) for port in range(len(node.ports)))

    def _specs(self, node: Node) -> tuple[Any, ...]:
        return padded(node.op, self.graph.operand_specs(node.operands))

    def splits(self, ref: Ref) -> bool:
        """Whether a tensor has parts other than itself."""
        node = self.graph.nodes[ref.node]
        live = [operand in self._live for operand in padded(node.op, node.operands)]
        return not node.op.fed and any(live) and carries(node.op, self._specs(node), node.attributes, live)

    # ------------------------------------------------------------ the parts

    def cell(self, ref: Ref, at: tuple[int, ...]) -> tuple[float, dict[Key, float]]:
        """The value of a cell, and its parts."""
        value = nested.at(self.trace[self.graph.tensor_name(ref)], at)
        if not math.isfinite(value):
            raise GraphError(f"{_cell_name(self.trace, ref, at)} is {value}; expected a finite number")
        found = self._solved(ref, at)
        return value, {key: next(nested.flat(part)) for key, part in found.items()}

    def _solved(self, root: Ref, window: Window) -> Parts:
        todo = [(root, window)]
        splits = self.splits(root)
        while todo:
            goal = todo[-1]
            if goal in self._parts:
                todo.pop()
                continue
            if goal[0] in self.leaves and not (goal[0] == root and splits):
                self._parts[goal] = self._leaf(*goal)
                continue
            missing = [need for need in self._needs(*goal) if need is not None and need not in self._parts]
            if missing:
                todo += missing
            else:
                self._parts[goal] = self._carried(*goal)
        return self._parts[root, window]

    def _leaf(self, ref: Ref, window: Window) -> Parts:
        """A source's own part: the tensor itself, or each of its rows where tokens are told apart."""
        name, spec = self.leaves[ref], self.graph.spec(ref)
        value = cut(self.trace[self.graph.tensor_name(ref)], window)
        if self.by != "token" or "token" not in spec.axes:
            return {(Source(name),): value}
        axis = spec.axes.index("token")
        shape = cut_spec(spec, window).shape
        only = window[axis]
        rows = range(shape[axis]) if only is None else [0]
        return {
            (Source(name, row if only is None else only),): nested.build(
                shape, lambda *at, row=row: nested.at(value, at) if at[axis] == row else 0.0
            )
            for row in rows
        }

    def _needs(self, ref: Ref, window: Window) -> list[tuple[Ref, Window] | None]:
        """For each operand that has parts, what is needed of it."""
        call, windows, _, _ = self._call(ref, window)
        node = self.graph.nodes[ref.node]
        refs = padded(node.op, node.operands)
        live = [operand in self._live for operand in refs]
        groups = live_groups(node.op, call.specs, node.attributes, live)
        slots = {slot for group in groups for slot in group} if groups else set(range(len(refs)))
        return [
            (operand, w) if slot in slots and is_live and operand is not None and w is not None else None
            for slot, (operand, w, is_live) in enumerate(zip(refs, windows, live, strict=True))
        ]

    def _call(self, ref: Ref, window: Window) -> Any:
        """The call that makes a window of a tensor: on windows of its operands where that gives the same."""
        if (ref, window) in self._calls:
            return self._calls[ref, window]
        node = self.graph.nodes[ref.node]
        refs = padded(node.op, node.operands)
        names = [None if r is None else self.graph.tensor_name(r) for r in refs]
        values = tuple(None if name is None else self.trace[name] for name in names)
        call = Call(node.op, node.attributes, self._specs(node), values, lambda slot: names[slot] or "")
        windows = operand_windows(node, ref.port, call.specs, window)
        found = windowed(call, node.outputs, ref.port, window, windows, self.trace[self.graph.tensor_name(ref)])
        if found is not None:
            made = (found[0], windows, found[1], None)
        else:
            everything = [None if spec is None else whole(spec.rank) for spec in call.specs]
            made = (call, everything, list(node.outputs), window)
        self._calls[ref, window] = made
        return made

    def _carried(self, ref: Ref, window: Window) -> Parts:
        call, _, outputs, rest = self._call(ref, window)
        given = [None if need is None else self._parts[need] for need in self._needs(ref, window)]
        found = carried(call, given, outputs)
        assert found is not None  # it is live
        parts = found[ref.port]
        if rest is not None:
            parts = {key: cut(value, rest) for key, value in parts.items()}
        carrier = self.looked_through.get(ref)
        if carrier is None:
            return parts
        return {tuple(replace(s, via=(*s.via, carrier)) for s in key): value for key, value in parts.items()}

    # ------------------------------------------------------------ the factors of a product

    def sides(self, ref: Ref, at: tuple[int, ...]) -> tuple[str, ...]:
        """The names of the two factors of a product, or none."""
        window: Window = at
        while ref in self._live and ref.node in self.graph.nodes:
            call, windows, _, _ = self._call(ref, window)
            node = self.graph.nodes[ref.node]
            refs = padded(node.op, node.operands)
            live = [operand in self._live for operand in refs]
            groups = live_groups(node.op, call.specs, node.attributes, live)
            if len(groups) == 2:
                first = [refs[group[0]] for group in groups]
                return tuple(self.graph.symbol(side) for side in first if side is not None)
            following = [
                (operand, w)
                for operand, w, is_live in zip(refs, windows, live, strict=True)
                if is_live and operand is not None
            ]
            keys = self._parts.get((ref, window), {})
            if not following or all(len(key) == 1 for key in keys):
                return ()
            ref, window = following[0]
        return ()


def _scopes(graph: Graph, node: Node) -> Iterator[str]:
    """The scopes that a node stands in, innermost first."""
    name = node.scope
    while name is not None:
        yield name
        name = graph.scopes[name].parent


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) or is_part(pattern, name)


def _scores_of(
    trace: Trace, ref: Ref, at: tuple[int, ...], against: Any
) -> tuple[Ref, tuple[int, ...], Any, str]:
    """For a softmax's result: the scores that it was made of, and the runner-up to compare with."""
    node = trace.graph.nodes[ref.node]
    name = trace.graph.tensor_name(ref)
    if len(node.operands) != 1 or node.operands[0] is None or not at:
        raise _nothing(trace, ref)
    scores = node.operands[0]
    if trace.graph.spec(scores).shape != trace.graph.spec(ref).shape:
        raise _nothing(trace, ref)
    row = nested.at(trace[name], at[:-1])
    if not abs(math.fsum(row) - 1.0) <= 1e-9 or min(row) < 0.0:
        raise _nothing(trace, ref)  # no weights
    from_row = nested.at(trace[trace.graph.tensor_name(scores)], at[:-1])
    if against is None:
        rest = [k for k in range(len(row)) if k != at[-1] and row[k] > 0.0]
        if not rest:
            raise GraphError(f"{name} sees one key alone; expected another to compare it with")
        against = max(rest, key=row.__getitem__)
    *_, other = _index(trace, ref, (*at[:-1], against))
    if not (row[at[-1]] > 0.0 and row[other] > 0.0):
        raise GraphError(f"{name} is 0 there; expected two weights above 0 to compare")
    margin = math.log(row[at[-1]]) - math.log(row[other])
    if abs(margin - (from_row[at[-1]] - from_row[other])) > 1e-6 * max(1.0, abs(margin)):
        raise _nothing(trace, ref)
    note = f"ln({_cell_name(trace, ref, at)} / {_cell_name(trace, ref, (*at[:-1], other))}) = {margin:.6f}"
    return scores, at, other, note


def _nothing(trace: Trace, ref: Ref) -> GraphError:
    return GraphError(
        f"{trace.graph.tensor_name(ref)} is not linear in anything that was written before it;"
        " expected a score, a weight, a residual stream, logits, …"
    )


def _by_layer(parts: dict[Key, float]) -> dict[Key, float]:
    """Parts summed over what belongs to one layer: the first part of a name."""
    found: dict[Key, list[float]] = {}
    for key, part in parts.items():
        layer = tuple(Source(s.name.partition(".")[0].partition("_")[0], s.token, s.via) for s in key)
        found.setdefault(layer, []).append(part)
    return {key: math.fsum(values) for key, values in found.items()}


def _index(trace: Trace, ref: Ref, index: Sequence[Any]) -> tuple[int, ...]:
    """Numbers from numbers and labels."""
    spec, name = trace.graph.spec(ref), trace.graph.tensor_name(ref)
    if spec.kind != "float":
        raise GraphError(f"{name} holds {spec.kind}; expected a tensor of floats")
    return read_index(index, spec, trace.labels_of(spec), name)


def _cell_name(trace: Trace, ref: Ref, at: Sequence[int]) -> str:
    return trace.graph.tensor_name(ref) + show_index(at, trace.labels_of(trace.graph.spec(ref)))


__all__ = ["Source", "Sources", "sources"]
