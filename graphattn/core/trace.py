"""What a run recorded: every step in order, every tensor by name.

>>> from graphattn.core.graph import Graph
>>> g = Graph("example")
>>> x = g.input("x", shape=(1, 2))
>>> y = g.softmax(x, name="weights")
>>> trace = run(g, {"x": [[0.0, 0.0]]})
>>> trace["weights"]
[[0.5, 0.5]]
>>> [step.name for step in trace.steps]
['x', 'weights']
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import networkx as nx

from . import nested
from .axes import Spec
from .errors import GraphError
from .graph import Graph, Node, Ref
from .interpreter import Composite, Plan, PlanStep, plan_of, read_feeds
from .numbers import FLOAT, Numbers, of
from .op import Op
from .packed import Packed

if TYPE_CHECKING:
    from ..insight.sources import Sources
    from ..insight.why import Why
    from ..insight.why.reach import Reach

Listener = Callable[["Step"], Any]


class Step:
    """One evaluated node. `outputs` are its tensors; a tensor that was not kept is None."""

    __slots__ = ("_plan_step", "trace")

    def __init__(self, trace: Trace, plan_step: PlanStep) -> None:
        self.trace = trace
        self._plan_step = plan_step

    @property
    def node(self) -> Node:
        return self._plan_step.node

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def op(self) -> Op:
        return self.node.op

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.node.attributes

    @property
    def specs(self) -> tuple[Spec, ...]:
        """Shape, axes and kind of each output."""
        return self.node.outputs

    @property
    def names(self) -> tuple[str, ...]:
        """The tensor name of each output."""
        return tuple(self.node.tensor_name(port) for port in range(len(self.node.ports)))

    @property
    def operands(self) -> tuple[str | None, ...]:
        """The tensor name of each operand."""
        graph = self.trace.graph
        return tuple(None if ref is None else graph.tensor_name(ref) for ref in self.node.operands)

    @property
    def outputs(self) -> tuple[Any, ...]:
        return tuple(map(self.trace._value, self._plan_step.places))

    @property
    def value(self) -> Any:
        """The first output."""
        return self.outputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.specs[0].shape

    @property
    def axes(self) -> tuple[str | None, ...]:
        return self.specs[0].axes

    @property
    def patched(self) -> bool:
        """Whether an output was replaced by a patch."""
        return any(place in self.trace._patched for place in self._plan_step.places)

    @property
    def seconds(self) -> float:
        """How long it took (0 for what was fed or known before the run)."""
        return self.trace._seconds.get(self._plan_step.start, 0.0)

    @property
    def masks(self) -> tuple[Any, ...]:
        """For each output, which cells are hidden (nested bools, True = hidden), or None."""
        return tuple(self.trace.masked(name) for name in self.names)

    @property
    def warnings(self) -> list[str]:
        """What a reader should know: cells that became infinite or NaN here, rows that see nothing."""
        self.trace._settle()
        return self.trace._warnings[self._plan_step.start]

    def __repr__(self) -> str:
        given = ", ".join(str(operand) for operand in self.operands if operand is not None)
        return f"<step {self.name} = {self.op.name}({given})>"


class Trace:
    """Everything that a run recorded. The values are the recorded lists: copy before changing."""

    def __init__(
        self,
        plan: Plan,
        labels: Mapping[str, Sequence[str]] | None = None,
        patched: Iterable[int] = (),
    ) -> None:
        self.graph = plan.graph
        self.numbers = plan.numbers
        self.labels = _read_labels(labels or {})
        self._plan = plan
        self._values: list[Any] = plan.values()
        self._done: Sequence[PlanStep] = []
        self._stamps: list[float] = []
        self._patched = frozenset(patched)
        self._masks: list[Any] = [None] * plan.size
        self._warnings: dict[int, list[str]] = {}
        self._settled = 0

    # ------------------------------------------------------------ reading

    @property
    def steps(self) -> list[Step]:
        """The evaluated nodes, in order."""
        return [Step(self, plan_step) for plan_step in self._done]

    def step(self, name: str) -> Step:
        """The step of a node, or of the node that made a tensor."""
        ref = Ref(name) if isinstance(name, str) and name in self.graph.nodes else self.graph.resolve(name)
        for plan_step in self._done:
            if plan_step.node.name == ref.node:
                return Step(self, plan_step)
        raise GraphError(f"this trace has no step {name!r}; expected a node that was evaluated")

    @property
    def names(self) -> list[str]:
        """The recorded tensors, in order of evaluation."""
        return [
            name
            for step in self.steps
            for name, value in zip(step.names, step.outputs, strict=True)
            if value is not None
        ]

    def __getitem__(self, name: str) -> Any:
        """The value of a tensor, by its name, an alias, an output name or a unique ending."""
        place = self._plan.places.get(self.graph.resolve(name))
        if place is None or self._values[place] is None:
            raise GraphError(
                f"tensor {name!r} was {'not evaluated' if place is None else 'not kept'} in this run;"
                f" expected one of {', '.join(self.names[:8]) or 'none'}"
            )
        return self._value(place)

    def __contains__(self, name: object) -> bool:
        if name not in self.graph:
            return False
        try:
            self[name]  # type: ignore[index]
        except GraphError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._done)

    def spec(self, name: str) -> Spec:
        """Shape, axes and kind of a tensor."""
        return self.graph.spec(self.graph.resolve(name))

    @property
    def outputs(self) -> dict[str, Any]:
        """The named results of the graph, as far as they were evaluated."""
        return {name: self[name] for name in self.graph.outputs if name in self}

    def labels_of(self, spec: Spec) -> list[tuple[str, ...] | None]:
        """The labels of each axis, where the axis has labels and their number fits."""
        found = [self.labels.get(axis) if axis else None for axis in spec.axes]
        return [
            labels if labels and len(labels) == size else None
            for labels, size in zip(found, spec.shape, strict=True)
        ]

    @property
    def warnings(self) -> list[str]:
        """The warnings of all steps, each with the name of its node."""
        return [f"{step.name}: {warning}" for step in self.steps for warning in step.warnings]

    def masked(self, name: str) -> Any:
        """Which cells of a tensor are hidden (nested bools, True = hidden), or None."""
        self._settle()
        place = self._plan.places.get(self.graph.resolve(name))
        return None if place is None else self._masks[place]

    @cached_property
    def dag(self) -> nx.MultiDiGraph:
        """The graph's DAG with `step`, `value` and `outputs` on every evaluated node."""
        dag = self.graph.dag.copy()
        for step in self.steps:
            dag.nodes[step.name].update(step=step, value=step.value, outputs=step.outputs)
        return dag

    @classmethod
    def restore(
        cls,
        graph: Graph,
        values: Mapping[str, Any],
        labels: Mapping[str, Sequence[str]] | None = None,
        patched: Iterable[str] = (),
        numbers: str | Numbers = FLOAT,
        evaluated: Iterable[str] | None = None,
        masks: Mapping[str, Any] | None = None,
        warnings: Mapping[str, Sequence[str]] | None = None,
    ) -> Trace:
        """A trace from tensors that were recorded before (for readers of dumps).

        `values` are checked against the graph. `evaluated` names the nodes that the run came to
        (where it is left out: those with a value). `masks` by tensor and `warnings` by node are
        taken as they are; where they are left out, they are found from the values.
        """
        if not isinstance(values, Mapping):
            raise GraphError(f"values is a {type(values).__name__}; expected a dict of tensors by name")
        numbers = of(numbers)
        plan = plan_of(graph, numbers)
        trace = cls(plan, labels, (_place(plan, name) for name in patched))
        trace._values = [None] * plan.size
        for name, value in values.items():
            ref = graph.resolve(name)
            read = nested.read(value, graph.spec(ref), name, numbers, allow_nonfinite=True)
            trace._values[plan.places[ref]] = nested.lists(read)
        done = None if evaluated is None else {graph.node(name).name for name in evaluated}
        trace._done = [
            step
            for step in plan.steps
            if (
                any(trace._values[p] is not None for p in step.places)
                if done is None
                else step.node.name in done
            )
        ]
        if masks is not None or warnings is not None:
            for name, mask in (masks or {}).items():
                ref = graph.resolve(name)
                spec = Spec(graph.spec(ref).shape, kind="bool")
                trace._masks[plan.places[ref]] = nested.read(mask, spec, f"the mask of {name}")
            told = warnings or {}
            trace._warnings = {step.start: list(told.get(step.node.name, ())) for step in trace._done}
            trace._settled = len(trace._done)
        return trace

    def __eq__(self, other: object) -> bool:
        """Same graph, steps, labels, patches and recorded values, bit for bit (NaN equals NaN)."""
        if not isinstance(other, Trace):
            return NotImplemented
        return (
            self.graph == other.graph
            and (self.labels, self.patched) == (other.labels, other.patched)
            and [step.node.name for step in self._done] == [step.node.name for step in other._done]
            and self.numbers.name == other.numbers.name
            and all(_digits(a) == _digits(b) for a, b in zip(self.steps, other.steps))
        )

    __hash__ = object.__hash__

    @property
    def patched(self) -> list[str]:
        """The tensors that a patch replaced, in order of evaluation."""
        return [
            name
            for step in self.steps
            for name, place in zip(step.names, step._plan_step.places, strict=True)
            if place in self._patched
        ]

    def _value(self, place: int) -> Any:
        """The value in a place; a constant becomes a copy of this trace's own, since it may be changed."""
        value = self._values[place]
        if isinstance(value, Packed) or value is self._plan.constants[place]:
            value = self._values[place] = nested.copied(nested.lists(value))
        return value

    # ------------------------------------------------------------ what follows from the values

    def _settle(self) -> None:
        """Find the masks and warnings of the steps since the last call."""
        for plan_step in self._done[self._settled :]:
            if not self._known(plan_step):
                self._warnings[plan_step.start] = []
                continue
            incoming, operands = _of_operands(plan_step, self._masks), _of_operands(plan_step, self._values)
            composite = plan_step.function if isinstance(plan_step.function, Composite) else None
            inside = None if composite is None else _inside(composite, operands, incoming)
            if not self._patched.intersection(plan_step.places):
                if composite is None or inside is None:
                    _carry_masks(plan_step, self._masks, incoming, operands)
                else:
                    places = plan_step.places
                    self._masks[places.start : places.stop] = [inside._masks[p] for p in composite.results]
            warnings = _warn(plan_step, self._masks, self._values, operands)
            if inside is not None:
                warnings += [warning.removeprefix("composite.") for warning in inside.warnings]
            self._warnings[plan_step.start] = warnings
        self._settled = len(self._done)

    def _known(self, plan_step: PlanStep) -> bool:
        """Whether all that went in and came out is recorded."""
        places = (*plan_step.operands, *plan_step.places)
        return all(place is None or self._values[place] is not None for place in places)

    @cached_property
    def _seconds(self) -> dict[int, float]:
        starts = [plan_step.start for plan_step in self._done if plan_step.runs]
        spans = (b - a for a, b in zip(self._stamps, self._stamps[1:]))
        return dict(zip(starts, spans))

    # ------------------------------------------------------------ doors to the other wings

    def why(self, tensor: str, *index: Any, depth: int | str = 1) -> Why:
        """How one cell came about: `print(trace.why("weights", 2, 1))`; see `graphattn.insight.why`."""
        from ..insight.why import why

        return why(self, tensor, *index, depth=depth)

    def reach(self, tensor: str, *index: Any) -> Reach:
        """Which later cells one cell touches, and how much; see `graphattn.insight.why.reach`."""
        from ..insight.why.reach import reach

        return reach(self, tensor, *index)

    def sources(
        self, tensor: str, *index: Any, by: str = "head", through: Iterable[str] = (), against: Any = None
    ) -> Sources:
        """The parts of one cell, by what wrote it; see `graphattn.insight.sources`."""
        from ..insight.sources import sources

        return sources(self, tensor, *index, by=by, through=through, against=against)

    def figure(self, tensors: str | Iterable[str], path: Any = None, **options: Any) -> Any:
        """Tensors as heat maps, into an .svg, .png or .pdf file, or shown by a notebook; see
        `graphattn.dumps.figure.figure`."""
        from ..dumps.figure import figure

        drawn = figure(self, tensors, **options)
        return drawn if path is None else drawn.save(path)

    def page(self, path: Any, **options: Any) -> Any:
        """Write the page to walk through this run into an .html file; see `graphattn.dumps.page`."""
        from ..dumps.page import write_page

        return write_page(path, self, **options)

    def show(self, theme: str = "auto", height: int = 640) -> Any:
        """The page in a frame of its own, which a notebook shows as a cell's result; theme: auto (the
        system's), light or dark."""
        from ..dumps.page import Shown

        return Shown(self, theme, height)

    def __str__(self) -> str:
        from ..dumps.trace_text import trace_text

        return trace_text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"<trace of {self.graph.name!r}: {len(self._done)} steps, {len(self.names)} tensors>"


