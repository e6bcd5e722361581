"""Whether a tensor that agrees vouches for one that differs and that it was computed from.

It does where it makes no difference to it (1 added to all scores of a softmax), or would be seen in it and was
made up for (a query that was scaled early). It does not where the difference is watered down: to something, but
less than its tolerance, as that of a head next to a residual a hundred times as large.

    δ = f(yours) − f(yours, that tensor the reference's own)        f: the steps between the two
    ε = the same, that tensor the reference's own moved by its rounding

No difference is a δ that is not above ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ...core.errors import GraphError
from .cell_classes import Rules, Tolerance, measure
from .comparison import TensorComparison
from .masked_cells import is_masked
from .precision import FLOAT64
from .recording import Recorded
from .replay import Replay, rows_of
from .tolerance import ROOM, Tolerances

SURE = 0.5
"""How much of its tolerance a tensor may use to vouch, in a short format."""


class Vouching:
    """What the tensors of a comparison say of those that they were computed from; `replay` is None where the
    reference is no trace."""

    def __init__(
        self, results: Mapping[str, list[TensorComparison]], tolerances: Tolerances, replay: Replay | None
    ) -> None:
        self.results, self.tolerances, self.replay = results, tolerances, replay

    def __call__(self, result: str, differing: str) -> bool:
        """Whether `result`, which agrees, says that what differs before it does no harm."""
        limit = SURE if self.tolerances.wide else 1.0
        tensors = self.results[result]
        if any(t.status == "undecided" or t.difference.worst > limit for t in tensors):
            return False
        return not self._is_watered_down(result, differing)

    def _is_watered_down(self, result: str, differing: str) -> bool:
        """False also where it cannot be told: of parts, without a trace, and in double, where rounding itself
        is as large as the tolerance."""
        tensors, before = self.results[result], self.results[differing]
        exact = self.tolerances.precision is FLOAT64 and not self.tolerances.wide
        if self.replay is None or exact or len(tensors) > 1 or len(before) > 1:
            return False
        spec, shape = self.replay.trace.spec(differing), tensors[0].pair.yours.shape
        own, theirs = before[0].pair.reference, before[0].pair.yours
        if spec.kind != "float" or spec.shape != theirs.shape or self.replay.trace.spec(result).shape != shape:
            return False
        try:
            kept, changed, moved = (
                self._result(result, differing, side)
                for side in (own, theirs, _moved(own, before[0].tolerance))
            )
        except GraphError:
            return True
        apart, nothing = (measure(kept, side, tensors[0].tolerance, Rules()).worst for side in (changed, moved))
        return nothing < apart <= 1.0

    def _result(self, result: str, differing: str, stands: Recorded) -> Recorded:
        """What a tensor would be if another stood for what differs before it."""
        assert self.replay is not None
        value = self.replay.value(result, known={self.replay.flow.refs[differing]: stands.nested()})
        shape = self.replay.trace.spec(result).shape
        return Recorded(result, shape, rows_of(value, len(shape)))


def _moved(tensor: Recorded, tolerance: Tolerance) -> Recorded:
    """A tensor whose every cell, those of masks aside, moved by as much as its rounding may."""
    draw, room = Random(0), tolerance.atol + tolerance.rtol * tensor.largest / ROOM

    def move(x: float) -> float:
        return x if is_masked(x) else x + draw.uniform(-1.0, 1.0) * (room + tolerance.of_cell(x))

    return tensor.made(tensor.name, tensor.shape, [list(map(move, row)) for row in tensor.rows])
