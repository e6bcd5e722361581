"""Evaluation: a plan made once per graph, and the loop that follows it.

A plan resolves what would otherwise be looked up at every step: which function each node calls
(its kernel, lifted over the batch axes), and in which slots of a flat list of values its operands
stand. Nodes without operands (constants, masks, positions) are computed while planning, and what
their consumers can prepare from them (a transposed matrix) is prepared once.

    values = [feeds …, constants …]
    for step in plan.steps:  values[out] = function(values[a], values[b], …)

A composite without a kernel of its own is evaluated by the plan of its expansion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from inspect import signature
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from . import nested
from .axes import Spec, describe
from .errors import GraphError, suggest
from .graph import Graph, Node, Ref, Scope, Tensor
from .limits import most_cells, need_cells
from .numbers import FLOAT, Numbers
from .op import Kernel, Op, broken
from .words import listed, typed

T = TypeVar("T")


class PlanStep(NamedTuple):
    """One node of a plan: its function (None where it is fed), and where its operands stand in
    the list of values. `start` is the place of its first output; the others follow."""

    node: Node
    function: Callable[..., Any] | None
    operands: tuple[int | None, ...]
    specs: tuple[Spec | None, ...]
    """The operands as the rules of the op take them, left-out ones included."""
    start: int

    @property
    def runs(self) -> bool:
        """Whether a run evaluates it (it is neither fed nor known before)."""
        return bool(self.operands)

    @property
    def places(self) -> range:
        """Where its outputs stand."""
        return range(self.start, self.start + len(self.node.ports))


class Plan:
    """What to call, in which order, on which values (see the module's docstring).

    `places` gives the position of each output in the list of values; `constants` are the values
    that are known before a run; `fed` are the steps that a run must feed, of all that are `known`
    inputs of the graph. Nothing is prepared from the constants of the nodes in `changing`. A plan that is
    `deferred` makes a function only when it is called: an engine computes the values, and only masks ask.
    """

    def __init__(
        self,
        graph: Graph,
        numbers: Numbers,
        wanted: Collection[str] | None = None,
        changing: Collection[str] = (),
        deferred: bool = False,
    ) -> None:
        self.graph = graph
        self.deferred = deferred
        self.numbers = numbers
        self.changing = frozenset(changing)
        self.steps: list[PlanStep] = []
        self.places: dict[Ref, int] = {}
        self.constants: list[Any] = []
        self._moving: set[int] = set()
        self.listed: set[int] = set()
        """The places whose values must be nested lists: a kernel that takes them does more than go through
        their rows."""
        self._by_start: dict[int, PlanStep] = {}
        self._checked = False
        self.program: list[tuple[Any, ...]] = []
        self.fed: dict[str, PlanStep] = {}
        self.known_before: dict[int, tuple[Any, list[str]]] = {}
        """Masks and warnings of the steps that no feed changes, by their place, once they were asked for."""
        self.known = graph.fed
        limit = most_cells()
        for node in graph.nodes.values():
            if wanted is None or node.name in wanted:
                if not node.op.fed:
                    need_cells(f"{node.op.name} {node.name!r}", node.outputs, limit)
                self._add(node)
        for place in self.listed:
            self.constants[place] = nested.lists(self.constants[place])

    @property
    def size(self) -> int:
        return len(self.constants)

    def values(self) -> list[Any]:
        """The list of values that a run begins with. A constant that only moves on (concat, split) is
        copied, since the result shares its rows and whoever gets that may change it; `Trace` copies
        the others when they are asked for."""
        values = self.constants.copy()
        for place in self._moving:
            values[place] = nested.copied(values[place])
        return values

    @cached_property
    def opened(self) -> dict[int, list[Scope]]:
        """The composites with warnings of their own that the graph shows the inside of, by the place of the
        first output of the node that gives their first result."""
        found: dict[int, list[Scope]] = {}
        for scope in self.graph.scopes.values():
            warns = scope.op is not None and scope.op.warn is not None and bool(scope.outputs)
            if warns and all(ref is None or ref in self.places for ref in (*scope.operands, *scope.outputs)):
                found.setdefault(self.places[Ref(scope.outputs[0].node)], []).append(scope)
        return found

    def _add(self, node: Node) -> None:
        start = self.size
        for port in range(len(node.ports)):
            self.places[Ref(node.name, port)] = start + port
        operands = tuple([None if ref is None else self.places[ref] for ref in node.operands])
        specs = self.graph.operand_specs(node.operands)
        self.constants += [None] * len(node.ports)
        function = None
        if not node.op.fed:
            try:
                function = self._function(node, operands, specs)
                if not operands:
                    self._compute(_checking(function, node), start, len(node.ports))
            except Exception as error:
                raise blamed(node, error) from _cause(error)
            if operands:
                if node.op.moves or isinstance(function, Composite):
                    self._moving.update(p for p in operands if p is not None and self.constants[p] is not None)
                self.program.append(_instruction(function, operands, start, len(node.ports)))
        step = PlanStep(node, function, operands, padded(node.op, specs), start)
        self.steps.append(step)
        self._by_start[start] = step
        if node.op.fed:
            self.fed[node.name] = step

    def _function(
        self, node: Node, operands: Sequence[int | None], specs: Sequence[Spec | None]
    ) -> Callable[..., Any]:
        if self.deferred and operands and node.op.kernel is not None:
            return Deferred(partial(function_of, node.op, specs, node.attributes, self.numbers))
        specs = [
            None if ref is None else self._known(ref, place)
            for ref, place in zip(node.operands, operands, strict=True)
        ]
        kernel = kernel_of(node.op, specs, node.attributes, self.numbers)
        if kernel is None or not kernel.by_rows:
            self.listed.update(place for place in operands if place is not None)
        return _applied(kernel, node.op, specs, node.attributes, self.numbers)

    def _known(self, ref: Ref, place: int | None) -> Spec:
        spec = self.graph.spec(ref)
        value = None if place is None or ref.node in self.changing else self.constants[place]
        return spec if value is None else replace(spec, value=value)

    def _compute(self, function: Callable[..., Any], start: int, count: int) -> None:
        result = function()
        self.constants[start : start + count] = [result] if count == 1 else result

    def _checking(self, instruction: tuple[Any, ...]) -> tuple[Any, ...]:
        """The instruction, whose results are looked at. That is done in the first run of a plan: kernels
        give the same shapes in all."""
        function, *middle, start, count = instruction
        return (_checking(function, self._by_start[start].node), *middle, start, count)

    def execute(self, values: list[Any], program: Sequence[tuple[Any, ...]]) -> Iterator[int]:
        """Run instructions on the values, yielding after each the place of its first result."""
        start = 0
        if not self._checked:
            program = [self._checking(instruction) for instruction in program]
        try:
            for function, first, second, fetch, start, count in program:
                if fetch is not None:
                    result = function(*fetch(values))
                elif second is None:
                    result = function(values[first])
                else:
                    result = function(values[first], values[second])
                if count == 1:
                    values[start] = result
                else:
                    values[start : start + count] = result
                yield start
            self._checked = True
        except Exception as error:
            node = self._by_start[start].node
            raise blamed(node, error) from _cause(error)


def _checking(function: Callable[..., Any], node: Node) -> Callable[..., Any]:
    """The function of a node, refused where its results have other shapes than the rule of the op says."""

    def checked(*operands: Any) -> Any:
        result = function(*operands)
        for spec, value in zip(node.outputs, [result] if len(node.ports) == 1 else result, strict=True):
            if not nested.fits(value, spec.shape):
                raise GraphError(f"its kernel does not give {describe(spec)}, as its shape rule says")
        return result

    return checked


FAILURES = (ArithmeticError, LookupError, TypeError, ValueError)
"""What a function may raise on numbers that it cannot take."""


def blamed(node: Node, error: Exception) -> Exception:
    """The error, with the node that it came from."""
    if isinstance(error, GraphError):
        return GraphError(f"{node.op.name} {node.name!r}: {error}")
    return broken(f"{node.op.name} {node.name!r}: its kernel", error)


def _cause(error: Exception) -> Exception | None:
    """What a reader of the traceback should see beneath: nothing if the sentence says it all."""
    return None if isinstance(error, GraphError) else error


def _instruction(
    function: Callable[..., Any], operands: tuple[int | None, ...], start: int, count: int
) -> tuple[Any, ...]:
    """(function, first place, second place or None, fetch or None, start, count of outputs)."""
    if None in operands or len(operands) > 2:
        fetch = (
            (lambda values: [None if place is None else values[place] for place in operands])
            if None in operands
            else itemgetter(*operands)
        )
        return function, None, None, fetch, start, count
    first, second = operands if len(operands) == 2 else (*operands, None)
    return function, first, second, None, start, count


def padded(op: Op, operands: Sequence[T | None]) -> tuple[T | None, ...]:
    """The operands with None for those left out at the end of the signature."""
    missing = 0 if op.variadic else len(op.operands) - len(operands)
    return (*operands, *[None] * missing)


def function_of(
    op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], numbers: Numbers = FLOAT
) -> Callable[..., Any]:
    """The function from whole operands to whole results that evaluates one node.

    Operands that are left out at the end of the signature need not be passed. Several results
    come as a tuple.
    """
    return _applied(kernel_of(op, specs, attributes, numbers), op, specs, attributes, numbers)


def kernel_of(
    op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], numbers: Numbers
) -> Kernel | None:
    """The kernel that evaluates one node; None where its expansion does."""
    if op.kernel is None or (numbers is not FLOAT and op.expand is not None):
        return None
    return op.told("kernel", None, numbers, *padded(op, specs), **attributes)


def _applied(
    kernel: Kernel | None, op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], numbers: Numbers
) -> Callable[..., Any]:
    """The kernel on whole operands."""
    if kernel is None:
        return Composite(op, specs, attributes, numbers)
    full = padded(op, specs)
    if not full:
        return partial(kernel.function, **kernel.bound)
    function, bound = _positional(kernel)
    shapes = [None if spec is None else spec.shape for spec in specs]
    ranks = [rank + kernel.along for rank in kernel.ranks[: len(specs)]]
    left_out = [None] * (len(full) - len(specs))
    return nested.lift(function, ranks, shapes, kernel.outputs, [*left_out, *bound])


def _positional(kernel: Kernel) -> tuple[Callable[..., Any], list[Any]]:
    """The kernel's function, and its bound arguments in the order in which it takes them after its
    operands: there is a call for each row, and calls by position are much quicker than by keyword."""
    if kernel.along:
        return nested.along(partial(kernel.function, **kernel.bound), kernel.along), []
    if not kernel.bound:
        return kernel.function, []
    names = _parameters(kernel.function)[len(kernel.ranks) :]
    if set(names) != set(kernel.bound):
        return partial(kernel.function, **kernel.bound), []
    return kernel.function, [kernel.bound[name] for name in names]


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(function).parameters)


def standalone(
    op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]
) -> tuple[Graph, list[Tensor | None], tuple[Tensor, ...]]:
    """A graph of one node, with an input for each operand: the graph, its inputs, the results."""
    graph = Graph(op.name)
    operands = [
        None if spec is None else graph.input(f"operand{slot}", spec.shape, spec.axes, spec.kind)
        for slot, spec in enumerate(specs)
    ]
    results = graph.apply(op, *operands, **attributes, name="composite")
    return graph, operands, results if isinstance(results, tuple) else (results,)


class Deferred:
    """A function that is made when it is first called."""

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self.make = make

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self.make()

    def __call__(self, *operands: Any) -> Any:
        return self.function(*operands)


class Composite:
    """A composite as a function: the plan of its expansion, with the operands as inputs."""

    def __init__(
        self, op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], numbers: Numbers
    ) -> None:
        if op.expand is None:
            raise GraphError(f"op {op.name!r} has neither a kernel nor an expansion; expected one of them")
        level = op.inside if numbers is FLOAT else "primitive"
        graph, operands, results = standalone(op, specs, attributes)
        self.plan = plan_of(graph.at(level), numbers)
        resolve = self.plan.graph.resolve
        self.results = tuple(self.plan.places[resolve(result.name)] for result in results)
        """Where the results stand among the values of the plan."""
        self.operands = tuple(None if t is None else self.plan.places[Ref(t.name)] for t in operands)
        """Where the operands stand there."""

    def values(self, operands: Sequence[Any]) -> list[Any]:
        """Every value of the expansion."""
        values = self.plan.values()
        for place, value in zip(self.operands, operands):
            if place is not None:
                values[place] = value
        for _ in self.plan.execute(values, self.plan.program):
            pass
        return values

    def __call__(self, *operands: Any) -> Any:
        values = self.values(operands)
        outputs = [
            nested.copied(values[place]) if values[place] is self.plan.constants[place] else values[place]
            for place in self.results
        ]
        return outputs if len(outputs) > 1 else outputs[0]


def plan_of(
    graph: Graph,
    numbers: Numbers = FLOAT,
    targets: Sequence[str] | None = None,
    changing: Collection[str] = (),
    deferred: bool = False,
) -> Plan:
    """The plan of a graph, kept until the graph grows; `targets` limits it to what they need, `changing`
    names the constants that the run replaces, and `deferred` is for runs that call nothing."""
    sinks = None if targets is None else frozenset(graph.resolve(name).node for name in targets)
    key = ("plan", numbers, sinks, frozenset(changing), deferred)

    def planned() -> Plan:
        return Plan(graph, numbers, None if sinks is None else graph.ancestors(*sinks), changing, deferred)

    return graph.kept(key, planned)


def read_feeds(
    plan: Plan, feeds: Any, values: list[Any], patched: Collection[int], allow_nonfinite: bool
) -> None:
    """Check the feeds and put them in their places. Raises a `GraphError` for the first that is
    missing, unknown or not as declared."""
    if not isinstance(feeds, Mapping):
        like = f", like {{{next(iter(plan.fed))!r}: …}}" if plan.fed else ""
        raise GraphError(f"feeds is {typed(feeds)}; expected a dict of tensors by input name{like}")
    for name in feeds:
        if name not in plan.known:
            if hasattr(name, "spec"):
                raise GraphError(
                    f"feeds has the tensor {name.name!r} as a key; expected its name: {{{name.name!r}: …}}"
                )
            raise GraphError(
                f"graph {plan.graph.name!r} has no input {name!r}; expected {_listed(plan.known)}"
                + suggest(name, plan.known)
            )
    for name, step in plan.fed.items():
        if step.start in patched:
            continue
        if name not in feeds:
            default = step.node.attributes.get("default")
            if default is None:
                spec = step.node.outputs[0]
                raise GraphError(
                    f"{step.node.op.name} {name!r} of graph {plan.graph.name!r} was not fed; expected"
                    f" {{{name!r}: …}} with {describe(spec)}"
                )
            values[step.start] = nested.full(step.node.outputs[0].shape, plan.numbers.lift(default))
            continue
        value = nested.read(feeds[name], step.node.outputs[0], name, plan.numbers, allow_nonfinite)
        values[step.start] = nested.lists(value) if step.start in plan.listed else value


def _listed(names: Collection[str]) -> str:
    return listed(names, none="no feeds")
