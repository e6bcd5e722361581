"""Settings of the docs site: `sphinx-build -W docs build/docs` (extra `docs`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import graphattn

project = "graphattn"
release = graphattn.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "graphattn"
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"


def setup(app):
    """Docstrings write |x| for an absolute value: no substitution."""

    def plain(app, what, name, obj, options, lines):
        lines[:] = [line.replace("|", "\\|") for line in lines]

    app.connect("autodoc-process-docstring", plain)


suppress_warnings = ["myst.header", "myst.xref_missing", "misc.highlighting_failure"]
