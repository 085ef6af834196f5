"""Files of reads -> inputs, each with its read group, and the header lines that they bring."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypedDict

from readwarp.errors import UsageError
from readwarp.formats.alignments.header import PART, field, lines_of, merge_lines, read_group_line, read_group_of_file
from readwarp.formats.common.files import check_inputs
from readwarp.formats.common.source import kind_of
from readwarp.formats.reads.bam import read_header
from readwarp.formats.reads.raw import ReadInput
from readwarp.keywords import as_tuple

ALIGNED = ("bam", "cram")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a run, and the header lines that they bring."""

    inputs: tuple[ReadInput, ...]
    read_groups: tuple[str, ...]  # @RG lines; a read group's number is its place here
    programs: tuple[str, ...] = ()  # @PG lines carried over from BAM and CRAM
    comments: tuple[str, ...] = ()  # @CO lines, likewise

    @property
    def read_group_ids(self) -> tuple[str, ...]:
        return tuple(field(line, "ID") or "" for line in self.read_groups)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return tuple(given.paths for given in self.inputs)

    @property
    def files(self) -> tuple[str, ...]:
        return sum(self.paths, ())


class ReadOptions(TypedDict, total=False):
    """How reads are to be taken."""

    read_group: str | Sequence[str] | None  # @RG line of all inputs, or one for each; None: named after the files
    interleaved: bool  # each FASTQ file holds mates one after the other
    single: bool  # FASTQ files hold single reads, even when there are two
    comments: bool  # FASTQ comments are SAM tags: keep them


def open_inputs(reference: Path, reads: Sequence[str], options: ReadOptions) -> Inputs:
    """The inputs in these files. Raises InputError and UsageError."""
    check_inputs([reference, *reads])
    kinds = {path: kind_of(path) if Path(path).is_file() else "fastq" for path in reads}  # a pipe is read once
    interleaved, alone = options.get("interleaved", False), options.get("single", False)
    groups = grouped(reads, [kinds[path] for path in reads], interleaved or alone)
    for paths in groups:
        if len(paths) > len(set(paths)):
            raise UsageError(f"{paths[0]}: is given as both files of a pair")
    headers = [read_header(paths[0]) if kinds[paths[0]] in ALIGNED else "" for paths in groups]
    own = [lines_of(header, "RG") for header in headers]
    lines = read_group_lines(as_tuple(options.get("read_group")), groups, own)
    merged = merge_lines([line for line in lines if line] + [line for group in own for line in group])
    inputs = tuple(
        ReadInput(
            paths,
            interleaved=interleaved and not header,
            read_group=merged.index(line) if line else -1,
            comments=options.get("comments", False) and not header,
            groups=tuple(field(line, "ID") or "" for line in merged),
            reference=str(reference),
        )
        for paths, line, header in zip(groups, lines, headers, strict=True)
    )
    comments = (line for header in headers for line in lines_of(header, "CO") if not line.startswith(PART))
    return Inputs(inputs, tuple(merged), tuple(merged_programs(headers)), tuple(dict.fromkeys(comments)))


def grouped(files: Sequence[str], kinds: Sequence[str], alone: bool) -> list[tuple[str, ...]]:
    """Files of each input: BAM and CRAM by themselves, FASTQ files in pairs unless there is one or they are `alone`."""
    reads = [file for file, kind in zip(files, kinds, strict=True) if kind not in ALIGNED]
    alone = alone or len(reads) == 1
    if not alone and len(reads) % 2:
        raise UsageError(f"{len(reads)} FASTQ files do not make pairs: give --single or --interleaved, or another file")
    groups: list[tuple[str, ...]] = []
    waiting: list[str] = []
    for file, kind in zip(files, kinds, strict=True):
        if alone or kind in ALIGNED:
            groups.append((file,))
        elif waiting:
            groups.append((waiting.pop(), file))
        else:
            waiting.append(file)
    return groups


def read_group_lines(
    given: Sequence[str] | None, inputs: Sequence[Sequence[str]], own: Sequence[Sequence[str]]
) -> list[str]:
    """The header line for each input's reads without a group: as given, else ID and SM from the file's name.

    Empty for an input that brings its `own` lines, unless one is given.
    """
    if not given:
        named = [paths[0] for paths, lines in zip(inputs, own, strict=True) if not lines]
        names = iter(_distinct([read_group_of_file(path) for path in named]))
        return ["" if lines else next(names) for lines in own]
    lines = [read_group_line(text) for text in given]
    if len(lines) == 1:
        lines *= len(inputs)
    if len(lines) != len(inputs):
        raise UsageError(f"{len(lines)} read groups for {len(inputs)} inputs: give one for all or one for each")
    return lines


def _distinct(lines: Sequence[str]) -> list[str]:
    """Lines in which an ID that comes again has got a number."""
    seen: Counter[str] = Counter()
    out = []
    for line in lines:
        name = field(line, "ID") or ""
        seen[name] += 1
        out.append(line if seen[name] == 1 else line.replace(f"\tID:{name}\t", f"\tID:{name}.{seen[name]}\t", 1))
    return out


def merged_programs(headers: Sequence[str]) -> list[str]:
    """@PG lines of several headers, each once; where two share an ID and differ, the later one gets a number."""
    merged: dict[str, str] = {}
    for header in headers:
        renamed: dict[str, str] = {}
        for line in lines_of(header, "PG"):
            line = _with_field(line, "PP", renamed)
            name = field(line, "ID") or ""
            if merged.get(name, line) != line:
                number = next(n for n in count(1) if f"{name}.{n}" not in merged)
                renamed[name] = f"{name}.{number}"
                line = _with_field(line, "ID", renamed)
            merged[field(line, "ID") or ""] = line
    return list(merged.values())


def _with_field(line: str, tag: str, renamed: dict[str, str]) -> str:
    parts = line.split("\t")
    return "\t".join(f"{tag}:{renamed.get(p[3:], p[3:])}" if p.startswith(f"{tag}:") else p for p in parts)
