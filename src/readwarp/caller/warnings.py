"""Warn of what a run of `call` left out."""

import logging

from readwarp.call.candidates.qualities import explain_qualities
from readwarp.caller.opening import CallJob
from readwarp.metrics import Metrics
from readwarp.wording import counted

logger = logging.getLogger("readwarp")
WARNINGS = {  # counter -> noun and the rest of a warning
    "windows_halved": ("window", "too deep for the GPU's memory: split"),
    "windows_on_host": ("window", "too deep for the GPU's memory: called on the CPU"),
    "comparisons_on_host": ("comparison", "of reads with haplotypes too large for the GPU's memory: made on the CPU"),
    "reads_beyond_max_depth": ("read", "left out where the depth exceeds --max-depth"),
    "regions_thinned": ("region", "with too many reads of a sample to compare with haplotypes: some were left out"),
    "regions_short_of_haplotypes": ("region", "with too many haplotypes in a sample: some were left out"),
    "regions_cut": ("region", "too long and split: variants are not phased across the cuts"),
    "alleles_left_out": ("allele", "left out at sites with too many"),
    "reads_without_qualities": ("read", "without base qualities: Q20 is assumed"),
}
LEAST_PRIMED = 0.25  # share of reads at a primer: nearly all are; by chance, 0.1 where amplicons tile a genome


def warn_of_limits(job: CallJob, metrics: Metrics) -> None:
    for name, (noun, text) in WARNINGS.items():
        if number := metrics.counts.get(name):
            logger.warning("%s %s", counted(number, noun), text)
    at, beside = (metrics.counts.get(f"reads_{where}_primers", 0) for where in ("at", "beside"))
    if at < LEAST_PRIMED * (at + beside):
        text = "%s: only %.0f %% of reads begin at a primer: does the scheme belong to this library?"
        logger.warning(text, job.primers, 100 * at / (at + beside))
    if promise := explain_qualities(metrics.counts):
        logger.warning("%s", promise)
