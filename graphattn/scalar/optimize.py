"""Two optimizers: they change parameters by their gradients.

    SGD(parameters, lr=0.01, momentum=0.0)
        v ← momentum · v + g        p ← p − lr · v
    Adam(parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-08)       (Kingma and Ba 2015, algorithm 1)
        m ← β₁ m + (1 − β₁) g       v ← β₂ v + (1 − β₂) g²
        p ← p − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + eps)

A round is: compute a loss from the parameters, `zero_grad()`, `loss.backward()`, `step()`.

>>> from graphattn.scalar.value import Value
>>> w = Value(1.0)
>>> optimizer = SGD([w], lr=0.25)
>>> (w * w).backward()
>>> optimizer.step()
>>> w.data
0.5
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.errors import GraphError
from .value import Value


class Optimizer:
    """What the two share: the parameters, each once."""

    def __init__(self, parameters: Iterable[Value], lr: float) -> None:
        try:
            given = list(parameters)
        except TypeError:
            raise GraphError(
                f"parameters is a {type(parameters).__name__}; expected Values, such as module.parameters()"
            ) from None
        for place, parameter in enumerate(given):
            if not isinstance(parameter, Value):
                raise GraphError(
                    f"parameters[{place}] is a {type(parameter).__name__}; expected a Value of graphattn.scalar"
                )
        if not given:
            raise GraphError("parameters is empty; expected at least one Value")
        self.parameters: list[Value] = list({id(parameter): parameter for parameter in given}.values())
        self.lr = _rate("lr", lr)

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to 0."""
        for parameter in self.parameters:
            parameter.grad = 0.0

    def step(self) -> None:
        """Change every parameter by its gradient."""
        raise NotImplementedError


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted (see the module's docstring)."""

    def __init__(self, parameters: Iterable[Value], lr: float = 0.01, momentum: float = 0.0) -> None:
        super().__init__(parameters, lr)
        self.momentum = _rate("momentum", momentum)
        self._velocities = [0.0] * len(self.parameters)

    def step(self) -> None:
        for place, parameter in enumerate(self.parameters):
            velocity = self.momentum * self._velocities[place] + parameter.grad
            self._velocities[place] = velocity
            parameter.data -= self.lr * velocity


class Adam(Optimizer):
    """Gradient descent with a step size for each parameter (see the module's docstring)."""

    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, lr)
        if not isinstance(betas, (list, tuple)) or len(betas) != 2:
            raise GraphError(f"betas is {betas!r}; expected two numbers from 0 to below 1")
        self.betas = tuple(_rate("beta", beta, below=1.0) for beta in betas)
        self.eps = _rate("eps", eps)
        self.steps = 0
        self._means = [0.0] * len(self.parameters)
        self._squares = [0.0] * len(self.parameters)

    def step(self) -> None:
        self.steps += 1
        first, second = self.betas
        of_mean, of_square = 1.0 - first**self.steps, 1.0 - second**self.steps
        for place, parameter in enumerate(self.parameters):
            gradient = parameter.grad
            mean = self._means[place] = first * self._means[place] + (1.0 - first) * gradient
            square = self._squares[place] = second * self._squares[place] + (1.0 - second) * gradient * gradient
            root = math.sqrt(square / of_square) + self.eps
            if root:  # without eps, a gradient that was always 0 moves nothing
                parameter.data -= self.lr * (mean / of_mean) / root


def _rate(what: str, value: Any, below: float = math.inf) -> float:
    """A number from 0 to below a limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < below:
        limit = "" if below == math.inf else f" and below {below:g}"
        raise GraphError(f"{what} is {value!r}; expected a number of 0 or more{limit}")
    return float(value)
