"""The scopes that an exporter put a node into, as identifiers.

torch.export writes them beside each node: `pkg.torch.onnx.name_scopes` is the list of module paths around
it, the node's own name last; `namespace` is the same as text, `: module/encoder: Encoder/encoder.layer.0: …`.
Others have them in the node's name, /encoder/layer.0/MatMul, which `naming.parts` reads.

>>> of_namespace(": M/encoder: Encoder/encoder.layer.0: Layer/linear: aten.linear.default")
('encoder', 'layer0')
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .naming import parts

NAME_SCOPES = "pkg.torch.onnx.name_scopes"
NAMESPACE = "namespace"
TEXT_LIMIT = 10_000
"""The longest text of scopes that is looked at."""


def scopes_of(node: Any) -> tuple[str, ...] | None:
    """The scopes of a NodeProto, outermost first; None where its metadata does not tell."""
    told = {pair.key: pair.value for pair in getattr(node, "metadata_props", ())}
    return of_metadata(told)


def of_metadata(told: Mapping[str, str]) -> tuple[str, ...] | None:
    for key, read in ((NAME_SCOPES, of_name_scopes), (NAMESPACE, of_namespace)):
        if key in told and len(told[key]) <= TEXT_LIMIT:
            found = read(told[key])
            if found is not None:
                return found
    return None


def of_name_scopes(text: str) -> tuple[str, ...] | None:
    """From a list of module paths, each longer than the one before; the last is the node itself."""
    try:
        paths = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        return None
    return _path(paths[:-1])


def of_namespace(text: str) -> tuple[str, ...] | None:
    """From `name: class/name: class/…/node: operator`."""
    return _path([piece.partition(":")[0].strip() for piece in text.split("/")[:-1]])


def _path(modules: list[str]) -> tuple[str, ...]:
    """The longest module path: those around it are its beginnings."""
    inner = modules[-1] if modules else ""
    return parts(inner) if inner else ()
