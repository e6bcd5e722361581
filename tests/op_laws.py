"""The laws that every op obeys, as functions that return problems.

A law takes an `Op` (registered or not) and yields one sentence for each way in which the op breaks
it; an op that obeys yields nothing. `tests/ops/test_laws.py` holds every registered op to every law,
and `tests/ops/test_planted_faults.py` holds deliberately broken ops to them, so that we know that the
laws can see.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from graphattn import Graph, GraphError, run
from graphattn.core import nested, numbers
from graphattn.core.axes import Spec
from graphattn.core.cells import Apply, Cell, evaluate, sources
from graphattn.core.interpreter import function_of, padded
from graphattn.core.op import LEVELS, OPS, Op, Sample
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.passes.verify import verify
from graphattn.passes.zoom import expand_all, fuse, zoom

EPSILON = 2.0**-53
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1e-200, -750.0, 750.0)


# ---------------------------------------------------------------- a sample as a graph of one node


@dataclass
class Call:
    """A sample as a graph with one node `y`, and its feeds."""

    op: Op
    what: str
    graph: Graph
    feeds: dict[str, Any]
    outputs: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        return [tensor.name for tensor in self.outputs]

    @property
    def node(self):
        return self.graph.nodes["y"]

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        """The operands as the rules take them."""
        return padded(self.op, self.graph.operand_specs(self.node.operands))

    @property
    def values(self) -> list[Any]:
        """The operands' numbers, in the order of the slots."""
        return [None if ref is None else self.feeds[ref.node] for ref in self.node.operands]


def levels_of(op: Op) -> tuple[str, ...]:
    """The levels of which no two show the op in the same way: its own, and the finer ones."""
    return LEVELS[LEVELS.index(op.level) :] if op.expand is not None else (op.level,)


def kind_of(value: Any) -> str:
    """What kind of cells nested lists hold."""
    kinds = set(map(type, nested.flat(value)))
    return "bool" if kinds == {bool} else "int" if kinds == {int} else "float"


def call(
    op: Op,
    sample: Sample,
    what: str,
    names: list[tuple[str | None, ...] | None] | None = None,
    shapes: list[tuple[int, ...]] | None = None,
) -> Call:
    """The graph of a sample. Axes have the `names` that are given for each operand; else they are named by
    their size, so that names agree where sizes do. `shapes` are those of tensors without cells, whose lists do
    not tell them."""
    graph = Graph("sample")
    feeds: dict[str, Any] = {}
    tensors: list[Any] = []
    for slot, value in enumerate(sample.operands):
        if value is None:
            tensors.append(None)
            continue
        shape = nested.shape_of(value) if shapes is None else shapes[slot]
        axes = tuple(f"axis{size}" for size in shape) if names is None else names[slot]
        tensors.append(graph.input(f"x{slot}", shape, axes, kind_of(value)))
        feeds[f"x{slot}"] = value
    outputs = graph.apply(op, *tensors, **sample.attributes, name="y")
    return Call(op, what, graph, feeds, outputs if isinstance(outputs, tuple) else (outputs,))


def calls(op: Op) -> Iterator[Call]:
    """Every sample of the op as a call."""
    for i, sample in enumerate(op.samples):
        yield call(op, sample, f"{op.name}, sample {i}")


def disturbed(op: Op, rounds: int = 6, special: float = 0.15) -> Iterator[Call]:
    """Every sample again with other floats: random ones, and now and then one that is special. One graph serves
    all rounds of a sample, so that it is zoomed and planned once."""
    for i, sample in enumerate(op.samples):
        made = None
        for turn in range(rounds):
            dice = random.Random(f"{op.name} {i} {turn}")
            rate = special if turn else 0.0

            def other(cell: Any, dice: random.Random = dice, rate: float = rate) -> Any:
                if type(cell) is bool:
                    return dice.random() < 0.6
                if type(cell) is int:
                    return cell
                return dice.choice(SPECIAL) if dice.random() < rate else dice.gauss(0.0, 2.0)

            operands = tuple(None if value is None else mapped(other, value) for value in sample.operands)
            what = f"{op.name}, sample {i} disturbed {turn}"
            if made is None:
                made = call(op, Sample(operands, sample.attributes), what)
            feeds = {f"x{slot}": value for slot, value in enumerate(operands) if value is not None}
            yield replace(made, what=what, feeds=feeds)


