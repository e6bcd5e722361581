"""docs/api.md names what there is, and leaves nothing out of what `from graphattn import …` gives."""

from __future__ import annotations

import importlib.util
import re

from documents import ROOT

import graphattn

NAMES = re.findall(r"^\| `([\w.]+)` \|", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)


def test_every_name_is_there():
    for name in NAMES:
        owner, _, member = name.partition(".")
        if owner != "graphattn":
            assert hasattr(getattr(graphattn, owner), member), name
        else:
            assert member in graphattn.__all__ or importlib.util.find_spec(name), name


def test_every_name_of_the_package_is_on_the_page():
    assert {f"graphattn.{name}" for name in graphattn.__all__ if name != "__version__"} <= set(NAMES)
