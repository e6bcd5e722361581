"""Mean, rms, deviation and slope: as in exact fractions, whatever the size of the numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphattn.core.moments import deviation, mean, rms, slope

CELLS = st.lists(st.floats(-8.0, 8.0).filter(lambda x: x == 0.0 or abs(x) > 1e-3), min_size=1, max_size=8)
POWERS = st.sampled_from((-1000, -700, -460, 0, 460, 700, 1000, 1020))


@pytest.mark.slow
@given(CELLS, POWERS)
def test_as_in_exact_fractions_at_every_size(cells, power):
    large = [math.ldexp(x, power) for x in cells]
    exact = [Fraction(x) for x in cells]
    middle = sum(exact) / len(exact)
    squares = [sum(x * x for x in values) / len(cells) for values in (exact, [x - middle for x in exact])]
    assert math.ldexp(mean(large), -power) == pytest.approx(float(middle), rel=1e-12, abs=1e-12)
    for found, square in zip((rms(large), deviation(large)), squares, strict=True):
        assert math.ldexp(found, -power) == pytest.approx(math.sqrt(square), rel=1e-7, abs=1e-7)


@pytest.mark.slow
@given(CELLS, POWERS, POWERS)
def test_a_slope_at_every_size(cells, power, other):
    xs, ys = [math.ldexp(x, power) for x in cells], [math.ldexp(3 * x, min(other, 1000)) for x in cells]
    if not any(cells):
        assert math.isnan(slope(xs, ys))
    elif min(other, 1000) - power < 1020:
        assert slope(xs, ys) == pytest.approx(math.ldexp(3.0, min(other, 1000) - power))
    else:
        assert slope(xs, ys) == math.inf


def test_the_ends_of_the_range():
    largest, least = 1.7976931348623157e308, 5e-324
    assert mean([largest] * 3) == rms([largest, -largest]) == deviation([largest, -largest]) == largest
    assert mean([least] * 3) == rms([least]) == least
    assert mean([]) == rms([]) == deviation([]) == 0.0
