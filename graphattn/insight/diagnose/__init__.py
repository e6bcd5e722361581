"""diagnose(graph, feeds, observed): which mistake gives these numbers, from the final output alone.

    found = diagnose(graph, feeds, {"out": theirs})     or a trace, a file, intermediates, gradients too
    found.verdict        "right", "harmless", "mistake", "unexplained" or "undecided"
    found.findings[0]    .sentence .name .where .graph .error .equals
    print(found)

The intended graph is run again with a mistake planted, by generators that know no list of mistakes
(`insight.variants`) and those that ops declare. A variant is named only where it gives every observed cell, as
exactly as it was observed. Where nothing fits, nothing is guessed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ...core import nested
from ...core.elsewhere import meant
from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.run import run
from ...core.words import counted, listed, typed
from ..compare import compare
from ..compare.alignment.by_mapping import read_names
from ..compare.comparison import Comparison
from ..compare.gradients import feeds_as, named_as, recorded_as
from ..compare.reading import read
from ..compare.recording import Recording
from .accuracy import SINGLE, Accuracy, accuracy_of, if_rounded
from .backward import Backward, differentiated
from .chance import excluded, right_by_chance
from .classes import classes, same
from .collector import collected_seldom
from .cut import plain
from .forward import forward
from .how_far import agreeing_digits, handed_in_for_another, how_far
from .judge import NEARLY, Judge
from .left_on import left_on
from .levels import Level, levels
from .not_finite import not_finite, nothing_else
from .observed import Observed, read_observed
from .pairs import look_for_pairs
from .result import VERDICTS as VERDICTS
from .result import Diagnosis as Diagnosis
from .result import Finding as Finding
from .search import Hit, Search
from .several import all_at_once
from .suspects import MOST, as_well, giving_nan, halfway, most_telling

MARGIN = 1.2
"""How much more than was reckoned a budget should be."""
FEW = 4
"""So many other wordings of one of several mistakes at once are worth a note."""
SINGLE_DIGITS = 7
"""As many digits float32 has."""
SINGLES, PAIRS, MOMENT = 10.0, 20.0, 2.0
"""Seconds for one mistake, for two at once, and for one where hardly any difference is left."""


@meant
def diagnose(
    graph: Graph,
    feeds: Mapping[str, Any] | None,
    observed: Any,
    *,
    names: Mapping[str, str] | None = None,
    precision: str | int | None = None,
    budget: float | None = None,
    pairs: bool = True,
    declared: bool = True,
    say: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Name the mistake behind `observed` (see the module's docstring).

    feeds: the inputs and parameters, as for `run`; those that are missing are taken from `observed`. observed:
    tensors by name (a dict, a trace, a file): outputs, and intermediates where there are some; names, as for
    `compare`, are {the graph's: yours} for those that are called otherwise, and not found alike. precision:
    float64, float32, float16 or bfloat16, or with how many decimals they were printed; without it, what the
    numbers themselves hold. budget: seconds of work (of the processor: on a busy machine up to 8 times as
    many on the clock), by default 10 for one mistake and 20 for two at once (pairs=False: one alone).
    declared=False leaves out what ops declare. say(text) is called with progress: say=print shows it.
    """
    if not isinstance(graph, Graph):
        raise GraphError(f"diagnose got {typed(graph)}; expected a Graph, then feeds, then what was observed")
    if budget is not None and not budget >= 0:
        raise GraphError(f"budget is {budget!r}; expected a number of seconds of 0 or more")
    fine = graph.at("op")
    recording = read(observed)
    names = read_names(names)
    recording.need_numbers({*fine.tensor_names(), *names.values()})
    names = named_as(fine, recording, names)
    feeds = feeds_as(fine, feeds)
    backward = differentiated(fine, recorded_as(fine, recording, names), feeds)
    if backward is not None:
        graph, fine = backward.graph, backward.graph.at("op")
    reading = read_observed(fine, recording, feeds, backward.gradients if backward else (), names)
    accuracy = accuracy_of([o.theirs for o in reading.observed], precision)
    search = Search(SINGLES if budget is None else budget, say or (lambda text: None))

    def make(exact: Accuracy) -> list[Level]:
        rounded = [name for name, tensor in reading.recorded.items() if exact.rounds(tensor)]
        return list(levels(graph, reading.observed, reading.fed, exact, declared, rounded, backward))

    stages = make(accuracy)
    maybe = None if precision is not None else if_rounded([o.theirs for o in reading.observed], accuracy)
    supposed = [] if maybe is None else make(maybe)
    with collected_seldom(), warnings.catch_warnings():  # warnings of graphs that nobody wrote
        warnings.simplefilter("ignore")
        done = _diagnosed(
            graph, search, stages, supposed, recording, PAIRS if budget is None else budget, pairs,
            names, precision is not None, backward,
        )  # fmt: skip
    done.notes += reading.notes
    return done


