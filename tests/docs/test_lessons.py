"""The lessons: their pictures are those of the sheets that their own code makes, and every sheet can be done by
hand on one side of paper."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from documents import ROOT

sys.path.append(str(ROOT / "docs"))

from pictures import by_hand, pictures_of

LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]*.md"))


def test_there_are_eight_in_order_and_each_leads_to_the_next():
    assert [path.stem[0] for path in LESSONS] == list("12345678")
    contents = (ROOT / "docs" / "lessons" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(([^)]+)\)", contents)[:8] == [path.name for path in LESSONS]
    for path, after in pairwise(LESSONS):
        assert f"]({after.name})" in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_pictures_are_of_the_sheet_that_the_lesson_makes(path, request):
    """`python docs/pictures.py` draws them anew, and so does `pytest --rewrite-golden`."""
    for name, text in pictures_of(path).items():
        there = path.parent / name
        if request.config.getoption("--rewrite-golden"):
            there.write_text(text, encoding="utf-8", newline="\n")
        assert there.read_text(encoding="utf-8") == text, name
        ElementTree.fromstring(text)
        assert "decimals" not in text and "Check yourself" in text  # which stands on the last side


def test_the_sheet_in_the_docs_is_that_of_today(request):
    for name, text in by_hand().items():
        if request.config.getoption("--rewrite-golden"):
            (ROOT / "docs" / name).write_text(text, encoding="utf-8", newline="\n")
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, name


def test_a_lesson_takes_five_minutes():
    """At 200 words a minute, code and tables aside."""
    for path in LESSONS:
        told = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert 120 < len(told.split()) < 700, (path.name, len(told.split()))
