"""A model as it comes: a file, its bytes, or a ModelProto; checked before anything is made of it.

    model = read_model("model.onnx")    ->  Model(proto, folder, what)

The file is parsed and checked by the `onnx` package. It is not trusted: its size, the size of every tensor
that it states against the bytes that are there, the length of names and the depth of their scopes are
checked before memory is taken. External data is read from plain files in the model's own folder, and from
nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import GraphError
from ..core.words import shown

BYTE_LIMIT = 2**31
"""The largest file that is read: protobuf's own limit."""
NAME_LIMIT = 1000
"""The longest name of a tensor or node, in characters."""
NODE_LIMIT = 10**6


@dataclass(frozen=True)
class Model:
    """A checked ModelProto. `folder` is where its external data lies; `what` is how messages call it."""

    proto: Any
    folder: Path | None
    what: str

    @property
    def graph(self) -> Any:
        return self.proto.graph

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators."""
        return max((o.version for o in self.proto.opset_import if o.domain in OWN), default=1)


OWN = ("", "ai.onnx")
"""How ONNX's own domain is written."""


def package() -> Any:
    """The package `onnx`, or a `GraphError` that says how to get it."""
    try:
        import onnx
    except ImportError:
        raise GraphError("an ONNX model is read with the package onnx: pip install 'graphattn[onnx]'") from None
    return onnx


def read_model(source: Any) -> Model:
    """The model of a path, of bytes, or a ModelProto. Raises a `GraphError` where it is none, or is not
    what ONNX says."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        return checked(Model(source, None, "the model"))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return checked(Model(_parsed(bytes(source), "the model"), None, "the model"))
    if not isinstance(source, (str, os.PathLike)):
        raise GraphError(
            f"the model is a {type(source).__name__}; expected a path, the bytes of a file, or a ModelProto"
        )
    path = Path(source)
    if path.is_file() and path.stat().st_size > BYTE_LIMIT:
        raise GraphError(f"{path} is larger than {BYTE_LIMIT:,} bytes; expected a smaller file")
    with path.open("rb") as file:
        data = file.read(BYTE_LIMIT + 1)
    return checked(Model(_parsed(data, str(path)), path.resolve().parent, str(path)))


def _parsed(data: bytes, what: str) -> Any:
    onnx = package()
    if not data:
        raise GraphError(f"{what} is empty; expected an ONNX model")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # protobuf's own, which it names differently in each version
        raise GraphError(f"{what} is not a whole ONNX model; expected one as it was written") from None
    return model


def checked(model: Model) -> Model:
    """The model with its local functions in place. A `GraphError` says what is wrong with it."""
    proto = model.proto
    if not proto.graph.node and not proto.graph.output:
        raise GraphError(f"{model.what} has no graph; expected an ONNX model")
    if len(proto.graph.node) > NODE_LIMIT:
        raise GraphError(f"{model.what} has {len(proto.graph.node):,} nodes; expected at most {NODE_LIMIT:,}")
    for name in _names(proto):
        if len(name) > NAME_LIMIT:
            raise GraphError(
                f"{model.what} has a name of {len(name):,} characters; expected at most {NAME_LIMIT:,}"
            )
    if proto.functions:
        proto = _inlined(model)
    return Model(proto, model.folder, model.what)


def _names(proto: Any) -> Iterator[str]:
    graph = proto.graph
    for held in (graph.input, graph.output, graph.initializer):
        for item in held:
            yield item.name
    for node in graph.node:
        yield node.name
        yield node.op_type
        yield from node.input
        yield from node.output
        for pair in node.attribute:
            yield pair.name


def _inlined(model: Model) -> Any:
    """Local functions put where they are called."""
    from onnx import inliner

    try:
        return inliner.inline_local_functions(model.proto)
    except Exception as error:  # whatever the C++ code raises of a model that is not as it should be
        raise GraphError(
            f"{model.what}: its local functions cannot be put in place: {first_line(error)}"
        ) from None


def first_line(error: BaseException) -> str:
    """The first line of what another package says, cut short."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return line[:200].rstrip(".: ")


__all__ = ["OWN", "Model", "checked", "package", "read_model", "shown"]
