"""A graph as an engine on scalars has it: each number is a value that knows which it was computed from.

As in micrograd, sums are chains of additions, a quotient is a product with a power of −1, and a number times
itself is a power of 2; what only moves numbers is no step. All of it is read off what the ops say of their
cells (`explain`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from ....core import nested
from ....core.cells import Apply, Cell, Expression, sources
from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ....core.interpreter import padded
from ....core.postorder import postorder
from ....passes.cost import cost
from ....passes.gradient import Tape
from ..intended import Intended

PLUS, MINUS, TIMES, POWER = "sum", "difference", "product", "power"
"""The kinds of values besides functions, which are called by their op."""
MOST = 4000
"""On scalars people write small models: none of more flops is taken for one."""
Index = tuple[int, ...]


class Value(NamedTuple):
    kind: str
    children: tuple[int, ...] = ()
    cell: tuple[Ref, Index] | None = None
    """Where in the graph it stands, if it does."""
    number: float = 1
    """The exponent of a power; the slot of what a function is taken of."""
    node: str = ""
    """The node that is a function."""


class Scalars:
    """All values of a differentiated graph, each after its children. Raises a `GraphError` where the graph is
    too large, where its loss is no single number, and where an op says nothing of its cells that an engine on
    scalars could do."""

    def __init__(self, intended: Intended, tape: Tape) -> None:
        self.intended = intended
        self.source = tape.source
        self.values: list[Value] = []
        self.cells: dict[tuple[Ref, Index], int] = {}
        self.active: set[int] = set()
        """The values to which something is handed back."""
        self._reached = set(tape.tensors.values())
        loss = self.source.resolve(tape.of[0])
        if len(tape.of) > 1 or self.source.spec(loss).size != 1 or cost(self.source).flops > MOST:
            raise GraphError("expected one loss of one cell, and few numbers")
        for node in self.source.nodes.values():
            self._read(node)
        self.root = self.cells[loss, (0,) * self.source.spec(loss).rank]

    def of(self, ref: Ref) -> list[int]:
        """The values of a tensor, cell by cell."""
        return [self.cells[ref, index] for index in product(*map(range, self.source.spec(ref).shape))]

    @property
    def kinds(self) -> list[str]:
        """The kinds of values that hand something back."""
        return list(dict.fromkeys(self.values[n].kind for n in sorted(self.active) if self.values[n].children))

    @property
    def sharing(self) -> set[str]:
        """The kinds of values that hand something to what others hand something to as well."""
        uses = Counter(child for value in self.values for child in value.children)
        shared = {n for n in self.active if uses[n] > 1}
        return {value.kind for value in self.values if not shared.isdisjoint(value.children)}

    def in_place(self) -> Iterator[tuple[Ref, Ref]]:
        """Each tensor that a step reads and could leave its own result in: (it, the result)."""
        for (ref, index), number in self.cells.items():
            operands = () if any(index) else dict.fromkeys(self.source.nodes[ref.node].operands)
            for read in operands:
                if read is None or self.source.spec(read).shape != self.source.spec(ref).shape:
                    continue
                own = self.cells.get((read, index))
                if read.node not in self.source.fed and own in self.values[number].children:
                    yield read, ref

    def _read(self, node: Node) -> None:
        inner = any(ref in self._reached for ref in node.operands)
        for port, spec in enumerate(node.outputs):
            ref = Ref(node.name, port)
            for index in product(*map(range, spec.shape)) if ref in self._reached else ():
                self.cells[ref, index] = self._cell(node, ref, index) if inner else self._leaf(ref, index)
                if not inner:
                    self.active.add(self.cells[ref, index])

    def _cell(self, node: Node, ref: Ref, index: Index) -> int:
        specs = padded(node.op, self.source.operand_specs(node.operands))
        if node.op.explain is None:
            raise GraphError(f"{node.op.name} does not say how its cells come about")
        more = {"port": ref.port} if len(node.ports) > 1 else {}
        told = node.op.told("explain", node.name, index, *specs, **node.attributes, **more)
        return self._value(node, told, (ref, index))

    def _value(self, node: Node, told: Expression, cell: tuple[Ref, Index] | None) -> int:
        match told:
            case Cell():
                return self._operand(node, told)
            case Apply("total", terms) if terms:
                whole = self._value(node, terms[0], None)
                for place, term in enumerate(terms[1:], 2):
                    more = self._value(node, term, None)
                    whole = self._add(Value(PLUS, (whole, more), cell if place == len(terms) else None))
                return whole
            case Apply("add" | "subtract", (Cell() as a, Cell() as b)):
                kind = PLUS if told.function == "add" else MINUS
                return self._add(Value(kind, (self._operand(node, a), self._operand(node, b)), cell))
            case Apply("multiply" | "absorb", (Cell() as a, Cell() as b)):
                both = self._operand(node, a), self._operand(node, b)
                same = both[0] == both[1]
                return self._add(Value(POWER, both[:1], cell, 2) if same else Value(TIMES, both, cell))
            case Apply("divide" | "absorb_divide", (Cell() as a, Cell() as b)):
                inverse = self._add(Value(POWER, (self._operand(node, b),), None, -1))
                return self._add(Value(TIMES, (self._operand(node, a), inverse), cell))
            case Apply("where", (Cell() as condition, Cell() as a, Cell() as b)):
                taken = self._taken(node, condition)
                if taken is not None:
                    return self._operand(node, a if taken else b)
                ways = [cell for cell in (a, b) if node.operands[cell.slot] in self._reached]
                return self._function(node, ways, cell)
        return self._function(node, list(dict.fromkeys(sources(told))), cell)

    def _function(self, node: Node, cells: Sequence[Cell], cell: tuple[Ref, Index] | None) -> int:
        """Of one cell that stands in the same place, whatever else is read that nothing goes back to."""
        if len(cells) != 1 or cell is None or cells[0].index != cell[1] or node.ports != ("",):
            raise GraphError(f"{node.op.name} is no step of an engine on scalars")
        x, slot = self._operand(node, cells[0]), cells[0].slot
        if self.source.operand_specs(node.operands)[slot].shape != node.outputs[0].shape:  # pyright: ignore
            raise GraphError(f"{node.op.name} stretches what it reads")
        return self._add(Value(node.op.title, (x,), cell, slot, node.name))

    def _taken(self, node: Node, condition: Cell) -> bool | None:
        """Which way a condition always goes: one that nothing fed has a part in; and inside an op, the guard of
        a case that is not there, which no engine on scalars has. None where that depends on what is fed."""
        ref = node.operands[condition.slot]
        assert ref is not None
        value = self.intended.values[ref]
        if self.intended.is_known(ref.node):
            for place in condition.index:
                value = value[place]  # pyright: ignore
            return bool(value)
        found = set(nested.flat(value)) if self.intended.is_inside(node) else set()
        return bool(found.pop()) if len(found) == 1 else None

    def _operand(self, node: Node, cell: Cell) -> int:
        ref = node.operands[cell.slot]
        if ref is None or any(isinstance(place, Cell) for place in cell.index):
            raise GraphError(f"which cells {node.name!r} reads depends on what is fed")
        index: Index = cell.index  # pyright: ignore
        return self.cells[ref, index] if (ref, index) in self.cells else self._leaf(ref, index)

    def _leaf(self, ref: Ref, index: Index) -> int:
        found = self.cells[ref, index] = self._add(Value("", (), (ref, index)))
        return found

    def _add(self, value: Value) -> int:
        self.values.append(value)
        if not self.active.isdisjoint(value.children):
            self.active.add(len(self.values) - 1)
        return len(self.values) - 1

    # ------------------------------------------------------------ in which order they are visited

    def sorted(self) -> list[int]:
        """Each after all that read it: the reverse of the order in which a search from the loss leaves them."""
        return self.unsorted()[::-1]

    def unsorted(self) -> list[int]:
        """Each before all that read it."""
        return postorder(self.root, self._children)

    def met(self) -> list[int]:
        """Each when a search from the loss first meets it."""
        return list(dict.fromkeys(self.recursive()))

    def recursive(self) -> Iterator[int]:
        """Each as often as paths lead to it, all that the first child leads to before the second."""
        return self._paths(-1)

    def again(self) -> Iterator[int]:
        """As `sorted` of a search that does not know where it was: the same from the last child on."""
        return self._paths(1)

    def _paths(self, step: int) -> Iterator[int]:
        stack = [self.root]
        while stack:
            number = stack.pop()
            yield number
            stack += self._children(number)[::step]

    def _children(self, number: int) -> list[int]:
        return [child for child in self.values[number].children if child in self.active]


__all__ = ["MINUS", "PLUS", "POWER", "TIMES", "Scalars", "Value"]
