"""What there is to show of a graph or a trace, as records: rows apart from their rendering.

Every dump (text, JSON, pictures, pages) lays out these same rows. A `NodeRow` says how a node is
written, `softmax(head0.masked)`; a `StepRow` adds what a run recorded of it, one `TensorRow` per
output; `facts` finds what a reader wants to know of a tensor at a glance.

>>> from graphattn.core.graph import Graph
>>> g = Graph("example")
>>> y = g.layernorm(g.input("x", shape=(1, 2), axes=("token", "feature")), name="y")
>>> row = list(node_rows(g))[1]
>>> row.expression, row.axes
('layernorm(x, eps=1e-05)', 'token 1 × feature 2')
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, groupby, repeat
from operator import not_
from typing import Any, NamedTuple

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.interpreter import padded
from graphattn.core.numbers import FLOAT, Numbers
from graphattn.core.op import Op
from graphattn.core.packed import Packed
from graphattn.core.trace import Step, Trace
from graphattn.core.words import spelled
from graphattn.dumps.literals import literal, quote

BRIEF = 8
"""The most numbers that a brief expression shows of one attribute."""


class NodeRow(NamedTuple):
    """A node as it is written. Where not every operand is known to be `finite`, its expression has the
    attributes that matter only there."""

    graph: Graph
    node: Node
    finite: bool = True

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def op(self) -> Op:
        return self.node.op

    @property
    def operands(self) -> tuple[str | None, ...]:
        """The tensor names of its operands; None where one is left out."""
        return operand_names(self.graph, self.node.operands)

    @property
    def expression(self) -> str:
        """softmax(head0.masked); long constants are left out."""
        op = self.node.op
        without = op.nonfinite if self.finite else ()
        return call(op, self.operands, self.node.attributes, brief=True, without=without)

    @property
    def axes(self) -> str:
        """token 3 × feature 4; 2 outputs, each token 3 × feature 2."""
        return shape_text(self.node.outputs)

    @property
    def note(self) -> str:
        """A few words on its attributes (÷ √4), from the op."""
        return "" if self.op.note is None else self._told("note")

    @property
    def formula(self) -> str:
        """The op's formula, as it is in force for these operands and attributes."""
        return self.op.formula if self.op.stated is None else self._told("stated")

    @property
    def gives(self) -> str:
        """The composite that it is the last step of, where that is opened to its primitives: norm.mean, for
        norm.mean.quotient."""
        scope = self.graph.scopes.get(self.node.scope or "")
        if scope is None or scope.op is None or scope.op.coarser("op") or scope.outputs != (Ref(self.name),):
            return ""
        return scope.name

    def _told(self, rule: str) -> str:
        """What a rule of the op says of it."""
        op, node = self.op, self.node
        return op.told(rule, node.name, *padded(op, self.graph.operand_specs(node.operands)), **node.attributes)


class TensorRow(NamedTuple):
    """One output of a step. `value` is None where it was not kept."""

    name: str
    spec: Spec
    value: Any
    mask: Any
    """Which cells are hidden (nested bools, True = hidden), or None."""
    labels: tuple[tuple[str, ...] | None, ...]
    """The labels of each axis, or None."""
    patched: bool
    share: bool
    """Whether its values are shares between 0 and 1, as weights are."""


class StepRow(NamedTuple):
    """An evaluated node and what was recorded of it."""

    written: NodeRow
    tensors: tuple[TensorRow, ...]
    warnings: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.written.name

    @property
    def op(self) -> Op:
        return self.written.op

    @property
    def trained(self) -> bool:
        """Whether it is a parameter: fed, and drawn inside of what uses it."""
        return self.op.fed and self.op.drawn == "inside"


