"""`graphattn trace` as Markdown and as a folder of CSV files."""

from pathlib import Path

import pytest

from graphattn.core.specimen import Specimen
from graphattn.dumps.load import load_trace
from graphattn.dumps.markdown import trace_markdown

BLOCK = ("trace", "block", "--n", "3", "--d", "4", "--causal", "--labels", "the,cat,sat")


def test_csv_is_a_source_again(cli):
    assert cli(*BLOCK, "--csv", "run") == (0, "", "wrote run\n")
    assert cli("trace", "run")[1] == cli(*BLOCK)[1]
    assert cli("trace", "run", "--exact")[1] == cli(*BLOCK, "--exact")[1]
    assert cli("trace", "run", "--csv", "again", "--csv-labels") == (0, "", "wrote again\n")
    assert load_trace("again") == load_trace("run")
    assert Path("again/X.csv").read_text(encoding="utf-8").startswith("token,0,1,2,3\nthe,")
    assert cli("render", "run", "-o", "run.dot")[0] == 0
    assert cli("trace", "run", "--level", "head", "--csv", "run") == (0, "", "wrote run\n")


def test_what_no_workbook_holds_is_refused_before_it_runs(cli, monkeypatch):
    monkeypatch.setattr(Specimen, "run", lambda *_, **__: pytest.fail("it ran"))
    told = "graphattn: the trace has 300,000 computed cells; expected at most 100,000 in a workbook\n"
    for way in (("-o", "large.xlsx"), ("--workbook", "-o", "large.xlsx")):
        assert cli("trace", "block", "--n", "100", "--d", "200", *way) == (2, "", told)


def test_only_some_tensors_as_csv(cli):
    assert cli(*BLOCK, "--csv", "run", "--tensor", "*.weights")[0] == 0
    assert load_trace("run").names == ["attention.head0.weights", "attention.head1.weights"]
    kept = sorted(path.name for path in Path("run").glob("*.csv"))
    assert kept == [f"attention.head{i}.weights{end}.csv" for i in (0, 1) for end in ("", "~masked")]


def test_markdown(cli):
    assert cli(*BLOCK, "--csv", "run")[0] == 0
    text = trace_markdown(load_trace("run"))
    assert cli(*BLOCK, "--markdown") == (0, text, "")
    for name in ("x.md", "x.MD", "x.markdown"):
        assert cli(*BLOCK, "-o", name) == (0, "", f"wrote {name}\n")
        assert Path(name).read_bytes() == text.encode()
    some = cli(*BLOCK, "--markdown", "--decimals", "1", "--tensor", "head0.weights")[1]
    assert "| the | 1.0 |   · |   · |" in some and "head1" not in some


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--json --markdown", "--json and --markdown do not go together; expected one of them"),
        ("--json --csv run", "--json and --csv do not go together; expected one of them"),
        ("--csv-labels", "--csv-labels does not apply here; expected it with --csv FOLDER"),
        ("--csv run -o x.csv", "--csv writes into 'run'; expected no -o beside it"),
        ("--markdown --exact", "Markdown is not exact; expected --exact with text, or --json or --csv"),
        ("-o x.md --exact", "Markdown is not exact; expected --exact with text, or --json or --csv"),
        ("--csv .", "'.' is where this runs; expected another folder to write into"),
        ("--csv taken", "'taken' holds 'mine', which was not written with a trace; expected a new folder,"
         " or one that such a trace is in"),
    ],
)  # fmt: skip
def test_refused(cli, options, told):
    Path("taken").mkdir()
    Path("taken/mine").write_text("", encoding="utf-8")
    assert cli("trace", "block", *options.split()) == (2, "", f"graphattn: {told}\n")
    assert sorted(path.name for path in Path().iterdir()) == ["taken"]


def test_sources_that_are_no_trace(cli):
    Path("none").mkdir()
    assert "'none' is a folder without config.json; expected a file, the folder" in cli("trace", "none")[2]
    Path("none/manifest.json").write_text("{}", encoding="utf-8")
    told = "'none': manifest.json: format is null; expected 'graphattn trace folder'"
    assert cli("trace", "none")[2] == f"graphattn: {told}\n"
