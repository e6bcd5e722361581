"""Steps evaluated again from their recorded inputs.

Where a tensor is beyond its tolerance but is what its own inputs give, rounding was carried there from these:
it agrees, and what follows is judged from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.trace import Trace, run
from .alignment import Pair
from .blind_rows import BlindRows
from .cell_classes import Rules, Tolerance, measure
from .comparison import TensorComparison
from .matched import Matched
from .precision import FLOAT64
from .recording import Recorded, read
from .tolerance import Tolerances

RECHECKS = 32
"""At most so many steps are evaluated again from their inputs."""
CELL_LIMIT = 4096
"""The most cells of a tensor that is evaluated again in a short format."""


class Recheck:
    """What the steps of the reference give from the inputs that yours recorded."""

    def __init__(self, matched: Matched, tolerances: Tolerances, rules: Rules, blind: BlindRows) -> None:
        self.matched, self.tolerances, self.rules, self.blind = matched, tolerances, rules, blind

    def settle(
        self, results: Mapping[str, list[TensorComparison]], differs: dict[str, bool], notes: list[str]
    ) -> None:
        """Give the status "carried" to what differs but is what its inputs give."""
        flow = self.matched.flow
        if flow is None or self.matched.trace is None or self.tolerances.explicit:
            return
        left = RECHECKS
        for key in flow.order:
            inputs = flow.inputs(key) if differs[key] else []
            if not inputs or key in self.matched.misfits or any(differs[other] for other in inputs):
                continue
            if all(t.status == "equal" for other in inputs for t in results[other]):
                continue  # from the same numbers it must be the same
            left -= 1
            if left < 0:
                notes.append(f"more than {RECHECKS} steps are near the limit of rounding; not all were checked")
                return
            if self._is_carried(self.matched.trace, key, inputs):
                differs[key] = False
                for tensor in results[key]:
                    tensor.status = "carried"

    def _is_carried(self, trace: Trace, key: str, inputs: list[str]) -> bool:
        """Whether a tensor of yours is what the reference's steps give from your inputs."""
        patch: dict[str, Any] = {}
        for name in inputs:
            (first, *rest) = self.matched.by_key[name]
            if not rest and trace.spec(name).kind == "float":
                patch[name] = first.yours.nested()
        feeds = {name: trace[name] for name in trace.graph.inputs if name in trace}
        try:
            again = run(trace.graph, feeds, level="block", patch=patch, targets=[key], allow_nonfinite=True)
        except GraphError:
            return False
        expected = read(Trace.restore(again.graph, {key: again[key]}), "the reference").need(key)
        for pair in self.matched.by_key[key]:
            if pair.reference.shape != expected.shape:
                return False
            tolerance = self.tolerances.of(key, pair)
            difference = measure(expected, pair.yours, tolerance, self.rules, self.blind.skip(key))
            if not difference.agrees and not self._emulated(trace, key, patch, feeds, expected, pair):
                return False
        return True

    def _emulated(
        self,
        trace: Trace,
        key: str,
        patch: Mapping[str, Any],
        feeds: Mapping[str, Any],
        expected: Recorded,
        pair: Pair,
    ) -> bool:
        """Whether yours is as far from the exact result as the same steps in its precision are."""
        precision = self.tolerances.precision
        if precision is FLOAT64 or expected.size > CELL_LIMIT:
            return False
        try:
            short = run(
                trace.graph, feeds, patch=patch, targets=[key], numbers=precision.name, allow_nonfinite=True
            )
        except GraphError:
            return False
        rows = [list(map(float, row)) for _, row in nested.rows(short[key], len(expected.shape))]
        own = measure(expected, Recorded(key, expected.shape, rows), Tolerance(), self.rules)
        seen = measure(expected, pair.yours, Tolerance(), self.rules)
        return (
            not (seen.nan or seen.masked_reference or seen.masked_yours) and seen.absolute <= 8 * own.absolute
        )
