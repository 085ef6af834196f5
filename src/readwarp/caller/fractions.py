"""Call alleles by fractions, for --mixture and --somatic: few runs need what this imports."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial

from readwarp.call.windows.resources import open_workers
from readwarp.call.windows.run import Calling
from readwarp.caller.opening import CallJob, note_cards, open_calling, reply_of, share_calling
from readwarp.caller.warnings import warn_of_limits
from readwarp.errors import UsageError
from readwarp.formats.variants.vcf import VariantWriter
from readwarp.index.reference import Reference
from readwarp.somatic.fractions.shortlist import FRACTION_FIELDS
from readwarp.somatic.genome.write import ConsensusGenome
from readwarp.somatic.given import check_roles, warn_of_inherited
from readwarp.somatic.run import given_of, write_fractions
from readwarp.stream.processes import may_fork
from readwarp.stream.reporter import Reporter, Result

FRACTION_KERNELS = "call.fractions"  # in the manifest


def call_fractions(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call variants for --mixture and --somatic."""
    metrics = reporter.metrics
    with metrics.time("call"), open_calling(job, reference, metrics, may_fork()) as calling:
        check_fractions(job, calling)
        reporter.prepare(FRACTION_KERNELS, job.resources.threads)
        (state, shared), alignments = share_calling(calling), calling.steps.alignments
        with (
            open_workers(state, calling.plan, alignments, FRACTION_KERNELS, metrics, reply_of(shared)) as workers,
            reporter.progress("calling", "bases") as meter,
        ):
            genome, open_output = open_genome(job, calling), partial(open_fractions, job, reference, calling.samples)
            index = write_fractions(calling, workers, open_output, meter, genome)
        note_cards(calling, shared, metrics)
    warn_of_limits(job, metrics)
    warn_of_inherited(given_of(calling.steps), job.parameters, metrics.counts.get("variants_pass", 0))
    return Result.of(metrics, {"variants": job.output, "variants_index": index, "consensus": job.consensus})


def open_fractions(
    job: CallJob, reference: Reference, samples: Sequence[str], extra: Sequence[str]
) -> AbstractContextManager[VariantWriter]:
    return job.open_output(reference, samples, FRACTION_FIELDS._replace(extra=extra))


def open_genome(job: CallJob, calling: Calling) -> ConsensusGenome | None:
    if job.consensus is None:
        return None
    return ConsensusGenome(job.consensus, calling.steps.reference, calling.targets, job.genome.consensus_share)


def check_fractions(job: CallJob, calling: Calling) -> None:
    """Raise UsageError for samples that do not fit the mode."""
    assert job.parameters.fractions is not None
    if job.consensus and len(calling.samples) > 1:
        raise UsageError(f"--consensus takes one sample; choose it with --sample: {', '.join(calling.samples)}")
    check_roles(job.parameters.fractions, calling.samples, bool(job.samples))
    warn_of_inherited(given_of(calling.steps), job.parameters)
