"""Files on the command line -> inputs, each with its read group."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from readwarp.errors import UsageError

ENDINGS = re.compile(r"(\.(gz|bgz|bz2|fastq|fq|fasta|fa|txt|sam|bam|ubam|cram))+$", re.IGNORECASE)
MATE = re.compile(r"[._-]R?[12](_001)?$", re.IGNORECASE)
ALIGNED = ("bam", "cram")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """REF, READS and how reads are to be taken; read by `grouped` and `read_group_lines`."""
    parser.add_argument("reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL; may be gzipped")
    parser.add_argument(
        "reads",
        nargs="+",
        metavar="READS",
        help="FASTQ (plain or gzip), BAM, uBAM or CRAM, - is stdin. Two FASTQ files are mates; more are further pairs",
    )
    group = parser.add_argument_group("reads")
    group.add_argument(
        "-R",
        "--read-group",
        action="append",
        metavar="LINE",
        help=r"'@RG\tID:x\tSM:y'; once for all inputs or once for each [ID and SM from the file name]",
    )
    group.add_argument(
        "-p", "--interleaved", action="store_true", help="each FASTQ file holds mates one after the other"
    )
    group.add_argument("--single", action="store_true", help="FASTQ files hold single reads, even when there are two")
    group.add_argument("-C", "--comments", action="store_true", help="FASTQ comments are SAM tags: keep them")


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


def sample_name(paths: Sequence[str]) -> str:
    """lane/NA12878_R1.fastq.gz -> NA12878; `sample` for stdin."""
    if paths[0] == "-":
        return "sample"
    name = ENDINGS.sub("", Path(paths[0]).name)
    return (MATE.sub("", name) if len(paths) == 2 else name) or name or "sample"


def read_group_lines(given: Sequence[str] | None, inputs: Sequence[Sequence[str]]) -> list[str]:
    """One header line for each input: as given, or with ID and SM from the file's name."""
    if not given:
        return [f"@RG\tID:{name}\tSM:{sample}" for name, sample in _names(inputs)]
    lines = [parse_read_group(text) for text in given]
    if len(lines) == 1:
        lines *= len(inputs)
    if len(lines) != len(inputs):
        raise UsageError(f"{len(lines)} read groups for {len(inputs)} inputs: give one for all or one for each")
    ids = {read_group_id(line): line for line in lines}
    if any(ids[read_group_id(line)] != line for line in lines):
        raise UsageError("--read-group: two different read groups have the same ID")
    return lines


def _names(inputs: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """(ID, SM) from file names; an ID that comes again gets a number."""
    seen: dict[str, int] = {}
    out = []
    for paths in inputs:
        sample = sample_name(paths)
        seen[sample] = seen.get(sample, 0) + 1
        out.append((sample if seen[sample] == 1 else f"{sample}.{seen[sample]}", sample))
    return out


def parse_read_group(text: str) -> str:
    r"""'@RG\tID:x\tSM:y' with real or written-out tabs -> the header line. Raises UsageError."""
    line = text.replace("\\t", "\t").rstrip("\r\n")
    fields = line.split("\t")
    keys = [field[:2] for field in fields[1:]]
    if (
        fields[0] != "@RG"
        or "\n" in line
        or not all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]:[ -~]+", f) for f in fields[1:])
    ):
        raise UsageError(rf"--read-group {text!r}: must look like '@RG\tID:x\tSM:y'")
    if keys.count("ID") != 1 or len(set(keys)) != len(keys):
        raise UsageError(f"--read-group {text!r}: needs one ID, and no field twice")
    return line


def read_group_id(line: str) -> str:
    return next(field[3:] for field in line.split("\t") if field.startswith("ID:"))
