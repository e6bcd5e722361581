"""compare(reference, yours): where two recordings of the same computation part, and what the relation is there.

    comparison = compare(trace, "port.json")
    comparison.agrees          False
    print(comparison)          what is wrong, where, and a table of every tensor
    comparison.first           the first divergence: its tensor, its inputs, its relation

`reference` is a trace, a graph (which is run on the inputs that yours recorded), or whatever `yours` may be: a
dict of tensors of any framework, or the path of a file or folder (`recording.read`). Tensors are matched by
`alignment.align`. Two cells agree within the tolerance; masked cells agree with masked cells; NaN agrees with
nothing.

The first divergence is the first tensor whose inputs agree and that does not itself. A tensor that differs
though everything computed from it agrees (a query that was scaled early, 1 added to all visible scores)
is harmless: it is told, and is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.words import listed, sizes
from .alignment import Alignment, align
from .alignment.by_mapping import read_names
from .blind_rows import BlindRows
from .cell_classes import Rules
from .comparison import Comparison as Comparison
from .comparison import Divergence as Divergence
from .comparison import TensorComparison as TensorComparison
from .feeding import run_on
from .gradients import with_gradients
from .judging import judge
from .matched import Matched
from .reading import read
from .recording import Recording
from .tolerance import Tolerances


def compare(
    reference: Any,
    yours: Any,
    *,
    names: Mapping[str, str] | None = None,
    by: str = "name",
    precision: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    nan_equal: bool = False,
    masked_below: float | None = None,
    empty: str | None = None,
    feeds: Mapping[str, Any] | None = None,
    level: str | None = None,
    engine: str | None = None,
) -> Comparison:
    """Compare two recordings (see the module's docstring).

    names: {reference: yours} for tensors whose names differ; `head*.weights` stands for all heads, and
    `attn[0, 1]` for a part. by: "value" ignores names. precision: float64, float32, bfloat16 or float16, from
    which, and from the length of each sum, tolerances are derived; without it, the coarser of what the numbers
    themselves hold. rtol, atol: |yours − reference| ≤ atol + rtol · |reference| instead. nan_equal: NaN agrees
    with NaN. masked_below: what is this small or smaller is masked too. empty: what yours gives for a row that
    sees nothing: "zero", "nan", "uniform" or "any"; without it, such rows are compared as they are. feeds,
    level, engine: for a graph, what to run it on (unless yours recorded its inputs), how far to zoom in and
    what computes it.

    Raises a `GraphError` where something cannot be read, or nothing can be compared.
    """
    names = read_names(names)
    other, notes = read(yours, "yours"), ()
    if isinstance(reference, Graph):
        graph, names, feeds, said = with_gradients(reference, other, names, feeds)
        reference, notes = run_on(graph, other, names, feeds, level, engine)
        notes = (*notes, *said)
    own = read(reference, "the reference")
    other.need_numbers({*_names(own), *names.values()})
    own.need_numbers({*_names(other), *names})
    alignment = align(own, other, names, by)
    matched = Matched(own, other, alignment)
    if not alignment.pairs and not _is_result(matched):
        raise _nothing_in_common(own, other, alignment)
    tolerances = Tolerances(matched, precision, rtol, atol)
    rules = Rules(nan_equal, masked_below, tolerances.precision)
    return judge(matched, tolerances, rules, BlindRows(matched, empty), notes)


def _is_result(matched: Matched) -> bool:
    """Whether nothing but one computed tensor was recorded, of another shape than it should have."""
    return len(matched.by_key) == len(matched.yours.tensors) == 1 and not any(
        map(matched.is_input, matched.by_key)
    )


def _names(recording: Recording) -> set[str]:
    """What its tensors are called, as results of a graph too."""
    return {*recording.tensors, *(recording.trace.graph.outputs if recording.trace else ())}


def _nothing_in_common(reference: Recording, yours: Recording, alignment: Alignment) -> GraphError:
    if alignment.misfits:
        a, b = alignment.misfits[0]
        return GraphError(
            f"{b.name} is {sizes(b.shape)} in yours and {sizes(a.shape)} in the reference;"
            " expected two recordings of the same sizes"
        )
    pairs = product(reference.tensors.items(), yours.tensors.items())
    alike = ((a, b) for (a, mine), (b, theirs) in pairs if mine.shape == theirs.shape)
    ours, other = next(alike, (next(iter(reference.tensors), "x"), next(iter(yours.tensors), "y")))
    return GraphError(
        f"no tensor of yours ({listed(list(yours.tensors), 4)}) is one of the reference"
        f" ({listed(list(reference.tensors), 4)}), by name, by value or by relation;"
        f" expected names={{{ours!r}: {other!r}}}, the name in the reference first"
    )
