"""Modules: things with parameters that can be called.

Module                          its parameters are the Values among its attributes, in lists
                                too, and those of the Modules among them
Linear(in_features, out_features, bias=True, rng=None)      y[i] = Σₖ weight[i][k] · x[k] + bias[i]
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.errors import GraphError
from . import cells
from .value import Value, add, dot


class Module:
    """The base class: subclasses set attributes in `__init__` and define `forward`."""

    training: bool = True

    def __init__(self) -> None:
        self.training = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward; expected one")

    def parameters(self) -> list[Value]:
        """Every parameter once: its own in the order of the attributes, then those of its modules."""
        found: dict[int, Value] = {}
        todo: list[Module] = [self]
        seen = {id(self)}
        while todo:
            module = todo.pop()
            found.update((id(value), value) for value in module._parameters.values() if id(value) not in found)
            inner = [one for one in module._modules.values() if id(one) not in seen]
            seen.update(map(id, inner))
            todo += reversed(inner)
        return list(found.values())

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to 0."""
        for parameter in self.parameters():
            parameter.grad = 0.0

    @property
    def _parameters(self) -> dict[str, Value]:
        """Its own Values by name (`weight.0.1` in lists), as they are now."""
        return {name: thing for name, thing in self._things() if isinstance(thing, Value)}

    @property
    def _modules(self) -> dict[str, Module]:
        """The Modules among its attributes by name, as they are now."""
        return {name: thing for name, thing in self._things() if isinstance(thing, Module)}

    def _things(self) -> Iterator[tuple[str, Any]]:
        todo = list(reversed(vars(self).items()))
        while todo:
            name, thing = todo.pop()
            if isinstance(thing, (list, tuple)):
                todo += [(f"{name}.{i}", thing[i]) for i in reversed(range(len(thing)))]
            else:
                yield name, thing


class Linear(Module):
    """y[i] = Σₖ weight[i][k] · x[k] + bias[i].

    weight (out_features, in_features) is uniform in ±1/√in_features, drawn from the global
    `random` or from `rng`; bias begins at 0, and is None with bias=False.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, rng: Any = None) -> None:
        super().__init__()
        _need_count("in_features", in_features)
        _need_count("out_features", out_features)
        draw = _uniform(rng)
        k = 1.0 / (in_features**0.5)
        self.weight: list[list[Value]] = [
            [Value(draw(-k, k)) for _ in range(in_features)] for _ in range(out_features)
        ]
        self.bias: list[Value] | None = [Value(0.0) for _ in range(out_features)] if bias else None
        self.in_features = in_features
        self.out_features = out_features

    def forward(self, x: Sequence[Value | float]) -> list[Value]:
        """x, a row of in_features → a row of out_features."""
        of = "the in_features of this Linear"
        inputs = tuple(cells.read(x, "x", 1, self.in_features, of))
        weight = cells.read(self.weight, "weight", 2, self.in_features, of)
        products = [dot(row, inputs) for row in weight]
        if self.bias is None:
            return cells.row(products)
        bias = cells.read(self.bias, "bias", 1, len(weight), "one for each row of weight")
        return cells.row(map(add, products, bias))

    def __repr__(self) -> str:
        return f"Linear({self.in_features}, {self.out_features}{'' if self.bias else ', bias=False'})"


def _need_count(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GraphError(f"{what} is {value!r}; expected an int of 1 or more")


def _uniform(rng: Any) -> Any:
    """The function that draws weights."""
    if rng is None:
        return random.uniform
    if not callable(getattr(rng, "uniform", None)):
        raise GraphError(f"rng is a {type(rng).__name__}; expected a random.Random, such as random.Random(0)")
    return rng.uniform
