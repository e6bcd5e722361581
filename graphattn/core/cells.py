"""How one cell of a result is computed from cells of the operands, as an expression.

The `explain` rule of an op returns such an expression. It holds no numbers of its own, so that
the same tree can be printed as a formula, printed with the numbers put in, or evaluated again in
any number type. Sums are flat, so trees stay shallow.

>>> y = total(multiply(Cell(0, (k,)), Cell(1, (k,))) for k in range(2))
>>> evaluate(y, lambda cell: [[1.0, 2.0], [3.0, 4.0]][cell.slot][cell.index[0]])
11.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

from .numbers import FLOAT, Numbers


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of an operand: its slot, and its index there (which another cell may hold)."""

    slot: int
    index: tuple[int | Cell, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A number that the op itself brings in, and how it is written (√2, eps, …)."""

    value: Any
    text: str = ""


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of expressions; `FUNCTIONS` names them all.

    `name` is what a formula calls it where it is written (max, mean, Σ exp); '' = it is written out.
    """

    function: str
    args: tuple[Expression, ...]
    name: str = field(default="", compare=False)


Expression = Cell | Literal | Apply


def _absorb(numbers: Numbers, a: Any, b: Any) -> Any:
    zero = numbers.lift(0)
    return zero if a == zero or b == zero else numbers.multiply(a, b)


def _absorb_divide(numbers: Numbers, a: Any, b: Any) -> Any:
    zero = numbers.lift(0)
    return zero if a == zero else numbers.divide(a, b)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda numbers, a, b: numbers.add(a, b),
    "subtract": lambda numbers, a, b: numbers.subtract(a, b),
    "multiply": lambda numbers, a, b: numbers.multiply(a, b),
    "divide": lambda numbers, a, b: numbers.divide(a, b),
    "negate": lambda numbers, a: numbers.negate(a),
    "absorb": _absorb,
    "absorb_divide": _absorb_divide,
    "exp": lambda numbers, a: numbers.exp(a),
    "log": lambda numbers, a: numbers.log(a),
    "sqrt": lambda numbers, a: numbers.sqrt(a),
    "tanh": lambda numbers, a: numbers.tanh(a),
    "erf": lambda numbers, a: numbers.erf(a),
    "sin": lambda numbers, a: numbers.sin(a),
    "cos": lambda numbers, a: numbers.cos(a),
    "total": lambda numbers, *args: numbers.total(args),
    "maximum": lambda numbers, *args: numbers.maximum(args),
    "is_visible": lambda numbers, a: a != float("-inf"),
    "positive": lambda numbers, a: numbers.less(numbers.lift(0), a) or a != a,
    "where": lambda numbers, condition, a, b: a if condition else b,
    "less": lambda numbers, a, b: numbers.less(a, b),
    "equal": lambda numbers, a, b: a == b,
    "logical_and": lambda numbers, a, b: a and b,
    "logical_or": lambda numbers, a, b: a or b,
    "logical_not": lambda numbers, a: not a,
}


def _shorthand(function: str) -> Callable[..., Apply]:
    return lambda *args: Apply(function, args)


add, subtract, multiply, divide = map(_shorthand, ("add", "subtract", "multiply", "divide"))
absorb, exp, sqrt, where = map(_shorthand, ("absorb", "exp", "sqrt", "where"))
tanh, erf, sin, cos, log = map(_shorthand, ("tanh", "erf", "sin", "cos", "log"))


def total(terms: Iterable[Expression]) -> Apply:
    """Σ terms."""
    return Apply("total", tuple(terms))


def maximum(terms: Iterable[Expression]) -> Apply:
    """The largest of the terms."""
    return Apply("maximum", tuple(terms))


def named(name: str, expression: Apply) -> Apply:
    """The expression, with a name that formulas write in its place."""
    return replace(expression, name=name)


def evaluate(
    expression: Expression,
    lookup: Callable[[Cell], Any],
    numbers: Numbers = FLOAT,
    done: dict[int, Any] | None = None,
) -> Any:
    """The value of an expression; `lookup` gives the value of a cell. What stands in it several times
    is evaluated once; `done` holds those values by `id`."""
    if isinstance(expression, Cell):
        return lookup(expression)
    if isinstance(expression, Literal):
        value = expression.value
        return value if isinstance(value, bool) else numbers.lift(value)
    done = {} if done is None else done
    if id(expression) not in done:
        args = [evaluate(arg, lookup, numbers, done) for arg in expression.args]
        done[id(expression)] = FUNCTIONS[expression.function](numbers, *args)
    return done[id(expression)]


def prepared(
    expression: Expression,
    place: Callable[[Cell], int],
    numbers: Numbers = FLOAT,
    done: dict[int, Callable[[Sequence[Any]], Any]] | None = None,
) -> Callable[[Sequence[Any]], Any]:
    """A function from a list of values to the value of an expression, for evaluating it many times; `place`
    gives where in the list a cell's value stands."""
    if isinstance(expression, Cell):
        return itemgetter(place(expression))
    if isinstance(expression, Literal):
        literal = evaluate(expression, lambda _: None, numbers)
        return lambda values: literal
    done = {} if done is None else done
    if id(expression) not in done:
        args = [prepared(arg, place, numbers, done) for arg in expression.args]
        function = partial(FUNCTIONS[expression.function], numbers)
        if len(args) == 1:
            (only,) = args
            made = lambda values: function(only(values))  # noqa: E731
        elif len(args) == 2:
            a, b = args
            made = lambda values: function(a(values), b(values))  # noqa: E731
        else:
            made = lambda values: function(*[arg(values) for arg in args])  # noqa: E731
        done[id(expression)] = made
    return done[id(expression)]


def divided(expression: Expression) -> Apply | None:
    """What a quotient divides, where that is an expression of its own (and it is not divided by a mere number):
    the exponential in a softmax, the deviation in a norm. None where there is nothing of the kind."""
    while isinstance(expression, Apply):
        if expression.function == "divide":
            over, under = expression.args
            named_or_not = isinstance(under, Apply) and any(True for _ in sources(under))
            return over if isinstance(over, Apply) and not over.name and named_or_not else None
        if expression.function not in ("where", "multiply", "add"):
            return None
        expression = expression.args[1 if expression.function == "where" else 0]
    return None


def sources(expression: Expression) -> Iterator[Cell]:
    """The cells that an expression reads, in the order in which it is written."""
    if isinstance(expression, Cell):
        yield expression
    elif isinstance(expression, Apply):
        for arg in expression.args:
            yield from sources(arg)
