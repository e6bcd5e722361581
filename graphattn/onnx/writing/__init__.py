"""save: a graph as an ONNX model of standard operators.

What has a direct operator is written as that (each op's `onnx` rule says how), everything else as what it
is made of. The model is checked by `onnx.checker` with full inference of types and shapes before a file is
there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import nested
from ...core.elsewhere import meant
from ...core.errors import GraphError, suggest
from ...core.words import listed, typed

if TYPE_CHECKING:
    from ...core.graph import Graph

ATTENTION = ("whole", "heads", "decomposed")
NUMBERS = ("float32", "float")
OPSET = 23
"""The first that has Attention and RMSNormalization."""
LARGE = 3 * 2**29
"""A model of more bytes has its initializers in a file of their own: protobuf ends at 2 GB."""


@meant
def save(
    graph: Graph,
    path: str | os.PathLike[str],
    opset: int = OPSET,
    feeds: Mapping[str, Any] | None = None,
    attention: str = "whole",
    numbers: str = "float32",
    exact: bool = False,
) -> tuple[str, ...]:
    """Write a graph into an .onnx file; what the model does not do as the graph does, as sentences.

    opset: 18 to 26. feeds: tensors that become part of the model, by the name of the input or parameter.
    attention: "whole" writes one Attention for all heads where the opset has it (23 and later) and it can
    say what the graph does, "heads" one for each head, "decomposed" MatMul and Softmax. numbers: "float32",
    or "float" for doubles. exact: the same results for every input, infinities and NaN too, where plain
    operators do not do that: what stands behind a mask never leaks, for which each product of the weights
    is written at length.

    The model carries the text of the graph, so that `load` gives an equal graph as long as nothing changed the
    file. A model of more than 1.5 GB has its tensors in a file beside it, `<path>.data`. Raises a `GraphError`
    for a graph with an op that has no operator and no expansion, and where the package onnx is missing.
    """
    _need_onnx()
    from .operators import Target

    for what, value, known in (("attention", attention, ATTENTION), ("numbers", numbers, NUMBERS)):
        if value not in known:
            raise GraphError(
                f"{what} is {nested.shown(value)}; expected {listed(known)}{suggest(value, known)}"
            )
    from .model import NEWEST, OLDEST, program_of
    from .restoring import carried

    if isinstance(opset, bool) or not isinstance(opset, int) or not OLDEST <= opset <= NEWEST:
        raise GraphError(f"opset is {nested.shown(opset)}; expected an int from {OLDEST} to {NEWEST}")
    target = Target(opset, numbers, attention, exact)
    values = _values(graph, feeds)
    program = program_of(graph, target, values)
    said = tuple(
        f"{sentence} ({', '.join(nodes[:3])}{f' and {len(nodes) - 3} more' if len(nodes) > 3 else ''})"
        for sentence, nodes in program.said.items()
    )
    _write(program, Path(path), "\n".join(said), carried(graph, target, values))
    return said


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise GraphError("ONNX models need the package onnx: pip install 'graphattn[onnx]'") from None


def _values(graph: Graph, feeds: Mapping[str, Any] | None) -> dict[str, Any]:
    """The tensors that become part of the model, checked as a run checks them."""
    found: dict[str, Any] = {}
    if feeds is not None and not isinstance(feeds, Mapping):
        raise GraphError(f"feeds is {typed(feeds)}; expected a dict of tensors by input name")
    for name, value in (feeds or {}).items():
        if name not in graph.fed:
            raise GraphError(f"graph {graph.name!r} has no input {name!r}{suggest(name, graph.fed)}")
        found[name] = nested.read(value, graph.nodes[name].outputs[0], name, allow_nonfinite=True)
    return found


def _write(program: Any, path: Path, about: str, told: Mapping[str, str]) -> None:
    """Check the model and write it, whole or not at all."""
    import onnx

    from graphattn.dumps.write import write_bytes

    from .checking import blaming
    from .model import array_of, model_of, size_of

    def array(initializer: Any) -> Any:
        value = initializer.value
        return array_of(initializer.cells, initializer.shape, value.kind, program.target.numbers, value.name)

    model = blaming(program, lambda: model_of(program, array, about=about, carried=told))
    if size_of(program) > LARGE:
        blaming(program, lambda: _write_two(model, path))
        return
    blaming(program, lambda: onnx.checker.check_model(model, full_check=True))
    write_bytes(path, model.SerializeToString())


def _write_two(model: Any, path: Path) -> None:
    """Write the model and, beside it, its tensors."""
    import onnx

    from graphattn.dumps.write import not_written

    beside = f"{path.name}.data"
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent))
        onnx.save_model(model, folder / path.name, save_as_external_data=True, location=beside)
        onnx.checker.check_model(os.fspath(folder / path.name), full_check=True)
        for name in (beside, path.name):
            if (folder / name).exists():
                os.replace(folder / name, path.parent / name)
    except OSError as error:
        raise not_written(os.fspath(path), error) from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


__all__ = ["ATTENTION", "NUMBERS", "OPSET", "save"]
