"""The laws that every graph obeys, as functions that return problems.

A law takes a `Case` (a graph and its feeds) and yields one sentence for each way in which passes,
runs or names break it. `tests/core/test_random_graphs.py` holds random graphs to them, and
`tests/core/test_planted_passes.py` shows that they see planted faults.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import networkx as nx
from op_laws import misfits, same_bits
from random_graphs import Case, build

import graphattn.passes
from graphattn import Graph, Trace, run, steps
from graphattn.core.graph import Scope
from graphattn.core.op import LEVELS
from graphattn.passes.bind import bind
from graphattn.passes.dead_code import dead_code
from graphattn.passes.gradient import differentiate
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom

Pass = Callable[..., Graph]


def evaluated(graph: Graph, feeds: dict[str, Any], **options: Any) -> Trace:
    return run(graph, feeds, allow_nonfinite=True, **options)


def changed(before: Trace, after: Trace, names: Any) -> Iterator[str]:
    """The tensors that differ, bit for bit."""
    for name in names:
        if not same_bits(before[name], after[name]):
            yield f"{name} changed from {before[name]} to {after[name]}"


def zooming(case: Case, zoom: Pass = zoom, fuse: Pass = fuse) -> Iterator[str]:
    """zoom keeps every value, alias and output; fuse(zoom(g)) == g; both keep a graph sound."""
    before = copy.copy(list(case.graph.nodes.values()))
    trace = evaluated(case.graph, case.feeds, level="block")
    for level in LEVELS:
        fine = zoom(case.graph, level)
        report = verify(fine)
        yield from (f"zoomed to {level}: {finding}" for finding in report.problems)
        if not report.ok:
            continue
        finer = evaluated(fine, case.feeds, level="block")
        names = [name for step in trace.steps for name in step.names]
        yield from (f"zoomed to {level}: {told}" for told in changed(trace, finer, names))
        if list(fine.outputs) != list(case.graph.outputs):
            yield f"zoomed to {level}: outputs {list(fine.outputs)}; expected {list(case.graph.outputs)}"
        if zoom(fine, level) != fine:
            yield f"zoomed to {level}: a second time gives another graph"
        if (back := fuse(fine)) != case.graph:
            yield f"zoomed to {level}: fuse does not give the graph back: {back.notes}"
    if list(case.graph.nodes.values()) != before:
        yield "a pass changed the graph that it was given"
    if fuse(case.graph) != case.graph:
        yield "fuse changes a graph that is not zoomed"


def repeating(case: Case) -> Iterator[str]:
    """Two runs are the same, step by step is the same as at once, and listeners see each step."""
    feeds = copy.deepcopy(case.feeds)
    first, second = evaluated(case.graph, case.feeds), evaluated(case.graph, case.feeds)
    if first != second:
        yield "two runs differ"
    if not same_bits(feeds, case.feeds):
        yield "a run modified its feeds"
    seen: list[str] = []
    values: list[Any] = []
    last = None
    for last in steps(case.graph, case.feeds, allow_nonfinite=True):
        seen.append(last.name)
        values.append(last.outputs)
    if seen != [step.name for step in first.steps]:
        yield f"steps() goes through {seen}; run through {[step.name for step in first.steps]}"
    if not same_bits(values, [step.outputs for step in first.steps]):
        yield "steps() gives other values than run"
    if last is not None and last.trace != first:
        yield "the trace of steps() is not that of run"
    heard: list[str] = []
    evaluated(case.graph, case.feeds, listeners=[lambda step: heard.append(step.name)])
    if heard != seen:
        yield f"listeners heard {heard}; expected {seen}"
    for step in first.steps:
        for name, spec, value in zip(step.names, step.specs, step.outputs, strict=True):
            yield from misfits(value, spec, name)


def choosing(case: Case) -> Iterator[str]:
    """targets= evaluates what is needed and no more; keep= records what is asked and no more."""
    full = evaluated(case.graph, case.feeds)
    dice = random.Random(len(full))
    for name in dice.sample(full.names, min(3, len(full.names))):
        part = evaluated(case.graph, case.feeds, targets=[name])
        yield from (f"with targets {name}: {told}" for told in changed(full, part, part.names))
        node = full.graph.resolve(name).node
        wanted = {node, *nx.ancestors(full.graph.dag, node)}
        if {step.name for step in part.steps} != wanted:
            yield f"with targets {name}: evaluated {[s.name for s in part.steps]}; needed {sorted(wanted)}"
        kept = evaluated(case.graph, case.feeds, keep=[name])
        if kept.names != [name]:
            yield f"with keep {name}: kept {kept.names}"
        yield from (f"with keep {name}: {told}" for told in changed(full, kept, kept.names))
        if kept.masked(name) != full.masked(name):
            yield f"with keep {name}: other cells are hidden"


def patching(case: Case) -> Iterator[str]:
    """A patch with what was recorded changes nothing, and nor does the identity."""
    full = evaluated(case.graph, case.feeds)
    dice = random.Random(len(full))
    for name in dice.sample(full.names, min(3, len(full.names))):
        for new in (full[name], lambda value: value):
            patched = evaluated(case.graph, case.feeds, patch={name: new})
            yield from (f"with {name} patched: {told}" for told in changed(full, patched, full.names))
            if patched.patched != [name]:
                yield f"with {name} patched: the trace says that {patched.patched} are"


def restoring(case: Case) -> Iterator[str]:
    """A trace that is put together again from its tensors is the same trace."""
    axes = [pair for n in case.graph.nodes.values() for o in n.outputs for pair in zip(o.axes, o.shape)]
    labels = {axis: [f"{axis}{i}" for i in range(size)] for axis, size in axes if axis}
    trace = evaluated(case.graph, case.feeds, labels=labels)
    again = Trace.restore(trace.graph, {name: trace[name] for name in trace.names}, trace.labels)
    if again != trace:
        yield "a restored trace is not equal"
    if again.warnings != trace.warnings:
        yield f"a restored trace warns {again.warnings}; expected {trace.warnings}"
    for name in trace.names:
        if again.masked(name) != trace.masked(name):
            yield f"a restored trace hides other cells of {name}"


def naming(case: Case) -> Iterator[str]:
    """Names do not shift when unrelated nodes are added; each finds its tensor; a copy is equal."""
    again, more = build(case.moves).graph, build(case.moves, unrelated=True).graph
    if again != case.graph:
        yield "building the same graph again gives another one"
    own = [node for node in more.nodes if node in case.graph.nodes]
    if own != list(case.graph.nodes):
        yield f"with unrelated nodes, the names are {own}; expected {list(case.graph.nodes)}"
    for graph in (case.graph, case.graph.at("primitive")):
        for name in graph.tensor_names():
            ref = graph.resolve(name)
            if name not in (*graph.aliases, *graph.outputs) and graph.tensor_name(ref) != name:
                yield f"{name} finds {graph.tensor_name(ref)}"
        if len(set(graph.nodes) | set(graph.scopes)) != len(graph.nodes) + len(graph.scopes):
            yield "a node and a scope share a name"
        if list(graph.dag) != list(graph.nodes) or graph.dag.number_of_edges() != sum(
            ref is not None for node in graph.nodes.values() for ref in node.operands
        ):
            yield "the DAG does not say what the nodes say"


OWN_LAWS = {"zoom"}
"""Passes that change bits on purpose: a law of their own says what they keep."""


def found_passes() -> Iterator[Pass]:
    """Every file of passes/ that holds a function of its name from a graph alone to a graph."""
    for module in pkgutil.iter_modules(graphattn.passes.__path__):
        function = getattr(importlib.import_module(f"graphattn.passes.{module.name}"), module.name, None)
        if function is None or module.name in OWN_LAWS:
            continue
        signature = inspect.signature(function)
        needed = [name for name, p in signature.parameters.items() if p.default is p.empty]
        if needed == ["graph"] and signature.return_annotation == "Graph":
            yield function


PASSES: tuple[Pass, ...] = tuple(found_passes())


def passing(case: Case, passes: Iterable[Pass] = PASSES) -> Iterator[str]:
    """A pass keeps the outputs' values and names, is idempotent, and keeps a graph sound."""
    for made in (case.graph, case.graph.at("primitive")):
        full = evaluated(made, case.feeds)
        nodes = list(made.nodes.values())
        for change in passes:
            result = change(made)
            yield from (f"{change.__name__}: {finding}" for finding in verify(result).problems)
            if list(result.outputs) != list(made.outputs):
                yield f"{change.__name__}: outputs {list(result.outputs)}; expected {list(made.outputs)}"
                continue
            if list(result.inputs) != list(made.inputs):
                yield f"{change.__name__}: inputs {list(result.inputs)}; expected {list(made.inputs)}"
                continue
            after = evaluated(result, case.feeds)
            yield from (f"{change.__name__}: {told}" for told in changed(full, after, made.outputs))
            if change(result) != result:
                yield f"{change.__name__}: a second time gives another graph"
            if list(made.nodes.values()) != nodes:
                yield f"{change.__name__}: changed the graph that it was given"