def _diagnosed(
    graph: Graph, search: Search, stages: list[Level], supposed: list[Level], recording: Recording,
    more: float, pairs: bool, names: Mapping[str, str] | None, stated: bool, backward: Backward | None,
) -> Diagnosis:  # fmt: skip
    """What is seen at once; what one mistake explains, or several; then two at once, for so many `more`
    seconds. Each is looked for in the numbers as they are, then in the same if they were rounded (`supposed`).
    """
    done = _at_once(graph, search, stages)
    if done is None and supposed and supposed[0].uncut.judge.right:
        return _right(graph, supposed[0].uncut, search)
    if done is None and not stated and (digits := _single(stages[0])):
        return _nearly(graph, search, stages, digits)
    if done is not None:
        return done
    compared = cache(partial(_compared, graph, stages[0].feeds, recording, names))
    readings, budget = [stages, supposed][: 1 + bool(supposed)], search.budget
    for reading in readings:
        search.start(budget)
        done = _searched(graph, search, reading, compared, backward)
        if done is not None:
            return done
    if pairs and search.finished:
        until = search.seconds + more
        for place, reading in enumerate(readings):
            search.start((until - search.seconds) / (len(readings) - place))
            hits = look_for_pairs(search, reading)
            if hits:
                return _found(graph, search, reading, hits)
    done = _done("unexplained", [], graph, stages[0], search)
    done.notes += [*how_far(stages[0].uncut, compared()), *_untried(search, pairs)]
    done.comparison = compared() if len(stages[0].observed) > 1 else None
    done.look_at = None if done.comparison else halfway(stages[0])
    return done


def _at_once(graph: Graph, search: Search, stages: list[Level]) -> Diagnosis | None:
    """Right, or what nothing need be looked for in."""
    theirs = stages[0].observed
    right = next((level for level in (stages[0], stages[0].uncut) if level.judge.right), None)
    beyond = not_finite(stages[0].uncut)
    if beyond and (right is None or nothing_else(stages[0].uncut)):
        return _undecided(beyond, graph, stages[0], search)
    if right is not None:
        done = _right(graph, right, search)
        done.notes += [beyond] if beyond else []
        return done
    if all(cell != cell for o in theirs for row in o.rows for cell in row):
        return _blank(graph, stages, search)
    if another := handed_in_for_another(stages[0].uncut):
        done = _done("undecided", [], graph, stages[0], search)
        done.reason = another
        return done
    return None


def _searched(
    graph: Graph, search: Search, stages: list[Level],
    compare_all: Callable[[], Comparison | None], backward: Backward | None,
) -> Diagnosis | None:  # fmt: skip
    """What one mistake explains, at any level; then several."""
    theirs = stages[0].observed
    hits = search.singles(stages) or left_on(search, stages[0])
    if not hits and backward is not None and not search.over:
        hits = forward(search, stages, backward)
    if not hits and stages[0].stands and not search.over:
        hits = search.singles([replace(stage, together=True) for stage in stages])
    if not hits and stages[0].stands and not search.over:
        one_by_one = _one_by_one(search, stages)
        hits = all_at_once(search, stages, one_by_one) if len(one_by_one) > 1 else []
        if one_by_one and not hits:
            return _together(one_by_one, graph, stages[0], search)
    compared = None if hits else compare_all()
    if compared is not None and compared.agrees and len(theirs) > 1 and _looked_at(compared, theirs):
        done = _done("harmless", [], graph, stages[0], search)
        done.comparison = compared
        return done
    if not hits and stages[0].stands:
        search.budget += search.seconds
        for part in _parts(stages[0].uncut.judge):
            hits = hits or search.singles([replace(stage, together=True, judged=part) for stage in stages])
    return _found(graph, search, stages, hits) if hits else None


def _found(graph: Graph, search: Search, stages: list[Level], hits: list[Hit]) -> Diagnosis:
    """Mistakes that explain what was observed, unless chance does."""
    fed = stages[0].feeds
    findings = [_finding(group, tells, fed) for group, tells in classes(hits, fed)]
    rewrites = [hit.rewrite for hit in hits if hit.level is stages[0]]
    tells = most_telling(stages[0], rewrites[:MOST]) if len(findings) > 1 and len(rewrites) > 1 else None
    accuracy = stages[0].accuracy
    if (accuracy.supposed or accuracy.shown.exact) and not excluded(stages[0].uncut.judge, search.tried):
        done = _done("undecided", [], graph, stages[0], search)
        done.suspects = [finding.phrase for finding in findings[:MOST]]
        few = f", to {done.accuracy}," if accuracy.supposed else " as what was observed has"
        more = _say_so(stages[0]) if accuracy.supposed else "a result with more digits would tell"
        done.notes.append(f"with so few digits{few} some variant fits by chance: {more}")
    else:
        verdict = "harmless" if _harmless(findings[0], stages[0].uncut.judge, fed) else "mistake"
        done = _done(verdict, findings, graph, stages[0], search)
    done.look_at = tells
    return done


