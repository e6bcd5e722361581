"""The run: feeds and patches put in place, the plan followed step by step, a trace of it handed back.

run     evaluate everything (or what `targets` need), and record it
steps   the same one step at a time
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from . import nested
from .elsewhere import meant
from .engines import PRECISIONS, lacking, need_engine
from .errors import GraphError, suggest
from .graph import Graph
from .interpreter import Plan, plan_of, read_feeds
from .numbers import FLOAT, Numbers, of
from .recording import Recording, need_place
from .trace import Step, Trace, read_labels
from .words import listed, typed

Listener = Callable[[Step], Any]


@meant
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
    engine: str | None = None,
    progress: bool = False,
) -> Trace:
    """Evaluate a graph on feeds (nested lists by input name) and record every tensor.

    level: which magnification to evaluate, "op" unless another number type than float needs
    "primitive". labels: texts by axis name, shown on rows and columns. patch: an intermediate by
    name, replaced by a tensor or by a function of the tensor. targets: evaluate only what these
    need. keep: record only tensors whose names match one of these patterns (`*.weights`).
    numbers: the number type. listeners: functions that are called with each `Step` as it
    happens. allow_nonfinite: let infinities and NaN in. engine: what computes, None for this interpreter
    or "onnxruntime" for ONNX Runtime, in doubles or, with numbers="float32", in these; what it cannot do in
    doubles is done in float32, of which the step warns. Listeners hear of its steps when all are done.
    progress: say on a terminal what the run costs, where that is much, and how far it has come; without it a
    run that takes minutes is warned of.

    Raises a `GraphError` that names what was wrong and what was expected. Inputs are never
    modified.
    """
    listeners = tuple(_names(listeners, "listeners"))
    for listener in listeners:
        if not callable(listener):
            raise GraphError(f"a listener is {typed(listener)}; expected a function of a step")
    if engine is not None:
        precision = _precision(engine, numbers)
        trace, _, replaced = _begin(
            graph, feeds, level, labels, patch, targets, FLOAT, allow_nonfinite, deferred=True
        )
        return _elsewhere(trace, precision, replaced, keep, listeners)
    trace, program, _ = _begin(graph, feeds, level, labels, patch, targets, numbers, allow_nonfinite)
    if progress:
        from ..progress import following

        with following(trace.graph) as listener:
            return _listened(trace, program, keep, (*listeners, listener))
    if not listeners and trace.numbers is FLOAT:
        from ..progress import forewarn

        forewarn(trace.graph, stacklevel=3)
    if listeners or keep is not None:
        return _listened(trace, program, keep, listeners)
    recording = trace.recording
    stamp = recording.stamps.append
    stamp(perf_counter())
    for _ in recording.plan.execute(recording.values, program):
        stamp(perf_counter())
    recording.done = recording.plan.steps
    return trace


def _listened(
    trace: Trace, program: Sequence[tuple[Any, ...]], keep: Iterable[str] | None, listeners: Iterable[Listener]
) -> Trace:
    """The trace, followed step by step and told to listeners."""
    for step in _walk(trace, program, keep):
        for listener in listeners:
            listener(step)
    return trace


@meant
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
    trace, program, _ = _begin(graph, feeds, level, labels, patch, targets, numbers, allow_nonfinite)
    return _walk(trace, program, keep)


def _begin(
    graph: Graph, feeds: Any, level: str | None, labels: Any, patch: Any, targets: Iterable[str] | None,
    numbers: str | Numbers, allow_nonfinite: bool, deferred: bool = False,
) -> tuple[Trace, Sequence[tuple[Any, ...]], Mapping[int, Callable[[Any], Any]]]:  # fmt: skip
    """A trace with the feeds in place, the instructions to follow, and what patches make of which places."""
    if not isinstance(graph, Graph):
        raise GraphError(f"run got {typed(graph)}; expected a Graph")
    numbers = of(numbers)
    graph = graph.at(("op" if numbers is FLOAT else "primitive") if level is None else level)
    wanted = None if targets is None else _names(targets, "targets")
    plan = plan_of(graph, numbers, wanted, deferred=deferred)
    patches = _read_patches(plan, {} if patch is None else patch)
    changing = [name for place, (name, _) in patches.items() if plan.constants[place] is not None]
    if changing:
        changed = [graph.resolve(name).node for name in changing]
        plan = plan_of(graph, numbers, wanted, changed, deferred)
    trace = Trace(Recording(plan, patches), read_labels({} if labels is None else labels))
    _need_labels_that_fit(trace)
    given = {place for place, (_, new) in patches.items() if not callable(new)}  # need no feed
    read_feeds(plan, {} if feeds is None else feeds, trace.recording.values, given, allow_nonfinite)
    if not patches:
        return trace, plan.program, {}
    replaced = {place: _replacement(plan, place, *patches[place]) for place in patches}
    for step in plan.steps:
        if not step.runs:
            for place in replaced.keys() & step.places:
                trace.recording.values[place] = replaced[place](trace.recording.values[place])
    return trace, [_patched(instruction, replaced) for instruction in plan.program], replaced


def _precision(engine: Any, numbers: Any) -> str:
    """What an engine computes with. Raises a `GraphError` for what is no engine, or numbers that it has not."""
    need_engine(engine)
    if numbers in PRECISIONS or numbers is FLOAT:
        return "float" if numbers is FLOAT else numbers
    told = nested.shown(numbers) if isinstance(numbers, str) else of(numbers).name
    raise GraphError(f"numbers is {told} and engine {engine}; expected {' or '.join(PRECISIONS)}")


def _elsewhere(
    trace: Trace, precision: str, replaced: Mapping[int, Callable[[Any], Any]], keep: Iterable[str] | None,
    listeners: Iterable[Listener],
) -> Trace:  # fmt: skip
    """The trace of a run that an engine does."""
    recording, plan = trace.recording, trace.recording.plan
    kept = None if keep is None else _kept(plan, _names(keep, "keep"))
    try:
        from ..onnx.engine import evaluate
    except ImportError as error:
        raise lacking(error) from None
    evaluate(recording, precision, replaced)
    for step in trace.steps:
        for listener in listeners:
            listener(step)
    if kept is not None:
        recording.settle()
        recording.forget([place for place in range(plan.size) if place not in kept])
    return trace


def _names(names: Any, what: str) -> list[Any]:
    if isinstance(names, str):
        raise GraphError(f"{what} is the text {names!r}; expected a list of names")
    if not isinstance(names, Iterable):
        wanted = "functions" if what == "listeners" else "names"
        raise GraphError(f"{what} is {typed(names)}; expected a list of {wanted}")
    return list(names)


def _read_patches(plan: Plan, patch: Any) -> dict[int, tuple[str, Any]]:
    """Name and replacement by place."""
    if not isinstance(patch, Mapping):
        raise GraphError(f"patch is {typed(patch)}; expected a dict of tensors or functions by name")
    patches: dict[int, tuple[str, Any]] = {}
    for name, new in patch.items():
        place = need_place(plan, name)
        if place in patches:
            raise GraphError(
                f"patches {patches[place][0]!r} and {name!r} are of one tensor; expected one patch"
            )
        patches[place] = (name, new)
    return patches


def _need_labels_that_fit(trace: Trace) -> None:
    """Refuse labels of an axis that no tensor has, and a number of them that no such axis has."""
    if not trace.labels:
        return
    sizes: dict[str, set[int]] = {}
    for node in trace.graph.nodes.values():
        for spec in node.outputs:
            for axis, size in zip(spec.axes, spec.shape, strict=True):
                if axis is not None:
                    sizes.setdefault(axis, set()).add(size)
    for axis, labels in trace.labels.items():
        if axis not in sizes:
            raise GraphError(
                f"labels are given for axis {axis!r}, which no tensor has; expected"
                f" {listed(sizes, none='no labels')}{suggest(axis, sizes)}"
            )
        if len(labels) not in sizes[axis]:
            raise GraphError(
                f"axis {axis!r} has {len(labels)} labels; expected {' or '.join(map(str, sorted(sizes[axis])))}"
            )


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
    recording, plan = trace.recording, trace.recording.plan
    recording.done = done = []
    forget = {} if keep is None else _last_uses(plan, _names(keep, "keep"))
    recording.stamps.append(perf_counter())
    executed = plan.execute(recording.values, program)
    for plan_step in plan.steps:
        if plan_step.runs:
            next(executed)
            recording.stamps.append(perf_counter())
        done.append(plan_step)
        if keep is not None:
            recording.settle()
        yield Step(trace, plan_step)
        recording.forget(forget.get(plan_step.start, ()))


def _last_uses(plan: Plan, patterns: Sequence[str]) -> dict[int, list[int]]:
    """For each step (by its start), the places that no later step needs and nobody asked to keep."""
    kept = _kept(plan, patterns)
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


def _kept(plan: Plan, patterns: Sequence[str]) -> set[int]:
    """The places of the tensors whose names match one of the patterns."""
    found = (ref for pattern in patterns for ref in plan.graph.matching(pattern))
    return {plan.places[ref] for ref in found if ref in plan.places}
