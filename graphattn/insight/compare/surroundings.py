"""What is known around a tensor when its relation is looked for: sizes, operands, other tensors."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from ...core.numbers import FLOAT
from .alignment import Pair, families, words
from .cell_classes import Rules
from .comparison import TensorComparison
from .constants import Dimensions
from .explained import explanations
from .masked_cells import is_masked
from .matched import Matched
from .recording import Recorded
from .relations import Context, Relation, relations
from .relations.chance import finite
from .replay import Replay
from .tolerance import Tolerances

OTHERS = 200
"""At most so many other tensors are looked at."""


class Surroundings:
    """What the relation of two tensors is looked for with."""

    def __init__(self, matched: Matched, tolerances: Tolerances, rules: Rules) -> None:
        self.matched, self.tolerances, self.rules = matched, tolerances, rules

    def relations(self, compared: TensorComparison) -> list[Relation]:
        """What yours has to do with the reference, the simplest first; it is looked for once."""
        if compared.relations is None:
            compared.relations = self._related(compared)
        return compared.relations

    def _related(self, compared: TensorComparison) -> list[Relation]:
        pair = compared.pair
        key = pair.key if self.matched.side is self.matched.reference else pair.other
        largest = max((abs(x) for x in pair.reference.flat if finite(x) and not is_masked(x)), default=0.0)
        printed = self.tolerances.printed(key, pair)
        tolerance = compared.tolerance if printed is None else printed[0]
        tau = tolerance.rtol + ((tolerance.atol + tolerance.of_cell(largest)) / largest if largest else 0.0)
        context = Context(
            replace(self.dimensions, width=pair.reference.width),
            max(tau, 1e-12),
            self._others(pair),
            self._operands(key),
            self.rules.masked_below,
            self.tolerances.precision,
            self.tolerances.room(key, pair),
        )
        return relations(pair.reference, pair.yours, context)

    def explain(self, key: str) -> list[str]:
        """Changes of the graph that give yours from your own recorded inputs."""
        trace = self.matched.trace
        if trace is None or trace.numbers is not FLOAT or len(self.matched.by_key[key]) != 1:
            return []
        return explanations(Replay(self.matched, self.tolerances, trace), key)

    def _others(self, pair: Pair) -> list[Recorded]:
        """Tensors of the reference with as many cells as yours, those that came before first, the nearest
        first."""
        tensors = list(self.matched.reference.tensors.values())
        place = next((i for i, t in enumerate(tensors) if t.name == pair.key), len(tensors))
        near = tensors[:place][::-1] + tensors[place + 1 :]
        return [t for t in near if t.size == pair.yours.size][:OTHERS]

    def _operands(self, key: str) -> list[Recorded]:
        """The tensors of the reference that the step was computed from, and those that these were."""
        graph = self.matched.graph
        if graph is None:
            return []
        tensors: list[Recorded] = []
        nodes = [self.matched.refs[key].node]
        for _ in range(2):
            refs = [ref for name in nodes for ref in graph.nodes[name].operands if ref is not None]
            for ref in refs:
                tensor = self.matched.reference.tensors.get(graph.tensor_name(ref))
                if tensor is not None and tensor not in tensors:
                    tensors.append(tensor)
            nodes = [ref.node for ref in refs]
        return tensors

    @cached_property
    def dimensions(self) -> Dimensions:
        """Heads, features and tokens, from what the graph says of them."""
        heads = d_model = d_k = n = None
        graph = self.matched.graph
        if graph is not None:
            for owner in (*graph.scopes.values(), *graph.nodes.values()):
                if heads is None and isinstance(owner.attributes.get("heads"), int):
                    heads = owner.attributes["heads"]
                if d_k is None and isinstance(owner.attributes.get("sqrt"), int):
                    d_k = owner.attributes["sqrt"]
                q = owner.op.operands[0].name if owner.op is not None and owner.op.operands else ""
                if d_k is None and owner.op is not None and owner.op.roles.get(q) == "Q" and owner.operands[0]:
                    d_k = graph.spec(owner.operands[0]).shape[-1]
            for name, spec in graph.inputs.items():
                if spec.rank >= 2 and graph.node(name).op.drawn is None and spec.kind == "float":
                    n, d_model = spec.shape[-2], spec.shape[-1]
                    break
        if heads is None:
            counts = [len(f.members) for f in families(self.matched.side) if "head" in words(f.name)]
            heads = max(counts, default=None)
        if d_k is None and d_model is not None and heads:
            d_k = d_model // heads
        return Dimensions(d_k, d_model, heads, n)
