"""A program of PyTorch as it is read here: what goes in, one step after another, what comes out.

A live `torch.export.ExportedProgram` (`live.py`) and an archive (`archive.py`) come to the same records, so
that there is one reader of both. Steps call PyTorch's operators before decomposition: `aten.linear.default`,
`aten.layer_norm.default`, `aten.scaled_dot_product_attention.default`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.errors import GraphError


class Use(NamedTuple):
    """An argument that is the value of that name: of a source, or of an earlier step."""

    name: str


class Module(NamedTuple):
    """A call of a module that a step stands in: its path, its class, and which call of it this is."""

    path: str
    kind: str
    call: int = 0


@dataclass(frozen=True)
class Source:
    """What a program starts from. `kind`: "input" (what it is called with), "parameter", "buffer" or
    "constant". `path`: the name in the state_dict, of what is stored. `value`: a tensor of PyTorch or a plain
    number; None for an input that is not known. `dtype` and `shape`: what is said of a tensor ("float32")."""

    name: str
    kind: str
    path: str = ""
    value: Any = None
    dtype: str = ""
    shape: tuple[int | None, ...] = ()
    also: tuple[str, ...] = ()
    """Other names of the same tensor in the state_dict, where weights are tied."""

    @property
    def kind_of_cells(self) -> str:
        """float, int or bool."""
        return "float" if "float" in self.dtype else "bool" if self.dtype == "bool" else "int"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, which must be known to the last size."""
        if None in self.shape:
            raise GraphError(f"{self.name} has sizes that the program leaves open; expected a value for it")
        return tuple(size for size in self.shape if size is not None)


@dataclass(frozen=True)
class Step:
    """One call of an operator. `arguments`: by the names of the operator's schema, those left out with
    their defaults. `outputs`: the names of what comes out; where the operator gives `several`, None for
    one that nobody uses. `modules`: the calls that it stands in, outermost first."""

    name: str
    op: str
    call: Callable[..., Any] | None
    arguments: Mapping[str, Any]
    outputs: tuple[str | None, ...]
    several: bool = False
    modules: tuple[Module, ...] = ()
    positional: tuple[str, ...] = ()
    """The names of the arguments that the operator takes by position."""
    writes: bool = False
    """Whether it writes to its first argument."""
    shares: bool = False
    """Whether what it gives may share memory with its first argument."""

    @property
    def first(self) -> str:
        """The name of the value that is its first argument; "" where that is none."""
        return next(uses(next(iter(self.arguments.values()), None)), "")

    @property
    def path(self) -> str:
        """The path of the module that it stands in; "" for the whole."""
        return self.modules[-1].path if self.modules else ""

    @property
    def told(self) -> str:
        """What a message calls it."""
        return f"{self.op} (node {self.name}, {self.path or 'the module itself'})"


@dataclass(frozen=True)
class Program:
    """Sources and steps in order. `outputs`: names of what comes out, or constants, by the name of the
    result."""

    name: str
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    outputs: Mapping[str, Any]
    title: str = ""
    examples: tuple[Any, ...] | None = None
    """Values that it was exported with, one for each input, where they are known."""
    notes: tuple[str, ...] = field(default=())

    @property
    def inputs(self) -> tuple[Source, ...]:
        return tuple(source for source in self.sources if source.kind == "input")


def others(store: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The names under which a stored tensor is there too."""
    here = store.get(path)
    if here is None or not here.numel():
        return ()
    return tuple(
        name for name, tensor in store.items() if name != path and tensor is not None and _same(tensor, here)
    )


def _same(a: Any, b: Any) -> bool:
    """Whether two tensors are the same cells in memory."""
    return (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)


def uses(value: Any) -> Iterator[str]:
    """The names of the values that an argument holds."""
    if isinstance(value, Use):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from uses(item)


def bound(names: Mapping[str, Any], op: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the defaults of a schema for those left out."""
    for name in given:
        if name not in names:
            raise GraphError(f"{op} has no argument {name[:80]!r}; expected one of {', '.join(names)}")
    return {**names, **given}


def need_torch() -> Any:
    """The module torch; a `GraphError` that says how to get it."""
    try:
        import torch
    except ImportError:
        raise GraphError("PyTorch programs are read with torch: pip install 'graphattn[torch]'") from None
    return torch
