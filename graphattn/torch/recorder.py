"""What a live module computes, by the names that its graph has.

A module is run with a hook on every module inside; a program of torch.export step by step. Both in eval mode
and with PyTorch's fused kernel for whole transformer layers off, since that shows nothing of what is inside.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import GraphError
from .calling import reading as read_for
from .live import flat, live, need_eval, output_names, slow_path
from .names import Paths, identifier
from .program import need_torch


def record(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors by name (see `graphattn.torch.record`)."""
    torch = need_torch()
    if isinstance(module, torch.export.ExportedProgram):
        return _steps(module, args, kwargs)
    if not isinstance(module, torch.nn.Module):
        raise GraphError(
            f"recorded a {type(module).__name__}; expected a torch.nn.Module or an ExportedProgram"
        )
    need_eval(module)
    return _modules(module, args, kwargs)


def _modules(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What each call of a module gives: of several tensors each, numbered."""
    torch = need_torch()
    calls: list[tuple[str, int, Any]] = []
    counts: dict[str, int] = {}

    def hook(path: str) -> Any:
        def keep(_: Any, __: Any, result: Any) -> None:
            counts[path] = counts.get(path, -1) + 1
            calls.append((path, counts[path], _copied(result)))

        return keep

    through = (torch.nn.modules.dropout._DropoutNd, torch.nn.Identity)  # in evaluation: what goes in comes out
    hooks = [
        part.register_forward_hook(hook(path))
        for path, part in module.named_modules()
        if path and not isinstance(part, through)
    ]
    try:
        with slow_path(), torch.enable_grad():
            result = _copied(module(*args, **kwargs))
    finally:
        for each in hooks:
            each.remove()
    paths = Paths(["", *(path for path, _, _ in calls)])
    found: dict[str, Any] = {}
    for path, stored in module.named_parameters():
        if stored.dtype.is_floating_point:
            found[".".join(filter(None, paths.stored(path)))] = stored.detach()
    found |= _inputs(module, args, kwargs)
    for path, count, value in calls:
        found |= _tensors(paths.scope(path, count), value)
    return found | _tensors("", result)


def _copied(value: Any) -> Any:
    """What comes out now, before a later step may write to it."""
    torch = need_torch()
    from torch.utils import _pytree as pytree

    return pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, value)


def _tensors(name: str, value: Any) -> dict[str, Any]:
    """The float tensors of a result by name: of one tensor the name alone, of several with their way in it."""
    torch = need_torch()
    from torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(value)
    floats = [isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point for leaf in leaves]
    names = output_names(spec)
    if not name:
        return {own: leaf for own, leaf, is_float in zip(names, leaves, floats) if is_float}
    if sum(floats) == 1:
        return {name: leaves[floats.index(True)]}
    return {f"{name}.{own}": leaf for own, leaf, is_float in zip(names, leaves, floats) if is_float}


def _inputs(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that it is called with, by the names of forward's arguments."""
    torch = need_torch()
    try:
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except TypeError:
        given = dict(kwargs)
    return {
        identifier(name): value.detach() for name, value in given.items() if isinstance(value, torch.Tensor)
    }


def _steps(exported: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What each step of a program gives, as torch.fx runs it."""
    torch = need_torch()
    program = live(exported)
    given = flat(exported, args, kwargs) if args or kwargs else program.examples
    if given is None:
        raise GraphError("the program holds no arguments; expected those that it is called with")
    names = read_for(program, given).named
    found: dict[str, Any] = {}

    class Keeper(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            name = names.get(n.name)
            if name and isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
                found.setdefault(name, value.detach().clone())
            return value

    own = iter(given)
    values = [next(own) if source.kind == "input" else source.value for source in program.sources]
    with torch.no_grad():
        Keeper(exported.graph_module).run(*values)
    return found
