"""What there is to tell of an op, from its record and its samples.

The card in the terminal and the page in `docs/` lay the same facts out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from graphattn.dumps.rows import node_rows
from graphattn.passes.cost import cost
from graphattn.passes.gradient import gradient
from graphattn.passes.zoom import expand

from ..core import nested
from ..core.axes import describe
from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.in_torch import by_name
from ..core.interpreter import padded
from ..core.op import OPS, Declared, Op, Sample

RESULT = "y"
"""The name of the one node of a sample's graph."""


def families() -> dict[str, list[Op]]:
    """Every op by family, as they were registered; those of a family by name."""
    found: dict[str, list[Op]] = {}
    for op in OPS.values():
        found.setdefault(op.family, []).append(op)
    return {family: sorted(ops, key=lambda op: op.name) for family, ops in found.items()}


def remarks(op: Op) -> list[str]:
    """What kind of op it is, in a few words each."""
    said = [f"family {op.family}", f"level {op.level}"]
    if op.moves:
        said.append("moves numbers, without arithmetic")
    if op.hands_on:
        said.append(f"hands on the parameters of {op.hands_on}")
    if op.range:
        said.append(f"values from {op.range[0]:g} to {op.range[1]:g}")
    return said


def signature(op: Op) -> str:
    """As the builder method takes it: operands, then attributes."""
    own = vars(Graph).get(op.name)  # input, parameter and constant take a name of their own
    if own is not None:
        parameters = list(inspect.signature(own).parameters.values())[1:]
        told = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
        return f"g.{op.name}({', '.join(told)})"
    shown = []
    starred = False
    for p in op.parameters.values():
        if p.keyword_only and not starred:
            shown.append("*")
        starred = starred or p.keyword_only or p.variadic
        shown.append(f"*{p.name}" if p.variadic else p.name if p.required else f"{p.name}={p.default!r}")
    return f"g.{op.name}({', '.join(shown)})"


def blocks(text: str) -> Iterator[tuple[str, bool]]:
    """The paragraphs of a docstring, and of each whether it is drawn or set by hand, to be left as it is."""
    for block in re.split(r"\n\s*\n", cleandoc(text)):
        if block.strip():
            indented = any(line.startswith("    ") for line in block.splitlines())
            yield block, indented or block.startswith((">>>", "- "))


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample: operands and attributes, results, and what it costs."""

    given: str
    results: str
    flops: int
    bytes: int


def sample_rows(op: Op) -> list[SampleRow]:
    """A row for each sample of an op; alike ones once."""
    rows = []
    for sample in op.samples:
        graph, _ = sampled(op, sample)
        node, total = graph.node(RESULT), cost(graph)
        told = [
            f"{op.operand_name(slot)} {describe(graph.spec(ref))}"
            for slot, ref in enumerate(node.operands)
            if ref is not None
        ]
        told += [f"{name}={_brief(value)}" for name, value in node.given.items()]
        results = ", ".join(dict.fromkeys(describe(spec) for spec in node.outputs))
        rows.append(SampleRow(", ".join(told), results, total.flops, total.bytes))
    return list(dict.fromkeys(rows))


def expansion_rows(op: Op) -> list[tuple[str, str, str]]:
    """Name, expression and axes of each node that the op is made of, on its first sample."""
    graph, _ = sampled(op, op.samples[0])
    composite = graph.node(RESULT)
    opened = Graph(op.name)
    for node in graph.nodes.values():
        if node is not composite:
            opened.adopt(node)
    expand(opened, composite, composite.operands)
    return [(_inner(row.name), _inner(row.expression), row.axes) for row in node_rows(opened) if not row.op.fed]


def gradient_rows(op: Op) -> list[tuple[str, str, str]]:
    """Name, expression and axes of each node of the op's gradient, on its first sample; none if it has none."""
    graph, feeds = sampled(op, op.samples[0])
    node = graph.node(RESULT)
    wrt = [name for name in feeds if graph.inputs[name].kind == "float"]
    if not wrt or any(spec.kind != "float" for spec in node.outputs[:1]):
        return []
    try:
        backward = gradient(graph, node.tensor_name(0), wrt)
    except GraphError:
        return []
    return [
        (_outer(row.name), _outer(row.expression), row.axes)
        for row in node_rows(backward)
        if row.node.scope and not row.op.fed
    ]


