"""`--patch NAME=uniform|zero|FILE`: an intermediate tensor is replaced, and everything after it follows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.specimen import Specimen

WORDS = {"uniform": "made uniform", "zero": "set to zero"}
"""What may stand for a file, and how it is said of a tensor."""


def read_patches(entries: Sequence[str], specimen: Specimen) -> dict[str, Any]:
    """Tensors by name, as `run` takes them.

    zero: 0 in every cell. uniform: the same share for every cell that a row sees, so that each row adds up to
    1: attention without preference. A file: its only tensor, or the one of that name. A name may leave parts
    out (layer0.head2.weights).
    """
    graph = specimen.graph.at("op")
    found: dict[str, Any] = {}
    for entry in entries:
        name, sign, how = entry.rpartition("=")
        if not sign or not name or not how:
            raise GraphError(f"--patch {entry[:60]!r} is no NAME=uniform, NAME=zero or NAME=FILE")
        full = graph.tensor_name(graph.resolve(name))
        if full in found:
            raise GraphError(f"--patch gives {full} twice; expected it once")
        spec = graph.spec(graph.resolve(full))
        if spec.kind != "float":
            raise GraphError(f"--patch {name}: it holds {spec.kind}; expected a tensor of floats")
        if how == "zero":
            found[full] = nested.full(spec.shape, 0.0)
        elif how == "uniform":
            found[full] = _uniform(specimen, full, spec.shape)
        else:
            given = _of_file(how, full, name)
            try:
                found[full] = nested.read(given, spec, f"patch {full!r}", allow_nonfinite=True)
            except GraphError as error:
                raise GraphError(f"{how}: {error}") from None
    return found


def said(entry: str) -> str:
    """How an entry is said of its tensor: "set to zero", "taken from weights.json"."""
    how = entry.rpartition("=")[2]
    return WORDS.get(how, f"taken from {how}")


def _uniform(specimen: Specimen, name: str, shape: Sequence[int]) -> Any:
    """Each row spread evenly over the cells that are not hidden."""
    if not shape:
        raise GraphError(f"--patch {name}=uniform: it is one number; expected a tensor with rows")
    hidden = specimen.run(targets=[name]).masked(name)

    def cell(*index: int) -> float:
        if hidden is None:
            return 1.0 / shape[-1]
        row = nested.at(hidden, index[:-1])
        return 0.0 if row[index[-1]] else 1.0 / row.count(False)

    return nested.build(shape, cell)


def _of_file(path: str, full: str, name: str) -> Any:
    from ..core.tensor_file import read_tensors

    if not Path(path).is_file():
        raise GraphError(f"--patch {name}={path[:60]}: expected {', '.join(WORDS)} or a file of tensors")
    file = read_tensors(path)
    file.need_numbers((full, name))
    tensors = file.tensors
    for known in (full, name):
        if known in tensors:
            return tensors[known]
    if len(tensors) != 1:
        raise GraphError(f"{path} has no tensor {full!r}; expected it, or one tensor alone")
    return next(iter(tensors.values()))