def emptied(op: Op) -> Iterator[Call]:
    """Every sample again with the axes of one of its sizes cut to no cells, wherever the op takes that."""
    for i, sample in enumerate(op.samples):
        shapes = [() if value is None else nested.shape_of(value) for value in sample.operands]
        for size in sorted({n for shape in shapes for n in shape}):
            operands = tuple(None if v is None else _without(v, size) for v in sample.operands)
            cut = [tuple(0 if n == size else n for n in shape) for shape in shapes]
            what = f"{op.name}, sample {i} without the {size}"
            try:
                made = call(op, Sample(operands, sample.attributes), what, shapes=cut)
                run(made.graph, made.feeds, allow_nonfinite=True)
            except GraphError:  # an op that needs cells there, or an index to nothing
                continue
            yield made


def _without(value: Any, size: int) -> Any:
    """A tensor whose axes of a size have no cells."""
    if not isinstance(value, (list, tuple)):
        return value
    return [] if len(value) == size else [_without(item, size) for item in value]


def mapped(function: Any, value: Any) -> Any:
    """`function` on every cell."""
    return [mapped(function, item) for item in value] if isinstance(value, (list, tuple)) else function(value)


def same_bits(a: Any, b: Any) -> bool:
    """Bit for bit: NaN is NaN, and −0.0 is not 0.0."""
    return repr(a) == repr(b)


