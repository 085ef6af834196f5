"""Read groups of the inputs: from -R, --sample and --library, and from the names of files and reads."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError, UsageError
from readwarp.formats.alignments.header import field, read_group_line
from readwarp.formats.common.names import sample_problem, text_problem
from readwarp.formats.reads.first_name import Instrument
from readwarp.wording import counted

ENDING = re.compile(r"(\.(fastq|fq|fasta|fa|bam|cram|sam|gz|bgz|bz2|xz|zst|txt))+$", re.IGNORECASE)
NAME = re.compile(  # SAMPLE_S1_L001_R1_001: sample, its number in the sheet, lane, mate, set
    r"(?P<group>(?P<sample>.+?)((_S\d+)?_L\d{3}|_S\d+(?=_R[12]_\d{3}$))?)"
    r"([._]R[12]_(?P<set>\d{3})|[._]R?[12](_001)?)?"
)
PLATFORM = "ILLUMINA"  # if read names do not tell, or cannot be seen yet


class GroupNaming(NamedTuple):
    """Read-group settings given by the user."""

    lines: tuple[str, ...] = ()  # @RG lines of -R: one for all inputs or one each; empty: from file names
    sample: str | None = None  # SM of all read groups, including those that inputs bring along
    library: str | None = None  # LB of all read groups
    instrument: str | None = None  # PL of read groups without one; "": none; None: from read names

    def complete(self, line: str) -> str:
        """Apply sample and library to a line of -R, and PL if it has none: `call` recognises long reads by it."""
        lacks_platform = self.instrument and field(line, "PL") is None
        return self.apply(line) + (f"\tPL:{self.instrument}" if lacks_platform else "")

    def apply(self, line: str) -> str:
        """Return an @RG line with the sample and the library."""
        for tag, value in (("LB", self.library), ("SM", self.sample)):
            if value is not None:
                fields = [part for part in line.split("\t") if not part.startswith(f"{tag}:")]
                line = "\t".join([*fields[:2], f"{tag}:{value}", *fields[2:]])
        return line


class FileName(NamedTuple):
    """Parts of the name of a reads file."""

    group: str  # without mate and set
    sample: str  # also without number and lane
    set: str | None  # of a lane whose reads are in several files: 001, 002, ...


def parse_name(path: str) -> FileName:
    """Parse a file name, given by Illumina's software or anyone else."""
    text = os.fsencode(Path(path).name).decode(errors="replace")  # headers hold no bytes that are not UTF-8
    name = "stdin" if path == "-" else ENDING.sub("", text) or text
    found = NAME.fullmatch(name)
    return FileName(found["group"], found["sample"], found["set"]) if found else FileName(name, name, None)


def read_group_lines(
    naming: GroupNaming,
    inputs: Sequence[Sequence[str]],
    own: Sequence[Sequence[str]],
    look: Callable[[str], Instrument] = lambda path: Instrument(),
) -> list[str]:
    """Return the header line for reads without a group of each input: the given one, else from file and read names.

    Empty for an input with its own lines, unless one is given. look: return the instrument of a file's first read.
    Raises UsageError.
    """
    for option, value in (("--sample", naming.sample), ("--library", naming.library)):
        if value is not None and (problem := sample_problem(value)):
            raise UsageError(f"{option} {value}: {problem}")
    if not naming.lines:
        named = [paths[0] for paths, lines in zip(inputs, own, strict=True) if not lines]
        names = iter(name_groups(naming, named, look))
        return ["" if lines else next(names) for lines in own]
    lines = [read_group_line(text) for text in naming.lines]
    for line in lines:
        if naming.sample is not None and field(line, "SM") not in (None, naming.sample):
            raise UsageError(f"--sample {naming.sample}: --read-group says SM:{field(line, 'SM')}")
    if len(lines) == 1:
        lines *= len(inputs)
    if len(lines) != len(inputs):
        numbers = f"{counted(len(lines), 'read group')} for {counted(len(inputs), 'input')}"
        raise UsageError(f"{numbers}: give one for all or one for each")
    return [naming.complete(line) for line in lines]


def name_groups(naming: GroupNaming, paths: Sequence[str], look: Callable[[str], Instrument]) -> list[str]:
    """Return a line per file. Sets of one lane in one folder share a line; an ID already used gets a number."""
    lines: dict[tuple[str, ...], str] = {}
    seen: dict[str, int] = {}
    out: list[str] = []
    for path in paths:
        name = parse_name(path)
        key = (str(Path(path).parent), name.group) if name.set else (str(len(out)),)
        if key not in lines:
            seen[name.group] = seen.get(name.group, 0) + 1
            number = "" if seen[name.group] == 1 else f".{seen[name.group]}"
            if problem := text_problem(name.group):
                raise InputError(path, f"its name, by which its reads are called, {problem}: give --read-group")
            instrument, sample = look(path), naming.sample or name.sample
            fields = [f"ID:{name.group}{number}", f"SM:{sample}", f"LB:{naming.library or sample}"]
            platform = (instrument.platform or PLATFORM) if naming.instrument is None else naming.instrument
            fields += [f"PL:{platform}"] if platform else []
            lines[key] = "\t".join(["@RG", *fields, *([f"PU:{instrument.unit}"] if instrument.unit else [])])
        out.append(lines[key])
    return out
