"""Calling variants from Python."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from readwarp.batches import Calls
from readwarp.call.pipeline import call_variants, call_windows, count_calls, open_caller, targets_of
from readwarp.call.targets import Target, parse_region
from readwarp.config import CallParameters, Resources
from readwarp.errors import InputError
from readwarp.index.build import read_reference
from readwarp.metrics import Metrics

Region = str | tuple[str, int, int]


class Genotype(NamedTuple):
    """What a sample has at a site; alleles are numbers, 0 the reference's, -1 unknown."""

    alleles: tuple[int, ...]  # as many as the ploidy; in the order of haplotypes where there is a phase set
    quality: int  # GQ
    depth: int
    allele_depth: tuple[int, ...]
    likelihoods: tuple[int, ...]  # PL, in VCF order
    phase_set: int | None  # 0-based position of its first site; None: not phased


class Variant(NamedTuple):
    """One site as a VCF line says it, but 0-based."""

    contig: str
    position: int
    alleles: tuple[str, ...]  # the reference's first
    quality: float
    filters: tuple[str, ...]  # names of those that it fails
    annotations: dict[str, float | int]
    genotypes: dict[str, Genotype]  # by sample

    @property
    def passes(self) -> bool:
        return not self.filters

    @property
    def is_snv(self) -> bool:
        return all(len(allele) == 1 for allele in self.alleles)


class Caller:
    """Sorted alignments to variants, with the answers of `readwarp call`.

    reference: the path of a FASTA, GenBank or EMBL file; parameters: those of `readwarp.config.CallParameters`.

        caller = Caller("ref.fa", ploidy=1)
        for variant in caller.call("sample.bam", ["chr20:1-1,000,000"]):
            print(variant.contig, variant.position, variant.alleles)
        caller.write("sample.bam", "sample.vcf.gz")
    """

    def __init__(self, reference: str | Path, *, threads: int = 1, device: str = "cpu", **parameters: Any):
        self.path = Path(reference)
        self.reference = read_reference(self.path)
        self.parameters = CallParameters(**parameters)
        self.resources = Resources(threads, device)
        self.metrics = Metrics()

    def call(
        self,
        alignments: str | Path,
        regions: Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
    ) -> Iterator[Variant]:
        """Variants in order of place, while they are found.

        regions: texts as the command line takes them (one, or a list), or (contig, start, stop) 0-based and half-open;
        None: all of the reference. samples: those to call together, all of the header by default. alleles: a VCF file
        of alleles to genotype in any case; ploidies: a BED file. Raises InputError and UsageError.
        """
        targets = self._targets(regions)
        opened = open_caller(
            *(self.reference, Path(alignments), self.parameters, self.resources, self.metrics),
            samples=tuple(samples),
            gvcf=False,
            alleles=Path(alleles) if alleles else None,
            ploidies=Path(ploidies) if ploidies else None,
            whole=targets is None,
            reference_path=self.path,
        )
        with opened as (caller, names):

            def work(window: Target) -> list[Calls]:
                return [found.calls for found in caller.call(window)]

            parts = call_windows(caller, targets_of(self.reference, targets), self.resources, work)
            with closing(parts):
                for part in parts:
                    for calls in part:
                        count_calls(calls, self.metrics)
                        yield from variants_of(calls, self.reference.names, names)

    def write(
        self,
        alignments: str | Path,
        output: str | Path,
        regions: Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        gvcf: bool = False,
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
    ) -> None:
        """Variants to a .vcf, .vcf.gz or .bcf file, which is replaced where it exists; see `call`."""
        call_variants(
            *(self.reference, Path(alignments), output, self.parameters, self.resources, self.metrics),
            regions=self._targets(regions),
            samples=tuple(samples),
            gvcf=gvcf,
            alleles=Path(alleles) if alleles else None,
            ploidies=Path(ploidies) if ploidies else None,
            reference_path=self.path,
            command="readwarp.Caller",
        )

    def _targets(self, regions: Iterable[Region] | None) -> list[Target] | None:
        if regions is None:
            return None
        names, lengths = self.reference.names, np.diff(self.reference.contig_offsets).tolist()
        return [
            parse_region(region, names, lengths) if isinstance(region, str) else _target(region, names, lengths)
            for region in ([regions] if isinstance(regions, str) else regions)
        ]


def _target(region: tuple[str, int, int], names: tuple[str, ...], lengths: list[int]) -> Target:
    name, start, stop = region
    if name not in names:
        raise InputError(name, "no such contig in the reference")
    contig = names.index(name)
    if not 0 <= start < stop <= lengths[contig]:
        raise InputError(region, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, stop)


def variants_of(calls: Calls, contigs: tuple[str, ...], samples: tuple[str, ...]) -> Iterator[Variant]:
    annotations = {name: column.tolist() for name, column in calls.annotations.items()}
    for i, alleles in enumerate(calls.alleles):
        fields = zip(
            *(calls.genotype[i], calls.genotype_quality[i].tolist(), calls.depth[i].tolist(), calls.allele_depth[i]),
            *(calls.likelihoods[i], (start if start >= 0 else None for start in calls.phase_set[i].tolist())),
            strict=True,
        )
        yield Variant(
            contig=contigs[calls.contig[i]],
            position=int(calls.position[i]),
            alleles=alleles,
            quality=float(calls.quality[i]),
            filters=calls.filters[i],
            annotations={name: column[i] for name, column in annotations.items() if column[i] == column[i]},
            genotypes={name: Genotype(*values) for name, values in zip(samples, fields, strict=True)},
        )
