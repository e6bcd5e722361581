"""The walk of a comparison: every tensor is measured, then it is found which differences are the first.

tolerance      how far apart two cells may be
blind_rows     rows that see nothing
recheck        whether a difference is no more than rounding that was carried there
surroundings   what the relation is where a difference begins
"""

from __future__ import annotations

from collections.abc import Mapping

from .alignment import Pair
from .blind_rows import BlindRows
from .cell_classes import Difference, Rules, measure
from .comparison import DIFFERENT, Comparison, Divergence, TensorComparison
from .matched import Matched
from .recheck import Recheck
from .surroundings import Surroundings
from .tolerance import SURE, Tolerances


def judge(matched: Matched, tolerances: Tolerances, rules: Rules, blind: BlindRows) -> Comparison:
    """The comparison of two recordings whose tensors are matched."""
    measured = _Measuring(tolerances, rules, blind)
    results = {key: [measured.pair(key, pair) for pair in matched.by_key[key]] for key in matched.order}
    differs = {key: any(t.status in DIFFERENT for t in tensors) for key, tensors in results.items()}
    notes: list[str] = []
    Recheck(matched, tolerances, rules, blind).settle(results, differs, notes)

    def sure(key: str) -> bool:
        """Whether a tensor that agrees does so by more than its tolerance."""
        return all(t.difference.worst <= (SURE if tolerances.wide else 1.0) for t in results[key])

    harmless = set() if matched.flow is None else matched.flow.harmless(differs, sure)
    surroundings = Surroundings(matched, tolerances, rules)
    divergences = _first(matched, results, differs, harmless, surroundings)
    for tensor in (tensor for key in harmless for tensor in results[key]):
        if tensor.status in DIFFERENT:
            tensor.status = "harmless"
    return Comparison(
        matched.reference,
        matched.yours,
        [tensor for tensors in results.values() for tensor in tensors],
        matched.alignment,
        divergences,
        tolerances.precision,
        tolerances.text,
        matched.flow,
        {
            key: Divergence(key, _worst(tensors, "harmless"), (), (), surroundings.relations)
            for key, tensors in results.items()
            if key in harmless
        },
        notes,
    )


class _Measuring:
    """How far the two sides of a tensor are apart, and whether that is too far."""

    def __init__(self, tolerances: Tolerances, rules: Rules, blind: BlindRows) -> None:
        self.tolerances, self.rules, self.blind = tolerances, rules, blind

    def pair(self, key: str, pair: Pair) -> TensorComparison:
        tolerance = self.tolerances.of(key, pair)
        if pair.reference.shape != pair.yours.shape:
            cells = pair.reference.size
            sides = (pair.reference, pair.yours)
            apart = Difference(sides, self.rules, tolerance, cells, agrees=False, other_class=cells)
            return TensorComparison(pair, apart, tolerance, "other shape")
        skip = self.blind.skip(key)
        difference = measure(pair.reference, pair.yours, tolerance, self.rules, skip)
        if not difference.agrees:
            coarser = self.tolerances.coarser(key, pair)
            if coarser is not None:
                again = measure(pair.reference, pair.yours, coarser, self.rules, skip)
                if again.agrees:
                    difference, tolerance = again, coarser
        status = "differs" if not difference.agrees else "close" if difference.unequal else "equal"
        return TensorComparison(pair, difference, tolerance, status)


def _first(
    matched: Matched,
    results: Mapping[str, list[TensorComparison]],
    differs: Mapping[str, bool],
    harmless: set[str],
    surroundings: Surroundings,
) -> list[Divergence]:
    """The tensors that differ though what they were computed from agrees."""
    first: list[Divergence] = []
    for key in matched.order:
        if not differs[key] or key in harmless:
            continue
        worst = _worst(results[key], *DIFFERENT)
        flow = matched.flow
        if flow is None:  # only the order is known
            return [Divergence(key, worst, (), (), surroundings.relations)]
        inputs = flow.inputs(key)
        if any(differs[name] and name not in harmless for name in inputs):
            continue
        source = not flow.graph.node(flow.refs[key].node).operands
        between = tuple(flow.between(key))
        first.append(Divergence(key, worst, tuple(inputs), between, surroundings.relations, source))
    return first


def _worst(tensors: list[TensorComparison], *statuses: str) -> TensorComparison:
    return next(tensor for tensor in tensors if tensor.status in statuses)
