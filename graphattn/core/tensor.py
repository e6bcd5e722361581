"""The handle that builders return: one output of one node, on which Python's operators build nodes.

>>> from graphattn.core.graph import Graph
>>> g = Graph("example")
>>> x = g.input("x", shape=(2, 3), axes=("token", "feature"))
>>> (x @ x.T).name
'matmul_x_transpose_x'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .axes import Spec, describe
from .errors import GraphError
from .node import Node, Ref

if TYPE_CHECKING:
    from .graph import Graph


class Tensor:
    """A symbolic tensor: one output of one node of a graph. `@ + - * /` and `.T` build nodes."""

    __slots__ = ("graph", "ref")
    __array_ufunc__ = None  # so that numpy leaves `array * tensor` to us

    def __init__(self, graph: Graph, ref: Ref) -> None:
        self.graph = graph
        self.ref = ref

    @property
    def node(self) -> Node:
        return self.graph.node(self.ref.node)

    @property
    def spec(self) -> Spec:
        return self.node.outputs[self.ref.port]

    @property
    def name(self) -> str:
        return self.node.tensor_name(self.ref.port)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def axes(self) -> tuple[str | None, ...]:
        return self.spec.axes

    @property
    def kind(self) -> str:
        return self.spec.kind

    @property
    def symbol(self) -> str:
        """Its short name in formulas and on edges: Q₀, K₀ᵀ, weights."""
        return self.graph.symbol(self.ref)

    @property
    def T(self) -> Tensor:
        """The last two axes swapped."""
        return self.graph.transpose(self)

    def __matmul__(self, other: Operand) -> Tensor:
        return self.graph.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return self.graph.matmul(other, self)

    def __add__(self, other: Operand) -> Tensor:
        return self.graph.add(self, other)

    def __sub__(self, other: Operand) -> Tensor:
        return self.graph.subtract(self, other)

    def __mul__(self, other: Operand) -> Tensor:
        return self.graph.multiply(self, other)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.graph.divide(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return self.graph.add(other, self)

    def __rsub__(self, other: Operand) -> Tensor:
        return self.graph.subtract(other, self)

    def __rmul__(self, other: Operand) -> Tensor:
        return self.graph.multiply(other, self)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self.graph.divide(other, self)

    def __neg__(self) -> Tensor:
        return self.graph.negate(self)

    def __bool__(self) -> bool:
        raise GraphError(
            f"{self.name} has no value while the graph is built; expected no truth test here (use where)"
        )

    def __iter__(self) -> Iterator[Any]:
        raise GraphError(f"{self.name} has no rows while the graph is built; expected no loop over it")

    def __repr__(self) -> str:
        return f"{self.name}: {describe(self.spec)}"


class Tensors(tuple[Tensor, ...]):
    """The outputs of one node: a tuple, whose items go by the names of the outputs too (`.weights`)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Tensor:
        ports = self[0].node.ports
        if name in ports:
            return self[ports.index(name)]
        raise AttributeError(f"{self[0].node.name} has no output {name!r}; expected one of {', '.join(ports)}")


Operand = Tensor | int | float
