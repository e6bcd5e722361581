"""Every registered op obeys every law of gradients."""

import gradient_laws
import pytest
from every_op import every_op


@pytest.mark.slow
@pytest.mark.parametrize("law", gradient_laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("op", every_op())
def test_law(op, law):
    assert list(law(op)) == []
