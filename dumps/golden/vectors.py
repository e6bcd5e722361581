"""What golden vectors hold, whatever they are written in: each tensor with a name that programs can use."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.numbers import FLOAT
from graphattn.core.trace import Trace

KEPT = """abstract and as assert async auto await become bool box break case catch char class const continue
crate debugger def default del delete do double dyn elif else enum except export extends extern
false final finally float fn for from function global goto if impl implements import in inline
instanceof int interface is lambda let long loop macro match mod move mut namespace new nonlocal not
null or override package pass priv private protected pub public raise ref register restrict return
self short signed sizeof static struct super switch this throw trait true try type typedef typeof
union unsafe unsigned unsized use var virtual void volatile where while with yield"""
WORDS = frozenset(KEPT.split())
"""Words that one of the languages keeps to itself."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A tensor. role: "fed", "constant" (part of the graph), "intermediate" or "output"."""

    name: str
    identifier: str
    role: str
    op: str
    spec: Spec
    value: Any


def vectors(trace: Trace) -> list[Vector]:
    """Every tensor of a trace, in order. Raises a `GraphError` where one was not kept."""
    if trace.numbers is not FLOAT:
        raise GraphError(f"the trace is in {trace.numbers.name}; expected a run in floats")
    results = {trace.graph.tensor_name(tensor.ref) for tensor in trace.graph.outputs.values()}
    taken: set[str] = set()
    found = []
    for step in trace.steps:
        for name, spec, value in zip(step.names, step.specs, step.outputs, strict=True):
            if value is None:
                raise GraphError(f"{name} was not kept in this run; expected every tensor of the trace")
            role = "fed" if step.op.fed else "constant" if not step.operands else "intermediate"
            role = "output" if name in results else role
            found.append(Vector(name, identifier(name, taken), role, step.op.name, spec, value))
    return found


def identifier(name: str, taken: set[str]) -> str:
    """ASCII letters, digits and `_`, none twice whatever the case: Q beside q is q_2."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W", "_", plain) or "tensor"
    if plain[0].isdigit() or plain.lower() in WORDS:
        plain = f"{plain}_" if not plain[0].isdigit() else f"t_{plain}"
    word, count = plain, 1
    while word.lower() in taken:
        count += 1
        word = f"{plain}_{count}"
    taken.add(word.lower())
    return word
