"""A comparison as dicts and lists that JSON can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .comparison_text import headline

if TYPE_CHECKING:
    from .comparison import Comparison, Divergence, TensorComparison


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """As dicts and lists that JSON can hold; infinities and NaN are texts."""
    return {
        "format": "graphattn comparison",
        "version": 1,
        "agrees": comparison.agrees,
        "verdict": comparison.verdict,
        "headline": headline(comparison),
        "precision": comparison.precision.name,
        "tolerance": comparison.tolerance_text,
        "first": None if comparison.first is None else _divergence_data(comparison.first),
        "divergences": [_divergence_data(d) for d in comparison.divergences],
        "harmless": {
            key: [_relation_data(relation) for relation in divergence.relations]
            for key, divergence in comparison.harmless.items()
        },
        "undecided": [tensor.name for tensor in comparison.undecided],
        "doubtful": [tensor.name for tensor in comparison.doubtful],
        "nothing was compared with": comparison.uncompared,
        "not in yours": comparison.alignment.reference_left,
        "not in the reference": comparison.alignment.yours_left,
        "notes": comparison.notes,
        "tensors": [_tensor_data(t) for t in comparison.tensors],
    }


def _divergence_data(divergence: Divergence) -> dict[str, Any]:
    return {
        "tensor": divergence.comparison.name,
        "yours": divergence.comparison.pair.yours.name,
        "inputs": list(divergence.inputs),
        "not recorded between": list(divergence.between),
        "relations": [_relation_data(relation) for relation in divergence.relations],
    }


def _relation_data(relation: Any) -> dict[str, Any]:
    return {"kind": relation.kind, "text": relation.text, "detail": _plain(relation.detail)}


def _tensor_data(tensor: TensorComparison) -> dict[str, Any]:
    difference, pair = tensor.difference, tensor.pair
    return {
        "name": tensor.name,
        "yours": pair.yours.name,
        "matched by": pair.how,
        "shape": list(pair.reference.shape),
        "shape in yours": list(pair.yours.shape),
        "status": tensor.status,
        "cells": difference.cells,
        "cells that differ": difference.over,
        "absolute": _plain(difference.absolute),
        "relative": _plain(difference.relative),
        "ulps": _plain(difference.ulps),
        "at": None if tensor.index is None else list(tensor.index),
        "cell": tensor.at,
        "nan": difference.nan,
        "masked in the reference only": difference.masked_reference,
        "masked in yours only": difference.masked_yours,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
