"""The first divergence is named on each mistake that people make, as far as a graph can express it.

tests/data/mistakes.json says of each what its base is, and which tensors may be named first: those that
first differ, or what makes them so (the mask itself). What is no mistake in value must not be flagged.
"""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import mistaken
import pytest

from graphattn import run
from graphattn.insight.compare import compare

with open(Path(__file__).parent.parent / "data" / "mistakes.json", encoding="utf-8") as file:
    MISTAKES = json.load(file)
EXPRESSED = [m for m in MISTAKES if "base" in m]
LOST = {  # precision: mistakes that drown in its rounding, or bear what is harmless in double
    "float32": set(),
    "bfloat16": {"L4", "L6", "G2", "M25", "S0"},
}


def recordings(mistake, precision=None):
    """The right run, and the wrong one (in another precision: by the names of the right one)."""
    feeds = mistaken.feeds(mistake["base"])
    right = run(mistaken.build(mistake["base"]), feeds)
    graph = mistaken.build(mistake["base"], mistake["id"])
    if precision is None:
        return right, run(graph, feeds, numbers="float32" if mistake["id"] == "N1" else "float")
    wrong = run(graph, feeds, numbers=precision, level="primitive")
    return right, {n: wrong[n] for n in right.names if n in wrong and right.spec(n).kind == "float"}


def named(comparison):
    return comparison.first and comparison.first.comparison.name


def is_right(mistake, comparison):
    if mistake.get("harmless"):
        return comparison.agrees
    return any(fnmatchcase(named(comparison) or "", pattern) for pattern in mistake["names"])


@pytest.mark.parametrize("mistake", EXPRESSED, ids=lambda m: m["id"])
def test_the_first_divergence_is_named(mistake):
    comparison = compare(*recordings(mistake))
    assert is_right(mistake, comparison), str(comparison)


@pytest.mark.slow
@pytest.mark.parametrize("precision", LOST)
def test_it_is_named_through_rounding(precision):
    lost = set()
    for mistake in EXPRESSED:
        if mistake["id"] != "N1":
            right, wrong = recordings(mistake, precision)
            if not is_right(mistake, compare(right, wrong, precision=precision)):
                lost.add(mistake["id"])
    assert lost == LOST[precision]


def test_what_is_not_expressed_says_why():
    rest = [m for m in MISTAKES if "base" not in m]
    assert len(EXPRESSED) > 45 and {m["id"] for m in rest} == {"P11", "B1", "B2", "B3", "B7", "B9", "B11"}
    assert all(m["not expressed"] for m in rest)


@pytest.mark.parametrize("identity, words", [
    ("S1", "the reference × 2.44949, which is √d_k (d_k = 6)"),
    ("X6", "what a softmax gives of the reference's scores × 0.6931472, which is ln 2"),
    ("X1", "unlike the reference: its columns sum to 1"),
    ("M3", "the mask is inverted"),
    ("M6", "yours has +∞ there: the sign of infinity is wrong"),
    ("M7", "only the diagonal"),
    ("M9", "the mask is transposed"),
    ("M11", "yours masks nothing"),
    ("M14", "the reference but for 6 cells that are NaN in yours (row 2)"),
    ("H1", "reshaped where it should be cut into columns"),
    ("H5", "the reference with its heads in the order [1, 0]"),
    ("H7", "the reference's head0.q"),
    ("P1", "the reference's concat"),
    ("P3", "the reference with an offset of its own for each column"),
    ("P5", "negative cells (yours is 0 there)"),
    ("P6", "the reference's k"),
    ("R1", "the reference's proj"),
    ("E1", "the reference with its even columns first, then its odd ones"),
    ("E7", "the reference shifted by one row"),
    ("H11", "columns 0 to 7 of the reference alone"),
])  # fmt: skip
def test_the_relation_is_told(identity, words):
    mistake = next(m for m in MISTAKES if m["id"] == identity)
    told = [relation.text for relation in compare(*recordings(mistake)).first.relations]
    assert any(words in text for text in told), told
