"""merge: alignments of parts and lanes to one file, sorted, marked and indexed."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.cli import options as shared
from readwarp.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readwarp.formats.alignments.sam import Encoded

EPILOG = """\
examples:
  readwarp merge part.*.bam -o sample.bam --sort coordinate --mark-duplicates --write-index
  readwarp merge lane1.bam lane2.bam -o sample.cram --reference ref.fa --sort coordinate --mark-duplicates

Inputs are BAM files that `readwarp align` wrote without --sort. Parts (--part I/N) are put together as if they had been
aligned in one run, lanes in the order given as if they had been its inputs; so the records are those of that run.
"""
SORTS = ("coordinate", "name", "none")
SORT_BYTES = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alignments", nargs="+", type=Path, metavar="BAM", help="parts and lanes, not sorted")
    shared.add_output(parser, "BAM, CRAM or SAM by its ending; - is SAM on stdout")
    group = parser.add_argument_group("output")
    group.add_argument("--sort", choices=SORTS, default="none", help="order of the records [none: as the reads came]")
    group.add_argument("--mark-duplicates", action="store_true", help="flag duplicates; needs --sort coordinate")
    group.add_argument("--write-index", action="store_true", help="write .bai or .crai; needs --sort coordinate")
    group.add_argument("--reference", type=Path, metavar="REF", help="for CRAM")
    group.add_argument("--no-pg", action="store_true", help="no @PG line of this command in the header")
    group = parser.add_argument_group("resources (none of them changes the output)")
    group.add_argument("-t", "--threads", type=shared.count, metavar="N", help="CPU threads [all it may use]")
    group.add_argument("--memory", type=shared.size, metavar="SIZE", help="for sorting [1G]")
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    from readwarp.cli.reporting import Reporter
    from readwarp.device.machine import usable_threads
    from readwarp.formats.alignments.output import AlignmentWriter, Finish
    from readwarp.formats.common.lock import locked

    if options.output is None:
        raise UsageError("merge needs an output file (-o)")
    shared.check_inputs(options.alignments)
    shared.check_output(options.output, options.force, options.alignments)
    with locked(options.output), Reporter(options) as reporter:
        header, groups = planned(options.alignments, options.sort, None if options.no_pg else options.command_line)
        started, templates = time.perf_counter(), 0
        memory = options.memory or SORT_BYTES
        with (
            reporter.progress("merging", "reads") as progress,
            AlignmentWriter(
                str(options.output),
                header,
                Finish(options.sort, options.mark_duplicates, options.write_index, memory),
                threads=options.threads or usable_threads(),
                reference=None if options.reference is None else str(options.reference),
                binary=True,
            ) as writer,
        ):
            for records in merged(groups):
                writer.write(records)
                progress.advance(len(records))
                templates += len(records)
            progress.phase("sorting" if options.sort != "none" else "completing")
        reporter.metrics.count("records", templates)
        if options.mark_duplicates:
            reporter.metrics.count("duplicates", writer.duplicates)
        reporter.metrics.note(merge_seconds=round(time.perf_counter() - started, 3))
    return 0


def planned(paths: "Sequence[Path]", sort: str, command: str | None) -> tuple[str, list[list[Path]]]:
    """(header of the output, the files in order: the parts of one run together). Raises InputError."""
    from readwarp.cli.inputs import merged_programs
    from readwarp.formats.alignments.header import PART, field, header_text, lines_of, merge_lines, program_lines
    from readwarp.formats.reads.bam import read_header

    for path in paths:
        if list(paths).count(path) > 1:
            raise UsageError(f"{path}: is given twice")
    headers = {path: read_header(str(path)) for path in paths}
    contigs = [lines_of(header, "SQ") for header in headers.values()]
    for path, header in headers.items():
        order = next(iter(lines_of(header, "HD")), "")
        if field(order, "SO") not in (None, "unsorted") or field(order, "GO") != "query":
            raise InputError(
                path, "is not as readwarp align writes it without --sort; samtools merge joins sorted files"
            )
        if lines_of(header, "SQ") != contigs[0]:
            raise InputError(path, f"its contigs are not those of {paths[0]}")
    own = [line for header in headers.values() for line in lines_of(header, "RG")]
    programs = merged_programs(list(headers.values()))
    comments = [line for header in headers.values() for line in lines_of(header, "CO") if not line.startswith(PART)]
    named = ((field(line, "SN") or "", int(field(line, "LN") or 0), field(line, "M5") or "") for line in contigs[0])
    lines = program_lines(programs, command) if command else programs
    return header_text(named, sort, merge_lines(own), lines, list(dict.fromkeys(comments))), grouped(headers)


def grouped(headers: dict[Path, str]) -> list[list[Path]]:
    """Files that stand alone, and complete sets of parts in their order, in the order they were given in."""
    from readwarp.formats.alignments.header import part_in
    from readwarp.stream.parts import part_of

    groups: list[list[Path]] = []
    waiting: dict[int, Path] = {}
    of, run = 0, ""
    for path, header in headers.items():
        said = part_in(header)
        if said is None:
            groups.append([path])
            continue
        part, own = part_of(said[0]), said[1]
        if part.number in waiting or (waiting and part.of != of):
            raise InputError(path, f"is part {part}, and {waiting.get(part.number, 'the others')} of the same run too")
        if waiting and own != run:
            other = next(iter(waiting.values()))
            raise InputError(path, f"is of another run than {other}: other reads, options, reference or readwarp")
        waiting[part.number], of, run = path, part.of, own
        if len(waiting) == of:
            groups.append([waiting[number] for number in range(1, of + 1)])
            waiting = {}
    if waiting:
        missing = ", ".join(str(number) for number in range(1, of + 1) if number not in waiting)
        raise InputError(next(iter(waiting.values())), f"of {of} parts these are missing: {missing}")
    return groups


def merged(groups: list[list[Path]]) -> "Iterator[Encoded]":
    """All records in the order of the reads."""
    from readwarp.formats.alignments.stored import read_stored, split_blocks
    from readwarp.stream.parts import BLOCK

    for paths in groups:
        if len(paths) == 1:
            yield from read_stored(str(paths[0]))
            continue
        streams = [split_blocks(read_stored(str(path)), BLOCK) for path in paths]
        while streams:
            for stream in list(streams):
                block = next(stream, None)
                if block is None:
                    streams.remove(stream)
                else:
                    yield from block
