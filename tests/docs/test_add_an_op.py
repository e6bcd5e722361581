"""The two files in docs/add-an-op.md are ops that obey every law."""

import sys
from types import ModuleType

import pytest
from documents import ROOT, blocks
from op_laws import LAWS

from graphattn import Graph
from graphattn.core.op import OPS

FILES = [
    block.text
    for block in blocks((ROOT / "docs" / "add-an-op.md").read_text(encoding="utf-8"))
    if block.kind == "python" and "\nregister(" in block.text
]


@pytest.fixture(params=["cube", "centered"])
def op(request, monkeypatch):
    """The op, as if its file stood in graphattn/ops/."""
    Graph()  # fills the registry
    name = request.param
    (text,) = [text for text in FILES if f'"{name}"' in text]
    module = ModuleType(f"graphattn.ops.{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    yield OPS[name]
    del OPS[name]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(op, law):
    assert list(law(op)) == []


def test_there_are_a_primitive_and_a_composite():
    assert len(FILES) == 2
