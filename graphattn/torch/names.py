"""What things are called: paths of modules as scopes, steps by what they compute, weights by the state_dict.

A name of a graph is identifiers joined by dots, and a path of PyTorch has numbers: `layers.0.linear1` is
`layers0.linear1` where `layers` only holds modules, and `net.part0` where `net` is called itself (a
Sequential), so that its parts stand inside it. The second call of a module is `linear_call1`.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from .program import Module, Program, Step

CALLED = {
    "scaled_dot_product_attention": "attention", "_softmax": "softmax", "_log_softmax": "log_softmax",
    "masked_fill": "masked",
}  # fmt: skip
"""Operators whose nodes go by another name than their own."""


class Paths:
    """Names of module paths, given which modules are called."""

    def __init__(self, called: Iterable[str]) -> None:
        self.called = frozenset(called)

    def scope(self, path: str, call: int = 0) -> str:
        """The scope of a module: "" for the whole."""
        parts: list[str] = []
        stored: list[str] = []
        for part in path.split(".") if path else []:
            inside = ".".join(stored) in self.called if stored else True
            stored.append(part)
            if part.isdecimal() and not inside:
                parts[-1] += part
            else:
                parts.append(f"part{part}" if part.isdecimal() else identifier(part))
        if call and parts:
            parts[-1] += f"_call{call}"
        return ".".join(parts)

    def within(self, modules: Sequence[Module]) -> str:
        """The scope of what stands in these calls of modules."""
        if not modules:
            return ""
        *before, last = modules
        repeated = next((m for m in before if m.call and last.path.startswith(f"{m.path}.")), None)
        scope = self.scope(last.path, last.call)
        if repeated is None:
            return scope
        own, again = self.scope(repeated.path), self.scope(repeated.path, repeated.call)
        return again + scope.removeprefix(own)

    def stored(self, path: str) -> tuple[str, str]:
        """(scope, name) of a tensor of the state_dict."""
        owner, _, leaf = path.rpartition(".")
        if leaf.isdecimal() and owner and owner not in self.called:
            owner, _, own = owner.rpartition(".")
            leaf = own + leaf
        return self.scope(owner), identifier(leaf)


def identifier(text: str) -> str:
    """A part of a path as an identifier."""
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text)) or "_"
    text = f"_{text}" if text[0].isdecimal() or not text.isidentifier() else text
    return f"{text}_" if keyword.iskeyword(text) else text


def paths_of(program: Program) -> Paths:
    """The paths of a program: which modules are called is seen from its steps."""
    return Paths(module.path for step in program.steps for module in step.modules)


def base(step: Step) -> str:
    """What a step's node is called in its scope, before a number."""
    packet = step.op.split(".")[-2] if step.op.count(".") > 1 else step.op
    return identifier(CALLED.get(packet, packet.strip("_")) or packet)


class Taken:
    """Names that are given away; each scope counts for itself."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = set(names)

    def new(self, scope: str, wanted: str) -> str:
        """The local name: `wanted`, or the first of wanted_1, wanted_2, … that is free in the scope."""
        name, count = wanted, 0
        while self._full(scope, name) in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(self._full(scope, name))
        return name

    @staticmethod
    def _full(scope: str, name: str) -> str:
        return f"{scope}.{name}" if scope else name


def reserved(program: Program, paths: Paths) -> set[str]:
    """What no step may be called: scopes and all that they stand in, stored tensors, inputs, results."""
    scopes = {paths.within(step.modules[: i + 1]) for step in program.steps for i in range(len(step.modules))}
    for source in program.sources:
        if source.path:
            scope, leaf = paths.stored(source.path)
            scopes |= {scope, f"{scope}.{leaf}" if scope else leaf}
        else:
            scopes.add(identifier(source.name))
    every = {scope[:place] for scope in scopes for place, c in enumerate(f"{scope}.") if c == "."}
    return (every | set(program.outputs)) - {""}
