"""The pairwise job: from two files of sequences to a file of their alignments, as TSV or SAM."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import chain, islice, repeat, zip_longest
from pathlib import Path
from typing import BinaryIO, cast

import dnaio
import numpy as np

from readwarp.compiler.prepare import prepare
from readwarp.config import Scoring
from readwarp.errors import InputError, UsageError
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.output import EncodedFile
from readwarp.formats.common.compressed import decompress
from readwarp.formats.common.files import check_inputs, check_output, locked
from readwarp.formats.common.index_file import is_index, read_index
from readwarp.formats.common.limited import limited
from readwarp.formats.common.source import reading
from readwarp.pairwise.api import pairwise
from readwarp.pairwise.results import Alignments
from readwarp.python.sequences import SequenceError
from readwarp.version import __version__
from readwarp.wording import counted

BATCH, MAX_LETTERS = 1 << 16, 1 << 24  # pairs and their letters aligned together
Record = tuple[str, str]  # name, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseJob:
    """The options of `readwarp pairwise`. Raises UsageError if they cannot be combined."""

    queries: str  # FASTA or FASTQ; - is stdin
    targets: str
    output: Path | None = None  # None: stdout
    format: str = "tsv"  # tsv | sam
    mode: str = "local"  # local | global | semiglobal
    traceback: bool = True  # also compute CIGARs, not only scores
    scoring: Scoring = field(default_factory=Scoring)
    device: str = "auto"
    threads: int = 1
    command: str = "readwarp pairwise"  # for @PG
    force: bool = False  # replace an existing output

    def __post_init__(self) -> None:
        if self.format == "sam" and not self.traceback:
            raise UsageError("--format sam needs --traceback")


def run_pairwise(job: PairwiseJob) -> None:
    """Run the pairwise job. Raises ReadwarpError."""
    check_inputs([job.queries, job.targets])
    check_output(job.output, job.force, [job.queries, job.targets])

    prepare("pairwise", job.threads)

    def align(batch: list[tuple[Record, Record]]) -> Encoded:
        queries, targets = [query for (_, query), _ in batch], [target for _, (_, target) in batch]
        try:
            found = pairwise(queries, targets, job.scoring, job.mode, job.traceback, job.device)
        except SequenceError as error:
            (query, _), (target, _) = batch[error.number - 1]
            path, name = (job.queries, query) if error.argument == "queries" else (job.targets, target)
            raise InputError(path, error.reason.partition(";")[0], name) from None
        lines = _sam_lines if job.format == "sam" else _tsv_lines
        text = np.frombuffer("".join(lines(batch, found)).encode(), np.uint8)
        return Encoded(text, np.array([0, text.size]))

    header = _sam_header(job) if job.format == "sam" else ""
    path = None if job.output is None else str(job.output)
    with (
        locked(job.output),
        EncodedFile(path, header, text=True, threads=0) as out,
        ThreadPoolExecutor(job.threads, "readwarp") as pool,
    ):
        batches = _batches(_pairs(job.queries, job.targets))
        while wave := list(islice(batches, job.threads)):
            for lines in pool.map(align, wave):
                out.write(lines)


def _records(path: str) -> Iterator[Record]:
    """Yield (name, sequence) of each record, or of each contig of an index. Raises InputError."""
    if is_index(path):
        yield from ((name, letters.decode()) for name, letters in read_index(Path(path)))
        return
    number = 0
    try:
        with reading(path), _open(path) as stream, dnaio.open(_limit(stream, path), open_threads=0) as records:
            for number, record in enumerate(records, 1):
                yield (record.name.split() or [f"record_{number}"])[0], record.sequence
    except (dnaio.UnknownFileFormat, NotImplementedError):  # the latter for BAM
        raise InputError(path, "neither FASTA nor FASTQ") from None
    except (dnaio.FileFormatError, UnicodeDecodeError) as error:
        raise InputError(path, str(error), number + 1) from None


def _limit(stream: BinaryIO, path: str) -> BinaryIO:
    """Limit the length of records: dnaio would keep one of any length in memory."""
    is_fasta = cast(BufferedReader, stream).peek(1)[:1] == b">"
    return limited(stream, path, b">" if is_fasta else b"\n")


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    """Open the decompressed bytes of a file or of stdin."""
    with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as raw:
        yield decompress(raw)


def _pairs(queries: str, targets: str) -> Iterator[tuple[Record, Record]]:
    """Pair the i-th records of both files, or one file's only record with each of the other. Raises InputError."""
    ones, others = _records(queries), _records(targets)
    first, second = list(islice(ones, 2)), list(islice(others, 2))
    ones, others = chain(first, ones), chain(second, others)
    if len(first) == 1:
        yield from zip(repeat(first[0]), others)
    elif len(second) == 1:
        yield from zip(ones, repeat(second[0]))
    else:
        for number, (one, other) in enumerate(zip_longest(ones, others)):
            if one is None or other is None:
                short, long = (queries, targets) if one is None else (targets, queries)
                raise InputError(short, f"ends after {counted(number, 'record')}, {long} does not")
            yield one, other


def _batches(pairs: Iterator[tuple[Record, Record]]) -> Iterator[list[tuple[Record, Record]]]:
    """Yield BATCH pairs at a time, or fewer where those have MAX_LETTERS letters."""
    batch: list[tuple[Record, Record]] = []
    letters = 0
    for pair in pairs:
        batch.append(pair)
        letters += len(pair[0][1]) + len(pair[1][1])
        if len(batch) == BATCH or letters >= MAX_LETTERS:
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
    """Return the header, whose @SQ lines name all targets; this reads their file once."""
    if job.targets == "-":
        raise UsageError("--format sam reads the targets twice: give a file, not stdin")
    lengths: dict[str, int] = {}
    for name, sequence in _records(job.targets):
        if lengths.setdefault(name, len(sequence)) != len(sequence):
            raise InputError(job.targets, "SAM cannot tell targets of one name but different lengths apart", name)
    lines = [f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items() if length]
    return "".join(["@HD\tVN:1.6\n", *lines, f"@PG\tID:readwarp\tPN:readwarp\tVN:{__version__}\tCL:{job.command}\n"])
