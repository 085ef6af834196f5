"""What single and joint calling write alike: the header of a VCF, the file, and counts of what is in it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.annotations import ANNOTATIONS
from readwarp.call.genotypes.filters import FILTERS
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, Declared, Header, VariantWriter
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics

TRANSITIONS = {("A", "G"), ("G", "A"), ("C", "T"), ("T", "C")}


@contextmanager
def open_variants(output: Path | None, header: str, reference: Reference, threads: int) -> Iterator[VariantWriter]:
    """The writer of a VCF or BCF file (None: VCF to stdout); of a block that fails nothing is left."""
    longest = int(np.diff(reference.contig_offsets).max())
    writer = VariantWriter(None if output is None else str(output), header, longest, threads)
    try:
        yield writer
    except BaseException:
        writer.abort()
        raise
    writer.close()


def describe(
    reference: Reference,
    samples: Sequence[str],
    command: str,
    reference_name: str,
    extra: Sequence[str] = (),
    genotype_fields: Sequence[Declared] = GENOTYPE_FIELDS,
) -> str:
    """The header."""
    lengths = np.diff(reference.contig_offsets).tolist()
    contigs = list(zip(reference.names, lengths, reference.md5, strict=True))
    return Header(contigs, samples, command, reference_name, ANNOTATIONS, FILTERS, genotype_fields, extra).text()


def count_calls(calls: Calls, metrics: Metrics) -> None:
    """Count variants; of those that pass, snvs, indels, transitions, transversions and heterozygous.

    A record is heterozygous where one of its samples is.
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
