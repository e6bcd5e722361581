"""Reading a program: one step after another becomes nodes of a graph.

    reading = Reading(program, values of its inputs)
    reading.specimen()      the graph, and what it is fed
    reading.named           which tensor of the graph each value of the program is

A step whose arguments are all known is computed by PyTorch itself (`known.py`); any other is built by the rule
of its operator (`rules/`). What is known enters the graph when a step needs it there: a stored tensor as a
parameter, an input as an input, what follows from them as a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from ..core.errors import GraphError, suggest
from ..core.graph import Graph, Scope, Tensor
from ..core.specimen import Specimen
from ..core.words import counted, listed, sizes
from .known import folded, folds
from .names import Taken, base, identifier, paths_of, reserved
from .program import Program, Source, Step, Use, need_torch, uses
from .rules import LIVE, RULES, SKIPPED
from .rules.call import Call
from .values import FLOATS, Value, cells, dtype_of, feed, kind_of, of_tensor
from .writes import Writes, plain

KINDS = {"float": "float", "int": "int", "bool": "bool"}


class Reading:
    """A program that is read (see the module's docstring). `given`: a value for each input, in order: a
    tensor of PyTorch or a number; None for a float input that is not fed."""

    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        self.program = program
        self.graph = Graph(identifier(program.name), program.title)
        self.feeds: dict[str, Any] = {}
        self.named: dict[str, str] = {}
        """The name of the tensor in the graph, by the name in the program."""
        self.paths = paths_of(program)
        self._taken = Taken(reserved(program, self.paths))
        self._values: dict[str, Value] = {}
        self._fixed: set[str] = set()
        self._notes: list[str] = list(program.notes)
        inputs = program.inputs
        if len(given) != len(inputs):
            raise GraphError(
                f"{counted(len(given), 'value')} for {counted(len(inputs), 'input')}; expected as many"
            )
        fed = {source.name: value for source, value in zip(inputs, given)}
        for source in program.sources:
            self._values[source.name] = self._start(source, fed.get(source.name, source.value))
        self._dtype = next((s.dtype for s in program.sources if s.dtype in FLOATS), "float32")
        self._writes = Writes(program)
        for place, step in enumerate(program.steps):
            self._read(place, step)
        self._finish()

    # ------------------------------------------------------------ what a program starts from

    def _start(self, source: Source, value: Any) -> Value:
        _check(source, value)
        if source.kind == "input":
            if value is None or not hasattr(value, "dtype"):
                return Value(lambda: self.graph.input(identifier(source.name), source.sizes), value)
            known = None if kind_of(value) == "float" else value.clone()
            return Value(
                lambda: self._input(source, value), known, frozenset({source.name}), live=known is not None
            )
        if source.kind == "parameter":
            return Value(lambda: self._stored(source, value))
        return Value(lambda: self._stored(source, value), value.detach().clone())

    def _input(self, source: Source, value: Any) -> Tensor:
        name = identifier(source.name)
        kind = kind_of(value)
        with self._inside(""):
            tensor = self.graph.input(name, tuple(value.shape), kind=KINDS[kind])
        self.feeds[name] = feed(value)
        self.named[source.name] = name
        return tensor

    def _stored(self, source: Source, value: Any) -> Tensor:
        scope, leaf = self.paths.stored(source.path or source.name)
        with self._inside(scope):
            if kind_of(value) != "float":
                return self.graph.constant(cells(value), name=leaf)
            tensor = self.graph.parameter(leaf, tuple(value.shape))
        self.feeds[tensor.name] = feed(value)
        self.named[source.name] = tensor.name
        for path in source.also:
            self.graph.adopt_alias(".".join(filter(None, self.paths.stored(path))), tensor.ref)
        return tensor

    # ------------------------------------------------------------ one step

    def _read(self, place: int, step: Step) -> None:
        if step.op in SKIPPED:
            return
        operands = [self._value(step, name) for name in uses(list(step.arguments.values()))]
        if all(operand.known is not None for operand in operands) and folds(step):
            return self._fold(step, operands)
        if step.writes:
            self._writes.check(place, step)
        results = self._built(step)
        for output, tensor in zip(step.outputs, results):
            if output is not None:
                self._values[output] = of_tensor(tensor)
                self.named[output] = tensor.name
        if step.writes:
            self._values[step.first] = of_tensor(results[0])

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
                make = self._live(step, place) if live else self._constant(step, output, result, rests)
                self._values[output] = Value(make, result, rests, live)

    def _written(self, step: Step, value: Any, rests: frozenset[str]) -> None:
        """What shares memory with a known value that was written to is another constant now."""
        memory = value.untyped_storage().data_ptr()
        for name, other in self._values.items():
            if hasattr(other.known, "untyped_storage") and other.known.untyped_storage().data_ptr() == memory:
                rests |= other.rests_on
                self._values[name] = Value(self._constant(step, name, other.known, rests), other.known, rests)

    def _constant(self, step: Step, output: str, value: Any, rests: frozenset[str]) -> Any:
        def make() -> Tensor:
            self._fixed |= rests
            scope = self.paths.within(step.modules)
            with self._inside(scope):
                name = self._taken.new(scope, base(step))
                tensor = self.graph.constant(cells(value), name=name)
            self.named[output] = tensor.name
            return tensor

        return make

    def _live(self, step: Step, place: int) -> Any:
        def make() -> Tensor:
            tensor = self._built(step)[place]
            self.named[step.outputs[place] or ""] = tensor.name
            return tensor

        return make

    def _built(self, step: Step) -> list[Tensor]:
        """The nodes of one step: what comes out."""
        rule = RULES.get(plain(step))
        if rule is None:
            raise GraphError(f"{step.told} is not read; graphattn.torch.supported() lists what is")
        scope = self.paths.within(step.modules)
        arguments = {_argument(name): self._held(step, value) for name, value in step.arguments.items()}
        name = self._taken.new(scope, base(step)) if rule.named else ""
        call = Call(
            self.graph, step, lambda: self._inside(scope), lambda wanted: self._taken.new(scope, wanted),
            self._note, name, self._rests, self._dtype,
        )  # fmt: skip
        try:
            result = rule.build(call, **arguments)
        except GraphError as error:
            raise GraphError(f"{step.told}: {error}") from None
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return results

    def _rests(self, value: Value) -> None:
        self._fixed |= value.rests_on

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

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
                self._fixed |= value.rests_on
                return value.known
            return value
        if isinstance(argument, list):
            return [self._held(step, item) for item in argument]
        return argument

    @contextmanager
    def _inside(self, scope: str) -> Iterator[None]:
        """Add nodes to a scope by its full name; no other is open then."""
        if not scope:
            yield
            return
        parent = None
        for full in (scope[:place] for place, c in enumerate(f"{scope}.") if c == "."):
            if full not in self.graph.scopes:
                self.graph.adopt_scope(Scope(full, parent=parent))
            parent = full
        with self.graph.within(self.graph.scopes[scope]):
            yield

    # ------------------------------------------------------------ the end

    def _finish(self) -> None:
        for name, result in self.program.outputs.items():
            if not isinstance(result, Use):
                continue
            value = self._values.get(result.name)
            if value is None:
                raise GraphError(f"the result {name} is {result.name!r}, which no step gives")
            if value.known is not None and not hasattr(value.known, "dtype"):
                continue
            with self._inside(""):
                self.graph.output(**{self._result(name): value.tensor})
        if not self.graph.outputs:
            raise GraphError(f"{self.program.name} gives no tensors; expected one that is computed")
        for scope, ref in self._results_of_modules():
            self.graph.adopt_alias(scope, ref)
        self.graph.notes = tuple(self._told())

    def _result(self, name: str) -> str:
        return name if self.graph.is_free(name) else f"{name}_result"

    def _results_of_modules(self) -> Iterator[tuple[str, Any]]:
        """For each call of a module that gives one tensor: its scope, and that tensor. A module gives what
        is computed in it and used outside."""
        inside: dict[str, set[str]] = {}
        made: dict[str, list[str]] = {}
        for step in self.program.steps:
            scopes = [self.paths.within(step.modules[: i + 1]) for i in range(len(step.modules))]
            for output in filter(None, step.outputs):
                inside[output] = set(scopes)
                for scope in filter(None, scopes):
                    made.setdefault(scope, []).append(output)
        users: dict[str, list[set[str]]] = {}
        for step in self.program.steps:
            own = {self.paths.within(step.modules[: i + 1]) for i in range(len(step.modules))}
            for name in uses(list(step.arguments.values())):
                users.setdefault(name, []).append(own)
        for name in uses(list(self.program.outputs.values())):
            users.setdefault(name, []).append(set())
        for scope, outputs in made.items():
            used = [output for output in outputs if any(scope not in own for own in users.get(output, ()))]
            tensors = {self.named[output] for output in used if output in self.named}
            own = {name for name in tensors if name.startswith(f"{scope}.")}
            if len(found := own if len(tensors) > 1 else tensors) == 1:
                yield scope, self.graph.resolve(found.pop())

    def _told(self) -> Iterator[str]:
        yield from self._notes
        shapes = [
            f"{source.name} {sizes(self.graph.inputs[identifier(source.name)].shape)}"
            for source in self.program.inputs
            if identifier(source.name) in self.graph.inputs
        ]
        yield f"read from a PyTorch program for {listed(shapes, 8)}; other sizes need it read again"
        if self._fixed:
            yield (
                f"what follows from the values of {listed(sorted(self._fixed), 8)} is constant here;"
                " other values need the program read again"
            )

    def specimen(self) -> Specimen:
        """The graph, ready to run."""
        return Specimen(self.graph, self.feeds, allow_nonfinite=True)


def _check(source: Source, value: Any) -> None:
    """Refuse what an input or a stored tensor cannot be."""
    if value is None:
        if source.kind == "input":
            return
        raise GraphError(f"{source.path or source.name} has no stored tensor; expected one")
    if not hasattr(value, "dtype"):
        return
    kind = kind_of(value)
    what = source.path or source.name
    if kind not in KINDS:
        raise GraphError(
            f"{what} holds {dtype_of(value)}; expected one of {', '.join(FLOATS)}, integers or bools"
        )
    if source.kind == "input" and source.shape:
        fits = len(source.shape) == value.dim() and all(
            size in (None, own) for size, own in zip(source.shape, value.shape)
        )
        if not fits:
            raise GraphError(f"{what} is {sizes(tuple(value.shape))}; expected {sizes(source.shape)}")


def _argument(name: str) -> str:
    """The name of a schema's argument as a rule has it."""
    return "x" if name == "self" else name


def read(program: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Reading:
    """Read a program of PyTorch, called with these arguments (without any, as it was exported)."""
    from .live import flat, live

    torch = need_torch()
    if isinstance(program, (str, PathLike)):
        from .serialized import stored

        return called(stored(program), args, kwargs)
    if not isinstance(program, torch.export.ExportedProgram):
        raise GraphError(
            f"program is a {type(program).__name__}; expected a torch.export.ExportedProgram, or the path of a"
            " .pt2 file (traced(module, …) takes a module)"
        )
    found = live(program)
    if args or kwargs:
        return Reading(found, flat(program, args, kwargs))
    if found.examples is None:
        raise GraphError("the program holds no arguments; expected those that it is called with")
    return Reading(found, found.examples)


def called(program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Reading:
    """Read a program of an archive: values of its inputs in order, and by name. Floats may be left out."""
    torch = need_torch()
    inputs = program.inputs
    if len(args) > len(inputs):
        raise GraphError(
            f"{counted(len(args), 'argument')} for {counted(len(inputs), 'input')}; expected as many"
        )
    given: dict[str, Any] = {source.name: value for source, value in zip(inputs, args)}
    for name, value in kwargs.items():
        known = [source.name for source in inputs if source.name]
        if name not in known:
            raise GraphError(
                f"{program.name} has no input {name!r}; expected {listed(known)}{suggest(name, known)}"
            )
        given[name] = value
    values = []
    for source in inputs:
        value = given.get(source.name, source.value)
        if value is not None and source.dtype and not isinstance(value, torch.Tensor):
            value = _as_tensor(source, value)
        if value is None and source.dtype and source.dtype not in FLOATS:
            raise GraphError(
                f"{program.name} needs {source.name}, {sizes(source.shape)} of {source.dtype}, while it is"
                " read: what follows from its values becomes constant; expected it with the call"
            )
        values.append(value)
    return Reading(program, values)


def _as_tensor(source: Source, value: Any) -> Any:
    """Nested lists, or an array, as a tensor of the program's own type."""
    torch = need_torch()
    value = value.tolist() if hasattr(value, "tolist") else value
    try:
        return torch.tensor(value, dtype=getattr(torch, source.dtype, None))
    except (ValueError, TypeError, RuntimeError) as error:
        raise GraphError(f"{source.name} is no tensor of {source.dtype}: {str(error)[:120]}") from None
