"""Golden vectors: what is written reads back to the same doubles in each language whose tool is here."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import struct
import subprocess

import pytest
from kept_names import NAMES

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.tensor_file import read_tensors
from graphattn.dumps.golden import FORMATS, golden
from graphattn.dumps.golden.vectors import vectors


def trace():
    return specimen("block", n=3, d=4, heads=2, causal=True).run()


def odd():
    """Special numbers, all kinds and ranks, and names that languages keep to themselves or take for one."""
    graph = Graph("odd")
    x = graph.input("x", (2, 3))
    i = graph.input("int", (2,), kind="int")
    graph.input("b", (1, 2, 2), kind="bool")
    graph.input("scalar", ())
    graph.input("empty", (0, 2))
    graph.negate(x, name="X")
    graph.embedding(x, i, name="λ")
    feeds = {
        "x": [[0.1, -0.0, 5e-324], [math.inf, -math.inf, math.nan]],
        "int": [1, 0], "b": [[[True, False], [False, True]]], "scalar": 1e300, "empty": [],
    }  # fmt: skip
    return run(graph, feeds, allow_nonfinite=True)


def kept():
    """Every name that some language has for something else."""
    graph = Graph("kept")
    for name in NAMES:
        graph.negate(graph.input(name, (1,)), name=f"λ.{name}")
    return run(graph, {name: [float(place)] for place, name in enumerate(NAMES)})


def bits(cells):
    """Each cell as its 64 bits; NaN is one."""
    numbers = map(float, cells)
    return ["nan" if c != c else struct.pack(">d", c).hex() for c in numbers]


def wanted(recorded):
    return {v.name: bits(nested.flat(v.value)) for v in vectors(recorded)}


@pytest.mark.parametrize("make", [trace, odd, kept])
@pytest.mark.parametrize("form", FORMATS)
def test_it_is_written_with_a_manifest(form, make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "v", form, command="graphattn golden block -o v")
    manifest = json.loads((tmp_path / "v/manifest.json").read_text(encoding="utf-8"))
    assert [t["name"] for t in manifest["tensors"]] == list(recorded.names)
    identifiers = [t["identifier"].lower() for t in manifest["tensors"]]
    assert len(set(identifiers)) == len(identifiers) and all(i.isidentifier() for i in identifiers)
    assert {path.name for path in (tmp_path / "v").iterdir()} == {
        "manifest.json", "README.txt", "graph.txt", *manifest["files"]
    }  # fmt: skip
    assert "graphattn golden block -o v" in (tmp_path / "v/README.txt").read_text(encoding="utf-8")
    before = {path.name: path.read_bytes() for path in (tmp_path / "v").iterdir()}
    golden(recorded, tmp_path / "v", form, command="graphattn golden block -o v")  # replaces its own
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "v").iterdir()}


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(GraphError, match=r"notes\.txt"):
        golden(trace(), tmp_path)


def test_an_unknown_format():
    with pytest.raises(GraphError, match="did you mean 'json'"):
        golden(trace(), "nowhere", "jsom")


def test_a_tensor_that_was_not_kept(tmp_path):
    s = specimen("block", n=3, d=4)
    with pytest.raises(GraphError, match="was not kept"):
        golden(s.run(keep=["Y"]), tmp_path / "v")


@pytest.mark.parametrize("make", [trace, odd, kept])
@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_data_files_read_back(form, make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "v", form)
    read = read_tensors(tmp_path / f"v/vectors.{form}").tensors
    assert {name: bits(nested.flat(value)) for name, value in read.items()} == wanted(recorded)


@pytest.mark.parametrize("make", [trace, odd, kept])
def test_numpy_reads_npz(make, tmp_path):
    numpy = pytest.importorskip("numpy")
    recorded = make()
    golden(recorded, tmp_path / "v", "npz")
    with numpy.load(tmp_path / "v/vectors.npz", allow_pickle=False) as read:
        assert {name: bits(read[name].ravel().tolist()) for name in recorded.names} == wanted(recorded)
        assert all(read[name].shape == recorded.spec(name).shape for name in recorded.names)


@pytest.mark.parametrize("make", [trace, odd, kept])
def test_json_and_csv_read_back(make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "json", "json")
    read = json.loads((tmp_path / "json/vectors.json").read_text(encoding="utf-8"))
    assert {name: bits(nested.flat(value)) for name, value in read.items()} == wanted(recorded)
    golden(recorded, tmp_path / "csv", "csv")
    expected = wanted(recorded)
    for v in vectors(recorded):
        lines = (tmp_path / f"csv/{v.identifier}.csv").read_text(encoding="utf-8").split()
        cells = [word for line in lines for word in line.split(",")]
        words = {"True": 1.0, "False": 0.0}
        assert bits(words.get(word, word) for word in cells) == expected[v.name]


@pytest.mark.parametrize("make", [trace, odd, kept])
def test_python_reads_its_module(make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "v", "python")
    spec = importlib.util.spec_from_file_location("golden_vectors_read", tmp_path / "v/vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {name: bits(nested.flat(value)) for name, value in module.vectors.items()} == wanted(recorded)


def printed(lines):
    """name, then bits of each cell, a line each."""
    read = {}
    for line in lines.splitlines():
        name, *cells = line.split(" ")
        read[json.loads(name)] = bits(struct.unpack(">d", bytes.fromhex(cell))[0] for cell in cells)
    return read


COMPILERS = {
    "c99": ("gcc", "-x", "c", "-std=c99", "-pedantic"), "c as gcc takes it": ("gcc", "-x", "c"),
    "c++": ("g++", "-x", "c++"), "c++20": ("g++", "-x", "c++", "-std=c++20", "-pedantic"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("make", [trace, odd, kept])
@pytest.mark.parametrize("language", COMPILERS)
def test_c_reads_its_header(make, language, tmp_path):
    compiler, *options = COMPILERS[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    recorded = make()
    golden(recorded, tmp_path / "v", "c")
    (tmp_path / "main.c").write_text(
        """#include <stdio.h>
