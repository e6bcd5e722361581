"""Numbers that a composite is told and does not use: the eps of norms that it does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Node
from ....core.interpreter import standalone
from ....core.op import Op

if TYPE_CHECKING:
    from ..intended import Intended

PROBES = (0.125, 0.25)
"""Two numbers of which no composite makes the same by chance."""


def is_idle(intended: Intended, node: Node, name: str) -> bool:
    """Whether a composite is made of the same steps whatever the number that this attribute is."""
    if node.op.kernel is not None:
        return False
    specs = intended.graph.operand_specs(node.operands)
    key = "idle", node.op.name, tuple(spec and spec.shape for spec in specs), repr(node.attributes), name
    if key not in intended.shared:
        told = [_steps(node.op, specs, {**node.attributes, name: number}) for number in PROBES]
        intended.shared[key] = told[0] is not None and told[0] == told[1]
    return intended.shared[key]


def _steps(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> object:
    """What a composite is made of, attributes by their text (False == 0 == 0.0); None where it refuses."""
    try:
        graph = standalone(op, specs, attributes)[0].at(op.inside)
    except GraphError:
        return None
    return [(node.name, node.op.name, node.operands, repr(node.attributes)) for node in graph.nodes.values()]
