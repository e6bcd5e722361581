"""Every registered op obeys every law of gradients."""

import gradient_laws
import pytest

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.core.op import OPS


@pytest.mark.slow
@pytest.mark.parametrize("law", gradient_laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("op", list(OPS.values()), ids=list(OPS))
def test_law(op, law):
    assert list(law(op)) == []