def _digits(step: Step) -> str:
    """What a step recorded, every digit of it."""
    numbers = step.trace.numbers
    if numbers is FLOAT:
        return repr(step.outputs)
    return repr(
        [
            value if value is None or spec.kind != "float" else list(map(numbers.text, nested.flat(value)))
            for value, spec in zip(step.outputs, step.specs, strict=True)
        ]
    )


def _read_labels(labels: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(labels, Mapping):
        raise GraphError(f"labels is a {type(labels).__name__}; expected a dict of lists by axis name")
    read: dict[str, tuple[str, ...]] = {}
    for axis, names in labels.items():
        if not isinstance(axis, str):
            raise GraphError(f"labels are given for axis {nested.shown(axis)}; expected the name of an axis")
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise GraphError(f"labels of axis {axis!r} are {names!r}; expected a list of texts")
        names = list(names)
        if not all(isinstance(name, str) for name in names):
            raise GraphError(f"labels of axis {axis!r} are {names!r}; expected a list of texts")
        read[axis] = tuple(names)
    return read


def _of_operands(plan_step: PlanStep, table: list[Any]) -> list[Any]:
    """What a table by place (of values, of masks) has for each operand."""
    return [None if place is None else table[place] for place in plan_step.operands]


def _carry_masks(plan_step: PlanStep, masks: list[Any], incoming: list[Any], operands: list[Any]) -> None:
    """Enter which cells of the step's outputs are hidden, by the rule of its op."""
    node, places = plan_step.node, plan_step.places
    if node.op.masked is None:
        return
    found = node.op.masked(plan_step.function, incoming, operands, *plan_step.specs, **node.attributes)
    if found is not None:
        masks[places.start : places.stop] = found if len(places) > 1 else [found]


def _inside(composite: Composite, operands: list[Any], masks: list[Any]) -> Trace:
    """The trace of a composite's expansion, with the masks that its operands come with."""
    trace = Trace(composite.plan)
    trace._values = composite.values(operands)
    for place, mask in zip(composite.operands, masks, strict=False):
        if place is not None:
            trace._masks[place] = mask
    trace._done = composite.plan.steps
    trace._settle()
    return trace


def _warn(plan_step: PlanStep, masks: list[Any], values: list[Any], operands: list[Any]) -> list[str]:
    """The op's own warnings, and one where finite operands gave something that is not."""
    node = plan_step.node
    warnings = []
    if plan_step.runs:
        sources = list(zip(plan_step.specs, plan_step.operands, strict=False))
        for place, spec in zip(plan_step.places, node.outputs, strict=True):
            found = _nonfinite(values[place], masks[place], spec)
            if found and not any(
                place is not None and spec is not None and _nonfinite(values[place], masks[place], spec)
                for spec, place in sources
            ):
                index, cell = found[0]
                count = f"{len(found)} cells are" if len(found) > 1 else "1 cell is"
                warnings.append(f"{count} not finite, though the operands are: {cell} at {list(index)}")
    if node.op.warn is not None:
        warnings += node.op.warn(operands, values[plan_step.start], *plan_step.specs, **node.attributes)
    return warnings


def _nonfinite(value: Any, mask: Any, spec: Spec) -> list[tuple[tuple[int, ...], Any]]:
    """Index and value of the visible cells that are infinite or NaN."""
    if spec.kind != "float":
        return []
    return [
        ((*index, j) if spec.rank else (), cell)
        for index, row in nested.rows(value, spec.rank)
        if not nested.plain(row)
        for j, cell in enumerate(row)
        if not _is_finite(cell) and not (mask is not None and nested.at(mask, (*index, j)[: spec.rank]))
    ]


def _is_finite(cell: Any) -> bool:
    return math.isfinite(cell) if isinstance(cell, float) else cell == cell and abs(cell) != math.inf


# ---------------------------------------------------------------- running


def run(
    graph: Graph,
    feeds: Mapping[str, Any] | None = None,
    *,
    level: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    patch: Mapping[str, Any] | None = None,
    targets: Iterable[str] | None = None,
    keep: Iterable[str] | None = None,
    numbers: str | Numbers = FLOAT,
    listeners: Iterable[Listener] = (),
    allow_nonfinite: bool = False,
) -> Trace:
    """Evaluate a graph on feeds (nested lists by input name) and record every tensor.

    level: which magnification to evaluate, "op" unless another number type than float needs
    "primitive". labels: texts by axis name, shown on rows and columns. patch: an intermediate by
    name, replaced by a tensor or by a function of the tensor. targets: evaluate only what these
    need. keep: record only tensors whose names match one of these patterns (`*.weights`).
    numbers: the number type. listeners: functions that are called with each `Step` as it
    happens. allow_nonfinite: let infinities and NaN in.

    Raises a `GraphError` that names what was wrong and what was expected. Inputs are never
    modified.
    """
    listeners = tuple(_names(listeners, "listeners"))
    for listener in listeners:
        if not callable(listener):
            raise GraphError(f"a listener is a {type(listener).__name__}; expected a function of a step")
    trace, program = _begin(graph, feeds, level, labels, patch, targets, numbers, allow_nonfinite)
    if listeners or keep is not None:
        for step in _walk(trace, program, keep):
            for listener in listeners:
                listener(step)
        return trace
    stamp = trace._stamps.append
    stamp(perf_counter())
    for _ in trace._plan.execute(trace._values, program):
        stamp(perf_counter())
    trace._done = trace._plan.steps
    return trace


def steps(
    graph: Graph,
    feeds: Mapping[str, Any] | None = None,
    *,
    level: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    patch: Mapping[str, Any] | None = None,
    targets: Iterable[str] | None = None,
    keep: Iterable[str] | None = None,
    numbers: str | Numbers = FLOAT,
    allow_nonfinite: bool = False,
) -> Iterator[Step]:
    """Evaluate a graph one `Step` at a time; arguments as for `run`."""
    trace, program = _begin(graph, feeds, level, labels, patch, targets, numbers, allow_nonfinite)
    return _walk(trace, program, keep)


def _begin(
    graph: Graph, feeds: Any, level: str | None, labels: Any, patch: Any, targets: Iterable[str] | None,
    numbers: str | Numbers, allow_nonfinite: bool,
) -> tuple[Trace, Sequence[tuple[Any, ...]]]:  # fmt: skip
    """A trace with the feeds in place, and the instructions to follow."""
    if not isinstance(graph, Graph):
        raise GraphError(f"run got a {type(graph).__name__}; expected a Graph")
    numbers = of(numbers)
    graph = graph.at(("op" if numbers is FLOAT else "primitive") if level is None else level)
    wanted = None if targets is None else _names(targets, "targets")
    plan = plan_of(graph, numbers, wanted)
    patches = _read_patches(plan, {} if patch is None else patch)
    changing = [name for place, (name, _) in patches.items() if plan.constants[place] is not None]
    if changing:
        plan = plan_of(graph, numbers, wanted, [graph.resolve(name).node for name in changing])
    trace = Trace(plan, labels, patches)
    given = {place for place, (_, new) in patches.items() if not callable(new)}  # need no feed
    read_feeds(plan, {} if feeds is None else feeds, trace._values, given, allow_nonfinite)
    if not patches:
        return trace, plan.program
    replaced = {place: _replacement(plan, place, *patches[place]) for place in patches}
    for step in plan.steps:
        if not step.runs:
            for place in replaced.keys() & step.places:
                trace._values[place] = replaced[place](trace._values[place])
    return trace, [_patched(instruction, replaced) for instruction in plan.program]


def _names(names: Any, what: str) -> list[Any]:
    if isinstance(names, str):
        raise GraphError(f"{what} is the text {names!r}; expected a list of names")
    if not isinstance(names, Iterable):
        raise GraphError(f"{what} is a {type(names).__name__}; expected a list of names")
    return list(names)


def _read_patches(plan: Plan, patch: Any) -> dict[int, tuple[str, Any]]:
    """Name and replacement by place."""
    if not isinstance(patch, Mapping):
        raise GraphError(f"patch is a {type(patch).__name__}; expected a dict of tensors or functions by name")
    patches: dict[int, tuple[str, Any]] = {}
    for name, new in patch.items():
        place = _place(plan, name)
        if place in patches:
            raise GraphError(
                f"patches {patches[place][0]!r} and {name!r} are of one tensor; expected one patch"
            )
        patches[place] = (name, new)
    return patches


def _place(plan: Plan, name: str) -> int:
    ref = plan.graph.resolve(name)
    if ref not in plan.places:
        raise GraphError(f"patch {name!r} is not needed by the targets; expected a tensor that is evaluated")
    return plan.places[ref]


def _replacement(plan: Plan, place: int, name: str, new: Any) -> Callable[[Any], Any]:
    """From the value that was computed to the one that replaces it."""
    spec = plan.graph.spec(plan.graph.resolve(name))

    def read(value: Any, what: str) -> Any:
        return nested.lists(nested.read(value, spec, what, plan.numbers, allow_nonfinite=True))

    def changed(old: Any) -> Any:
        try:
            return new(None if old is None else read(old, name))
        except Exception as error:
            raise GraphError(f"patch {name!r}: {type(error).__name__}: {error}") from error

    if callable(new):
        return lambda old: read(changed(old), f"patch {name!r}")
    value = read(new, f"patch {name!r}")
    return lambda old: value


def _patched(instruction: tuple[Any, ...], replaced: Mapping[int, Callable[[Any], Any]]) -> tuple[Any, ...]:
    function, *middle, start, count = instruction
    if replaced.keys().isdisjoint(range(start, start + count)):
        return instruction

    def patched(*operands: Any) -> Any:
        result = function(*operands)
        results = [result] if count == 1 else list(result)
        results = [replaced.get(start + i, _same)(value) for i, value in enumerate(results)]
        return results[0] if count == 1 else results

    return (patched, *middle, start, count)


def _same(value: Any) -> Any:
    return value


def _walk(trace: Trace, program: Sequence[tuple[Any, ...]], keep: Iterable[str] | None) -> Iterator[Step]:
    """Evaluate step by step; with `keep`, forget a tensor that does not match after its last use."""
    plan = trace._plan
    trace._done = done = []
    forget = {} if keep is None else _last_uses(plan, _names(keep, "keep"))
    trace._stamps.append(perf_counter())
    executed = plan.execute(trace._values, program)
    for plan_step in plan.steps:
        if plan_step.runs:
            next(executed)
            trace._stamps.append(perf_counter())
        done.append(plan_step)
        trace.__dict__.pop("_seconds", None)
        if keep is not None:
            trace._settle()
        yield Step(trace, plan_step)
        for place in forget.get(plan_step.start, ()):
            trace._values[place] = trace._masks[place] = None


def _last_uses(plan: Plan, patterns: Sequence[str]) -> dict[int, list[int]]:
    """For each step (by its start), the places that no later step needs and nobody asked to keep."""
    kept: set[int] = set()
    names = {name: plan.graph.resolve(name) for name in plan.graph.tensor_names()}
    for pattern in patterns:
        found = [ref for name, ref in names.items() if fnmatchcase(name, str(pattern))]
        if not found:
            found = [plan.graph.resolve(pattern)]
        kept.update(plan.places[ref] for ref in found if ref in plan.places)
    last: dict[int, int] = {}
    for step in plan.steps:
        for place in (*step.places, *step.operands):
            if place is not None:
                last[place] = step.start
    forget: dict[int, list[int]] = {}
    for place, start in last.items():
        if place not in kept:
            forget.setdefault(start, []).append(place)
    return forget
