"""What a run recorded: every step in order, every tensor by name.

>>> from graphattn.core.graph import Graph
>>> from graphattn.core.run import run
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

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from . import nested, refused
from .axes import Spec
from .elsewhere import TRACES, meant
from .errors import GraphError, suggest
from .graph import Graph, Node, Ref
from .hidden import finite
from .interpreter import PlanStep, plan_of
from .numbers import FLOAT, Numbers, of
from .op import Op
from .recording import Recording, need_place
from .words import typed

if TYPE_CHECKING:
    from ..dumps.stats import Stats
    from ..insight.sources import Sources
    from ..insight.why import Why
    from ..insight.why.reach import Reach


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
        return self.node.tensor_names

    @property
    def operands(self) -> tuple[str | None, ...]:
        """The tensor name of each operand."""
        graph = self.trace.graph
        return tuple(None if ref is None else graph.tensor_name(ref) for ref in self.node.operands)

    @property
    def outputs(self) -> tuple[Any, ...]:
        return tuple(map(self.trace.recording.value, self._plan_step.places))

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
        return not self.trace.recording.patched.isdisjoint(self._plan_step.places)

    @property
    def seconds(self) -> float:
        """How long it took (0 for what was fed or known before the run)."""
        return self.trace.recording.seconds(self._plan_step.start)

    @property
    def masks(self) -> tuple[Any, ...]:
        """For each output, which cells are hidden (nested bools, True = hidden), or None."""
        return tuple(map(self.trace.recording.mask, self._plan_step.places))

    @property
    def finite(self) -> bool:
        """Whether every cell of its operands is known to be finite, and none of a divisor is 0."""
        step, values = self._plan_step, self.trace.recording.values
        return all(
            place is None or spec is None or spec.kind != "float" or finite(values[place], spec.rank)
            for spec, place in zip(step.specs, step.operands, strict=False)
        ) and not any(
            0 in row
            for slot in self.op.poles
            if (place := step.operands[slot]) is not None and (spec := step.specs[slot]) is not None
            for _, row in nested.rows(values[place], spec.rank)
        )

    @property
    def warnings(self) -> list[str]:
        """What a reader should know: cells that became infinite or NaN here, rows that see nothing."""
        return self.trace.recording.warnings(self._plan_step.start)

    def __str__(self) -> str:
        from ..dumps.tensor_text import one_step

        return one_step(self)

    def _repr_html_(self) -> str:
        from ..dumps.notebook import step_html

        return step_html(self)

    def __repr__(self) -> str:
        given = ", ".join(str(operand) for operand in self.operands if operand is not None)
        return f"<step {self.name} = {self.op.name}({given})>"


class Trace:
    """Everything that a run recorded. The values are the recorded lists: copy before changing.

    One class, because it is what people hold after a run: what is behind it has a file each (the
    recording by place, masks and warnings, the run), and its doors are many.
    """

    def __init__(self, recording: Recording, labels: Mapping[str, Sequence[str]] | None = None) -> None:
        self.recording = recording
        """The same by place, for who reads much of it."""
        self.graph = recording.plan.graph
        self.numbers = recording.plan.numbers
        self.labels = read_labels(labels or {})

    # ------------------------------------------------------------ reading

    @property
    def steps(self) -> list[Step]:
        """The evaluated nodes, in order."""
        return [Step(self, plan_step) for plan_step in self.recording.done]

    def step(self, name: str) -> Step:
        """The step of a node, or of the node that made a tensor."""
        ref = Ref(name) if isinstance(name, str) and name in self.graph.nodes else self.graph.resolve(name)
        plan_step = self.recording.step(ref.node)
        if plan_step is not None:
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
        if isinstance(name, tuple) and name and isinstance(name[0], str):
            at = "".join(f"[{nested.shown(place)}]" for place in name[1:])
            raise GraphError(f"a trace has tensors by name, as lists; expected trace[{name[0]!r}]{at}")
        if isinstance(name, int):
            raise GraphError(
                f"a trace has tensors by name; trace.steps[{name}] is a step, trace.names are the names"
            )
        place = self.recording.place(self.graph.resolve(name))
        if place is None or self.recording.values[place] is None:
            raise GraphError(
                f"tensor {name!r} was {'not evaluated' if place is None else 'not kept'} in this run;"
                f" expected one of {', '.join(self.names[:8]) or 'none'}"
            )
        return self.recording.value(place)

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

    def keys(self) -> list[str]:
        """The names, so that `dict(trace)` is a dict of the tensors."""
        return self.names

    def __len__(self) -> int:
        return len(self.recording.done)

    def spec(self, name: str) -> Spec:
        """Shape, axes and kind of a tensor."""
        return self.graph.spec(self.graph.resolve(name))

    @property
    def feeds(self) -> dict[str, Any]:
        """What the run was fed, as far as it was kept: another run of the graph on it gives the same."""
        return {name: self[name] for name in self.graph.fed if name in self}

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
        place = self.recording.place(self.graph.resolve(name))
        return None if place is None else self.recording.mask(place)

    @property
    def engine(self) -> str:
        """What computed it, with the precision, where that was not the interpreter; else ""."""
        return self.recording.engine

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
            raise GraphError(f"values is {typed(values)}; expected a dict of tensors by name")
        numbers = of(numbers)
        plan = plan_of(graph, numbers, deferred=True)
        recording = Recording(plan, (need_place(plan, name) for name in patched))
        trace = cls(recording, labels)
        recording.values = [None] * plan.size
        for name, value in values.items():
            ref = graph.resolve(name)
            read = nested.read(value, graph.spec(ref), name, numbers, allow_nonfinite=True)
            recording.values[plan.places[ref]] = nested.lists(read)
        done = None if evaluated is None else {graph.node(name).name for name in evaluated}
        recording.done = [
            step
            for step in plan.steps
            if (
                any(recording.values[p] is not None for p in step.places)
                if done is None
                else step.node.name in done
            )
        ]
        if masks is not None or warnings is not None:
            hidden = {}
            for name, mask in (masks or {}).items():
                ref = graph.resolve(name)
                spec = Spec(graph.spec(ref).shape, kind="bool")
                hidden[plan.places[ref]] = nested.read(mask, spec, f"the mask of {name}")
            told = {step.start: list((warnings or {}).get(step.node.name, ())) for step in recording.done}
            recording.given(hidden, told)
        return trace

    def __eq__(self, other: object) -> bool:
        """Same graph, steps, labels, patches and recorded values, bit for bit (NaN equals NaN)."""
        if not isinstance(other, Trace):
            return NotImplemented
        mine, theirs = self.recording, other.recording
        return (
            self.graph == other.graph
            and (self.labels, self.patched) == (other.labels, other.patched)
            and [step.node.name for step in mine.done] == [step.node.name for step in theirs.done]
            and self.numbers.name == other.numbers.name
            and all(
                same_bits(mine.values[a], theirs.values[b], self.numbers, spec)
                for one, two in zip(mine.done, theirs.done)
                for a, b, spec in zip(one.places, two.places, one.node.outputs, strict=True)
            )
        )

    __hash__ = object.__hash__

    # ------------------------------------------------------------ copying

    def __getstate__(self) -> dict[str, Any]:
        """What was recorded, by name; the plan is made again."""
        return {
            "graph": self.graph,
            "numbers": self.numbers.name,
            "labels": dict(self.labels),
            "recording": self.recording.state(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        plan = plan_of(state["graph"], of(state["numbers"]), deferred=bool(state["recording"]["engine"]))
        Trace.__init__(self, Recording.of_state(plan, state["recording"]), state["labels"])

    def __copy__(self) -> Trace:
        """Independent of this one: with a graph and lists of its own."""
        twin = object.__new__(type(self))
        twin.__setstate__({**self.__getstate__(), "graph": copy(self.graph)})
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        return self.__copy__()

    @property
    def patched(self) -> list[str]:
        """The tensors that a patch replaced, in order of evaluation."""
        if not self.recording.patched:
            return []
        return [
            name
            for step in self.steps
            for name, place in zip(step.names, step._plan_step.places, strict=True)
            if place in self.recording.patched
        ]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "graph" not in self.__dict__:
            raise AttributeError(name)
        if name in self.graph:
            hint = f"; trace[{name!r}] is that tensor"
        else:
            hint = f"; {TRACES[name]}" if name in TRACES else suggest(name, dir(self))
        raise AttributeError(f"a Trace has no {name!r}{hint}")

    # ------------------------------------------------------------ doors to the other wings

    @meant
    def why(self, tensor: str, *index: Any, depth: int | str = 1) -> Why:
        """How one cell came about: `print(trace.why("weights", 2, 1))`; see `graphattn.insight.why`."""
        from ..insight.why import why

        return why(self, tensor, *index, depth=depth)

    def reach(self, tensor: str, *index: Any) -> Reach:
        """Which later cells one cell touches, and how much; see `graphattn.insight.why.reach`."""
        from ..insight.why.reach import reach

        return reach(self, tensor, *index)

    def sources(
        self, tensor: str, *index: Any, by: str = "head", through: Iterable[str] = (), against: Any = None,
        ablate: int = 0,
    ) -> Sources:  # fmt: skip
        """The parts of one cell, by what wrote it; see `graphattn.insight.sources`."""
        from ..insight.sources import sources

        return sources(self, tensor, *index, by=by, through=through, against=against, ablate=ablate)

    def figure(self, tensors: str | Iterable[str], path: Any = None, **options: Any) -> Any:
        """Tensors as heat maps, into an .svg, .png or .pdf file, or shown by a notebook; see
        `graphattn.dumps.figure.figure`."""
        from ..dumps.figure import figure

        drawn = figure(self, tensors, **options)
        return drawn if path is None else drawn.save(path)

    def page(self, path: Any, **options: Any) -> Any:
        """Write the page to walk through this run into an .html file; see `graphattn.dumps.page`. With
        `reference`, another run of the same graph, it shows both, and what `compare` says of them."""
        from ..dumps.page import write_page

        if options.get("reference") is not None:
            from ..insight.compare import compare

            options["comparison"] = lambda: compare(options["reference"], self).data()
        return write_page(path, self, **options)

    def show(self, theme: str = "auto", height: int = 640) -> Any:
        """The page in a frame of its own, which a notebook shows as a cell's result; theme: auto (the
        system's), light or dark."""
        from ..dumps.page import Shown

        return Shown(self, theme, height)

    def table(self, *names: str, decimals: int = 4, limit: int = 12, width: int = 100) -> str:
        """Tensors by name or pattern as labelled tables, beside each other where they fit into `width`:
        `print(trace.table("*.scores", "*.weights"))`."""
        from ..dumps.tensor_text import tensor_text

        return tensor_text(self, names or self.graph.outputs or self.names, decimals, limit, width)

    def stats(self, *names: str) -> Stats:
        """For each tensor, or those that match: sum, mean, standard deviation, smallest, largest, norm, how
        many cells are not finite or hidden, first and last cells; see `graphattn.dumps.stats`."""
        from ..dumps.stats import stats

        return stats(self, names or None)

    @meant
    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the trace: `trace.save("run.json")`. The ending chooses the form: .txt, .json, .npz and a
        folder ("run/", of CSV files) read back with `graphattn.load`; see `graphattn.dumps.forms`."""
        from ..dumps.forms import save

        return save(self, path, **options)

    def __str__(self) -> str:
        from ..dumps.trace_text import trace_text

        return trace_text(self)

    def _repr_html_(self) -> str:
        from ..dumps.notebook import trace_html

        return trace_html(self)

    def __repr__(self) -> str:
        return f"<trace of {self.graph.name!r}: {len(self)} steps, {len(self.names)} tensors>"


refused.refuse(Trace, refused.OF_TRACES)


def same_bits(a: Any, b: Any, numbers: Numbers, spec: Spec) -> bool:
    """Whether two recorded tensors are the same in every bit; one NaN is as good as another."""
    if a is b or a is None or b is None:
        return a is b
    if numbers is not FLOAT and spec.kind == "float":
        return all(map(eq, map(numbers.text, nested.flat(a)), map(numbers.text, nested.flat(b))))
    if spec.kind != "float":
        return a == b
    rows = zip(nested.rows(nested.lists(a), spec.rank), nested.rows(nested.lists(b), spec.rank))
    return all(_same_row(one, other) for (_, one), (_, other) in rows)


def _same_row(a: list[float], b: list[float]) -> bool:
    """Whether two rows of floats are the same in every bit: 0.0 is not -0.0, but NaN is NaN."""
    if a == b and 0.0 not in a:
        return True
    return array("d", a).tobytes() == array("d", b).tobytes() or repr(a) == repr(b)


def read_labels(labels: Any) -> dict[str, tuple[str, ...]]:
    """Labels as they are kept: texts by the name of their axis; a `GraphError` for what is none."""
    if not isinstance(labels, Mapping):
        raise GraphError(
            f"labels is {typed(labels)}; expected a dict of lists by axis name, like"
            ' {"token": ["the", "cat"]}'
        )
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
