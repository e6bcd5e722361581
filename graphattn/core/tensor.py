"""The handle that builders return: one output of one node, on which Python's operators build nodes.

>>> from graphattn.core.graph import Graph
>>> g = Graph("example")
>>> x = g.input("x", shape=(2, 3), axes=("token", "feature"))
>>> (x @ x.T).name
'matmul_x_transpose_x'
"""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any

from . import nested, refused
from .axes import Spec, describe
from .elsewhere import attribute
from .errors import GraphError
from .node import Node, Ref
from .op import OPS

if TYPE_CHECKING:
    from .graph import Graph


ARITHMETIC = ("add", "subtract", "multiply", "divide", "matmul")
"""The ops of Python's operators, which go by these names in numpy too."""


class Tensor:
    """A symbolic tensor: one output of one node of a graph. `@ + - * /` and `.T` build nodes."""

    __slots__ = ("_ref", "graph")

    def __init__(self, graph: Graph, ref: Ref) -> None:
        self.graph = graph
        self._ref = ref

    @property
    def ref(self) -> Ref:
        return self.graph.current(self._ref)

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
        return Sizes(self.spec.shape)

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

    def named(self, name: str) -> Tensor:
        """This tensor, with a name for its node, which was given none: `(q @ k.T).named("scores")`."""
        return self.graph.named(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        hint = attribute(name) or (f"; g.{name}(x) adds that node" if name in OPS else "")
        raise AttributeError(f"a Tensor has no {name!r}{hint}")

    def __pow__(self, other: Any) -> Tensor:
        instead = {2: "x * x", 0.5: "g.sqrt(x)", -1: "1 / x"}.get(
            other if isinstance(other, (int, float)) else 0
        )
        raise GraphError(
            f"{self.name} ** {nested.shown(other)} is no op here; expected {instead or 'a product, like x * x'}"
        )

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

    def __getitem__(self, at: Any) -> Tensor:
        """Part of it: x[0], x[:, 1:3], x[..., -1], x[::2]."""
        return self.graph.slice(self, _subscript(at, self.name))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, (Tensor, int, float)):
            raise GraphError(refused.SAME.format(name=self.name))
        return NotImplemented

    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """What numpy does where it meets a tensor: its + - * / and @ are ours."""
        name = str(ufunc.__name__)
        name = "divide" if name == "true_divide" else name
        if method == "__call__" and name in ARITHMETIC and not options:
            return self.graph.apply(name, *operands)
        called = name if method == "__call__" else {"add": "sum", "maximum": "max"}.get(name, name)
        raise GraphError(
            f"np.{called} computes with numbers, and {self.name} has none while the graph is built"
            + attribute(called)
        )

    def __repr__(self) -> str:
        return f"{self.name}: {describe(self.spec)}"


refused.refuse(Tensor, refused.OF_TENSORS)


class Sizes(tuple[int, ...]):
    """The shape of a tensor: a tuple, which says so where it is called."""

    __slots__ = ()

    def __call__(self, *_: Any) -> Any:
        raise GraphError(f"shape is a tuple, which is not called; expected .shape without (): {tuple(self)}")


class Tensors(tuple[Tensor, ...]):
    """The outputs of one node: a tuple, whose items go by the names of the outputs too (`.weights`)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Tensor:
        ports = self[0].node.ports
        if name in ports:
            return self[ports.index(name)]
        raise AttributeError(f"{self[0].node.name} has no output {name!r}; expected one of {', '.join(ports)}")


Operand = Tensor | int | float


def _subscript(at: Any, name: str) -> str:
    """What stands between the brackets of x[…], as text."""
    return ", ".join(_index(part, name) for part in (at if isinstance(at, tuple) else (at,)))


def _index(part: Any, name: str) -> str:
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        ends = ["" if end is None else _index(end, name) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    if not isinstance(part, bool):
        with suppress(TypeError):
            return str(index(part))
    raise GraphError(
        f"{name} is indexed with a {type(part).__name__}; expected ints, slices and ... (embedding takes"
        " rows by index)"
    )
