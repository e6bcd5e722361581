"""Which tensor of yours is which of the reference: by a given mapping, by name, by value, by place.

    align(reference, yours, names=None, by="name") -> Alignment

In turn, each tensor of yours that is not placed yet is looked for

1. in `names`, {reference: yours}; yours may be a part, `attn[0, 1]`, the reference a family, `head*.weights`;
2. by name: the same, an unambiguous ending, or the same words in any order (`weights.h0` is `head0.weights`);
3. by value, within what rounding explains many times over: so names may differ and steps be fused, split
   or reordered;
4. by relation: what is left and is the reference times a factor, transposed, …; and what follows such a
   tensor by value again, against a run of the reference that goes on from it;
5. by its place between tensors that are matched, where shapes leave one choice.

Heads are taken out of what holds them together: a family of tensors whose names differ by one number is
also one tensor (h, n, m); columns of three projections side by side are cut. Leading axes of size 1 do not
count, nor does a shape that lists the same cells in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....core.errors import GraphError
from ..recording import Recording
from .alike import alike, near_by_value
from .by_mapping import by_mapping
from .by_name import by_name, numbered
from .by_place import by_place
from .by_relation import by_relation
from .by_value import by_value
from .families import families as families
from .matching import Alignment as Alignment
from .matching import Matching
from .matching import Pair as Pair
from .names import words as words

BY = ("name", "value")


def align(
    reference: Recording, yours: Recording, names: Mapping[str, str] | None = None, by: str = "name"
) -> Alignment:
    """The alignment of two recordings (see the module's docstring)."""
    if by not in BY:
        raise GraphError(f"by is {by!r}; expected 'name' or 'value'")
    matching = Matching(reference, yours, near_by_value(reference, yours))
    by_mapping(matching, names or {})
    by_names = (by_name, by_value, numbered) if by == "name" else (by_value,)
    for match in (*by_names, by_relation, by_place):
        if not matching.done:
            match(matching)
    return matching.result()


def agreeing(reference: Recording, yours: Recording) -> int:
    """How many tensors of yours agree with one of the reference, roughly."""
    own = reference.tensors
    if all(n in own and own[n].shape == t.shape and alike(own[n], t) for n, t in yours.tensors.items()):
        return len(yours.tensors)
    matching = Matching(reference, yours, near_by_value(reference, yours))
    by_name(matching)
    by_value(matching)
    wrong = {p.other for p in matching.pairs if not alike(p.reference, p.yours, matching.near)}
    return len(matching.used_yours - wrong - {misfit.name for _, misfit in matching.misfits})
