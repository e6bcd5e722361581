"""The names of a graph: which are taken, what each stands for, and how a node is called that was given none.

Names are identifiers joined by dots. What stands before a dot is an owner: a node keeps all names that
begin with its own for its expansion, and a scope those of its nodes. Besides nodes and scopes, aliases
and outputs have names; they stand for tensors, and share the one space with them.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from . import nested
from .errors import GraphError, suggest
from .node import Node, Nodes, Ref, Scope
from .op import Op


class Names:
    """What the names of one graph stand for. `nodes` is a view of the graph's nodes; the tables of
    scopes, aliases and outputs are held here."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._table = nodes.table
        self.scopes: dict[str, Scope] = {}
        self.aliases: dict[str, Ref] = {}
        self.outputs: dict[str, Ref] = {}
        self.unnamed: set[str] = set()
        """The nodes that were given no name, until somebody looks at the graph."""
        self.former: dict[str, str] = {}
        """The names that nodes had until they were given one: these find them still."""
        self._owners: set[str] = set()
        """What stands before a dot in the name of a node or an output."""
        self._counts: dict[str, int] = {}
        self._endings: dict[str, list[Ref]] | None = None

    # ------------------------------------------------------------ what is there

    def all(self) -> Iterator[str]:
        """Every name of a tensor, those of nodes first."""
        for node in self.nodes.values():
            for port in range(len(node.ports)):
                yield node.tensor_name(port)
        yield from self.aliases
        yield from self.outputs

    def exactly(self, name: str) -> Ref | None:
        """The output that has this very name, or None."""
        node = self.nodes.get(name)
        if node is not None and len(node.ports) == 1:
            return Ref(name)
        for table in (self.aliases, self.outputs):
            if name in table:
                return table[name]
        if name in self.former:
            return Ref(self.former[name])
        owner, _, port = name.rpartition(".")
        node = self.nodes.get(owner) if port else None
        return Ref(owner, node.ports.index(port)) if node is not None and port in node.ports else None

    def endings(self) -> dict[str, list[Ref]]:
        """Every dotted ending of a tensor's name, and the tensors whose names end so."""
        if self._endings is None:
            endings: dict[str, list[Ref]] = {}
            for name in self.all():
                ref = self.exactly(name)
                parts = name.split(".")
                for start in range(1, len(parts)):
                    refs = endings.setdefault(".".join(parts[start:]), [])
                    if ref is not None and ref not in refs:
                        refs.append(ref)
            self._endings = endings
        return self._endings

    def abridged(self, name: str) -> list[Ref]:
        """The tensors of whose names this is one with parts left out: `layer0.weights` of
        `layer0.attention.head0.weights`."""
        known = [full for full in self.all() if full.endswith(name[-1:]) and _abridges(name, full)]
        return list(dict.fromkeys(ref for full in known if (ref := self.exactly(full)) is not None))

    def matching(self, pattern: str) -> list[str]:
        """The tensor names that match a pattern (`*.weights`); where none does, those with an ending that
        does (`head0.weights.*`)."""
        names = list(self.all())
        found = [name for name in names if fnmatchcase(name, pattern)]
        if found or not any(sign in pattern for sign in "*?["):
            return found
        return [name for name in names if fnmatchcase(name, f"*.{pattern}")]

    def inside(self, name: str) -> list[str]:
        """The tensors in the only node or scope of that name, of which parts may be left out."""
        larger = {owner for full in self.all() for owner in owners(full) if _abridges(name, owner)}
        return [full for full in self.all() if full.startswith(f"{min(larger)}.")] if len(larger) == 1 else []

    def similar(self, name: str) -> str:
        """`; did you mean …?` for a name that is not there."""
        return suggest(name, [*self.all(), *self.endings()])

    # ------------------------------------------------------------ what is taken

    def taken(self, name: str) -> bool:
        """Whether a node, a port, a scope, an alias or an output has this name, or a node had it."""
        if name in self._table or name in self.scopes or name in self.aliases or name in self.outputs:
            return True
        if name in self.former:
            return True
        if "." not in name:
            return False
        owner, _, port = name.rpartition(".")
        return owner in self._table and port in self.nodes[owner].ports

    def owns(self, name: str) -> bool:
        """Whether there are names that begin with `name` and a dot."""
        return name in self._owners

    def free(self, name: str) -> bool:
        """Whether a node may have this name: it is not taken, and none begins with it and a dot."""
        return name not in self._owners and not self.taken(name)

    def need_free(self, name: str, what: str, here: str | None) -> None:
        """Refuse a name that is not free for a node, or that belongs to another owner."""
        if self.taken(name):
            raise GraphError(f"{what}: the name is taken; expected a new one")
        if self.owns(name):
            raise GraphError(f"{what}: names that begin with '{name}.' are taken; expected a new name")
        self.need_free_owners(name, what, here)

    def need_free_owners(self, name: str, what: str, here: str | None) -> None:
        """Refuse `a.b` where a node `a` keeps such names for its expansion, or `a` is a scope that
        is not open (`here` is the one that is)."""
        if "." not in name:
            return
        inside = f"{here}." if here else ""
        for owner in owners(name):
            if owner in self.nodes or (owner in self.scopes and not inside.startswith(f"{owner}.")):
                raise GraphError(
                    f"{what}: names that begin with '{owner}.' belong to {owner!r}; expected another name"
                )

    def automatic(self, base: str) -> str:
        """`base`, or the first of base_1, base_2, … that is free."""
        name, count = base, self._counts.get(base, 0)
        while not self.free(name):
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        return name

    # ------------------------------------------------------------ what happens to the graph

    def entered(self, name: str) -> None:
        """A node or an output came."""
        if "." in name:
            self._owners.update(owners(name))
        self._endings = None

    def changed(self) -> None:
        """An alias, an output or a scope came or went."""
        self._endings = None

    def withdrawn(self) -> None:
        """The newest nodes were taken back."""
        self._counts.clear()
        self._endings = None


