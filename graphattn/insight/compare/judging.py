"""The walk of a comparison: every tensor is measured, then it is found which differences are the first.

tolerance      how far apart two cells may be
blind_rows     rows that see nothing
settling       whether a difference is no more than rounding that was carried there
vouching       whether what agrees says that a difference before it does no harm
surroundings   what the relation is where a difference begins
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from ...core.numbers import FLOAT
from .alignment import Pair
from .blind_rows import BlindRows
from .cell_classes import Rules, measure
from .comparison import DIFFERENT, Comparison, Divergence, TensorComparison
from .matched import Matched
from .replay import Replay
from .settling import Settling
from .surroundings import Surroundings
from .tolerance import Tolerances
from .vouching import Vouching


def judge(
    matched: Matched, tolerances: Tolerances, rules: Rules, blind: BlindRows, notes: Sequence[str] = ()
) -> Comparison:
    """The comparison of two recordings whose tensors are matched; `notes` are said in its report."""
    measuring = _Measuring(tolerances, rules, blind, matched)
    results = {key: [measuring.pair(key, pair) for pair in matched.by_key[key]] for key in matched.order}
    tensors = list(chain.from_iterable(results.values()))
    divergences: list[Divergence] = []
    harmless: dict[str, Divergence] = {}
    if any(tensor.status in DIFFERENT or tensor.difference.loose for tensor in tensors):
        divergences, harmless = _weighed(matched, tolerances, rules, results)
    return Comparison(
        matched.reference,
        matched.yours,
        tensors,
        matched.alignment,
        divergences,
        tolerances.precision,
        tolerances.text,
        matched.flow,
        harmless,
        tolerances.explicit,
        None if tolerances.prints.computed.exact else tolerances.prints.computed,
        list(notes),
    )


def _weighed(
    matched: Matched, tolerances: Tolerances, rules: Rules, results: Mapping[str, list[TensorComparison]]
) -> tuple[list[Divergence], dict[str, Divergence]]:
    """The first divergences, and what is harmless, where some tensors are beyond their tolerance, or within it
    only since it is wide."""
    differs = {key: any(t.status in DIFFERENT for t in tensors) for key, tensors in results.items()}
    replay, explains = None, {}
    if matched.flow is not None and matched.trace is not None and matched.trace.numbers is FLOAT:
        replay = Replay(matched, tolerances, matched.trace)
        explains = Settling(matched, replay, results, differs).explains
    surroundings = Surroundings(matched, tolerances, rules)
    _doubt_places(matched, results, differs, surroundings)
    vouching = Vouching(results, tolerances, replay, surroundings.relations, explains)
    harmless = set() if matched.flow is None else matched.flow.harmless(differs, vouching)
    divergences = _first(matched, results, differs, harmless, surroundings)
    doubtful = harmless & vouching.doubtful
    harmless -= doubtful
    for status, keys in (("harmless", harmless), ("doubtful", doubtful)):
        for tensor in (tensor for key in keys for tensor in results[key]):
            if tensor.status in DIFFERENT:
                tensor.status = status
    return divergences, {
        key: Divergence(key, _worst(tensors, "harmless"), (), (), surroundings.relations)
        for key, tensors in results.items()
        if key in harmless
    }


class _Measuring:
    """How far the two sides of a tensor are apart, and whether that is too far."""

    def __init__(self, tolerances: Tolerances, rules: Rules, blind: BlindRows, matched: Matched) -> None:
        self.tolerances, self.blind, self.matched = tolerances, blind, matched
        self.rules = {False: rules, True: replace(rules, nan_equal=True)}
        """By whether a tensor is an input."""

    def pair(self, key: str, pair: Pair) -> TensorComparison:
        """By the strictest tolerance that holds: for numbers in full, for printed ones, for short ones."""
        tolerance = self.tolerances.of(key, pair)
        rules, skip = self.rules[self.matched.is_input(key)], self.blind.skip(key)
        difference = measure(pair.reference, pair.yours, tolerance, rules, skip)
        labels = self.matched.labels(key, pair.reference.shape)
        compared = partial(TensorComparison, pair, labels=labels, called=self.matched.called(key, pair))
        if difference.agrees:
            return compared(difference, tolerance, "close" if difference.unequal else "equal")
        if not difference.comparable:
            return compared(difference, tolerance, "other shape")
        printed = self.tolerances.printed(key, pair)
        if printed is not None:
            wider, shown = printed
            again = measure(pair.reference, pair.yours, wider, rules, skip)
            if again.agrees:
                decided = shown.sure and shown.half(pair.reference.spread) <= pair.reference.deviation
                return compared(again, wider, "close" if decided else "undecided")
        coarser = self.tolerances.coarser(key, pair)
        if coarser is not None:
            again = measure(pair.reference, pair.yours, coarser, rules, skip)
            if again.agrees:
                return compared(again, coarser, "close")
        return compared(difference, tolerance, "differs")


def _doubt_places(
    matched: Matched,
    results: Mapping[str, list[TensorComparison]],
    differs: dict[str, bool],
    surroundings: Surroundings,
) -> None:
    """Two tensors that were matched by their places alone, hold other numbers without any relation, and have no
    difference after them, may be two: undecided. What stands where a result does is that result."""
    for key in reversed(matched.order):
        (tensor, *more) = results[key]
        if more or tensor.status != "differs" or tensor.pair.how != "place" or matched.is_result(key):
            continue
        after = [] if matched.flow is None else matched.flow.results(key)
        if not any(differs[name] for name in after) and not surroundings.relations(tensor):
            tensor.status, differs[key] = "undecided", False


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
        node = flow.graph.node(flow.refs[key].node)
        role = "computed" if node.operands else "input" if node.op.fed else "made"
        between = tuple(flow.between(key))
        first.append(
            Divergence(
                key,
                worst,
                tuple(inputs),
                between,
                surroundings.relations,
                role,
                tuple(flow.unseen(key)),
                surroundings.explain,
            )
        )
    return first


def _worst(tensors: list[TensorComparison], *statuses: str) -> TensorComparison:
    return next(tensor for tensor in tensors if tensor.status in statuses)
