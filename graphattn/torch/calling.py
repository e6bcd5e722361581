"""A program and what it is called with: values for its inputs, checked, and read for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from ..core.errors import GraphError, suggest
from ..core.words import counted, listed, sizes
from .program import Program, Source, need_torch
from .reading import Reading
from .values import FLOATS, dtype_of, kind_of


def check(source: Source, value: Any) -> None:
    """Refuse what an input or a stored tensor cannot be."""
    if value is None:
        if source.kind == "input":
            return
        raise GraphError(f"{source.path or source.name} has no stored tensor; expected one")
    if not hasattr(value, "dtype"):
        return
    kind = kind_of(value)
    what = source.path or source.name
    if kind not in ("float", "int", "bool"):
        raise GraphError(
            f"{what} holds {dtype_of(value)}; expected one of {', '.join(FLOATS)}, integers or bools"
        )
    if source.kind == "input" and source.shape:
        fits = len(source.shape) == value.dim() and all(
            size in (None, own) for size, own in zip(source.shape, value.shape)
        )
        if not fits:
            raise GraphError(f"{what} is {sizes(tuple(value.shape))}; expected {sizes(source.shape)}")


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
        return reading(found, flat(program, args, kwargs))
    if found.examples is None:
        raise GraphError("the program holds no arguments; expected those that it is called with")
    return reading(found, found.examples)


def reading(program: Program, given: Sequence[Any]) -> Reading:
    """Read a program for a value of each input, in order: a tensor of PyTorch or a number; None for a float
    input that is not fed."""
    inputs = program.inputs
    if len(given) != len(inputs):
        told = counted(len(given), "value"), counted(len(inputs), "input")
        raise GraphError(f"{told[0]} for {told[1]}; expected as many")
    fed = {source.name: value for source, value in zip(inputs, given)}
    values = {source.name: fed.get(source.name, source.value) for source in program.sources}
    for source in program.sources:
        check(source, values[source.name])
    return Reading(program, values)


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
    try:
        return reading(program, values)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
        if isinstance(error, GraphError):
            raise
        why = f"{type(error).__name__}: {str(error)[:120]}".splitlines()[0]
        raise GraphError(f"{program.name} has steps that do not fit PyTorch's operators ({why})") from None


def _as_tensor(source: Source, value: Any) -> Any:
    """Nested lists, or an array, as a tensor of the program's own type."""
    torch = need_torch()
    value = value.tolist() if hasattr(value, "tolist") else value
    try:
        return torch.tensor(value, dtype=getattr(torch, source.dtype, None))
    except (ValueError, TypeError, RuntimeError) as error:
        raise GraphError(f"{source.name} is no tensor of {source.dtype}: {str(error)[:120]}") from None
