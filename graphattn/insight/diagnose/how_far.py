"""What the numbers alone say of the first tensor that differs, where no mistake explains it: how it follows
from the right one, which cells differ where these are few or in few rows or columns, and what was added.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from ...core.words import counted, listed
from ...passes.cotangents import PREFIX
from ..compare.comparison import SAYS_IT_ALL, Comparison
from ..compare.recording import rows_of
from .judge import Judge, alike, within
from .levels import Level
from .observed import Observed, other_shape

FEW = 4
"""So few wrong cells are worth a word."""
ROUNDINGS = 128.0
"""So many rounding units of the largest cell of its row two computations of a cell are apart at most."""
Rows = Sequence[Sequence[float]]


def how_far(level: Level, compared: Comparison | None) -> list[str]:
    """`level` is not cut; `compared` is what `compare` says."""
    judge = level.judge
    key = judge.key
    own, observed, room = judge.rows[key], judge.observed[key], judge.strict[key]
    if not alike(own, observed.rows):
        return [
            other_shape(observed.name, observed.theirs.shape, level.intended.graph.spec(observed.ref).shape)
        ]
    if judge.right:
        return []
    wrong = {(i, j) for i, j, fine in _cells(own, observed.rows, room) if not fine}
    said = _related(observed, compared)
    return said or _where(observed, own, wrong) or _added(level, own, observed, room)


def handed_in_for_another(level: Level) -> str:
    """A gradient of the graph that was handed in for what is none, as a sentence; "" where none was."""
    judge, graph = level.judge, level.intended.graph
    gradients = [name for name in graph.outputs if name.startswith(PREFIX) and name[len(PREFIX) :] in graph]
    for observed, fine in zip(judge.observed, judge.agree, strict=True):
        for name in () if fine or observed.name in gradients else gradients:
            ref = graph.resolve(name)
            rows = rows_of(level.intended.values[ref], graph.spec(ref).rank)
            room = [[_same_room(row, level)] * len(row) for row in rows]
            if ref != observed.ref and any(map(any, rows)) and within(rows, observed.rows, room):
                return f"{observed.name} of yours is {name} of this graph: expected under that name"
    return ""


def _same_room(row: Sequence[float], level: Level) -> float:
    """How far apart two computations of a row of another tensor may be."""
    accuracy = level.accuracy
    largest = max((abs(x) for x in row if math.isfinite(x)), default=0.0)
    return accuracy.half + (4 * accuracy.relative + ROUNDINGS * accuracy.computed) * largest


def agreeing_digits(judge: Judge) -> int:
    """To how many digits of the largest cell all that was observed agrees."""
    shares = [1e-17]
    for own, observed in zip(judge.rows, judge.observed, strict=True):
        size = max((abs(x) for row in own for x in row if math.isfinite(x)), default=0.0)
        apart = [abs(x - y) for a, b in zip(own, observed.rows, strict=True) for x, y in zip(a, b, strict=True)]
        shares += [d / size for d in apart if size and math.isfinite(d)]
    return int(-math.log10(max(shares)))


def _cells(own: Rows, theirs: Rows, room: Rows) -> Iterator[tuple[int, int, bool]]:
    """Every cell by row and place, and whether it is as it should be."""
    for i, (a, b, space) in enumerate(zip(own, theirs, room, strict=True)):
        for j, (x, y, most) in enumerate(zip(a, b, space, strict=True)):
            yield i, j, within([[x]], [[y]], [[most]])


def _related(observed: Observed, compared: Comparison | None) -> list[str]:
    """How the tensor follows from the right one, as `compare` finds it."""
    first = None if compared is None else compared.first
    if first is None or not first.relations or first.relations[0].kind not in SAYS_IT_ALL:
        return []
    told = first.relations[0].text.replace("the reference's ", "this graph's ")
    told = told.replace("the reference", "what this graph gives")
    name = observed.name if first.comparison.pair.other == observed.theirs.name else first.comparison.name
    return [f"{name} of yours is {told}"]


def _added(level: Level, own: Rows, observed: Observed, room: Rows) -> list[str]:
    """A tensor of the graph that was added to it, or taken from it."""
    intended, theirs = level.intended, observed.rows
    graph = intended.graph
    for ref, value in intended.values.items():
        spec = graph.spec(ref)
        if spec.kind != "float" or spec.shape != graph.spec(observed.ref).shape or ref == observed.ref:
            continue
        more = rows_of(value, spec.rank)
        for sign, word in ((1.0, "+"), (-1.0, "−")):
            sums = [[x + sign * y for x, y in zip(a, b, strict=True)] for a, b in zip(own, more, strict=True)]
            if any(map(any, more)) and within(sums, theirs, _wider(room, more)):
                return [f"{observed.name} of yours is what this graph gives {word} {graph.tensor_name(ref)}"]
    return []


def _wider(room: Rows, more: Rows) -> list[list[float]]:
    """The room of a sum: rounding what is added counts too."""
    return [[m + 1e-15 * abs(y) for m, y in zip(a, b, strict=True)] for a, b in zip(room, more, strict=True)]


def _where(observed: Observed, own: Rows, wrong: set[tuple[int, int]]) -> list[str]:
    """Which cells differ, where they are few, or are in few rows or columns."""
    name, cells = observed.name, sum(map(len, own))
    lines = _lines(own, wrong) if len(observed.theirs.shape) == 2 else ""
    kinds = Counter(_kind(observed.rows[i][j]) for i, j in wrong)
    finite = kinds.pop("", 0)
    told = listed(f"{count} {'is' if count == 1 else 'are'} {kind}" for kind, count in kinds.items())
    said = []
    if not finite and len(kinds) == 1:
        where = f" ({lines})" if lines else ""
        said.append(
            f"{name} of yours is what this graph gives but for {counted(len(wrong), 'cell')} that"
            f" {told.split(' ', 1)[1]} in yours{where}"
        )
        return said
    if kinds:
        said.append(f"of the {counted(len(wrong), 'cell')} of {name} that differ, {told} in yours")
    if len(wrong) <= FEW and FEW * len(wrong) <= cells:
        most = max(sorted(wrong), key=lambda at: _distance(own[at[0]][at[1]], observed.rows[at[0]][at[1]]))
        at = [*_index(observed.theirs.shape, most[0]), most[1]] if observed.theirs.shape else []
        said.append(f"{len(wrong)} of {cells} cells of {name} differ, most at {at}")
    elif lines:
        said.append(
            f"only {lines} of {name} {'differs' if lines.startswith(('row ', 'column ')) else 'differ'}"
        )
    return said


def _lines(own: Rows, wrong: set[tuple[int, int]]) -> str:
    """The rows, or columns, that all wrong cells are in, where these are half of them at most."""
    for what, total, places in (
        ("row", len(own), {i for i, _ in wrong}), ("column", len(own[0]), {j for _, j in wrong}),
    ):  # fmt: skip
        if 2 * len(places) <= total:
            return f"{what}{'' if len(places) == 1 else 's'} {_spans(sorted(places))}"
    return ""


def _spans(places: Sequence[int]) -> str:
    """`0 to 3, 7`."""
    spans: list[list[int]] = []
    for place in places:
        if spans and spans[-1][1] == place - 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    return listed(str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in spans)


def _index(shape: Sequence[int], row: int) -> list[int]:
    """Which row of a tensor the row of that number is."""
    index = []
    for size in reversed(shape[:-1]):
        row, place = divmod(row, size)
        index.insert(0, place)
    return index


def _kind(x: float) -> str:
    return "NaN" if x != x else "infinite" if math.isinf(x) else ""


def _distance(x: float, y: float) -> float:
    d = abs(x - y)
    return math.inf if d != d else d
