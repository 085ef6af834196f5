"""Open files of reads as inputs, each with its read group, and collect the header lines to carry over."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.align.read_groups import GroupNaming, read_group_lines
from readwarp.config import PRESETS, UmiParameters, find_preset
from readwarp.config.declare import chosen
from readwarp.config.options import ReadOptions
from readwarp.errors import InputError, UsageError
from readwarp.formats.alignments.header import PART, check_ids, field, lines_of, merge_lines
from readwarp.formats.common.files import check_inputs, check_twice, is_same
from readwarp.formats.common.names import text_problem
from readwarp.formats.common.qualities import encoding_of
from readwarp.formats.common.source import kind_of
from readwarp.formats.reads import mates
from readwarp.formats.reads.bam import read_header
from readwarp.formats.reads.first_name import Instrument, first_instrument
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.read_structure import check_mates, parse_umi
from readwarp.python.keywords import as_texts
from readwarp.wording import counted

ALIGNED = ("bam", "cram")
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a run, with the header lines to carry over."""

    inputs: tuple[ReadInput, ...]
    read_groups: tuple[str, ...]  # @RG lines, by read group number
    programs: tuple[str, ...] = ()  # @PG lines carried over from BAM and CRAM
    comments: tuple[str, ...] = ()  # @CO lines carried over from BAM and CRAM

    @property
    def read_group_ids(self) -> tuple[str, ...]:
        return tuple(field(line, "ID") or "" for line in self.read_groups)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(path for given in self.inputs for path in given.paths)

    def share_read(self, source: int) -> float | None:
        """Return the fraction of all bytes on disk read so far, while input number `source` is being read.

        The kernel knows the positions of this process's open files, whoever reads them. None if an input is a pipe.
        """
        if not all(Path(path).is_file() for path in self.files):
            return None
        whole = sum(Path(path).stat().st_size for path in self.files)
        before = sum(Path(path).stat().st_size for given in self.inputs[:source] for path in given.paths)
        here = sum(_positions({Path(path).resolve() for path in self.inputs[source].paths}))
        return (before + here) / whole if whole else None


def _positions(wanted: set[Path]) -> Iterator[int]:
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if descriptor.readlink() in wanted:
                yield int(Path(f"/proc/self/fdinfo/{descriptor.name}").read_text().split()[1])
        except OSError:  # closed in the meantime
            continue


class ReadGroups(NamedTuple):
    """Read-group lines of each input."""

    lines: list[str]  # of its reads without a group; "": there are none
    own: list[list[str]]  # from its header

    def merge(self) -> list[str]:
        return merge_lines([line for line in self.lines if line] + [line for group in self.own for line in group])


def open_inputs(reference: Path, reads: Sequence[str], options: Mapping[str, Any]) -> Inputs:
    """Open the inputs in these files. Raises InputError and UsageError."""
    asked = chosen(ReadOptions(), options)
    references = tuple(str(path) for path in (asked.input_reference, reference) if path)
    check_inputs([*references, *reads])
    kinds = {path: kind_of(path) if Path(path).is_file() else "fastq" for path in reads}  # a pipe is read only once
    phred = encoding_of(asked.phred33, asked.phred64)
    instrument = instrument_of(options.get("preset"))
    alone = asked.single or (instrument is not None and not asked.interleaved)  # long reads have no mates
    files = group_files(reads, [kinds[path] for path in reads], asked.interleaved or alone)
    umi = umi_of(asked)
    check_pairs(files)
    check_twice(map(Path, reads))
    headers = [read_header(paths[0]) if kinds[paths[0]] in ALIGNED else "" for paths in files]
    naming = GroupNaming(as_texts(asked.read_group), asked.sample, asked.library, instrument)
    groups = gather_groups(naming, files, headers, kinds)
    merged, inputs = groups.merge(), list[ReadInput]()
    for paths, line, own, header in zip(files, *groups, headers, strict=True):
        may_name = own if header else merged if asked.comments else []
        given = ReadInput(
            paths,
            interleaved=asked.interleaved and not header,
            single=alone,
            read_group=merged.index(line) if line else -1,
            comments=asked.comments and not header,
            groups=tuple(field(line, "ID") or "" for line in merged),
            named_groups=tuple(map(merged.index, may_name)) if len(may_name) > 1 else (),
            references=references,
            phred=phred,
            umi=umi,
        )
        check_umi(given, kinds[paths[0]])
        if not header:
            mates.check_files(given)
            mention_missing_mates(given, reads)
        inputs.append(given)
    return Inputs(tuple(inputs), tuple(merged), tuple(merge_programs(headers)), merge_comments(headers))


def instrument_of(preset: str | None) -> str | None:
    return PRESETS[find_preset(preset)].instrument if preset else None


def umi_of(asked: ReadOptions) -> UmiParameters | None:
    return None if asked.umi is None else parse_umi(asked.umi, asked.umi_duplex)


def check_pairs(files: Sequence[tuple[str, ...]]) -> None:
    """Raise UsageError for an input whose two files are one."""
    for first, last in (paths for paths in files if len(paths) == 2):
        if is_same(Path(first), Path(last)):
            known = f" (it is {first})" if first != last else ""
            raise UsageError(f"{last}: is given as both files of a pair{known}")