#include <string.h>
#include "v/vectors.h"
int main(void) {
    for (size_t t = 0; t < vector_count; t++) {
        size_t size = 1;
        for (size_t a = 0; a < vectors[t].rank; a++) size *= vectors[t].shape[a];
        if (size != vectors[t].size) return 1;
        printf("\\"%s\\"", vectors[t].name);
        for (size_t i = 0; i < vectors[t].size; i++) {
            double cell = vectors[t].kind == 'f' ? ((const double *)vectors[t].cells)[i]
                : vectors[t].kind == 'i' ? (double)((const long long *)vectors[t].cells)[i]
                : (double)((const unsigned char *)vectors[t].cells)[i];
            unsigned long long bits;
            memcpy(&bits, &cell, sizeof bits);
            printf(" %016llx", bits);
        }
        printf("\\n");
    }
    return 0;
}
""",
        encoding="utf-8",
    )
    command = [compiler, "-Wall", "-Wextra", "-Werror", *options, "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run([tmp_path / "main"], capture_output=True, check=True, encoding="utf-8")
    assert printed(told.stdout) == wanted(recorded)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("make", [trace, odd, kept])
def test_node_reads_its_module(make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "v", "js")
    (tmp_path / "main.mjs").write_text(
        """import { vectors } from "./v/vectors.mjs";
const hex = (cell) => { const b = new DataView(new ArrayBuffer(8)); b.setFloat64(0, Number(cell));
  return b.getBigUint64(0).toString(16).padStart(16, "0"); };
for (const [name, value] of Object.entries(vectors))
  console.log([JSON.stringify(name), ...[value].flat(Infinity).map(hex)].join(" "));
""",
        encoding="utf-8",
    )
    told = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, check=True, encoding="utf-8")
    assert printed(told.stdout) == wanted(recorded)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("make", [trace, odd, kept])
def test_rust_reads_its_module(make, tmp_path):
    recorded = make()
    golden(recorded, tmp_path / "v", "rust")
    float_of = {"float": "*cell", "int": "*cell as f64", "bool": "(*cell as u8) as f64"}
    show = "".join(
        f'print!("{{}}", {json.dumps(json.dumps(v.name, ensure_ascii=False), ensure_ascii=False)});'
        f"for cell in vectors::{v.identifier.upper()}.iter() {{"
        f' print!(" {{:016x}}", ({float_of[v.spec.kind]}).to_bits()); }}'
        'println!("");\n'
        for v in vectors(recorded)
    )
    (tmp_path / "main.rs").write_text(
        f'#[path = "v/vectors.rs"]\nmod vectors;\nfn main() {{\n{show}}}\n', encoding="utf-8"
    )
    subprocess.run(["rustc", "main.rs"], cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run([tmp_path / "main"], capture_output=True, check=True, encoding="utf-8")
    assert printed(told.stdout) == wanted(recorded)


def test_a_wrong_digit_would_be_seen(tmp_path):
    recorded = trace()
    golden(recorded, tmp_path / "v", "json")
    file = tmp_path / "v/vectors.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("3", "4", 1) if "3" in text else text, encoding="utf-8")
    read = json.loads(file.read_text(encoding="utf-8"))
    assert {name: bits(nested.flat(value)) for name, value in read.items()} != wanted(recorded)
