"""The pairwise job: two files of sequences to a file of their alignments, as TSV or SAM."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import dnaio

from readwarp.config import Scoring
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.files import check_inputs, check_output
from readwarp.pairwise.api import Alignments, pairwise
from readwarp.version import __version__

BATCH = 1 << 16  # pairs
Record = tuple[str, str]  # name, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseJob:
    """Raises UsageError for options that do not go together."""

    queries: str  # FASTA or FASTQ; - is stdin
    targets: str
    output: Path | None = None  # None: stdout
    format: str = "tsv"  # tsv | sam
    mode: str = "local"  # local | global | semiglobal
    traceback: bool = True  # CIGARs, or scores alone
    scoring: Scoring = field(default_factory=Scoring)
    device: str = "auto"
    threads: int = 1
    command: str = "readwarp pairwise"  # for @PG
    force: bool = False  # replace an output that exists

    def __post_init__(self) -> None:
        if self.format == "sam" and not self.traceback:
            raise UsageError("--format sam needs --traceback")


def run_pairwise(job: PairwiseJob) -> None:
    """Run the job. Raises ReadwarpError."""
    check_inputs([job.queries, job.targets])
    check_output(job.output, job.force, [job.queries, job.targets])

    def align(batch: list[tuple[Record, Record]]) -> str:
        queries, targets = [query for (_, query), _ in batch], [target for _, (_, target) in batch]
        found = pairwise(queries, targets, job.scoring, job.mode, job.traceback, job.device)
        lines = _sam_lines if job.format == "sam" else _tsv_lines
        return "".join(lines(batch, found))

    with _output(job.output) as out, ThreadPoolExecutor(job.threads, "readwarp") as pool:
        if job.format == "sam":
            out.write(_sam_header(job))
        batches = _batches(_pairs(job.queries, job.targets))
        while wave := list(islice(batches, job.threads)):
            for text in pool.map(align, wave):
                out.write(text)


def _records(path: str) -> Iterator[Record]:
    """(name, sequence) of each record. Raises InputError."""
    number = 0
    try:
        with dnaio.open(sys.stdin.buffer if path == "-" else path, open_threads=0) as records:
            for number, record in enumerate(records, 1):
                yield (record.name.split() or [f"record_{number}"])[0], record.sequence
    except (dnaio.UnknownFileFormat, NotImplementedError):  # the latter: BAM
        raise InputError(path, "neither FASTA nor FASTQ") from None
    except (dnaio.FileFormatError, EOFError, UnicodeDecodeError) as error:
        raise InputError(path, str(error), number + 1) from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None


def _pairs(queries: str, targets: str) -> Iterator[tuple[Record, Record]]:
    """i-th with i-th, or the only record of a file with each of the other's. Raises InputError on unequal numbers."""
    ones, others = _records(queries), _records(targets)
    first, second = list(islice(ones, 2)), list(islice(others, 2))
    if len(first) == 1 or len(second) == 1:
        short, long = (first, [*second]) if len(first) == 1 else (second, [*first])
        rest = others if len(first) == 1 else ones
        for record in (*long, *rest):
            yield (short[0], record) if len(first) == 1 else (record, short[0])
        return
    yield from zip(first, second, strict=False)
    if len(first) != len(second):
        raise InputError(queries if len(first) < len(second) else targets, "has no record, and the other file has")
    number = len(first)
    for one in ones:
        number += 1
        other = next(others, None)
        if other is None:
            raise InputError(targets, f"ends after {number - 1} records, {queries} does not")
        yield one, other
    if next(others, None) is not None:
        raise InputError(queries, f"ends after {number} records, {targets} does not")


def _batches(pairs: Iterator[tuple[Record, Record]]) -> Iterator[list[tuple[Record, Record]]]:
    """BATCH pairs or 2^26 cells' worth of letters at a time."""
    batch: list[tuple[Record, Record]] = []
    letters = 0
    for pair in pairs:
        batch.append(pair)
        letters += len(pair[0][1]) + len(pair[1][1])
        if len(batch) == BATCH or letters >= 1 << 24:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


def _tsv_lines(batch: list[tuple[Record, Record]], found: Alignments) -> Iterator[str]:
    for k, ((query, _), (target, _)) in enumerate(batch):
        columns: list[object] = [query, target, found.score[k]]
        if found.query_start is not None and found.target_start is not None:
            columns += [found.query_start[k], found.query_stop[k], found.target_start[k], found.target_stop[k]]
            columns.append(found.cigar_string(k) or "*")
        else:
            columns += [found.query_stop[k], found.target_stop[k]]
        yield "\t".join(map(str, columns)) + "\n"


def _sam_lines(batch: list[tuple[Record, Record]], found: Alignments) -> Iterator[str]:
    assert found.query_start is not None and found.target_start is not None and found.edit_distance is not None
    for k, ((query, sequence), (target, _)) in enumerate(batch):
        cigar = found.cigar_string(k)
        if not cigar:
            yield f"{query}\t4\t*\t0\t0\t*\t*\t0\t0\t{sequence or '*'}\t*\n"
            continue
        start, stop = found.query_start[k], found.query_stop[k]
        clipped = (f"{start}S" if start else "") + cigar + (f"{len(sequence) - stop}S" if stop < len(sequence) else "")
        place = found.target_start[k] + 1
        tags = f"AS:i:{found.score[k]}\tNM:i:{found.edit_distance[k]}"
        yield f"{query}\t0\t{target}\t{place}\t255\t{clipped}\t*\t0\t0\t{sequence or '*'}\t*\t{tags}\n"


def _sam_header(job: PairwiseJob) -> str:
    """@SQ of every target, which a SAM header needs beforehand: the file is read once for it."""
    if job.targets == "-":
        raise UsageError("--format sam reads the targets twice: give a file, not stdin")
    lengths: dict[str, int] = {}
    for name, sequence in _records(job.targets):
        if lengths.setdefault(name, len(sequence)) != len(sequence):
            raise InputError(
                job.targets, "targets of the same name and different lengths cannot be told apart in SAM", name
            )
    lines = [f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items() if length]
    return "".join(["@HD\tVN:1.6\n", *lines, f"@PG\tID:readwarp\tPN:readwarp\tVN:{__version__}\tCL:{job.command}\n"])


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    """stdout, or a file that appears under its name only when it is complete."""
    if path is None or str(path) == "-":
        yield sys.stdout
        return
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w") as out:
            yield out
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
