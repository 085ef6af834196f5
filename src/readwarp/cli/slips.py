"""Mistyped commands and options, and those of other tools: what was probably meant."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from readwarp.errors import UsageError
from readwarp.wording import nearest

OTHER_NAMES = {  # of commands, in other tools
    **dict.fromkeys(("mem", "aln", "map", "bwa-mem", "fq2bam"), "align"),
    **dict.fromkeys(("germline", "pipeline", "wgs"), "run"),
    **dict.fromkeys(("mpileup", "haplotypecaller", "variants"), "call"),
    **dict.fromkeys(("joint", "genotypegvcfs", "combinegvcfs"), "genotype"),
    **dict.fromkeys(("cat", "gather", "join"), "merge"),
    **dict.fromkeys(("sw", "ssw"), "pairwise"),
    **dict.fromkeys(("info", "check", "devices"), "doctor"),
}
LONG_DASHES = "\u2013\u2014\u2212"  # what word processors make of hyphens
BOTH_DASHES = "--"


def expand_help(arguments: Sequence[str]) -> list[str]:
    """`help` and `help COMMAND` as --help."""
    return [*arguments[1:2], "--help"] if arguments[:1] == ["help"] else list(arguments)


def check_words(arguments: Sequence[str], commands: Iterable[str]) -> None:
    """Raises UsageError where the first argument is not a command, and for long dashes in place of hyphens."""
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
        hint = f"perhaps {known}" if known else f"the command comes first: {options}"
        raise UsageError(f"{first}: {hint} (see `readwarp --help`)")
    meant = OTHER_NAMES.get(first.lower()) or nearest(first, commands)
    if meant is None and Path(first).exists():
        raise UsageError(f"{first} is a file: the command comes first, as in `readwarp run {first} ...`")
    hint = f"perhaps {meant}" if meant else f"there are {', '.join(commands)}"
    raise UsageError(f"no command {first!r}: {hint} (see `readwarp --help`)")


def check_dashes(arguments: Sequence[str], known: Iterable[str]) -> None:
    """Raises UsageError for `-threads`, which would be taken for `-t hreads`."""
    for text in arguments:
        if text == BOTH_DASHES:
            return
        name = text.partition("=")[0]
        if len(name) > 2 and name[0] == "-" != name[1] and f"-{name}" in known:
            raise UsageError(f"{name}: long names begin with two hyphens: -{name}")


def explain_unknown(arguments: Sequence[str], known: Iterable[str], habits: Mapping[str, str]) -> str:
    """For each unknown option the known one that it resembles, or what it is called here.

    habits: options of other tools, and what to say of them.
    """
    given = {text.partition("=")[0] for text in arguments if text.startswith("-")} - {BOTH_DASHES, "-", *known}
    said = []
    for text in sorted(given):
        if text in habits:
            said.append(f"; {text}: {habits[text]}")
        elif text.startswith(BOTH_DASHES) and (near := nearest(text, (name for name in known if len(name) > 2))):
            said.append(f"; {text}: perhaps {near}")
    return "".join(said)
