"""readwarp.index: the command `readwarp index` in Python."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from readwarp.config import PRESETS, SeedParameters, find_preset
from readwarp.config.commands import IndexOptions
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_inputs, check_output
from readwarp.formats.common.index_file import is_index
from readwarp.index import build_file, index_path
from readwarp.index.place import explain_place
from readwarp.python.keywords import AnyPath, command_line
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Reporter, Result
from readwarp.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexJob:
    reference: Path
    output: Path
    parameters: SeedParameters
    threads: int = 1
    memory: int | None = None  # bytes; None: the free memory less a margin
    force: bool = False


def index(
    reference: AnyPath,
    *,
    output: AnyPath | None = None,
    progress: Listener | bool | None = None,
    **options: Unpack[IndexOptions],
) -> Result:
    """Build and save the index of a reference, like `readwarp index`; `readwarp.Index` keeps it in memory instead.

    reference: FASTA, GenBank or EMBL. output: the index, by default REF.rwx. progress: a function called with a
    `Progress`, True for a bar, False for none; None: a bar in a notebook.

        readwarp.index("ref.fa")
        readwarp.index("ref.fa", output="short.rwx", preset="short", force=True)

    Returns the path written (index) and the metrics. Raises UsageError, InputError and MemoryBudgetError, each a
    ReadwarpError.
    """
    command = command_line("index", IndexOptions, options, reference, output=output)
    with reporting(command, progress) as reporter:
        return run_index(make_job(reference, output, options, command), reporter)


def make_job(reference: AnyPath, output: AnyPath | None, options: IndexOptions, _: str) -> IndexJob:
    """Make the job that these options ask for. _: the command, which an index does not name.

    Raises UsageError and InputError.
    """
    parameters, resources = choose_seeds(options), resources_of(options)
    check_inputs([reference])
    if output is None and is_index(Path(reference)):
        raise UsageError(f"{reference}: is an index already (-o FILE makes one with other seeds from it)")
    return IndexJob(
        reference=Path(reference),
        output=Path(output) if output else index_path(Path(reference)),
        parameters=parameters,
        threads=resources.threads,
        memory=resources.memory,
        force=options.get("force", False),
    )


def choose_seeds(options: IndexOptions) -> SeedParameters:
    """Return the seed parameters of the options. Raises UsageError."""
    preset = PRESETS[find_preset(options.get("preset") or "standard")].parameters.seed
    k, s = options.get("k") or preset.k, options.get("s") or preset.s
    if (k - s) % 2:
        raise UsageError(f"-k {k} -s {s}: k - s must be even")
    return SeedParameters(k=k, s=s, t=(k - s) // 2)


def run_index(job: IndexJob, reporter: Reporter) -> Result:
    """Run the index job. Raises ReadwarpError."""
    started = time.perf_counter()
    check_output(job.output, job.force, [job.reference])
    reporter.prepare("index", job.threads)
    with reporter.metrics.time("index_build"), reporter.compiling():
        built = build_file(job.reference, job.output, job.parameters, job.threads, job.memory)
    for name, number in built._asdict().items():
        reporter.metrics.count(f"index_{name}", number)
    logging.getLogger("readwarp").info(
        "%s: %s, %s, %s (k=%d, s=%d), %.1f s",
        *(job.output, counted(built.contigs, "contig"), counted(built.bases, "base"), counted(built.seeds, "seed")),
        *(job.parameters.k, job.parameters.s, time.perf_counter() - started),
    )
    if where := explain_place(job.output, job.reference):
        logging.getLogger("readwarp").info("the index is%s", where.partition(" (")[0])
    return Result.of(reporter.metrics, {"index": job.output})
