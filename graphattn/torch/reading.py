"""Reading a program: one step after another becomes nodes of a graph.

    reading = Reading(program, values of its inputs and of what is stored)
    reading.specimen()      the graph, and what it is fed
    reading.named           which tensor of the graph each value of the program is

A step whose arguments are all known is computed by PyTorch itself (`known.py`); any other is built by the rule
of its operator (`rules/`). What is known enters the graph when a step needs it there: a stored tensor as a
parameter, an input as an input, what follows from them as a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Tensor
from ..core.specimen import Specimen
from .axes import with_axes
from .draft import Draft
from .grouped import with_attention
from .known import folded, folds
from .modules import results
from .program import Program, Source, Step, Use, uses
from .rules import LIVE, RULES, SKIPPED
from .rules.call import Call
from .values import FLOATS, Value, kind_of, of_tensor
from .writes import Writes, plain

SIZES = ("aten.sym_size.int", "aten.sym_numel.default")


class Reading:
    """A program that is read (see the module's docstring). `given`: values by name."""

    def __init__(self, program: Program, given: Mapping[str, Any]) -> None:
        self.program = program
        self.draft = Draft(program)
        self._values = {source.name: self._start(source, given[source.name]) for source in program.sources}
        self._dtype = next((s.dtype for s in program.sources if s.dtype in FLOATS), "float32")
        self._writes = Writes(program)
        for place, step in enumerate(program.steps):
            self._read(place, step)
        self._finish()

    @property
    def named(self) -> dict[str, str]:
        """The name of the tensor in the graph, by the name of the value in the program."""
        return self.draft.named

    def specimen(self) -> Specimen:
        """The graph, ready to run."""
        return self.draft.specimen()

    def _start(self, source: Source, value: Any) -> Value:
        """What the program begins with: integers and bools of its inputs are known, and what is stored but
        for parameters."""
        if source.kind != "input":
            known = None if source.kind == "parameter" else value.detach().clone()
            return Value(lambda: self.draft.stored(source, value), known)
        if value is not None and not hasattr(value, "dtype"):
            return Value(None, value)
        known = None if value is None or kind_of(value) == "float" else value.clone()
        live = known is not None
        return Value(lambda: self.draft.input(source, value), known, frozenset({source.name}), live)

    # ------------------------------------------------------------ one step

    def _read(self, place: int, step: Step) -> None:
        if step.op in SKIPPED:
            return
        if step.op in SIZES:
            return self._size(step)
        operands = [self._value(step, name) for name in uses(list(step.arguments.values()))]
        if all(operand.known is not None for operand in operands) and folds(step):
            return self._fold(step, operands)
        if step.writes:
            self._writes.check(place, step)
        results = self._built(step)
        for output, tensor in zip(step.outputs, results):
            if output is not None:
                self._values[output] = of_tensor(tensor)
                self.draft.named[output] = tensor.name
        if step.writes:
            self._values[step.first] = of_tensor(results[0])

    def _size(self, step: Step) -> None:
        """A size, which is known of every tensor."""
        value = self._value(step, step.first)
        shape = tuple(value.known.shape) if value.known is not None else value.tensor.shape
        dim = self._resolved(step, step.arguments.get("dim"))
        if dim is not None and not (isinstance(dim, int) and -len(shape) <= dim < len(shape)):
            raise GraphError(f"{step.told} asks for axis {dim} of {len(shape)}")
        self._values[step.name] = Value(None, prod(shape) if dim is None else shape[dim])

    def _fold(self, step: Step, operands: Sequence[Value]) -> None:
        arguments = {name: self._resolved(step, value) for name, value in step.arguments.items()}
        rests = frozenset().union(*(operand.rests_on for operand in operands))
        live = step.op in LIVE and any(operand.live for operand in operands)
        results = folded(step, arguments)
        if step.writes:
            self._written(step, results[0], rests)
            live = False
        for place, (output, result) in enumerate(zip(step.outputs, results)):
            if output is not None:
                make = self._live(step, place) if live else self.draft.constant(step, output, result, rests)
                self._values[output] = Value(make, result, rests, live)

    def _written(self, step: Step, value: Any, rests: frozenset[str]) -> None:
        """What shares memory with a known value that was written to is another constant now."""
        memory = value.untyped_storage().data_ptr()
        for name, other in self._values.items():
            known = other.known
            if hasattr(known, "untyped_storage") and known.untyped_storage().data_ptr() == memory:
                both = rests | other.rests_on
                self._values[name] = Value(self.draft.constant(step, name, known, both), known, both)

    def _live(self, step: Step, place: int) -> Any:
        def make() -> Tensor:
            tensor = self._built(step)[place]
            self.draft.named[step.outputs[place] or ""] = tensor.name
            return tensor

        return make

    def _built(self, step: Step) -> list[Tensor]:
        """The nodes of one step: what comes out."""
        rule = RULES.get(plain(step))
        if rule is None:
            raise GraphError(f"{step.told} is not read; graphattn.torch.supported() lists what is")
        arguments = {_argument(name): self._held(step, value) for name, value in step.arguments.items()}
        call = Call(self.draft, step, self._dtype, rule.named)
        try:
            result = rule.build(call, **arguments)
        except GraphError as error:
            raise GraphError(f"{step.told}: {error}") from None
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return results

    # ------------------------------------------------------------ arguments

    def _value(self, step: Step, name: str) -> Value:
        if name not in self._values:
            raise GraphError(f"{step.told} takes {name!r}, which no step before gives")
        return self._values[name]

    def _resolved(self, step: Step, argument: Any) -> Any:
        """An argument with known values put in."""
        if isinstance(argument, Use):
            return self._value(step, argument.name).known
        if isinstance(argument, list):
            return [self._resolved(step, item) for item in argument]
        return argument

    def _held(self, step: Step, argument: Any) -> Any:
        """An argument with values put in; numbers that are known stand for themselves."""
        if isinstance(argument, Use):
            value = self._value(step, argument.name)
            if value.known is not None and not hasattr(value.known, "dtype"):
                self.draft.rests(value)
                return value.known
            return value
        if isinstance(argument, list):
            return [self._held(step, item) for item in argument]
        return argument

    # ------------------------------------------------------------ the end

    def _finish(self) -> None:
        """Name the results, and what each module gives."""
        graph = self.draft.graph
        for name, result in self.program.outputs.items():
            if not isinstance(result, Use):
                continue
            value = self._values.get(result.name)
            if value is None:
                raise GraphError(f"the result {name} is {result.name!r}, which no step gives")
            if value.known is None or hasattr(value.known, "dtype"):
                graph.output(**{name if graph.is_free(name) else f"{name}_result": value.tensor})
        if not graph.outputs:
            raise GraphError(f"{self.program.name} gives no tensors; expected one that is computed")
        for scope, tensor in results(self.program, self.draft.paths, self.named):
            graph.adopt_alias(scope, graph.resolve(tensor))
        graph, notes = with_attention(graph, self.named)
        self.draft.graph = with_axes(graph)
        for note in notes:
            self.draft.note(note)


def _argument(name: str) -> str:
    """The name of a schema's argument as a rule has it."""
    return "x" if name == "self" else name
