"""Calls out: VCF, VCF.gz with its .tbi, or BCF with its .csi, by the name's ending; VCF on stdout.

Lines are made for a whole batch of calls at once, in any thread, and written in order. A file gets its name when it is
complete.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pysam

from readwarp.errors import InputError
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.output_file import ByteWriter, OutputFile, Writer
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.common.writing import writing
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.tabix import VcfIndexer
from readwarp.ragged import replace
from readwarp.version import __version__
from readwarp.wording import printable

MAX_INTEGER = (1 << 31) - 1  # limit of VCF and BCF
PlacedLine = tuple[int, bytes]  # 0-based position and VCF line of a call


class Named(Protocol):
    """An entry of a header, such as a filter."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


class Declared(Named, Protocol):
    """A declaration of INFO or FORMAT in a header."""

    @property
    def number(self) -> str: ...
    @property
    def type(self) -> str: ...


class HeaderField(NamedTuple):
    name: str
    number: str
    type: str
    description: str


GENOTYPE_FIELDS = (
    HeaderField("GT", "1", "String", "Genotype"),
    HeaderField(
        "GQ", "1", "Integer", "Phred-scaled probability that GT is wrong, given that the site is a variant; at most 99"
    ),
    HeaderField("DP", "1", "Integer", "Informative reads"),
    HeaderField("AD", "R", "Integer", "Reads that show each allele"),
    HeaderField("PL", "G", "Integer", "Phred-scaled genotype likelihoods, normalized to a minimum of 0"),
    HeaderField("PGT", "1", "String", "Genotype with its alleles in haplotype order"),
    HeaderField("PID", "1", "String", "Phase set: position, REF and ALT of its first record"),
    HeaderField("PS", "1", "Integer", "Phase set: position of its first record"),
    HeaderField("SB", "4", "Integer", "Forward and reverse reads of REF, then of the ALT alleles"),
    HeaderField("AF", "A", "Float", "ALT read fraction"),
)
COUNT_FIELDS = (
    HeaderField("AC", "A", "Integer", "ALT allele count in genotypes"),
    HeaderField("AN", "1", "Integer", "Total alleles in called genotypes"),
    HeaderField("AF", "A", "Float", "AC / AN"),
)


class Header(NamedTuple):
    """Contents of the header of a VCF file."""

    contigs: Sequence[tuple[str, int, str]]  # name, length and MD5, "" if unknown; those with commas are left out
    samples: Sequence[str]
    command: str
    reference: str
    information: Sequence[Declared]  # INFO
    filters: Sequence[Named]
    genotype_fields: Sequence[Declared] = GENOTYPE_FIELDS
    extra: Sequence[str] = ()  # lines before #CHROM

    def text(self) -> str:
        lines = [
            "##fileformat=VCFv4.2",
            f"##source=readwarp {__version__}",
            f"##readwarpCommand={printable(self.command)}",
        ]
        lines += [f"##reference={printable(self.reference)}", '##FILTER=<ID=PASS,Description="All filters passed">']
        lines += [f'##FILTER=<ID={row.name},Description="{row.description}">' for row in self.filters]
        for name, length, md5 in self.contigs:
            if "," in name:
                continue
            lines.append(f"##contig=<ID={name},length={length}{f',md5={md5}' if md5 else ''}>")
        lines += [field_line("INFO", field) for field in self.information]
        lines += [field_line("FORMAT", field) for field in self.genotype_fields]
        samples = ("FORMAT", *self.samples) if self.samples else ()
        columns = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", *samples)
        return "\n".join((*lines, *self.extra, "\t".join(columns))) + "\n"


def check_contigs(path: object, names: Iterable[str]) -> None:
    """Raise InputError for a reference contig that VCF records cannot name, because a comma ends names."""
    strange = next((name for name in names if "," in name), None)
    if strange is not None:
        reason = "the name of a contig cannot have ',' in VCF: rename it, or leave it out (--exclude-regions)"
        raise InputError(path, reason, strange)


def field_line(kind: str, field: Declared) -> str:
    """Return the header line of an INFO or FORMAT field."""
    facts = f'Number={field.number},Type={field.type},Description="{field.description}"'
    return f"##{kind}=<ID={field.name},{facts}>"


def lines_of(calls: Calls, contigs: Sequence[str]) -> bytes:
    """Return one VCF line per call."""
    return b"".join(line for _, line in format_calls(calls, contigs))


