"""Axes of what is fed, before anything is computed of it, run the other way: channels BGR for RGB, an image
mirrored, a kernel flipped, a sequence from its end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ....core.axes import Spec
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

MOST = 5
"""The most axes of which each is turned, and each two at once."""


def layout(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("layout", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if not _is_data(intended, node):
        return
    spec = node.outputs[0]
    long = [axis for axis, size in enumerate(spec.shape) if size > 1]
    for count in (1, 2) if spec.rank > 2 else (1,):
        for chosen in combinations(long, count):
            words = f"with {{the}} in reverse order along {_named(spec, chosen)}"
            yield Option(chosen, words, 1.4 + 0.1 * count, lambda d, n, c=chosen: _turned(d, n, c))


def _is_data(intended: Intended, node: Node) -> bool:
    """Whether a node is an input, or one whose axes are cut or joined: an image, then its patches."""
    spec = node.outputs[0]
    if len(node.ports) != 1 or spec.kind == "bool" or spec.rank > MOST:
        return False
    if not node.op.fed and (spec.rank < 3 or _in_other_order(intended, node)):
        return False
    while not node.op.fed:
        if not node.op.moves or len(node.operands) != 1 or node.operands[0] is None:
            return False
        node = intended.nodes[node.operands[0].node]
    return node.op.drawn != "inside"


def _in_other_order(intended: Intended, node: Node) -> bool:
    """Whether a node has the axes of its operand, which are turned there."""
    ref = node.operands[0] if node.operands else None
    return ref is not None and sorted(intended.spec(ref).shape) == sorted(node.outputs[0].shape)


def _named(spec: Spec, chosen: tuple[int, ...]) -> str:
    """`axis 0 (of 3)`, `its tokens`, `axes 2 and 4 (of 2 × 2)`."""
    names = [spec.axes[axis] for axis in chosen]
    if all(names):
        return f"its {' and '.join(f'{name}s' for name in names)}"
    axes = " and ".join(map(str, chosen))
    sizes = " × ".join(str(spec.shape[axis]) for axis in chosen)
    return f"ax{'i' if len(chosen) == 1 else 'e'}s {axes} (of {sizes})"


def _turned(draft: Draft, node: Node, chosen: tuple[int, ...]) -> None:
    spec = node.outputs[0]
    at = ", ".join("::-1" if axis in chosen else ":" for axis in range(spec.rank))
    turned = draft.add("slice", [Ref(node.name)], {"at": at}, near=node, name="turned")
    draft.redirect(Ref(node.name), turned, apart_from=(turned.node,))
