"""ONNX operators as methods: what the `onnx` rule of an op writes with.

    def onnx(o, x, *, axis):
        y = o.Softmax(x, axis=axis)
        return o.Where(o.IsInf(o.ReduceMax(x, (axis,)), detect_positive=0), 0.0, y)

An operand of the rule has the `shape`, `rank`, `size` and `kind` of a tensor. Besides tensors, an operator
takes plain numbers, which become initializers: 0.5 (a float of the model's type), 3, True, and (0, 1) as a
row of integers; None is an input that is left out. What an operator returns is a tensor, several with
`outputs=`, and goes into the next. The rule returns the op's results.

`o.has("Gelu")` tells whether an operator may be used: there is one in the opset, and the runtime that the
model is for computes it in the model's type. `o.exact` asks for the same results as ours for every input,
infinities and NaN too, `o.absorbs` for factors of 0 that hide these; `o.say(...)` tells what is lost where
that is not asked for. `o.holds(eps)` tells whether an attribute, which is a float32, holds a number as the
model's type does. With `o.together`, the heads of an attention may be written as one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from ...core.axes import Spec
from ...core.errors import GraphError

Lacking = frozenset[tuple[str, str]]
"""Operators, each with the kind of cells (float, int, bool) for which a runtime has no kernel."""


@dataclass(frozen=True)
class Target:
    """What is written for: an opset, the float type, and what a runtime lacks."""

    opset: int
    numbers: str = "float32"
    attention: str = "whole"
    exact: bool = False
    absorbing: frozenset[str] | None = None
    """The nodes in which a factor of 0 hides infinity and NaN; None = all, where `exact`."""
    lacking: Lacking = frozenset()

    @property
    def double(self) -> bool:
        return self.numbers == "float"


class Value:
    """A tensor of the model: its name once it has one, and its kind; `spec` where it is known."""

    __slots__ = ("kind", "known", "name")

    def __init__(self, name: str, kind: str, spec: Spec | None = None) -> None:
        self.name, self.kind, self.known = name, kind, spec

    @property
    def spec(self) -> Spec:
        assert self.known is not None, "only what a rule is given has a shape"
        return self.known

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def rank(self) -> int:
        return self.spec.rank

    @property
    def size(self) -> int:
        return self.spec.size


@dataclass
class Written:
    """One ONNX node: operator, inputs (None = left out), outputs, attributes."""

    operator: str
    inputs: list[Value | None]
    outputs: list[Value]
    attributes: Mapping[str, Any]


@dataclass
class Initializer:
    """A tensor that is part of the model: its cells as nested lists or flat, and their kind."""

    value: Value
    cells: Any
    shape: tuple[int, ...]


@dataclass
class Fragment:
    """What one node of a graph becomes."""

    nodes: list[Written] = field(default_factory=list)
    initializers: list[Initializer] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)
    """The operators that are computed in float32 although the model is in doubles."""


class Operators:
    """The operators for one node (see the module's docstring). Its names begin with that of the node."""

    def __init__(
        self, target: Target, name: str, always_visible: Callable[[Value, int], bool] = lambda x, axis: False
    ) -> None:
        self.target = target
        self.name = name
        self.exact = target.exact
        self.absorbs = target.exact if target.absorbing is None else name in target.absorbing
        self.together = target.attention == "whole"
        self.fragment = Fragment()
        self._always_visible = always_visible
        self._taken: dict[str, int] = {}

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("_"):
            raise AttributeError(operator)
        return partial(self.add, operator)

    # ------------------------------------------------------------ what can be said

    def has(self, operator: str, kind: str = "float", since: int = 1) -> bool:
        """Whether the operator may be used on cells of this kind, as it is from opset `since` on."""
        if operator == "Attention" and self.target.attention == "decomposed":
            return False
        return (
            self.target.opset >= since
            and (operator, kind) not in self.target.lacking
            and schema_of(operator, self.target.opset) is not None
        )

    def holds(self, number: float) -> bool:
        """Whether an attribute holds this number as the model's type does."""
        return not self.target.double or struct.unpack("f", struct.pack("f", number))[0] == number

    def say(self, sentence: str) -> None:
        """Tell what the model does not do as the graph does."""
        self.fragment.said.append(sentence)

    def always_visible(self, x: Value, axis: int) -> bool:
        """Whether every line of x along an axis has a cell that no mask can hide."""
        return not self.exact and self._always_visible(x, axis)

    # ------------------------------------------------------------ initializers

    def full(self, shape: Sequence[int], number: float) -> Value:
        """A tensor of floats that are all one number."""
        size = 1
        for count in shape:
            size *= count
        return self._initializer("full", [number] * size, tuple(shape), "float")

    def floats(self, numbers: Iterable[float]) -> Value:
        """A row of floats."""
        row = list(numbers)
        return self._initializer("row", row, (len(row),), "float")

    def integers(self, numbers: Iterable[int], shape: Sequence[int] | None = None) -> Value:
        """A row of integers, or a tensor of that shape."""
        row = list(numbers)
        return self._initializer("row", row, (len(row),) if shape is None else tuple(shape), "int")

    def _initializer(self, what: str, cells: Any, shape: tuple[int, ...], kind: str) -> Value:
        value = Value(self._new(what), kind, Spec(shape, kind=kind))
        self.fragment.initializers.append(Initializer(value, cells, shape))
        return value

    def _given(self, x: Any, what: str) -> Value | None:
        if x is None or isinstance(x, Value):
            return x
        if isinstance(x, tuple):
            return self._initializer(what, list(x), (len(x),), "int")
        kind = {bool: "bool", int: "int", float: "float"}[type(x)]
        return self._initializer(what, [x], (), kind)

    def _new(self, what: str) -> str:
        count = self._taken[what] = self._taken.get(what, 0) + 1
        return f"{self.name}/{what}" + (f"_{count - 1}" if count > 1 else "")

    # ------------------------------------------------------------ nodes

    def add(self, operator: str, *inputs: Any, outputs: int | None = None, **attributes: Any) -> Any:
        """Write one operator; its result, or a tuple of them where `outputs` says how many."""
        schema = schema_of(operator, self.target.opset)
        if schema is None:
            raise GraphError(f"{self.name!r} needs {operator}, which opset {self.target.opset} does not have")
        names = [p.name for p in schema.inputs]
        given = [self._given(x, names[min(i, len(names) - 1)]) for i, x in enumerate(inputs)]
        while given and given[-1] is None:
            given.pop()
        kinds = [_kind(schema, port, given) for port in range(outputs or 1)]
        single = self.target.double and (operator, "float") in self.target.lacking and "float" in {
            x.kind for x in given if x is not None
        }  # fmt: skip
        if single:
            self.fragment.single.append(operator)
            given = [self._cast(x, "float32") for x in given]
        results = [Value(self._new(operator), kind) for kind in kinds]
        self.fragment.nodes.append(Written(operator, given, results, attributes))
        if single:
            results = [self._cast(x, "float") for x in results]
        return results[0] if outputs is None else tuple(results)

    def Reshape(self, x: Value, shape: tuple[int, ...]) -> Any:
        """Written so that a size of 0 is one."""
        return self.add("Reshape", x, shape, **({"allowzero": 1} if 0 in shape else {}))

    def _cast(self, x: Any, numbers: str) -> Any:
        if x is None or x.kind != "float":
            return x
        result = Value(self._new("Cast"), "float")
        self.fragment.nodes.append(Written("Cast", [x], [result], {"to": numbers}))
        return result


@cache
def schema_of(operator: str, opset: int) -> Any:
    """The schema of a standard operator in an opset; None where there is none."""
    import onnx

    try:
        schema = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _kind(schema: Any, port: int, inputs: Sequence[Value | None]) -> str:
    """The kind of an output: that of the inputs of its type, or what its type alone tells."""
    formal = schema.outputs[min(port, len(schema.outputs) - 1)].type_str
    for i, x in enumerate(inputs):
        if x is not None and schema.inputs[min(i, len(schema.inputs) - 1)].type_str == formal:
            return x.kind
    allowed = {formal}
    for constraint in schema.type_constraints:
        if constraint.type_param_str == formal:
            allowed = set(constraint.allowed_type_strs)
    if allowed == {"tensor(bool)"}:
        return "bool"
    return "int" if "tensor(int64)" in allowed and "tensor(float)" not in allowed else "float"
