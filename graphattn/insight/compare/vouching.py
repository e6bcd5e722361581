"""Whether a tensor that agrees vouches for one that differs and that it was computed from.

It does where it makes no difference to it (1 added to all scores of a softmax), or would be seen in it and was
made up for: a query that was scaled early. It does not where the difference is watered down (to something, but
less than its tolerance, as that of a head next to a residual a hundred times as large), nor for one that is no
other form of the reference's: it is not what the result was computed from. In short numbers, in few, and of one
that is another tensor which is there too, that is not known: doubtful.

    δ = f(yours) − f(yours, that tensor the reference's own)        f: the steps between the two
    ε = the same, that tensor the reference's own moved by its rounding

No difference is a δ that is not above ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

from ...core.errors import GraphError
from .cell_classes import Rules, Tolerance, measure
from .comparison import DIFFERENT, TensorComparison
from .masked_cells import is_masked
from .precision import FLOAT64
from .recording import Recorded, rows_of
from .relations import Relation
from .replay import Replay
from .tolerance import ROOM, Tolerances

FORMS = frozenset(
    ("sign", "factor", "offset", "affine", "row factor", "column factor", "row offset", "column offset",
     "transpose", "rows permuted", "columns permuted", "heads permuted", "masked cells", "reshape",
     "same numbers", "rounding", "other tensor")
)  # fmt: skip
"""Relations of a tensor that holds what the reference holds, in another form or under another name."""
FEW = 16
"""So few cells need show no relation: that of each row to a number of its own takes two for each."""
SURE = 0.5
"""How much of its tolerance a tensor may use to vouch, in a short format."""


class Vouching:
    """What the tensors of a comparison say of those that they were computed from; `replay` is None where the
    reference is no trace, `relations` are those of a tensor that differs, and `explains` what was found of
    tensors that are turned (`settling`)."""

    def __init__(
        self,
        results: Mapping[str, list[TensorComparison]],
        tolerances: Tolerances,
        replay: Replay | None,
        relations: Callable[[TensorComparison], Sequence[Relation]],
        explains: Mapping[tuple[str, str], bool] = {},
    ) -> None:
        self.results, self.tolerances, self.replay, self.relations = results, tolerances, replay, relations
        self.explains = explains
        self.exact = tolerances.precision is FLOAT64 and not tolerances.wide
        self.known: dict[str, bool] = {}
        """Which tensors that differ are the reference's own in another form."""
        self.doubtful: set[str] = set()
        """Those of them of which that cannot be told."""

    def __call__(self, result: str, differing: str) -> bool:
        """Whether `result`, which agrees, says that what differs before it does no harm."""
        if (result, differing) in self.explains:
            if not self.explains[result, differing]:
                self.doubtful.add(differing)
            return True
        limit = SURE if self.tolerances.wide else 1.0
        tensors = self.results[result]
        if any(t.status == "undecided" or t.difference.worst > limit for t in tensors):
            return False
        if self.tolerances.explicit:
            return True
        apart, nothing = self._moves(result, differing) or (math.inf, 0.0)
        if apart <= nothing:
            return True
        return (apart > 1.0 or self.exact) and self._in_another_form(differing)

    def _in_another_form(self, differing: str) -> bool:
        if differing not in self.known:
            apart = [tensor for tensor in self.results[differing] if tensor.status in DIFFERENT]
            known = [self._form(tensor) for tensor in apart]
            self.known[differing] = False not in known
            if None in known:
                self.doubtful.add(differing)
        return self.known[differing]

    def _form(self, tensor: TensorComparison) -> bool | None:
        """Whether a tensor is the reference's in another form; None where that cannot be told: with few cells
        or short ones, or of another tensor of the reference that yours has too."""
        relations = self.relations(tensor)
        forms = [relation for relation in relations if relation.kind in FORMS]
        if forms:
            return True if any(not self._is_there_too(relation) for relation in forms) else None
        few = not relations and tensor.difference.cells < FEW
        return None if few or self.tolerances.wide else False

    def _is_there_too(self, relation: Relation) -> bool:
        """Whether the other tensor of the reference that a tensor is was recorded too, and agrees."""
        same = self.results.get(relation.detail["of"], ()) if relation.kind == "other tensor" else ()
        return bool(same) and not any(tensor.status in DIFFERENT for tensor in same)

    def _moves(self, result: str, differing: str) -> tuple[float, float] | None:
        """δ and ε, as parts of the tolerance of the result; None where they cannot be found: of parts, and
        without a trace."""
        tensors, before = self.results[result], self.results[differing]
        if self.replay is None or len(tensors) > 1 or len(before) > 1:
            return None
        spec, shape = self.replay.trace.spec(differing), tensors[0].pair.yours.shape
        own, theirs = before[0].pair.reference, before[0].pair.yours
        if spec.kind != "float" or spec.shape != theirs.shape or self.replay.trace.spec(result).shape != shape:
            return None
        try:
            kept, changed, moved = (
                self._result(result, differing, side)
                for side in (own, theirs, _moved(own, before[0].tolerance))
            )
        except GraphError:
            return None
        apart, nothing = (measure(kept, side, tensors[0].tolerance, Rules()).worst for side in (changed, moved))
        return apart, nothing

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
