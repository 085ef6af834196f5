"""The run job: the reads of one sample to a folder with alignments, variants, metrics and a report."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from readwarp.align.inputs import Inputs
from readwarp.align.job import AlignJob, align_reads, choose_side, facts_of, open_index
from readwarp.call.places.targets import bases_of
from readwarp.caller import job as calling
from readwarp.caller import opening
from readwarp.caller.opening import CallJob
from readwarp.errors import UsageError
from readwarp.finish import segments
from readwarp.formats.alignments.header import field
from readwarp.formats.common.files import (
    check_apart,
    check_output,
    check_replaceable,
    check_resume,
    clear_remains,
    locked,
)
from readwarp.formats.common.names import file_problem
from readwarp.formats.common.writing import write_whole
from readwarp.index import Index
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.report import links, multiqc, statistics
from readwarp.report.inputs import Sample
from readwarp.stream.reporter import Reporter, Result
from readwarp.system.stopping import completed, followed

FACTS = (
    "flagstat",
    "insert_sizes",
    "insert_sizes_of_read_groups",
    "adapters",
    "family_sizes",
    "align_seconds",
    "reads_per_second",
    "reads_of_earlier_runs",
    "device",
)
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    folder: Path  # of the results, made if missing
    alignment: AlignJob  # to a sorted, duplicate-marked and indexed BAM file in the folder
    calling: CallJob  # from these alignments to a VCF.gz file in the folder
    report: bool = True
    force: bool = False  # replace existing results

    @property
    def alignments(self) -> Path:
        (made,) = self.calling.alignments
        return made

    @property
    def variants(self) -> Path:
        assert self.calling.output is not None
        return self.calling.output

    @property
    def metrics_file(self) -> Path:
        return self.folder / "metrics.json"

    @property
    def page(self) -> Path:
        return self.folder / "report.html"

    @property
    def kernels(self) -> str:
        """The name of the job in the table of kernels."""
        return self.alignment.kernels.replace("align", "run")


def sample_of(inputs: Inputs) -> str:
    """Return the one sample of all read groups, after which the results are named. Raises UsageError."""
    groups = {field(line, "SM") or field(line, "ID") or "sample": field(line, "ID") for line in inputs.read_groups}
    if len(groups) > 1:
        named = ", ".join(sorted(groups))
        raise UsageError(f"run takes the reads of one sample, not of {named} (if these are one, give --sample NAME)")
    ((sample, group),) = groups.items()
    if problem := file_problem(sample):
        text = f"read group {group}: its sample {sample} {problem}, so no file can be named after it"
        raise UsageError(f"{text}: give --sample NAME")
    return sample


def run_sample(job: RunJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError, after removing the folder if the job made it and left it empty."""
    is_new = make_folder(job.folder)
    try:
        resumes = job.alignment.resume and (note_of(job.alignments).exists() or not job.metrics_file.exists())
        inputs = [job.alignment.reference, *job.alignment.inputs.files]
        files = (job.alignments, *filter(None, job.calling.outputs))  # files that another process may be writing
        check_apart((*files, job.metrics_file, job.page))
        calling.check_beside(job.calling)
        clear_remains(*files)
        for output in (*files, job.metrics_file, job.page):
            check_output(output, job.force or resumes, inputs)  # with nothing to resume, everything is complete
        for path in followers_of(job, made_sample(job)):
            check_replaceable(path)
        check_resume(job.alignment.resume, [job.alignments], job.alignment.inputs.files)
        if not job.alignment.resume and not job.force:
            segments.check_none(job.alignments)
        with locked(*files):
            with followed():
                sample, texts, found = make_results(job, reporter)
            completed()  # the rest takes a moment
            show_results(job, sample, texts, reporter)
            return Result.of(reporter.metrics, found)
    except BaseException:
        if is_new and not any(job.folder.iterdir()):
            job.folder.rmdir()
        raise


