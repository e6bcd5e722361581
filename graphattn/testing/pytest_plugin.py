"""A pytest plugin: the fixture `graphattn_assert_close`, which is `graphattn.testing.assert_close`.

    def test_my_attention(graphattn_assert_close):
        graphattn_assert_close(graph, my_tensors, precision="float32")

It is registered as an entry point, so that pytest finds it where graphattn is installed; graphattn itself is
imported by the first test that uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def graphattn_assert_close() -> Callable[..., Any]:
    """assert_close(trace_or_graph, observed, **options): see graphattn.testing."""
    from . import assert_close

    return assert_close
