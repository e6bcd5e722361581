"""What a reader should know of one cell beside its formula, as sentences without a full stop.

Which mask hid it; which branch was taken; what was put there by a patch; where an infinity or NaN
comes from; which factors of zero keep what is hidden from leaking; and whether the recorded number
is what its operands give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from graphattn.core.cells import Apply, Cell, Expression, Literal
from graphattn.core.numbers import Numbers
from graphattn.insight.why.derivation import Branch, Derivation, Entry, Key, applies
from graphattn.insight.why.formula import Formula, Names, joined
from graphattn.insight.why.index import show_place

HOPS = 10_000
"""How far the origin of a hidden or non-finite cell is looked for."""


def remarks(derivation: Derivation, names: Names, entry: Entry, digits: int = 6) -> list[str]:
    """The remarks on one cell."""
    formula = Formula(derivation, names, entry, digits)
    found: list[str] = []
    if entry.hidden:
        blind = _blind(derivation, entry.key)
        found += [*([blind] if blind else []), _hidden(derivation, names, entry, digits)]
    elif entry.kind == "computed":
        rows = dict.fromkeys(_blind(derivation, entry.sources[cell], names) for cell in formula.main())
        found += [row for row in rows if row][:1]
    found += _branches(derivation, names, entry, formula)
    if entry.kind == "patched":
        found.append(_patched(derivation, entry, formula))
    elif not entry.hidden:
        found += _nonfinite(derivation, names, entry, digits)
    if entry.kind == "computed":
        largest = formula.largest()
        found += [largest] if largest else []
        found += _absorbed(derivation, entry, formula)
        found += _differs(derivation, entry, formula)
    return list(map(joined, found))


# ---------------------------------------------------------------- masks and branches


def _hidden(derivation: Derivation, names: Names, entry: Entry, digits: int) -> str:
    """Which mask hid the cell: the mask, its cell, and why that is so."""
    seen: set[Key] = set()
    todo = [entry.key]
    while todo and len(seen) < HOPS:
        key = todo.pop()
        if key in seen:
            continue
        seen.add(key)
        now = derivation.entry(key)
        tree = now.expression
        if isinstance(tree, Literal):
            for branch in now.branches:
                cell = _mask_cell(branch)
                if cell is not None:
                    return f"hidden by {_mask(derivation, names, now.sources[cell], digits)}"
            if not now.branches:
                return f"hidden by {_mask(derivation, names, key, digits)}"
        sources = [k for k in reversed(list(now.sources.values())) if derivation.hidden(k)]
        main = [now.sources[c] for c in Formula(derivation, names, now).main() if c in now.sources]
        todo += sources
        todo += [k for k in reversed(main) if derivation.hidden(k)]
        todo += [k for k in sources if k.index == key.index]
    return "hidden by a mask"


def _blind(derivation: Derivation, key: Key, names: Names | None = None) -> str:
    """What to say where each cell of the row that a cell stands in is hidden; '' where not."""
    spec = derivation.spec(key)
    if not spec.rank or spec.shape[-1] < 2 or not derivation.hidden(key):
        return ""
    row = [key._replace(index=(*key.index[:-1], j)) for j in range(spec.shape[-1])]
    if not all(map(derivation.hidden, row)):
        return ""
    whole = derivation.labels(spec)
    place = f"row {show_place(key.index[-2], whole[-2])}" if spec.rank > 1 else "it"
    of = f" of {names.of(key)}" if names else ""
    return f"{place}{of} sees nothing: all of its {spec.shape[-1]} cells are hidden"


def _mask_cell(branch: Branch) -> Cell | None:
    """The cell of a mask that a condition looks at: the cell itself, or whether it is −∞."""
    condition = branch.condition
    if isinstance(condition, Apply) and condition.function == "is_visible":
        (condition,) = condition.args
    return condition if isinstance(condition, Cell) and not branch.true else None


def _mask(derivation: Derivation, names: Names, key: Key, digits: int) -> str:
    """A cell of a mask, its value, and how it came to be that."""
    origin = derivation.entry(derivation.origin(key))
    formula = Formula(derivation, names, origin, digits)
    value = formula.number(origin.value)
    told = f"{names.cell(origin.key)}, which is {value}"
    if origin.kind == "fed":
        return f"{told} ({origin.node.op.title})"
    if origin.kind == "computed" and origin.expression is not None:
        why = formula.symbols()
        told_by_rule = isinstance(origin.expression, Literal) and not isinstance(origin.expression.value, bool)
        if why.lower() != value and not isinstance(origin.expression, Cell) and not told_by_rule:
            return f"{told}: {why}" + ("" if value != "false" else f" does not hold{_rule(origin)}")
    return f"{told}{_rule(origin)}"


def _rule(entry: Entry) -> str:
    return f" ({entry.node.op.name.replace('_', ' ')})"


def as_usual(branch: Branch) -> bool:
    """Whether a condition only guards against rows in which nothing is visible, and it holds."""
    condition = branch.condition
    return isinstance(condition, Apply) and condition.function == "is_visible" and branch.true


def _branches(derivation: Derivation, names: Names, entry: Entry, formula: Formula) -> Iterator[str]:
    """Conditions that decided, unless the remark on hiding says it or all is as usual."""
    for branch in entry.branches:
        condition = branch.condition
        if as_usual(branch) or (entry.hidden and not branch.true):
            continue
        if isinstance(condition, Cell):
            key = derivation.origin(entry.sources[condition])
            yield f"since {_mask(derivation, names, key, formula.digits)}"
            continue
        text = formula.symbols(condition)
        whole = formula.steps(condition)
        numbers = f": {whole[0]}" if whole and len(whole[0]) < 40 else ""
        yield f"since {text} {'holds' if branch.true else 'does not hold'}{numbers}"


def _patched(derivation: Derivation, entry: Entry, formula: Formula) -> str:
    """A patched cell says so, and what it would have been."""
    if entry.expression is None:
        return "patched: this number was put in its place"
    value = derivation.evaluate(entry, done={})
    if value is None:
        return "patched: this number was put in its place"
    return f"patched: this number was put in its place; its operands give {formula.number(value)}"


# ---------------------------------------------------------------- infinities, NaN and zeros


def finite(value: Any, numbers: Numbers) -> bool:
    """Whether a cell is no infinity and no NaN; bools, integers and unknown cells are finite."""
    return value is None or isinstance(value, (bool, int)) or bool(numbers.isfinite(value))


def _nonfinite(derivation: Derivation, names: Names, entry: Entry, digits: int) -> Iterator[str]:
    """Where an infinity or NaN comes from."""
    if finite(entry.value, derivation.numbers):
        return
    origin = derivation.entry(_origin(derivation, entry.key))
    formula = Formula(derivation, names, origin, digits)
    if origin.kind in ("fed", "patched", "unknown") or origin.expression is None:
        if origin is not entry:
            told = {"fed": "which was fed so", "patched": "which was patched so"}
            shown = f"{names.cell(origin.key)} = {formula.number(origin.value)}"
            yield f"comes from {shown}, {told.get(origin.kind, 'of unknown origin')}"
        return
    broken = _breaks(derivation, origin, formula)
    if broken:
        yield broken + ("" if origin is entry else f" in {names.cell(origin.key)}")
    elif origin is not entry:
        yield f"comes from {names.cell(origin.key)}" + (", which is hidden" if origin.hidden else "")


def _origin(derivation: Derivation, key: Key) -> Key:
    """The cell in which a number that is not finite first came up; kept for all cells on the way."""
    path: list[Key] = []
    while key not in derivation.causes:
        path.append(key)
        entry = derivation.entry(key)
        sources = [k for k in entry.sources.values() if not finite(derivation.value(k), derivation.numbers)]
        ends = entry.kind != "computed" or entry.hidden or not sources
        if ends or _breaks(derivation, entry, None):
            derivation.causes[key] = key
        else:
            key = sources[0]
    cause = derivation.causes[key]
    derivation.causes.update(dict.fromkeys(path, cause))
    return cause


def _breaks(derivation: Derivation, entry: Entry, formula: Formula | None) -> str:
    """The innermost operation that made a number which is not finite, and how; '' where none did.
    Without a formula to write it in, only whether there is one."""
    numbers = derivation.numbers
    seen: set[int] = set()
    order: list[Apply] = []
    done: dict[int, Any] = {}

    def visit(tree: Expression) -> None:
        if isinstance(tree, Apply) and id(tree) not in seen:
            seen.add(id(tree))
            for arg in tree.args:
                visit(arg)
            order.append(tree)

    assert entry.expression is not None
    visit(entry.expression)
    for tree in order:
        value = derivation.evaluate(entry, tree, done)
        if finite(value, numbers):
            continue
        args = [derivation.evaluate(entry, arg, done) for arg in tree.args]
        is_nan = value != value
        if all(finite(arg, numbers) for arg in args) or (is_nan and not any(a != a for a in args)):
            if formula is None:
                return "here"
            text = joined(formula._numeral(tree, True)[0])
            if len(text) > 60:
                text = joined(formula.symbols(tree))
            reason = _REASONS.get(tree.function, "")
            return f"{text} = {formula.number(value)}" + (f": {reason}" if reason and not is_nan else "")
    return ""


_REASONS = {
    "exp": "larger than any number of its type",
    "total": "the sum is larger than any number of its type",
    "multiply": "larger than any number of its type",
    "add": "larger than any number of its type",
}


def _absorbed(derivation: Derivation, entry: Entry, formula: Formula) -> Iterator[str]:
    """Factors that are exactly 0 before something that is not finite."""
    count = 0
    shown = ""
    for tree in applies(entry.expression):
        if tree.function not in ("absorb", "absorb_divide"):
            continue
        a, b = (formula.value(arg) for arg in tree.args)
        if tree.function == "absorb_divide":
            if a == 0 and (b == 0 or not finite(b, derivation.numbers)):
                count += 1
                shown = shown or f"{formula.number(a)} / {formula.number(b)}"
            continue
        if (a == 0 and not finite(b, derivation.numbers)) or (b == 0 and not finite(a, derivation.numbers)):
            count += 1
            shown = shown or f"{formula.number(a)} · {formula.number(b)}"
    if count:
        more = f" ({count} times)" if count > 1 else ""
        yield f"{shown} counts as 0{more}: what stands behind a weight of exactly 0 does not leak"


# ---------------------------------------------------------------- is it so?


def unit(numbers: Numbers) -> float:
    """The relative step of a number type: 2^-52 for doubles, 2^-10 for float16; at least 2^-52."""
    one, step = numbers.lift(1), 1.0
    while step > 2.0**-52 and numbers.add(one, numbers.lift(step / 2)) != one:
        step /= 2
    return step


SINGLE = 2.0**-23
"""The relative step of float32, in which an engine may have computed."""


def _differs(derivation: Derivation, entry: Entry, formula: Formula) -> Iterator[str]:
    """A recorded number that is not what its operands give: of a trace that was made elsewhere."""
    if entry.value is None or entry.expression is None or isinstance(entry.value, (bool, int)):
        return
    value = derivation.evaluate(entry, done={})
    if value is None:
        return
    numbers = derivation.numbers
    engine = derivation.trace.engine
    if finite(value, numbers) != finite(entry.value, numbers):
        yield f"recorded so, but its operands give {formula.number(value)}"
        return
    if not finite(value, numbers):
        return
    near = [numbers.near(derivation.number(k)) for k in entry.sources.values()]
    size = max([abs(numbers.near(entry.value)), *(abs(x) for x in near if math.isfinite(x))], default=0.0)
    terms = max(len(entry.sources), 1)
    apart = abs(numbers.near(value) - numbers.near(entry.value))
    step = (
        SINGLE if "float32" in engine or entry.node.name in derivation.trace.recording.told else unit(numbers)
    )
    if apart > 64 * terms * step * max(size * size, size):
        yield f"recorded so, but its operands give {formula.number(value)}"
    elif apart and engine:
        yield f"{engine.partition(',')[0]} rounds otherwise: the arithmetic shown is {apart:.1e} away"
