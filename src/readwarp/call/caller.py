"""Calling variants from Python."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.batches import Calls
from readwarp.call.job import CallJob, call_variants, open_calling
from readwarp.call.targets import Places, Region, as_regions
from readwarp.call.variant_job import count_calls
from readwarp.config import CallParameters, Resources
from readwarp.index.build import read_reference
from readwarp.keywords import AnyPath, as_paths
from readwarp.metrics import Metrics
from readwarp.stream.reporter import Reporter


class Genotype(NamedTuple):
    """What a sample has at a site. Alleles are numbers: 0 is the reference's, -1 unknown."""

    alleles: tuple[int, ...]  # as many as the ploidy; in the order of haplotypes if phased
    quality: int  # GQ
    depth: int
    allele_depth: tuple[int, ...]
    likelihoods: tuple[int, ...]  # PL, in VCF order
    phase_set: int | None  # 0-based position of its first site; None: not phased


class Variant(NamedTuple):
    """One site as in a line of VCF, but 0-based."""

    contig: str
    position: int
    alleles: tuple[str, ...]  # the reference's first
    quality: float
    filters: tuple[str, ...]  # names of those that it fails
    annotations: dict[str, float | int | str | tuple[float, ...]]
    genotypes: dict[str, Genotype]  # by sample

    @property
    def passes(self) -> bool:
        return not self.filters

    @property
    def is_snv(self) -> bool:
        return all(len(allele) == 1 for allele in self.alleles)


class Caller:
    """Sorted alignments to variants, those of `readwarp call`.

    reference: the path of a FASTA, GenBank or EMBL file, or of an index; parameters: those of
    `readwarp.config.CallParameters`.

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
        alignments: AnyPath | Sequence[AnyPath],
        regions: Region | Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
        primers: str | Path | None = None,
    ) -> Iterator[Variant]:
        """Variants in order of position, as they are found.

        alignments: one file or several. regions: one or several, as texts of the command line or (contig, start, stop),
        0-based and half-open; None: the whole reference. samples: those to call together, by default all in the
        headers. alleles: a VCF file of alleles that are always genotyped. ploidies, primers: BED files. Raises
        InputError and UsageError.
        """
        job = self._job(alignments, regions, samples, alleles, ploidies, primers)
        with open_calling(job, self.reference, self.metrics) as calling:
            names = self.reference.names
            with closing(calling.run(calling.call)) as windows:
                for calls in (found.calls for window in windows for found in window):
                    count_calls(calls, self.metrics)
                    yield from list_variants(calls, names, calling.samples)

    def write(
        self,
        alignments: AnyPath | Sequence[AnyPath],
        output: str | Path,
        regions: Region | Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        gvcf: bool = False,
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
        primers: str | Path | None = None,
    ) -> None:
        """Write variants to a .vcf, .vcf.gz or .bcf file, and replace one that exists; see `call`."""
        job = replace(
            self._job(alignments, regions, samples, alleles, ploidies, primers),
            output=Path(output),
            gvcf=gvcf,
            command="readwarp.Caller",
        )
        reporter = Reporter(job.command)
        call_variants(job, self.reference, reporter)
        self.metrics.include(reporter.metrics)

    def _job(
        self,
        alignments: AnyPath | Sequence[AnyPath],
        regions: Region | Iterable[Region] | None,
        samples: Iterable[str],
        *files: str | Path | None,
    ) -> CallJob:
        alleles, ploidies, primers = (Path(file) if file else None for file in files)
        return CallJob(
            reference=self.path,
            alignments=tuple(map(Path, as_paths(alignments))),
            parameters=self.parameters,
            resources=self.resources,
            places=Places(regions=as_regions(regions)),
            samples=tuple(samples),
            alleles=alleles,
            ploidies=ploidies,
            primers=primers,
        )


def list_variants(calls: Calls, contigs: tuple[str, ...], samples: tuple[str, ...]) -> Iterator[Variant]:
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
            annotations={
                name: column[i] for name, column in annotations.items() if column[i] == column[i] and column[i] != ""
            },
            genotypes={name: Genotype(*values) for name, values in zip(samples, fields, strict=True)},
        )
