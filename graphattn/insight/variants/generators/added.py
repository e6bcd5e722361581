"""A step too many: a function on a tensor that needs none, a constant factor or offset.

What only moves numbers is left to the step that made them, unless others read that too: a table that is tied to
the head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from ....core.graph import Node, Ref
from ....core.interpreter import padded
from ....core.op import OPS, Op
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like


def added(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("added", _functions, intended, group)


def factors(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("factor", _factors, intended, group)


def tables(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("table", _scaled, intended, group)


def functions() -> list[Op]:
    """The ops that take one tensor and nothing else, and give one like it."""
    found = []
    for op in OPS.values():
        single = len(op.operands) == 1 and not op.operands[0].variadic and op.kernel is not None
        free = all(not p.required for p in op.parameters.values() if not p.operand)
        if single and free and op.family in ("function", "softmax") and not op.moves:
            found.append(op)
    return found


def _left_to_maker(intended: Intended, node: Node) -> bool:
    """Whether a step only moves numbers, and not those of parameters that others read too."""
    if not node.op.moves or not node.operands:
        return False
    return not any(
        intended.nodes[ref.node].op.fed and len(intended.users[ref]) > 1
        and intended.spec(ref).kind == "float"
        for ref in node.operands if ref is not None
    )  # fmt: skip


def norms() -> list[Op]:
    """The ops that need one tensor alone, and give its rows normalized."""
    found = []
    for op in OPS.values():
        needed = [name for name, p in op.parameters.items() if p.required]
        if op.family == "norm" and op.kernel is not None and needed == [op.operands[0].name]:
            found.append(op)
    return found


def _normalized(intended: Intended, node: Node) -> Iterator[Option]:
    """The rows of what a part of a model gives, normalized or of length 1."""
    spec = node.outputs[0]
    if len(node.ports) > 1 or spec.kind != "float" or spec.rank < 2 or node.op.drawn == "inside":
        return
    if (
        intended.is_inside(node)
        or node.op.family in ("norm", "mask", "softmax")
        or intended.is_known(node.name)
    ):
        return
    for op in norms():
        words = f"with {op.title}, without parameters, of {{the}}"
        yield Option(("norm", op.name), words, 1.8, _applying(op, 0, {}))
    yield Option("unit", "with the rows of {the} divided by their length", 1.8, _unit)


def _cosines(intended: Intended, node: Node) -> Iterator[Option]:
    """Products of what has the length 1, where they are scaled: these, or what is scaled no more."""
    users = [intended.nodes[name] for name, _ in intended.users.get(Ref(node.name), ())]
    scales = [user for user in users if user.op.family == "scale" and user.op.linear]
    if node.op.family != "matmul" or len(node.operands) != 2 or not scales:
        return
    words = "with cosines (products over both lengths) in the place of {the}"
    yield Option("cosines", words, 1.5, lambda d, n: _cosine(d, n, ()))
    words = f"{words}, not scaled"
    yield Option("cosines alone", words, 1.45, lambda d, n: _cosine(d, n, scales))
    for told, half, root in (("‖q − k‖²", 1, False), ("½ ‖q − k‖²", 2, False), ("‖q − k‖", 1, True)):
        for away in ((), scales):
            words = f"with −{told}, a distance, in the place of {{the}}" + (", not scaled" if away else "")
            yield Option((told, bool(away)), words, 1.5, partial(_distance, scales=away, half=half, root=root))


def _cosine(draft: Draft, node: Node, scales: Sequence[Node]) -> None:
    for slot, axis in ((0, -1), (1, -2)):
        ref = draft.node(node.name).operands[slot]
        assert ref is not None
        draft.operand(node, slot, _of_length_one(draft, node, ref, axis))
    for scale in scales:
        draft.redirect(Ref(scale.name), Ref(node.name))


def _distance(draft: Draft, node: Node, scales: Sequence[Node], half: int, root: bool) -> None:
    """‖q‖² + ‖k‖² − 2 q · k, with another sign."""
    totals = []
    for ref, axis in zip(draft.node(node.name).operands, (-1, -2), strict=True):
        square = draft.add("multiply", [ref, ref], near=node, name="square")
        totals.append(draft.add("reduce_sum", [square], {"axis": axis}, near=node, name="total"))
    both = draft.add("add", totals, near=node, name="both")
    twice = draft.add("scale", [Ref(node.name)], {"multiply": 2.0}, near=node, name="twice")
    made = draft.add("subtract", [both, twice], near=node, name="squared")
    if root:
        made = draft.add("sqrt", [draft.add("relu", [made], near=node)], near=node, name="distance")
    made = draft.add("scale", [made], {"divide": -half}, near=node, name="nearness")
    draft.redirect(Ref(node.name), made, apart_from=(twice.node,))
    for scale in scales:
        draft.redirect(Ref(scale.name), made)


def _of_length_one(draft: Draft, node: Node, ref: Ref, axis: int) -> Ref:
    square = draft.add("multiply", [ref, ref], near=node, name="square")
    total = draft.add("reduce_sum", [square], {"axis": axis}, near=node, name="total")
    length = draft.add("sqrt", [total], near=node, name="length")
    return draft.add("divide", [ref, length], near=node, name="unit")


def _unit(draft: Draft, node: Node) -> None:
    ref = Ref(node.name)
    made = _of_length_one(draft, node, ref, -1)
    draft.redirect(ref, made, apart_from=draft.nodes.keys() - draft.graph.nodes.keys())


def _functions(intended: Intended, node: Node) -> Iterator[Option]:
    yield from _normalized(intended, node)
    yield from _cosines(intended, node)
    for port, spec in enumerate(() if node.op.moves and node.operands else node.outputs):
        if spec.kind != "float" or not spec.rank:
            continue
        for op in functions():
            if op is node.op or not like(op.shape(spec), spec):
                continue
            words = f"with {op.title} applied to {{the}} too" + (f", part {port}" if port else "")
            yield Option((port, op.name), words, 1.9, _applying(op, port, {}))


def _applying(op: Op | str, port: int, attributes: dict[str, object]):
    def apply(draft: Draft, node: Node) -> None:
        ref = Ref(node.name, port)
        made = draft.add(op, [ref], attributes, near=node)
        draft.redirect(ref, made, apart_from=(made.node,))

    return apply


def _factors(intended: Intended, node: Node) -> Iterator[Option]:
    for port, spec in enumerate(() if _left_to_maker(intended, node) else node.outputs):
        if spec.kind != "float":
            continue
        width = spec.shape[-1] if spec.rank else 1
        ref = Ref(node.name, port)
        later = _hands_on(intended, ref)
        for way, value, told, price in () if later else constants(intended, width):
            words = f"with {{the}} {told}" + (f", part {port}" if port else "")
            yield Option((port, way, value), words, price, _applying("scale", port, {way: value}))
        if any(intended.nodes[name].op.name in ("sin", "cos") for name, _ in intended.users.get(ref, ())):
            for way, told in (("multiply", "as degrees, not radians"), ("divide", "turned into degrees")):
                words = f"with {{the}} {told}"
                yield Option((port, way, "°"), words, 1.5, _applying("scale", port, {way: math.pi / 180}))
        yield Option((port, "squared"), "with {the} squared", 1.9, _squared(port))
        table = not node.operands and not node.op.fed  # positions that count from 1, or from behind the padding
        for value in (1, -1, 2) if table else (1, -1):
            words = f"with {value} added to {{the}}"
            price = 1.5 if table else 2.0
            yield Option((port, "add", value), words, price, _adding(port, value))


def _scaled(intended: Intended, node: Node) -> Iterator[Option]:
    """Rows of a table of parameters, or the whole table, times √d: an embedding, and the head tied to it."""
    users = [intended.nodes[name] for name, _ in intended.users.get(Ref(node.name), ())]
    is_table = node.op.drawn == "inside" and any(_picks(intended, user) for user in users)
    if not is_table and not _picks(intended, node):
        return
    width = node.outputs[0].shape[-1]
    for way, value, told, price in (
        ("multiply", math.sqrt(width), "times", 1.3), ("sqrt", width, "divided by", 1.35),
    ):  # fmt: skip
        words = f"with {{the}} {told} √d = √{width}"
        yield Option(way, words, price, _applying("scale", 0, {way: value}))


def _picks(intended: Intended, node: Node) -> bool:
    """Whether a step takes rows of parameters by whole numbers."""
    refs = [ref for ref in node.operands if ref is not None]
    kinds = {intended.spec(ref).kind for ref in refs}
    inside = any(intended.nodes[ref.node].op.drawn == "inside" for ref in refs)
    return node.op.moves and node.outputs[0].kind == "float" and "int" in kinds and inside


def may_be_scaled(intended: Intended, node: Node) -> bool:
    """Whether a factor of a step's one result is no factor of what made it, nor of what is made of it."""
    if len(node.ports) > 1 or node.outputs[0].kind != "float" or _left_to_maker(intended, node):
        return False
    return not _hands_on(intended, Ref(node.name))