def format_calls(calls: Calls, contigs: Sequence[str], is_genomic: bool = False) -> list[PlacedLine]:
    """Return position and VCF line of each call; is_genomic: with the fields of a gVCF, see `gvcf`."""
    columns = zip(
        calls.contig.tolist(),
        calls.position.tolist(),
        calls.alleles,
        calls.quality.tolist(),
        calls.filters,
        calls.genotype,
        raw_texts(calls) if is_genomic else information_texts(calls),
        genotype_texts(calls, is_genomic),
        strict=True,
    )
    lines = []
    for contig, position, alleles, quality, filters, genotype, information, samples in columns:
        counts = "" if is_genomic or calls.of_samples else count_text(genotype, len(alleles))
        line = (
            f"{contigs[contig]}\t{position + 1}\t.\t{alleles[0]}\t{','.join(alleles[1:])}\t{number_text(quality)}\t"
            f"{';'.join(filters) or 'PASS'}\t{(counts + information).removeprefix(';')}\t{samples}\n"
        )
        lines.append((position, line.encode()))
    return lines


def information_texts(calls: Calls) -> list[str]:
    """Return INFO of each call beyond COUNT_FIELDS, each field after a semicolon, with six digits for Floats."""
    columns = []
    for name, column in calls.annotations.items():
        kind, values = column.dtype.kind, column.tolist()
        if kind == "O":
            columns.append([f";{name}={reals_text(own)}" for own in values])
        elif kind == "U":
            columns.append([f";{name}={text}" if text else "" for text in values])
        elif kind == "b":  # a Flag
            columns.append([f";{name}" if is_set else "" for is_set in values])
        else:
            digits = "g" if kind == "f" else ""
            columns.append([f";{name}={x:{digits}}" if x == x else "" for x in values])  # NaN differs from itself
    return ["".join(texts) for texts in zip(*columns, strict=True)] if columns else [""] * len(calls)


def raw_texts(calls: Calls) -> list[str]:
    """Return INFO of each call in a gVCF: without fields by allele, with RAW_MQandDP."""
    single = {name: column for name, column in calls.annotations.items() if column.dtype.kind != "O"}
    texts, depths = information_texts(replace(calls, annotations=single)), calls.depth.sum(axis=1).tolist()
    raw = zip(texts, calls.squares.tolist(), depths, strict=True)
    return [f"{text};RAW_MQandDP={raw_text(squares, depth)}".removeprefix(";") for text, squares, depth in raw]


