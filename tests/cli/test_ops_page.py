"""docs/ops.md is what `graphattn ops --markdown` writes from the registry."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.cli import main
from graphattn.cli.op_facts import to_copy
from graphattn.cli.ops_page import page, section
from graphattn.core.op import OPS, Op

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"
PARSER = MarkdownIt("commonmark").enable("table")


@pytest.mark.slow
def test_the_page_is_current(golden):
    """`pytest --rewrite-golden` writes docs/ops.md anew after an op has changed."""
    golden(PAGE, page())


@pytest.mark.slow
def test_every_op_is_on_it():
    lines = page().splitlines()
    for op in OPS.values():
        assert lines.count(f"### `{op.name}`") == 1 and lines.count(f"## Family {op.family}") == 1
        assert sum(f"[`{op.name}`](#{op.name})" in line for line in lines) == 1
    assert lines[2].startswith(f"{len(OPS)} ops by family, ")


@pytest.mark.slow
def test_it_is_sound_markdown():
    tokens = PARSER.parse(page())
    widths: list[list[int]] = []
    for token in tokens:
        if token.type == "table_open":
            widths.append([])
        elif token.type == "tr_open":
            widths[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            widths[-1][-1] += 1
    assert len(widths) > len(OPS) and all(len(set(rows)) == 1 for rows in widths)
    inner = {child.type for token in tokens for child in token.children or ()}
    assert inner <= {"text", "text_special", "code_inline", "link_open", "link_close"}
    assert all(len(line) == len(line.rstrip()) for line in page().splitlines())


@pytest.mark.slow
def test_from_the_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for args, text in ((["--markdown"], page()), (["softmax", "--markdown"], section(OPS["softmax"]))):
        for more in ([], ["-o", "page.md"]):
            with pytest.raises(SystemExit) as ended:
                main(["ops", *args, *more])
            assert not ended.value.code
            assert (Path("page.md").read_text(encoding="utf-8") if more else capsys.readouterr().out) == text
            capsys.readouterr()


DOC = """y = <b>x</b> | `co|de` and *stars*, `x

- a list
    - with ``` in it
"""


def test_free_text_of_an_op_cannot_act(monkeypatch):
    module = ModuleType("odd_op", DOC)
    exec("def shape(x: 'Spec'): ...", vars(module))
    monkeypatch.setitem(sys.modules, "odd_op", module)
    text = section(Op("odd", "<i> | @you", "|", "a|b", "y = a | `b`", "op", module.shape))
    assert text == (
        "### `odd`\n\n"
        "&#124; &lt;i&gt; &#124; `@you`: `y = a `&#124;``  `b` ``\n\n"
        "`g.odd(x)`\n\n"
        "family a&#124;b, level op\n\n"
        "y = &lt;b&gt;x&lt;/b&gt; &#124; `co`&#124;`de` and \\*stars\\*, \\`x\n\n"
        "````text\n- a list\n    - with ``` in it\n````\n"
    )


def test_the_call_to_copy_of_every_op_runs(capsys):
    for op in OPS.values():
        if op.samples:
            exec(to_copy(op), {})
            assert "\n        y" in capsys.readouterr().out.replace("\ny", "\n        y"), to_copy(op)
