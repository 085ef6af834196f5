"""docs/reference/cli.md says what the parsers say, and commands.pyi what the keywords in Python are.

`python tests/cli/test_reference.py` regenerates both.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from readwarp.cli import COMMANDS, build_parser
from readwarp.config import commands
from readwarp.config.declare import Command, keywords_of
from readwarp.python.option_help import spell_type

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
STUB = Path(commands.__file__).with_suffix(".pyi")
STUB_HEAD = '''\
"""The options of each command as keywords in Python, made by `python tests/cli/test_reference.py`."""

from collections.abc import Sequence
from os import PathLike
from typing import TypedDict

AnyPath = str | PathLike[str]
'''
HEAD = """\
# Command line

    readwarp COMMAND [options] ...

Look up a command's options here; `readwarp COMMAND --help-all` prints the same, and `readwarp COMMAND --help` those
that most people need. `-` is stdin or stdout. `readwarp --version` prints the version.

| exit code | meaning |
|---|---|
| 0 | success, including a closed output pipe |
| 1 | internal error, or the system refused something (a full disk) |
| 2 | usage: options that cannot be combined, an output that already exists |
| 3 | bad input; the message names file, record and reason |
| 4 | the device that was asked for cannot be used |
| 5 | not enough memory for one batch; the message states the minimum |
| 130, 143 | stopped by Ctrl-C, by SIGTERM or SIGUSR1 |

An error is one line on stderr, `readwarp: error: ...`; `-v` shows the traceback before it. An output appears under its
name only when it is complete.

| environment variable | meaning |
|---|---|
| `READWARP_CACHE` | folder of compiled kernels [`~/.cache/readwarp`]: see [kernels](../how-to/kernels.md) |
| `READWARP_KERNELS` | other folders to find them in, made by `readwarp compile -o`, separated by colons |
| `READWARP_LEVEL` | level of processors that kernels are for, such as `x86-64-v3` [the machine's] |
| `SLURM_CPUS_PER_TASK` | most threads, unless `--threads` says otherwise |
| `CUDA_VISIBLE_DEVICES` | GPUs that may be used |
| `TMPDIR` | folder of temporary files of sorting |
"""


def reference() -> str:
    commands = [f"| [`{name}`](#readwarp-{name}) | {said} |\n" for name, said in COMMANDS.items()]
    return "".join([HEAD, "\n| command | |\n|---|---|\n", *commands, *map(section, COMMANDS)])


def section(command: str) -> str:
    parser = command_parser(command)
    lines = [f"\n## readwarp {command}\n", f"{COMMANDS[command][0].upper()}{COMMANDS[command][1:]}.\n"]
    for group in parser._action_groups:
        rows = list(table(group))
        if rows:
            title = {"positional arguments": "arguments", "options": "files"}.get(group.title or "", group.title)
            lines += [f"| {title} | |", "|---|---|", *rows, ""]
    if parser.epilog:
        lines += ["```", parser.epilog.strip(), "```", ""]
    return "\n".join(lines)


def command_parser(command: str) -> argparse.ArgumentParser:
    parser = build_parser([command])
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found = choices[command]
    assert isinstance(found, argparse.ArgumentParser)
    return found


def table(group: argparse._ArgumentGroup) -> Iterator[str]:
    for action in group._group_actions:
        if isinstance(action, argparse._HelpAction):
            continue
        value = "" if action.nargs == 0 else action.metavar or "|".join(map(str, action.choices or ()))
        name = ", ".join(action.option_strings) + (" " if action.option_strings and value else "") + str(value)
        cells = (f"`{name}`", str(action.help).replace("%%", "%"))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == reference(), "run: python tests/cli/test_reference.py"


def stub() -> str:
    kinds = [kind for kind in vars(commands).values() if isinstance(kind, type) and issubclass(kind, Command)]
    return STUB_HEAD + "".join(map(typed, kinds[1:]))


def typed(command: type) -> str:
    fields = [f"    {each.name}: {spell_type(each.type)}\n" for each in keywords_of(command).values()]
    return "".join([f"\nclass {command.__name__}(TypedDict, total=False):\n", *fields])


def test_type_checkers_see_the_declared_options():
    assert STUB.read_text() == stub(), "run: python tests/cli/test_reference.py"


def test_every_option_has_a_help_text():
    for command in COMMANDS:
        for action in command_parser(command)._actions:
            assert action.help, f"{command}: {action.dest}"


if __name__ == "__main__":
    PAGE.write_text(reference())
    STUB.write_text(stub())
