"""A comparison as text for people, and as data for programs.

The first lines say what is wrong and where; below stand what it was judged by, and a table:

    different: head0.scaled is the first to differ; its inputs agree
      yours is the reference × 2.828427, which is √d_k (d_k = 8)
      head0.scaled = scale(head0.scores, sqrt=8)   4 × 4
      at [0, 1]   the reference 0.1234   yours 0.3490   16 of 16 cells differ
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from ...core.words import aligned, counted, listed, sizes, tame, wrapped

if TYPE_CHECKING:
    from ...core.rounded import Format
    from .cell_classes import Difference
    from .comparison import Comparison, Divergence, TensorComparison

WIDTH = 100
ROWS = 40
OTHERS = 24
HARMLESS = 4
"""So many kinds of harmless differences are described."""


def comparison_text(comparison: Comparison, everything: bool = False, width: int | None = None) -> str:
    """The report (see the module's docstring). Where a width is given, the table is fitted into it too."""
    said = [*_verdict(comparison), "", *_remarks(comparison)]
    lines = [piece for line in said for piece in _wrapped(line, width or WIDTH)]
    lines += ["", *_table(comparison, everything, width)]
    return "\n".join(tame(line.rstrip()) for line in lines).strip("\n") + "\n"


def _wrapped(line: str, limit: int) -> list[str]:
    """A line of the report on several; what is indented hangs deeper."""
    return wrapped(line, limit, "      " if line.startswith(" ") else "    ") or [""]


def headline(comparison: Comparison) -> str:
    """The verdict in one line."""
    if comparison.first is not None:
        line = _different(comparison, comparison.first)
    elif comparison.undecided:
        line = _undecided(comparison)
    elif comparison.open_results:
        line = _open(comparison)
    elif comparison.only_given:
        line = _given(comparison)
    elif comparison.doubtful:
        line = _doubtful(comparison)
    else:
        line = _same(comparison)
    left = comparison.uncompared
    return line + (f"; nothing was compared with {len(left)} of yours: {listed(left)}" if left else "")


# ---------------------------------------------------------------- the first lines


def _verdict(comparison: Comparison) -> list[str]:
    lines = [headline(comparison)]
    first = comparison.first
    if first is None:
        return lines + _harmless(comparison) + _nearest(comparison) + _no_numbers(comparison.tensors)
    lines += _divergence(comparison, first)
    others = comparison.divergences[1:OTHERS]
    same = [d for d in others if _simplest(d) and _simplest(d) == _simplest(first)]
    if same:
        lines.append(f"  the same in {listed([d.comparison.called for d in same], 12)}")
    for other in [d for d in others if d not in same][:6]:
        lines.append(f"  also, apart from that: {other.comparison.called}: {_relation(other)}")
    return lines + _harmless(comparison) + _no_numbers(comparison.tensors)


def _no_numbers(tensors: list[TensorComparison]) -> list[str]:
    """That the reference itself holds NaN or infinity, and where."""
    held = [tensor for tensor in tensors if tensor.pair.reference.no_numbers]
    if not held:
        return []
    reference, cells = held[0].pair.reference, held[0].pair.reference.no_numbers
    row, column = cells[0]
    what = "infinity" if reference.rows[row][column] == math.inf else "NaN"
    first = held[0].shown(reference.index(row, column))
    also = f"; not only there: {listed([tensor.called for tensor in held[1:]], 4)}" if held[1:] else ""
    count = f"{len(cells):,} of {reference.size:,} cells, the first at {first}"
    return [f"  the reference itself holds {what} in {held[0].called} ({count}){also}"]


def _harmless(comparison: Comparison) -> list[str]:
    """What differs without harm, since everything computed from it agrees."""
    lines: list[str] = []
    alike: dict[str, list[str]] = {}
    for key, divergence in comparison.harmless.items():
        said = f"yours is {divergence.relations[0].text}" if divergence.relations else "yours differs"
        alike.setdefault(said, []).append(key)
    for said, keys in list(alike.items())[:HARMLESS]:
        lines.append(f"  harmless: {listed(keys)}: {said}; everything computed from it agrees")
    if len(alike) > HARMLESS:
        rest = [key for keys in list(alike.values())[HARMLESS:] for key in keys]
        lines.append(f"  harmless too: {listed(rest)}")
    return lines


def _different(comparison: Comparison, first: Divergence) -> str:
    name = first.comparison.called
    if first.comparison.status == "other shape":
        return f"different: {name} has another shape"
    if first.role == "input":
        return f"different: {name} is an input; the two runs were not given the same"
    if first.role == "made":
        return f"different: {name}, which the graph makes without any input"
    if comparison.flow is None:
        return f"different: {name} is the first to differ, in the reference's order (there is no graph)"
    if first.unseen:
        unseen, go = listed(list(first.unseen), 4), "goes" if len(first.unseen) == 1 else "go"
        return f"different: {name} is the first to differ; yours did not record {unseen}, which {go} into it"
    if first.inputs:
        return f"different: {name} is the first to differ; its inputs agree"
    return f"different: {name} is the first to differ (yours did not record its inputs)"


def _divergence(comparison: Comparison, first: Divergence) -> list[str]:
    tensor = first.comparison
    pair, lines = tensor.pair, []
    if pair.yours.name != tensor.called:
        lines.append(f"  yours calls it {pair.yours.name} (matched by {pair.how})")
    lines.append(f"  {_relation(first)}")
    for explanation in first.explanations[:2]:
        lines.append(f"  yours is what this graph gives {explanation}")
    step = _step(comparison, first)
    lines.append(f"  {f'{step}   ' if step else ''}{sizes(pair.reference.shape)}")
    lines.append(f"  {_where(tensor)}")
    if tensor.reach is not None and not tensor.reach.shown.exact and math.isfinite(tensor.reach.worst):
        count = f"{tensor.reach.over:,} cell{'s lie' if tensor.reach.over > 1 else ' lies'}"
        lines.append(f"  {count} up to {tensor.reach.worst:.3g} times outside of what rounding can do")
    if first.inputs:
        lines.append(f"  agrees before it: {listed(list(first.inputs), 10)}")
    if first.between and first.inputs and comparison.is_result(first.key) and comparison.only_ends:
        lines.append(
            f"  nothing between the inputs and {tensor.called} was recorded; the mistake may be in any step"
        )
    elif first.between:
        lines.append(
            f"  not recorded between them: {listed(list(first.between), 10)};"
            " the mistake may be in any of these steps"
        )
    return lines


def _simplest(divergence: Divergence) -> str:
    return divergence.relations[0].text if divergence.relations else ""


def _relation(divergence: Divergence) -> str:
    if divergence.relations:
        return f"yours is {'; '.join(relation.text for relation in divergence.relations[:3])}"
    return "no simple relation between yours and the reference was found"


def _step(comparison: Comparison, first: Divergence) -> str:
    flow = comparison.flow
    if flow is None or first.key not in flow.refs:
        return ""
    graph = flow.graph
    node = graph.node(flow.refs[first.key].node)
    if node.op.fed:
        return ""
    inner = [graph.tensor_name(ref) for ref in node.operands if ref is not None]
    inner += [f"{key}={value}" for key, value in node.given.items()]
    name = (
        node.name
        if len(node.ports) == 1
        else ", ".join(node.tensor_name(p) for p in range(min(2, len(node.ports))))
    )
    return f"{name} = {node.op.name}({textwrap.shorten(', '.join(inner), 200)})"


def _where(tensor: TensorComparison) -> str:
    difference, pair = tensor.difference, tensor.pair
    if not difference.comparable:
        return f"the reference {sizes(pair.reference.shape)}   yours {sizes(pair.yours.shape)}"
    text, place = "", tensor.place
    if place is not None:
        row, column = place
        a, b = pair.reference.rows[row][column], pair.yours.rows[row][column]
        text = f"{f'at {tensor.at}   ' if tensor.at else ''}the reference {number(a)}   yours {number(b)}   "
    text += f"{difference.over:,} of {difference.cells:,} cells differ"
    more = []
    if difference.nan:
        more.append(f"{difference.nan:,} {'is' if difference.nan == 1 else 'are'} NaN")
    if difference.masked_reference:
        more.append(f"{difference.masked_reference:,} masked in the reference only")
    if difference.masked_yours:
        more.append(f"{difference.masked_yours:,} masked in yours only")
    return text + (f" ({', '.join(more)})" if more else "")


def _same(comparison: Comparison) -> str:
    tensors = comparison.tensors
    count = f"{len(tensors)} tensor{'s' if len(tensors) > 1 else ''}"
    if all(t.status == "equal" for t in tensors):
        return f"the same: {count}, every cell equal"
    if comparison.explicit:
        return f"the same but for the tolerance: {count}"
    if comparison.printed is not None:
        return f"the same to the {comparison.printed} that were printed: {count}"
    name = comparison.precision.name
    what = f"rounding to {name}" if name != "float64" else "the rounding of float64"
    return f"the same but for {what}: {count}"


def _undecided(comparison: Comparison) -> str:
    undecided = [tensor for tensor in comparison.undecided if not tensor.guessed]
    if not undecided:
        own, yours = comparison.undecided[0].pair.key, comparison.undecided[0].pair.other
        return f"undecided: whether {yours} of yours is {own} is not known; name it: {own}={yours}"
    names = listed([tensor.called for tensor in undecided], 4)
    count = f"{len(undecided)} of {len(comparison.tensors)} tensors"
    return f"undecided: {count} cannot be told from rounding: {names}"


def _open(comparison: Comparison) -> str:
    name, yours = next(iter(comparison.open_results.items()))
    count = f"{counted(len(comparison.tensors), 'tensor')} agree"
    return (
        f"undecided: {count}, but which of yours is the result {name} is not known; name it: {name}={yours[-1]}"
    )


def _given(comparison: Comparison) -> str:
    flow = comparison.flow
    assert flow is not None
    names = listed([tensor.called for tensor in comparison.tensors], 4)
    wanted = listed(list(flow.graph.outputs), 4) if flow.graph.outputs else "some of it"
    return f"undecided: only what goes in was compared ({names}), nothing that is computed; record {wanted} too"


def _doubtful(comparison: Comparison) -> str:
    names = listed([tensor.called for tensor in comparison.doubtful], 4)
    differs, it = ("differs", "it") if len(comparison.doubtful) == 1 else ("differ", "them")
    return (
        f"undecided: {names} {differs}, though everything computed from {it} agrees; whether that was computed"
        " from other numbers, or from the same in another form, cannot be told"
    )


def _nearest(comparison: Comparison) -> list[str]:
    """How near it was, and what would have been seen."""
    tensors, lines = comparison.tensors, []
    for tensor in comparison.undecided[:3]:
        lines.append(f"  {tensor.called}: {_doubt(comparison, tensor)}")
    judged = [t for t in tensors if t.status == "close"]
    if judged:
        worst = max(judged, key=lambda t: t.difference.worst)
        lines.append(
            f"  nearest to its limit: {worst.called}, {number(worst.difference.absolute)} apart,"
            f" {100 * worst.difference.worst:.0f} % of what is allowed"
        )
    carried = [t for t in tensors if t.status == "carried" and t.reach is not None]
    if carried:
        share = max(t.reach.share for t in carried if t.reach is not None)
        lines.append(f"  a mistake above {share:.2g} of a tensor's spread would show")
    return lines


def _doubt(comparison: Comparison, tensor: TensorComparison) -> str:
    reach = tensor.reach
    if tensor.guessed:
        return (
            f"matched with {tensor.pair.other} by its place alone, which holds other numbers, though nothing"
            " that was computed from it differs"
        )
    if reach is not None and reach.open and not reach.blind:
        return (
            f"{reach.open:,} of {tensor.difference.cells:,} cells cannot be told, since rounding moves them by"
            " more than the tensor's spread (a sign or an order may flip); the others agree"
        )
    if reach is None or not reach.blind:
        return "it agrees if it was rounded when it was printed, which so few cells do not show"
    if reach.shown.exact:
        name = comparison.precision.name
        return f"in {name} rounding moves it by {100 * reach.share:.0f} % of its spread; float32 would decide"
    digits = reach.digits_wanted
    return (
        f"with {reach.shown} rounding moves it by {100 * reach.share:.0f} % of its spread;"
        f" {digits} more digit{'s' if digits > 1 else ''}, or float32, would decide"
    )


# ---------------------------------------------------------------- remarks


def _remarks(comparison: Comparison) -> list[str]:
    alignment = comparison.alignment
    lines = []
    titles = {"the reference": comparison.reference.title, "yours": comparison.yours.title}
    told = [f"{side}: {title}" for side, title in titles.items() if title != side]
    if told:
        lines.append("   ".join(told))
    lines.append(f"tolerance: {comparison.tolerance_text}")
    carried = [t.called for t in comparison.tensors if t.status == "carried"]
    if carried:
        lines.append(
            f"carried: {listed(carried)}: beyond the tolerance, within what the rounding of their inputs can do"
        )
    renamed = _renamed(comparison)
    if renamed:
        lines.append(f"matched: {listed(renamed, 12)}")
    if alignment.reference_left and len(alignment.reference_left) < len(comparison.reference.tensors):
        lines.append(f"not in yours: {listed(alignment.reference_left)}")
    for note in comparison.notes:
        lines.append(f"note: {note}")
    return lines


def _renamed(comparison: Comparison) -> list[str]:
    """What was not matched by a name: the reference = yours (by value); the parts of one tensor together."""
    wholes: dict[tuple[str, str], list[str]] = {}
    for tensor in comparison.tensors:
        if tensor.pair.how not in ("name", "mapping"):
            wholes.setdefault((tensor.pair.other, tensor.pair.how), []).append(tensor.called)
    return [
        f"{names[0]}{f' … {names[-1]}' if len(names) > 1 else ''} = {other} (by {how})"
        for (other, how), names in wholes.items()
    ]


# ---------------------------------------------------------------- the table


def _table(comparison: Comparison, everything: bool, width: int | None) -> list[str]:
    tensors = comparison.tensors
    shown = [t for t in tensors if everything or t.status not in ("equal", "close")]
    if not shown and comparison.agrees:  # those that came nearest to their limits
        close = [t for t in tensors if t.status != "equal"]
        shown = sorted(close, key=lambda t: -t.difference.worst)[:8]
    head = ("tensor", "shape", "", "absolute", "relative", "ulps", "at")
    some = shown[: len(shown) if everything else ROWS]
    rows = [head, *(_row(tensor, comparison.precision) for tensor in some)]
    if len(rows) == 1:
        return []
    lines = aligned(rows, limit=width, numbers=(3, 4, 5))
    left = len(shown) - (len(rows) - 1)
    if left:
        lines.append(f"… and {left} more")
    agree = sum(t.status in ("equal", "close") for t in tensors)
    if len(rows) - 1 + left < len(tensors):
        lines.append(
            f"{counted(agree, 'tensor agrees', 'tensors agree')} (ulps are of {comparison.precision.name})"
        )
    return lines


def _row(tensor: TensorComparison, precision: Format) -> tuple[str, ...]:
    difference = tensor.difference
    return (
        tensor.called,
        sizes(tensor.pair.reference.shape),
        tensor.status,
        *_far(difference, precision),
        tensor.at,
    )


def _far(difference: Difference, precision: Format) -> tuple[str, str, str]:
    """How far two tensors are apart: absolute, relative and in ulps; in a word where no number tells."""
    if not difference.absolute and difference.over:
        what = (
            "NaN"
            if difference.nan
            else "mask"
            if difference.masked_reference or difference.masked_yours
            else "infinite"
        )
        return what, "", ""
    relative = number(difference.relative) if math.isfinite(difference.relative) else "from 0"
    digits = difference.ulps < 2.0 ** (precision.bits - 1)
    return number(difference.absolute), relative, f"{difference.ulps:.3g}" if digits else "no digit"


def number(x: float) -> str:
    """A number in a report: six digits, no −0."""
    if isinstance(x, bool):
        return str(x)
    if x != x:
        return "NaN"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return f"{x + 0.0:.6g}"