def pruning(case: Case, dead_code: Pass = dead_code) -> Iterator[str]:
    """dead_code leaves what the outputs need, and no more."""
    needed = case.graph.ancestors(*(t.ref.node for t in case.graph.outputs.values())) | set(case.graph.inputs)
    left = set(dead_code(case.graph).nodes)
    if left != needed:
        yield f"pruned: left {sorted(left)}; needed {sorted(needed)}"


def binding(case: Case, bind: Pass = bind) -> Iterator[str]:
    """What is bound need not be fed, and changes no value."""
    inputs = case.graph.inputs
    holds = [name for name in inputs if inputs[name].size and (inputs[name].rank or inputs[name].kind != "int")]
    bound = bind(case.graph, {name: case.feeds[name] for name in holds})
    yield from (f"bound: {finding}" for finding in verify(bound).problems)
    left = {name: feed for name, feed in case.feeds.items() if name not in holds}
    if set(bound.inputs) != set(left):
        yield f"bound: inputs {list(bound.inputs)}; expected {list(left)}"
        return
    full, after = evaluated(case.graph, case.feeds), evaluated(bound, left)
    yield from (f"bound: {told}" for told in changed(full, after, full.names))


CHANGES: tuple[dict[str, Callable[[Graph, Any], object]], ...] = (
    {
        "an output": lambda g, x: g.output(another=x),
        "an alias": lambda g, x: g.adopt_alias("alias", x.ref),
    },
    {
        "a scope": lambda g, x: g.adopt_scope(Scope("scope")),
        "a scope that goes": lambda g, x: g.forget_scope("scope"),
    },
    {
        "a node": lambda g, x: g.negate(x, name="after") if x.kind == "float" else None,
        "a title": lambda g, x: setattr(g, "title", "another"),
    },
)
"""What may come or go between two calls; of each graph one group is tried."""


