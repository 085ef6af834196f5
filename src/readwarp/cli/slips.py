"""Mistyped commands and options, and those of other tools: what the user probably meant."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from readwarp.cli.habits import advice_on_step, command_for, habits_of
from readwarp.errors import UsageError
from readwarp.wording import nearest

LONG_DASHES = "\u2013\u2014\u2212"  # made of hyphens by word processors
BOTH_DASHES = "--"


def check_words(arguments: Sequence[str], commands: Iterable[str]) -> None:
    """Raise UsageError if the first argument is not a command, or if long dashes replace hyphens."""
    for text in arguments:
        if text[:1] and text[0] in LONG_DASHES:
            raise UsageError(f"{text}: begins with a long dash: type a hyphen (-, or -- before a long name)")
    first = arguments[0] if arguments else "--help"
    if first in commands or first in ("-h", "--help", "--version"):
        return
    if first.startswith("-"):
        known = nearest(first, ("--help", "--version"))
        command = next((text for text in arguments if text in commands), None)
        options = f"`readwarp {command} ... {first}`" if command else "`readwarp COMMAND ...`"
        hint = f"did you mean {known}?" if known else f"the command comes first: {options}"
        raise UsageError(f"{first}: {hint} (see `readwarp --help`)")
    if done := advice_on_step(first.lower()):
        raise UsageError(f"unknown command {first!r}: {done}")
    meant = command_for(first.lower()) or nearest(first, commands)
    if meant is None and Path(first).exists():
        raise UsageError(f"{first} is a file: the command comes first, as in `readwarp run {first} ...`")
    hint = f"; did you mean `{meant}`?" if meant else f": there are {', '.join(commands)}"
    raise UsageError(f"unknown command {first!r}{hint} (see `readwarp --help`)")


def check_dashes(arguments: Sequence[str], known: Iterable[str], command: str) -> None:
    """Raise UsageError for `-threads`, which would be read as `-t hreads`, and for GATK's `-bamout`."""
    for text in arguments:
        if text == BOTH_DASHES:
            return
        name = text.partition("=")[0]
        if len(name) > 2 and name[0] == "-" != name[1]:
            if f"-{name}" in known:
                raise UsageError(f"{name}: long names begin with two hyphens: -{name}")
            if here := habits_of(command).get(name):
                raise UsageError(f"{name}: {here}")


def explain_unknown(arguments: Sequence[str], known: Iterable[str], command: str) -> str:
    """Explain each unknown option: the known one that it resembles, or the advice on another tool's."""
    given = {text.partition("=")[0] for text in arguments if text.startswith("-")} - {BOTH_DASHES, "-", *known}
    said, habits = [], habits_of(command) if given else {}
    for text in sorted(given):
        short = text[:2] if text[1] != "-" else text  # -Oz is -O with its value
        if here := habits.get(text) or habits.get(short if short not in known else ""):
            said.append(f"; {text}: {here}")
        elif text.startswith(BOTH_DASHES) and (near := nearest_option(text, known)):
            said.append(f"; {text}: did you mean {near}?")
    return "".join(said)


def nearest_option(text: str, known: Iterable[str]) -> str | None:
    """Find the only long option that begins like this one, or one spelled like it; never its negation."""
    is_negated = _letters(text).startswith("no")
    alike = {_letters(name): name for name in known if len(name) > 2 and _letters(name).startswith("no") == is_negated}
    begun = [name for letters, name in alike.items() if letters.startswith(_letters(text))]
    if len(begun) == 1:
        return begun[0]
    bare = {letters.removeprefix("no"): name for letters, name in alike.items()}
    near = nearest(_letters(text).removeprefix("no"), bare)
    return None if near is None else bare[near]


def _letters(option: str) -> str:
    return option.replace("-", "").lower()
