"""How one cell came about, in writing: the formula, and the formula with the numbers put in.

    exp(scaled[sat, cat] − max) / Σ exp        exp(-1.839392 − 2.530655) / 1.025952

Sums whose terms differ in one running index are written with Σ. A cell that is only a copy (of a
transpose, a split, a mask that lets it through) is written as the cell that it was copied from. A
part that the op has named is written by its name, and its own formula stands apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from graphattn.core.cells import Apply, Cell, Expression, Literal
from graphattn.core.numbers import Numbers
from graphattn.insight.why.derivation import Derivation, Entry, Key, cells_of
from graphattn.insight.why.index import show_index

from ...core.words import integer

BREAK, INNER = "\x00", "\x01"
"""A space where a line is broken first, and one where only if it must."""


def joined(text: str) -> str:
    """The text on one line."""
    return text.replace(BREAK, " ").replace(INNER, " ")


ANY, SUM, PRODUCT, POWER, ATOM = range(5)
"""How tightly a text holds together: what binds less goes in parentheses."""

TERMS = 6
"""A sum of more terms is written with its middle left out."""
GROUPS = 3
SIMPLE = 100
"""Fractions with smaller denominators are written as such."""
LETTERS = "kjimnrst"

Piece = tuple[str, int]


def number_text(value: Any, numbers: Numbers, digits: int = 6) -> str:
    """A number rounded to so many decimals; without trailing zeros where it is exactly that. Very
    small and very large numbers have so many digits after the first."""
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, Fraction) and value.denominator < SIMPLE:
        return str(value)
    try:
        near = float(numbers.near(value))
    except OverflowError:
        return numbers.text(value)
    if near != near:
        return "NaN"
    if near in (float("inf"), float("-inf")):
        return ("∞" if near > 0 else "−∞") if not numbers.isfinite(value) else numbers.text(value)
    if near == 0 and value != 0:  # too small for a double
        return numbers.text(value)
    if near == 0:
        return "0"
    if 1e-3 <= abs(near) < 1e9:
        text = f"{near:.{digits}f}"
        if float(text) == near and "." in text:
            text = text.rstrip("0").rstrip(".")
        return text
    text, short = f"{near:.{digits}e}", repr(near)
    return short if len(short) <= len(text) else text


class Names:
    """What tensors are called beside a first one: those inside it, or in a scope that it is in, go
    without the name of that."""

    def __init__(self, derivation: Derivation, top: str) -> None:
        parts = top.split(".") if "/" not in top else [top]  # a name of an ONNX model has no scopes
        self.top = top
        self.derivation = derivation
        self.scopes = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
        self.known = set(derivation.trace.graph.tensor_names())
        self._short: dict[str, str] = {}
        self._taken: dict[str, str] = {}

    def of(self, key: Key) -> str:
        """The name of the tensor that a cell is of."""
        name = self.derivation.frames[key.frame].tensor_name(key.place)
        if name not in self._short:
            short = next((name[len(s) + 1 :] for s in self.scopes if name.startswith(f"{s}.")), name)
            if short != name and (short in self.known or self._taken.setdefault(short, name) != name):
                short = name
            self._short[name] = short
        return self._short[name]

    def cell(self, key: Key, index: Sequence[int | str] | None = None) -> str:
        """A cell by name and index, with labels."""
        labels = self.derivation.labels(self.derivation.spec(key))
        return self.of(key) + show_index(key.index if index is None else index, labels)


class Formula:
    """The formula of one entry (see the module's docstring)."""

    def __init__(self, derivation: Derivation, names: Names, entry: Entry, digits: int = 6) -> None:
        self.derivation = derivation
        self.names = names
        self.entry = entry
        self.digits = digits
        self._running: dict[int, str] = {}
        self._values: dict[int, Any] = {}
        self._through = True
        self.letter = LETTERS[0]
        """What the running index was called last."""

    # ------------------------------------------------------------ what is asked for

    def symbols(self, tree: Expression | None = None) -> str:
        """The formula, of names; a part that is given is written out though it has a name."""
        tree = self.entry.expression if tree is None else tree
        assert tree is not None
        return self._symbol(tree, True)[0]

    def steps(self, tree: Expression | None = None) -> list[str]:
        """The formula with numbers put in, and what comes next on the way to its value, if anything."""
        tree = self.entry.expression if tree is None else tree
        if not isinstance(tree, Apply) or not self._known(tree):
            return []
        found = [self._numeral(tree, True)[0]]
        if tree.function not in ("total", "maximum") and any(isinstance(a, Apply) for a in tree.args):
            found.append(_BOTH.get(tree.function, _plain)(self, tree, self._evaluated)[0])
        return list(dict.fromkeys(found))

    def parts(self) -> list[Apply]:
        """The named parts, in the order in which they are needed."""
        found: dict[int, Apply] = {}

        def visit(tree: Expression) -> None:
            if isinstance(tree, Apply) and id(tree) not in seen:
                seen.add(id(tree))
                for arg in tree.args:
                    visit(arg)
                if tree.name and tree is not self.entry.expression:
                    found[id(tree)] = tree

        seen: set[int] = set()
        if self.entry.expression is not None:
            visit(self.entry.expression)
        return list(found.values())

    def value(self, tree: Expression) -> Any:
        """The number of a part, or None where a source was not kept."""
        return self.derivation.evaluate(self.entry, tree, self._values)

    def number(self, value: Any) -> str:
        return number_text(value, self.derivation.numbers, self.digits)

    def largest(self) -> str:
        """The largest terms of a long sum that is the formula, or ''."""
        sums = [t for t in (self.entry.expression, *_args(self.entry.expression)) if _is_long(t)]
        if len(sums) != 1:
            return ""
        values = [(self.value(term), term) for term in _args(sums[0])]
        if any(value is None or not self.derivation.numbers.isfinite(value) for value, _ in values):
            return ""
        ranked = sorted(values, key=lambda pair: abs(self.derivation.numbers.near(pair[0])), reverse=True)
        first, second = (f"{self.symbols(term)} = {self.number(value)}" for value, term in ranked[:2])
        return f"largest of {len(values)} terms: {first}; then {second}"

    def main(self) -> Iterator[Cell]:
        """The cells that stand in the formula itself, not in a named part, in order."""
        todo = [] if self.entry.expression is None else [self.entry.expression]
        while todo:
            tree = todo.pop()
            if isinstance(tree, Cell):
                yield tree
                yield from (i for i in tree.index if isinstance(i, Cell))
            elif isinstance(tree, Apply) and (not tree.name or tree is self.entry.expression):
                todo.extend(reversed(tree.args))

    def _known(self, tree: Expression) -> bool:
        return all(self.derivation.value(self.entry.sources[cell]) is not None for cell in cells_of(tree))

    # ------------------------------------------------------------ names

    def key(self, cell: Cell) -> Key:
        """The cell that is written for a source."""
        key = self.entry.sources[cell]
        return self.derivation.origin(key) if self._through else key

    def _symbol(self, tree: Expression, force: bool = False) -> Piece:
        if isinstance(tree, Cell):
            return self._running.get(id(tree)) or self.cell(tree), ATOM
        if isinstance(tree, Literal):
            return self._literal(tree)
        if tree.name and not force:
            return tree.name, ATOM
        if tree.function in ("total", "maximum"):
            return self._run(tree)
        return _BOTH.get(tree.function, _plain)(self, tree, self._symbol)

    def cell(self, cell: Cell) -> str:
        key = self.key(cell)
        index: list[int | str] = list(key.index)
        if key == self.entry.sources[cell] and any(isinstance(i, Cell) for i in cell.index):
            index = [self.cell(i) if isinstance(i, Cell) else i for i in cell.index]
        return self.names.cell(key, index)

    def _literal(self, tree: Literal) -> Piece:
        if tree.text:
            text = tree.text.removesuffix(".0")
            return text, ATOM if text.replace(".", "", 1).isalnum() else PRODUCT
        return self._numeral(tree)

    # ------------------------------------------------------------ sums

    def _run(self, tree: Apply) -> Piece:
        sign, join = ("Σ", f"{BREAK}+ ") if tree.function == "total" else ("max", f",{BREAK}")
        if not tree.args:
            return f"{sign} of no terms", PRODUCT
        if len(tree.args) == 1:
            return self._symbol(tree.args[0])
        groups = list(self._groups(tree.args))
        if len(groups) > 1 and self._through and (len(groups) > GROUPS or self._hides(tree)):
            self._through = False  # the operand itself, not the tensors that it was put together from
            direct = list(self._groups(tree.args))
            groups = direct if len(direct) < len(groups) else groups
            self._through = groups is not direct
        texts: list[str] = []
        for group in groups if len(groups) <= GROUPS else [[arg] for arg in tree.args]:
            text = self._unified(group, sign) if len(group) > 1 else None
            texts += [text] if text else [_in(SUM if sign == "Σ" else ANY, self._symbol(t)) for t in group]
        self._through = True
        if len(texts) == 1:
            return texts[0], PRODUCT
        if len(texts) > TERMS:
            texts = [*texts[:2], "…", texts[-1]]
        text = join.join(texts)
        return (text, SUM) if sign == "Σ" else (f"max({_within(text)})", ATOM)

    def _hides(self, tree: Apply) -> bool:
        """Whether a mask hides some of the cells."""
        return any(self.derivation.hidden(self.entry.sources[cell]) for cell in cells_of(tree))

    def _groups(self, terms: Sequence[Expression]) -> Iterator[list[Expression]]:
        """Neighbouring terms that are alike but for the places that their cells stand at."""
        group: list[Expression] = []
        last = None
        for term in terms:
            skeleton = self._skeleton(term)
            if group and skeleton != last:
                yield group
                group = []
            group.append(term)
            last = skeleton
        if group:
            yield group

    def _skeleton(self, tree: Expression) -> Any:
        if isinstance(tree, Cell):
            if any(isinstance(i, Cell) for i in tree.index):
                return tree
            key = self.key(tree)
            return key.frame, key.place
        if isinstance(tree, Literal):
            return repr(tree.value), tree.text
        return id(tree) if tree.name else (tree.function, *map(self._skeleton, tree.args))

    def _unified(self, terms: Sequence[Expression], sign: str) -> str | None:
        """Terms of one skeleton, written once with a running index; None where they do not run alike."""
        rows = [list(_written(term)) for term in terms]
        base: list[int] | None = None
        size = 0
        running: list[tuple[Cell, Key, list[Any]]] = []
        for column in zip(*rows, strict=True):
            keys = [self.key(cell) for cell in column]
            index: list[Any] = []
            for axis, places in enumerate(zip(*(key.index for key in keys), strict=True)):
                if len(set(places)) == 1:
                    index.append(places[0])
                    continue
                if base is None:
                    base, size = list(places), self.derivation.spec(keys[0]).shape[axis]
                shifts = {place - first for place, first in zip(places, base, strict=True)}
                if len(shifts) != 1:
                    return None
                index.append(("", shifts.pop()))
            running.append((column[0], keys[0], index))
        if base is None:
            return None
        letter = self.letter = self._letter(running)
        self._running = {}
        for cell, key, index in running:
            shown = [_shifted(letter, i[1]) if isinstance(i, tuple) else i for i in index]
            self._running[id(cell)] = self.names.cell(key, shown)
        body = _in(PRODUCT, self._symbol(terms[0]))
        self._running = {}
        return f"{sign}{_span(base, size, letter)} {body}"

    def _letter(self, running: Sequence[tuple[Cell, Key, list[Any]]]) -> str:
        """A letter for the running index that neither a tensor nor a label beside it is taken for."""
        used = {self.names.of(key).rpartition(".")[2] for _, key, _ in running}
        for _, key, index in running:
            labels = self.derivation.labels(self.derivation.spec(key))
            used.update(names[i] for i, names in zip(index, labels) if names and isinstance(i, int))
        return next((letter for letter in LETTERS if letter not in used), LETTERS[0])

    # ------------------------------------------------------------ numbers

    def _numeral(self, tree: Expression, force: bool = False) -> Piece:
        if isinstance(tree, Apply):
            if force or not (tree.name or not any(True for _ in cells_of(tree))):
                if tree.function in ("total", "maximum"):
                    return self._long(tree)
                return _BOTH.get(tree.function, _plain)(self, tree, self._numeral)
            return self._evaluated(tree)
        if isinstance(tree, Cell):
            return _signed(self.number(self.derivation.value(self.entry.sources[tree])))
        return self._evaluated(tree)

    def _evaluated(self, tree: Expression) -> Piece:
        if isinstance(tree, Cell):
            return self._numeral(tree)
        return _signed(self.number(self.value(tree)))

    def _long(self, tree: Apply) -> Piece:
        """A sum or maximum of numbers; where it is long, its middle is one number."""
        args = list(tree.args)
        if not args:
            return self._evaluated(tree)
        if tree.function == "maximum":
            texts = [self._evaluated(arg)[0] for arg in args]
            if len(texts) > TERMS:
                texts = [*texts[:3], f"… {len(texts) - 5} more …", *texts[-2:]]
            return f"max({f',{INNER}'.join(texts)})", ATOM
        if len(args) == 1:
            return self._term(args[0])
        shown = [self._term(arg) for arg in args]
        if len(args) > TERMS:
            middle = Apply("total", tuple(args[2:-2]))
            told = f"[{len(middle.args)} terms: {self.number(self.derivation.evaluate(self.entry, middle))}]"
            shown = [*shown[:2], (told, ATOM), *shown[-2:]]
        return _summed(shown), SUM

    def _term(self, tree: Expression) -> Piece:
        """A term of a sum: a product of two cells is shown as such, anything else as its number."""
        product = isinstance(tree, Apply) and tree.function in ("multiply", "absorb") and not tree.name
        if product and all(isinstance(arg, (Cell, Literal)) for arg in tree.args):  # type: ignore[union-attr]
            return self._numeral(tree)
        return self._evaluated(tree)


def _args(tree: Expression | None) -> tuple[Expression, ...]:
    return tree.args if isinstance(tree, Apply) else ()


def _is_long(tree: Expression | None) -> bool:
    return isinstance(tree, Apply) and tree.function == "total" and len(tree.args) > TERMS and not tree.name


def _written(tree: Expression) -> Iterator[Cell]:
    """The cells of a term as they are written: none of named parts."""
    if isinstance(tree, Cell):
        if not any(isinstance(i, Cell) for i in tree.index):
            yield tree
    elif isinstance(tree, Apply) and not tree.name:
        for arg in tree.args:
            yield from _written(arg)


def _shifted(letter: str, shift: int) -> str:
    return letter if not shift else f"{letter} {'+' if shift > 0 else '−'} {abs(shift)}"


def _span(base: Sequence[int], size: int, letter: str) -> str:
    """Which places an index runs over; '' where it runs over a whole axis."""
    if list(base) == list(range(size)):
        return ""
    step = base[1] - base[0]
    if list(base) != list(range(base[0], base[0] + step * len(base), step)):
        return f"({letter} over {len(base)} places)"
    second = f"{base[0] + step}, " if step != 1 else ""
    if len(base) == 2:
        return f"({letter} = {base[0]}, {base[1]})"
    return f"({letter} = {base[0]}, {second}…, {base[-1]})" if second else f"({letter} = {base[0]}…{base[-1]})"


# ---------------------------------------------------------------- putting texts together


def _in(least: int, piece: Piece) -> str:
    """A text, in parentheses where it binds less than its place needs."""
    text, binds = piece
    return text if binds >= least else f"({_within(text)})"


def _within(text: str) -> str:
    return text.replace(BREAK, INNER)


def _signed(text: str) -> Piece:
    return text, PRODUCT if "/" in text else POWER if text[:1] in "-−" else ATOM


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] in "-−∞N" and text[1:2] != "(" and " " not in text)


