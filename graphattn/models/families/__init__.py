"""The families of models, one file each, by the `model_type` that config.json names.

A family is a module with
    PREFIXES    what the whole model may be called in front of its tensors' names ("bert.")
    build(a)    the model on an `Assembly`: reads the settings, takes the tensors, gives the last hidden
                state, after which outputs may follow
To add one: write the file, enter it here, and give its tests a small folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...core.errors import GraphError, suggest

FAMILIES = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "distilbert": "distilbert",
    "albert": "albert",
    "electra": "electra",
    "mpnet": "mpnet",
    "gpt2": "gpt2",
    "gpt_neo": "gpt_neo",
    "gpt_neox": "gpt_neox",
    "opt": "opt",
    "phi": "phi",
    "phi3": "phi3",
    "llama": "llama",
    "mistral": "mistral",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3_text",
}
"""model_type: file."""


def family_of(kind: Any, where: str) -> Any:
    """The module of a family."""
    if not isinstance(kind, str) or kind not in FAMILIES:
        hint = suggest(kind, FAMILIES) if isinstance(kind, str) else ""
        raise GraphError(
            f"{where}: model_type is {str(kind)[:40]!r}; expected one of {', '.join(FAMILIES)}{hint}"
            " (others can be looked at as exported by torch.export or to ONNX: a .pt2 or .onnx file)"
        )
    return import_module(f".{FAMILIES[kind]}", __name__)
