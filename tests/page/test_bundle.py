"""The committed script and style sheet are what the sources in web/ give, byte for byte."""

from __future__ import annotations

import shutil
import subprocess

from conftest import WEB, needed

ROOM = WEB.parent / "dumps" / "page"
BUILT = ("page.js", "loader.js", "page.css", "page.LICENSES.txt")


def test_the_bundle_is_what_the_sources_give(tmp_path):
    needed("node", shutil.which("node"))
    needed("esbuild (npm ci in web/)", (WEB / "node_modules" / "esbuild").is_dir())
    subprocess.run(["node", "build.mjs", "--into", str(tmp_path)], cwd=WEB, check=True, timeout=120)
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (ROOM / name).read_bytes(), f"{name}: npm run build in web/"


def test_types_and_no_any():
    needed("typescript (npm ci in web/)", (WEB / "node_modules" / "typescript").is_dir())
    done = subprocess.run(
        ["npx", "tsc", "--noEmit"], cwd=WEB, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stdout
    for path in (WEB / "src").glob("*.ts*"):
        text = path.read_text(encoding="utf-8")
        assert ": any" not in text and "as any" not in text and "@ts-" not in text, path.name


def test_licences_are_shipped():
    notice = (ROOM / "page.LICENSES.txt").read_text(encoding="utf-8")
    assert "Preact" in notice and "MIT" in notice and "Sun Microsystems" in notice


def test_the_page_names_no_op():
    """What an op is comes as data: no script has a name of one."""
    import graphattn.ops  # noqa: F401
    from graphattn.core.cells import FUNCTIONS
    from graphattn.core.op import OPS

    script = (ROOM / "page.js").read_text(encoding="utf-8")
    names = [n for n in OPS if n not in FUNCTIONS and len(n) > 5 and f'"{n}"' in script]
    assert [n for n in names if n not in ("reshape", "constant", "linear", "repeat", "output")] == []
