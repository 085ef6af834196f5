"""completion: a script with which a shell completes commands and options."""

import argparse
import sys

SHELLS = ("bash", "zsh", "tcsh")
FILES = ("FILE", "REF", "READS", "ALIGNMENTS", "BAM", "VCF", "BED", "QUERIES", "TARGETS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell whose script is written to stdout")


def run(options: argparse.Namespace) -> None:
    import shtab

    from readwarp.cli import build_parser

    parser = build_parser(every=True)
    commands = next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for action in (action for command in commands.values() for action in command._actions):
        if action.metavar in FILES:
            action.complete = shtab.FILE
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY
    sys.stdout.write(str(shtab.complete(parser, shell=options.shell)))
