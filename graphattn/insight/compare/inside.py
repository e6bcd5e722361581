"""A step evaluated by the primitive steps that it is made of.

Rounding inside of a step can reach further than the rounding of its result: 1 + erf(x) is a small difference of
numbers near 1, and so is x − mean(x) of a row that lies far from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.axes import Spec
from ...core.graph import Graph, Node
from ...core.interpreter import plan_of, standalone

Move = Callable[[Graph, Node, Any], Any]


class Inside:
    """The expansion of a node down to primitives, as a function of its operands."""

    def __init__(self, node: Node, specs: Sequence[Spec | None]) -> None:
        graph, operands, results = standalone(node.op, specs, node.attributes)
        self.graph = graph.at("primitive")
        self.plan = plan_of(self.graph)
        resolve = self.graph.resolve
        self.operands = [None if t is None else self.plan.places[resolve(t.name)] for t in operands]
        self.results = [self.plan.places[resolve(t.name)] for t in results]

    def __call__(self, operands: Sequence[Any], move: Move) -> Any:
        """The results of the node (a list of them, where it has several), each primitive result moved."""
        values = self.plan.values()
        for place, value in zip(self.operands, operands):
            if place is not None:
                values[place] = value
        for step in self.plan.steps:
            if not step.runs:
                continue
            assert step.function is not None
            given = [None if place is None else values[place] for place in step.operands]
            results = step.function(*given)
            several = len(step.node.ports) > 1
            for place, result, spec in zip(
                step.places, results if several else [results], step.node.outputs, strict=True
            ):
                moves = not step.node.op.moves and spec.kind == "float"
                values[place] = move(self.graph, step.node, result) if moves else result
        results = [values[place] for place in self.results]
        return results if len(results) > 1 else results[0]