def _hands_on(intended: Intended, ref: Ref) -> bool:
    """Whether a factor of a tensor is one of the only tensor that is computed from it: tried there."""
    users = intended.users.get(ref, ())
    if len(users) != 1 or ref in [tensor.ref for tensor in intended.graph.outputs.values()]:
        return False
    user, slot = intended.nodes[users[0][0]], users[0][1]
    if user.op.moves or len(user.ports) > 1:
        return False
    specs = padded(user.op, intended.graph.operand_specs(user.operands))
    given = {s for s, ref in enumerate(user.operands) if ref is not None}
    return any(given.intersection(slots) == {slot} for slots in user.op.linear_groups(specs, user.attributes))


def _adding(port: int, value: int):
    def apply(draft: Draft, node: Node) -> None:
        ref = Ref(node.name, port)
        number = draft.add("constant", [], {"value": value}, near=node, name="offset")
        made = draft.add("add", [ref, number], near=node, name="moved")
        draft.redirect(ref, made, apart_from=(made.node,))

    return apply


def _squared(port: int):
    def apply(draft: Draft, node: Node) -> None:
        ref = Ref(node.name, port)
        made = draft.add("multiply", [ref, ref], near=node, name="squared")
        draft.redirect(ref, made, apart_from=(made.node,))

    return apply


