"""The merge job: alignments of parts and lanes to one file, optionally sorted, marked and indexed."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from readwarp.align.inputs import merge_comments, merge_programs
from readwarp.align.summary import note_molecules
from readwarp.config import BY_ENDS, DuplicateRules
from readwarp.errors import InputError
from readwarp.finish.umis import find_bad_umi
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import (
    check_ids,
    contig_in,
    field,
    header_text,
    lines_of,
    merge_lines,
    part_in,
    program_lines,
)
from readwarp.formats.alignments.stored import split_blocks
from readwarp.formats.common.files import check_inputs, check_output, check_twice, locked
from readwarp.formats.reads.bam import read_header, read_records
from readwarp.stream import parts
from readwarp.stream.reporter import Reporter, Result
from readwarp.stream.runner import map_ordered

SORT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeJob:
    alignments: tuple[Path, ...]  # unsorted BAM and CRAM files of parts and lanes
    output: Path  # BAM, CRAM or SAM by its ending; - is SAM on stdout
    sort: str = "none"  # coordinate | name | none
    mark_duplicates: bool = False
    duplicates: DuplicateRules = BY_ENDS
    write_index: bool = False
    reference: Path | None = None  # for CRAM input and output
    command: str | None = None  # for @PG; None: no @PG
    threads: int = 1
    memory: int = SORT_BYTES  # for sorting
    force: bool = False  # replace an existing output

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.reference is None else (str(self.reference),)


def run_merge(job: MergeJob, reporter: Reporter) -> Result:
    """Run the merge job. Raises ReadwarpError."""
    check_inputs(job.alignments)
    check_output(job.output, job.force, job.alignments)
    metrics, started = reporter.metrics, time.perf_counter()
    templates = 0
    with locked(job.output):
        header, groups = plan_merge(job.alignments, job.sort, job.command)
        for kernels in ("merge", *(["merge.umi"] if job.duplicates.umis else [])):
            reporter.prepare(kernels, job.threads)
        finish = Finish(job.sort, job.mark_duplicates, job.write_index, job.memory, job.duplicates)
        reference = next(iter(job.references), None)
        with (
            reporter.progress("merging", "reads") as meter,
            AlignmentWriter(
                str(job.output), header, finish, threads=job.threads, reference=reference, binary=True
            ) as writer,
        ):
            records = merge_records(groups, job.references, job.duplicates)
            batches = map_ordered(records, writer.prepare, job.threads, job.threads + 1)
            with closing(batches):
                for batch in batches:
                    writer.add(batch)
                    meter.advance(batch.records)
                    templates += batch.records
            meter.phase("sorting" if job.sort != "none" else "completing")
    metrics.count("records", templates)
    if job.mark_duplicates:
        metrics.count("duplicates", writer.duplicates)
        note_molecules(metrics, job.duplicates, writer.families)
    metrics.note(merge_seconds=round(time.perf_counter() - started, 3))
    return Result.of(metrics, {"alignments": job.output, "alignments_index": writer.index})


def plan_merge(paths: Sequence[Path], sort: str, command: str | None) -> tuple[str, list[list[Path]]]:
    """Return (header of the output, the files in order, parts of one run together). Raises InputError, UsageError."""
    check_twice(paths)
    headers = {path: read_header(str(path)) for path in paths}
    contigs = {path: list(map(contig_in, lines_of(header, "SQ"))) for path, header in headers.items()}
    for path, header in headers.items():
        order = next(iter(lines_of(header, "HD")), "")
        if field(order, "SO") not in (None, "unsorted") or field(order, "GO") != "query":
            raise InputError(path, "is not an unsorted file of readwarp align; use samtools merge for sorted files")
        if contigs[path] != contigs[paths[0]]:
            raise InputError(path, f"has other contigs than {paths[0]}")
        check_ids(path, lines_of(header, "RG"))
    own = [line for header in headers.values() for line in lines_of(header, "RG")]
    programs = merge_programs(list(headers.values()))
    comments = merge_comments(list(headers.values()))
    lines = program_lines(programs, command) if command else programs
    text = header_text(contigs[paths[0]], sort, merge_lines(own), lines, comments)
    return text, group_parts(headers)


def group_parts(headers: dict[Path, str]) -> list[list[Path]]:
    """Group complete sets of parts, sorted by number, and single files, in the given order."""
    groups: list[list[Path]] = []
    waiting: dict[int, Path] = {}
    of, run = 0, ""
    for path, header in headers.items():
        comment = part_in(header)
        if comment is None:
            groups.append([path])
            continue
        part, own = parts.parse_part(comment[0]), comment[1]
        if part.number in waiting or (waiting and part.of != of):
            raise InputError(path, f"is part {part}, and {waiting.get(part.number, 'the others')} of the same run too")
        if waiting and own != run:
            other = next(iter(waiting.values()))
            raise InputError(
                path, f"is from another run than {other}: reads, options, reference or readwarp version differ"
            )
        of, run = part.of, own
        waiting[part.number] = path
        if len(waiting) == of:
            groups.append([waiting[number] for number in range(1, of + 1)])
            waiting = {}
    if waiting:
        missing = ", ".join(str(number) for number in range(1, of + 1) if number not in waiting)
        raise InputError(next(iter(waiting.values())), f"is one of {of} parts, but these are missing: {missing}")
    return groups


def merge_records(groups: list[list[Path]], references: Sequence[str], rules: DuplicateRules) -> Iterator[Encoded]:
    """Yield all records in the order of the reads."""
    for paths in groups:
        if len(paths) == 1:
            yield from read_checked(paths[0], references, rules)
            continue
        streams = [split_blocks(read_checked(path, references, rules), parts.BLOCK) for path in paths]
        while streams:
            for stream in list(streams):
                block = next(stream, None)
                if block is None:
                    streams.remove(stream)
                else:
                    yield from block


def read_checked(path: Path, references: Sequence[str], rules: DuplicateRules) -> Iterator[Encoded]:
    """Yield the records of a file. Raises InputError if a record lacks the UMI by which molecules are found."""
    seen = 0
    for records in read_records(path, references):
        if rules.umis and (bad := find_bad_umi(records, rules.duplex)) >= 0:
            wanted = "of two parts of equal length " if rules.duplex else ""
            raise InputError(path, f"has no UMI {wanted}in RX: was it aligned with --umi?", seen + bad + 1)
        seen += len(records)
        yield records
