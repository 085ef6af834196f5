"""Calling and genotyping jobs on files, run in this process."""

from pathlib import Path

from readwarp.call.places.targets import CallTargets
from readwarp.caller.job import run_call
from readwarp.caller.opening import CallJob
from readwarp.cohort.job import GenotypeJob, run_genotype
from readwarp.config import CallParameters, Resources
from readwarp.metrics import Metrics
from readwarp.python.keywords import as_paths
from readwarp.stream.reporter import Reporter


def call_variants(reference, alignments, output, parameters=None, resources=None, progress=None, **options) -> Metrics:
    """What the job has counted."""
    reporter = Reporter("x", progress)
    job = CallJob(
        reference=Path(reference),
        alignments=tuple(map(Path, as_paths(alignments))),
        output=Path(output),
        parameters=parameters or CallParameters(),
        resources=resources or Resources(),
        command="x",
        force=True,
        **with_places(options),
    )
    run_call(job, reporter)
    return reporter.metrics


def with_places(options: dict) -> dict:
    """Regions, targets, excluded and padding as `CallTargets`."""
    own = {name: options.pop(name) for name in CallTargets.__dataclass_fields__ if name in options}
    return options | {
        "places": CallTargets(**{name: tuple(x) if isinstance(x, list) else x for name, x in own.items()})
    }


def genotype_cohort(reference, inputs, output, resources=None, **options) -> Metrics:
    """What the job has counted."""
    reporter = Reporter("x")
    job = GenotypeJob(
        reference=Path(reference),
        inputs=tuple(inputs),
        output=Path(output),
        resources=resources or Resources(),
        command="x",
        force=True,
        **with_places(options),
    )
    run_genotype(job, reporter)
    return reporter.metrics
