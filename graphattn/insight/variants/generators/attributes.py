"""Another value of an attribute: a flag turned over, another of the words that the op takes, a number that is a
size of the graph, or next to the right one; another axis; the same number given another way (√s for s).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ....core.interpreter import FAILURES
from ....core.op import Op, find
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..structure.idle import is_idle
from ..variant import Option, Variant, each, maker, noted

SMALL = ("1e-05", "1e-06", "1e-12", "0.001", "1e-08", "1e-10", "0.0001", "1e-07", "0.01", "0")
"""What people choose for an eps."""
NOMINAL = ("axes", "axis_name", "absorb_zeros")
"""Attributes that name something, or matter only where a mask hides what is not finite."""
INTEGER = re.compile(r"\d+")
BASES = (10000, 500000, 1000000, 1000, 100000, 100, 10)
"""What people choose for a base."""


def attributes(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("attribute", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    for name, value in node.attributes.items() if not node.op.fed else ():
        if name in NOMINAL or (name == "value" and not node.operands):
            continue
        for other, told, price in _others(intended, node, name, value):
            was, step = _shown(value), "{the}"
            if name == "axis":
                told, was = told + _axis(intended, node, other), was + _axis(intended, node, value)
                note, now = noted(intended, node), _noted(intended, node, {name: other})
                step = f"{{bare}} ({note}; yours: {now})" if note and now else step
            words = f"with {name}={told} instead of {was} in {step}"
            yield Option((name, repr(other)), words, price, _set({name: other}))
    if not node.op.fed:
        yield from _ways(intended, node)
        yield from _over_everything(intended, node)
        yield from _own_table(intended, node)
        yield from _alike(intended, node)


def _axis(intended: Intended, node: Node, axis: int | None) -> str:
    """` (query)`: how an axis of the operand is called, where no other is called so."""
    ref = node.operands[0] if node.operands else None
    axes = () if ref is None or axis is None else intended.spec(ref).axes
    called = axes[axis] if axis is not None and -len(axes) <= axis < len(axes) else None
    return f" ({called})" if called and axes.count(called) == 1 else ""


def _alike(intended: Intended, node: Node) -> Iterator[Option]:
    """What differs from one of a role to the next is alike in all: one base, one window for every layer."""
    siblings = [intended.nodes[name].attributes for name in intended.siblings[node.name]]
    for name in node.attributes:
        if name in NOMINAL or name == "value":
            continue
        values = {repr(given.get(name)): given.get(name) for given in siblings}
        for value in values.values() if 1 < len(values) < 4 else ():
            words = f"with {name}={_shown(value)} alike in {{the}}"
            yield Option(("alike", name, repr(value)), words, 1.2, _set({name: value}))


def _own_table(intended: Intended, node: Node) -> Iterator[Option]:
    """A table that several steps share, made otherwise for one of them: keys whose positions count from 1."""
    for source in dict.fromkeys(maker(intended, ref) for ref in node.operands if ref is not None):
        table = intended.nodes[source]
        if table.operands or table.op.fed or node.op.moves or len(_readers(intended, source)) < 2:
            continue
        for name, value in table.attributes.items():
            for other in dict.fromkeys((value + 1, value - 1, 0)) if type(value) is int else ():
                words = f"with {name}={other} instead of {value} in {source} for {{the}} alone"
                price = 1.35 if other or abs(value) == 1 else 1.4
                if other != value and _keeps_shape(intended, table, {name: other}):
                    yield Option(("table", name, other), words, price, _with_own(source, {name: other}))


def _keeps_shape(intended: Intended, table: Node, values: dict[str, Any]) -> bool:
    """Whether a table has the same shape with other attributes."""
    try:
        made = intended.call(table.op, [], {**table.attributes, **values}).outputs
    except GraphError:
        return False
    return [spec.shape for spec in made] == [spec.shape for spec in table.outputs]


def _readers(intended: Intended, source: str) -> set[str]:
    """Who reads a table, laid out otherwise or not."""
    found, todo = set[str](), [source]
    while todo:
        node = intended.nodes[todo.pop()]
        for port in range(len(node.ports)):
            for name, _ in intended.users.get(Ref(node.name, port), ()):
                reader = intended.nodes[name]
                if reader.op.moves and len(reader.operands) == 1:
                    todo.append(name)
                else:
                    found.add(name)
    return found


def _with_own(source: str, values: dict[str, Any]) -> Any:
    def apply(draft: Draft, node: Node) -> None:
        table = draft.graph.nodes[source]
        own = draft.add(table.op, [], {**table.attributes, **values}, near=node, name="own_table")
        for slot, ref in enumerate(draft.node(node.name).operands):
            if ref is not None and maker(draft.intended, ref) == source:
                draft.operand(node, slot, _laid_out(draft, node, ref, own.node))

    return apply


def _laid_out(draft: Draft, near: Node, ref: Ref, own: str) -> Ref:
    """A tensor made from another table, laid out as this one is."""
    node = draft.graph.nodes[ref.node]
    if not node.operands or node.operands[0] is None:
        return Ref(own, ref.port)
    inner = _laid_out(draft, near, node.operands[0], own)
    return Ref(draft.add(node.op, [inner], node.attributes, near=near, name="laid_out").node, ref.port)


def _over_everything(intended: Intended, node: Node) -> Iterator[Option]:
    """What goes along one axis goes along rows and columns at once: a mean of all cells."""
    ref = node.operands[0] if len(node.operands) == 1 else None
    if ref is None or "axis" not in node.op.defaults or len(node.ports) > 1 or node.op.moves:
        return
    given, made = intended.spec(ref).shape, node.outputs[0].shape
    if len(given) < 2 or len(made) != len(given) or min(given[-2:]) < 2:
        return
    words = "with {the} over all rows and columns at once"
    if made == given:
        yield Option("everything", words, 1.3, lambda d, n: _flat(d, n, given))
    elif given[-1] != made[-1] or given[-2] != made[-2]:
        axis = -2 if given[-1] != made[-1] else -1
        yield Option("everything", words, 1.3, lambda d, n: _again(d, n, axis, n.op))
        if node.op.name != "reduce_mean":
            words = f"{words}, their mean"
            yield Option("mean of all", words, 1.35, lambda d, n: _again(d, n, axis, find("reduce_mean")))


def _flat(draft: Draft, node: Node, shape: tuple[int, ...]) -> None:
    flat = (*shape[:-2], shape[-2] * shape[-1])
    ref = draft.add("reshape", draft.node(node.name).operands, {"shape": flat}, near=node, name="flat")
    made = draft.add(node.op, [ref], {**node.attributes, "axis": -1}, near=node, name="everything")
    draft.redirect(Ref(node.name), draft.add("reshape", [made], {"shape": shape}, near=node, name="back"))


def _again(draft: Draft, node: Node, axis: int, op: Op) -> None:
    made = draft.add(op, [Ref(node.name)], {"axis": axis}, near=node, name="everything")
    draft.redirect(Ref(node.name), made, apart_from=(made.node,))


def _set(values: dict[str, Any]) -> Any:
    def apply(draft: Draft, node: Node) -> None:
        draft.change(node, attributes=values)

    return apply


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 40 else f"{text[:37]}…"


def _others(intended: Intended, node: Node, name: str, value: Any) -> Iterator[tuple[Any, str, float]]:
    """(value, how it is told, price), each value once."""
    seen = {repr(value)}
    for other, told, price in _candidates(intended, node, name, value):
        if repr(other) not in seen:
            seen.add(repr(other))
            yield other, told or _shown(other), price


def _candidates(intended: Intended, node: Node, name: str, value: Any) -> Iterator[tuple[Any, str, float]]:
    default = node.op.defaults[name]
    for other in node.op.values.get(name, ()):
        yield other, "", 1.0
    if isinstance(value, bool):
        yield not value, "", 1.0
    elif name.startswith("axis"):
        rank = max((spec.rank for spec in intended.graph.operand_specs(node.operands) if spec), default=0)
        for axis in range(-1, -rank - 1, -1):
            if axis != value and axis + rank != value:
                yield axis, "", 1.0
    elif isinstance(value, int):
        for size_name, size in intended.sizes:
            yield size, f"{size_name} = {size}", 1.05
        yield from ((base, "", 1.1) for base in BASES if value >= 100)
        for other, price in ((value + 1, 1.1), (value - 1, 1.1), (0, 1.2), (1, 1.2), (2 * value, 1.5)):
            yield other, "", price
        yield from ((other, "", 1.5) for other in (value // 2, -value))
    elif isinstance(value, (float, str)) and (number := _number(value)) is not None:
        yield from () if is_idle(intended, node, name) else _numbers(intended, name, number)
    elif isinstance(value, str) and name not in node.op.values:
        yield from _texts(value)
    elif isinstance(value, tuple) and all(v is None or type(v) is int for v in value):
        yield from _tuples(value)
    elif value is None and "int" in node.op.parameters[name].annotation:
        yield from ((other, "", 1.4) for other in (0, 1, 2))
        for size_name, size in intended.sizes:
            yield size, f"{size_name} = {size}", 1.4
    if default is None and value is not None:
        yield None, "", 1.2


def _numbers(intended: Intended, name: str, number: float) -> Iterator[tuple[Any, str, float]]:
    if 0 <= number < 0.05:
        yield from ((text, "", 1.0 + 0.1 * (text == "0")) for text in SMALL if float(text) != number)
    if number >= 100:
        yield from ((base, "", 1.1) for base in BASES if base != number)
    for size_name, size in intended.sizes:
        yield size, f"{size_name} = {size}", 1.2
    for other in (1.0, 0.0, -number, 2 * number, number / 2, 10 * number, number / 10, number + 1, number - 1):
        yield other, "", 1.4
    if number > 0:
        yield from ((other, "", 1.5) for other in (1 / number, math.sqrt(number), number * number))


def _texts(value: str) -> Iterator[tuple[Any, str, float]]:
    """Whole numbers in a text (an index such as "0:4") moved by one or two: all of them, or one."""
    value = re.sub(r"(^|,)(\s*):(?=\d)", r"\1\g<2>0:", value)  # [:4] is [0:4]
    found = list(INTEGER.finditer(value))
    for step in (1, -1, 2, -2) if 0 < len(found) < 7 else ():
        yield INTEGER.sub(lambda m, s=step: str(int(m[0]) + s), value), "", 1.2 + 0.1 * (abs(step) > 1)
        for place in found if len(found) > 1 else ():
            moved = str(int(place[0]) + step)
            yield f"{value[: place.start()]}{moved}{value[place.end() :]}", "", 1.4


def _tuples(value: tuple[int | None, ...]) -> Iterator[tuple[Any, str, float]]:
    if 1 < len(value) < 5 or sorted(value, key=str) == list(range(5)):  # axes of an image cut into patches
        for other in permutations(value):
            yield other, "", 1.2
    for place, size in enumerate(value[:8]):
        if size is None:
            yield (*value[:place], 0, *value[place + 1 :]), "", 1.3
        else:
            for step in (1, -1):
                yield (*value[:place], size + step, *value[place + 1 :]), "", 1.2
            yield (*value[:place], None, *value[place + 1 :]), "", 1.3


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _ways(intended: Intended, node: Node) -> Iterator[Option]:
    """The number of one attribute, or a size, given as another: where one of several is given."""
    ways = [name for name, default in node.op.defaults.items() if default is None and name not in NOMINAL]
    given = [name for name in ways if node.attributes[name] is not None]
    if len(ways) < 2 or len(given) != 1:
        return
    number = _number(node.attributes[given[0]]) if not isinstance(node.attributes[given[0]], tuple) else None
    if number is None:
        return
    values: list[tuple[float, str, float]] = [
        (float(size), f"{name} = {size}", 1.2) for name, size in intended.sizes
    ]
    values += [(number, _shown(node.attributes[given[0]]), 1.1), (number * number, "its square", 1.4)]
    values += [(1 / number, "its inverse", 1.4)] if number else []
    values += [(math.sqrt(number), "its root", 1.4)] if number > 0 else []
    before = noted(intended, node)
    for way in ways:
        for value, told, price in values:
            value = int(value) if value == int(value) else value
            if way != given[0]:
                changed = {given[0]: None, way: value}
                now, was = before and _noted(intended, node, changed), before
                if not now:
                    now, was = f"{way}={told}", f"{given[0]}={_shown(node.attributes[given[0]])}"
                elif " = " in told:
                    now = f"{now}, {told},"
                words = f"with {now} instead of {was} in {{bare}}"
                yield Option((way, value), words, price, _set(changed))


def _noted(intended: Intended, node: Node, changed: dict[str, Any]) -> str:
    """What the op would tell of a call with other attributes, if it took them."""
    try:
        return noted(intended, node, changed)
    except FAILURES:  # attributes that the op would refuse
        return ""
