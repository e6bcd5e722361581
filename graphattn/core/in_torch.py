"""A step as a line of PyTorch: what its op says of such a call (`Op.torch`), with the names of a graph put in.

    scaled = scores / math.sqrt(4)
    masked = scaled.masked_fill(~torch.ones(3, 3, dtype=torch.bool).tril(), float("-inf"))

Views (Kᵀ), masks, constants and steps without a name of their own are written into the line that reads them.
A line that needs another before it has it in front, with a semicolon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .axes import Spec
from .graph import Graph, Node, Ref, Scope
from .interpreter import padded
from .names import automatic
from .op import Op

DEEPEST = 4
"""So many steps are written into one line."""
SHORT = 45
"""A step without a name of its own is written into another's line where it is no longer."""
LONGEST = 140
"""No line is longer: steps keep their names then, and a call that is longer even so is not told."""
FIELD = re.compile(r"\{(\w+)\}")


def call(
    op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], texts: Sequence[str], name: str = "y"
) -> str:  # fmt: skip
    """A call of an op, with the texts of its operands; "" where it has no way to say it. A rule that breaks its
    word is a `GraphError` that names the op and the node."""
    form = op.torch
    if callable(form):
        form = op.told("torch", name, *specs, **attributes)
    if not form:
        return ""
    given = {p.name: text for p, text in zip(op.operands, texts, strict=False)}
    if op.variadic:
        given[op.operands[-1].name] = ", ".join(texts[len(op.operands) - 1 :])
    said = {name: _enclosed(form, name, text) for name, text in given.items()}
    return FIELD.sub(lambda found: said.get(found[1]) or str(attributes[found[1]]), form)


def by_name(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> str:
    """The same with the operands under the names that the op has for them."""
    return call(op, specs, attributes, [op.operand_name(slot) for slot in range(len(specs))])


def line(graph: Graph, name: str) -> str:
    """The line for the step that a node is, or is part of: `name = …`; "" where its op has none."""
    step = _step(graph, graph.nodes[name])
    own = step.name.rpartition(".")[2]
    for depth in range(DEEPEST, -1, -1):
        *before, text = _written(graph, step, depth, step.name).split("\n")
        told = text if not text or automatic(own, step.op) else f"{own} = {text}"
        told = "; ".join([*before, told])
        if len(told) <= LONGEST:
            return told
    return ""


def _step(graph: Graph, node: Node) -> Any:
    """The node, or the op that it is part of: what has a line of its own."""
    found: Node | Scope = node
    scope = graph.scopes.get(node.scope or "")
    while scope is not None:
        if scope.op is not None and not scope.op.coarser("op"):
            found = scope
        scope = graph.scopes.get(scope.parent or "")
    return found


def _written(graph: Graph, step: Any, depth: int, reader: str) -> str:
    specs = padded(step.op, graph.operand_specs(step.operands))
    refs = padded(step.op, step.operands)
    texts = ["None" if ref is None else _operand(graph, ref, depth, reader) for ref in refs]
    return call(step.op, specs, step.attributes, texts, step.name)


def _operand(graph: Graph, ref: Ref, depth: int, reader: str) -> str:
    """A tensor by its name, or what it is, in the line of the step `reader`."""
    node = graph.nodes[ref.node]
    step = _step(graph, node)
    own = step.name.rpartition(".")[2]
    outputs = [Ref(node.name, port) for port in range(len(node.ports))] if step is node else list(step.outputs)
    taken = f"[{outputs.index(ref)}]" if len(outputs) > 1 and ref in outputs else ""
    view = step.op.moves and len(step.operands) == 1 and not taken
    known = not step.operands and not step.op.fed
    if depth and (view or known or automatic(own, step.op)):
        text = _written(graph, step, depth - 1, reader)
        if text and "\n" not in text and (view or known or len(text) <= SHORT):
            return f"({text}){taken}" if taken and _loose(text) else f"{text}{taken}"
    return f"{_near(step.name, reader)}{taken}"


def _near(name: str, reader: str) -> str:
    """A name without the scopes that who reads it stands in too."""
    parts, around = name.split("."), reader.split(".")[:-1]
    shared = 0
    while shared < min(len(parts) - 1, len(around)) and parts[shared] == around[shared]:
        shared += 1
    return ".".join(parts[shared:])


def _enclosed(form: str, name: str, text: str) -> str:
    """An operand as it goes into a form: in parentheses where something would bind its parts apart."""
    if re.fullmatch(r"-?[\w.]+", text) or not _loose(text):
        return text
    alone = re.search(rf"(^|[(\[]|, )\{{{name}\}}($|[)\],])", form)
    return text if alone else f"({text})"


def _loose(text: str) -> bool:
    """Whether something stands outside of brackets that an operator could bind to."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and (letter == " " or (place == 0 and letter in "-~")):
            return True
    return False
