"""Options become values, or a usage error that says what is wrong."""

import argparse

import pytest

from readwarp.cli import options
from readwarp.cli.align import insert_size


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("17", 17),
        ("4G", 4 << 30),
        ("4g", 4 << 30),
        ("500M", 500 << 20),
        ("1.5K", 1536),
        ("2GB", 2 << 30),
        ("2GiB", 2 << 30),
    ],
)
def test_size(text, number):
    assert options.size(text) == number


@pytest.mark.parametrize("text", ["", "G", "many", "-1G", "0", "1e400", "nan", "4X"])
def test_not_a_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.size(text)


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("20M", 20_000_000), ("3k", 3000)])
def test_count(text, number):
    assert options.count(text) == number


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "", "x"])
def test_not_a_count(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.count(text)


@pytest.mark.parametrize(
    ("text", "value"), [("400", (400.0,)), ("400,50", (400.0, 50.0)), ("400,50.5,700,100", (400.0, 50.5, 700, 100))]
)
def test_insert_size(text, value):
    assert insert_size(text) == value


@pytest.mark.parametrize("text", ["", "a", "1,2,3,4,5", "400,50,7.5", "nan", "400,inf"])
def test_not_an_insert_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        insert_size(text)
