"""The page's layout, by numbers: what moves when a box opens, what changes sides, what overlaps."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
from conftest import run_of

from graphattn.builtin import specimen
from graphattn.core.graph import Graph
from graphattn.core.op import LEVELS
from graphattn.dumps.letters import text_width
from graphattn.dumps.page.views import views

SIDEWAYS = 100


@functools.cache
def graph_of(name: str) -> Graph:
    if name == "eight heads":
        return specimen("multi-head", n=4, d=16, heads=8).graph
    return run_of(name).graph.fused()


GRAPHS = ("block", "toy", "heads", "attention", "eight heads")


@functools.cache
def laid_out(name: str, node: Any) -> tuple[list[tuple[frozenset[str], str]], dict[frozenset[str], Any]]:
    """Every single opening, from each level with all that is coarser open: (open before, what opens)."""
    found = views(graph_of(name))
    scopes = [scope for scope in found if scope]
    every = graph_of(name).at(LEVELS[-1]).scopes
    level = {s: LEVELS.index(every[s].op.level) if every[s].op else -1 for s in scopes}
    openings, wanted = [], set()
    for depth in range(len(LEVELS)):
        before = frozenset(s for s in scopes if level[s] < depth)
        for scope in scopes:
            parent = every[scope].parent
            if scope not in before and (parent is None or parent in before):
                openings.append((before, scope))
                wanted |= {before, before | {scope}}
    order = sorted(wanted, key=sorted)
    pictures = node({"job": "layout", "views": found, "opens": [sorted(names) for names in order]})
    return openings, dict(zip(order, pictures, strict=True))


def boxes(picture: Any) -> dict[str, Any]:
    return {box["id"]: box for box in picture["boxes"]}


def centre(box: Any) -> float:
    return box["x"] + box["width"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_above_an_opened_box_stays(name, node):
    """With its top centre kept in place, nothing above it moves up or down, and little sideways."""
    openings, pictures = laid_out(name, node)
    worst = 0.0
    for before, scope in openings:
        old, new = boxes(pictures[before]), boxes(pictures[before | {scope}])
        opened = next((b for b in new.values() if b["open"] and b["opens"] == scope), None)
        if opened is None:  # says no more open than closed
            continue
        was = old[opened["id"]]
        shift = centre(opened) - centre(was)
        assert opened["y"] == was["y"]
        for ident, box in old.items():
            if ident in new and box["y"] + (26 if box["open"] else box["height"]) <= was["y"]:
                assert new[ident]["y"] == box["y"], (scope, ident)
                worst = max(worst, abs(centre(new[ident]) - shift - centre(box)))
    assert worst <= SIDEWAYS, f"{worst:.0f} px sideways"


@pytest.mark.slow
def test_boxes_keep_their_sides(node):
    """Over all single openings of all graphs, boxes that stand side by side stay so, and of all pairs of boxes
    (most stand in different rows) hardly any centres change sides."""
    pairs = changed = beside = exchanged = 0
    for name in GRAPHS:
        openings, pictures = laid_out(name, node)
        for before, scope in openings:
            old, new = boxes(pictures[before]), boxes(pictures[before | {scope}])
            for a, b in itertools.combinations([ident for ident in old if ident in new], 2):
                x, y = centre(old[a]) - centre(old[b]), centre(new[a]) - centre(new[b])
                changes = x * y < 0
                pairs += 1
                changed += changes
                if level_with(old[a], old[b]) and level_with(new[a], new[b]):
                    beside += 1
                    exchanged += changes
    assert pairs > 10_000 and beside > 1000
    assert exchanged == 0
    assert changed <= 0.003 * pairs, f"{changed} of {pairs}"


def level_with(a: Any, b: Any) -> bool:
    """Whether two boxes stand beside each other, neither in the other."""
    return a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"] and (
        a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps(name, node):
    _, pictures = laid_out(name, node)
    for picture in pictures.values():
        for a, b in itertools.combinations(picture["boxes"], 2):
            apart = (
                a["x"] + a["width"] <= b["x"] + 0.5 or b["x"] + b["width"] <= a["x"] + 0.5
                or a["y"] + a["height"] <= b["y"] + 0.5 or b["y"] + b["height"] <= a["y"] + 0.5
            )  # fmt: skip
            inside = (a["open"] and b["scope"].startswith(a["opens"] or "\0")) or (
                b["open"] and a["scope"].startswith(b["opens"] or "\0")
            )
            assert apart or inside, (a["id"], b["id"])
        assert all(b["x"] >= 0 and b["x"] + b["width"] <= picture["width"] for b in picture["boxes"])


@pytest.mark.slow
@pytest.mark.parametrize("decoders", [1, 3])
def test_decoders_stand_beside_their_encoder(node, decoders):
    graph = Graph("transformer")
    source, target = (graph.input(name, (3, 4), ("token", "feature")) for name in ("source", "target"))
    weights = {
        name: graph.parameter(name, shape)
        for name, shape in {"w_q": (4, 4), "w_k": (4, 4), "w_v": (4, 4), "w_o": (4, 4), "w_in": (8, 4),
                            "w_out": (4, 8)}.items()
    }  # fmt: skip
    memory = graph.encoder_layer(graph.tanh(source, name="read"), heads=1, name="encoder", **weights)
    told = graph.tanh(target, name="heard")
    for i in range(decoders):
        told = graph.decoder_layer(told, memory, heads=1, name=f"decoder{i}", **weights)
    graph.output(y=graph.tanh(told, name="say"))
    root = views(graph.fused())[""]
    names = {box["name"] for box in root["boxes"] if box.get("column")}
    assert {"heard", "say", "decoder0"} <= names and not {"source", "read", "encoder"} & names
    (picture,) = node({"job": "layout", "views": views(graph.fused()), "opens": [[]]})
    encoder, decoder = (next(b for b in picture["boxes"] if b["opens"] == n) for n in ("encoder", "decoder0"))
    assert encoder["x"] + encoder["width"] < decoder["x"] and decoder["y"] < encoder["y"] + 200


@pytest.mark.slow
def test_derivatives_stand_beside_what_is_derived(node):
    found = views(run_of("gradient").graph.fused())
    scopes = [scope for scope in found if scope]
    (picture,) = node({"job": "layout", "views": found, "opens": [scopes]})
    column = next(box for box in picture["boxes"] if box["opens"] == "backward")
    main = [box for box in picture["boxes"] if not box["id"].startswith(("+", "backward"))]
    assert all(box["x"] + box["width"] < column["x"] for box in main)
    assert column["y"] <= min(box["y"] for box in main) + 200


def test_constants_of_an_open_box_are_inside_it_alone(node):
    graph = Graph("masked")
    q, k, v = (graph.input(name, (3, 4), ("token", "feature")) for name in "qkv")
    out, _ = graph.attention(q, k, v, graph.causal_mask(3, name="visible"), name="head")
    graph.output(out=out)
    found = views(graph.fused())
    closed, opened = node({"job": "layout", "views": found, "opens": [[], ["head"]]})
    for picture, place in ((closed, ""), (opened, "head")):
        scopes = [box["scope"] for box in picture["boxes"] if box["name"] == "visible"]
        assert scopes == [place]


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_no_label_is_cut_off(name, node):
    """Labels of arrows end inside of the picture, however much is open."""
    _, pictures = laid_out(name, node)
    for picture in pictures.values():
        for told in picture["labels"]:
            width = text_width(told["label"], 10)
            left = told["x"] - (width if told["anchor"] == "end" else 0)
            assert 0 <= left <= left + width <= picture["width"], told["label"]