def constants(intended: Intended, width: int) -> Iterator[tuple[str, object, str, float]]:
    """(attribute of scale, value, how it is told, price)."""
    for name, size in intended.sizes:
        if name == "size":
            continue
        yield "sqrt", size, f"divided by √{name} = √{size}", 1.7
        yield "multiply", math.sqrt(size), f"times √{name} = √{size}", 1.7
        yield "divide", size, f"divided by {name} = {size}", 1.8
        yield "multiply", size, f"times {name} = {size}", 1.8
    if width > 1:
        yield "multiply", width / (width - 1), f"times d/(d−1) = {width}/{width - 1}", 1.9
        yield "multiply", math.sqrt((width - 1) / width), f"times √((d−1)/d), d = {width}", 1.9
        yield "multiply", (width - 1) / width, f"times (d−1)/d, d = {width}", 1.9
    yield "multiply", -1, "with the other sign", 1.6
    yield "multiply", 2, "times 2", 1.7
    yield "multiply", 0.5, "halved", 1.7
    yield "multiply", math.log(2), "times ln 2 (base 2 for base e)", 1.8
    yield "divide", math.log(2), "times log₂ e", 1.8
    yield "sqrt", 2, "divided by √2", 2.0
    yield "multiply", math.sqrt(2), "times √2", 2.0
    yield "multiply", 0, "set to 0", 1.8
    yield "divide", 0.9, "divided by 0.9, as a dropout of 0.1 divides", 1.9