def make_results(job: RunJob, reporter: Reporter) -> tuple[Sample, list[statistics.Statistics], dict[str, Path | None]]:
    """Make the results with outputs checked and locked; return the sample, the report's texts, and the paths."""
    bam, metrics = job.alignments, reporter.metrics
    alignment, backend = job.alignment, choose_side(job.alignment)
    reporter.prepare(job.kernels, alignment.resources.threads, backend.needed_by)
    index = open_index(alignment, reporter)
    named = {name for line in alignment.inputs.read_groups if (name := field(line, "SM"))}
    opening.check_files(job.calling, index.reference, sorted(named) or [bam.name.split(".")[0]])
    if not is_aligned(bam, alignment, index, metrics):
        align_reads(alignment, index, backend, reporter)
        if alignment.resume:
            write_note(bam, alignment, index, metrics)
    sample = made_sample(job)
    for stale in followers_of(job, sample):
        stale.unlink(missing_ok=True)  # --force was given
    called = call_sample(job, index.reference, reporter)
    texts: list[statistics.Statistics] = []
    if job.report:
        with reporter.progress("statistics", "files") as meter:
            texts = statistics.make([sample], None, alignment.resources.threads, meter.reach)
        metrics.lap("statistics")
    bai = next((path for ending in ("bai", "csi") if (path := Path(f"{bam}.{ending}")).exists()), None)
    page = job.page if job.report else None
    files = {"alignments": bam, "alignments_index": bai, **called.paths, "metrics": job.metrics_file, "report": page}
    return sample, texts, files


def made_sample(job: RunJob) -> Sample:
    """Return the files for the report."""
    targets = (str(bed),) if (bed := targets_of(job)) else ()
    bam = job.alignments
    return Sample(bam.stem, bam, job.variants, job.metrics_file, job.alignment.reference, targets)


def followers_of(job: RunJob, sample: Sample) -> tuple[Path, ...]:
    """Return the files made after the alignments, from them or each other."""
    variants = (job.variants, *(Path(f"{job.variants}.{ending}") for ending in ("tbi", "csi")))
    texts = (*statistics.texts_of(sample).values(), *multiqc.files_of(sample))
    return *variants, job.metrics_file, job.page, links.session_path(job.page), *texts


def show_results(job: RunJob, sample: Sample, texts: list[statistics.Statistics], reporter: Reporter) -> None:
    """Write metrics and report, which complete the run."""
    reporter.write_metrics(job.metrics_file)
    if job.report:
        from readwarp.report.page import Heading, write  # only on demand

        write([sample], texts, job.page, Heading(sample.name))
    note_of(job.alignments).unlink(missing_ok=True)


def call_sample(job: RunJob, reference: Reference, reporter: Reporter) -> Result:
    """Call variants in the folder's alignments, and record the mean depth."""
    metrics, call = reporter.metrics, job.calling
    result = calling.call_variants(call, reference, reporter)
    metrics.lap("call")
    bases = bases_of(call.places.find(reference))
    targets = targets_of(job)
    files = {"reference": call.reference, **({"targets": targets} if targets else {})}
    metrics.note(
        mean_depth=round(metrics.counts.get("bases_counted", 0) / max(1, bases), 2),
        **{name: str(path.resolve()) for name, path in files.items()},
    )
    return result


def targets_of(job: RunJob) -> Path | None:
    """Return the file of intervals if calling is restricted to it: the report gives their depth."""
    places = job.calling.places
    is_alone = len(places.targets) == 1 and places.regions is None and not places.excluded and not places.padding
    return places.files[0] if is_alone and places.files else None


def make_folder(folder: Path) -> bool:
    """Make the folder of the results; return whether it is new."""
    check_replaceable(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; -o names the folder for the results")
    try:
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        return is_new
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({(error.strerror or 'unknown').lower()})") from None


def note_of(bam: Path) -> Path:
    """Return the note of --resume on complete alignments: which job made them, and its counts."""
    return Path(f"{bam}.aligned.json")


def is_aligned(bam: Path, job: AlignJob, index: Index, metrics: Metrics) -> bool:
    """Return whether an earlier run of the same job has completed `bam`; if so, add its counts to the metrics.

    If not, remove the note, since another `bam` will be written.
    """
    note = note_of(bam)
    written = json.loads(note.read_text()) if job.resume and bam.exists() and note.exists() else {}
    is_same = bool(written) and written["bytes"] == bam.stat().st_size
    if not is_same or written["job"] != json.loads(json.dumps(facts_of(job, index))):
        note.unlink(missing_ok=True)
        return False
    for name, number in written["counts"].items():
        metrics.count(name, number)
    metrics.note(**written["facts"])
    return True


def write_note(bam: Path, job: AlignJob, index: Index, metrics: Metrics) -> None:
    facts = {name: metrics.facts[name] for name in FACTS if name in metrics.facts}
    content = {"bytes": bam.stat().st_size, "job": facts_of(job, index), "counts": metrics.counts, "facts": facts}
    write_whole(note_of(bam), json.dumps(content).encode())
