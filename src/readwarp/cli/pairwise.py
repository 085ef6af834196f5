"""`readwarp pairwise`: align pairs of sequences."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from readwarp.cli import options as shared
from readwarp.config import Scoring
from readwarp.errors import InputError, UsageError
from readwarp.version import __version__

if TYPE_CHECKING:
    from readwarp.pairwise import Alignments

EPILOG = """\
QUERIES and TARGETS are FASTA or FASTQ, plain or gzip. The i-th query is aligned with the i-th target; a file with a
single record is paired with every record of the other. Columns of the TSV: query, target, score, query start and
stop, target start and stop (0-based, half-open), CIGAR; without --traceback the starts and the CIGAR are left out.
"""
BATCH = 1 << 16  # pairs
Record = tuple[str, str]  # name, sequence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ")
    parser.add_argument("targets", metavar="TARGETS", help="FASTA or FASTQ")
    parser.add_argument(
        "--mode", choices=("local", "global", "semiglobal"), default="local",
        help="semiglobal: the whole query in a part of the target [local]",
    )  # fmt: skip
    shared.add_output(parser, "write to FILE [stdout]")
    parser.add_argument("--format", choices=("tsv", "sam"), default="tsv", help="[tsv]")
    parser.add_argument(
        "--traceback", action=argparse.BooleanOptionalAction, default=True, help="CIGARs, or scores alone [yes]"
    )
    scores, group = Scoring(), parser.add_argument_group("scoring (a gap of n bases costs O + n * E)")
    for short, name, default in (
        ("-A", "match", scores.match), ("-B", "mismatch", scores.mismatch),
        ("-O", "gap-open", scores.gap_open), ("-E", "gap-extend", scores.gap_extend),
    ):  # fmt: skip
        group.add_argument(short, f"--{name}", type=int, default=default, metavar="N", help=f"[{default}]")
    parser.add_argument(
        "-t", "--threads", type=shared.count, metavar="N", help="CPU threads [all this process may use]"
    )
    parser.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda or cuda:0,1 [auto]")
    parser.add_argument("-v", "--verbose", action="store_true", help="the traceback of an error")


def run(options: argparse.Namespace) -> int:
    from concurrent.futures import ThreadPoolExecutor

    from readwarp.device.machine import usable_threads
    from readwarp.formats.common.files import check_inputs, check_output
    from readwarp.pairwise import pairwise

    if options.format == "sam" and not options.traceback:
        raise UsageError("--format sam needs --traceback")
    check_inputs([options.queries, options.targets])
    check_output(options.output, options.force, [options.queries, options.targets])
    scoring = Scoring(options.match, options.mismatch, options.gap_open, options.gap_extend)
    threads = options.threads or usable_threads()

    def align(batch: list[tuple[Record, Record]]) -> str:
        queries, targets = [query for (_, query), _ in batch], [target for _, (_, target) in batch]
        found = pairwise(queries, targets, scoring, options.mode, options.traceback, options.device)
        lines = _sam_lines if options.format == "sam" else _tsv_lines
        return "".join(lines(batch, found))

    with _output(options.output) as out, ThreadPoolExecutor(threads, "readwarp") as pool:
        if options.format == "sam":
            out.write(_sam_header(options))
        batches = _batches(_pairs(options.queries, options.targets))
        while wave := list(islice(batches, threads)):
            for text in pool.map(align, wave):
                out.write(text)
    return 0


def _records(path: str) -> Iterator[Record]:
    """(name, sequence) of each record. Raises InputError."""
    import dnaio

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


def _tsv_lines(batch: list[tuple[Record, Record]], found: "Alignments") -> Iterator[str]:
    for k, ((query, _), (target, _)) in enumerate(batch):
        columns: list[object] = [query, target, found.score[k]]
        if found.query_start is not None and found.target_start is not None:
            columns += [found.query_start[k], found.query_stop[k], found.target_start[k], found.target_stop[k]]
            columns.append(found.cigar_string(k) or "*")
        else:
            columns += [found.query_stop[k], found.target_stop[k]]
        yield "\t".join(map(str, columns)) + "\n"


def _sam_lines(batch: list[tuple[Record, Record]], found: "Alignments") -> Iterator[str]:
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


def _sam_header(options: argparse.Namespace) -> str:
    """@SQ of every target, which a SAM header needs beforehand: the file is read once for it."""
    if options.targets == "-":
        raise UsageError("--format sam reads the targets twice: give a file, not stdin")
    lengths: dict[str, int] = {}
    for name, sequence in _records(options.targets):
        if lengths.setdefault(name, len(sequence)) != len(sequence):
            raise InputError(
                options.targets, "targets of the same name and different lengths cannot be told apart in SAM", name
            )
    lines = [f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items() if length]
    command = getattr(options, "command_line", "readwarp pairwise")
    return "".join(["@HD\tVN:1.6\n", *lines, f"@PG\tID:readwarp\tPN:readwarp\tVN:{__version__}\tCL:{command}\n"])


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
