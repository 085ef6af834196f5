"""SAM header text: @HD, @SQ, @RG, @PG, @CO."""

import re
from collections.abc import Iterable, Sequence

from readwarp.errors import UsageError
from readwarp.version import __version__

ORDER = {
    "none": "SO:unsorted\tGO:query",
    "coordinate": "SO:coordinate",
    "name": "SO:queryname\tSS:queryname:natural",
}


def header_text(
    contigs: Iterable[tuple[str, int, str]],
    sort: str = "none",
    read_groups: Sequence[str] = (),
    programs: Sequence[str] = (),
    comments: Sequence[str] = (),
) -> str:
    """Contigs are (name, length, MD5 or ''); the others are whole lines; `sort` is none, coordinate or name."""
    lines = [f"@HD\tVN:1.6\t{ORDER[sort]}"]
    lines += [f"@SQ\tSN:{name}\tLN:{length}" + (f"\tM5:{md5}" if md5 else "") for name, length, md5 in contigs]
    return "".join(line + "\n" for line in (*lines, *read_groups, *programs, *comments))


def field(line: str, tag: str) -> str | None:
    """Value of `tag` in a header line."""
    return next((part[3:] for part in line.split("\t")[1:] if part.startswith(tag + ":")), None)


def lines_of(text: str, kind: str) -> list[str]:
    """The lines of a header that start with @`kind`."""
    return [line for line in text.splitlines() if line.startswith(f"@{kind}\t")]


def read_group_line(given: str) -> str:
    r"""What -R takes ('@RG\tID:..\tSM:..', with backslash t or tabs) as a header line. Raises UsageError."""
    line = given.replace("\\t", "\t")
    parts = line.split("\t")
    if (
        parts[0] != "@RG"
        or not field(line, "ID")
        or any(not re.fullmatch(r"[A-Za-z][A-Za-z0-9]:.+", p) for p in parts[1:])
    ):
        raise UsageError(f"--read-group {given}: must be '@RG\\tID:name' and further TAG:value parts")
    return line


def read_group_of_file(path: str) -> str:
    """The read group of an input without one: ID and SM are the file name up to its first mate number or ending."""
    name = "stdin" if path == "-" else path.rsplit("/", 1)[-1]
    name = re.sub(r"(\.(fastq|fq|fasta|fa|bam|cram|sam|gz|bgz|txt))+$", "", name, flags=re.IGNORECASE)
    name = re.sub(r"([._]R?[12])(_001)?$", "", name) or name
    return f"@RG\tID:{name}\tSM:{name}"


def program_lines(carried: Sequence[str], command: str) -> list[str]:
    """@PG lines of the inputs and ours behind them, its PP the end of their chain and its ID unlike theirs."""
    ids = [field(line, "ID") for line in carried]
    followed = {field(line, "PP") for line in carried}
    ends = [name for name in ids if name not in followed]
    ours, number = "readwarp", 0
    while ours in ids:
        number += 1
        ours = f"readwarp.{number}"
    line = f"@PG\tID:{ours}\tPN:readwarp\tVN:{__version__}\tCL:{' '.join(command.split())}"
    return [*carried, line + (f"\tPP:{ends[-1]}" if ends else "")]


PART = "@CO\treadwarp part "


def part_line(part: object, run: str) -> str:
    """The comment by which the files of `align --part I/N` say what they are; `run` is the same in all N."""
    return f"{PART}{part} of run {run}"


def part_in(header: str) -> tuple[str, str] | None:
    """(I/N, the run) of a part, None of a whole file."""
    line = next((line for line in lines_of(header, "CO") if line.startswith(PART)), None)
    if line is None:
        return None
    part, _, run = line.removeprefix(PART).partition(" of run ")
    return part, run


def merged_lines(lines: Iterable[str]) -> list[str]:
    """Header lines of several inputs, each once; another line of the same ID is an error. Raises UsageError."""
    merged: dict[str, str] = {}
    for line in lines:
        name = field(line, "ID") or line
        if merged.setdefault(name, line) != line:
            raise UsageError(f"two header lines share the ID {name}: {merged[name]!r} and {line!r}")
    return list(merged.values())