def _outer(text: str) -> str:
    """Without the scope of backward nodes before their names."""
    return re.sub(rf"\bbackward\.(?:{RESULT}\.)?", "", text)


def rule_text(op: Op) -> str:
    """What the op's gradient rule says of itself: its formula; '' where it says nothing."""
    return " ".join((op.gradient.__doc__ or "").split()) if op.gradient is not None else ""


def torch_text(op: Op) -> str:
    """How the first of its samples that PyTorch has a short way for is written there; "" where none has."""
    for sample in op.samples:
        graph, _ = sampled(op, sample)
        node = graph.node(RESULT)
        text = by_name(op, padded(op, graph.operand_specs(node.operands)), node.attributes)
        if text and not re.fullmatch(r"[\d.e-]+", text):  # a number alone says nothing
            return text.replace("\n", "; ")
    return ""


def told(mistake: Declared) -> str:
    """What there is to know of a known mistake."""
    return mistake.sentence or mistake.words.rstrip(",")


def to_copy(op: Op, room: int = 112) -> str:
    """A program that calls the op as its first sample does, on random numbers; in lines of `room` places,
    where no single argument is longer."""
    graph, feeds = sampled(op, op.samples[0])
    node = graph.node(RESULT)
    lines = [
        "from graphattn import Graph, run",
        "from graphattn.builtin import random_feeds",
        "",
        "g = Graph()",
    ]
    for name in feeds:
        spec = graph.inputs[name]
        kind = "" if spec.kind == "float" else f", kind={spec.kind!r}"
        lines.append(f'{name} = g.input("{name}", {spec.shape}{kind})')
    given: list[str] = []
    for slot, ref in enumerate(node.operands):
        hole = len(given) < slot
        if ref is not None:
            given.append(f"{op.operand_name(slot)}={ref.node}" if hole else ref.node)
    given += [f"{name}={value!r}" for name, value in node.given.items()]
    given.append(f'name="{RESULT}"')
    call = f"{RESULT} = g.{op.name}({', '.join(given)})"
    if len(call) > room:
        call = f"{RESULT} = g.{op.name}(\n{_arguments(given, room)}\n)"
    lines.append(call)
    return "\n".join([*lines, "print(run(g, random_feeds(g)))"])


def _arguments(given: list[str], room: int) -> str:
    """Arguments on lines of so many places, as many on each as fit."""
    lines: list[str] = []
    for argument in given:
        if lines and len(lines[-1]) + 1 + len(argument) + 1 <= room:
            lines[-1] += f" {argument},"
        else:
            lines.append(f"    {argument},")
    return "\n".join(lines)


def _inner(text: str) -> str:
    """Without the name of the composite before the names of its parts."""
    return re.sub(rf"\b{RESULT}\.", "", text)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else "…"


def sampled(op: Op, sample: Sample) -> tuple[Graph, dict[str, Any]]:
    """A sample as a graph with the one node `y`, and its feeds."""
    graph = Graph(op.name)
    feeds = {}
    operands = []
    for slot, value in enumerate(sample.operands):
        if value is None:
            operands.append(None)
            continue
        name = re.sub(r"\[(\d+)\]", r"\1", op.operand_name(slot))
        cell = next(nested.flat(value), 0.0)
        kind = "bool" if isinstance(cell, bool) else "int" if isinstance(cell, int) else "float"
        operands.append(graph.input(name, nested.shape_of(value), kind=kind))
        feeds[name] = value
    graph.apply(op, *operands, **sample.attributes, name=RESULT)
    return graph, feeds
