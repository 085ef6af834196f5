"""The picture in the docs shows the house as it is. `python tests/test_architecture.py` redraws it."""

import pytest

from helpers.architecture import PICTURE, draw, reduced, stale_names

pytestmark = pytest.mark.xdist_group("sources")


def test_the_picture_is_up_to_date():
    assert PICTURE.read_text() == draw(), "run: python tests/test_architecture.py"


def test_steps_and_types_exist():
    assert stale_names() == set(), "READ and REGION in tests/helpers/architecture.py name what is no more"


def test_implied_arrows_are_left_out():
    assert reduced({("cli", "align"), ("align", "index"), ("cli", "index"), ("cli", "call")}) == {
        ("cli", "align"),
        ("align", "index"),
        ("cli", "call"),
    }


if __name__ == "__main__":
    PICTURE.write_text(draw())
