"""Hold the results of `Caller.call`: variants one by one, as pysam records, as tables, and as a file."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from readwarp.call.records.variant_job import FIELDS, HeaderFields, VariantJob
from readwarp.errors import UsageError
from readwarp.formats.common.files import locked
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import genotype_text, kind_of, lines_of, shares_of
from readwarp.index.reference import Reference
from readwarp.python import tables
from readwarp.python.keywords import AnyPath, explain_names
from readwarp.stream.display import check_new

NAMES_ELSEWHERE = {  # name in pysam, cyvcf2 and VCF -> its name here
    **{"chrom": "contig", "CHROM": "contig", "pos": "position + 1", "POS": "position + 1", "start": "position"},
    **{"ref": "alleles[0]", "REF": "alleles[0]", "alts": "alleles[1:]", "ALT": "alleles[1:]", "qual": "quality"},
    **{"QUAL": "quality", "filter": "filters", "FILTER": "filters", "info": "annotations", "INFO": "annotations"},
    **{"samples": "genotypes", "is_snp": "is_snv", "gt_types": "genotypes"},
}


class Genotype(NamedTuple):
    """Genotype of a sample at a site. Alleles are numbers: 0 is the reference's, -1 unknown."""

    alleles: tuple[int, ...]  # one per copy; in the order of haplotypes if phased
    quality: int  # GQ
    depth: int
    allele_depth: tuple[int, ...]
    likelihoods: tuple[int, ...]  # PL, in VCF order
    phase_set: int | None  # 0-based position of its first site; None: not phased
    fractions: tuple[float, ...]  # AF of each ALT allele: its share of the reads or, by fractions, of the molecules

    def __str__(self) -> str:
        """Format it like VCF: 0/1, or 0|1 if it is phased."""
        return genotype_text(self.alleles, self.phase_set is not None)


class Variant(NamedTuple):
    """Site as in a line of VCF, but 0-based."""

    contig: str
    position: int
    alleles: tuple[str, ...]  # the reference's first
    quality: float
    filters: tuple[str, ...]  # names of filters that it fails
    annotations: dict[str, float | int | str | tuple[float, ...]]
    genotypes: dict[str, Genotype]  # by sample

    @property
    def passes(self) -> bool:
        return not self.filters

    @property
    def is_snv(self) -> bool:
        return all(len(allele) == 1 for allele in self.alleles)


COLUMNS: tuple[tuple[str, str, Callable[[Variant, str, Genotype], Any]], ...] = (  # of a variant and a sample
    ("contig", tables.TEXT, lambda variant, name, own: variant.contig),
    ("position", tables.INTEGER, lambda variant, name, own: variant.position),
    ("reference", tables.TEXT, lambda variant, name, own: variant.alleles[0]),
    ("alternates", tables.TEXTS, lambda variant, name, own: list(variant.alleles[1:])),
    ("quality", tables.REAL, lambda variant, name, own: variant.quality),
    ("filters", tables.TEXT, lambda variant, name, own: ";".join(variant.filters) or "PASS"),
    ("sample", tables.TEXT, lambda variant, name, own: name),
    ("genotype", tables.TEXT, lambda variant, name, own: str(own)),
    ("genotype_quality", tables.INTEGER, lambda variant, name, own: own.quality),
    ("depth", tables.INTEGER, lambda variant, name, own: own.depth),
    ("AF", tables.REAL, lambda variant, name, own: sum(own.fractions) if own.fractions else None),
    ("allele_depth", tables.INTEGERS, lambda variant, name, own: list(own.allele_depth)),
    ("likelihoods", tables.INTEGERS, lambda variant, name, own: list(own.likelihoods)),
    ("phase_set", tables.INTEGER, lambda variant, name, own: own.phase_set),
)
explain_names(Variant, NAMES_ELSEWHERE, "Variants.to_pysam() gives records of pysam")


