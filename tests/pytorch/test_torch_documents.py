"""docs/torch.md runs, and the command line takes an archive."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from needed import torch
from test_torch_modules import IDS, Plain, seeded

from graphattn.cli import main

ROOT = Path(__file__).parent.parent.parent


def test_the_page_of_the_docs_runs(capsys):
    text = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"```python torch\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "self_attn.attention.weights   batch 1 × head 2 × token 3 × token 3" in printed
    assert "the same but for rounding to float32" in printed


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "gpt.pt2"
    torch.export.save(torch.export.export(seeded(Plain), (IDS,)), path)
    feeds = path.with_name("ids.json")
    feeds.write_text(json.dumps({"ids": IDS.tolist()}), encoding="utf-8")
    return str(path), str(feeds)


def command(*words):
    return CliRunner().invoke(main, words)


@pytest.mark.slow
def test_commands_take_an_archive(saved, tmp_path):
    path, feeds = saved
    weights = "blocks1.attention.attention.weights"
    told = command("trace", path, "--feeds", feeds, "--tensor", weights, "--level", "primitive")
    assert told.exit_code == 0 and f"{weights}.quotient" in told.output and "token" in told.output
    told = command("why", path, weights, "0", "1", "4", "2", "--feeds", feeds)
    assert told.exit_code == 0 and "Σ exp" in told.output
    drawn = tmp_path / "gpt.svg"
    told = command("render", path, "--level", "head", "-o", str(drawn))
    assert told.exit_code == 0
    picture = drawn.read_text(encoding="utf-8")
    assert all(name in picture for name in ("blocks1", "qkv", "attention", "embedding"))
    told = command("heads", path, "--feeds", feeds)
    assert told.exit_code == 0 and told.output.startswith("4 heads")


def test_what_is_not_fed_is_drawn_and_said(saved):
    told = command("trace", saved[0], "--tensor", "output")
    assert told.exit_code == 0
    assert "no feeds for ids: they are drawn at random (--seed 0)" in " ".join(told.output.split())


def test_a_broken_archive_is_one_sentence(tmp_path):
    path = tmp_path / "broken.pt2"
    path.write_bytes(b"PK\x03\x04 and no more")
    told = command("trace", str(path))
    assert told.exit_code == 2
    assert "broken.pt2 is not a whole .pt2 archive" in told.output
    assert "Traceback" not in told.output