def gather_groups(
    naming: GroupNaming, files: Sequence[tuple[str, ...]], headers: Sequence[str], kinds: Mapping[str, str]
) -> ReadGroups:
    """Return the read groups of inputs, given their files and headers. Raises InputError and UsageError."""
    for paths, header in zip(files, headers, strict=True):
        check_ids(paths[0], lines_of(header, "RG"))
        for line in lines_of(header, "RG"):
            if problem := text_problem(line.replace("\t", " ")):  # another header could not hold its fields
                raise InputError(paths[0], problem, f"@RG {field(line, 'ID')}")
    own = [[naming.apply(line) for line in lines_of(header, "RG")] for header in headers]

    def look(path: str) -> Instrument:
        return first_instrument(path, kinds[path]) if Path(path).is_file() else Instrument()  # a pipe is read only once

    lines = read_group_lines(naming, files, own, look)
    if naming.instrument:
        said = [[line] if line else mine for line, mine in zip(lines, own, strict=True)]
        warn_of_instruments(naming.instrument, [paths[0] for paths in files], said, look)
    if naming.lines and not all(field(line, "SM") for line in lines):
        logger.warning("a --read-group has no SM: GATK and others reject such files (add SM:NAME, or --sample NAME)")
    for paths, mine in zip(files, own, strict=True):
        if naming.lines and mine:
            kept = f"keeps its {counted(len(mine), 'own read group')}; --read-group is for reads without one"
            logger.warning(f"{paths[0]}: {kept} (to replace them: `samtools addreplacerg -m overwrite_all`)")
    return ReadGroups(lines, own)


def warn_of_instruments(
    expected: str, paths: Sequence[str], groups: Sequence[Sequence[str]], look: Callable[[str], Instrument]
) -> None:
    """Warn if read names, or PL of an input's read groups, disagree with the preset's instruments.

    groups: lines of each input. look: return the instrument of a file's first read.
    """
    for path, lines in zip(paths, groups, strict=True):
        named, said = look(path).platform, {field(line, "PL") for line in lines} - {None, expected}
        if named not in (None, expected):
            reason = f"its read names look like {named}"
        elif said:
            reason = f"its read group says PL:{said.pop()}"
        else:
            continue
        logger.warning("%s: %s, but --preset is for %s: is it the right preset?", path, reason, expected)


def check_umi(given: ReadInput, kind: str) -> None:
    """Raise UsageError if an input cannot have its UMIs there."""
    if given.umi is None:
        return
    is_aligned, path = kind in ALIGNED, given.paths[0]
    if given.umi.source == "tag" and not is_aligned:
        raise UsageError(f"--umi tag: {path} is not BAM or CRAM; for RX:Z: in the comments of FASTQ: --umi comment")
    if given.umi.source == "comment" and is_aligned:
        raise UsageError(f"--umi comment: {path} is {kind.upper()}, which has tags: --umi tag")
    if given.umi.structures and not is_aligned:
        check_mates(given.umi, 2 if len(given.paths) == 2 or given.interleaved else 1)


def mention_missing_mates(given: ReadInput, reads: Sequence[str]) -> None:
    """Log a line if a file of first reads is given alone while its mates' file lies beside it."""
    other = mates.find_other_file(given.paths[0]) if len(given.paths) == 1 else None
    if other and not (given.interleaved or given.single) and str(other) not in reads:
        text = "%s: aligned as single-end, but a mate file exists next to it: give %s too, or --single"
        logger.info(text, given.paths[0], other)


def group_files(files: Sequence[str], kinds: Sequence[str], alone: bool) -> list[tuple[str, ...]]:
    """Group the files by input: BAM and CRAM alone, FASTQ in pairs unless there is one or they are to be `alone`."""
    reads = [file for file, kind in zip(files, kinds, strict=True) if kind not in ALIGNED]
    alone = alone or len(reads) == 1
    if not alone and len(reads) % 2:
        raise UsageError(f"{len(reads)} FASTQ files are not pairs: give --single or --interleaved, or the missing file")
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


def merge_comments(headers: Sequence[str]) -> tuple[str, ...]:
    """Return the @CO lines of several headers, each once, without those about parts."""
    remarks = (line for header in headers for line in lines_of(header, "CO") if not line.startswith(PART))
    return tuple(dict.fromkeys(remarks))


def merge_programs(headers: Sequence[str]) -> list[str]:
    """Merge the @PG lines of several headers; where two share an ID but differ, the later one gets a number."""
    merged: dict[str, str] = {}
    for header in headers:
        renamed: dict[str, str] = {}
        for line in lines_of(header, "PG"):
            line = _rename(line, "PP", renamed)
            name = field(line, "ID") or ""
            if merged.get(name, line) != line:
                number = next(n for n in count(1) if f"{name}.{n}" not in merged)
                renamed[name] = f"{name}.{number}"
                line = _rename(line, "ID", renamed)
            merged[field(line, "ID") or ""] = line
    return list(merged.values())


def _rename(line: str, tag: str, renamed: dict[str, str]) -> str:
    parts = line.split("\t")
    return "\t".join(f"{tag}:{renamed.get(p[3:], p[3:])}" if p.startswith(f"{tag}:") else p for p in parts)