class Variants(tables.Tabular, Iterator[Variant]):
    """Variants sorted by position, as they are found: an iterator, which can be consumed once, like a file.

        for variant in variants: ...
        list(variants), variants.to_pandas(), variants.to_arrow(), variants.to_pysam(), variants.write("out.vcf.gz")

    Each consumes the rest of the calls, so a second one would find nothing: it raises UsageError. Tables have a row for
    each variant and sample.
    """

    def __init__(
        self,
        job: VariantJob,
        reference: Reference,
        calls: Generator[Calls, None, None],
        samples: tuple[str, ...],
        fields: HeaderFields = FIELDS,
    ):
        self.samples = samples  # names, in the order of each variant's genotypes
        self._fields = fields  # fields of the header
        self._job, self._reference, self._calls = job, reference, calls
        self._variants = (variant for found in calls for variant in list_variants(found, reference.names, self.samples))
        self._is_fresh = True

    def __iter__(self) -> "Variants":
        return self

    def __next__(self) -> Variant:
        self._is_fresh = False
        return next(self._variants)

    def __repr__(self) -> str:
        state = "not begun" if self._is_fresh else "begun"
        return f"Variants(samples: {', '.join(self.samples)}; {state})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("Variants are called lazily and cannot be pickled: pickle list(variants), or the Caller")

    def close(self) -> None:
        """Stop calling before all variants are found, and close the files."""
        self._variants.close()
        self._calls.close()

    def to_pysam(self) -> list[Any]:
        """Return all variants as pysam.VariantRecord, which share one header."""
        import pysam

        with TemporaryFile(prefix="readwarp-") as file:
            file.write(self._job.header(self._reference, self.samples, self._fields).encode())
            for calls in self._take():
                file.write(lines_of(calls, self._reference.names))
            file.seek(0)
            with quiet_htslib(), pysam.VariantFile(file) as records:
                return list(records)

    def write(self, output: AnyPath, *, force: bool = False) -> Path:
        """Write all variants to a .vcf, .vcf.gz or .bcf file, with its index, and return its path.

        force: replace an existing file. Raises UsageError.
        """
        path = Path(output)
        kind_of(str(path))
        check_new(path, force, [self._job.reference])
        job = replace(self._job, output=path)
        with locked(path), job.open_output(self._reference, self.samples, self._fields) as writer:
            for calls in self._take():
                writer.write(lines_of(calls, self._reference.names))
        return path

    def _take(self) -> Iterator[Calls]:
        if not self._is_fresh:
            raise UsageError("this iterator is exhausted: call again, or keep list(variants)")
        self._is_fresh = False
        return self._calls

    def _columns(self) -> list[tables.Column]:
        """Return the columns of variants, annotations, and a sample's genotypes; missing annotations are null."""
        rows = [
            (variant, name, genotype)
            for calls in self._take()
            for variant in list_variants(calls, self._reference.names, self.samples)
            for name, genotype in variant.genotypes.items()
        ]
        columns = {name: (kind, [value(*row) for row in rows]) for name, kind, value in COLUMNS}
        for name in dict.fromkeys(name for variant, _, _ in rows for name in variant.annotations):
            values = [variant.annotations.get(name) for variant, _, _ in rows]
            columns[name] = tables.kind_of(values), values
        return [tables.Column(name, *column) for name, column in columns.items()]


def list_variants(calls: Calls, contigs: tuple[str, ...], samples: tuple[str, ...]) -> Iterator[Variant]:
    annotations = {name: column.tolist() for name, column in calls.annotations.items()}
    shares = [[(share,) for share in own] for own in calls.of_samples["AF"].tolist()] if calls.of_samples else None
    for i, alleles in enumerate(calls.alleles):
        fields = zip(
            *(calls.genotype[i], calls.genotype_quality[i].tolist(), calls.depth[i].tolist(), calls.allele_depth[i]),
            *(calls.likelihoods[i], (start if start >= 0 else None for start in calls.phase_set[i].tolist())),
            shares[i] if shares else map(shares_of, calls.allele_depth[i]),
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
