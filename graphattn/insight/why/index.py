"""The index of a cell: read from numbers and labels, and shown with labels where axes have them.

A place on an axis is given by its number (negative: from the end), by its label, or as it is shown:
`the`, or `q₆` where several tokens are called `q` and this one stands at place 6. Text of digits is
a number; in double quotes it is a label (`"12"`).

>>> show_index((2, 0), [("the", "cat", "sat"), None])
'[sat, 0]'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError, suggest
from graphattn.core.words import joined, split_subscript, subscript
from graphattn.dumps.literals import quote, shortened, unquote
from graphattn.dumps.table import Pretty

Labels = Sequence[Sequence[str] | None]

FEW = 8


def split_cell(tensor: Any, index: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """A tensor's name and an index, where the two were written as one text, as cells are shown.

    >>> split_cell("head0.weights[sat, 0]", ())
    ('head0.weights', ('sat', '0'))
    """
    if hasattr(tensor, "spec"):  # the tensor itself
        return tensor.name, index
    if index or not isinstance(tensor, str) or not tensor.endswith("]") or "[" not in tensor:
        return tensor, index
    name, _, inside = tensor[:-1].partition("[")
    return name, tuple(place.strip() for place in inside.split(",")) if inside.strip() else ()


def read_index(index: Sequence[Any], spec: Spec, labels: Labels, tensor: str) -> tuple[int, ...]:
    """The index as numbers from 0. Raises a `GraphError` that says what was expected."""
    if len(index) == 1 and isinstance(index[0], (list, tuple)):
        index = index[0]
    if len(index) != spec.rank:
        wanted = "no index" if not spec.rank else f"{spec.rank} {'index' if spec.rank == 1 else 'indices'}"
        raise GraphError(f"{tensor!r} is {describe(spec)}; expected {wanted}, got {len(index)}")
    return tuple(
        _read_place(place, size, names, f"axis {axis or number} of {tensor!r}")
        for number, (place, size, names, axis) in enumerate(zip(index, spec.shape, labels, spec.axes))
    )


def _read_place(place: Any, size: int, names: Sequence[str] | None, where: str) -> int:
    if isinstance(place, str):
        return _read_text(place, size, names, where)
    if isinstance(place, bool) or not hasattr(place, "__index__"):
        raise GraphError(f"{place!r} is no place on {where}; expected a number{' or a label' if names else ''}")
    return _in_range(int(place), size, where)


def _in_range(place: int, size: int, where: str) -> int:
    if not -size <= place < size:
        expected = f"0 to {size - 1}" if size else "none, since it has no cells"
        raise GraphError(f"{_brief(place)} is no place on {where}; expected {expected}")
    return place % size


def _brief(place: int) -> str:
    return str(place) if abs(place) < 10**30 else "an enormous number"


def _read_text(text: str, size: int, names: Sequence[str] | None, where: str) -> int:
    exact = unquote(text) if len(text) > 1 and text[0] == text[-1] == '"' else text
    digits = exact is text and text.isascii() and text.removeprefix("-").isdigit()
    found = [place for place, name in enumerate(names or ()) if name == exact]
    if digits:
        if len(text) > 30:
            raise GraphError(f"{shortened(text)} is no place on {where}; expected a number below {size}")
        if found and found != [int(text)]:
            raise GraphError(
                f"{text!r} is both a number and the label of place {_listed(found)} on {where};"
                f" expected {quote(text)} in its quotes for the label, or {_numbered(text, names)}"
            )
        return _in_range(int(text), size, where)
    if len(found) == 1:
        return found[0]
    if found:
        raise GraphError(
            f"label {shortened(exact)} stands at places {_listed(found)} of {where};"
            " expected one of these numbers"
        )
    place = _shown_place(exact, names)
    if place is not None:
        return place
    if not names:
        raise GraphError(
            f"{where} has no labels, so {shortened(text)} is not among them; expected 0 to {size - 1}"
        )
    known = ", ".join(shortened(name)[1:-1] for name in list(dict.fromkeys(names))[:FEW])
    more = ", …" if len(set(names)) > FEW else ""
    raise GraphError(
        f"there is no label {shortened(exact)} on {where}; expected one of {known}{more},"
        f" or a number{suggest(exact, names)}"
    )


def _numbered(text: str, names: Sequence[str] | None) -> str:
    place = int(text)
    name = names[place] if names and 0 <= place < len(names) else "another label"
    return show_place(place, names, True) if name != "another label" else name


def _shown_place(text: str, names: Sequence[str] | None) -> int | None:
    """The place that `q₆` means."""
    name, place = split_subscript(text)
    if place is None or not names:
        return None
    name = unquote(name) if name.startswith('"') and len(name) > 1 else name
    return place if 0 <= place < len(names) and names[place] == name else None


def _listed(places: Sequence[int]) -> str:
    shown = [str(place) for place in places[:FEW]]
    if len(places) > FEW:
        return ", ".join(shown) + ", …"
    return joined(shown)


def show_place(place: int, names: Sequence[str] | None, numbered: bool | None = None) -> str:
    """A place by its label, with its number as subscript where the label does not tell it apart."""
    if names is None:
        return str(place)
    name = names[place]
    shown = Pretty().label(name)
    if numbered is None:
        numbered = list(names).count(name) > 1
    return shown + subscript(place) if numbered else shown


def show_index(index: Sequence[int | str], labels: Labels) -> str:
    """`[sat, 2]`; '' for the cell of a scalar. Text (a running index) stands for itself."""
    shown = [i if isinstance(i, str) else show_place(i, names) for i, names in zip(index, labels)]
    return f"[{', '.join(shown)}]" if shown else ""
