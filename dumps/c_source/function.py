"""One C function for each kind of call: the same op, attributes and shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Node
from graphattn.core.interpreter import padded
from graphattn.dumps.c_source.expression import Writer, comment, indented, moves_along
from graphattn.dumps.page.rules import rule_json, rule_of

DOTS = "matmul"
"""The family whose kernels take dot products; other sums of products are sums of rounded products."""
KEPT = """auto bool break case char const continue default do double else enum extern false float for goto if
inline int long register restrict return short signed sizeof static struct switch true typedef union
unsigned void volatile while total dot absorbing_dot maximum absorb absorb_divide wrapped y"""
RESERVED = frozenset(KEPT.split())
TYPES = {"float": "double", "int": "long", "bool": "bool"}


@dataclass(frozen=True, slots=True)
class Function:
    """The body of a function, its parameters, and the helpers that it calls."""

    parameters: tuple[str, ...]
    body: tuple[str, ...]
    used: frozenset[str]
    comment: str

    def text(self, name: str) -> str:
        head = f"static void {name}({', '.join(self.parameters)}) {{"
        return "\n".join([f"/* {self.comment} */", head, *indented(self.body), "}", ""])


def function_of(node: Node, specs: Sequence[Spec | None]) -> Function:
    """The function that computes a node from its operands."""
    op = node.op
    if op.explain is None:
        raise GraphError(
            f"{op.name} {node.name!r} does not say how its cells come about; expected a finer level"
        )
    names = [op.operand_name(slot).replace("[", "_").replace("]", "") for slot in range(len(specs))]
    names = [f"{name}_" if name in RESERVED else name for name in names]
    ports = [f"y_{port}" if port else "y" for port in node.ports]
    parameters = [
        f"const {TYPES[spec.kind]} *{name}" for name, spec in zip(names, specs, strict=True) if spec is not None
    ]
    parameters += [f"{TYPES[spec.kind]} *{port}" for port, spec in zip(ports, node.outputs, strict=True)]
    body: list[str] = []
    used: set[str] = set()
    explain = partial(op.told, "explain", node.name)
    for number, (port, spec) in enumerate(zip(ports, node.outputs, strict=True)):
        attributes: dict[str, Any] = dict(node.attributes)
        if len(ports) > 1:
            attributes["port"] = number
        for piece in rule_json(rule_of(explain, spec.shape, padded(op, list(specs)), attributes)):
            statements, called = _piece(piece, spec, names, port, op.family == DOTS)
            body += statements
            used |= called
    shapes = ", ".join(f"{name} {describe(spec)}" for name, spec in zip(names, specs, strict=True) if spec)
    results = ", ".join(describe(spec) for spec in node.outputs)
    given = [*(name for name, spec in zip(names, specs) if spec), *ports]
    unused = [f"(void){name};" for name in given if not _named(name, body)]
    said = comment(f"{op.name}: {op.formula}   ({shapes} -> {results})")
    return Function(tuple(parameters), (*unused, *body), frozenset(used), said)


def _named(name: str, body: Sequence[str]) -> bool:
    return any(re.search(rf"\b{name}\[", line) for line in body)


def _piece(piece: Any, spec: Spec, names: Sequence[str], port: str, dots: bool) -> tuple[list[str], set[str]]:
    """The loops over one box of the result. A named part is computed in the outermost loop in which it stands
    still."""
    low, high, parts, form = piece
    axes = [f"i{axis}" for axis in range(spec.rank)]
    writer = Writer(names, axes, dots)
    at_depth: dict[int, list[str]] = {}
    for number, (name, part) in enumerate(parts):
        depth = max(moves_along(part, parts), default=-1) + 1
        statements, text = writer.write(part)
        at_depth.setdefault(depth, []).extend(
            [*statements, f"double p{number} = {text};  /* {comment(name)} */"]
        )
    statements, text = writer.write(form)
    strides = [1] * spec.rank
    for axis in range(spec.rank - 2, -1, -1):
        strides[axis] = strides[axis + 1] * spec.shape[axis + 1]
    place = " + ".join(a if s == 1 else f"{s} * {a}" for s, a in zip(strides, axes, strict=True)) or "0"
    inner = [*at_depth.get(spec.rank, []), *statements, f"{port}[{place}] = {text};"]
    for axis in range(spec.rank - 1, -1, -1):
        head = f"for (long i{axis} = {low[axis]}; i{axis} < {high[axis]}; i{axis}++)"
        inner = [*at_depth.get(axis, []), f"{head} {{", *indented(inner), "}"]
    return ["{", *indented(inner), "}"] if not spec.rank else inner, writer.used
