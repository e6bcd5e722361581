"""Mistakes of porters, written in numpy on models such as folders of weights give, are named."""

from pathlib import Path

import porting
import pytest
from diagnose_report import judged_porting

from graphattn import diagnose, run
from graphattn.models import pretrained

FOLDERS = Path(__file__).parents[1] / "data" / "models"

CASES = {
    "gpt2": ("positions from 1", "embedding scaled", "padding on the left", "padded rows zeroed after"),
    "bert": ("padded rows zeroed before",),
    "opt": ("positions from 0, the offset forgotten",),
    "llama": ("k one place later", "heads tiled", "v turned too"),
    "scaled": ("tables in float16",),
    "gemma": ("one base for both",),
    "past": ("cached keys in reverse", "cache dropped", "one slot early"),
    "past1": ("cache twice",),
    "alibi": ("slopes in reverse",),
    "encdec": ("lengths of the target over the source", "memory normed"),
}
"""Some of what `diagnose_report.py ported` tries, for each model."""


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


@pytest.mark.slow
def test_positions_of_a_folder_that_count_from_elsewhere():
    """What the table holds beside the rows that are used is in the graph."""
    model = pretrained(FOLDERS / "opt", ids=[2, 7, 5, 3])
    rows = list(map(list, model.feeds["position_table"]))
    theirs = run(model.graph, {**model.feeds, "position_table": rows[1:] + rows[:1]})["logits"]
    found = diagnose(model.graph, model.feeds, {"logits": theirs}, budget=600, pairs=False)
    assert found.findings[0].phrase == "with 1 more in each place of the constant positions"
