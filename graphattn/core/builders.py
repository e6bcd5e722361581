"""The builder methods of a graph: one per registered op, with the op's own signature.

`graph.softmax(x, axis=-1)` adds a node; the method is found in the registry when it is asked
for, so an op that is registered at run time has its method too. The stub beside this file gives
editors and type checkers their signatures; `stub()` writes it, and a test keeps it current.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from types import MethodType
from typing import Any

from .elsewhere import builder
from .errors import suggest
from .op import OPS, Op, Parameter


class Builders:
    """One method per op (see the module's docstring)."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in OPS:
            return MethodType(_builder(OPS[name]), self)
        raise AttributeError(f"graph has no method or op {name!r}{builder(name) or suggest(name, OPS)}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *OPS})

    def apply(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        """Add a node of the op named `op`."""
        raise NotImplementedError


@cache
def _builder(op: Op) -> Callable[..., Any]:
    """The method of one op, for all graphs: `help(g.softmax)` tells its signature and what it does."""

    def build(self: Builders, *args: Any, **kwargs: Any) -> Any:
        return self.apply(op.name, *args, **kwargs)

    build.__name__ = op.name
    build.__qualname__ = f"Graph.{op.name}"
    build.__doc__ = f"{op.formula}\n\n{op.doc.strip()}"
    build.__signature__ = _signature(op)  # type: ignore[attr-defined]
    return build


def _signature(op: Op) -> Signature:
    """As in the stub, without annotations: self, operands, attributes, name, title."""
    arguments = [Argument("self", Argument.POSITIONAL_OR_KEYWORD)]
    starred = False
    for p in op.parameters.values():
        kind = Argument.KEYWORD_ONLY if starred or p.keyword_only else Argument.POSITIONAL_OR_KEYWORD
        if p.variadic:
            kind, starred = Argument.VAR_POSITIONAL, True
        default = Argument.empty if p.required or p.variadic else p.default
        arguments.append(Argument(p.name, kind, default=default))
    named = [Argument(name, Argument.KEYWORD_ONLY, default=None) for name in ("name", "title")]
    return Signature([*arguments, *named])


def stub() -> str:
    """The text of `builders.pyi`."""
    lines = [
        "# Written by graphattn.core.builders.stub() from the registry; do not edit.",
        "from collections.abc import Sequence",
        "from typing import Any",
        "",
        "from .graph import Operand, Tensor, Tensors",
        "",
        "def stub() -> str: ...",
        "",
        "class Builders:",
        "    def apply(self, op: str, /, *args: Any, **kwargs: Any) -> Any: ...",
        "    def __getattr__(self, name: str) -> Any: ...",
    ]
    for op in OPS.values():
        if not op.fed:
            lines.append(_method(op))
    return "\n".join(lines)


def _method(op: Op) -> str:
    parts: list[str] = []
    starred = False
    for p in op.parameters.values():
        if p.keyword_only and not starred:
            parts.append("*")
            starred = True
        starred = starred or p.variadic
        parts.append(_argument(p))
    if not starred:
        parts.append("*")
    parts += ["name: str | None = None", "title: str | None = None"]
    signature = ",\n        ".join(["self", *parts])
    return f'    def {op.name}(\n        {signature},\n    ) -> {_result(op)}:\n        """{op.formula}"""\n'


def _argument(p: Parameter) -> str:
    kind = p.annotation.replace("Spec", "Operand").replace("tuple", "Sequence[Any]")
    if p.variadic:
        return f"*{p.name}: {kind}"
    return f"{p.name}: {kind}" + ("" if p.required else f" = {_literal(p.default)}")


def _literal(default: Any) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _result(op: Op) -> str:
    annotation = str(op.shape.__annotations__.get("return", "Spec"))
    return "Tensors" if "dict" in annotation else "Tensor"
