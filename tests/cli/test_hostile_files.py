"""Every command on files that were cut off, made up or made to do harm: exit status 0, 1 or 2, no traceback,
and nothing of the file reaches the terminal that a terminal would take for a command.

The commands are those of the folder: a new one is covered by being there.
"""

import json
import re
import struct
import zipfile

import click
import pytest

from graphattn import Graph, run
from graphattn.cli import commands, main
from graphattn.core.op import OPS
from graphattn.dumps.graph_text import graph_text

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a terminal may take for a command, or that turns the direction of writing."""
NASTY = 'a\x1b[31m\x07"<b>\u202e\x9b2J'
LEFT_ALONE = ("output", "with_files", "dask")
ONLY = {"check": ("cut.txt", "fails.py")}
"""Of a command that starts processes for each file, some are enough."""
LEFT_OUT = {"demo": "it takes no file", "experiments": "it takes no file, and writes for minutes"}


def spoken_trace():
    """A right trace whose every free text is nasty."""
    g = Graph("g", NASTY)
    x = g.input("x", (2, 3), (NASTY, "b\x85"), title=NASTY)
    with g.scope("part", NASTY):
        y = g.softmax(g.scale(x, multiply=2, title=NASTY), name="y", title=NASTY)
    g.output(out=y)
    g.adopt_alias(f"/{NASTY}", y.ref)
    return run(g, {"x": [[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]]}, labels={NASTY: [NASTY, "\x1b]0;title\x07"]})


def files(folder):
    """Files by name; most hold what no command should swallow."""
    trace = spoken_trace()
    trace.save(folder / "nasty.txt")
    trace.save(folder / "nasty.json")
    trace.save(folder / "nasty.npz")
    (folder / "graph.txt").write_text(graph_text(trace.graph), "utf-8")
    text = (folder / "nasty.txt").read_text("utf-8")
    data = json.loads((folder / "nasty.json").read_text("utf-8"))
    raw = {
        "empty.txt": b"",
        "empty.json": b"",
        "empty.npz": b"",
        "empty.csv": b"",
        "empty.safetensors": b"",
        "cut.txt": text[: len(text) // 2].encode(),
        "cut.json": json.dumps(data)[:700].encode(),
        "escape.json": json.dumps({NASTY: [[1.0]], "x": NASTY}, ensure_ascii=False).encode(),
        "escape.txt": f"{NASTY} = [[1.0, {NASTY}]]\nx = [[1.0, 2.0".encode(),
        "escape.csv": f"{NASTY},1\n2,{NASTY}\n".encode(),
        "deep.json": b"[" * 100_000,
        "long.json": b'{"x": ' + b"9" * 200_000 + b"}",
        "integers.json": json.dumps({"x": [[16**3000, 1, 2], [3, 4, 5]]}).replace(" ", "").encode()
        if 16**3000 < 10**4000
        else b"",
        "huge.txt": b"graphattn graph 1\ngraph g\n\nx = input(shape=(1000000000, 1000000000))\ny = softmax(x)\n"
        b"output y = y\nend\n",
        "mask.txt": b"graphattn graph 1\ngraph g\n\nm = causal_mask(n_q=2000000000)\noutput m = m\nend\n",
        "header.safetensors": struct.pack("<Q", 2**62) + b"{}",
        "shape.safetensors": _safetensors({"x": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 8]}}),
        "name.safetensors": _safetensors({NASTY: {"dtype": "F8", "shape": [1], "data_offsets": [0, 8]}}),
        "rubbish.npz": b"PK\x03\x04" + bytes(range(256)),
        "rubbish.npy": b"\x93NUMPY\x01\x00\xff\xff" + b"{" * 99,
        "rubbish.onnx": bytes(range(256)) * 4,
        "rubbish.pt2": bytes(range(256)) * 4,
        "rubbish.xlsx": b"PK\x03\x04" + bytes(99),
        "fails.py": f"raise RuntimeError({NASTY!r})".encode(),
        "says.py": f"print({NASTY!r})\nfrom graphattn import Graph\ngraph = Graph('g', {NASTY!r})\n".encode(),
        "wrong.py": b"def softmax(x):\n    return '\x1b[31m'\n"
        b"def attention(*a):\n    raise ValueError('\x1b]0;x\x07')\n",
        f"{NASTY.replace('/', '')}.txt": b"graphattn trace 9\n",
    }
    for name, content in raw.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "member.npz", "w") as archive:
        archive.writestr("\x1b[31mx.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'shape': (1,)}")
    (folder / "folder").mkdir()
    (folder / "folder" / "config.json").write_text('{"model_type": "\\u001b[31m", "x": 1}', "utf-8")
    return sorted(path for path in folder.iterdir())


def _safetensors(header):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(8)


FEW = ("escape.json", "cut.txt", "rubbish.npz", "member.npz")
"""What every option is given; arguments are given all files."""


def calls(name, path):
    """Command lines of a command with the file as what it takes: as each argument, and as each option that is
    no flag and no number."""
    command = main.get_command(click.Context(main), name)
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    needed = [str(path) if i == 0 else "1" for i, p in enumerate(arguments) if p.required or i == 0]
    yield [name, *needed]
    if len(arguments) > 1:
        yield [name, "attention", *[str(path)] * (len(arguments) - 1)]
    for option in command.params if path.name in FEW else ():
        text = isinstance(option, click.Option) and not option.is_flag
        if text and isinstance(option.type, click.types.StringParamType) and option.name not in LEFT_ALONE:
            yield [name, "attention", *needed[1:], option.opts[-1], str(path)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in commands.names() if name not in LEFT_OUT])
def test_hostile_files(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("graphattn.core.op.OPS", OPS)
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    for path in files(tmp_path / "in"):
        for arguments in calls(name, path) if path.name in ONLY.get(name, (path.name,)) else ():
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            told = capsys.readouterr()
            assert ended.value.code in (0, 1, 2), arguments
            if "says" not in path.name:
                found = RAW.search(told.out + told.err)
                assert not found, (arguments, (told.out + told.err)[max(0, found.start() - 80) :][:160])
            assert "Traceback" not in told.err, arguments
            if ended.value.code == 2:
                assert told.err.splitlines()[-1].startswith("graphattn: "), (arguments, told.err)
