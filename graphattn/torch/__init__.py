"""PyTorch's programs as graphs, and live modules as recordings (extra: `pip install 'graphattn[torch]'`).

    specimen = graphattn.torch.traced(module, x)              export and read in one step
    specimen = graphattn.torch.exported(program, x)           a program of torch.export
    specimen = graphattn.torch.exported("model.pt2", x)       or its archive, which is never unpickled
    compare(specimen.run(), graphattn.torch.record(module, x))

A program is read before decomposition, so that linear, layer_norm and scaled_dot_product_attention stay
whole. Paths of modules are scopes, and weights go by their names in the state_dict.
"""

from __future__ import annotations

from typing import Any

from ..core.specimen import Specimen


def exported(program: Any, *args: Any, **kwargs: Any) -> Specimen:
    """The graph of an exported program, and what it is fed.

    program: a `torch.export.ExportedProgram`, or the path of a .pt2 archive. args, kwargs: what it is called
    with; without any, what it was exported with. Raises a `GraphError` that names the operator, the node and
    the module where something is not read.
    """
    from .calling import read

    return read(program, args, kwargs).specimen()


def traced(module: Any, *args: Any, **kwargs: Any) -> Specimen:
    """The graph of a `torch.nn.Module` called with these arguments: `torch.export`, then `exported`.

    The module must be in eval mode (`module.eval()`), so that dropout is inactive.
    """
    from .live import exported_from

    return exported(exported_from(module, args, kwargs), *args, **kwargs)


def record(module: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """What a live module computes, for `compare`: tensors of PyTorch by name.

    module: a `torch.nn.Module`, of which each call of each module inside is recorded, with the weights and
    inputs; or a `torch.export.ExportedProgram`, of which every step is. Names are those of the graph that
    `traced` gives: the path of the module, with `layers.0` as `layers0`.
    """
    from .recorder import record as recorded

    return recorded(module, args, kwargs)


def supported() -> tuple[str, ...]:
    """The operators that are read, by the names of PyTorch: "aten.linear.default"."""
    from .rules import RULES

    return tuple(sorted(RULES))
