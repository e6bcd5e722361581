"""An ONNX operator: a function that adds it to a graph, and the call that makes a `Specimen` of it.

    @operator("output")
    def Softmax(g: Graph, input: Tensor, *, axis: int = -1) -> Outputs: ...

The function's parameters are the schema's: operands, then, after the star, attributes; what stands
in `operator(...)` are the schema's outputs. How an operand is annotated says what its cells may be.
It returns the outputs in their order, fewer than the schema has where the others are left out.

Two further keywords are no attributes of the schema: a function that takes `opset` follows the rules
of that opset (None: the newest), and one that takes `outputs` is told how many outputs its node has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Tensor
from ...core.specimen import Specimen
from ...core.words import sizes
from ..call import MASK, Call, read

Mask = Tensor
Bools = Tensor
Indices = Tensor
Numbers = Tensor
Cells = Tensor
Static = Any
"""An operand that must be known when the graph is built: lengths, sizes, a diagonal."""

KINDS = {
    "Tensor": ("float",),
    "Mask": MASK,
    "Bools": ("bool",),
    "Indices": ("int",),
    "Numbers": ("float", "int"),
    "Cells": ("float", "int", "bool"),
}


@dataclass(frozen=True)
class Inner:
    """An output that stands inside a composite: its name in the graph at level `op`."""

    name: str


Outputs = Sequence[Tensor | Inner]
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: type(value) is int, "an int"),
    "float": (lambda value: type(value) in (int, float), "a number"),
    "str": (lambda value: isinstance(value, str), "text"),
    "list[int]": (
        lambda value: isinstance(value, (list, tuple)) and all(type(n) is int for n in value),
        "a list of ints",
    ),
}
"""What an attribute may be, by how it is annotated."""
OPERATORS: dict[str, Operator] = {}
"""Every operator by its name in ONNX."""


class Operator:
    """One operator; calling it with values gives a `Specimen` (see the module's docstring)."""

    def __init__(self, build: Callable[..., Outputs], outputs: Sequence[str]) -> None:
        self.name, self.build, self.outputs = build.__name__, build, tuple(outputs)
        self.__doc__ = build.__doc__
        parameters = list(inspect.signature(build).parameters.values())[1:]
        self.operands = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.keywords = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)

    def operand(self, slot: int) -> inspect.Parameter:
        """The parameter that the operand in a slot is for."""
        if slot < len(self.operands):
            return self.operands[slot]
        if self.variadic:
            return self.operands[-1]
        raise GraphError(f"{self.name} takes {len(self.operands)} inputs, got {slot + 1} or more")

    def kinds(self, slot: int) -> tuple[str, ...] | None:
        """What the cells of an operand may be; None where it must be known when the graph is built."""
        return KINDS.get(str(self.operand(slot).annotation).removesuffix(" | None"))

    def check(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """The attributes without those left out; refused where the operator has no such one, or where it is
        of another type, or where one is missing."""
        for name, value in attributes.items():
            if name not in self.keywords:
                raise GraphError(f"{self.name} has no attribute {name!r}{suggest(name, self.keywords)}")
            if not _plain(value):
                raise GraphError(
                    f"{name} of {self.name} is {nested.shown(value)};"
                    " expected a number, text, or a list of ints"
                )
            self._need_type(name, value)
        if attributes.get("opset") is not None:
            whole("opset", attributes["opset"], 1)
        given = {name: value for name, value in attributes.items() if value is not None}
        for name, p in self.keywords.items():
            if p.default is p.empty and name not in given:
                raise GraphError(f"{self.name} needs the attribute {name!r}")
        return given

    def _need_type(self, name: str, value: Any) -> None:
        """Refuse an attribute that is not of the type that the operator's signature states."""
        stated = str(self.keywords[name].annotation).removesuffix(" | None")
        fits, expected = TYPES.get(stated, (lambda value: True, ""))
        if value is not None and not fits(value):
            raise GraphError(f"{name} of {self.name} is {nested.shown(value)}; expected {expected}")

    def add(self, g: Graph, operands: Sequence[Any], keywords: dict[str, Any]) -> list[Tensor | Inner]:
        """Add it to a graph. Raises a `GraphError` where it does not take operands of these shapes."""
        try:
            return list(self.build(g, *operands, **keywords))
        except GraphError:
            raise
        except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
            shapes = ", ".join(sizes(x.shape) if isinstance(x, Tensor) else "–" for x in operands)
            raise GraphError(
                f"{self.name} does not take operands of shapes {shapes} and these attributes; expected such as"
                f" ONNX states ({type(error).__name__}: {str(error)[:80]})"
            ) from error

    def __call__(self, *inputs: Any, **given: Any) -> Specimen:
        values = list(inputs)
        for slot, p in enumerate([] if self.variadic else self.operands):
            if p.name in given:
                if slot < len(values):
                    raise GraphError(f"{self.name} got {p.name!r} twice")
                values += [None] * (slot - len(values)) + [given.pop(p.name)]
        call = Call(self.name)
        operands: list[Any] = []
        for slot, value in enumerate(values):
            p, kinds = self.operand(slot), self.kinds(slot)
            name = f"{p.name}{slot}" if p.kind is p.VAR_POSITIONAL else p.name
            if value is None:
                if p.default is not None:
                    raise GraphError(f"{self.name} needs {p.name!r}")
                operands.append(None)
            elif kinds is None:
                operands.append(read(value, name, ("int",))[0])
            else:
                operands.append(call.input(name, value, kinds=kinds))
        self.need(operands)
        results = self.add(call.graph, operands, self.check(given))
        if any(isinstance(result, Inner) for result in results):
            call.graph = call.graph.at("op")
        found = [call.graph.tensor(result.name) for result in results]
        names = self.outputs if len(self.outputs) > 1 or len(found) == 1 else self.numbered(len(found))
        return call.specimen(**dict(zip(names, found)))

    def need(self, operands: Sequence[Any]) -> None:
        """Refuse a call that lacks an operand."""
        for p in self.operands[len(operands) :]:
            if p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
                raise GraphError(f"{self.name} needs {p.name!r}")

    def numbered(self, count: int) -> list[str]:
        """The names of so many outputs of one variadic output."""
        return [f"{self.outputs[0]}{i}" for i in range(count)]

    def __repr__(self) -> str:
        return f"<ONNX operator {self.name}>"


def operator(*outputs: str) -> Callable[[Callable[..., Outputs]], Operator]:
    """Enter a function as an operator with these outputs."""

    def enter(build: Callable[..., Outputs]) -> Operator:
        made = Operator(build, outputs)
        OPERATORS[made.name] = made
        return made

    return enter


def _plain(value: Any) -> bool:
    """Whether an attribute is what ONNX's are: a number, text, or a list of integers."""
    if isinstance(value, (list, tuple)):
        return all(type(item) is int for item in value)
    return value is None or isinstance(value, (int, float, str))


def integers(what: str, value: Any) -> list[int]:
    """Sizes or axes: a list of integers."""
    if not isinstance(value, (list, tuple)) or not all(type(item) is int for item in value):
        raise GraphError(f"{what} is {nested.shown(value)}; expected a list of ints")
    return list(value)


def only(value: Any) -> Any:
    """The cell of a tensor that has but one, whatever its rank; anything else as it is."""
    while isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    return value


def switch(what: str, value: Any) -> bool:
    """An attribute that is 0 or 1."""
    if isinstance(value, (list, tuple)) or value not in (0, 1):
        raise GraphError(f"{what} is {nested.shown(value)}; expected 0 or 1")
    return bool(value)


def whole(what: str, value: Any, least: int) -> int:
    """An attribute that is an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GraphError(f"{what} is {nested.shown(value)}; expected an int of {least} or more")
    return value
