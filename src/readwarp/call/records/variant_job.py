"""Share between the jobs of `call` and `genotype` their parameters, and the VCF that they write."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from readwarp.call.places.targets import CallTargets
from readwarp.call.records import limits
from readwarp.call.records.confidence import GQ_BANDS
from readwarp.call.records.filters import Filter
from readwarp.call.records.genotypes.annotations import ANNOTATIONS, BY_ALLELE
from readwarp.call.records.genotypes.filters import FILTERS
from readwarp.config import CallParameters, Resources
from readwarp.formats.common.files import check_inputs, check_output, locked
from readwarp.formats.common.regions import Target
from readwarp.formats.variants import vcf
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.gvcf import GENOMIC_GENOTYPE_FIELDS, GENOMIC_INFORMATION, NON_REF, header_lines
from readwarp.formats.variants.vcf import Header, VariantWriter
from readwarp.index.build import read_reference
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.reporter import Reporter, Result
from readwarp.wording import counted

TRANSITIONS = {("A", "G"), ("G", "A"), ("C", "T"), ("T", "C")}
logger = logging.getLogger("readwarp")


class HeaderFields(NamedTuple):
    """Declarations in the header of an output."""

    information: Sequence[vcf.Declared]
    genotypes: Sequence[vcf.Declared]
    extra: Sequence[str] = ()  # other lines
    filters: Sequence[Filter] = FILTERS


FIELDS = HeaderFields((*vcf.COUNT_FIELDS, *ANNOTATIONS, *BY_ALLELE, limits.FIELD), vcf.GENOTYPE_FIELDS)
GENOMIC_FIELDS = HeaderFields(
    (*ANNOTATIONS, limits.FIELD, *GENOMIC_INFORMATION), GENOMIC_GENOTYPE_FIELDS, header_lines(GQ_BANDS)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantJob:
    """Job that writes variants."""

    name: ClassVar[str]  # name of its command
    reference: Path
    output: Path | None = None  # .vcf, .vcf.gz or .bcf; None: VCF to stdout
    resources: Resources = field(default_factory=Resources)
    places: CallTargets = field(default_factory=CallTargets)  # places to call
    command: str = ""  # for the header
    force: bool = False  # replace an existing output

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        return (self.output,)

    @property
    def limits(self) -> CallParameters:
        """Return the parameters that hold the limits of the filters."""
        raise NotImplementedError

    def find_targets(self, reference: Reference) -> list[Target]:
        """Return the parts of the reference to call. Raises InputError, also for a contig that VCF cannot name."""
        found = self.places.find(reference)
        vcf.check_contigs(self.reference, (reference.names[target.contig] for target in found))
        if not found:
            if self.places.excluded:
                logger.warning("--exclude-regions covers all targets: nothing is called")
            else:
                logger.warning("%s has no intervals: nothing is called", ", ".join(self.places.targets))
        return found

    def run(self, inputs: Sequence[Path], work: Callable[[Reference], Result], reporter: Reporter) -> Result:
        """Check the inputs, check and lock the output, do the work, and log the result. Raises ReadwarpError."""
        check_output(self.output, self.force, inputs)
        check_inputs(inputs)
        vcf.kind_of(None if self.output is None else str(self.output))
        with locked(*self.outputs):
            reporter.prepare(self.name, self.resources.threads)
            with reporter.metrics.time("read_reference"):
                reference = read_reference(self.reference)
            result = work(reference)
        found, passed = (reporter.metrics.counts.get(name, 0) for name in ("variants", "variants_pass"))
        verb = "passes" if passed == 1 else "pass"
        logger.info("%s, %s %s all filters", counted(found, "variant"), f"{passed:,}", verb)
        return result

    def header(self, reference: Reference, samples: Sequence[str], fields: HeaderFields = FIELDS) -> str:
        """Return the lines before the variants."""
        contigs = list(zip(reference.names, np.diff(reference.contig_offsets).tolist(), reference.md5, strict=True))
        named = contigs, samples, self.command, str(self.reference)
        filters = [row._replace(description=row.description.format(limits=self.limits)) for row in fields.filters]
        return Header(*named, fields.information, filters, fields.genotypes, fields.extra).text()

    def open_output(self, reference: Reference, samples: Sequence[str], fields: HeaderFields = FIELDS) -> VariantWriter:
        """Make the writer of the output, which has the header."""
        output = None if self.output is None else str(self.output)
        longest = int(np.diff(reference.contig_offsets).max())
        return VariantWriter(output, self.header(reference, samples, fields), longest, self.resources.threads)


def count_calls(calls: Calls, metrics: Metrics) -> None:
    """Count variants and, among those that pass, snvs, indels, transitions, transversions and heterozygous.

    A record is heterozygous if one of its samples is.
    """
    counts: Counter[str] = Counter(variants=len(calls))
    for alleles, genotypes, filters in zip(calls.alleles, calls.genotype, calls.filters, strict=True):
        if filters:
            continue
        listed = tuple(allele for allele in alleles if allele != NON_REF)
        is_snv = max(map(len, listed)) == 1
        counts["variants_pass"] += 1
        counts["snvs" if is_snv else "indels"] += 1
        counts["heterozygous"] += any(len(set(genotype)) > 1 for genotype in genotypes)
        if is_snv and len(listed) == 2:
            counts["transitions" if listed in TRANSITIONS else "transversions"] += 1
    for name, number in counts.items():
        metrics.count(name, number)