def raw_text(squares: int, depth: int) -> str:
    """Return RAW_MQandDP; if the sum exceeds VCF's Integer, both are scaled down: only their quotient counts."""
    beyond = -(-squares // MAX_INTEGER) or 1
    return f"{squares // beyond},{depth // beyond}"


def fraction_texts(calls: Calls) -> list[str]:
    """Return FORMAT and the samples' columns of each call that has fields of its own (`Calls.of_samples`)."""
    if len(calls) == 0:
        return []
    names = ":".join(("GT:AD", *calls.of_samples, "DP"))
    spell = ["".join if column.dtype.kind == "U" else reals_text for column in calls.of_samples.values()]
    own = [column.reshape(*column.shape[:2], -1).tolist() for column in calls.of_samples.values()]
    rest = calls.depth.tolist(), calls.phase_set.tolist(), calls.strands.tolist()
    texts = []
    for genotypes, depths, *fields, depth, sets, strands in zip(
        calls.genotype, calls.allele_depth, *own, *rest, strict=True
    ):
        is_phased = [start >= 0 for start in sets]
        places = [f"{start + 1}" if start >= 0 else "." for start in sets]
        cells = zip(
            *(map(genotype_text, genotypes, is_phased), map(depths_text, depths)),
            *(map(text, field) for text, field in zip(spell, fields, strict=True)),
            *(map(str, depth), *[places] * any(is_phased), map(depths_text, strands)),
            strict=True,
        )
        texts.append("\t".join((f"{names}{':PS' * any(is_phased)}:SB", *map(":".join, cells))))
    return texts


def genotype_texts(calls: Calls, is_genomic: bool) -> list[str]:
    """Return FORMAT and the samples' columns of each call."""
    if calls.of_samples:
        return fraction_texts(calls)
    columns = zip(
        calls.genotype,
        calls.genotype_quality.tolist(),
        calls.depth.tolist(),
        calls.allele_depth,
        calls.likelihoods,
        calls.phase_set.tolist(),
        calls.phase_name,
        np.stack((calls.strands, calls.independent) if is_genomic else (calls.strands,), axis=2).tolist(),
        np.any(calls.phase_set >= 0, axis=1).tolist(),
        strict=True,
    )
    texts = []
    for *fields, has_phase in columns:
        if is_genomic:
            text = f"GT:AD:DP:GQ:{'PGT:PID:' * has_phase}PL:{'PS:' * has_phase}SB:SBI"
        else:
            text = f"GT:GQ:DP:AD:AF:PL:{'PGT:PID:PS:' * has_phase}SB"
        for genotype, quality, depth, reads, phred, set_, name, strands in zip(*fields, strict=True):
            shown = genotype_text(genotype, set_ >= 0)
            likelihoods = ",".join(map(str, phred)) if genotype else "."
            numbers = depths_text(reads)
            names = place = ""
            if has_phase:
                names, place = (f"{shown}:{name}:", f"{set_ + 1}:") if set_ >= 0 else (".:.:", ".:")
            if is_genomic:
                text += f"\t{shown}:{numbers}:{depth}:{quality}:{names}{likelihoods}:{place}"
            else:
                text += f"\t{shown}:{quality}:{depth}:{numbers}:{shares_text(reads)}:{likelihoods}:{names}{place}"
            text += ":".join(map(depths_text, strands))
        texts.append(text)
    return texts


def shares_of(depths: tuple[int, ...]) -> tuple[float, ...]:
    """Return AF from AD; empty if unknown."""
    total = sum(depths)
    return tuple(round(depth / total, 3) for depth in depths[1:]) if total > 0 else ()


@lru_cache(maxsize=4096)
def shares_text(depths: tuple[int, ...]) -> str:
    return reals_text(shares_of(depths)) or "."


def reals_text(values: Sequence[float]) -> str:
    return ",".join("." if value != value else f"{value:g}" for value in values)  # NaN differs from itself


def depths_text(depths: Sequence[int]) -> str:
    return "." if min(depths) < 0 else ",".join(map(str, depths))


@lru_cache(maxsize=4096)
def genotype_text(genotype: tuple[int, ...], is_phased: bool) -> str:
    return ("|" if is_phased else "/").join("." if allele < 0 else str(allele) for allele in genotype) or "."


@lru_cache(maxsize=4096)
def count_text(genotypes: tuple[tuple[int, ...], ...], alleles: int) -> str:
    """Return AC, AN and AF. AF is left out if no genotype is known."""
    copies = [allele for genotype in genotypes for allele in genotype if allele >= 0]
    counts = [copies.count(allele) for allele in range(1, alleles)]
    text = f"AC={','.join(map(str, counts))};AN={len(copies)}"
    if not copies:
        return text
    return f"{text};AF={','.join(number_text(count / len(copies)) for count in counts)}"


@lru_cache(maxsize=4096)
def number_text(value: float) -> str:
    """Format with at most three decimals, without trailing zeros."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def kind_of(path: str | None) -> str:
    """Return vcf, vcf.gz or bcf by the ending; vcf for stdout (None or "-"), pipes and devices. Raises UsageError."""
    return ending_of(path, "vcf", "vcf.gz", "bcf")


class VariantWriter(Writer):
    """A writer of lines in order. A compressed file and its index are completed together."""

    def __init__(self, path: str | None, header: str, longest_contig: int, threads: int = 1):
        self._kind = kind_of(path)
        self.index: Path | None = None  # made by `close`
        self.beside: list[OutputFile] = []  # complete, to be named together with this one
        self._file = OutputFile(path)
        self._lines = ByteWriter(self._file.open(), 0 if self._kind == "vcf" else threads, self._file.name)
        is_vcf_gz = self._kind == "vcf.gz"
        self._indexer = VcfIndexer(len(header.encode()), longest_contig, threads) if is_vcf_gz else None
        try:
            self._lines.write(header.encode())
        except BaseException:  # the disk is full
            self.abort()
            raise

    def write(self, lines: bytes) -> None:
        """Write whole lines."""
        self._lines.write(lines)
        if self._indexer:
            self._indexer.add(lines)

    def complete(self) -> None:
        self.prepare().finish(*self.beside)

    def prepare(self) -> OutputFile:
        """Complete the file and its index without naming them yet."""
        self._lines.close()
        if self._kind == "bcf":
            with writing(self._file.name, by_htslib=True), quiet_htslib():
                _to_bcf(self._file.place)
        if self._kind != "vcf":
            ending = self._indexer.ending if self._indexer else ".csi"
            self.index = Path(f"{self._file.name}{ending}")
            path = self._file.index_path(ending)
            with writing(str(self.index)), quiet_htslib():
                if self._indexer:
                    path.write_bytes(self._indexer.finish(self._lines.virtual_offsets))
                else:  # pysam names this path
                    pysam.tabix_index(str(self._file.place), preset="vcf", force=True, keep_original=True, csi=True)
        return self._file

    def abort(self) -> None:
        if self._indexer:
            self._indexer.abort()
        with suppress(OSError):  # a failure from before repeats itself
            self._lines.abort()
        for file in (self._file, *self.beside):
            file.remove()


def _to_bcf(path: Path) -> None:
    """Convert VCF.gz to BCF under the same name, in a private folder."""
    copy = path.with_name(path.name + ".bcf")
    with pysam.VariantFile(str(path)) as source, pysam.VariantFile(str(copy), "wb", header=source.header) as out:
        for record in source:
            out.write(record)
    copy.replace(path)