def _summed(pieces: Sequence[Piece]) -> str:
    """a + b − c: negative numbers are taken away."""
    text = _in(SUM, pieces[0])
    for piece in pieces[1:]:
        own = _in(SUM, piece)
        minus = own[:1] in "-−" and _is_number(own)
        text += f"{BREAK}− {own[1:]}" if minus else f"{BREAK}+ {own}"
    return text


Write = Callable[[Expression], Piece]


def _add(formula: Formula, tree: Apply, write: Write) -> Piece:
    return _summed([write(arg) for arg in tree.args]), SUM


def _subtract(formula: Formula, tree: Apply, write: Write) -> Piece:
    a, b = map(write, tree.args)
    return f"{_in(SUM, a)}{INNER}− {_in(ATOM if b[0][:1] in '-−' else PRODUCT, b)}", SUM


def _multiply(formula: Formula, tree: Apply, write: Write) -> Piece:
    a, b = tree.args
    if a is b or a == b:
        return f"{_in(ATOM, write(a))}²", POWER
    if isinstance(a, Apply) and a.function == tree.function and a.args == (b, b):
        return f"{_in(ATOM, write(b))}³", POWER
    (x, _), (y, _) = pieces = write(a), write(b)
    if _is_number(x) and _is_number(y) and pieces[0][1] >= POWER and pieces[1][1] >= POWER:
        return f"({x})({y})", PRODUCT
    tight = y[:1] in "-−" or (isinstance(b, Apply) and b.function == "divide" and not b.name)
    return f"{_in(PRODUCT, pieces[0])}{INNER}· {_in(ATOM if tight else PRODUCT, pieces[1])}", PRODUCT


