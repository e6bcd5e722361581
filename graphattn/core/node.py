"""The records that a graph is made of: nodes, references to their outputs, scopes. All are immutable.

A `Node` says what it computes (op, attributes), from what (operands, in the order of the op's
signature) and what comes out (a `Spec` for each port). A `Ref` is one output of one node, by the
node's name, so a record refers to no graph and may be taken over into another.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from .axes import Spec
from .op import Op

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No attributes."""


class Ref(NamedTuple):
    """One output of one node."""

    node: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph. `operands` holds None where an optional operand is left out."""

    name: str
    op: Op
    operands: tuple[Ref | None, ...]
    attributes: Mapping[str, Any]
    outputs: tuple[Spec, ...]
    ports: tuple[str, ...]
    """The names of the outputs; ("",) where there is one."""
    title: str | None = None
    scope: str | None = None

    def tensor_name(self, port: int = 0) -> str:
        """The node's own name, or `node.port` where it has several outputs."""
        return f"{self.name}.{self.ports[port]}" if self.ports[port] else self.name

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """The name of each output."""
        return (self.name,) if self.ports == ("",) else tuple(map(self.tensor_name, range(len(self.ports))))

    @property
    def given(self) -> dict[str, Any]:
        """The attributes that differ from the op's defaults."""
        defaults = self.op.defaults
        return {k: v for k, v in self.attributes.items() if not _same(v, defaults[k])}

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (Node, *_fields(self))


@dataclass(frozen=True, slots=True)
class Scope:
    """A group of nodes: what a composite was expanded into, or a part that the user named.

    For an expanded composite `op`, `operands`, `attributes` and `outputs` are those of the node
    that was there; a plain group has op None. Its nodes are those whose scope it is.
    """

    name: str
    op: Op | None = None
    operands: tuple[Ref | None, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    outputs: tuple[Ref, ...] = ()
    ports: tuple[str, ...] = ()
    title: str | None = None
    parent: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (Scope, *_fields(self))


Record = TypeVar("Record", Node, Scope)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def immutable(record: Record) -> Record:
    """The record, with attributes that nobody changes who holds a dict of them."""
    if type(record.attributes) is MappingProxyType:
        return record
    return replace(record, attributes=MappingProxyType(dict(record.attributes)))


def _fields(record: Node | Scope) -> list[Any]:
    """What the record holds, its attributes as a dict that can be pickled."""
    values = (getattr(record, name) for name in type(record).__dataclass_fields__)
    return [dict(value) if isinstance(value, MappingProxyType) else value for value in values]


def _again(kind: Any, *fields: Any) -> Any:
    """The record again, from a pickle or for a copy."""
    return immutable(kind(*fields))


class Nodes(Mapping[str, Node]):
    """The node records on a DAG, by name, in canonical order: a view, which changes with it.

    `table` is the DAG's own table of nodes, each with its record as `node`.
    """

    __slots__ = ("table",)

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table

    def __getitem__(self, name: str) -> Node:
        return self.table[name]["node"]

    def __contains__(self, name: object) -> bool:
        return name in self.table

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def get(self, name: str, default: Any = None) -> Any:
        """The record of that name, or `default`."""
        found = self.table.get(name)
        return default if found is None else found["node"]

    def values(self) -> ValuesView[Node]:
        """The records, in canonical order."""
        return _Values(self)

    def items(self) -> ItemsView[str, Node]:
        """Names and records, in canonical order."""
        return _Items(self)

    def records(self) -> Iterator[Node]:
        """The records, in canonical order."""
        return map(itemgetter("node"), self.table.values())

    def __repr__(self) -> str:
        return f"<nodes: {', '.join(self)}>"


class _Values(ValuesView[Node]):
    _mapping: Nodes

    def __iter__(self) -> Iterator[Node]:
        return self._mapping.records()


class _Items(ItemsView[str, Node]):
    _mapping: Nodes

    def __iter__(self) -> Iterator[tuple[str, Node]]:
        return zip(self._mapping, self._mapping.records())