def _say_so(level: Level) -> str:
    places = level.accuracy.shown.places
    return f"precision={places} says that they were rounded, and more digits would tell"


def _right(graph: Graph, level: Level, search: Search) -> Diagnosis:
    """As intended, unless so few digits were observed that most of the usual mistakes would give them too."""
    done = _done("right", [], graph, level, search)
    if not level.accuracy.coarse:
        return done
    found, count = as_well(level)
    if found:
        told = f"{len(found)} of {count} usual mistakes give the same, to {done.accuracy}"
        done.notes.append(f"{told} (this graph {plain(found[0].phrase)}, …): more digits would tell")
    if 3 * len(found) > count:
        done.verdict = "undecided"
        done.suspects = [variant.phrase for variant in found[:MOST]]
        done.look_at = most_telling(level, [variant.rewrite for variant in found[:MOST]])
    elif level.accuracy.supposed and right_by_chance(level.judge):
        done.verdict = "undecided"
        done.notes.append(f"yours is what this graph gives, to {done.accuracy}: {_say_so(level)}")
    return done


def _single(level: Level) -> int:
    """To how many digits numbers of float64, given with many digits or in full, agree that are right as
    float32 computes; 0 if they are not."""
    accuracy = level.accuracy
    if accuracy.computed >= SINGLE.computed or accuracy.coarse:
        return 0
    judge = level.uncut.judge
    if judge.off * accuracy.computed > NEARLY * SINGLE.computed:
        return 0
    single = replace(SINGLE, half=accuracy.half, relative=max(SINGLE.relative, accuracy.relative))
    judge = replace(judge, accuracy=single)
    return agreeing_digits(judge) if judge.right else 0


def _nearly(graph: Graph, search: Search, stages: list[Level], digits: int) -> Diagnosis:
    """A mistake that explains the little that is left, if one of the likely ones does in a moment."""
    search.start(min(search.budget, MOMENT))
    likely = (False,)
    hits = search.singles(stages, likely)
    if hits:
        return _found(graph, search, stages, hits)
    done = _done("undecided", [], graph, stages[0], search)
    computed = ", as float32 computes," if digits <= SINGLE_DIGITS else ""
    done.reason = (
        f"yours agrees with this graph in {listed(done.observed, FEW)} to {digits} digits{computed}"
        ' and not to float64: precision="float32" calls it right'
    )
    return done


def _undecided(why: str, graph: Graph, level: Level, search: Search) -> Diagnosis:
    """Nothing is looked for, since nothing that was found would mean anything."""
    done = _done("undecided", [], graph, level, search)
    done.notes.append(f"{why}: expected inputs on which it is finite")
    return done


def _one_by_one(search: Search, stages: list[Level]) -> dict[str, list[Hit]]:
    """For each observed tensor that its own observed inputs do not give, the hits that explain it, and leave
    those that are right as they are; none unless each is explained."""
    right, wrong = stages[0].judge.told_apart()
    found: dict[str, list[Hit]] = {}
    for tensor in wrong:
        held = [replace(stage, judged=[tensor, *right]) for stage in stages]
        hits = search.singles(held) or left_on(search, held[0])
        if not hits:
            return {}
        found[tensor.name] = sorted(hits, key=lambda hit: hit.price)
    return found


def _together(one_by_one: Mapping[str, list[Hit]], graph: Graph, level: Level, search: Search) -> Diagnosis:
    """A finding for each tensor, where they are not found to be one graph."""
    verdict = "harmless" if _results_agree(level.uncut.judge) else "mistake"
    done = _done(verdict, [], graph, level, search)
    done.together = True
    done.notes.append(
        "no one mistake explains it all: each of these explains one tensor from its own inputs, and its graph"
        " has no change but that one"
    )
    for name, hits in one_by_one.items():
        (best, _), *others = classes(hits, level.feeds)
        done.findings.append(_finding(best, None, level.feeds, name))
        done.notes += [f"or, for {name}: {_finding(group, None, {}).sentence}" for group, _ in others[:FEW]]
    return done


def _results_agree(judge: Judge) -> bool:
    """Whether all results of the graph were observed, and are what it gives from its feeds."""
    right = {tensor.ref for tensor in judge.told_apart()[0]}
    results = {tensor.ref for tensor in judge.intended.graph.outputs.values()}
    return bool(results) and results <= right


