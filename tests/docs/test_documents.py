"""README and everything in docs/ is kept true: code blocks run and print what is shown, links lead somewhere.

`pytest --rewrite-golden` writes outputs anew, except those in which a line `...` leaves something out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import DOCUMENTS, ROOT, blocks, fits, printed

RUN = [
    path for path in DOCUMENTS if any(b.kind in ("python", "console") for b in blocks(path.read_text("utf-8")))
]
KINDS = {"python", "console", "text", "sh", "json", "c", "toml", "yaml", "diff", "{toctree}", "{eval-rst}", ""}
ELSEWHERE = re.compile(r"python (model|torch|numpy|jax|onnx|pandas|notebook)\b.*")
"""Blocks that need another library; tests of their own run them where it is installed."""


def told(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=told)
def test_code_blocks_print_what_is_shown(path, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    document = path.read_text(encoding="utf-8")
    parts = list(printed(document, path.name))
    wrong = [part for part in parts if not fits(part.shown, part.now)]
    if wrong and request.config.getoption("--rewrite-golden"):
        for part in reversed([part for part in wrong if "\n...\n" not in f"\n{part.shown}"]):
            document = document[: part.start] + part.now.rstrip("\n") + "\n" + document[part.end :]
        path.write_text(document, encoding="utf-8", newline="\n")
    for part in wrong:
        pytest.fail(
            f"{told(path)}:\n{part.what}\nshows\n{part.shown}\nbut it prints\n{part.now}", pytrace=False
        )


@pytest.mark.parametrize("path", DOCUMENTS, ids=told)
def test_every_block_has_a_kind_that_is_checked(path):
    kinds = {block.kind for block in blocks(path.read_text(encoding="utf-8"))}
    assert {kind for kind in kinds - KINDS if not ELSEWHERE.fullmatch(kind)} == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=told)
def test_links_lead_somewhere(path):
    document = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"|srcset=\"([^\"]+)\"", document)
    for target in (next(filter(None, link)) for link in links):
        if re.match(r"https?://|mailto:", target):
            continue
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        assert there.exists(), f"{told(path)} links to {target}, which is not there"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{told(path)} links to {target}: there is no such heading"


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    document = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.*?) *$", document, re.M)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return set(words) | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", document))


# ---------------------------------------------------------------- test the tester


def test_fits_can_tell_a_difference():
    assert fits("a\n...\nc\n", "a\nb\nb\nc\n")
    assert not fits("a\n...\nc\n", "a\nb\n")
    assert not fits("a\nb\n", "a\nc\n")


def test_a_wrong_output_is_seen():
    document = "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ graphattn ops nothing\nfine\n```\n"
    wrong = [part for part in printed(document, "planted") if not fits(part.shown, part.now)]
    assert [part.now.partition(";")[0].strip() for part in wrong] == ["1", "graphattn: unknown op 'nothing'"]
