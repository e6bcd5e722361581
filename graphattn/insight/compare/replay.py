"""Steps of the reference evaluated again from what yours recorded, as it is or moved by rounding.

A tensor's segment are the steps from its nearest recorded inputs to itself. It is evaluated from your inputs;
what you did not record, and masks, are the reference's own.

A moved pass answers how far rounding goes: recorded cells move by half a unit of the place that they were
printed to, and by the rounding of the step that made them; every cell that the segment computes moves by its
own rounding:

    recorded    ± (½ u + a · |v|)
    computed    ± max(3 · 2⁻ᵇ, a) · |v|        a = 2⁻ᵇ · (1 + √longest · min(1, 2^(b − 24)))

b the bits of the format, longest the length of the step's sums. What only moves numbers does not round. A
`fine` pass also moves what the primitives give that a step is made of (`inside`), by ± a · |v|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from ...core.graph import Graph, Node, Ref
from ...core.interpreter import PlanStep, plan_of
from ...core.trace import Trace
from .inside import Inside
from .masked_cells import is_masked
from .matched import Matched
from .precision import ACCUMULATOR_BITS, longest_sum
from .printed import EXACT, Print
from .recording import folded
from .tolerance import Tolerances

Move = Callable[[Ref, Any], Any]


class Replay:
    """The segments of a comparison whose reference is a trace."""

    def __init__(self, matched: Matched, tolerances: Tolerances, trace: Trace) -> None:
        assert matched.flow is not None
        self.matched, self.tolerances, self.trace, self.flow = matched, tolerances, trace, matched.flow
        self.graph: Graph = trace.graph
        self.steps: dict[str, PlanStep] = {step.node.name: step for step in plan_of(self.graph).steps}
        self.turned: dict[Ref, Any] = {}
        """What yours has the other way round, turned back: that is taken for it."""
        self._given: dict[Ref, Any] = {}
        self._inside: dict[str, Inside] = {}

    def value(self, key: str, move: Mover | None = None, known: Mapping[Ref, Any] = {}) -> Any:
        """What the segment of a tensor gives, as nested lists; what is `known` stands for what yours has."""
        values: dict[Ref, Any] = {**known}
        for name in (*self.flow.between(key), self.flow.refs[key].node):
            node = self.graph.nodes[name]
            operands = [None if ref is None else self._operand(ref, values, move) for ref in node.operands]
            operands += [None] * (len(self.steps[name].operands) - len(operands))
            results = self._results(node, operands, move)
            for port, result in enumerate([results] if len(node.ports) == 1 else results):
                moves = move is not None and not node.op.moves and node.outputs[port].kind == "float"
                values[Ref(name, port)] = move.computed(node, result) if move and moves else result
        return values[self.flow.refs[key]]

    def _results(self, node: Node, operands: list[Any], move: Mover | None) -> Any:
        if move is not None and move.fine and node.op.expand is not None:
            if node.name not in self._inside:
                self._inside[node.name] = Inside(node, self.graph.operand_specs(node.operands))
            return self._inside[node.name](operands, move.inside)
        function = self.steps[node.name].function
        assert function is not None
        return function(*operands)

    def _operand(self, ref: Ref, values: dict[Ref, Any], move: Mover | None) -> Any:
        if ref not in values:
            given = self.given(ref)
            key = self.flow.names.get(ref)
            values[ref] = given if key is None or move is None else move.recorded(key, given)
        return values[ref]

    def given(self, ref: Ref) -> Any:
        """A tensor of yours; the reference's own where yours has none, and where it is hidden on both sides."""
        if ref in self.turned:
            return self.turned[ref]
        if ref not in self._given:
            self._given[ref] = self._yours(ref)
        return self._given[ref]

    def _yours(self, ref: Ref) -> Any:
        name = self.graph.tensor_name(ref)
        own, spec = self.trace[name], self.graph.spec(ref)
        pairs = self.matched.by_key.get(self.flow.names.get(ref, ""), ())
        if len(pairs) != 1 or spec.kind != "float" or pairs[0].yours.shape != spec.shape:
            return own
        pair = pairs[0]
        cells = [x if is_masked(x) else float(y) for x, y in zip(pair.reference.flat, pair.yours.flat)]
        return folded(name, spec.shape, cells).nested()

    def mover(self, random: Random, fine: bool = False) -> Mover:
        """A moved pass."""
        return Mover(self, random, fine)


class Mover:
    """How one pass moves the cells of a segment."""

    def __init__(self, replay: Replay, random: Random, fine: bool) -> None:
        self.replay, self.random, self.fine = replay, random, fine
        self.bits = replay.tolerances.precision.bits

    def recorded(self, key: str, value: Any) -> Any:
        """A recorded tensor, moved."""
        matched = self.replay.matched
        if matched.kind(key) != "float":
            return value
        shown = self.print_of(key)
        return _moved(value, self.random.uniform, self.rounding(self.replay.flow.refs[key]), shown)

    def computed(self, node: Node, value: Any) -> Any:
        """What a step gave, moved."""
        share = max(3 * 2.0**-self.bits, self.rounding(Ref(node.name, 0)))
        return _moved(value, self.random.uniform, share, EXACT)

    def inside(self, graph: Graph, node: Node, value: Any) -> Any:
        """What a primitive inside of a step gave, moved."""
        return _moved(value, self.random.uniform, self._share(graph, node, 2.0**-self.bits), EXACT)

    def print_of(self, key: str) -> Print:
        (pair, *_) = self.replay.matched.by_key[key]
        return self.replay.tolerances.prints.of(pair)

    def rounding(self, ref: Ref) -> float:
        """How far the step that made a tensor rounds, as a part of a cell."""
        graph = self.replay.graph
        unit = max(2.0**-self.bits, self.replay.tolerances.units.get(ref, 0.0))
        return self._share(graph, graph.nodes[ref.node], unit)

    def _share(self, graph: Graph, node: Node, unit: float) -> float:
        longest = longest_sum(graph, node)
        return unit * (1.0 + math.sqrt(longest) * min(1.0, 2.0 ** (self.bits - ACCUMULATOR_BITS)))


def _moved(value: Any, uniform: Callable[[float, float], float], share: float, shown: Print) -> Any:
    if isinstance(value, list):
        return [_moved(item, uniform, share, shown) for item in value]
    if not math.isfinite(value) or (value == 0.0 and shown.exact):
        return value
    room = shown.half(value) + share * abs(value)
    return value + uniform(-room, room)