def _divide(formula: Formula, tree: Apply, write: Write) -> Piece:
    a, b = map(write, tree.args)
    return f"{_in(PRODUCT, a)}{INNER}/ {_in(POWER if b[0][:1] not in '-−' else ATOM, b)}", PRODUCT


def _negate(formula: Formula, tree: Apply, write: Write) -> Piece:
    return f"−{_in(ATOM, write(tree.args[0]))}", POWER


def _sqrt(formula: Formula, tree: Apply, write: Write) -> Piece:
    return f"√{_in(ATOM, write(tree.args[0]))}", ATOM


def _call(shown: str) -> Callable[[Formula, Apply, Write], Piece]:
    return lambda formula, tree, write: (
        f"{shown}({f',{INNER}'.join(_within(write(arg)[0]) for arg in tree.args)})",
        ATOM,
    )


def _plain(formula: Formula, tree: Apply, write: Write) -> Piece:
    return _call(tree.function)(formula, tree, write)


def _infix(sign: str) -> Callable[[Formula, Apply, Write], Piece]:
    return lambda formula, tree, write: (f"{INNER}{sign} ".join(_in(SUM, write(arg)) for arg in tree.args), ANY)


def _against(text: str) -> Callable[[Formula, Apply, Write], Piece]:
    return lambda formula, tree, write: (f"{_in(SUM, write(tree.args[0]))} {text}", ANY)


def _where(formula: Formula, tree: Apply, write: Write) -> Piece:
    condition, a, b = (_in(SUM, write(arg)) for arg in tree.args)
    return f"{a} if {condition}, else {b}", ANY


def _long_run(formula: Formula, tree: Apply, write: Write) -> Piece:
    return formula._long(tree)


_BOTH: dict[str, Callable[[Formula, Apply, Write], Piece]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "absorb": _multiply,
    "divide": _divide,
    "absorb_divide": _divide,
    "negate": _negate,
    "sqrt": _sqrt,
    "total": _long_run,
    "maximum": _long_run,
    "log": _call("ln"),
    **{name: _call(name) for name in ("exp", "tanh", "erf", "sin", "cos")},
    "is_visible": _against("≠ −∞"),
    "positive": _against("≥ 0"),
    "less": _infix("<"),
    "equal": _infix("=="),
    "logical_and": _infix("and"),
    "logical_or": _infix("or"),
    "logical_not": lambda formula, tree, write: (f"not {_in(SUM, write(tree.args[0]))}", ANY),
    "where": _where,
}
"""How each function of `cells` is written, of names as of numbers."""
