"""Every registered op obeys every law."""

import importlib
from pathlib import Path

import pytest
from every_op import every_op
from op_laws import LAWS

import graphattn.core.op
import graphattn.ops
from graphattn.core import nested
from graphattn.core.op import OPS

FILES = sorted(p.stem for p in Path(graphattn.ops.__file__).parent.glob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("op", every_op())
def test_laws(op):
    found = {law.__name__: list(law(op)) for law in LAWS}
    assert {law: problems for law, problems in found.items() if problems} == {}


def test_every_file_is_an_op_and_every_op_a_file():
    assert sorted(OPS) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_registers_its_op_and_no_other(name, monkeypatch):
    registered = {}
    monkeypatch.setattr(graphattn.core.op, "OPS", registered)
    file = Path(graphattn.ops.__file__).with_name(f"{name}.py")
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    exec(code, {"__name__": f"graphattn.ops.{name}", "__package__": "graphattn.ops", "__file__": str(file)})
    assert list(registered) == [name]


def test_the_doc_of_an_op_is_that_of_its_file():
    for op in OPS.values():
        file = importlib.import_module(f"graphattn.ops.{op.name}")
        assert op.doc.split() == (file.__doc__ or "").split()


def test_every_op_has_samples_of_more_than_one_rank_or_says_why_not():
    """Batches are not an afterthought: an op on matrices is tried on a stack of them as well."""
    narrow = {
        op.name
        for op in OPS.values()
        if op.operands and op.level in ("op", "primitive")  # the others are made of these
        and len({len(nested.shape_of(s.operands[0])) for s in op.samples if s.operands}) < 2
    }  # fmt: skip
    assert narrow <= {"embedding"}  # a table is always a matrix