def difference(a: Any, b: Any) -> str:
    """The first cell in which two values differ."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if not same_bits(x, y):
                rest = difference(x, y)
                return f"[{i}]{rest}" if rest.startswith("[") else f"[{i}] {rest}"
    return f"{a!r} is not {b!r}"


# ---------------------------------------------------------------- the laws


def record(op: Op) -> Iterator[str]:
    """The record is complete, and rules that do not exist are visibly None."""
    composite = op.level in ("head", "block")
    for field in ("name", "title", "glyph", "family", "formula"):
        if not isinstance(getattr(op, field), str) or not getattr(op, field):
            yield f"{op.name} has no {field}"
    if op.level not in LEVELS:
        yield f"{op.name} has level {op.level!r}"
    if op.kernel is None and op.expand is None and not op.fed:
        yield f"{op.name} has neither a kernel nor an expansion"
    if op.level != "primitive" and op.expand is None:
        yield f"{op.name} is of level {op.level} and has no expansion"
    if op.level == "primitive" and op.expand is not None:
        yield f"{op.name} is primitive and has an expansion"
    if op.cost is None and op.expand is None:
        yield f"{op.name} has neither a cost nor an expansion that has one"
    if op.explain is None and not composite and not op.fed:
        yield f"{op.name} does not explain its cells"
    if not op.samples and not op.fed:
        yield f"{op.name} has no samples"
    if not op.rejects and op.operands:
        yield f"{op.name} rejects nothing"
    if not (op.gradient is None or callable(op.gradient)):
        yield f"{op.name} has a gradient that is no rule: {op.gradient!r}"
    if not isinstance(op.mistakes, tuple):
        yield f"{op.name} lists its mistakes in a {type(op.mistakes).__name__}; expected a tuple"
    first = op.doc.partition("\n\n")[0]
    if not first:
        yield f"the file of {op.name} has no docstring"
    elif "=" not in first and not op.moves and not op.fed:
        yield f"the docstring of {op.name} does not begin with the mathematics: {first!r}"
    known = {p.name for p in op.operands} | {port for c in calls(op) for port in c.node.ports}
    for role in op.roles:
        if role not in known:
            yield f"{op.name} gives a role to {role!r}, which is neither an operand nor an output"


def shapes(op: Op) -> Iterator[str]:
    """What the kernel gives is what the shape rule says, in shape and in kind."""
    for c in (*calls(op), *disturbed(op, 1)):
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        for tensor in c.outputs:
            yield from misfits(trace[tensor.name], tensor.spec, f"{c.what}: {tensor.name}")


def misfits(value: Any, spec: Spec, what: str) -> Iterator[str]:
    """Where a value is not what its spec says."""
    try:
        nested.read(value, spec, what, allow_nonfinite=True)
    except GraphError as error:
        yield str(error)
        return
    wrong = {type(cell).__name__ for cell in nested.flat(value)} - {spec.kind}
    if wrong:
        yield f"{what} holds {', '.join(sorted(wrong))}; expected {spec.kind}"


def expansion(op: Op) -> Iterator[str]:
    """The kernel equals the expansion, bit for bit, at every level; so do shape and axes."""
    if op.expand is None:
        return
    for c in (*calls(op), *disturbed(op)):
        finest = run(c.graph, c.feeds, allow_nonfinite=True, level="primitive")
        for level in levels_of(op)[:-1]:
            trace = run(c.graph, c.feeds, allow_nonfinite=True, level=level)
            for name in c.names:
                if not same_bits(trace[name], finest[name]):
                    yield f"{c.what}: {name} at level {level}: {difference(trace[name], finest[name])}"
        for tensor in c.outputs:
            spec = finest.spec(tensor.name)
            if spec != tensor.spec:
                yield f"{c.what}: {tensor.name} is {tensor.spec}, and its expansion is {spec}"


def sums_of_nothing(op: Op) -> Iterator[str]:
    """Over axes without cells an op gives what its rule says, and its expansion the same."""
    for c in emptied(op):
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        finest = run(c.graph, c.feeds, allow_nonfinite=True, level="primitive")
        for tensor in c.outputs:
            yield from misfits(trace[tensor.name], tensor.spec, f"{c.what}: {tensor.name}")
            if not same_bits(trace[tensor.name], finest[tensor.name]):
                yield f"{c.what}: {tensor.name}: {difference(trace[tensor.name], finest[tensor.name])}"


def rounding(op: Op) -> Iterator[str]:
    """The float result agrees with 50 digits as far as rounding at each step allows.

    How far that is, is measured: the same graph is evaluated with 50 digits again, and every tensor
    on the way is moved by half a unit in the last place of a double, up or down at random. What the
    result moves then is what rounding may cost (stochastic arithmetic, Vignes 1993).
    """
    exact_numbers = numbers.of("mpmath")
    for c in calls(op):
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        exact = run(c.graph, c.feeds, allow_nonfinite=True, numbers="mpmath")
        shakes = [_shaking(exact, exact_numbers, f"{c.what} {turn}") for turn in range(6)]
        shaken = [run(c.graph, c.feeds, allow_nonfinite=True, numbers="mpmath", patch=p) for p in shakes]
        for tensor in c.outputs:
            if tensor.kind != "float":
                if trace[tensor.name] != exact[tensor.name]:
                    yield f"{c.what}: {tensor.name} differs with 50 digits"
                continue
            columns = [list(nested.flat(t[tensor.name])) for t in (trace, exact, *shaken)]
            for got, want, *moved in zip(*columns, strict=True):
                if not _near(got, want, moved):
                    yield f"{c.what}: {tensor.name} holds {got!r}, and with 50 digits {want}"


def _shaking(trace: Any, mp: Any, seed: str) -> dict[str, Any]:
    dice = random.Random(seed)

    def shake(value: Any) -> Any:
        return mapped(lambda cell: cell * (mp.lift(1) + mp.lift(dice.choice((-EPSILON, EPSILON)))), value)

    return {
        step.names[port]: shake
        for step in trace.steps
        for port, spec in enumerate(step.specs)
        if spec.kind == "float"
    }


def _near(got: float, want: Any, moved: list[Any]) -> bool:
    if got != got or want != want:
        return got != got and want != want
    if math.isinf(got):
        return want == got or (abs(want) > 1.7e308 and (want > 0) == (got > 0))
    spread = max((abs(m - want) for m in moved if m == m), default=0)
    return abs(want - got) <= 24 * spread + 4 * EPSILON * abs(want) + 1e-322


def explanation(op: Op) -> Iterator[str]:
    """The explanation of a cell, evaluated, is the kernel's cell: to 40 digits with 50 digits,
    and nearly so in floats."""
    if op.explain is None:
        return
    for c in (*calls(op), *disturbed(op, 1)):
        yield from _explained(c, "float", run(c.graph, c.feeds, allow_nonfinite=True), 1e-12)
        exact = run(c.graph, c.feeds, allow_nonfinite=True, numbers="mpmath")
        yield from _explained(c, "mpmath", exact, 1e-40)


def _explained(c: Call, type_name: str, trace: Any, relative: float) -> Iterator[str]:
    kind = numbers.of(type_name)
    for port, tensor in enumerate(c.outputs):
        more = {"port": port} if len(c.outputs) > 1 else {}
        for index in nested.indices(tensor.shape):
            assert c.op.explain is not None
            tree = c.op.explain(index, *c.specs, **c.node.attributes, **more)
            got = evaluate(tree, lambda cell: _look(cell, trace, c), kind)
            want = nested.at(trace[tensor.name], index)
            size = max((abs(_look(cell, trace, c)) for cell in sources(tree)), default=1)
            size = size if size == size and size < 1e300 else 0
            if not same_bits(got, want) and not abs(got - want) <= relative * max(abs(want), size):
                yield f"{c.what}: {tensor.name}{list(index)} is {want}, and explained as {got}"


def _look(cell: Cell, trace: Any, c: Call) -> Any:
    index = [_look(i, trace, c) if isinstance(i, Cell) else i for i in cell.index]
    return nested.at(trace[c.node.operands[cell.slot].node], index)  # type: ignore[union-attr]


def masks(op: Op) -> Iterator[str]:
    """Hidden cells travel through the op as through its expansion; without one, a result is hidden
    where the cell that moved there was (ops that move) or where a cell it is computed from was; the largest
    of cells where all of them were."""
    for c in calls(op):
        patterns = _patterns(c)
        if op.expand is not None:
            yield from _masks_of_expansion(c, patterns)
        elif op.masked is not None and op.explain is not None and c.node.operands:
            yield from _masks_by_cells(c, patterns)


def _patterns(c: Call) -> list[Any]:
    """For each operand, some cells that are hidden, or None."""
    dice = random.Random(c.what)
    return [
        nested.build(spec.shape, lambda *_: dice.random() < 0.35) if spec and spec.kind == "float" else None
        for spec in c.specs
    ]


def _masks_of_expansion(c: Call, patterns: list[Any]) -> Iterator[str]:
    hidden = Graph("hidden")
    feeds: dict[str, Any] = dict(c.feeds)
    tensors: list[Any] = []
    for slot, ref in enumerate(c.node.operands):
        if ref is None:
            tensors.append(None)
            continue
        spec = c.graph.spec(ref)
        x = hidden.input(ref.node, spec.shape, spec.axes, spec.kind)
        if spec.kind == "float" and slot == 0:
            x = hidden.mask(x, hidden.input("visible", spec.shape, kind="bool"))
            feeds["visible"] = mapped(lambda cell: not cell, patterns[slot])
        tensors.append(x)
    hidden.apply(c.op, *tensors, **c.node.attributes, name="y")
    coarse = run(hidden, feeds, allow_nonfinite=True)
    fine = run(hidden, feeds, allow_nonfinite=True, level="primitive")
    for name in c.names:
        a, b = ([] if (m := t.masked(name)) is None else list(nested.flat(m)) for t in (coarse, fine))
        if (any(a) or any(b)) and a != b:
            yield f"{c.what}: {name} hides {coarse.masked(name)}, and its expansion {fine.masked(name)}"


def _masks_by_cells(c: Call, patterns: list[Any]) -> Iterator[str]:
    function = function_of(c.op, c.graph.operand_specs(c.node.operands), c.node.attributes)
    assert c.op.masked is not None and c.op.explain is not None
    found = c.op.masked(function, patterns, c.values, *c.specs, **c.node.attributes)
    found = found if len(c.outputs) > 1 else (found,)
    for port, tensor in enumerate(c.outputs):
        more = {"port": port} if len(c.outputs) > 1 else {}
        for index in nested.indices(tensor.shape):
            tree = c.op.explain(index, *c.specs, **c.node.attributes, **more)
            chosen = tree
            if c.op.moves:  # follow the cell that moved here
                while not isinstance(chosen, Cell):
                    condition, yes, no = chosen.args
                    chosen = yes if evaluate(condition, lambda cell: _given(cell, c)) else no
            largest = isinstance(tree, Apply) and tree.function == "maximum"
            want = (all if largest else any)(
                patterns[cell.slot] is not None and nested.at(patterns[cell.slot], _index(cell, c))
                for cell in sources(chosen)
            )
            got = found[port] is not None and nested.at(found[port], index)
            if bool(got) != want:
                yield f"{c.what}: {tensor.name}{list(index)} is {'' if got else 'not '}hidden"


def _index(cell: Cell, c: Call) -> list[int]:
    return [_given(i, c) if isinstance(i, Cell) else i for i in cell.index]


def _given(cell: Cell, c: Call) -> Any:
    return nested.at(c.values[cell.slot], _index(cell, c))


def rejections(op: Op) -> Iterator[str]:
    """Every call that must be refused is, with the promised words, and leaves the graph as it was."""
    for i, reject in enumerate(op.rejects):
        graph = Graph("rejected")
        tensors = [
            None if spec is None else graph.input(name, spec.shape, spec.axes, spec.kind)
            for name, spec in zip(_operand_names(op), reject.operands)
        ]
        before = list(graph.nodes)
        try:
            graph.apply(op, *tensors, **reject.attributes, name="y")
        except GraphError as error:
            if reject.words not in str(error):
                yield f"{op.name}, rejection {i}: said {str(error)!r}; promised {reject.words!r}"
            if not str(error).startswith(f"{op.name} 'y': "):
                yield f"{op.name}, rejection {i}: {str(error)!r} does not begin with the op and the node"
            if list(graph.nodes) != before:
                yield f"{op.name}, rejection {i}: the refused call left nodes behind"
        except Exception as error:
            yield f"{op.name}, rejection {i}: raised {type(error).__name__}: {error}"
        else:
            yield f"{op.name}, rejection {i}: was accepted; promised {reject.words!r}"


def _operand_names(op: Op) -> Iterator[str]:
    """An input's name for each slot: the operand's own, and xs0, xs1, … for any number of them."""
    for slot in itertools.count():
        yield "".join(c for c in op.operand_name(slot) if c not in "[]") if op.operands else f"x{slot}"


def purity(op: Op) -> Iterator[str]:
    """Feeds are not modified, and the results share no list with them; a second run is the same."""
    for c in calls(op):
        before = copy.deepcopy(c.feeds)
        first = run(c.graph, c.feeds, allow_nonfinite=True)
        if not same_bits(before, c.feeds):
            yield f"{c.what}: the feeds were modified"
        if any(not same_bits(first[name], c.feeds[name]) for name in c.feeds):
            yield f"{c.what}: an operand was modified"
        values = copy.deepcopy([first[name] for name in c.names])
        second = run(c.graph, c.feeds, allow_nonfinite=True)
        if not same_bits(values, [second[name] for name in c.names]):
            yield f"{c.what}: a second run gives something else"
        if not same_bits(values, [first[name] for name in c.names]):
            yield f"{c.what}: a second run changed what the first had recorded"
        lists = {id(part) for value in c.feeds.values() for part in _lists(value)}
        if any(id(part) in lists for name in c.names for part in _lists(first[name])):
            yield f"{c.what}: a result shares a list with the feeds"


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
        for item in value:
            yield from _lists(item)


def zooming(op: Op) -> Iterator[str]:
    """fuse(zoom(g)) == g at every level, and zooming twice changes nothing more."""
    for c in calls(op):
        c.graph.output(result=c.outputs[0])
        for level in LEVELS:
            fine = zoom(c.graph, level)
            if any(node.op.coarser(level) for node in fine.nodes.values()):
                yield f"{c.what}: something coarser is left at level {level}"
            if zoom(fine, level) != fine:
                yield f"{c.what}: zooming twice to {level} is not the same as once"
            back = fuse(fine)
            if back != c.graph:
                yield f"{c.what}: fuse(zoom(g, {level!r})) is not g: {back.notes}"


MANY = 4
"""With more operands than this, only some combinations of named and unnamed ones are tried."""


def axis_names(op: Op) -> Iterator[str]:
    """With any operands unnamed, or named each in its own way, the shape rule names the axes as the expansion
    does; fuse(zoom(g)) == g; and a graph is read back from its text."""
    for i, sample in enumerate(op.samples):
        namings = list(_namings(op.name, sample))
        for j, names in enumerate(namings):
            try:
                c = call(op, sample, f"{op.name}, sample {i}, naming {j}", names)
            except GraphError:  # names that do not go together
                continue
            c.graph.output(**{f"result{port}": tensor for port, tensor in enumerate(c.outputs)})
            for level in levels_of(op) if len(sample.operands) <= MANY else ("primitive",):
                fine = zoom(c.graph, level)
                told = f"{c.what}, level {level}"
                for tensor in c.outputs:
                    if fine.spec(fine.resolve(tensor.name)) != tensor.spec:
                        was = fine.spec(fine.resolve(tensor.name))
                        yield f"{told}: {tensor.name} is {tensor.spec}, and its expansion is {was}"
                if fuse(fine) != c.graph:
                    yield f"{told}: fuse(zoom(g)) is not g: {fuse(fine).notes}"
                if j < len(namings) - 2:  # the last two have axes of every kind
                    continue
                yield from (f"{told}: {finding}" for finding in verify(fine).problems)
                if OPS.get(op.name) is op and parse_graph(graph_text(fine)) != fine:
                    yield f"{told}: the text gives another graph"


def _namings(seed: str, sample: Sample) -> Iterator[list[tuple[str | None, ...] | None]]:
    """Axes for each operand: all combinations of named by size and unnamed, then some axes named, then names
    that no other operand has, then some that others have too, whatever their sizes."""
    shapes = [() if value is None else nested.shape_of(value) for value in sample.operands]
    dice = random.Random(seed)
    few = len(shapes) <= MANY
    drawn = ([dice.random() < 0.5 for _ in shapes] for _ in range(MANY))
    for named in itertools.product((True, False), repeat=len(shapes)) if few else drawn:
        yield [tuple(f"axis{n}" for n in shape) if on else None for on, shape in zip(named, shapes)]
    for _ in range(2 * MANY if few else MANY):
        yield [tuple(dice.choice((f"axis{n}", None)) for n in shape) for shape in shapes]
    yield [tuple(f"x{slot}_{place}" for place in range(len(shape))) for slot, shape in enumerate(shapes)]
    yield [tuple(dice.choices((None, None, "token", "feature", "head"), k=len(shape))) for shape in shapes]


def rest(op: Op) -> Iterator[str]:
    """Cost is a whole number, the note is text, warnings are sentences, values keep to the range."""
    for c in calls(op):
        if op.cost is not None:
            flops = op.cost(*c.specs, **c.node.attributes)
            if type(flops) is not int or flops < 0:
                yield f"{c.what}: the cost is {flops!r}; expected an int of 0 or more"
        if op.note is not None and not isinstance(op.note(*c.specs, **c.node.attributes), str):
            yield f"{c.what}: the note is not text"
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        for warning in (warning for step in trace.steps for warning in step.warnings):
            if not isinstance(warning, str) or not warning:
                yield f"{c.what}: the warning {warning!r} is not a sentence"
        if op.range is not None:
            low, high = op.range
            for cell in nested.flat(trace[c.names[0]]):
                if cell == cell and not low <= cell <= high:
                    yield f"{c.what}: {cell!r} is outside the range {op.range}"
        if not isinstance(c.outputs[0].symbol, str) or "{" in c.outputs[0].symbol:
            yield f"{c.what}: the symbol is {c.outputs[0].symbol!r}"


def signatures(op: Op) -> Iterator[str]:
    """Every rule can be called as the op's docstring says: operands by position, attributes by name."""
    attributes = {p.name for p in op.parameters.values() if not p.operand}
    for name in ("expand", "explain", "cost", "masked", "warn", "note", "kernel", "gradient"):
        rule = getattr(op, name)
        if rule is None:
            continue
        known = inspect.signature(rule).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in known):
            continue
        missing = attributes - {p.name for p in known}
        if missing:
            yield f"{op.name}: its {name} rule does not take {', '.join(sorted(missing))}"


