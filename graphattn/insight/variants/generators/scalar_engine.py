"""The backward pass of an engine on scalars, right or wrong, as nodes of a draft: each works on single numbers.

    draft.went.update(Backward(draft, scalars, tape, Engine(overwriting=["product"])).gradients())

A `Backward` is one such pass; its `Engine` says in what it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from ....core.errors import GraphError
from ....core.graph import Ref
from ....core.interpreter import padded
from ....passes.gradient import Tape
from ..draft import Draft
from ..structure.scalars import MINUS, PLUS, POWER, TIMES, Index, Scalars
from .derivatives import copied, derivative

VISITS = 6000
"""An engine that visits values again takes no more visits than this."""
Local = Callable[["Backward", int, int], Ref | float]
"""(pass, number of a value, slot) → the derivative of the value by that child."""


@dataclass(frozen=True)
class Engine:
    """How an engine goes back; by default, rightly."""

    overwriting: Collection[str] = ()
    """The kinds of values that write over the grads of their children."""
    order: Callable[[Scalars], Iterable[int]] = Scalars.sorted
    times: int = 1
    """How many passes there are, with no grad but that of the loss set in between."""
    local: Local = lambda back, number, slot: back.local(number, slot)
    instead: tuple[Ref, Ref] | None = None
    """A tensor whose numbers are, on the way back, those of another."""


class Backward:
    """One backward pass. Nodes are made for what is needed alone."""

    def __init__(self, draft: Draft, scalars: Scalars, tape: Tape, engine: Engine) -> None:
        self.draft, self.scalars, self.tape, self.engine = draft, scalars, tape, engine
        self.near = draft.graph.nodes[tape.gradients[0].node]
        self.count = 0
        self.grads: dict[int, Ref] = {}
        self.known: dict[Any, Ref] = {}
        self.instead = dict([engine.instead] if engine.instead else [])
        self.read = False
        """Whether something was read instead."""

    def gradients(self) -> dict[Ref, Ref]:
        """For each gradient that was asked for, what this engine gives."""
        (of,) = self.tape.of
        loss = self.tape.source.resolve(of)
        seed = self.tape.cotangent(loss)
        if seed is None:
            raise GraphError(f"nothing goes back from {of!r}")
        self.seed = self._cell(seed, (0,) * self.tape.source.spec(loss).rank)
        for _ in range(self.engine.times):
            self._go_back()
        if self.instead and not self.read:
            raise GraphError("nothing reads what is written over")
        return {ref: self._together(self.tape.tensors[ref]) for ref in self.tape.gradients if ref != seed}

    def _go_back(self) -> None:
        scalars, engine = self.scalars, self.engine
        self.grads[scalars.root] = self.seed
        for visits, number in enumerate(engine.order(scalars)):
            if visits > VISITS:
                raise GraphError(f"more than {VISITS} visits; expected fewer")
            grad = self.grads.get(number)
            value = scalars.values[number]
            for slot, child in enumerate(value.children if grad is not None else ()):
                local = engine.local(self, number, slot) if child in scalars.active else 0.0
                if local == 0.0:
                    continue
                part = self._times(grad, local)  # pyright: ignore
                before = None if value.kind in engine.overwriting else self.grads.get(child)
                self.grads[child] = part if before is None else self._add("add", before, part)

    def _together(self, ref: Ref) -> Ref:
        spec = self.tape.source.spec(ref)
        cells = [self.grads.get(number) or self._number(0.0) for number in self.scalars.of(ref)]
        return cells[0] if not spec.rank else self._add(
            "reshape", self._add("stack", *cells), shape=spec.shape, axes=spec.axes
        )  # fmt: skip

    # ------------------------------------------------------------ numbers of the way there

    def local(self, number: int, slot: int) -> Ref | float:
        """The derivative of a value by a child: of a sum ±1, of a product the other factor, of a power
        n · xⁿ⁻¹, of a function what its rule says."""
        value = self.scalars.values[number]
        if value.kind in (PLUS, MINUS):
            return -1.0 if slot and value.kind == MINUS else 1.0
        if value.kind == TIMES:
            return self.data(value.children[1 - slot])
        if value.kind == POWER:
            return self.powered(value.children[0], value.number - 1, value.number)
        assert value.cell is not None
        return self._cell(self._slopes(value.node, int(value.number)), value.cell[1])

    def data(self, number: int) -> Ref:
        """The number itself."""
        value = self.scalars.values[number]
        if value.cell is not None:
            return self._cell(self._now(value.cell[0]), value.cell[1])
        if value.kind != POWER:
            raise GraphError("a partial sum is no number of the graph")
        return self.powered(value.children[0], value.number, 1.0)  # pyright: ignore

    def powered(self, number: int, power: float, factor: float) -> Ref | float:
        """factor · xⁿ."""
        if power == 0:
            return factor
        key = number, power, factor
        if key not in self.known:
            x = whole = self.data(number)
            for _ in range(int(abs(power)) - 1):
                whole = self._add("multiply", whole, x)
            whole = whole if power > 0 else self._add("divide", self._number(1.0), whole)
            self.known[key] = whole if factor == 1 else self._times(whole, factor)
        return self.known[key]

    def _now(self, ref: Ref) -> Ref:
        self.read = self.read or ref in self.instead
        return self.instead.get(ref, ref)

    def _slopes(self, name: str, slot: int) -> Ref:
        """The derivative of a function, cell by cell: what its rule hands on where 1 arrives."""
        if name not in self.known:
            node = self.tape.source.nodes[name]
            found, given = derivative(
                self.tape.source, node, lambda g, *xs, **more: g.apply(node.op, *xs, **more)
            )
            x = given[slot]
            assert x is not None
            went = {
                Ref(own.name): self._now(ref)
                for own, ref in zip(given, padded(node.op, node.operands), strict=True)
                if own is not None and ref is not None
            }  # fmt: skip
            went[found.graph.outputs["y"].ref] = self._now(Ref(name))
            ones = self._add("broadcast", self._number(1.0), shape=node.outputs[0].shape)
            went[Ref(found.cotangents["y"])] = ones
            copied(self.draft, found, went, self.near)
            self.known[name] = went[found.graph.outputs[found.gradients[x.name]].ref]
        return self.known[name]

    # ------------------------------------------------------------ nodes

    def _cell(self, ref: Ref, index: Index) -> Ref:
        if not index:
            return ref
        key = ref, index
        if key not in self.known:
            self.known[key] = self._add("slice", ref, at=", ".join(map(str, index)))
        return self.known[key]

    def _number(self, number: float) -> Ref:
        if number not in self.known:
            self.known[number] = self._add("constant", value=number)
        return self.known[number]

    def _times(self, grad: Ref, local: Ref | float) -> Ref:
        if isinstance(local, Ref):
            return self._add("multiply", grad, local)
        return grad if local == 1 else self._add("scale", grad, multiply=local)

    def _add(self, op: str, *operands: Ref, **attributes: Any) -> Ref:
        self.count += 1
        return self.draft.add(op, operands, attributes, near=self.near, name=f"{op}_{self.count}")
