"""Tensors come out of files as they were written; a hostile file is refused in one sentence."""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile

import pytest

from graphattn.core import limits
from graphattn.core.errors import GraphError
from graphattn.core.limits import ANOTHER, MOST_BYTES, MOST_READ
from graphattn.core.tensor_file import MATRIX, read_tensors


def written(folder, name: str, data: bytes | str):
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(path) -> str:
    with pytest.raises(GraphError) as caught:
        read_tensors(path)
    told = str(caught.value)
    assert told.startswith(str(path)) and "\n" not in told
    return told[len(str(path)) :]


# ---------------------------------------------------------------- .safetensors


def safetensors(tensors: dict, metadata: dict | None = None) -> bytes:
    header: dict = {} if metadata is None else {"__metadata__": metadata}
    cells = b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(cells), len(cells) + len(data)]}
        cells += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + cells


def test_safetensors_of_every_type(tmp_path):
    data = safetensors(
        {
            "f64": ("F64", [2, 2], struct.pack("<4d", 0.1, -0.0, math.inf, 5e-324)),
            "f32": ("F32", [3], struct.pack("<3f", 0.5, -2.0, 1e-45)),
            "f16": ("F16", [2], struct.pack("<2e", 65504.0, -0.25)),
            "bf16": ("BF16", [2], bytes.fromhex("803f c0c0")),
            "i64": ("I64", [2], struct.pack("<2q", -(2**63), 7)),
            "i32": ("I32", [1], struct.pack("<i", -5)),
            "u8": ("U8", [2, 1], bytes([0, 255])),
            "bool": ("BOOL", [2], bytes([1, 0])),
            "scalar": ("F64", [], struct.pack("<d", 2.5)),
            "empty": ("F32", [2, 0, 3], b""),
        },
        {"about": "all of them"},
    )
    file = read_tensors(written(tmp_path, "all.safetensors", data))
    assert repr(file.tensors["f64"]) == repr([[0.1, -0.0], [math.inf, 5e-324]])
    assert file.tensors["f32"] == [0.5, -2.0, struct.unpack("<f", struct.pack("<f", 1e-45))[0]]
    assert file.tensors["f16"] == [65504.0, -0.25]
    assert file.tensors["bf16"] == [1.0, -6.0]
    assert file.tensors["i64"] == [-(2**63), 7]
    assert file.tensors["i32"] == [-5]
    assert file.tensors["u8"] == [[0], [255]]
    assert file.tensors["bool"] == [True, False]
    assert file.tensors["scalar"] == 2.5
    assert file.tensors["empty"] == [[], []]
    assert file.metadata == {"about": "all of them"}


GOOD = safetensors({"x": ("F64", [2], struct.pack("<2d", 1.0, 2.0))})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short",
        GOOD[:-1],
        GOOD + b"x",
        struct.pack("<Q", 10**9) + GOOD[8:],  # a header that claims 1 GB
        struct.pack("<Q", 2**64 - 1) + GOOD[8:],
        GOOD.replace(b"[0, 16]", b"[0, 17]"),
        GOOD.replace(b"[0, 16]", b"[8, 16]"),
        GOOD.replace(b"[0, 16]", b"[-1, 6]"),
        GOOD.replace(b'"shape": [2]', b'"shape": [9]'),
        GOOD.replace(b"F64", b"Q64"),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 60000) + b'{"a":' * 12000,
        struct.pack("<Q", 4) + b"\xff\xfe\x00\x00",
    ],
)
def test_safetensors_that_are_not_whole(tmp_path, data):
    told = refusal(written(tmp_path, "bad.safetensors", data))
    assert told.startswith(" is not a whole .safetensors file: ")


def test_safetensors_that_overlap(tmp_path):
    header = {
        "a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
        "b": {"dtype": "F64", "shape": [2], "data_offsets": [8, 24]},
    }
    text = json.dumps(header).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(24)
    assert "is not a whole .safetensors file" in refusal(written(tmp_path, "bad.safetensors", data))


def test_safetensors_of_a_type_that_is_not_read(tmp_path):
    data = safetensors({"x": ("F8_E4M3", [2], b"ab")})
    assert refusal(written(tmp_path, "x.safetensors", data)) == (
        ": tensor 'x' holds F8_E4M3;"
        " expected one of F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL"
    )


def test_safetensors_of_a_billion_empty_rows(tmp_path):
    data = safetensors({"x": ("F64", [10**9, 0], b"")})
    assert refusal(written(tmp_path, "x.safetensors", data)) == (
        f": tensor 'x' has shape [1000000000, 0]; expected at most {MOST_READ:,} cells ({ANOTHER})"
    )


# ---------------------------------------------------------------- .json