def handing_on(op: Op) -> Iterator[str]:
    """What an op hands on, and no other value, reaches the op that it hands it on to; its own parameters
    are other ones."""
    if op.hands_on is None:
        return
    target = OPS[op.hands_on]
    for name in op.sets:
        if name not in target.parameters:
            yield f"{op.name} sets {name!r}, which {target.name} does not take"
        elif name in op.own:
            yield f"{op.name} sets {name!r}, and takes it too"
    for c in calls(op):
        fine = expand_all(c.graph, lambda node: node.name == "y")
        wanted = (c.node.attributes, dict(zip((p.name for p in op.operands), c.node.operands)))
        inner = [node for node in fine.nodes.values() if node.op is target]
        if not inner:
            yield f"{c.what}: nothing in its expansion is of {target.name}"
        elif not any(_handed(node, op, *wanted) for node in inner):
            yield f"{c.what}: no {target.name} in its expansion has what {op.name} hands on"


def _handed(node: Any, op: Op, attributes: Any, operands: dict[str, Any]) -> bool:
    """Whether a node has the attributes and operands that `op` hands on."""
    given = dict(zip((p.name for p in node.op.operands), node.operands))
    return all(
        given.get(name) == operands.get(name) if p.operand else node.attributes[name] == attributes[name]
        for name, p in op.handed_on.items()
    )


