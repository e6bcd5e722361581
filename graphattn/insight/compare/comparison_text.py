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
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .recording import listed

if TYPE_CHECKING:
    from .comparison import Comparison, Divergence, TensorComparison

WIDTH = 100
ROWS = 40
OTHERS = 24


def comparison_text(comparison: Comparison, everything: bool = False) -> str:
    """The report (see the module's docstring)."""
    lines = [*_verdict(comparison), "", *_remarks(comparison), "", *_table(comparison, everything)]
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


# ---------------------------------------------------------------- the first lines


def _verdict(comparison: Comparison) -> list[str]:
    first = comparison.first
    if first is None:
        return _agreement(comparison)
    lines = _divergence(comparison, first)
    others = comparison.divergences[1:OTHERS]
    same = [d for d in others if _simplest(d) == _simplest(first)]
    if same:
        lines += _wrapped(f"the same in {listed([d.comparison.name for d in same], 12)}")
    for other in [d for d in others if d not in same][:6]:
        lines += _wrapped(f"also, apart from that: {other.comparison.name}: yours is {_told(other)}")
    return lines


def _divergence(comparison: Comparison, first: Divergence) -> list[str]:
    found = first.comparison
    name = found.name
    if first.source:
        head = f"different: {name}, which is not computed but given: the two runs were not given the same"
    elif comparison.flow is None:
        head = f"different: {name} is the first to differ, in the reference's order (there is no graph)"
    elif first.inputs:
        head = f"different: {name} is the first to differ; its inputs agree"
    else:
        head = f"different: {name} is the first to differ (yours did not record its inputs)"
    lines = textwrap.wrap(head, WIDTH, break_long_words=False)
    if found.pair.yours.name != name:
        lines += _wrapped(f"yours calls it {found.pair.yours.name} (matched by {found.pair.how})")
    lines += _wrapped(f"yours is {_told(first)}")
    step = _step(comparison, first)
    lines += _wrapped(
        f"{step}   {_shape(found.pair.reference.shape)}" if step else _shape(found.pair.reference.shape)
    )
    lines += _wrapped(_where(found))
    if first.inputs:
        lines += _wrapped(f"agrees before it: {listed(list(first.inputs), 10)}")
    if first.between:
        lines += _wrapped(
            f"not recorded between them: {listed(list(first.between), 10)};"
            " the mistake may be in any of these steps"
        )
    return lines


def _simplest(divergence: Divergence) -> str:
    return divergence.relations[0].text if divergence.relations else ""


def _told(divergence: Divergence) -> str:
    if not divergence.relations:
        return "in no relation to the reference that was looked for"
    return "; ".join(relation.text for relation in divergence.relations[:3])


def _step(comparison: Comparison, first: Divergence) -> str:
    flow = comparison.flow
    if flow is None or first.key not in flow.refs:
        return ""
    graph = flow.graph
    node = graph.node(flow.refs[first.key].node)
    if not node.operands:
        return ""
    inner = [graph.tensor_name(ref) for ref in node.operands if ref is not None]
    inner += [f"{key}={value}" for key, value in node.given.items()]
    name = (
        node.name
        if len(node.ports) == 1
        else ", ".join(node.tensor_name(p) for p in range(min(2, len(node.ports))))
    )
    return f"{name} = {node.op.name}({', '.join(inner)})"


def _where(found: TensorComparison) -> str:
    difference = found.difference
    text = ""
    index = found.index
    if index is not None:
        at = difference.first_over if index != _at(found, difference.absolute_at) else difference.absolute_at
        assert at is not None
        row, column = at
        a, b = found.pair.reference.rows[row][column], found.pair.yours.rows[row][column]
        text = f"at {list(index)}   the reference {number(a)}   yours {number(b)}   "
    text += f"{difference.over:,} of {difference.cells:,} cells differ"
    more = []
    if difference.nan:
        more.append(f"{difference.nan:,} are NaN")
    if difference.masked_reference:
        more.append(f"{difference.masked_reference:,} masked in the reference only")
    if difference.masked_yours:
        more.append(f"{difference.masked_yours:,} masked in yours only")
    return text + (f" ({', '.join(more)})" if more else "")


def _at(found: TensorComparison, at: tuple[int, int] | None) -> tuple[int, ...] | None:
    return None if at is None else found.pair.reference.index(*at)


def _agreement(comparison: Comparison) -> list[str]:
    tensors = comparison.tensors
    count = f"{len(tensors)} tensor{'s' if len(tensors) > 1 else ''}"
    if all(t.status == "equal" for t in tensors):
        return [f"the same: {count}, every cell equal"]
    name = comparison.precision.name
    harmless = [t for t in tensors if t.status == "harmless"]
    what = f"rounding to {name}" if name != "float64" else "the rounding of float64"
    if comparison.notes and comparison.notes[0].startswith("tolerance"):
        what = "the tolerance"
    line = f"the same but for {what}: {count}"
    lines = [line]
    worst = max(tensors, key=lambda t: 0.0 if t.status == "harmless" else t.difference.worst)
    lines += _wrapped(
        f"nearest to its limit: {worst.name}, {number(worst.difference.absolute)} apart,"
        f" {100 * worst.difference.worst:.0f} % of what is allowed"
    )
    if harmless:
        names = listed(list(dict.fromkeys(t.name for t in harmless)), 8)
        lines += _wrapped(f"differs without harm, since what is computed from it agrees: {names}")
    return lines


# ---------------------------------------------------------------- remarks