def test_json_by_name(tmp_path):
    text = '{"q": [[1, 2.5], [-0.0, "inf"]], "ids": [3, 1], "see": [[true]], "s": 2, "e": []'
    text += ', "tokens": ["a"], "l": "x"}'
    file = read_tensors(written(tmp_path, "x.json", text))
    assert repr(file.tensors) == repr(
        {"q": [[1, 2.5], [-0.0, math.inf]], "ids": [3, 1], "see": [[True]], "s": 2, "e": []}
    )
    assert file.metadata == {"tokens": ["a"], "l": "x"}


def test_json_records(tmp_path):
    text = (
        '[{"name": "q", "shape": [1, 2], "dtype": "float64", "data": [["nan", 1]]}, {"name": "k", "data": [2]}]'
    )
    file = read_tensors(written(tmp_path, "x.json", text))
    assert repr(file.tensors) == "{'q': [[nan, 1]], 'k': [2]}"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", " is not JSON: Expecting value at line 1, column 1"),
        ('{"q": [1,', " is not JSON: Expecting value at line 1, column 10"),
        ("[" * 100000, " is nested too deep; expected at most 32 lists"),
        ('{"q": ' + "[" * 100000 + "]" * 100000 + "}", " is nested too deep; expected at most 32 lists"),
        ('{"q": ' + "[" * 40 + "1" + "]" * 40 + "}", ": q is nested deeper than 32 lists"),
        ("3", ' holds 3; expected {"name": nested lists, ...}'),
        ("null", ' holds None; expected {"name": nested lists, ...}'),
        ('{"q": [[1, 2], [3]]}', ": q[1] has 1 cells; expected 2, as in its neighbours"),
        ('{"q": [[1, 2], 3]}', ": q[1] is 3; expected a list of 2, as its neighbours are"),
        ('{"q": [1, [2]]}', ": q[1] is a list; expected a number there, as in its neighbours"),
        ('{"q": [1, "two"]}', ": q[1] is 'two'; expected a number"),
        ('{"q": [1, null]}', ": q[1] is None; expected a number"),
        ('{"q": [1], "q": [2]}', " holds 'q' twice; expected each name once"),
        ("[1]", '[0] is 1; expected {"name": ..., "data": ...}'),
        ('[{"name": "q"}]', """[0] is {'name': 'q'}; expected {"name": ..., "data": ...}"""),
        (
            '[{"name": "q", "shape": [3], "data": [1, 2]}]',
            ": q states shape [3] but its data has [2]",
        ),
        (
            '[{"name": "q", "data": [1]}, {"name": "q", "data": [1]}]',
            " holds 'q' twice; expected each name once",
        ),
    ],
)
def test_json_that_is_refused(tmp_path, text, words):
    assert refusal(written(tmp_path, "x.json", text)) == words


def test_json_that_is_not_text(tmp_path):
    assert refusal(written(tmp_path, "x.json", b'{"q": "\xff"}')).startswith(
        " is not JSON: 'utf-8' codec can't"
    )
    assert refusal(written(tmp_path, "x.json", '{"q": ' + "1" * 5000 + "}")).startswith(" is not JSON: Exceeds")


# ---------------------------------------------------------------- .csv


def test_csv(tmp_path):
    file = read_tensors(written(tmp_path, "Q.csv", "\ufeff1,2.5\r\n\r\n-3e2, inf\r\n"))
    assert file.tensors == {"Q": [[1.0, 2.5], [-300.0, math.inf]]}


@pytest.mark.parametrize(
    "text, words",
    [
        ("", " is empty; expected a matrix, one row a line"),
        ("1,2\n3\n", " row 1 has 1 cells; expected 2, as in row 0 (rows and columns count from 0)"),
        ("1,2\n3,b\n", f" line 2, column 1 is 'b'; expected a number ({MATRIX})"),
        ("1,,2\n", f" line 1, column 1 is ''; expected a number ({MATRIX})"),
        (b"\xff\xfe", " is not text in UTF-8: invalid start byte at byte 0"),
    ],
)
def test_csv_that_is_refused(tmp_path, text, words):
    assert refusal(written(tmp_path, "Q.csv", text)) == words


# ---------------------------------------------------------------- .npy and .npz


def npy(descr: str, shape, cells: bytes, fortran: bool = False, version: int = 1) -> bytes:
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + cells


@pytest.mark.parametrize("version", [1, 2, 3])
def test_npy(tmp_path, version):
    data = npy("<f4", (2, 3), struct.pack("<6f", *range(6)), version=version)
    assert read_tensors(written(tmp_path, "Q.npy", data)).tensors == {"Q": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]}


def test_npy_orders_and_types(tmp_path):
    def read(*args, **options):
        return read_tensors(written(tmp_path, "x.npy", npy(*args, **options))).tensors["x"]

    assert read(">f8", (2,), struct.pack(">2d", 1.5, -2.0)) == [1.5, -2.0]
    assert read("<i8", (2, 3), struct.pack("<6q", *range(6)), fortran=True) == [[0, 2, 4], [1, 3, 5]]
    assert read("|b1", (2,), b"\1\0") == [True, False]
    assert read("<f2", (), struct.pack("<e", 0.5)) == 0.5
    assert read("<f8", (2, 0), b"") == [[], []]
    cube = struct.pack("<12i", *range(12))
    assert read("<i4", (2, 3, 2), cube, fortran=True)[1][2] == [5, 11]


