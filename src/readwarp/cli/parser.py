"""The parser of a command: its errors are UsageError; --help shows what most users need, --help-all everything."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NoReturn

from readwarp.cli import slips
from readwarp.cli.habits import translate
from readwarp.errors import UsageError

COMMON = (  # groups that --help shows, after the positional arguments
    (
        "inputs and outputs",
        "--file-list --bam --vcf --output --force --package --read-group --sample --reference --format",
    ),
    (
        "main options",
        "--preset --trim --umi --sort --mark-duplicates --write-index --platform --region --targets --ploidy --gvcf "
        "--primers --mixture --somatic --normal --sv --haplotag --max-alleles --duplex --min-reads --min-samples "
        "--mode --traceback --level --command --title",
    ),
    ("resources", "--threads --memory --device --resume doctor:--vram doctor:--index"),
)
DETAIL, DEFAULT = "; ", " ["  # text before what --help leaves out, and before what it keeps


class Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that shows `-o, --output FILE` instead of `-o FILE, --output FILE`."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class HelpAll(argparse._HelpAction):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        assert isinstance(parser, CommandParser)
        parser._print_message(parser.format_help_all(), sys.stdout)
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError where argparse would end the process."""

    _given: Sequence[str] = ()

    @property
    def _command(self) -> str:
        return self.prog.split()[-1]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = list(args or ())
        if "-x" in self._option_string_actions:
            self._given = translate(self._given)
        slips.check_dashes(self._given, self._option_string_actions, self._command)
        options, unknown = super().parse_known_args(self._given, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {shlex.join(unknown)}")
        return options, unknown

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings and slips.BOTH_DASHES in arg_strings:  # --option=--, which Python 3.11 turns into []
            raise argparse.ArgumentError(action, f"{slips.BOTH_DASHES!r} is not a value")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        unknown = slips.explain_unknown(self._given, self._option_string_actions, self._command)
        raise UsageError(f"{message}{unknown} (see `{self.prog} --help`)")


class CommandParser(Parser):
    """The parser of one command, with a short help and a full one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=Formatter, allow_abbrev=False, add_help=False)
        self.add_argument("-h", "--help", action="help", help="show the most used options")
        self.add_argument("--help-all", action=HelpAll, dest="help", help="show all options")

    def format_help(self) -> str:
        formatter = self._begin_help()
        for title, actions in self.common():
            formatter.start_section(title)
            formatter.add_arguments(map(shorten, actions))
            formatter.end_section()
        formatter.add_text(self.epilog)
        number = sum(bool(action.option_strings) for action in self._actions)
        return f"{formatter.format_help()}\n`{self.prog} --help-all` shows all {number} options.\n"

    def format_help_all(self) -> str:
        formatter = self._begin_help()
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def common(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        """Yield the groups of COMMON in which the command has options."""
        known, here = self._option_string_actions, f"{self.prog.split()[-1]}:"
        first = [action for action in self._actions if not action.option_strings]
        for title, names in COMMON:
            wanted = (name.removeprefix(here) for name in names.split())
            if actions := [*first, *(known[name] for name in wanted if name in known)]:
                yield title, actions
            first = []

    def _begin_help(self) -> argparse.HelpFormatter:
        formatter = self._get_formatter()
        words = [*_spell(action for action in self._actions if not action.option_strings)]
        words += [
            f"{action.option_strings[0]} {action.metavar}"
            for action in self._actions
            if action.required and action.option_strings
        ]
        formatter.add_usage(" ".join(("%(prog)s [options]", *words)), self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        return formatter


def shorten(action: argparse.Action) -> argparse.Action:
    """Copy an option with the first part of its help text, the default, and one long name."""
    short, (text, _, detail) = copy(action), str(action.help).partition(DETAIL)
    default = detail[detail.rindex(DEFAULT) :] if detail.endswith("]") else ""
    short.help = text + default
    short.option_strings = [name for name in action.option_strings if not name.startswith("--")]
    short.option_strings += [name for name in action.option_strings if name.startswith("--")][:1]
    return short


def _spell(positional: Iterable[argparse.Action]) -> Iterator[str]:
    """Yield REF READS ..., as in a usage line."""
    for action in positional:
        name = str(action.metavar or "|".join(map(str, action.choices or (action.dest,))))
        yield {"+": f"{name} ...", "*": f"[{name} ...]"}.get(str(action.nargs), name)
