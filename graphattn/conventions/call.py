"""A call of another library in the making: a graph, and what its inputs are fed.

Arguments are nested lists, or anything with `.tolist()`; `.shape` and `.dtype` are read where an
argument has them (numpy arrays, tensors), so that an empty axis and an integer type are seen too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from ..core.specimen import Specimen
from ..core.words import sizes

MASK = ("bool", "float")
"""What a mask may hold; which of its bools hides is the adapter's to say."""


class Call:
    """The graph of one call; `specimen()` is what it has become."""

    def __init__(self, name: str, title: str = "", graph: Graph | None = None) -> None:
        self.graph = Graph(name, title) if graph is None else graph
        self.feeds: dict[str, Any] = {}
        self._fed: dict[tuple[int, str], Tensor] = {}
        self._held: list[Any] = []

    def input(
        self,
        name: str,
        value: Any,
        axes: Sequence[str | None] | None = None,
        kinds: Sequence[str] = ("float",),
        title: str | None = None,
    ) -> Tensor:
        """An input of that name, fed with `value`; the very same object given twice is one input.

        kinds: what its cells may be. Where floats are expected, whole numbers are floats too.
        """
        key = (id(value), kinds[0])
        if key not in self._fed:
            self._held.append(value)  # so that nothing else gets its id
            value, shape, kind = read(value, name, kinds)
            known = axes if axes is not None and len(axes) == len(shape) else None
            self._fed[key] = self.graph.input(name, shape, known, kind, title)
            self.feeds[self._fed[key].name] = value
        return self._fed[key]

    def parameter(self, name: str, value: Any, *shape: int | None, where: str = "") -> Tensor:
        """A parameter of that name; `shape` is what it must have (None = any size)."""
        told = where or name
        value, found, _ = read(value, told, ("float",))
        if shape and (len(found) != len(shape) or any(s not in (None, f) for s, f in zip(shape, found))):
            wanted = sizes(shape)
            got = sizes(found)
            raise GraphError(f"{told} is {got}; expected {wanted}")
        tensor = self.graph.parameter(name, found)
        self.feeds[tensor.name] = value
        return tensor

    def specimen(self, **outputs: Tensor) -> Specimen:
        """The call as a graph that is ready to run, with these results."""
        self.graph.output(**outputs)
        return Specimen(self.graph, self.feeds, allow_nonfinite=True)


def read(value: Any, what: str, kinds: Sequence[str]) -> tuple[Any, tuple[int, ...], str]:
    """Nested lists, shape and kind of an argument; a `GraphError` where it is none of `kinds`."""
    shape, dtype = getattr(value, "shape", None), str(getattr(value, "dtype", ""))
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise GraphError(f"{what} is {nested.shown(value)}; expected numbers in nested lists")
    shape = nested.shape_of(value, what) if shape is None else tuple(shape)
    kind = _kind(value, dtype, kinds)
    if kinds == MASK and kind == "int":
        raise GraphError(f"{what} holds integers, which could mean either; expected bools or floats")
    if kind not in kinds:
        raise GraphError(f"{what} holds {kind}; expected {' or '.join(kinds)}")
    return value, shape, kind


def _kind(value: Any, dtype: str, kinds: Sequence[str]) -> str:
    types = set(map(type, nested.flat(value)))
    if types == {bool} or "bool" in dtype:
        return "bool"
    if "int" in dtype or (types == {int} and "float" not in dtype):
        as_floats = "float" in kinds and "bool" not in kinds and "int" not in dtype
        return "float" if as_floats else "int"
    return kinds[0] if not types and "float" not in dtype else "float"


def flag(what: str, value: Any) -> bool:
    """A switch that must be True or False."""
    if not isinstance(value, bool):
        raise GraphError(f"{what} is {nested.shown(value)}; expected True or False")
    return value


def count(what: str, value: Any, least: int = 1) -> int:
    """A number of heads, features, …: an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GraphError(f"{what} is {nested.shown(value)}; expected an int of {least} or more")
    return value


def rank(what: str, tensor: Tensor, *ranks: int) -> int:
    """The rank of a tensor, which must be one of `ranks`."""
    found = len(tensor.shape)
    if found not in ranks:
        raise GraphError(f"{what} has rank {found}; expected rank {' or '.join(map(str, ranks))}")
    return found


def both_masks(graph: Graph, shown: list[Tensor], added: list[Tensor]) -> Tensor | None:
    """One mask that hides what any of `shown` (bool, True = may attend) hides, and adds all of
    `added` (float; −∞ hides)."""
    visible = bias = None
    for mask in shown:
        visible = mask if visible is None else graph.logical_and(visible, mask)
    for mask in added:
        bias = mask if bias is None else graph.add(bias, mask)
    if bias is None or visible is None:
        return visible if bias is None else bias
    return graph.mask(bias, visible, name="masks_together", title="masks")