def _abridges(name: str, full: str) -> bool:
    """Whether a dotted name is another one from which parts before the last are left out."""
    rest = iter(full.split("."))
    parts = name.split(".")
    return full.rpartition(".")[2] == parts[-1] and all(part in rest for part in parts)


def check_name(name: Any) -> None:
    """Raise a `GraphError` unless `name` is identifiers joined by dots."""
    if not isinstance(name, str):
        raise GraphError(f"a name must be text, got {nested.shown(name)}")
    if not all(map(_is_identifier, name.split("."))):
        near = re.sub(r"[^\w.]+", "_", name).strip("_")
        meant = f"; did you mean {near!r}?" if all(map(_is_identifier, near.split("."))) else ""
        raise GraphError(
            f"{name!r} is not a name; expected identifiers joined by dots, like head0.weights"
            f" (free text goes into titles){meant}"
        )


@lru_cache(maxsize=1024)
def _is_identifier(part: str) -> bool:
    """Whether a part of a name is one, spelled as Python spells it; the same few come again and again."""
    return part.isidentifier() and not keyword.iskeyword(part) and unicodedata.normalize("NFKC", part) == part


def free_text(text: Any, what: str) -> str:
    """A title, or a `GraphError`."""
    if not isinstance(text, str):
        raise GraphError(f"{what} is {nested.shown(text)}; expected text")
    return text


def owners(name: str) -> list[str]:
    """Every proper dotted prefix of a name.

    >>> owners("block.head0.weights")
    ['block', 'block.head0']
    """
    return [name[:place] for place, letter in enumerate(name) if letter == "."]


def described(op: Op, operands: Sequence[tuple[Node, int]]) -> str:
    """The name of a node that was given none: its op and its operands (nodes and their ports). It says what
    was done, so adding an unrelated node does not change it. Where it grows long, the operands' ops and a
    checksum stand for their names."""
    words = [(node.name.rpartition(".")[2], node.ports[port]) for node, port in operands]
    name = "_".join([op.name, *(word for pair in words for word in pair if word)])
    if len(name) <= 32:
        return name
    checksum = zlib.crc32(name.encode()) & 0xFFFF
    return "_".join([op.name, *(node.op.name for node, _ in operands), f"{checksum:04x}"])


def automatic(own: str, op: Op) -> bool:
    """Whether the last part of a name says no more than the op: matmul, matmul_q_k, softmax_1."""
    return own == op.name or own.startswith(f"{op.name}_")


def spelled(value: float) -> str:
    """A number as part of a name: 0.5 is 0_5, -1e-05 is minus_1e_minus_05."""
    return repr(value).replace("e-", "e_minus_").replace("e+", "e").replace("-", "minus_").replace(".", "_")
