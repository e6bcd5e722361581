"""With a cache of keys and values, every intermediate is that of a pass over the whole text."""

from __future__ import annotations

import pytest
from folders import FOLDERS, distance, expected

from graphattn.core.errors import GraphError
from graphattn.models import pretrained
from graphattn.models.generation import generate, next_text, next_tokens, past_of

DECODERS = (
    "gpt2", "gpt_neo", "gpt_neox", "opt", "phi", "phi3",
    "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("family", DECODERS)
def test_every_split_gives_what_the_whole_gives(family):
    ids = expected(family)["ids"]
    whole = pretrained(FOLDERS / family, ids=ids).run()
    compared = ["hidden", "logits", *(f"layer{i}" for i in range(2))]
    compared += [
        f"layer{i}.attention.{name}" for i in range(2) for name in ("q", "k", "v", "proj", "head0.out")
    ]
    for split in range(1, len(ids)):
        first = pretrained(FOLDERS / family, ids=ids[:split]).run()
        rest = pretrained(FOLDERS / family, ids=ids[split:], past=past_of(first)).run()
        for name in compared:
            assert distance(rest[name], whole[name][split:]) <= 1e-12, (split, name)
        for head in range(2):
            name = f"layer1.attention.head{head}.weights"
            assert distance(rest[name], whole[name][split:]) <= 1e-12, (split, name)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_generation_is_the_likeliest_token_again_and_again(family):
    ids = [2, 7, 5]
    found = [step.token.id for step in generate(FOLDERS / family, ids=ids, count=4)]
    for token in found:
        assert next_tokens(pretrained(FOLDERS / family, ids=ids).run(), 1)[0].id == token
        ids.append(token)


def test_the_table():
    trace = pretrained(FOLDERS / "gpt2", ids=[2, 7]).run()
    tokens = next_tokens(trace, 20)
    assert sum(token.probability for token in tokens) == pytest.approx(1.0)
    assert tokens[0].logit == max(trace["logits"][-1])
    assert next_text(tokens[:2]).splitlines()[0].split() == ["token", "id", "logit", "probability"]


def test_models_that_do_not_continue():
    trace = pretrained(FOLDERS / "bert", ids=[2, 7]).run()
    with pytest.raises(GraphError, match="has no logits"):
        next_tokens(trace)
    with pytest.raises(GraphError, match="is no model that continues a text; expected no past"):
        pretrained(FOLDERS / "bert", ids=[2, 7], past=past_of(trace))
    with pytest.raises(GraphError, match="the text has 13 tokens; expected at most 12"):
        past = past_of(pretrained(FOLDERS / "gpt2", ids=[2] * 12).run())
        pretrained(FOLDERS / "gpt2", ids=[2], past=past)
