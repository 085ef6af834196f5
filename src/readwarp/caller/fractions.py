"""Call alleles by fractions, for --mixture and --somatic: few runs need what this imports."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial

from readwarp.call.records.counts import warn_of_limits
from readwarp.call.windows.run import Calling
from readwarp.caller.opening import CallJob, open_calling
from readwarp.errors import UsageError
from readwarp.formats.variants.vcf import VariantWriter
from readwarp.index.reference import Reference
from readwarp.somatic.fractions.shortlist import FRACTION_FIELDS
from readwarp.somatic.genome import ConsensusGenome
from readwarp.somatic.given import check_roles, warn_of_inherited
from readwarp.somatic.run import given_of, write_fractions
from readwarp.stream.processes import may_fork
from readwarp.stream.reporter import Reporter, Result

FRACTION_KERNELS = "call.fractions"  # in the manifest


def call_fractions(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call variants for --mixture and --somatic."""
    metrics = reporter.metrics

    def open_output(extra: Sequence[str]) -> AbstractContextManager[VariantWriter]:
        return job.open_output(reference, calling.samples, FRACTION_FIELDS._replace(extra=extra))

    prepare = partial(reporter.prepare, FRACTION_KERNELS, job.resources.threads)
    with metrics.time("call"), open_calling(job, reference, metrics, may_fork(), prepare) as calling:
        check_fractions(job, calling)
        prepare()
        with calling.open_workers(FRACTION_KERNELS) as workers, reporter.progress("calling", "bases") as meter:
            genome = None
            if job.consensus:
                genome = ConsensusGenome(job.consensus, reference, calling.targets, job.genome.consensus_share)
            index = write_fractions(calling, workers, open_output, meter, genome)
    warn_of_limits(job.primers, metrics)
    warn_of_inherited(given_of(calling.steps), job.parameters, metrics.counts.get("variants_pass", 0))
    return Result.of(metrics, {"variants": job.output, "variants_index": index, "consensus": job.consensus})


def check_fractions(job: CallJob, calling: Calling) -> None:
    """Raise UsageError for samples that do not fit the mode."""
    assert job.parameters.fractions is not None
    if job.consensus and len(calling.samples) > 1:
        raise UsageError(f"--consensus takes one sample; choose it with --sample: {', '.join(calling.samples)}")
    check_roles(job.parameters.fractions, calling.samples, bool(job.samples))
    warn_of_inherited(given_of(calling.steps), job.parameters)
