"""RoBERTa (Liu et al. 2019) and XLM-RoBERTa: BERT whose positions count from behind the padding token's id.

The first token has position pad_token_id + 1, which is 2. There is one token type.
"""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import bert

PREFIXES = ("roberta.",)
VOCABULARY = 50265


def build(a: Assembly) -> Tensor:
    bert.sizes(a)
    return bert.layers(a, bert.embeddings(a, start=first(a)))


def first(a: Assembly) -> int:
    """The position of the first token."""
    padding = a.config.get("pad_token_id", 1)
    if type(padding) is not int or padding < 0:
        raise a.config.wrong("pad_token_id", padding, "a token id")
    a.refuse_token(padding, "padding, which has no position of its own")
    return padding + 1
