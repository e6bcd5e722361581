"""Mistakes of porters, written in numpy on models such as folders of weights give, are named."""

import porting
import pytest
from diagnose_report import judged_porting

from graphattn import diagnose, run

CASES = {
    "gpt2": (
        "positions from 1", "positions in reverse", "embedding scaled", "padding inverted",
        "padding on the left", "padding of queries", "padded rows zeroed before",
        "padded rows zeroed after", "padded rows zeroed in the stream",
        "one padded key seen", "gelu by sigmoid", "logits of the stream",
    ),
    "opt": ("positions from 0, the offset forgotten", "positions one too early"),
    "llama": (
        "k one place later", "heads tiled", "v turned too", "tables in bfloat16", "base 500000",
        "gate and up exchanged", "second norm of the first stream",
    ),
    "scaled": ("k one place later", "tables in float16"),
    "past": (
        "k at position 0", "cached keys in reverse", "last cached dropped", "cache dropped", "cache twice",
        "new twice", "one slot early", "one slot late",
    ),
    "past1": ("cache twice", "one slot early"),
    "alibi": ("slopes in reverse",),
    "encdec": ("lengths of the target over the source", "memory zeroed where padded, not masked"),
}  # fmt: skip


@pytest.mark.parametrize("base", porting.BASES)
def test_right_code_is_right(base):
    pytest.importorskip("numpy")
    graph, feeds = porting.intended(base), porting.feeds(base)
    y = porting.forward(base, feeds)
    assert diagnose(graph, feeds, {"y": y}).verdict == "right"
    assert diagnose(graph, feeds, {"y": run(graph, feeds, level="primitive")["y"]}).verdict == "right"


@pytest.mark.slow
@pytest.mark.parametrize("base, what", [(base, what) for base in CASES for what in CASES[base]])
def test_a_porters_mistake_is_named(base, what):
    pytest.importorskip("numpy")
    word, _, phrase = judged_porting(base, what)
    assert word == "first", phrase
