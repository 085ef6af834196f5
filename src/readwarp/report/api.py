"""Provide readwarp.report, the command `readwarp report` from Python."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Unpack

from readwarp.config.commands import ReportOptions
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_inputs, check_output
from readwarp.python.keywords import AnyPath, as_paths, as_texts, command_line, path_or_none
from readwarp.report import page, statistics
from readwarp.report.inputs import Sample, complete, samples_in, stem, tell_apart
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Reporter, Result
from readwarp.system.machine import usable_threads


def report(
    *folders: AnyPath,
    output: AnyPath | None = None,
    progress: Listener | bool | None = None,
    **options: Unpack[ReportOptions],
) -> Result:
    """Show one sample or several on one HTML page, as `readwarp report` does.

    folders: output folders of `readwarp.run`; or give bam, vcf and metrics. output: the page, by default report.html in
    the folder, or in the current one for several. progress: a function that is called with a `Progress`, True for a
    bar, False for none; None: a bar in a notebook.

        readwarp.report("results", force=True)
        readwarp.report(bam="sample.bam", vcf="sample.vcf.gz", output="sample.html")

    Returns the path that was written (report) and the metrics. Raises UsageError and InputError, each a ReadwarpError.
    """
    command = command_line("report", ReportOptions, options, *folders, output=output)
    with reporting(command, progress) as reporter:
        return run_report(folders, output, options, command, reporter)


def run_report(
    folders: Sequence[AnyPath], output: AnyPath | None, options: ReportOptions, command: str, reporter: Reporter
) -> Result:
    """Make the texts and the page. Raises ReadwarpError."""
    path = Path(output or Path(folders[0] if len(folders) == 1 else "") / "report.html")
    samples, texts_in = samples_of(folders, options), path_or_none(options.get("statistics"))
    inputs = [file for s in samples for file in (*s.files, *s.made_with)]
    check_output(path, options.get("force", False), inputs)
    check_inputs(inputs)
    threads = options.get("threads") or usable_threads()
    if any(sample.alignments for sample in samples):
        reporter.prepare("report", threads)
    with reporter.progress("statistics", "files") as meter:
        texts = statistics.make(samples, texts_in, threads, meter.reach)
    title = options.get("title") or (samples[0].name if len(samples) == 1 else f"{len(samples)} samples")
    page.write(samples, texts, path, page.Heading(title, command), texts_in)
    return Result.of(reporter.metrics, {"report": path})


def samples_of(folders: Sequence[AnyPath], options: ReportOptions) -> list[Sample]:
    """Return the samples of the folders, then those of bam, vcf and metrics. Raises UsageError and InputError."""
    made_with = path_or_none(options.get("reference")), as_texts(options.get("targets"))
    samples = [sample for folder in folders for sample in samples_in(Path(folder), *made_with)]
    listed = [options.get("bam", ()), options.get("vcf", ()), options.get("metrics", ())]
    given = [[Path(path) for path in as_paths(files)] for files in listed]
    if len({len(files) for files in given if files}) > 1:
        raise UsageError("give equal numbers of --bam, --vcf and --metrics, or none of a kind")
    for bam, vcf, metrics in zip_longest(*given):
        samples.append(complete(Sample(stem(bam or vcf or metrics), bam, vcf, metrics, *made_with)))
    if not samples:
        raise UsageError("nothing to report: give output folders of `readwarp run`, or --bam, --vcf, --metrics")
    return tell_apart(samples)
