"""compare(mine, theirs): where two recordings of the same computation part, and what the relation is there.

    comparison = compare(trace, "port.json")
    comparison.agrees          False
    print(comparison)          what is wrong, where, and a table of every tensor
    comparison.first           the first divergence: its tensor, its inputs, its relation

`mine` is a trace, a graph (which is run on the inputs that theirs recorded), or whatever `theirs` may be: a
dict of tensors of any framework, or the path of a file or folder (`recording.read`). Tensors are matched by
`alignment.align`. Two cells agree within the tolerance; masked cells agree with masked cells; NaN agrees with
nothing.

The first divergence is the first tensor whose inputs agree and that does not itself. A tensor that differs
though everything computed from it agrees (a query that was scaled early, 1 added to all visible scores)
is harmless: it is told, and is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph, Ref
from ...core.rounded import FLOAT32, Format
from ...core.trace import Trace, run
from .alignment import Alignment, Pair, align, families, words
from .cell_classes import Difference, Rules, Skip, Tolerance, is_masked, measure
from .constants import Dimensions
from .flow import Flow
from .precision import FLOAT64, decimals, default_bound, digits, growth, held, precision_of, recorded_precision
from .recording import Recorded, Recording, listed, read
from .relations import Context, Relation, relations

DIFFERENT = ("differs", "other shape")
EMPTY = ("zero", "nan", "uniform", "any")
ROOM = 3.0
"""How many times the derived bound two computations may be apart: both of them round."""
SURE = 0.5
"""How much of its tolerance a tensor may use to vouch, in a short format, for what it was computed from."""
RECHECKS = 32
"""At most so many steps are evaluated again from their inputs."""


@dataclass
class TensorComparison:
    """One tensor on both sides. status: "equal", "close" (within the tolerance), "carried" (beyond it, but what
    its own inputs give), "harmless" (differs, but nothing after it does), "differs", "other shape"."""

    pair: Pair
    difference: Difference
    tolerance: Tolerance
    status: str

    @property
    def name(self) -> str:
        return self.pair.mine.name

    @property
    def index(self) -> tuple[int, ...] | None:
        """Where the largest difference is, or the first cell that does not agree."""
        at = self.difference.absolute_at
        if not self.difference.agrees and (self.difference.nan or self.difference.masked_mine or at is None):
            at = self.difference.first_over
        return None if at is None else self.pair.mine.index(*at)


@dataclass
class Divergence:
    """A tensor that differs though its inputs agree. `between` are steps before it that were not recorded."""

    key: str
    comparison: TensorComparison
    inputs: tuple[str, ...]
    between: tuple[str, ...]
    find: Callable[[str], list[Relation]]
    source: bool = False
    """Whether it is an input of the graph."""

    @cached_property
    def relations(self) -> list[Relation]:
        """What theirs has to do with mine there, the simplest first."""
        return self.find(self.key)


@dataclass
class Comparison:
    """What `compare` found (see the module's docstring)."""

    mine: Recording
    theirs: Recording
    tensors: list[TensorComparison]
    alignment: Alignment
    divergences: list[Divergence]
    precision: Format
    tolerance_text: str
    flow: Flow | None
    harmless: dict[str, Divergence] = field(default_factory=dict)
    """What differs though everything computed from it agrees."""
    notes: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether nothing differs but what is harmless."""
        return not self.divergences

    @property
    def first(self) -> Divergence | None:
        """The first divergence."""
        return self.divergences[0] if self.divergences else None

    def find(self, name: str) -> TensorComparison:
        """The comparison of a tensor, by its name in mine."""
        found = [t for t in self.tensors if name in (t.name, t.pair.key)]
        if not found:
            raise GraphError(
                f"tensor {name!r} was not compared; expected one of {listed([t.name for t in self.tensors])}"
            )
        return found[0]

    def text(self, everything: bool = False) -> str:
        """The report; `everything` lists also the tensors that agree."""
        from .comparison_text import comparison_text

        return comparison_text(self, everything)

    def data(self) -> dict[str, Any]:
        """The same as dicts and lists that JSON can hold."""
        from .comparison_text import comparison_data

        return comparison_data(self)

    def __str__(self) -> str:
        return self.text()


def compare(
    mine: Any,
    theirs: Any,
    *,
    names: Mapping[str, str] | None = None,
    by: str = "name",
    precision: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    nan_equal: bool = False,
    masked_below: float | None = None,
    empty: str | None = None,
    feeds: Mapping[str, Any] | None = None,
    level: str | None = None,
) -> Comparison:
    """Compare two recordings (see the module's docstring).

    names: {mine: theirs} for tensors whose names differ; `head*.weights` stands for all heads, and
    `attn[0, 1]` for a part. by: "value" ignores names. precision: float64, float32, bfloat16 or float16, from
    which, and from the length of each sum, tolerances are derived; without it, the coarser of what the numbers
    themselves hold. rtol, atol: |theirs − mine| ≤ atol + rtol · |mine| instead. nan_equal: NaN agrees with NaN.
    masked_below: what is this small or smaller is masked too. empty: what theirs gives for a row that sees
    nothing: "zero", "nan", "uniform" or "any"; without it, such rows are compared as they are. feeds, level:
    for a graph, what to run it on (unless theirs recorded its inputs) and how far to zoom in.

    Raises a `GraphError` where something cannot be read, or nothing can be compared.
    """
    if empty is not None and empty not in EMPTY:
        raise GraphError(f"empty is {empty!r}; expected one of {', '.join(EMPTY)}")
    names = _read_names(names)
    other = read(theirs, "theirs")
    own = read(_run(mine, other, names, feeds, level) if isinstance(mine, Graph) else mine, "mine")
    alignment = align(own, other, names, by)
    if not alignment.pairs:
        raise _nothing_in_common(own, other, alignment)
    return _Comparing(
        own, other, alignment, precision, rtol, atol, Rules(nan_equal, masked_below), empty
    ).result()


def _read_names(names: Any) -> dict[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise GraphError(f"names is a {type(names).__name__}; expected a dict of names, mine: theirs")
    return dict(names)


def _nothing_in_common(mine: Recording, theirs: Recording, alignment: Alignment) -> GraphError:
    if alignment.misfits:
        a, b = alignment.misfits[0]
        return GraphError(
            f"{b.name} is {_shape(b.shape)} in theirs and {_shape(a.shape)} in mine;"
            " expected two recordings of the same sizes"
        )
    return GraphError(
        f"no tensor of theirs ({listed(list(theirs.tensors), 4)}) is one of mine"
        f" ({listed(list(mine.tensors), 4)}), by name, by value or by relation; expected names={{mine: theirs}}"
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a scalar"


def _run(graph: Graph, theirs: Recording, names: Mapping[str, str], feeds: Any, level: str | None) -> Trace:
    """The trace of a graph on what it is fed, or else on the inputs that theirs recorded."""
    given = {} if feeds is None else dict(feeds)
    by_words = {words(name): tensor for name, tensor in theirs.tensors.items()}
    missing = []
    for name, spec in graph.inputs.items():
        if name in given:
            continue
        tensor = theirs.need(names[name]) if name in names else theirs.find(name) or by_words.get(words(name))
        if tensor is None:
            missing.append(name)
            continue
        if tensor.size == spec.size:
            tensor = tensor.as_shape(spec.shape)
        value = tensor.nested()
        given[name] = value if spec.kind == "float" else _of_kind(tensor, spec.kind)
    if missing:
        raise GraphError(
            f"theirs did not record {listed(missing)}, which graph {graph.name!r} is fed;"
            " expected feeds, or these tensors in theirs"
        )
    return run(graph, given, level=level, allow_nonfinite=True)


def _of_kind(tensor: Recorded, kind: str) -> Any:
    convert = bool if kind == "bool" else int
    cells = [convert(cell) if cell == convert(cell) else cell for cell in tensor.flat]
    from .recording import folded

    return folded(tensor.name, tensor.shape, cells).nested()


class _Comparing:
    """The work of one comparison."""

    def __init__(
        self, mine: Recording, theirs: Recording, alignment: Alignment, precision: str | None,
        rtol: float | None, atol: float | None, rules: Rules, empty: str | None,
    ) -> None:  # fmt: skip
        self.mine, self.theirs, self.alignment, self.empty = mine, theirs, alignment, empty
        self.explicit = rtol is not None or atol is not None
        for what, value in (("rtol", rtol), ("atol", atol)):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0
            ):
                raise GraphError(f"{what} is {value!r}; expected a number of 0 or more")
        self.rtol, self.atol = float(rtol or 0.0), float(atol or 0.0)
        self.derived = precision is None
        self.digits: int | None = None
        self.decimals: int | None = None
        if precision is not None:
            self.precision = precision_of(precision)
        else:
            sides = [recorded_precision(mine), recorded_precision(theirs)]
            self.precision = min(sides, key=lambda fmt: fmt.bits)
            if theirs.trace is None and self.precision is FLOAT64:
                self._read_print()
        self.rules = Rules(rules.nan_equal, rules.masked_below, self.precision)
        self.by_key: dict[str, list[Pair]] = {}
        graph_side, self.graph = (mine, None) if mine.trace is None else (mine, mine.trace.graph)
        self.key_is_theirs = False
        if self.graph is None and theirs.trace is not None:
            graph_side, self.graph, self.key_is_theirs = theirs, theirs.trace.graph, True
        for pair in alignment.pairs:
            self.by_key.setdefault(pair.other if self.key_is_theirs else pair.key, []).append(pair)
        for ours, others in alignment.misfits:
            self.by_key[others.name if self.key_is_theirs else ours.name] = [
                Pair(ours.name, ours, others, "name", others.name)
            ]
        self.flow = None if self.graph is None else Flow(self.graph, self.by_key)
        self.bounds = {} if self.graph is None else growth(self.graph, self.precision)
        self.units: dict[Ref, float] = {}
        self.results: dict[str, list[TensorComparison]] = {}
        self.dimensions = _dimensions(graph_side, self.graph)
        self.notes: list[str] = []
        self.follows_policy = True
        self.blind: dict[Ref, frozenset[int]] = {} if empty is None else self._blind_rows()

    def _read_print(self) -> None:
        """Find whether theirs was printed with fewer digits than mine has."""
        printed = digits(self.theirs.tensors.values())
        if printed is None or digits(self.mine.tensors.values()) is not None:
            return
        self.precision = FLOAT32
        self.decimals = decimals(t for t in self.theirs.tensors.values() if t.width > 1)
        if self.decimals is None:
            self.digits = printed

    # ------------------------------------------------------------ tensor by tensor

    def result(self) -> Comparison:
        order = self.flow.order if self.flow is not None else list(self.by_key)
        for key in order:
            self.results[key] = [self._measured(key, pair) for pair in self.by_key[key]]
        differs = {key: any(t.status in DIFFERENT for t in found) for key, found in self.results.items()}
        if self.flow is not None and not self.explicit:
            self._settle_carried(differs)
        harmless = set() if self.flow is None else self.flow.harmless(differs, self._sure)
        divergences = self._divergences(order, differs, harmless)
        for key in harmless:
            for found in self.results[key]:
                if found.status in DIFFERENT:
                    found.status = "harmless"
        return Comparison(
            self.mine,
            self.theirs,
            [found for key in order for found in self.results[key]],
            self.alignment,
            divergences,
            self.precision,
            self._tolerance_text(),
            self.flow,
            {key: self._harmless(key) for key in order if key in harmless},
            self.notes,
        )

    def _sure(self, key: str) -> bool:
        """Whether a tensor that agrees does so by more than its tolerance: where that is wide, a difference
        may be no more than watered down on its way there."""
        wide = not self.explicit and self.precision.bits < 24
        return all(t.difference.worst <= (SURE if wide else 1.0) for t in self.results[key])

    def _measured(self, key: str, pair: Pair) -> TensorComparison:
        tolerance = self._tolerance(key, pair)
        if pair.mine.shape != pair.theirs.shape:
            cells = pair.mine.size
            apart = Difference(
                (pair.mine, pair.theirs), self.rules, tolerance, cells, agrees=False, other_class=cells
            )
            return TensorComparison(pair, apart, tolerance, "other shape")
        skip = self._skip(key, pair)
        found = measure(pair.mine, pair.theirs, tolerance, self.rules, skip)
        if not found.agrees and self.derived and not self.explicit:
            finer = self._coarser_tensor(key, pair)
            if finer is not None:
                again = measure(pair.mine, pair.theirs, finer, self.rules, skip)
                if again.agrees:
                    found, tolerance = again, finer
        status = "differs" if not found.agrees else "close" if found.unequal else "equal"
        return TensorComparison(pair, found, tolerance, status)

    def _tolerance(self, key: str, pair: Pair) -> Tolerance:
        if self.explicit:
            return Tolerance(self.rtol, self.atol, by_row=False)
        unit = 2.0**-self.precision.bits
        if self.flow is not None:
            ref = self.flow.refs[key]
            unit = max([unit, *(self.units.get(source, 0.0) for source in self.flow.above[ref])])
            self.units[ref] = unit
        atol = 0.0 if self.decimals is None else 0.500001 * 10.0**-self.decimals
        rtol = 0.0 if self.digits is None else 0.500001 * 10.0 ** (1 - self.digits)
        return Tolerance(unit * ROOM * self._bound(key, pair) + rtol, atol)

    def _bound(self, key: str, pair: Pair) -> float:
        if self.flow is None:
            return default_bound(pair.mine, self.precision)
        return max(self.bounds[self.flow.refs[key]], 2.0)

    def _coarser_tensor(self, key: str, pair: Pair) -> Tolerance | None:
        """The tolerance for a tensor that holds shorter numbers than the recording as a whole."""
        own = min((held([pair.theirs]), held([pair.mine])), key=lambda fmt: fmt.bits)
        if own.bits >= self.precision.bits or pair.mine.size < 4 or self.precision is FLOAT64:
            return None
        if self.flow is not None:
            self.units[self.flow.refs[key]] = 2.0**-own.bits
        return Tolerance(2.0**-own.bits * ROOM * self._bound(key, pair))

    def _tolerance_text(self) -> str:
        if self.explicit:
            return f"|theirs − mine| ≤ {self.atol:g} + {self.rtol:g} · |mine|"
        how = "as asked" if not self.derived else "the coarser of what both hold"
        if self.decimals is not None:
            return f"half a unit of the {self.decimals} decimals that theirs has, and the rounding of float32"
        if self.digits is not None:
            return f"half a unit of the {self.digits} digits that theirs has, and the rounding of float32"
        return f"the rounding of {self.precision.name} ({how}), which grows with the length of each sum"

    # ------------------------------------------------------------ rows that see nothing

    def _blind_rows(self) -> dict[Ref, frozenset[int]]:
        """For each output, its rows that see nothing or were computed from such rows."""
        found: dict[Ref, frozenset[int]] = {}
        if self.mine.trace is None or self.graph is None or self.key_is_theirs:
            return found
        trace = self.mine.trace
        for node in self.graph.nodes.values():
            for port, spec in enumerate(node.outputs):
                ref = Ref(node.name, port)
                rows = spec.size // spec.shape[-1] if spec.rank and spec.shape[-1] else 0
                blind: set[int] = set()
                mask = trace.masked(node.tensor_name(port)) if ref in trace._plan.places else None
                if mask is not None and rows:
                    from ...core import nested

                    blind = {i for i, (_, row) in enumerate(nested.rows(mask, spec.rank)) if all(row)}
                for source in node.operands:
                    if source is not None and found.get(source):
                        own = self.graph.spec(source)
                        if own.rank and own.shape[-1] and own.size // own.shape[-1] == rows:
                            blind |= found[source]
                found[ref] = frozenset(blind)
        return found

    def _skip(self, key: str, pair: Pair) -> Skip | None:
        empty = self.empty
        if empty is None:
            return None
        blind = self.blind.get(self.flow.refs[key], frozenset()) if self.flow is not None else None
        direct = self._mask_rows(key)

        def fits(row: list[Any]) -> bool:
            if empty == "nan":
                return all(y != y for y in row)
            if empty == "zero":
                return not any(row)
            return all(abs(y * len(row) - 1.0) < 0.02 for y in row)

        def skip(i: int, a: list[Any], b: list[Any]) -> bool:
            if blind is None or self.key_is_theirs:  # nothing is known of masks: the values tell
                nothing = all(x != x for x in a) or not any(a) or all(y != y for y in b)
                return nothing and (empty == "any" or fits(b))
            if i not in blind or all(map(is_masked, a)):
                return False
            if empty == "any":
                return True
            if i in direct:
                self.follows_policy = self.follows_policy and fits(b)
                return self.follows_policy
            if not self.follows_policy:
                return False
            return empty == "nan" or not any(y != y for y in b)

        return skip

    def _mask_rows(self, key: str) -> set[int]:
        if self.mine.trace is None or self.key_is_theirs:
            return set()
        from ...core import nested

        mask = self.mine.trace.masked(key)
        rank = self.mine.trace.spec(key).rank
        return set() if mask is None else {i for i, (_, row) in enumerate(nested.rows(mask, rank)) if all(row)}

    # ------------------------------------------------------------ which is the first

    def _settle_carried(self, differs: dict[str, bool]) -> None:
        """Where a tensor is beyond its tolerance but is what its own inputs give, rounding was carried there
        from its inputs: it agrees, and what follows is judged from it."""
        assert self.flow is not None
        if self.mine.trace is None or self.key_is_theirs:
            return
        misfits = {ours.name for ours, _ in self.alignment.misfits}
        left = RECHECKS
        for key in self.flow.order:
            inputs = self.flow.inputs(key)
            if not differs[key] or not inputs or key in misfits or any(differs[other] for other in inputs):
                continue
            if all(t.status == "equal" for other in inputs for t in self.results[other]):
                continue  # from the same numbers it must be the same
            left -= 1
            if left < 0:
                self.notes.append(
                    f"more than {RECHECKS} steps are near the limit of rounding; not all were checked"
                )
                return
            if self._is_carried(key, inputs):
                differs[key] = False
                for found in self.results[key]:
                    found.status = "carried"

    def _is_carried(self, key: str, inputs: list[str]) -> bool:
        """Whether a tensor of theirs is what mine's steps give from theirs's inputs."""
        trace = self.mine.trace
        assert trace is not None
        patch: dict[str, Any] = {}
        for name in inputs:
            (first, *rest) = self.by_key[name]
            if rest or self.graph is None or trace.spec(name).kind != "float":
                continue
            patch[name] = first.theirs.nested()
        feeds = {name: trace[name] for name in trace.graph.inputs if name in trace}
        try:
            again = run(trace.graph, feeds, level="block", patch=patch, targets=[key], allow_nonfinite=True)
        except GraphError:
            return False
        expected = read(Trace.restore(again.graph, {key: again[key]}), "mine").need(key)
        for pair in self.by_key[key]:
            if pair.mine.shape != expected.shape:
                return False
            found = measure(
                expected, pair.theirs, self._tolerance(key, pair), self.rules, self._skip(key, pair)
            )
            if not found.agrees and not self._emulated(key, patch, feeds, expected, pair):
                return False
        return True

    def _emulated(
        self, key: str, patch: Mapping[str, Any], feeds: Mapping[str, Any], expected: Recorded, pair: Pair
    ) -> bool:
        """Whether theirs is as far from the exact result as the same steps in its precision are."""
        trace = self.mine.trace
        if trace is None or self.precision is FLOAT64 or expected.size > 4096:
            return False
        try:
            short = run(
                trace.graph,
                feeds,
                patch=patch,
                targets=[key],
                numbers=self.precision.name,
                allow_nonfinite=True,
            )
            rounded = Recorded(
                key, expected.shape, [list(map(float, row)) for row in _rows(short[key], expected)]
            )
        except GraphError:
            return False
        own = measure(expected, rounded, Tolerance(), self.rules)
        seen = measure(expected, pair.theirs, Tolerance(), self.rules)
        return not (seen.nan or seen.masked_mine or seen.masked_theirs) and seen.absolute <= 8 * own.absolute

    def _divergences(
        self, order: list[str], differs: Mapping[str, bool], harmless: set[str]
    ) -> list[Divergence]:
        found: list[Divergence] = []
        for key in order:
            if not differs[key] or key in harmless:
                continue
            inputs, between, source = [], [], False
            if self.flow is not None:
                inputs = self.flow.inputs(key)
                if any(differs[name] and name not in harmless for name in inputs):
                    continue
                between = self.flow.between(key)
                source = not self.flow.graph.node(self.flow.refs[key].node).operands
            elif found:
                break  # without a graph only the order is known
            worst = next(t for t in self.results[key] if t.status in DIFFERENT)
            found.append(Divergence(key, worst, tuple(inputs), tuple(between), self._relations, source))
        return found

    def _harmless(self, key: str) -> Divergence:
        worst = next(t for t in self.results[key] if t.status == "harmless")
        return Divergence(key, worst, (), (), self._relations)

    # ------------------------------------------------------------ what the relation is

    def _relations(self, key: str) -> list[Relation]:
        comparison = next((t for t in self.results[key] if t.status != "equal"), self.results[key][0])
        pair = comparison.pair
        largest = max((abs(x) for x in pair.mine.flat if _finite(x) and not is_masked(x)), default=0.0)
        tolerance = comparison.tolerance
        tau = tolerance.rtol + (tolerance.atol / largest if largest else 0.0)
        context = Context(
            _with_width(self.dimensions, pair.mine.width),
            max(tau, 1e-12),
            self._others(pair),
            self._operands(key),
            self.rules.masked_below,
            self.precision,
            ROOM * self._bound(key, pair),
        )
        return relations(pair.mine, pair.theirs, context)

    def _others(self, pair: Pair) -> list[Recorded]:
        """Tensors of mine with as many cells, those that came before first, the nearest first."""
        tensors = list(self.mine.tensors.values())
        place = next((i for i, t in enumerate(tensors) if t.name == pair.key), len(tensors))
        near = tensors[:place][::-1] + tensors[place + 1 :]
        return [t for t in near if t.size == pair.mine.size][:200]

    def _operands(self, key: str) -> list[Recorded]:
        """The tensors of mine that the step was computed from, and those that these were."""
        if self.graph is None or self.flow is None:
            return []
        found: list[Recorded] = []
        nodes = [self.flow.refs[key].node]
        for _ in range(2):
            refs = [ref for name in nodes for ref in self.graph.nodes[name].operands if ref is not None]
            for ref in refs:
                tensor = self.mine.tensors.get(self.graph.tensor_name(ref))
                if tensor is not None and tensor not in found:
                    found.append(tensor)
            nodes = [ref.node for ref in refs]
        return found


def _rows(value: Any, like: Recorded) -> list[list[Any]]:
    from ...core import nested

    return [row for _, row in nested.rows(value, len(like.shape))]


def _finite(x: float) -> bool:
    return math.isfinite(x)


def _with_width(dimensions: Dimensions, width: int) -> Dimensions:
    return Dimensions(dimensions.d_k, dimensions.d_model, dimensions.h, dimensions.n, width)


def _dimensions(recording: Recording, graph: Graph | None) -> Dimensions:
    """Heads, features and tokens, from what the graph says of them."""
    heads = d_model = d_k = n = None
    if graph is not None:
        for owner in (*graph.scopes.values(), *graph.nodes.values()):
            if heads is None and isinstance(owner.attributes.get("heads"), int):
                heads = owner.attributes["heads"]
            if d_k is None and isinstance(owner.attributes.get("sqrt"), int):
                d_k = owner.attributes["sqrt"]
        for name, spec in graph.inputs.items():
            if spec.rank >= 2 and graph.node(name).op.drawn is None and spec.kind == "float":
                n, d_model = spec.shape[-2], spec.shape[-1]
                break
    if heads is None:
        counts = [len(family.members) for family in families(recording) if "head" in words(family.name)]
        heads = max(counts, default=None)
    if d_k is None and d_model is not None and heads:
        d_k = d_model // heads
    return Dimensions(d_k, d_model, heads, n)
