"""report: one HTML page on one sample or several."""

import argparse
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.cli import options as shared
from readwarp.errors import UsageError

if TYPE_CHECKING:
    from readwarp.report.inputs import Sample

EPILOG = """\
examples:
  readwarp report results
  readwarp report sample1 sample2 sample3 -o cohort.html
  readwarp report --bam sample.bam --vcf sample.vcf.gz --reference ref.fa -o sample.html

The page is complete in itself and fetches nothing; beside it is a session for IGV. The output of samtools stats,
flagstat and idxstats and of bcftools stats and the depth are written beside each BAM and VCF, where MultiQC reads them;
what is there and newer is used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="output folders of readwarp run")
    shared.add_output(parser, "the page [report.html in DIR; in the current folder for several]")
    group = parser.add_argument_group("samples")
    for name, text in (
        ("bam", "sorted and indexed BAM or CRAM; may be repeated, one for each sample"),
        ("vcf", "VCF, VCF.gz or BCF of the same samples, in the same order"),
        ("metrics", "metrics.json of the same samples, in the same order"),
    ):
        dest = f"{name}_files"
        group.add_argument(f"--{name}", dest=dest, action="append", type=Path, default=[], metavar="FILE", help=text)
    text = "FASTA, for mismatches by cycle and for CRAM [as metrics.json says]"
    group.add_argument("--reference", type=Path, metavar="REF", help=text)
    text = "depth in these intervals alone [as metrics.json says]"
    group.add_argument("-L", "--targets", type=Path, metavar="BED", help=text)
    group.add_argument("--title", metavar="TEXT", help="heading of the page [the sample's name]")
    group.add_argument("--statistics", type=Path, metavar="DIR", help="folder of the texts [beside BAM and VCF]")
    shared.add_threads(group)
    shared.add_reporting(parser, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import CommandReporter
    from readwarp.device.machine import usable_threads
    from readwarp.formats.common.files import check_inputs, check_output
    from readwarp.report import page, statistics

    folder = options.folders[0] if len(options.folders) == 1 else Path()
    output = options.output or folder / "report.html"
    samples = samples_of(options)
    inputs = [file for s in samples for file in (*s.files, s.reference, s.targets) if file]
    check_output(output, options.force, inputs)
    check_inputs(inputs)
    with CommandReporter(options) as reporter:
        with reporter.progress("statistics", "tools") as progress:
            texts = statistics.make(samples, options.statistics, options.threads or usable_threads(), progress.reach)
        names = [sample.name for sample in samples]
        title = options.title or (names[0] if len(names) == 1 else f"{len(names)} samples")
        page.write(samples, texts, output, page.Heading(title, options.command_line), options.statistics)
    if not options.quiet:
        print(output)


def samples_of(options: argparse.Namespace) -> "list[Sample]":
    """The samples of the folders, then those of --bam, --vcf and --metrics. Raises UsageError."""
    from readwarp.report.inputs import Sample, complete, samples_in, stem, tell_apart

    made_with = options.reference, options.targets
    samples = [sample for folder in options.folders for sample in samples_in(folder, *made_with)]
    given = (options.bam_files, options.vcf_files, options.metrics_files)
    if len({len(files) for files in given if files}) > 1:
        raise UsageError("give --bam, --vcf and --metrics as often as each other, or not at all")
    for bam, vcf, metrics in zip_longest(*given):
        samples.append(complete(Sample(stem(bam or vcf or metrics), bam, vcf, metrics, *made_with)))
    if not samples:
        raise UsageError("nothing to report: name output folders of readwarp run, or --bam, --vcf, --metrics")
    return tell_apart(samples)