def changing(case: Case) -> Iterator[str]:
    """A graph that is changed after it was zoomed, run, differentiated and looked through gives what one gives
    that was never asked before."""
    asked, fresh = build(case.moves), build(case.moves)
    place = sum(map(len, asked.graph.nodes))  # as good as drawn, and the same each time
    _asked(asked)
    for what, change in CHANGES[place % len(CHANGES)].items():
        for one in (asked, fresh):
            change(one.graph, one.pool[place % len(one.pool)])
        new = _asked(Case(fresh.moves, copy.copy(fresh.graph), fresh.feeds))
        for told, old, now in zip(LOOKED, _asked(asked), new, strict=True):
            if old != now:
                yield f"{what}: {told} is not that of a graph that was not asked before"


LOOKED = (
    "the zoom to op",
    "the zoom to primitive",
    "its fusion",
    "a run",
    "the outputs",
    "the names",
    "the gradient",
)


def _asked(case: Case) -> list[Any]:
    """What a graph gives when it is asked for all that is kept with it."""
    graph = case.graph
    fine = graph.at("primitive")
    trace = evaluated(graph, case.feeds)
    last = next(reversed(graph.outputs.values()))
    slope = last.kind == "float" and last.spec.size and differentiate(graph, last.name)
    return [
        graph.at("op"), fine, fuse(fine), trace, repr(trace.outputs),
        [(name, graph.resolve(name)) for name in graph.tensor_names()],
        slope and (slope.graph, slope.gradients),
    ]  # fmt: skip


LAWS = (zooming, repeating, choosing, patching, restoring, naming, passing, pruning, binding, changing)
