"""How a call is read by an op's signature: which arguments are operands, and attributes made immutable.

Attributes are None, bools, numbers, text, nested tuples of them, and large tensors `Packed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from . import elsewhere, nested
from .axes import Spec, describe
from .errors import GraphError, Rejected
from .node import NOTHING
from .op import Op, broken
from .packed import pack
from .words import counted, joined, shown, typed


def sorted_out(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], where: str
) -> tuple[list[tuple[str, Any]], Mapping[str, Any]]:
    """The operands of a call in order, each with what it is called (the value None = left out), and its
    attributes. Raises a `GraphError` for what the signature does not take, or needs."""
    given: dict[str, Any] = {}
    rest: Sequence[Any] = ()
    positional = op.positional
    for place, value in enumerate(args):
        if positional and positional[-1].variadic and place >= len(positional) - 1:
            rest = args[place:]
            break
        if place >= len(positional):
            raise GraphError(
                f"{where} takes {counted(len(positional), 'argument')} by position, got {len(args)}"
                + _elsewhere(op, args[len(positional) :])
            )
        given[positional[place].name] = value
    for key, value in kwargs.items():
        if key not in op.parameters:
            raise GraphError(f"{where} takes no argument {key!r}{elsewhere.argument(key, op.parameters)}")
        if key in given:
            raise GraphError(f"{where} got {key!r} twice")
        given[key] = value
    operands: list[tuple[str, Any]] = []
    attributes: dict[str, Any] = {}
    for name, p in op.parameters.items():
        if p.variadic:
            for i, value in enumerate(rest):
                if value is None:
                    raise GraphError(
                        f"{where}: {name}[{i}] is None; expected a tensor of this graph or a number"
                    )
                if isinstance(value, (list, tuple)) and len(rest) == 1:
                    raise GraphError(
                        f"{where}: {name}[{i}] is {typed(value)}; expected tensors one by one: {op.name}(a, b)"
                    )
                operands.append((f"{name}[{i}]", value))
            continue
        if name not in given and p.required:
            needed = [p.name + "=…" * p.keyword_only for p in op.parameters.values() if p.required]
            more = ["…"] * any(not p.required for p in op.parameters.values())
            raise GraphError(f"{where} needs {name!r}; expected {op.name}({', '.join([*needed, *more])})")
        value = given.get(name, p.default)
        if not p.operand:
            attributes[name] = value
        elif value is None and p.required:
            raise GraphError(f"{where}: {name} is None; expected a tensor of this graph")
        else:
            operands.append((name, value))
    while operands and operands[-1][1] is None:
        operands.pop()
    return operands, fixed(attributes, where)


def _elsewhere(op: Op, over: Sequence[Any]) -> str:
    """Where arguments belong that are too many: a text is a name, another operand of two is another step."""
    if isinstance(over[0], str):
        return f"; a name goes by name: name={shown(over[0])}"
    operands = [p.name for p in op.positional if p.operand]
    if hasattr(over[0], "spec") and len(operands) == 2 == len(op.positional):
        return f"; more of them take more steps: {op.name}({op.name}({', '.join(operands)}), c)"
    behind = ", ".join(f"{p.name}=…" for p in op.parameters.values() if p.keyword_only)
    return f"; the others go by name: {behind}" if behind else ""


def fixed(attributes: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Attributes that nobody can change: None, bools, numbers, text, and tuples of them."""
    if not attributes:
        return NOTHING
    return MappingProxyType({key: _fixed(value, where, key) for key, value in attributes.items()})


def _fixed(value: Any, where: str, key: str) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    packed = pack(value)
    return _plain(value, f"{where}: {key}") if packed is None else packed


def _plain(value: Any, what: str, depth: int = 0) -> Any:
    value = nested.listed(value, what)
    if value is None or isinstance(value, (bool, int, float, str)):
        return math.nan if value != value else value  # one NaN, so that equal graphs compare equal
    if isinstance(value, (list, tuple)) and depth < nested.RANK_LIMIT:
        if nested.plain(value):
            return tuple(value)
        return tuple(_plain(item, what, depth + 1) for item in value)
    if hasattr(value, "spec"):
        raise GraphError(f"{what} is a tensor; expected what is known without a run, like x.shape[-1]")
    raise GraphError(f"{what} is {typed(value)}; expected None, a number, text, or nested lists of them")


def _operands_told(op: Op, specs: Sequence[Spec | None], named: Callable[[int], str]) -> Iterator[str]:
    """`q and k are x, token 3 × feature 4`: each tensor once; one that goes by the operand's own name is not
    named twice."""
    tensors: dict[str, tuple[Spec, list[str]]] = {}
    for slot, spec in enumerate(specs):
        if spec is not None:
            tensors.setdefault(named(slot), (spec, []))[1].append(op.operand_name(slot))
    for tensor, (spec, operands) in tensors.items():
        told = "" if operands == [tensor] else f"{tensor}, "
        yield f"{joined(operands)} {'is' if len(operands) == 1 else 'are'} {told}{describe(spec)}"


def results(
    op: Op,
    name: str,
    specs: Sequence[Spec | None],
    attributes: Mapping[str, Any],
    named: Callable[[int], str],
) -> tuple[tuple[str, ...], tuple[Spec, ...]]:
    """The ports of a node and their specs, by the op's shape rule; `named` gives the names of the operands,
    for the sentence that says what does not fit."""
    try:
        shapes = op.shape(*specs, **attributes)
    except Rejected as error:
        given = "; ".join(_operands_told(op, specs, named))
        raise GraphError(f"{op.name} {name!r}: {error}{f' ({given})' if given else ''}") from None
    except Exception as error:
        raise broken(f"{op.name} {name!r}: its shape rule", error) from error
    by_port: dict[str, Any] = shapes if isinstance(shapes, dict) and shapes else {"": shapes}
    for port, spec in by_port.items():
        if not isinstance(spec, Spec) or (port and not port.isidentifier()):
            raise GraphError(
                f"op {op.name!r}: its shape rule gives {nested.shown(shapes)};"
                " expected a Spec, or Specs by the names of the outputs"
            )
        if spec.rank > nested.RANK_LIMIT:
            raise GraphError(f"{op.name} {name!r} has rank {spec.rank}; expected at most {nested.RANK_LIMIT}")
    return tuple(by_port), tuple(by_port.values())
