"""A cell expression, as a rule of moving places (`rules`), in C: statements for its sums, and an expression.

Writer(...).write(["r", "total", "", 4, ["f", "multiply", "", ["c", 0, 0, [4, 0], [1]], …]])
    double s0[4];
    for (long k0 = 0; k0 < 4; k0++) s0[k0] = …;
    total(s0, 4)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphattn.core.errors import GraphError

WRITTEN = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "negate": "(-{0})",
    "absorb": "absorb({0}, {1})",
    "absorb_divide": "absorb_divide({0}, {1})",
    "exp": "exp({0})",
    "log": "log({0})",
    "sqrt": "sqrt({0})",
    "tanh": "tanh({0})",
    "erf": "erf({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "is_visible": "({0} != -INFINITY)",
    "positive": "!({0} <= 0)",
    "where": "({0} ? {1} : {2})",
    "less": "({0} < {1})",
    "equal": "({0} == {1})",
    "logical_and": "({0} && {1})",
    "logical_or": "({0} || {1})",
    "logical_not": "(!{0})",
}
"""The functions of cell expressions in C."""

FOLDS = {"total": "total", "maximum": "maximum"}
DOTS = {"multiply": "dot", "absorb": "absorbing_dot"}
"""A sum of products of cells, by the product."""


class Writer:
    """Writes expressions of one function. `operands` are the C names by slot, `axes` the loop variables; `dots`
    says whether a sum of products is a dot product."""

    def __init__(self, operands: Sequence[str], axes: Sequence[str], dots: bool) -> None:
        self.operands = operands
        self.axes = axes
        self.dots = dots
        self.used: set[str] = set()
        """The C functions that are called."""
        self._count = 0

    def write(self, form: list[Any], running: tuple[str, ...] = ()) -> tuple[list[str], str]:
        """The statements that come first, and the expression. `running`: the loop variables of sums around."""
        kind = form[0]
        if kind == "c":
            return [], f"{self.operands[form[1]]}[{self._place(form[2:5], running)}]"
        if kind == "v":
            return self._chosen(form, running)
        if kind == "l":
            return [], number(form[1])
        if kind == "i":
            return [], f"(double)({self._place(form[1:4], running)})"
        if kind == "p":
            return [], f"p{form[1]}"
        if kind == "r":
            return self._fold(form[1], form[3], form[4], running)
        assert kind == "f"
        if form[1] in FOLDS:
            return self._fold_of_few(form[1], form[3:], running)
        if form[1] not in WRITTEN:
            raise GraphError(f"a cell is computed by {form[1]}, which has no form in C")
        before: list[str] = []
        args = []
        for part in form[3:]:
            statements, arg = self.write(part, running)
            before += statements
            args.append(arg)
        text = WRITTEN[form[1]].format(*args)
        self.used |= {name for name in ("absorb", "absorb_divide") if text.startswith(f"{name}(")}
        return before, text

    def _place(self, moving: Sequence[Any], running: tuple[str, ...]) -> str:
        first, by_axis, by_run = moving
        terms = [str(first)] if first else []
        for stride, name in (*zip(by_axis, self.axes, strict=True), *zip(by_run, running, strict=True)):
            if stride:
                terms.append(name if stride == 1 else f"{stride} * {name}")
        return " + ".join(terms).replace("+ -", "- ") or "0"

    def _chosen(self, form: list[Any], running: tuple[str, ...]) -> tuple[list[str], str]:
        place = self._place(form[2:5], running)
        for factor, size, cell in form[5]:
            _, index = self.write(cell, running)
            self.used.add("wrapped")
            place += f" + {factor} * wrapped({index}, {size})"
        return [], f"{self.operands[form[1]]}[{place}]"

    def _fold(
        self, function: str, count: int, body: list[Any], running: tuple[str, ...]
    ) -> tuple[list[str], str]:
        """A sum or a maximum of many terms."""
        number, index = self._count, f"k{len(running)}"
        self._count += 1
        head = f"for (long {index} = 0; {index} < {count}; {index}++)"
        inner = (*running, index)
        if self.dots and function == "total" and body[0] == "f" and body[1] in DOTS:
            (_, a), (_, b) = (self.write(part, inner) for part in body[3:])  # two cells: nothing comes before
            self.used |= {"dot", DOTS[body[1]]}
            loop = f"{head} {{ a{number}[{index}] = {a}; b{number}[{index}] = {b}; }}"
            call = f"{DOTS[body[1]]}(a{number}, b{number}, {count})"
            return [f"double a{number}[{count}], b{number}[{count}];", loop], call
        self.used.add(function)
        before, term = self.write(body, inner)
        assign = f"s{number}[{index}] = {term};"
        loop = [f"{head} {assign}"] if not before else [f"{head} {{", *indented([*before, assign]), "}"]
        return [f"double s{number}[{count}];", *loop], f"{FOLDS[function]}(s{number}, {count})"

    def _fold_of_few(
        self, function: str, parts: Sequence[list[Any]], running: tuple[str, ...]
    ) -> tuple[list[str], str]:
        """A sum or a maximum whose terms have nothing in common."""
        number = self._count
        self._count += 1
        self.used.add(function)
        statements = [f"double s{number}[{max(len(parts), 1)}];"]
        for place, part in enumerate(parts):
            before, term = self.write(part, running)
            statements += [*before, f"s{number}[{place}] = {term};"]
        return statements, f"{FOLDS[function]}(s{number}, {len(parts)})"


def number(value: Any) -> str:
    """A number as C writes it, in the shortest digits that read back to the same double."""
    if isinstance(value, bool):
        return "1" if value else "0"
    value = float(value)
    if not math.isfinite(value):
        return "NAN" if value != value else "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    return text if value >= 0 and not text.startswith("-") else f"({text})"


def comment(text: str) -> str:
    """A text inside a comment, which it cannot end."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def moves_along(form: Any, parts: Sequence[Any]) -> set[int]:
    """The axes along which an expression changes, its named parts included."""
    kind = form[0]
    if kind in ("c", "v"):
        found = {axis for axis, stride in enumerate(form[3]) if stride}
        for _, _, cell in form[5] if kind == "v" else ():
            found |= moves_along(cell, parts)
        return found
    if kind == "i":
        return {axis for axis, stride in enumerate(form[2]) if stride}
    if kind == "p":
        return moves_along(parts[form[1]][1], parts)
    if kind == "r":
        return moves_along(form[4], parts)
    return set().union(*(moves_along(part, parts) for part in form[3:])) if kind == "f" else set()
