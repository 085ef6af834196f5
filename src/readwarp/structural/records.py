"""Write variants as VCF: the header's fields, and a line for each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.records.filters import LOW_QUALITY, Filter
from readwarp.formats.variants.vcf import (
    COUNT_FIELDS,
    GENOTYPE_FIELDS,
    HeaderField,
    count_text,
    depths_text,
    genotype_text,
)
from readwarp.rules.bases import LETTERS
from readwarp.structural.alleles import Allele
from readwarp.structural.genotype import StructuralGenotype

FILTERS = (Filter("LowQual", LOW_QUALITY),)
INFORMATION = (
    *COUNT_FIELDS,
    HeaderField("SVTYPE", "1", "String", "Type of structural variant: DEL or INS"),
    HeaderField("SVLEN", ".", "Integer", "Difference in length between REF and ALT alleles"),
    HeaderField("END", "1", "Integer", "Last position of the variant"),
    HeaderField("SUPPORT", "1", "Integer", "Reads that show the variant, in an alignment or between two"),
    HeaderField("PRECISE", "0", "Flag", "Reads agree on position and length (standard deviations of at most 10 bases)"),
    HeaderField("IMPRECISE", "0", "Flag", "Reads do not agree on position and length"),
    HeaderField("CIPOS", "2", "Integer", "Range of positions in the reads, relative to their median"),
    HeaderField("CILEN", "2", "Integer", "Range of lengths in the reads, relative to their median"),
)
GENOTYPES = (
    *(field for field in GENOTYPE_FIELDS if field.name in ("GT", "PL")),
    HeaderField("GQ", "1", "Integer", "Phred-scaled likelihood of GT over that of the next genotype; at most 99"),
    HeaderField("DP", "1", "Integer", "Reads across the variant's breakpoints: the sum of AD"),
    HeaderField("AD", "R", "Integer", "Reads that do not show the variant; that show it or are clipped there"),
)
SYMBOLIC = '##ALT=<ID=INS,Description="Insertion whose sequence no read contains in full">'
PRECISION = 10  # bases


class StructuralVariant(NamedTuple):
    allele: Allele
    support: int
    places: ndarray  # int64 [reads]: where it begins in each, ...
    lengths: ndarray  # ... and its length
    genotypes: Sequence[StructuralGenotype]  # one per sample
    depths: Sequence[tuple[int, int]]  # AD of each sample

    @property
    def quality(self) -> int:
        """Return the Phred of the likelihood that no sample has the variant, against the best genotypes."""
        return sum(genotype.phred[0] for genotype in self.genotypes if genotype.phred)


def anchor_of(allele: Allele) -> int:
    """Return where the record begins: at the base before an indel, if there is one."""
    return allele.start if allele.deleted and allele.inserted else max(0, allele.start - 1)


def format_variant(variant: StructuralVariant, name: str, bases: Bases, min_quality: float) -> bytes:
    allele, quality = variant.allele, variant.quality
    at = anchor_of(allele)
    old, new = spell_out(allele, bases)
    information = (
        f"{count_text(tuple(genotype.alleles for genotype in variant.genotypes), 2)};"
        f"SVTYPE={'INS' if allele.length > 0 else 'DEL'};SVLEN={allele.length};END={at + len(old)};"
        f"SUPPORT={variant.support};{precision_text(variant)}"
    )
    samples = [
        f"{genotype_text(genotype.alleles, False)}:{genotype.quality}:{sum(depths)}:{depths_text(depths)}:"
        f"{','.join(map(str, genotype.phred)) or '.'}"
        for genotype, depths in zip(variant.genotypes, variant.depths, strict=True)
    ]
    verdict = "PASS" if quality >= min_quality else FILTERS[0].name
    columns = name, at + 1, ".", old, new, quality, verdict, information, "GT:GQ:DP:AD:PL", *samples
    return ("\t".join(map(str, columns)) + "\n").encode()


def spell_out(allele: Allele, bases: Bases) -> tuple[str, str]:
    """Return REF and ALT. If one is empty, both get the base before it or, at a contig's beginning, the one after."""
    at = anchor_of(allele)
    if allele.inserted is None:
        return bases.letters(at, at + 1), "<INS>"
    inserted = str(LETTERS[list(allele.inserted)].tobytes(), "ascii")
    after = int(allele.start == 0 and not (allele.deleted and allele.inserted))
    before = bases.letters(at, allele.start)
    end = bases.letters(allele.stop, allele.stop + after)
    return before + bases.letters(allele.start, allele.stop) + end, before + inserted + end


def precision_text(variant: StructuralVariant) -> str:
    spreads = [column - np.median(column) for column in (variant.places, variant.lengths)]
    if max(spread.std() for spread in spreads) <= PRECISION:
        return "PRECISE"
    ranges = [",".join(str(round(end)) for end in (spread.min(), spread.max())) for spread in spreads]
    return "IMPRECISE;CIPOS={};CILEN={}".format(*ranges)
