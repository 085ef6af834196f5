"""readwarp.run: the command `readwarp run` in Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from readwarp.align.api import make_job as make_align_job
from readwarp.call.places.targets import spell_regions
from readwarp.call.reads.platforms import platform_of
from readwarp.caller.api import make_job as make_call_job
from readwarp.caller.opening import check_reads
from readwarp.config import CALLED_PRESETS, PRESETS, find_preset
from readwarp.config.combinations import check_together
from readwarp.config.commands import RunOptions
from readwarp.config.declare import chosen
from readwarp.config.options import StepOptions
from readwarp.errors import UsageError
from readwarp.formats.alignments.header import field
from readwarp.formats.common.qualities import PHRED33
from readwarp.python.keywords import AnyPath, command_line
from readwarp.run.job import RunJob, run_sample, sample_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result

FILES = (".bam", ".cram", ".sam", ".vcf", ".gz", ".bcf", ".html")  # endings that no folder has


def run(
    reference: AnyPath,
    *reads: AnyPath,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Align the reads of one sample, sort, mark duplicates, index and call variants, like `readwarp run`.

    reference: FASTA, GenBank or EMBL, whose index is built if absent, or an index. reads: FASTQ, BAM or CRAM; two FASTQ
    files are mates, more are further pairs. output: the folder of the results. progress: called now and then in this
    thread with a `Progress`; an exception from it ends the job. options: the long options of the command with
    underscores, such as gvcf=True, no_report=True, threads=8 (`RunOptions`).

        readwarp.run("ref.fa", "sample_1.fq.gz", "sample_2.fq.gz", output="results")

    Returns the paths written (alignments, alignments_index, variants, variants_index, metrics, report) and the metrics.
    Raises UsageError, InputError, DeviceError, MemoryBudgetError, each a ReadwarpError.
    """
    spell_regions(options)
    command = command_line("run", RunOptions, options, reference, *reads, output=output)
    with reporting(command, progress) as reporter:
        return run_sample(make_job(reference, reads, output, options, command), reporter)


def make_job(
    reference: AnyPath, reads: Sequence[AnyPath], folder: AnyPath, options: RunOptions, command: str
) -> RunJob:
    """Make the job that these options ask for. Raises InputError and UsageError."""
    if Path(folder).suffix in FILES and not Path(folder).exists():
        plain = Path(folder).with_name(Path(folder).name.split(".")[0])
        raise UsageError(
            f"{folder}: -o names the folder for the results, whose files are named after the sample: {plain}"
        )
    check_together("run", options)
    asked = chosen(StepOptions(), options)
    platform = PRESETS[find_preset(options.get("preset") or "standard", CALLED_PRESETS)].platform
    is_long = platform != "short"  # long reads start alike by chance, or are not copied
    tells_copies = options.get("umi") is not None  # even of amplicons, whose fragments start alike
    is_amplicon = asked.no_mark_duplicates or (options.get("primers") is not None and not tells_copies)
    marks = not (is_amplicon or is_long)
    sorting = {"sort": "coordinate", "mark_duplicates": marks, "write_index": True}
    given: Any = options  # each job takes its own
    alignment = make_align_job(reference, reads, None, given | sorting, command)
    if is_long and options.get("platform", "auto") == "auto":
        given = given | {"platform": platform}
    stem = Path(folder) / sample_of(alignment.inputs)
    bam = Path(f"{stem}.bam")
    vcf = Path(f"{stem}.g.vcf.gz" if options.get("gvcf") else f"{stem}.vcf.gz")
    calling = make_call_job(reference, bam, vcf, given, command)
    kinds = [field(line, "PL") or "" for line in alignment.inputs.read_groups]
    check_reads(calling, "run", platform_of(calling.parameters.platform, kinds), 1)
    return RunJob(
        folder=Path(folder),
        alignment=replace(alignment, output=bam),
        calling=replace(calling, phred=PHRED33, samples=()),
        report=not asked.no_report,
        force=options.get("force", False),
    )