def shown_attributes(op: Op, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that differ from their defaults, and those that enter the arithmetic (eps)."""
    return {
        key: value
        for key, value in attributes.items()
        if (default := op.defaults[key]) is not value or isinstance(default, float)
        if default is None or isinstance(default, float) or not _same(value, default)
    }


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and spelled(a) == spelled(b)


def call(
    op: Op,
    operands: Iterable[str | None],
    attributes: Mapping[str, Any],
    title: str | None = None,
    brief: bool = False,
    without: Collection[str] = (),
) -> str:
    """How a node is written: `layernorm(X, eps=1e-05)`; brief leaves long constants out, and the attributes
    `without`. Operands behind one that is left out go by their names: `linear(x, w, b)`, `block(x, w_q=w)`."""
    parts: list[str] = []
    hole = False
    for slot, name in enumerate(operands):
        if name is not None:
            parts.append(f"{op.operand_name(slot)}={name}" if hole else name)
        hole = hole or name is None
    for key, value in shown_attributes(op, attributes).items():
        if key not in without:
            parts.append(f"{key}={_brief(value) if brief else literal(value)}")
    if title is not None:
        parts.append(f"title={literal(title)}")
    return f"{op.name}({', '.join(parts)})"


def _brief(value: Any) -> str:
    """The literal of a value, or … where that is long."""
    if isinstance(value, tuple):
        long = len(value) > BRIEF or any(isinstance(item, tuple) for item in value)
        return "…" if long else literal(value)
    text = "…" if isinstance(value, Packed) else literal(value)
    return "…" if len(text) > 40 else text


def operand_names(graph: Graph, operands: Sequence[Ref | None]) -> tuple[str | None, ...]:
    """The tensor names of operands; None where one is left out."""
    return tuple([None if ref is None else graph.tensor_name(ref) for ref in operands])


def shape_text(outputs: Sequence[Spec]) -> str:
    """The axes of a node's outputs, on one line."""
    told = [_axes_text(spec.shape, spec.axes, spec.kind) for spec in outputs]
    if len(told) == 1:
        return told[0]
    return f"{len(told)} outputs" + (f", each {told[0]}" if len(set(told)) == 1 else "")


@lru_cache(2**10)
def _axes_text(*spec: Any) -> str:
    """The axes of a `Spec`, whose own hash would be asked for in Python."""
    return quote(describe(Spec(*spec)))[1:-1]


def scope_paths(graph: Graph) -> dict[str | None, tuple[str, ...]]:
    """For each scope, the scopes from the outermost down to itself; () for None, the top."""
    paths: dict[str | None, tuple[str, ...]] = {None: ()}
    for name in graph.scopes:
        todo: list[str] = []
        current: str | None = name
        while current not in paths:
            assert current is not None
            todo.append(current)
            current = graph.scopes[current].parent
        for scope in reversed(todo):
            paths[scope] = (*paths[graph.scopes[scope].parent], scope)
    return paths


def scopes_in_order(graph: Graph) -> list[Scope]:
    """The scopes as their nodes come, outer ones first; then those without nodes."""
    paths = scope_paths(graph)
    order: dict[str, None] = {}
    for scope in (*(node.scope for node in graph.nodes.values()), *graph.scopes):
        if scope not in order:
            order.update(dict.fromkeys(paths[scope]))
    return [graph.scopes[name] for name in order]


def node_rows(graph: Graph) -> Iterator[NodeRow]:
    """The rows of all nodes, in canonical order."""
    return (NodeRow(graph, node) for node in graph.nodes.values())


def step_rows(trace: Trace, only: Iterable[str] | None = None, others: bool = False) -> Iterator[StepRow]:
    """The rows of all steps, in order; with `only`, of those with a tensor that `only` selects.

    With `others`, the other steps come too, as if their tensors had not been kept.
    """
    chosen = None if only is None else selected(trace, only)
    graph, recording = trace.graph, trace.recording
    labels, patched = trace.labels, set(trace.patched)
    for step in recording.done:
        node = step.node
        names = node.tensor_names
        if chosen is not None and not others and chosen.isdisjoint(names):
            continue
        tensors = []
        for port, (name, spec, place) in enumerate(zip(names, node.outputs, step.places, strict=True)):
            kept = chosen is None or name in chosen
            value, mask = (recording.value(place), recording.mask(place)) if kept else (None, None)
            share = shares(graph, node, port)
            tensors.append(TensorRow(name, spec, value, mask, labels_of(labels, spec), name in patched, share))
        finite = not node.op.nonfinite or Step(trace, step).finite
        yield StepRow(NodeRow(graph, node, finite), tuple(tensors), tuple(recording.warnings(step.start)))


def as_read(rows: Iterable[StepRow]) -> Iterator[StepRow]:
    """The rows in the order in which people read them: what was computed first, the trained tensors, of which
    there are many, below it."""
    trained = []
    for row in rows:
        if row.trained:
            trained.append(row)
        else:
            yield row
    yield from trained


def cotangent(trace: Trace, tensor: TensorRow) -> TensorRow | None:
    """What a graph with derivatives recorded as the gradient with respect to a tensor: head0.scores has
    backward.head0.d_scores. None where there is none."""
    path, dot, leaf = tensor.name.rpartition(".")
    name = f"backward.{path}{dot}d_{leaf}"
    if name not in trace:
        return None
    spec, value = trace.spec(name), trace[name]
    if spec.shape != tensor.spec.shape or tensor.name.startswith("backward."):
        return None
    own = trace.graph.tensor_name(trace.graph.resolve(name)) in trace.patched
    return TensorRow(f"d_{leaf}", spec, value, trace.masked(name), tensor.labels, own, share=False)


def labels_of(labels: Mapping[str, tuple[str, ...]], spec: Spec) -> tuple[tuple[str, ...] | None, ...]:
    """The labels of each axis, where the axis has labels and their number fits."""
    if not labels:
        return (None,) * len(spec.shape)
    found = (labels.get(axis) if axis else None for axis in spec.axes)
    return tuple(f if f and len(f) == size else None for f, size in zip(found, spec.shape))


def selected(trace: Trace, only: Iterable[str]) -> set[str]:
    """The names of the tensors that match one of the patterns (`Graph.matching`). Raises a `GraphError` where
    one matches none."""
    graph = trace.graph
    patterns = [only] if isinstance(only, str) else only
    return {graph.tensor_name(ref) for pattern in patterns for ref in graph.matching(pattern)}


# ---------------------------------------------------------------- facts of a tensor


@dataclass(frozen=True, slots=True)
class Facts:
    """What a reader wants to know of a tensor at a glance."""

    sums: str | None
    """"rows" or "columns" where each of them sums to 1 (those that see nothing left aside)."""
    largest: tuple[tuple[int, ...], Any] | None
    """Index and value of the largest visible number."""
    smallest: tuple[tuple[int, ...], Any] | None
    hidden: int
    """How many cells are hidden."""


def seen(tensor: TensorRow) -> Iterator[tuple[tuple[int, ...], Sequence[Any], list[Any], Any]]:
    """Each row in row-major order: its index, the row, its cells that are not hidden, and its mask."""
    rank = tensor.spec.rank
    masks = repeat(((), None)) if tensor.mask is None else nested.rows(tensor.mask, rank)
    for (index, row), (_, mask) in zip(nested.rows(tensor.value, rank), masks):
        row = row if isinstance(row, list) else list(row)
        left = row if mask is None or True not in mask else list(compress(row, map(not_, mask)))
        yield index, row, left, mask


def visible(tensor: TensorRow) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Index and value of the cells that are not hidden, in row-major order."""
    rank = tensor.spec.rank
    for index, row, _, mask in seen(tensor):
        yield from (((*index, j)[:rank], cell) for j, cell in enumerate(row) if mask is None or not mask[j])


def greatest(tensor: TensorRow, numbers: Numbers) -> Any:
    """The largest size of the finite cells that are not hidden; 0 where there are none."""
    found: Any = 0
    for _, _, cells, _ in seen(tensor):
        if numbers is FLOAT and cells and math.isfinite(sum(cells)):
            found = max(found, max(cells), -min(cells))
        else:
            found = max([found, *(abs(cell) for cell in cells if numbers.isfinite(cell))])
    return found


def is_share(op: Op) -> bool:
    """Whether an op's values are shares between 0 and 1, as weights are."""
    return op.range == (0.0, 1.0)


def shares(graph: Graph, node: Node, port: int = 0) -> bool:
    """Whether the values of an output are shares: those of the op that makes it, or of a composite whose
    output it is, as the quotient is in which softmax ends."""
    op, name = node.op, node.scope
    while not is_share(op):
        scope = None if name is None else graph.scopes.get(name)
        if scope is None or Ref(node.name, port) not in scope.outputs:
            return False
        op, name = scope.op or op, scope.parent
    return True


def facts(tensor: TensorRow, numbers: Numbers) -> Facts:
    """The facts of a recorded tensor of numbers. Sums are looked at where its values are shares."""
    largest = smallest = None
    rank, count = tensor.spec.rank, 0
    for index, row, cells, mask in seen(tensor):
        count += len(cells)
        if numbers is not FLOAT or math.isnan(sum(cells)):
            cells = [cell for cell in cells if cell == cell]
        if not cells:
            continue
        high, low = max(cells), min(cells)
        if largest is None or high > largest[1]:
            largest = ((*index, _place(row, mask, high))[:rank], high)
        if smallest is None or low < smallest[1]:
            smallest = ((*index, _place(row, mask, low))[:rank], low)
    sums = _sums(tensor, numbers) if tensor.share else None
    return Facts(sums, largest, smallest, tensor.spec.size - count)


def _place(row: Sequence[Any], mask: Any, cell: Any) -> int:
    """Where a cell that is not hidden stands first in its row."""
    return next(j for j, other in enumerate(row) if other == cell and not (mask is not None and mask[j]))


def _sums(tensor: TensorRow, numbers: Numbers) -> str | None:
    rank = tensor.spec.rank
    if not rank or not tensor.spec.size or tensor.spec.kind != "float":
        return None
    for what, axis, lines in (("rows", -1, _rows), ("columns", -2, _columns))[:rank]:
        near = [abs(math.fsum(map(numbers.near, line)) - 1.0) <= 1e-9 for line in lines(tensor)]
        if near and all(near):
            whole = len(near) == tensor.spec.size // tensor.spec.shape[axis]
            return what if whole else f"{what} that see anything"
    return None


def _rows(tensor: TensorRow) -> Iterator[list[Any]]:
    """The visible cells of each row that has any."""
    return (cells for _, _, cells, _ in seen(tensor) if cells)


def _columns(tensor: TensorRow) -> Iterator[list[Any]]:
    """The visible cells of each column that has any."""
    for _, block in groupby(seen(tensor), key=lambda found: found[0][:-1]):
        rows = [(row, mask) for _, row, _, mask in block]
        for j in range(tensor.spec.shape[-1]):
            cells = [row[j] for row, mask in rows if mask is None or not mask[j]]
            if cells:
                yield cells
