"""What is known while a program is read: values that do not depend on its float inputs or its weights.

Masks, position ids, angles of a rotary embedding: whatever follows from sizes, from buffers and from integer
inputs is computed by PyTorch itself, exactly as it would, and enters the graph as a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import GraphError
from ..core.limits import most_cells
from .program import Step, need_torch

FOLDED = frozenset(
    """
    abs add all alias any arange argmax argmin baddbmm bitwise_and bitwise_not bitwise_or bitwise_xor bmm
    broadcast_to bucketize cat ceil chunk clamp clamp_max clamp_min clone concat constant_pad_nd contiguous copy
    cos cumprod cumsum detach diag diag_embed diagonal diff div divide einsum empty_like eq equal erf exp expand
    expand_as eye fill flatten flip floor floor_divide fmod full full_like gather ge greater gt hstack index
    index_put index_select isfinite isin isinf isnan item le less lift_fresh_copy linspace log log10 log1p log2
    logical_and logical_not logical_or logical_xor lt mT masked_fill masked_select matmul max maximum mean
    meshgrid min minimum mm movedim mul multiply narrow ne neg new_full new_ones new_zeros nonzero not_equal
    numel numpy_T ones ones_like outer pad permute pow prod ravel reciprocal remainder repeat repeat_interleave
    reshape roll round rsqrt rsub scalar_tensor scatter scatter_add select select_scatter sigmoid sign sin slice
    slice_scatter softmax sort split split_with_sizes sqrt square squeeze stack sub sum swapaxes swapdims
    sym_numel sym_size t tan tanh tile to topk transpose tril tril_indices triu triu_indices trunc type_as
    unbind unflatten unfold unsqueeze view view_as vstack where zeros zeros_like __and__ __or__ __xor__
    _local_scalar_dense _to_copy _unsafe_view
    """.split()  # noqa: SIM905
)
"""The operators that are computed while reading: none of them opens a file or draws random numbers."""

WRITING = frozenset(f"{name}_" for name in (*FOLDED, "zero"))
"""The same where they write to what they are given: a copy of what came in, made for this."""


def folds(step: Step) -> bool:
    """Whether a step may be computed while reading."""
    if step.call is None:
        return False
    if not step.op.startswith("aten."):
        return True
    packet = step.op.split(".")[1]
    return packet in FOLDED or (step.writes and packet in WRITING)


def folded(step: Step, arguments: Mapping[str, Any]) -> list[Any]:
    """What the operator gives for values that are known, one for each output of the step."""
    torch = need_torch()
    if not step.op.startswith("aten."):
        result = step.call(*arguments.values())  # type: ignore[misc]
        return [result]
    arguments = {
        name: torch.device("cpu") if name == "device" and value is not None else value
        for name, value in arguments.items()
    }
    _need_small(step, arguments)
    try:
        result = _called(step, arguments)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        raise GraphError(
            f"{step.told} cannot be computed: {str(error).strip().splitlines()[0][:200]}"
        ) from None
    if step.several:
        return list(result)[: len(step.outputs)]
    return [result]


def _called(step: Step, arguments: Mapping[str, Any]) -> Any:
    torch = need_torch()
    with torch.no_grad():
        args = [arguments[name] for name in step.positional]
        kwargs = {name: value for name, value in arguments.items() if name not in step.positional}
        return step.call(*args, **kwargs)  # type: ignore[misc]


def _need_small(step: Step, arguments: Mapping[str, Any]) -> None:
    """Refuse what would be larger than a tensor may be, before there is any of it: the operator is tried on
    tensors that have a shape alone."""
    torch = need_torch()
    limit = most_cells()
    try:
        result = _called(step, {name: _empty(name, value) for name, value in arguments.items()})
    except Exception:
        return  # what depends on values is no larger than what it picks from, and real errors come again
    for tensor in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(tensor, torch.Tensor) and tensor.numel() > limit:
            raise GraphError(f"{step.told} gives {tensor.numel():,} cells; expected at most {limit:,}")


def _empty(name: str, value: Any) -> Any:
    """The same without numbers."""
    torch = need_torch()
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return [_empty("", item) for item in value]
    return torch.device("meta") if isinstance(value, torch.device) or name == "device" else value
