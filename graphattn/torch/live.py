"""A live `torch.export.ExportedProgram` as a `Program`: nothing is decomposed, nothing is run."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import isfunction
from typing import Any

from ..core.errors import GraphError
from .operators import called, find
from .program import Module, Program, Source, Step, Use, bound, need_torch, others

KINDS = {"PARAMETER": "parameter", "BUFFER": "buffer", "CONSTANT_TENSOR": "constant", "USER_INPUT": "input"}
NOWHERE = "_empty_nn_module_stack_from_metadata_hook"


def live(exported: Any, name: str = "program") -> Program:
    """The records of an exported program."""
    signature = exported.graph_signature
    nodes = list(exported.graph.nodes)
    holders = {node.name: node for node in nodes if node.op == "placeholder"}
    sources = tuple(_source(spec, holders, exported) for spec in signature.input_specs)
    picked = _picked(nodes)
    steps = tuple(
        _step(node, picked)
        for node in nodes
        if node.op == "call_function" and not (node.target is operator.getitem and _list_of(node))
    )
    for node in nodes:
        if node.op not in ("placeholder", "call_function", "output"):
            raise GraphError(f"node {node.name} is a {node.op}; expected a program of torch.export")
    results = [spec.arg for spec in signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    places = output_names(exported.call_spec.out_spec)
    outputs = {
        place: Use(arg.name) if hasattr(arg, "name") and not hasattr(arg, "value") else arg.value
        for place, arg in zip(places, results, strict=True)
    }
    return Program(name, sources, steps, outputs, examples=_examples(exported))


def _source(spec: Any, holders: Mapping[str, Any], exported: Any) -> Source:
    kind = KINDS.get(spec.kind.name)
    if kind is None:
        raise GraphError(
            f"{spec.arg.name} is a {spec.kind.name.lower()}; expected tensors and numbers, and no other objects"
        )
    if hasattr(spec.arg, "value"):
        return Source(spec.arg.name, kind, value=spec.arg.value)
    value = None
    if kind != "input":
        stores = (exported.state_dict, exported.constants)
        value = next((store[spec.target] for store in stores if spec.target in store), None)
    meta = holders[spec.arg.name].meta.get("val")
    shape, dtype = getattr(meta, "shape", ()), str(getattr(meta, "dtype", type(meta).__name__))
    return Source(
        spec.arg.name, kind, spec.target or "", value, dtype.removeprefix("torch."),
        tuple(size if isinstance(size, int) else None for size in shape),
        others(exported.state_dict, spec.target or ""),
    )  # fmt: skip


def _list_of(node: Any) -> bool:
    """Whether a getitem picks from the several results of an operator."""
    return hasattr(node.args[0], "users")


def _picked(nodes: Sequence[Any]) -> dict[str, dict[int, str]]:
    """For each node with several results, the names of those that are picked, by place."""
    picked: dict[str, dict[int, str]] = {}
    for node in nodes:
        if node.target is operator.getitem and _list_of(node):
            picked.setdefault(node.args[0].name, {})[node.args[1]] = node.name
    return picked


def _step(node: Any, picked: Mapping[str, Mapping[int, str]]) -> Step:
    target = called(node.target)
    op = find(target)
    modules = tuple(
        Module(path, kind.rpartition(".")[2], call_of(key))
        for key, (path, kind) in (node.meta.get("nn_module_stack") or {}).items()
        if key != NOWHERE
    )
    if op is None:
        return Step(node.name, target, None, {}, (node.name,), False, modules)
    given = dict(zip(op.positional, map(_argument, node.args)))
    given |= {name: _argument(value) for name, value in node.kwargs.items()}
    mine = picked.get(node.name)
    outputs = (
        (node.name,) if mine is None else tuple(mine.get(place) for place in range(max(mine, default=-1) + 1))
    )
    return Step(
        node.name, op.name, op.call, bound(op.defaults, op.name, given), outputs, mine is not None, modules,
        op.positional, op.writes, op.shares,
    )  # fmt: skip


def call_of(key: str) -> int:
    """Which call of a module this is: its key ends in @1 the second time."""
    number = key.rpartition("@")[2]
    return int(number) if "@" in key and number.isdecimal() else 0


def _argument(value: Any) -> Any:
    if hasattr(value, "users"):  # a node
        return Use(value.name)
    if isinstance(value, (list, tuple)):
        return [_argument(item) for item in value]
    return value


def output_names(spec: Any) -> list[str]:
    """Names for what a program returns, from how it is nested: keys of dicts, places of tuples."""
    from torch.utils import _pytree as pytree

    tree = pytree.tree_unflatten(range(spec.num_leaves), spec)
    leaves = pytree.tree_flatten_with_path(tree)[0]
    return [
        named(tuple(str(getattr(key, "key", getattr(key, "idx", key))) for key in path)) for path, _ in leaves
    ]


def named(path: Sequence[str]) -> str:
    """What a result of a program is called, by its way in what is returned."""
    told = "_".join("".join(c if c.isalnum() else "_" for c in part) for part in path)
    if not told or told == "0":
        return "output" if not told else "output0"
    return f"output{told}" if told[0].isdigit() else told


def _examples(exported: Any) -> tuple[Any, ...] | None:
    """What it was exported with, flat."""
    given = exported.example_inputs
    return None if given is None else flat(exported, *given)


def flat(exported: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Arguments of a program, one for each input; a `GraphError` where they do not fit it."""
    from torch.utils import _pytree as pytree

    wanted = exported.call_spec.in_spec
    _, named = pytree.tree_unflatten(range(wanted.num_leaves), wanted)
    if named.keys() == kwargs.keys():
        kwargs = {name: kwargs[name] for name in named}  # in the order of the program
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    if spec != wanted:
        raise GraphError(f"the arguments are nested as {spec}; expected {wanted}, as the program was exported")
    return tuple(leaves)


def need_eval(module: Any) -> None:
    """Refuse a module that is in training mode, as a whole or in a part for which that matters."""
    for path, part in module.named_modules():
        if part.training and _heeds_training(type(part)):
            told = f"{path} ({type(part).__name__})" if path else "the module"
            raise GraphError(f"{told} is in training mode; expected module.eval(), so that dropout is inactive")


def _heeds_training(kind: type) -> bool:
    """Whether modules of a class may compute something else in training: those of torch.nn whose code asks for
    the mode, and whatever is not torch.nn's."""
    for base in kind.__mro__:
        if base is need_torch().nn.Module:
            break
        if not base.__module__.startswith("torch.nn."):
            return True
        if any("training" in method.__code__.co_names for method in vars(base).values() if isfunction(method)):
            return True
    return False


@contextmanager
def slow_path() -> Iterator[None]:
    """Transformer layers compute step by step inside, as they do in training, and not in one fused kernel."""
    mha = need_torch().backends.mha
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)


def exported_from(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A module exported on these arguments; a `GraphError` where it is in training mode, or PyTorch cannot."""
    torch = need_torch()
    if not isinstance(module, torch.nn.Module):
        raise GraphError(f"traced a {type(module).__name__}; expected a torch.nn.Module")
    need_eval(module)
    try:
        with slow_path():
            return torch.export.export(module, tuple(args), dict(kwargs))
    except GraphError:
        raise
    except Exception as error:
        first = str(error).strip().splitlines()[:1] or [""]
        raise GraphError(
            f"torch.export cannot export {type(module).__name__}: {type(error).__name__}: {first[0][:300]}"
        ) from error