def _remarks(comparison: Comparison) -> list[str]:
    alignment = comparison.alignment
    lines = []
    if (comparison.reference.title, comparison.yours.title) != ("the reference", "yours"):
        lines.append(f"the reference: {comparison.reference.title}   yours: {comparison.yours.title}")
    lines += _hanging("tolerance", comparison.tolerance_text)
    for key, found in comparison.harmless.items():
        told = f"yours is {found.relations[0].text}" if found.relations else "yours differs"
        lines += _hanging("harmless", f"{key}: {told}; everything computed from it agrees")
    carried = [t.name for t in comparison.tensors if t.status == "carried"]
    if carried:
        lines += _hanging("carried", f"{listed(carried)}: beyond the tolerance, but what their own inputs give")
    renamed = _renamed(comparison)
    if renamed:
        lines += _hanging("matched", listed(renamed, 12))
    if alignment.reference_left and len(alignment.reference_left) < len(comparison.reference.tensors):
        lines += _hanging("not in yours", listed(alignment.reference_left))
    if alignment.yours_left:
        lines += _hanging("not in the reference", listed(alignment.yours_left))
    for note in comparison.notes:
        lines += _hanging("note", note)
    return lines


def _renamed(comparison: Comparison) -> list[str]:
    """What was not matched by a name: the reference = yours (by value); the parts of one tensor together."""
    wholes: dict[tuple[str, str], list[str]] = {}
    for found in comparison.tensors:
        if found.pair.how not in ("name", "mapping"):
            wholes.setdefault((found.pair.other, found.pair.how), []).append(found.name)
    return [
        f"{names[0]}{f' … {names[-1]}' if len(names) > 1 else ''} = {other} (by {how})"
        for (other, how), names in wholes.items()
    ]


def _hanging(what: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{what}: {text}", WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def _wrapped(text: str) -> list[str]:
    """Indented lines; runs of blanks, which stand between columns, are kept."""
    return textwrap.wrap(
        text, WIDTH - 2, initial_indent="  ", subsequent_indent="      ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


# ---------------------------------------------------------------- the table


def _table(comparison: Comparison, everything: bool) -> list[str]:
    tensors = comparison.tensors
    shown = [t for t in tensors if everything or t.status not in ("equal", "close")]
    if not shown and comparison.agrees:  # those that came nearest to their limits
        close = [t for t in tensors if t.status != "equal"]
        shown = sorted(close, key=lambda t: -t.difference.worst)[:8]
    head = ("tensor", "shape", "", "absolute", "relative", "ulps", "at")
    rows = [head, *map(_row, shown[: len(shown) if everything else ROWS])]
    if len(rows) == 1:
        return []
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if place in (3, 4, 5) else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells))
    left = len(shown) - (len(rows) - 1)
    if left:
        lines.append(f"… and {left} more")
    agree = sum(t.status in ("equal", "close") for t in tensors)
    if len(rows) - 1 + left < len(tensors):
        lines.append(f"{agree} tensors agree (ulps are of {comparison.precision.name})")
    return lines


def _row(found: TensorComparison) -> tuple[str, ...]:
    difference = found.difference
    return (
        found.name,
        _shape(found.pair.reference.shape),
        found.status,
        number(difference.absolute),
        number(difference.relative),
        f"{difference.ulps:.3g}",
        "" if found.index is None else str(list(found.index)),
    )


def number(x: float) -> str:
    """A number in a report: six digits, no −0."""
    if isinstance(x, bool):
        return str(x)
    if x != x:
        return "NaN"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return f"{x + 0.0:.6g}"


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) or "scalar"


# ---------------------------------------------------------------- data


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """As dicts and lists that JSON can hold; infinities and NaN are texts."""
    return {
        "format": "graphattn comparison",
        "version": 1,
        "agrees": comparison.agrees,
        "precision": comparison.precision.name,
        "tolerance": comparison.tolerance_text,
        "first": None if comparison.first is None else _divergence_data(comparison.first),
        "divergences": [_divergence_data(d) for d in comparison.divergences],
        "harmless": {
            key: [_relation_data(relation) for relation in found.relations]
            for key, found in comparison.harmless.items()
        },
        "not in yours": comparison.alignment.reference_left,
        "not in the reference": comparison.alignment.yours_left,
        "notes": comparison.notes,
        "tensors": [_tensor_data(t) for t in comparison.tensors],
    }


def _divergence_data(divergence: Divergence) -> dict[str, Any]:
    return {
        "tensor": divergence.comparison.name,
        "yours": divergence.comparison.pair.yours.name,
        "inputs": list(divergence.inputs),
        "not recorded between": list(divergence.between),
        "relations": [_relation_data(relation) for relation in divergence.relations],
    }


def _relation_data(relation: Any) -> dict[str, Any]:
    return {"kind": relation.kind, "text": relation.text, "detail": _plain(relation.detail)}


def _tensor_data(found: TensorComparison) -> dict[str, Any]:
    difference, pair = found.difference, found.pair
    return {
        "name": found.name,
        "yours": pair.yours.name,
        "matched by": pair.how,
        "shape": list(pair.reference.shape),
        "shape in yours": list(pair.yours.shape),
        "status": found.status,
        "cells": difference.cells,
        "cells that differ": difference.over,
        "absolute": _plain(difference.absolute),
        "relative": _plain(difference.relative),
        "ulps": _plain(difference.ulps),
        "at": None if found.index is None else list(found.index),
        "nan": difference.nan,
        "masked in the reference only": difference.masked_reference,
        "masked in yours only": difference.masked_yours,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