def linearity(op: Op) -> Iterator[str]:
    """What an op says it is linear in, it is: f(2u − 3v) = 2 f(u) − 3 f(v) in each group of operands, the
    rest as it stands."""
    for c in calls(op):
        dice = random.Random(f"{c.what} linear")
        groups = op.linear_groups(c.specs, c.node.attributes)
        function = function_of(op, c.graph.operand_specs(c.node.operands), c.node.attributes)
        for group in groups:
            slots = [s for s in group if s < len(c.values) and c.values[s] is not None]
            if not slots:
                continue
            if any(c.specs[slot].kind != "float" for slot in slots):
                if all(c.specs[slot].kind != "float" for slot in slots):
                    continue  # numbers that are moved, not added
                yield f"{c.what}: linear names operands of several kinds"
                continue
            u, v = ([_drawn(dice, c.values[slot]) for slot in slots] for _ in range(2))
            mixed = [added(2.0, a, -3.0, b) for a, b in zip(u, v, strict=True)]
            results = []
            for values in (u, v, mixed):
                operands = list(c.values)
                for slot, value in zip(slots, values, strict=True):
                    operands[slot] = value
                found = function(*operands)
                results.append(list(nested.flat(list(found) if len(c.names) > 1 else found)))
            for a, b, got in zip(*results, strict=True):
                if not all(map(math.isfinite, (a, b))):
                    continue  # what stands still is not finite
                if not abs(2.0 * a - 3.0 * b - got) <= 1e-12 * (1.0 + abs(a) + abs(b)):
                    names = ", ".join(op.operand_name(slot) for slot in slots)
                    yield f"{c.what}: not linear in {names}: {got!r} is not {2.0 * a - 3.0 * b!r}"
                    break


def _drawn(dice: random.Random, value: Any) -> Any:
    """Random floats in the shape of a value."""
    return mapped(lambda _: dice.gauss(0.0, 1.0), value)


def added(p: float, a: Any, q: float, b: Any) -> Any:
    """p a + q b, cell by cell."""
    if isinstance(a, list):
        return [added(p, x, q, y) for x, y in zip(a, b, strict=True)]
    return p * a + q * b


LAWS = (
    linearity,
    record, signatures, handing_on, shapes, expansion, rounding, explanation, masks, rejections, purity,
    zooming, axis_names, sums_of_nothing, rest,
)  # fmt: skip
