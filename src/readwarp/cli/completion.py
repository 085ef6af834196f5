"""completion: a script by which a shell completes commands and options."""

import argparse
import sys

EPILOG = """\
examples:
  readwarp completion bash > ~/.local/share/bash-completion/completions/readwarp
  readwarp completion zsh > ~/.zfunc/_readwarp          with `fpath+=~/.zfunc` before compinit in ~/.zshrc
"""
SHELLS = ("bash", "zsh", "tcsh")
FILES = ("FILE", "REF", "READS", "ALIGNMENTS", "BAM", "VCF", "BED", "QUERIES", "TARGETS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="whose script is written to stdout")


def run(options: argparse.Namespace) -> int:
    import shtab

    from readwarp.cli import build_parser

    parser = build_parser(every=True)
    for command in commands(parser):
        for action in command._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    sys.stdout.write(str(shtab.complete(parser, shell=options.shell)))
    return 0


def commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of all commands."""
    groups = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [command for choices in groups for command in choices.values()]