def _parts(judge: Judge) -> Iterator[list[Observed]]:
    """What is looked at by itself where nothing explains all that was observed: the results, as if nothing else
    were known, and the first tensor that differs; what is right has to stay so."""
    right, wrong = judge.told_apart()
    results = {tensor.ref for tensor in judge.intended.graph.outputs.values()}
    yield [*([tensor for tensor in wrong if tensor.ref in results] or wrong[-1:]), *right]
    yield [*wrong[:1], *right]


def _compared(
    graph: Graph, feeds: Mapping[str, Any], observed: Any, names: Mapping[str, str] | None
) -> Comparison | None:
    """What `compare` says, where nothing fits."""
    try:
        given = {name: value for name, value in feeds.items() if name in graph.fed}
        return compare(graph, observed, feeds=given, names=names)
    except GraphError:
        return None


def _looked_at(compared: Comparison, observed: Sequence[Observed]) -> bool:
    """Whether `compare` has compared all that was observed."""
    left = set(compared.uncompared)
    return all(o.theirs.name not in left for o in observed)


def _untried(search: Search, pairs: bool) -> list[str]:
    """What the budget left untried, and which budget would reach it."""
    if search.finished:
        return []
    least = max(search.needed, search.seconds) * MARGIN
    digits = 10.0 ** max(0, len(f"{least:.0f}") - 2)
    seconds = round(math.ceil(least / digits) * digits)
    budget = f"a budget of {counted(seconds, 'second')} (--budget {seconds}, or budget={seconds}) would reach"
    skipped = pairs and not search.pairs
    if not search.left:
        return [f"two mistakes at once were not looked for: {budget} them"] if skipped else []
    left = f"{counted(search.left, 'variant')}{'' if search.counted else ' or more'}"
    return [f"{left} left untried: {budget} {'those of one mistake' if skipped else 'them'}"]


def _finding(
    group: list[Hit], tells: Mapping[str, Any] | None, feeds: Mapping[str, Any], alone: str = ""
) -> Finding:
    """`alone` names the one tensor that is explained."""
    best = group[0]
    missed = () if alone else best.level.misses(best.rewrite)
    given = [alone] if alone else [o.name for o in best.level.observed if o.name not in missed]
    found = Finding(
        best.variants, best.rewrite, best.level.whole, best.level.stands, best.error, feeds, tells=tells,
        given=tuple(given), missed=tuple(missed), meant=best.level.meant,
    )  # fmt: skip
    for other in group[1:]:
        words = " and ".join(variant.phrase for variant in other.variants)
        if words != found.phrase and words not in found.equals:
            found.equals.append(words)
    return found


def _harmless(finding: Finding, judge: Judge, feeds: Mapping[str, Any]) -> bool:
    """Whether the graph's results are what they should be, though something before them differs."""
    fine = judge.intended.graph
    results = {tensor.ref for tensor in fine.outputs.values()}
    if not results or any(tensor.ref in results for tensor in judge.told_apart()[1]):
        return False
    try:
        names = list(fine.outputs)
        right = run(fine, feeds, targets=names, allow_nonfinite=True)
        wrong = run(finding.graph, feeds, targets=names, allow_nonfinite=True)
    except GraphError:
        return False
    return all(same(list(nested.flat(right[name])), list(nested.flat(wrong[name]))) for name in names)


def _blank(graph: Graph, levels: list[Level], search: Search) -> Diagnosis:
    """Nothing but NaN was observed: any of many mistakes does that."""
    whole, some = giving_nan(levels, search.budget)
    done = _done("undecided", [], graph, levels[0], search)
    done.reason = f"{listed(done.observed, 5)} of yours is NaN in every cell, which many mistakes give"
    done.suspects = list(dict.fromkeys(variant.phrase for _, variant in whole))
    for phrase in dict.fromkeys(plain(variant.phrase) for _, variant in some):
        done.notes.append(f"this graph {phrase} would give NaN in some cells, which may spread")
    rewrites = [variant.rewrite for level, variant in (*whole, *some) if level is levels[0]]
    done.look_at = (most_telling(levels[0], rewrites) if len(rewrites) > 1 else None) or halfway(levels[0])
    return done


def _done(verdict: str, findings: list[Finding], graph: Graph, level: Level, search: Search) -> Diagnosis:
    names = [o.name for o in level.observed]
    return Diagnosis(
        verdict, findings, graph, level.accuracy.text, names, search.tried, search.seconds, search.finished,
        supposed=level.accuracy.supposed,
    )  # fmt: skip


__all__ = ["VERDICTS", "Diagnosis", "Finding", "diagnose"]