BOMB = 10**12
NO_HEADER = " has a header that is not numpy's; expected descr, fortran_order, shape"
NPY = b"\x93NUMPY"


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", " is not an .npy file; expected it to begin with \\x93NUMPY"),
        (b"\x93NUMPY\1", " is not an .npy file; expected it to begin with \\x93NUMPY"),
        (
            npy("|O", (1,), b"\x80\x04N."),
            " holds pickled Python objects, which are never read; expected numbers",
        ),
        (
            npy("<U3", (1,), bytes(12)),
            " holds '<U3'; expected one of f8, f4, f2, i8, i4, i2, i1, u8, u4, u2, u1, b1"
            " (floats, ints, bools)",
        ),
        (npy([("a", "<f8")], (1,), bytes(8)), " holds records; expected numbers"),
        (npy("<f8", (2,), bytes(15)), " holds 15 bytes of cells; expected 16 ([2], 8 bytes each)"),
        (npy("<f8", (2,), bytes(17)), " holds 17 bytes of cells; expected 16 ([2], 8 bytes each)"),
        (npy("<f8", (BOMB,), b""), f" has shape [{BOMB}]; expected at most {MOST_READ:,} cells ({ANOTHER})"),
        (
            npy("<f8", (BOMB, 0), b""),
            f" has shape [{BOMB}, 0]; expected at most {MOST_READ:,} cells ({ANOTHER})",
        ),
        (npy("<f8", (-1,), b""), " has shape (-1,); expected a list of sizes"),
        (npy("<f8", "2", b""), " has shape '2'; expected a list of sizes"),
        (npy("<f8", (1,) * 33, bytes(8)), " has rank 33; expected at most 32"),
        (npy("<f8", (1,), b"")[:20], " states a header of 56 bytes; expected less, and all of it"),
        (
            NPY + b"\2\0" + struct.pack("<I", 2**31),
            " states a header of 2,147,483,648 bytes; expected less, and all of it",
        ),
        (NPY + b"\1\0" + struct.pack("<H", 9000) + b"(" * 9000, NO_HEADER),
        (NPY + b"\1\0" + struct.pack("<H", 8) + b"open('a)", NO_HEADER),
    ],
)
def test_npy_that_is_refused(tmp_path, data, words):
    assert refusal(written(tmp_path, "x.npy", data)) == words


def npz(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_npz(tmp_path):
    one = npy("<f8", (1,), struct.pack("<d", 0.1))
    data = npz({"x.npy": one, "w_q.npy": one})
    assert read_tensors(written(tmp_path, "x.npz", data)).tensors == {"x": [0.1], "w_q": [0.1]}


def test_npz_that_is_refused(tmp_path, monkeypatch):
    one = npy("<f8", (1,), struct.pack("<d", 0.1))
    good = npz({"x.npy": one})
    for data in (b"", b"PK", good[:-10], good[:40] + b"\0" * 20 + good[60:]):
        assert refusal(written(tmp_path, "x.npz", data)).startswith(" is not a whole .npz file: ")
    assert refusal(written(tmp_path, "x.npz", npz({"x.npy": b"text"}))) == (
        ": 'x' is not an .npy file; expected it to begin with \\x93NUMPY"
    )
    monkeypatch.setattr(limits, "MOST_BYTES", 10_000)
    bomb = npz({"x.npy": npy("<f8", (10**5,), bytes(8 * 10**5))})
    assert len(bomb) < 10_000
    assert refusal(written(tmp_path, "x.npz", bomb)).endswith(
        " bytes; expected at most 10,000 (GRAPHATTN_MAX_CELLS in the environment sets another limit)"
    )


def test_npz_whose_directory_lies_about_the_size(tmp_path, monkeypatch):
    data = bytearray(npz({"x.npy": npy("<f8", (10**5,), bytes(8 * 10**5))}))
    at = data.rindex(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<I", 100)
    assert refusal(written(tmp_path, "x.npz", bytes(data)))


# ---------------------------------------------------------------- any file


def test_an_unknown_ending(tmp_path):
    assert refusal(tmp_path / "x.pkl") == (
        " has no known ending; expected .safetensors, .json, .csv, .npy, .npz"
    )


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_tensors(tmp_path / "none.json")


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    path = tmp_path / "big.safetensors"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)  # sparse: it takes no room on the disk
    monkeypatch.setattr(limits, "MOST_BYTES", 10)
    assert refusal(path) == f" is larger than 10 bytes; expected a smaller file ({ANOTHER})"


def test_too_many_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_READ", 3)
    assert refusal(written(tmp_path, "x.json", '{"a": [1, 2], "b": [3, 4]}')) == (
        f" holds 4 cells or more; expected at most 3 ({ANOTHER})"
    )
