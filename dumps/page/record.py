"""The numbers that a page shows: those of a trace, and with them all that lies inside its composites.

A trace at the level of ops has no number for what is inside a softmax. `record` evaluates the same
graph at its finest level, on the same feeds and patches, and puts the recorded tensors in the places of
what came out: where a trace was made elsewhere, its own numbers are shown. A trace that does not hold
what it takes to run again is shown as it is, and `notes` says so.
"""

from __future__ import annotations

import array
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graphattn.core import nested
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Ref
from graphattn.core.numbers import FLOAT
from graphattn.core.op import LEVELS
from graphattn.core.run import run
from graphattn.core.trace import Trace


@dataclass
class Record:
    """A graph at the finest level that its numbers allow, and what is known of each tensor in it."""

    graph: Graph
    values: dict[Ref, array.array[float]] = field(default_factory=dict)
    """Flat, in row-major order; bools as 0 and 1."""
    masks: dict[Ref, bytes] = field(default_factory=dict)
    """A 1 for each hidden cell, flat."""
    patched: set[Ref] = field(default_factory=set)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    """By node."""
    changed: set[Ref] = field(default_factory=set)
    """Recorded tensors that are not what their operands give."""
    notes: list[str] = field(default_factory=list)


def record(trace: Trace) -> Record:
    """All that there is to show of a trace (see the module's docstring)."""
    notes: list[str] = []
    try:
        fine = _again(trace)
    except GraphError as error:
        notes.append(f"what is inside composites is not shown: {error}")
        fine = trace
    found = Record(fine.graph, notes=notes)
    for step in fine.steps:
        for port, (name, spec, value) in enumerate(zip(step.names, step.specs, step.outputs, strict=True)):
            if value is not None:
                ref = Ref(step.name, port)
                found.values[ref] = _flat(value, fine)
                mask = fine.masked(name)
                if mask is not None and spec.size:
                    found.masks[ref] = bytes(map(bool, nested.flat(mask)))
        if step.warnings:
            found.warnings[step.name] = list(step.warnings)
    if fine is not trace:
        _as_recorded(found, trace)
    found.patched = {fine.graph.resolve(name) for name in trace.patched}
    if trace.numbers is not FLOAT:
        notes.append(f"the run was made with {trace.numbers.name} numbers; shown are the nearest doubles")
    return found


def _again(trace: Trace) -> Trace:
    """The trace at the finest level."""
    graph = trace.graph.at(LEVELS[-1])
    if graph is trace.graph:
        return trace
    feeds = {name: value for name, value in trace.feeds.items() if name not in trace.patched}
    return run(
        trace.graph,
        feeds,
        level=LEVELS[-1],
        labels=trace.labels,
        patch={name: trace[name] for name in trace.patched},
        targets=[step.names[0] for step in trace.steps] if len(trace) < len(trace.graph.nodes) else None,
        numbers=trace.numbers,
        allow_nonfinite=True,
    )


def _as_recorded(found: Record, trace: Trace) -> None:
    """Put in what the trace itself recorded."""
    for name in trace.names:
        ref = found.graph.resolve(name)
        own = _flat(trace[name], trace)
        known = found.values.get(ref)
        if known is None or own.tobytes() != known.tobytes():
            found.values[ref] = own
            found.changed.add(ref)
        mask = trace.masked(name)
        if mask is not None:
            found.masks[ref] = bytes(map(bool, nested.flat(mask)))


def _flat(value: Any, trace: Trace) -> array.array[float]:
    """The cells in row-major order, as doubles."""
    if trace.numbers is FLOAT:
        with suppress(OverflowError):  # integers that no double holds are shown as infinite
            return array.array("d", nested.flat(value))
    return array.array("d", map(trace.numbers.nearest, nested.flat(value)))


def product_of_rows() -> str:
    """How this Python adds up products: `sumprod`, correctly rounded, or `sum`, from left to right."""
    return "sumprod" if sys.version_info >= (3, 12) else "sum"
