"""How a kernel is called in a file of Python source: its function, mapped over the leading axes.

What `nested.lift` does when a graph runs is written out here as comprehensions:

    [softmax(row) for row in scores]
    [[a + b for a, b in zip(a_row, b_row)] for a_row, b_row in zip(x, y)]
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from graphattn.core.axes import Spec
from graphattn.core.op import Kernel
from graphattn.core.words import spelled
from graphattn.dumps.function_source import OPERATORS, Definitions, Expression

WIDTH = 100


class Operand(NamedTuple):
    """How an operand is written at some depth of a comprehension, and which axes it still has."""

    text: str
    lead: tuple[int, ...]
    rank: int
    label: str


class KernelCall:
    """A call of a kernel, ready to be written (see the module's docstring).

    What is the same wherever the op is used (functions and constants of the number type, operands
    that are left out, options that are text) is put into the function; sizes and numbers are
    arguments. A shape's sizes only say which axes are stretched: equal ones are looped over together.
    """

    def __init__(self, definitions: Definitions, kernel: Kernel, specs: Sequence[Spec | None]) -> None:
        function: Any = kernel.function
        bound = dict(kernel.bound)
        while isinstance(function, partial):
            bound = {**function.keywords, **bound}
            function = function.func
        self.kernel = kernel
        self.shapes = [None if spec is None else spec.shape for spec in specs]
        self.operator = OPERATORS.get(function)
        if self.operator is not None:
            return
        parameters = _parameters(function)
        fixed = {name: value for name, value in bound.items() if _is_fixed(value)}
        left_out = [slot for slot, spec in enumerate(specs) if spec is None and slot < len(parameters)]
        fixed |= {parameters[slot].name: None for slot in left_out}
        self.name = definitions.use(function, fixed)
        defaults = {parameter.name: parameter.default for parameter in parameters}
        defaults |= definitions.defaults(self.name)
        self.arguments = [
            f"{name}={definitions.literal(value)}"
            for name, value in bound.items()
            if name not in fixed and spelled(defaults.get(name)) != spelled(value)
        ]

    def lines(
        self, start: str, operands: Sequence[str | None], labels: Sequence[str], taken: Container[str] = ()
    ) -> list[str]:
        """The call after `start` ("y = "), on one line or, where that is too long, on several.

        operands: how they are written; labels: what the op calls them; taken: names that the loops
        may not use.
        """
        self._taken = taken
        given = [
            Operand(
                text, shape[: max(len(shape) - rank - self.kernel.along, 0)], rank + self.kernel.along, label
            )
            for text, shape, rank, label in zip(operands, self.shapes, self.kernel.ranks, labels)
            if text is not None and shape is not None
        ]
        several = self.kernel.outputs != 1
        loop = self._loop(given)
        if loop is None:
            return [start + self._block(given)]
        inner, over = loop
        before, after = ("map(list, zip(*[", "]))") if several else ("[", "]")
        if several and not over:
            return [start + inner]
        if isinstance(self.kernel.outputs, Expression):  # how many there are is known when the file runs
            before, after = f"list({before}", f"{after})"
        line = f"{start}{before}{inner} {over}{after}"
        return [line] if len(line) <= WIDTH else [start + before, f"    {inner}", f"    {over}", after]

    def _loop(self, given: list[Operand]) -> tuple[str, str] | None:
        """The outermost leading axis as a comprehension: what is in it, and its "for … in …".

        None where there is no leading axis.
        """
        depth = max((len(operand.lead) for operand in given), default=0)
        if not depth:
            return None
        sizes = [operand.lead[0] if len(operand.lead) == depth else None for operand in given]
        count = next((size for size in sizes if size not in (None, 1)), 1)
        if self.kernel.outputs != 1 and not count:
            return f"({', '.join(['[]'] * self.kernel.outputs)})", ""
        inner: list[Operand] = []
        variables: list[str] = []
        over: list[str] = []
        for operand, size in zip(given, sizes, strict=True):
            if size is None:
                inner.append(operand)
                continue
            text = f"{operand.text}[0]"
            if size == count:
                rank = operand.rank + len(operand.lead) - 1
                text = self._variable(rank, operand.label if sizes.count(count) > 1 else "")
                variables.append(text)
                over.append(operand.text)
            inner.append(operand._replace(text=text, lead=operand.lead[1:]))
        together = over[0] if len(over) == 1 else f"zip({', '.join(over)})"
        return self._inside(inner), f"for {', '.join(variables)} in {together}"

    def _inside(self, given: list[Operand]) -> str:
        loop = self._loop(given)
        if loop is None:
            return self._block(given)
        inner, over = loop
        if self.kernel.outputs == 1:
            return f"[{inner} {over}]"
        return f"map(list, zip(*[{inner} {over}]))" if over else inner

    def _block(self, given: list[Operand]) -> str:
        if self.kernel.along:
            return self._along(given[0].text, self.kernel.along)
        return self.call([operand.text for operand in given])

    def _along(self, text: str, inside: int) -> str:
        """Along an axis with others within: transposed, row by row, and back (`nested.along`)."""
        if not inside:
            return self.call([text])
        depth = "" if inside == 1 else str(inside)
        column, row = self._free(f"column{depth}"), self._free(f"row{depth}")
        within = self._along(column, inside - 1)
        return f"[list({row}) for {row} in zip(*[{within} for {column} in zip(*{text})])]"

    def call(self, texts: Iterable[str]) -> str:
        """The call on single blocks."""
        if self.operator is not None:
            return self.operator.format(*texts)
        return f"{self.name}({', '.join([*texts, *self.arguments])})"

    def _variable(self, rank: int, label: str) -> str:
        """A name for the items of a loop: v, row, matrix, block3, and whose they are if several."""
        label = "".join(c for c in label if c.isidentifier() or c.isdigit())
        kind = ("v", "row", "matrix")[rank] if rank < 3 else f"block{rank}"
        return self._free(kind if not label else f"{label}_{kind}" if rank else label)

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        return name


def _is_fixed(value: Any) -> bool:
    """Whether a bound value is put into the function: it does not vary from node to node."""
    if isinstance(value, Expression):
        return False
    if isinstance(value, float):
        return value == 0.0 or not math.isfinite(value)
    return value is None or isinstance(value, (bool, str)) or callable(value)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        signature: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins
        return []
    return list(signature.values())
