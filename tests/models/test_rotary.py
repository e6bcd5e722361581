"""The angles of rotary embeddings against transformers' in float64 (data/models/write_rope.py), and settings
that are refused."""

from __future__ import annotations

import json
import math

import pytest
from folders import FOLDERS, copied, distance, expected

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.run import run
from graphattn.models import pretrained
from graphattn.models.assembly import Assembly
from graphattn.models.config import Config
from graphattn.models.generation import past_of
from graphattn.models.rotary import rotary
from graphattn.models.tokens import Tokens

THEIRS = json.loads((FOLDERS / "rope.json").read_text(encoding="utf-8"))
HEAD = THEIRS["hidden_size"] // THEIRS["num_attention_heads"]
MOST = THEIRS["max_position_embeddings"]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LISTS = {"short_factor": [1.0, 2.0], "long_factor": [2.0, 4.0]}


def told(case) -> str:
    return f"{case['settings']['rope_type']}, {case['tokens']} tokens"


@pytest.mark.parametrize("case", THEIRS["cases"], ids=map(told, THEIRS["cases"]))
@pytest.mark.parametrize("place", ["rope_parameters", "rope_scaling"])
def test_scalings(case, place):
    settings = dict(case["settings"])
    values = {"max_position_embeddings": MOST, place: settings}
    if place == "rope_scaling":  # as transformers 4 wrote it
        values["rope_theta"] = settings.pop("rope_theta")
        settings["type"] = settings.pop("rope_type")
    graph, config = Graph("angles"), Config(values, "config.json")
    tokens = Tokens((0,) * case["tokens"], ("a",) * case["tokens"])
    graph.output(**rotary(Assembly(graph, config, None, tokens, None), HEAD))
    config.finish()
    trace = run(graph, {})
    for name, function in (("cos", math.cos), ("sin", math.sin)):
        right = [[case["size"] * function(p * rate) for rate in case["rates"]] for p in range(case["tokens"])]
        assert distance(trace[name], right) <= 1e-12, name


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"rope_type": "ntk"}, "rope: rope_type is 'ntk'; expected one of default, linear, dynamic, llama3"),
        ({"rope_type": ["yarn"]}, "rope_type is ['yarn']; expected one of"),
        ({"rope_type": "linear"}, "rope: factor is None; expected a number above 0"),
        ({"rope_type": "linear", "factor": "2"}, "rope: factor is '2'; expected a number above 0"),
        ({"rope_type": "linear", "factor": float("nan")}, "factor is nan; expected a number above 0"),
        ({"rope_type": "linear", "factor": 1e-320}, "rope: these settings give no finite angles"),
        ({"rope_type": "linear", "factor": 2.0, "alpha": 3}, "rope: alpha = 3 is not known for this family"),
        ({"factor": 2.0}, "rope: factor = 2.0 is not known for this family"),
        ({"rope_theta": -1}, "rope: rope_theta is -1; expected a number above 0"),
        ({"rope_type": "llama3", **LLAMA3, "original_max_position_embeddings": 0}, "expected a whole number"),
        ({"rope_type": "yarn", "factor": 4.0, "rope_theta": 1}, "rope: these settings give no finite angles"),
        ({"rope_type": "yarn", "factor": 4.0, "beta_fast": 1.7e308}, "these settings give no finite angles"),
        ({"rope_type": "yarn", "factor": 4.0, "truncate": 1}, "rope: truncate is 1; expected true or false"),
        ({"rope_type": "yarn", "factor": 10**400}, "expected a number above 0"),
        ({"rope_type": "longrope", "short_factor": [1.0]}, "short_factor is [1.0]; expected a list of 2"),
        ({"rope_type": "longrope", **LISTS, "long_factor": [1, "2"]}, "long_factor is [1, '2']; expected a"),
        ({"rope_type": "longrope", **LISTS, "long_factor": [0, 1]}, "expected a list of 2 numbers above 0"),
        ({"rope_type": "longrope", **LISTS, "short_factor": {}}, "short_factor is {}; expected a list of 2"),
        ({"rope_type": "longrope", **LISTS, "short_factor": [1e-320, 1]}, "settings give no finite angles"),
        ({"partial_rotary_factor": 0.5}, "rope: partial_rotary_factor is 0.5; expected 1 in this family"),
    ],
)
def test_settings_that_are_refused(tmp_path, settings, words):
    folder = copied("llama", tmp_path, rope_parameters={"rope_theta": 10000.0, **settings})
    with pytest.raises(GraphError) as error:
        pretrained(folder, ids=[2] * 9)
    assert words in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 500


def test_a_key_beside_the_angles_that_makes_no_difference(tmp_path):
    theirs = expected("llama")
    settings = json.loads((FOLDERS / "llama" / "config.json").read_text(encoding="utf-8"))["rope_parameters"]
    folder = copied("llama", tmp_path, rope_parameters={**settings, "unheard_of": 3})
    trace = pretrained(folder, ids=theirs["ids"], ignore=["unheard_of"]).run()
    assert distance(trace["logits"], theirs["logits"]) <= 1e-12


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_a_past_whose_keys_would_turn_otherwise(tmp_path, kind):
    """Short texts and long ones turn by other angles: a past goes on within each, not from one to the other."""
    more = {"factor": 4.0, **({} if kind == "dynamic" else LISTS), "original_max_position_embeddings": 4}
    settings = {"rope_type": kind, "rope_theta": 10000.0, **more}
    folder = copied("llama", tmp_path, rope_parameters=settings, max_position_embeddings=4)
    ids = [2, 7, 5, 7, 11]
    first = pretrained(folder, ids=ids[:2]).run()
    rest = pretrained(folder, ids=ids[2:4], past=past_of(first)).run()
    assert distance(rest["logits"], pretrained(folder, ids=ids[:4]).run()["logits"][2:]) <= 1e-12
    assert pretrained(folder, ids=ids).run()["logits"]
    with pytest.raises(GraphError, match="keys of 2 tokens turn by other angles than those of 5; expected the"):
        pretrained(folder, ids=ids[2:], past=past_of(first))
