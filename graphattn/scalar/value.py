"""`Value`: a number that remembers what it was computed from, and its gradient.

    Value(data)                        a leaf: a parameter, an input
    a + b, a - b, a * b, a / b, a ** n, -a, abs(a)      from both sides, with floats and ints too
    a.exp(), a.log(), a.sqrt(), a.tanh(), a.relu(), a.erf(), a.sin(), a.cos()
    dot(p, q), total(values), maximum(values)           one Value with many operands
    y.backward()                       afterwards x.grad = ∂y/∂x for every x that y came from

**Gradients.** A Value that is used several times gets the sum over its uses. Leaves accumulate
over several calls of `backward`, until someone sets `grad` to 0; the gradients of what was
computed start anew with each call. (The usual teaching code adds to those too, so that a second
call counts them twice.) Nothing recurses: a chain of 100,000 operations goes backward.

**Numbers.** Arithmetic follows IEEE 754 as everywhere in graphattn: `Value(0.0).log()` is −∞ and
`1 / Value(0.0)` is ∞, and Python's exceptions do not escape. A Value compares as its number
(`v == 0.5`, `max(values)`), while sets and dicts hold it by identity.

**Operations of one's own**: `out = Value(data, (x, y), "name")`, then set `out._backward` to a
function without arguments that adds to `x.grad` and `y.grad` what `out.grad` gives them. It mixes
freely with all the others.

>>> a, b = Value(2.0), Value(-3.0)
>>> y = a * b + a
>>> y.backward()
>>> y, a.grad, b.grad
(Value(-4.0000), -2.0, 2.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

from ..core import numbers as ieee
from ..core.errors import GraphError
from . import rules
from .rules import Rule


class Value:
    """A number with a gradient (see the module's docstring).

    data: an int or float. _children: the Values that it was computed from. _op: what the
    operation is called. Raises a `GraphError` for anything that is not a number.
    """

    __slots__ = ("_operands", "_rule", "data", "grad")

    def __init__(self, data: float, _children: Iterable[Value] = (), _op: str = "") -> None:
        self.data: float = data if type(data) is float else number(data, "Value")
        self.grad: float = 0.0
        self._operands: tuple[Any, ...] = tuple(_children) if _children else ()
        self._rule: Rule | None = rules.named(_op) if self._operands or _op else None
        for child in self._operands:
            if not isinstance(child, Value):
                raise GraphError(f"a child of a Value is {_told(child)}; expected Values of graphattn.scalar")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a Value has no {name!r}; its number is .data, its gradient .grad")

    # ------------------------------------------------------------ what it came from

    @property
    def _op(self) -> str:
        """What the operation that made it is called; '' for a leaf."""
        return self._rule.name if self._rule else ""

    @property
    def _prev(self) -> set[Value]:
        """The Values that it was computed from."""
        return set(operands(self))

    @property
    def _backward(self) -> Callable[[], None]:
        """The function that passes its gradient on to its operands."""
        rule = self._rule
        return (lambda: rule.push(self, self.grad)) if rule else (lambda: None)

    @_backward.setter
    def _backward(self, backward: Callable[[], None]) -> None:
        if not callable(backward):
            raise GraphError(f"_backward is {_told(backward)}; expected a function without arguments")
        self._rule = rules.own(self._op, backward)
        self._operands = self._operands or ((),)  # no leaf, though nothing is behind it

    def backward(self) -> None:
        """Add ∂self/∂x to the gradient of every leaf x that self came from, and set it for what
        lies between."""
        if not self._operands:
            self.grad += 1.0
            return
        order = _ordered(self)
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in reversed(order):
            gradient = value.grad
            rule = value._rule
            if gradient or rule.own:  # type: ignore[union-attr]
                rule.push(value, gradient)  # type: ignore[union-attr]

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else _operand(other, "+")
        return other if other is NotImplemented else add(self, other)

    def __radd__(self, other: Any) -> Value:
        other = _operand(other, "+")
        return other if other is NotImplemented else add(other, self)

    def __sub__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else _operand(other, "-")
        return other if other is NotImplemented else subtract(self, other)

    def __rsub__(self, other: Any) -> Value:
        other = _operand(other, "-")
        return other if other is NotImplemented else subtract(other, self)

    def __mul__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else _operand(other, "*")
        return other if other is NotImplemented else multiply(self, other)

    def __rmul__(self, other: Any) -> Value:
        other = _operand(other, "*")
        return other if other is NotImplemented else multiply(other, self)

    def __truediv__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else _operand(other, "/")
        return other if other is NotImplemented else divide(self, other)

    def __rtruediv__(self, other: Any) -> Value:
        other = _operand(other, "/")
        return other if other is NotImplemented else divide(other, self)

    def __pow__(self, n: Any) -> Value:
        if isinstance(n, Value):
            return made(rules.power(self.data, n.data), rules.POWER, (self, n))
        exponent = _operand(n, "**")
        if exponent is NotImplemented:
            return exponent
        return made(rules.power(self.data, exponent.data), rules.power_rule(exponent.data, f"**{n}"), (self,))

    def __rpow__(self, base: Any) -> Value:
        base = _operand(base, "**")
        if base is NotImplemented:
            return base
        return made(rules.power(base.data, self.data), rules.POWER, (base, self))

    def __neg__(self) -> Value:
        return negate(self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return made(abs(self.data), rules.ABSOLUTE, (self,))

    # ------------------------------------------------------------ functions

    def exp(self) -> Value:
        """eˣ."""
        return made(ieee.exp(self.data), rules.EXP, (self,))

    def log(self) -> Value:
        """ln x."""
        return made(ieee.log(self.data), rules.LOG, (self,))

    def sqrt(self) -> Value:
        """√x."""
        return made(ieee.sqrt(self.data), rules.SQRT, (self,))

    def tanh(self) -> Value:
        """The hyperbolic tangent."""
        return made(math.tanh(self.data), rules.TANH, (self,))

    def relu(self) -> Value:
        """max(x, 0); its derivative at 0 is 0."""
        return made(self.data if self.data > 0 or self.data != self.data else 0.0, rules.RELU, (self,))

    def erf(self) -> Value:
        """The error function."""
        return made(math.erf(self.data), rules.ERF, (self,))

    def sin(self) -> Value:
        """The sine."""
        return made(ieee.sin(self.data), rules.SIN, (self,))

    def cos(self) -> Value:
        """The cosine."""
        return made(ieee.cos(self.data), rules.COS, (self,))

    # ------------------------------------------------------------ as a number

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Value):
            return self.data == other.data
        return self.data == other if isinstance(other, Real) else NotImplemented

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> bool:
        return self.data < other.data if isinstance(other, Value) else self.data < other

    def __le__(self, other: Any) -> bool:
        return self.data <= other.data if isinstance(other, Value) else self.data <= other

    def __gt__(self, other: Any) -> bool:
        return self.data > other.data if isinstance(other, Value) else self.data > other

    def __ge__(self, other: Any) -> bool:
        return self.data >= other.data if isinstance(other, Value) else self.data >= other

    def __bool__(self) -> bool:
        return self.data != 0

    def __float__(self) -> float:
        raise GraphError(
            "a Value was taken for a float, which would lose its gradient; expected v.data for the number,"
            " v.exp() and the like for functions, numbers='value' for a run"
        )

    def __format__(self, spec: str) -> str:
        return format(self.data, spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Value({self.data:.4f})"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or what is pickled, is a leaf with the same number and gradient."""
        return _leaf, (self.data, self.grad)


_new = object.__new__


def made(data: float, rule: Rule, operands: tuple[Any, ...]) -> Value:
    """The result of an operation. `operands` holds Values, or tuples of Values."""
    value: Value = _new(Value)
    value.data = data
    value.grad = 0.0
    value._rule = rule
    value._operands = operands
    return value


def _leaf(data: float, grad: float = 0.0) -> Value:
    value = Value(data)
    value.grad = grad
    return value


def add(a: Value, b: Value) -> Value:
    """a + b."""
    return made(a.data + b.data, rules.ADD, (a, b))


def subtract(a: Value, b: Value) -> Value:
    """a − b."""
    return made(a.data - b.data, rules.SUBTRACT, (a, b))


def multiply(a: Value, b: Value) -> Value:
    """a · b."""
    return made(a.data * b.data, rules.MULTIPLY, (a, b))


def divide(a: Value, b: Value) -> Value:
    """a / b."""
    return made(ieee.divide(a.data, b.data), rules.DIVIDE, (a, b))


def negate(a: Value) -> Value:
    """−a."""
    return made(-a.data, rules.NEGATE, (a,))


def dot(p: Sequence[Value], q: Sequence[Value]) -> Value:
    """Σ pₖ qₖ as one Value. Tuples are kept as they are, so that the products of a matrix share
    its rows and columns."""
    p, q = tuple(p), tuple(q)
    return made(ieee.dot([a.data for a in p], [b.data for b in q]), rules.DOT, (p, q))


def total(values: Iterable[Value]) -> Value:
    """Σ values as one Value, correctly rounded."""
    values = tuple(values)
    return made(ieee.total([x.data for x in values]), rules.TOTAL, values)


def maximum(values: Iterable[Value]) -> Value:
    """The largest as one Value, whose gradient goes to the first that is largest."""
    values = tuple(values)
    return made(ieee.maximum([x.data for x in values]), rules.MAXIMUM, values)


# ---------------------------------------------------------------- the graph behind a Value


def operands(value: Value) -> list[Value]:
    """What it was computed from, in order; the pairs of a dot product one after the other."""
    found: list[Value] = []
    for operand in value._operands:
        found += operand if type(operand) is tuple else (operand,)
    return found


def _ordered(root: Value) -> list[Value]:
    """Everything but leaves that `root` came from, and itself, producers before consumers.

    A depth-first walk with a stack of its own. A tuple of operands that several dot products share
    is walked once. None on the stack says that all below the next item is done.
    """
    order: list[Value] = []
    seen: set[Any] = set()
    walked: set[int] = set()
    todo: list[Any] = [root]
    while todo:
        item = todo.pop()
        if item is None:
            order.append(todo.pop())
        elif type(item) is tuple:
            if id(item) not in walked:
                walked.add(id(item))
                todo += [operand for operand in item if operand._operands]
        elif item not in seen:
            seen.add(item)
            before = [
                x
                for x in item._operands
                if (id(x) not in walked if type(x) is tuple else x._operands and x not in seen)
            ]
            if before:
                todo += (item, None)
                todo += before
            else:
                order.append(item)
    return order


# ---------------------------------------------------------------- what may stand for a number


def number(data: Any, what: str) -> float:
    """A number as a float, or a `GraphError` that says what was there instead."""
    try:
        if isinstance(data, Real):
            return float(data)
    except OverflowError:
        raise GraphError(f"{what} got an integer that no float can hold; expected a smaller one") from None
    raise GraphError(f"{what} got {_told(data)}; expected a number")


def lift(data: Any) -> Value:
    """A Value as it is; an int, float or decimal text as a leaf; else a `GraphError`."""
    if isinstance(data, Value):
        return data
    if isinstance(data, str):
        return Value(float(data))
    if foreign(data):
        raise GraphError(f"got {_told(data)}; expected a Value of graphattn.scalar or a number")
    return Value(number(data, "Value"))


def _operand(other: Any, sign: str) -> Value:
    """What stands on the other side of a Value, as a Value. NotImplemented leaves it to the other
    side's own arithmetic."""
    if isinstance(other, Real):
        return Value(number(other, f"Value {sign}"))
    if other is None or isinstance(other, (str, bytes, list, tuple, dict, set)) or foreign(other):
        raise GraphError(f"Value {sign} got {_told(other)}; expected a Value of graphattn.scalar or a number")
    return NotImplemented


def foreign(thing: Any) -> bool:
    """Whether it is like a Value, but of another module."""
    return not isinstance(thing, Value) and hasattr(thing, "data") and hasattr(thing, "grad")


def _told(thing: Any) -> str:
    """A thing in an error message."""
    if foreign(thing):
        return f"a {type(thing).__module__}.{type(thing).__qualname__}"
    if thing is None:
        return "None"
    if isinstance(thing, str):
        text = repr(thing)
        return f"the text {text if len(text) <= 40 else text[:37] + '...'}"
    return f"a {type(thing).__name__}"
