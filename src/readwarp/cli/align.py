"""align: reads to alignments."""

import argparse
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from readwarp.cli import options as shared
from readwarp.config import PRESETS, AlignParameters
from readwarp.errors import UsageError

if TYPE_CHECKING:
    from readwarp.cli.align_job import AlignJob

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --sort coordinate --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  bcl2fastq ... | readwarp align --interleaved ref.fa - | samtools view -b > out.bam
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz --part 2/8 --resume -o part.2.bam

The index REF.rwx is built when it is absent.
"""
SORTS = ("coordinate", "name", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    shared.add_output(parser, "SAM, BAM or CRAM by its ending [SAM to stdout]")
    group = parser.add_argument_group("output")
    group.add_argument("--sort", choices=SORTS, default="none", help="order of the records [none: as the reads come]")
    group.add_argument("--mark-duplicates", action="store_true", help="flag duplicates; needs --sort coordinate")
    group.add_argument("--write-index", action="store_true", help="write .bai or .crai; needs --sort coordinate")
    group.add_argument("--no-pg", action="store_true", help="no @PG line in the header")
    add_alignment(parser)
    shared.add_scoring(parser)
    group = parser.add_argument_group("clusters")
    group.add_argument(
        "--part", metavar="I/N", help="align every N-th block of reads, from the I-th; `readwarp merge` joins the parts"
    )
    shared.add_resume(group)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """--preset -I --min-score -Y --eqx; read by `parameters`."""
    default = PRESETS["standard"].parameters.records
    group = parser.add_argument_group("alignment")
    group.add_argument(
        "--preset",
        choices=PRESETS,
        help=f"{shared.kinds_of_reads()} [standard, with the seeds of the index that is there]",
    )
    group.add_argument(
        "-I",
        "--insert-size",
        type=insert_size,
        metavar="MEAN[,SD[,MAX[,MIN]]]",
        help="insert sizes of forward-reverse pairs; without SD a tenth of MEAN, without MAX and MIN four SD around it "
        "[estimated from the first pairs of each input]",
    )
    group.add_argument(
        "--min-score",
        type=shared.natural,
        metavar="N",
        help=f"lowest score to report [{default.min_score}]",
    )
    group.add_argument(
        "-Y", "--soft-clip", action="store_true", help="soft clips in supplementary alignments instead of hard ones"
    )
    group.add_argument("--eqx", action="store_true", help="= and X in CIGARs instead of M")


def insert_size(text: str) -> tuple[float | int, ...]:
    """MEAN[,SD[,MAX[,MIN]]] -> numbers."""
    parts = text.split(",")
    try:
        if not 1 <= len(parts) <= 4:
            raise ValueError
        numbers = (*map(float, parts[:2]), *map(int, parts[2:]))
        if not all(map(isfinite, numbers)):
            raise ValueError
        return numbers
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MEAN[,SD[,MAX[,MIN]]]") from None


def parameters(options: argparse.Namespace) -> AlignParameters:
    """Of the preset, with what is given besides."""
    preset = PRESETS[options.preset or "standard"].parameters
    records = replace(preset.records, soft_clip_supplementary=options.soft_clip, eqx=options.eqx)
    if options.min_score is not None:
        records = replace(records, min_score=options.min_score)
    return replace(preset, scoring=shared.scoring(options, preset.scoring), records=records)


def run(options: argparse.Namespace) -> int:
    from readwarp.cli.align_job import align
    from readwarp.cli.reporting import Reporter
    from readwarp.formats.alignments.output import format_of
    from readwarp.formats.common.lock import locked

    shared.check_output(options.output, options.force, [options.reference, *options.reads])
    if options.write_index and options.sort != "coordinate":
        raise UsageError("--write-index needs --sort coordinate")
    shared.check_resume(options.resume, [options.output], options.reads)
    if options.part and (options.sort != "none" or format_of(options.output) != "bam"):
        raise UsageError("--part: parts are BAM files as the reads come; readwarp merge sorts and marks them")
    job = job_of(options)
    with locked(options.output), Reporter(options) as reporter:
        align(job, reporter)
    return 0


def job_of(options: argparse.Namespace) -> "AlignJob":
    from readwarp.align.pair import given
    from readwarp.cli.align_job import AlignJob
    from readwarp.cli.inputs import open_inputs
    from readwarp.formats.alignments.output import format_of
    from readwarp.stream.parts import WHOLE, part_of

    part = getattr(options, "part", None)
    return AlignJob(
        reference=options.reference,
        inputs=open_inputs(options),
        output=None if options.output is None else str(options.output),
        parameters=parameters(options),
        resources=shared.resources(options),
        seeds=PRESETS[options.preset].parameters.seed if options.preset else None,
        sort=options.sort,
        mark_duplicates=options.mark_duplicates,
        write_index=options.write_index,
        insert_sizes=given(*options.insert_size) if options.insert_size else None,
        command=None if options.no_pg else options.command_line,
        part=part_of(part) if part else WHOLE,
        resume=options.resume,
        stages=("text",) if options.sort == "none" and format_of(options.output) == "sam" else ("formats",),
    )
