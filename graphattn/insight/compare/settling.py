"""Whether a tensor that is beyond its tolerance is within what the rounding of its own inputs can do.

Then it agrees ("carried") or is undecided, and what follows is judged from it. One that agrees only since its
tolerance is wide is looked at in the same way.

By the same measure a square tensor is told that was stored with its rows for columns: turned back it agrees.
That may be how it was computed, too: so it differs, but what follows is judged from it turned back, and where
that explains a result and the tensor as it stands does not, it was only stored so.
"""

from __future__ import annotations

from collections.abc import Mapping

from .comparison import TensorComparison
from .matched import Matched
from .recording import Recorded, folded
from .relations import Relation
from .replay import Replay
from .rounding_reach import Reach, Reaches


class Settling:
    """The tensors of a comparison in the order in which they were computed."""

    def __init__(
        self,
        matched: Matched,
        replay: Replay,
        results: Mapping[str, list[TensorComparison]],
        differs: dict[str, bool],
    ) -> None:
        self.matched, self.replay, self.results, self.differs = matched, replay, results, differs
        self.reaches = Reaches(replay)
        self.explains: dict[tuple[str, str], bool] = {}
        """(A result, what differs before it): whether only that, turned back, explains the result; where it
        explains it at all."""
        if not replay.tolerances.explicit:
            for key in replay.flow.order:
                if self._is_open(key):
                    self._settle(key)

    def _is_open(self, key: str) -> bool:
        """Whether a tensor is beyond its tolerance though what it was computed from is not, or is turned."""
        flow, (tensor, *more) = self.replay.flow, self.results[key]
        return (
            (tensor.status == "differs" or tensor.difference.loose)
            and not more
            and bool(flow.graph.nodes[flow.refs[key].node].operands)  # it is computed
            and not any(self.differs[name] and not self._is_turned(name) for name in flow.inputs(key))
            and tensor.pair.reference.shape == self.replay.trace.spec(key).shape
        )

    def _is_turned(self, key: str) -> bool:
        return self.replay.flow.refs[key] in self.replay.turned

    def _settle(self, key: str) -> None:
        (tensor,) = self.results[key]
        tensor.reach = self.reaches.of(key, tensor.pair.yours)
        if tensor.reach is None:
            return
        self.differs[key] = tensor.reach.over > 0
        if tensor.reach.over:
            tensor.status = "differs"
            self._turn(key, tensor)
        elif tensor.reach.undecided:
            tensor.status = "undecided"
        elif tensor.status == "differs":
            tensor.status = "carried"
        turned = [name for name in self.replay.flow.inputs(key) if self._is_turned(name)]
        if turned and tensor.status == "carried":
            as_it_stands = self._from_what_stands(key, tensor.pair.yours)
            sure = as_it_stands is not None and as_it_stands.over > 0
            self.explains |= {(key, name): sure for name in turned}

    def _turn(self, key: str, tensor: TensorComparison) -> None:
        """Note that a tensor is the expected one transposed, where it is."""
        yours = tensor.pair.yours
        if len(yours.squeezed) != 2 or len(set(yours.squeezed)) > 1 or self.matched.is_result(key):
            return
        back = folded(yours.name, yours.shape, yours.transposed().flat, yours)
        reach = self.reaches.of(key, back)
        if reach is not None and not reach.over and not reach.undecided:
            self.replay.turned[self.replay.flow.refs[key]] = back.nested()
            tensor.relations = [Relation("transpose", "the reference transposed", {})]

    def _from_what_stands(self, key: str, yours: Recorded) -> Reach | None:
        """How far rounding reaches where nothing before a tensor is turned back."""
        turned, self.replay.turned = self.replay.turned, {}
        reach = self.reaches.of(key, yours)
        self.replay.turned = turned
        return reach
