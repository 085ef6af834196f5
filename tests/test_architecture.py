"""The picture of the house shows the house."""

from architecture import PICTURE, draw, reduced, stale_names


def test_the_picture_is_up_to_date():
    assert PICTURE.read_text() == draw(), "run: python tests/architecture.py"


def test_steps_and_types_exist():
    assert stale_names() == set(), "READ and REGION in tests/architecture.py name what is no more"


def test_implied_arrows_are_left_out():
    assert reduced({("cli", "align"), ("align", "index"), ("cli", "index"), ("cli", "call")}) == {
        ("cli", "align"),
        ("align", "index"),
        ("cli", "call"),
    }
