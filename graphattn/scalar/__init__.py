"""The second seed: attention on scalars that know their gradients.

    Value                                               a number with a gradient
    Module, Linear, SelfAttention                       what holds parameters
    softmax, attention_scores, causal_mask, apply_attention
    SGD, Adam                                           what changes them
    draw                                                the graph behind a Value, as a picture

>>> import random
>>> random.seed(0)
>>> attn = SelfAttention(embed_dim=4)
>>> x = [[Value(0.1) for _ in range(4)] for _ in range(3)]
>>> out = attn(x, causal=True)
>>> assert len(out) == 3 and len(out[0]) == 4
>>> sum(v for row in out for v in row).backward()
>>> len(attn.parameters())
80
"""

from .attention import SelfAttention
from .draw import draw
from .functions import apply_attention, attention_scores, causal_mask, softmax
from .module import Linear, Module
from .optimize import SGD, Adam
from .value import Value

__all__ = [
    "SGD",
    "Adam",
    "Linear",
    "Module",
    "SelfAttention",
    "Value",
    "apply_attention",
    "attention_scores",
    "causal_mask",
    "draw",
    "softmax",
]
