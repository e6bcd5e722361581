"""Head scores over many texts: the same table whatever ran it, kept and resumed."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import ascii_lowercase

import pytest

from graphattn.core.errors import GraphError
from graphattn.insight.heads import heads
from graphattn.insight.heads.corpus import heads_of_texts, processes, sums_of
from graphattn.weights.toy_induction import toy_induction

DRAW = random.Random(5)
TEXTS = ["".join(DRAW.sample(ascii_lowercase, 5)) * 2 for _ in range(6)]


def once_killed(text):
    """As the toy, but the first worker to see a certain text ends there and then."""
    mark = Path(os.environ["GRAPHATTN_TEST_MARK"])
    if text == TEXTS[3] and not mark.exists():
        mark.write_text("killed", encoding="utf-8")
        os._exit(1)
    return toy_induction(text)


@pytest.fixture(scope="module")
def expected():
    return heads_of_texts(toy_induction, TEXTS).record()


def test_one_text_is_its_own_mean():
    one, alone = heads_of_texts(toy_induction, TEXTS[:1]), heads(toy_induction(TEXTS[0]).run())
    assert one.record()["heads"] == alone.record()["heads"]


@pytest.mark.slow
def test_threads_give_the_same(expected):
    with ThreadPoolExecutor(3) as pool:
        assert heads_of_texts(toy_induction, TEXTS, pool).record() == expected


@pytest.mark.slow
def test_two_processes_give_the_same_also_when_one_is_lost(expected, tmp_path, monkeypatch):
    with processes(2) as pool:
        assert heads_of_texts(toy_induction, TEXTS, pool).record() == expected
    monkeypatch.setenv("GRAPHATTN_TEST_MARK", str(tmp_path / "mark"))
    with processes(2) as pool:
        assert heads_of_texts(once_killed, TEXTS, pool).record() == expected
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
def test_a_cluster_gives_the_same_also_when_a_worker_is_lost(expected, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the package distributed is not installed")
    monkeypatch.setenv("GRAPHATTN_TEST_MARK", str(tmp_path / "mark"))
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert heads_of_texts(once_killed, TEXTS, client.get_executor()).record() == expected
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
def test_what_is_done_is_kept(expected, tmp_path):
    keep = tmp_path / "kept.jsonl"
    heads_of_texts(toy_induction, TEXTS[:4], keep=keep)
    with keep.open("a", encoding="utf-8") as file:
        file.write('{"text": "cut sho')  # as a run leaves it that is stopped
    seen = []

    def read(text):
        seen.append(text)
        return toy_induction(text)

    assert heads_of_texts(read, TEXTS, keep=keep).record() == expected
    assert seen == TEXTS  # another model, as far as anyone can tell
    seen.clear()
    assert heads_of_texts(read, TEXTS, keep=keep).record() == expected
    assert seen == []
    lines = keep.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10 and all(map(json.loads, lines))


def test_a_kept_file_of_something_else(tmp_path):
    keep = tmp_path / "kept.jsonl"
    keep.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(GraphError, match="holds no kept head scores"):
        heads_of_texts(toy_induction, TEXTS, keep=keep)


def test_a_text_that_cannot_be_read_is_named():
    with pytest.raises(GraphError, match="text 1: character 0 of the text is 'X'"):
        heads_of_texts(toy_induction, ["abab", "XY"])
    with pytest.raises(GraphError, match="there are no texts"):
        heads_of_texts(toy_induction, [])


def test_sums_are_what_json_keeps():
    sums = sums_of(toy_induction, TEXTS[0])
    assert json.loads(json.dumps(sums)) == sums


@pytest.mark.slow
def test_the_command(cli, expected):
    Path("texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    assert json.loads(cli("heads", "toy", "--texts", "texts.txt", "--json")[1]) == expected
    assert "6 texts" in cli("heads", "toy", "--texts", "texts.txt")[1].splitlines()[0]
    assert "expected --texts with them" in cli("heads", "toy", "--keep", "x")[2]
    assert "is no file; expected one with a text on each line" in cli("heads", "toy", "--texts", "none")[2]
    assert "--text does not go with --texts" in cli("heads", "toy", "ab", "--texts", "texts.txt")[2]
