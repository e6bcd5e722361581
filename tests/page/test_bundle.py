"""The committed script and style sheet are what the sources in web/ give, byte for byte."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from conftest import WEB, needed

ROOM = WEB.parent / "dumps" / "page"
BUILT = ("page.js", "loader.js", "page.css", "page.LICENSES.txt")


def test_the_bundle_is_what_the_sources_give(tmp_path):
    needed("node", shutil.which("node"))
    needed("esbuild (npm ci in web/)", (WEB / "node_modules" / "esbuild").is_dir())
    subprocess.run(["node", "build.mjs", "--into", str(tmp_path)], cwd=WEB, check=True, timeout=120)
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (ROOM / name).read_bytes(), f"{name}: npm run build in web/"


@pytest.mark.slow
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


OF_ONE_BROWSER = (
    "anchor-name", "position-anchor", "field-sizing", "interpolate-size", "animation-timeline", "text-box-trim",
    "corner-shape", "reading-flow", "base-select", "userAgentData", "showSaveFilePicker", "showOpenFilePicker",
    "scheduler.", "requestIdleCallback", "EyeDropper", "performance.memory", "experimental", "zoom:",
)  # fmt: skip
"""What in 2026 Chromium alone has, or Firefox or Safari lack."""


def test_nothing_is_of_one_browser_alone():
    """TypeScript's DOM has only what two engines have; this holds style and what a cast would hide."""
    settings = (WEB / "tsconfig.json").read_text(encoding="utf-8")
    assert '"lib": ["ES2023", "DOM", "DOM.Iterable"]' in settings
    style = (ROOM / "page.css").read_text(encoding="utf-8")
    assert set(re.findall(r"-(?:webkit|moz|ms)-[\w-]+", style)) <= {"-webkit-details-marker"}  # of old Safaris
    sources = [path.read_text(encoding="utf-8") for path in (WEB / "src").glob("*.ts*")]
    assert [word for word in OF_ONE_BROWSER for text in (*sources, style) if word in text] == []
