"""A mask is inverted, mirrored, transposed, shifted, taken as numbers, applied elsewhere, joined by or."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each
from .shift import moved

Change = Callable[[Draft, Node, Ref], Ref]


def masks(intended: Intended, group: Group) -> Iterator[Variant]:
    if any(intended.is_inside(intended.nodes[name]) for name in group):
        return  # what an op sees for itself is no mask
    yield from each("mask", _tensors, intended, group)
    yield from each("mask", _uses, intended, group)
    yield from each("mask", _joined, intended, group)
    yield from each("mask", _too_many, intended, group)


def _tensors(intended: Intended, node: Node) -> Iterator[Option]:
    """What may be done to a tensor of bools, for all who read it."""
    for port, spec in enumerate(node.outputs):
        if spec.kind != "bool" or not spec.rank:
            continue
        changes: list[tuple[str, str, float, Change]] = [
            ("inverted", "with {bare} inverted", 1.0, _inverted),
            ("all", "with {bare} hiding nothing", 1.3, filled(True)),
        ]
        if spec.shape[-1] > 1:
            words = "with {bare} from its other end, as for padding on the other side"
            changes.append(("reverse", words, 1.25, mirrored))
        if spec.rank > 1:
            if spec.shape[-2] == 1 < spec.shape[-1]:
                changes.append(("queries", "with {bare} hiding queries, not keys", 1.2, _turned))
                changes.append(("alike", "with {bare} hiding queries too", 1.3, _both_ways))
            if spec.shape[-1] == spec.shape[-2]:
                changes.append(("transposed", "with {bare} transposed", 1.0, _turned))
                changes.append(("both", "with {bare} inverted and transposed", 1.4, _inverted_turned))
            for axis, step, told in (
                (-1, 1, "one key later"), (-1, -1, "one key earlier"),
                (-2, 1, "one query later"), (-2, -1, "one query earlier"),
            ):  # fmt: skip
                words = f"with {{bare}} shifted: what it shows, it shows {told}"
                changes.append((told, words, 1.4, _shifted(spec.shape, axis, step)))
            for step, side in ((1, "after"), (-1, "before")):
                for op, told, price in (
                    ("logical_or", f"showing one key more {side} those it should show", 1.2),
                    ("logical_and", f"hiding the {'first' if step > 0 else 'last'} key it should show", 1.2),
                ):
                    words = f"with {{bare}} {told}"
                    changes.append((told, words, price, _edged(spec.shape, step, op)))
        for key, words, price, change in changes:
            yield Option((port, key), words, price, changing(port, change))


def _too_many(intended: Intended, node: Node) -> Iterator[Option]:
    """A causal mask before a softmax of scores that are to see everything."""
    if node.op.family != "softmax" or len(node.operands) != 1 or node.operands[0] is None:
        return
    shape = intended.spec(node.operands[0]).shape
    if len(shape) > 1 and shape[-1] == shape[-2]:
        yield Option("causal", "with a causal mask before {the}", 1.2, lambda d, n: _hide(d, n, shape[-1]))


def _hide(draft: Draft, node: Node, size: int) -> None:
    see = draft.add("causal_mask", [], {"n": size}, near=node, name="visible")
    made = draft.add("mask", [draft.node(node.name).operands[0], see], near=node, name="masked")
    draft.operand(node, 0, made)


def changing(port: int, change: Change):
    def apply(draft: Draft, node: Node) -> None:
        ref = Ref(node.name, port)
        before = set(draft.nodes)
        made = change(draft, node, ref)
        draft.redirect(ref, made, apart_from=tuple(set(draft.nodes) - before))

    return apply


def _inverted(draft: Draft, node: Node, ref: Ref) -> Ref:
    return draft.add("logical_not", [ref], near=node, name="inverted")


def mirrored(draft: Draft, node: Node, ref: Ref) -> Ref:
    return draft.add("slice", [ref], {"at": "..., ::-1"}, near=node, name="mirrored")


def _both_ways(draft: Draft, node: Node, ref: Ref) -> Ref:
    return draft.add("logical_and", [ref, _turned(draft, node, ref)], near=node, name="both_ways")


def _turned(draft: Draft, node: Node, ref: Ref) -> Ref:
    return draft.add("transpose", [ref], near=node, name="transposed")


def _inverted_turned(draft: Draft, node: Node, ref: Ref) -> Ref:
    return _turned(draft, node, _inverted(draft, node, ref))


def filled(value: bool) -> Change:
    def change(draft: Draft, node: Node, ref: Ref) -> Ref:
        other = draft.add("logical_not", [ref], near=node)
        op = "logical_or" if value else "logical_and"
        return draft.add(op, [ref, other], near=node, name="filled")

    return change


def _shifted(shape: tuple[int, ...], axis: int, step: int) -> Change:
    """Moved along an axis by one; what comes in is what stood at the edge."""

    def change(draft: Draft, node: Node, ref: Ref) -> Ref:
        return moved(draft, node, ref, shape, axis, step, edge=True)

    return change


def _edged(shape: tuple[int, ...], step: int, op: str) -> Change:
    """Together with itself moved by one key; nothing comes in."""

    def change(draft: Draft, node: Node, ref: Ref) -> Ref:
        other = moved(draft, node, ref, shape, -1, step, edge=False)
        return draft.add(op, [ref, other], near=node, name="edge_moved")

    return change


def _uses(intended: Intended, node: Node) -> Iterator[Option]:
    """What a step that takes numbers and a mask may do instead, there or after what follows it."""
    found = numbers_and_mask(intended, node)
    if found is None:
        return
    x, see = found
    for key, told, price, combine in (
        ("times", "multiplied by the mask as 0 and 1", 1.2, _times),
        ("plus", "plus the mask as 0 and 1", 1.4, _plus),
        ("minus", "minus 1 in hidden cells", 1.6, _minus),
    ):
        words = f"with {{new}} {told} instead of {{the}}"
        yield Option(key, words, price, lambda d, n, c=combine: d.redirect(Ref(n.name), c(d, n, x, see)), x)
    for steps, later in enumerate(_after(intended, node)):
        name = later.name.rpartition(".")[2]
        words = f"with the mask multiplied onto {name} instead of {{the}}"
        yield Option(("later", steps), words, 1.2, lambda d, n, t=later: _onto(d, n, t, x, see, False))
        words = f"with the mask multiplied onto {name} instead of {{the}}, and renormalized"
        yield Option(("normal", steps), words, 1.5, lambda d, n, t=later: _onto(d, n, t, x, see, False, -1))
        words = f"with the mask multiplied onto {name} instead of {{the}}, and columns that sum to 1, not rows"
        yield Option(("columns", steps), words, 1.55, lambda d, n, t=later: _onto(d, n, t, x, see, False, -2))
        words = f"with the mask multiplied onto {name} besides {{the}}"
        yield Option(("too", steps), words, 1.7, lambda d, n, t=later: _onto(d, n, t, x, see, True))


def numbers_and_mask(intended: Intended, node: Node) -> tuple[Ref, Ref] | None:
    """The two operands of a step that hides some of the cells of one."""
    if len(node.ports) != 1:
        return None
    refs = [ref for ref in node.operands if ref is not None]
    bools = [ref for ref in refs if intended.spec(ref).kind == "bool"]
    numbers = [
        r for r in refs if intended.spec(r).kind == "float" and intended.spec(r).shape == node.outputs[0].shape
    ]
    return (numbers[0], bools[0]) if len(bools) == 1 and numbers and len(refs) > 1 else None


def _joined(intended: Intended, node: Node) -> Iterator[Option]:
    """A mask on top of another, or an and of two: what either of them lets through, or but one."""
    if node.op.name == "logical_and":
        words = "with what {0} or {1} lets through, but not both, as {the}"
        yield Option("xor", words, 1.4, _but_both)
    found = numbers_and_mask(intended, node)
    if found is None:
        return
    x, see = found
    before = intended.nodes[x.node]
    if before.op is not node.op or len(intended.users.get(x, ())) > 1:
        return
    earlier = numbers_and_mask(intended, before)
    if earlier is not None:
        first, second = (intended.graph.tensor_name(ref) for ref in (earlier[1], see))
        for key, told, price in (("or", "", 1.15), ("xor", ", but not both,", 1.4)):
            words = f"with what {first} or {second} lets through{told} in {{the}}, not what both do"
            yield Option(key, words, price, lambda d, n, k=key: _join(d, n, (x, see), earlier, k == "xor"))


def _but_both(draft: Draft, node: Node) -> None:
    a, b = draft.node(node.name).operands
    draft.redirect(Ref(node.name), _either(draft, node, a, b, True))


def _join(draft: Draft, node: Node, here: tuple[Ref, Ref], earlier: tuple[Ref, Ref], but_both: bool) -> None:
    see = _either(draft, node, earlier[1], here[1], but_both)
    instead = {here[0]: earlier[0], here[1]: see}
    operands = draft.node(node.name).operands
    draft.change(node, operands=[None if ref is None else instead.get(ref, ref) for ref in operands])


def _either(draft: Draft, node: Node, a: Ref | None, b: Ref | None, but_both: bool) -> Ref:
    either = draft.add("logical_or", [a, b], near=node, name="either")
    if not but_both:
        return either
    both = draft.add("logical_and", [a, b], near=node, name="both")
    not_both = draft.add("logical_not", [both], near=node, name="not_both")
    return draft.add("logical_and", [either, not_both], near=node, name="one")


def _after(intended: Intended, node: Node) -> Iterator[Node]:
    """The next steps on a tensor of the same shape."""
    for _ in range(3):
        users = intended.users.get(Ref(node.name), [])
        if len(users) != 1:
            return
        later = intended.nodes[users[0][0]]
        if len(later.ports) != 1 or later.outputs[0].shape != node.outputs[0].shape:
            return
        yield later
        node = later


def as_numbers(draft: Draft, node: Node, see: Ref, shown: float = 1, hidden: float = 0) -> Ref:
    """A mask as numbers."""
    one = draft.add("constant", [], {"value": shown}, near=node, name="shown")
    zero = draft.add("constant", [], {"value": hidden}, near=node, name="hidden")
    return draft.add("where", [see, one, zero], near=node, name="as_numbers")


def _times(draft: Draft, node: Node, x: Ref, see: Ref) -> Ref:
    return draft.add("multiply", [x, as_numbers(draft, node, see)], near=node, name="times_mask")


def _plus(draft: Draft, node: Node, x: Ref, see: Ref) -> Ref:
    return draft.add("add", [x, as_numbers(draft, node, see)], near=node, name="plus_mask")


def _minus(draft: Draft, node: Node, x: Ref, see: Ref) -> Ref:
    return draft.add("add", [x, as_numbers(draft, node, see, 0, -1)], near=node, name="minus_mask")


def _onto(draft: Draft, node: Node, later: Node, x: Ref, see: Ref, too: bool, along: int | None = None) -> None:
    """With `along`, renormalized along that axis."""
    if not too:
        draft.redirect(Ref(node.name), x)
    ref = Ref(later.name)
    numbers = as_numbers(draft, later, see)
    made = draft.add("multiply", [ref, numbers], near=later, name="times_mask")
    if along is not None:
        total = draft.add("reduce_sum", [made], {"axis": along}, near=later, name="total")
        done = draft.add("divide", [made, total], near=later, name="renormalized")
        draft.redirect(ref, done, apart_from=(made.node,))
        return
    draft.redirect(ref, made, apart_from=(made.node,))
