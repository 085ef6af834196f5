"""--help shows what most need on one screen, --help-all everything; each in all commands."""

import argparse
import re

import pytest

from helpers.command_samples import run_main
from readwarp.cli import COMMANDS, build_parser
from readwarp.cli.parser import COMMON

LINES = 45
BIG = ("run", "align", "call")


@pytest.fixture
def shown(capsys, monkeypatch):
    """Run a command at 80 columns; what it prints."""
    monkeypatch.setenv("COLUMNS", "80")

    def shown(*arguments: str) -> str:
        assert run_main(arguments) == 0
        out, error = capsys.readouterr()
        assert error == ""
        return out

    return shown


def options_of(command: str) -> set[str]:
    (commands,) = (a for a in build_parser([command])._actions if isinstance(a, argparse._SubParsersAction))
    return set(commands.choices[command]._option_string_actions)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_names_the_rest(command, shown):
    text = shown(command, "-h")
    assert len(text.splitlines()) <= LINES
    known = {name for _, names in COMMON for name in names.split()} & options_of(command)
    assert f"\n`readwarp {command} --help-all` shows all " in text and text.endswith(" options.\n")
    if command in BIG:
        assert {name for name in known if not re.search(rf"^  .*{name}\b", text, re.M)} == set()
        headings = re.findall(r"^(\S.*):$", text.split("\nexample")[0], re.M)
        assert headings == [title for title, _ in COMMON]
    assert text == shown("help", command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option(command, shown):
    text = shown(command, "--help-all")
    assert {name for name in options_of(command) if not re.search(rf"(^|[ ,]){name}\b", text, re.M)} == set()


def test_common_options_exist():
    every = set().union(*map(options_of, COMMANDS))
    assert {name.rpartition(":")[2] for _, names in COMMON for name in names.split()} <= every
