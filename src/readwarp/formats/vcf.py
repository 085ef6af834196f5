"""Calls out: VCF, VCF.gz with its .tbi, or BCF with its .csi, by the name's ending; VCF on stdout.

Text is made for a whole batch of calls at once (`lines_of`, in any thread) and written in order. A file appears under
its name when it is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pysam

from readwarp import __version__
from readwarp.batches import Calls
from readwarp.errors import UsageError
from readwarp.formats.bgzf import BgzfWriter
from readwarp.formats.output import CSI_LENGTH, OutputFile

FORMAT = "GT:GQ:DP:AD:PL"
FORMAT_LINES = """\
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=GQ,Number=1,Type=Integer,Description="Genotype quality: second smallest PL, at most 99">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Reads that say something about the alleles">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads that show each allele">
##FORMAT=<ID=PL,Number=G,Type=Integer,Description="Phred-scaled genotype likelihoods less their minimum">
"""


@dataclass(frozen=True, slots=True)
class Field:
    """An INFO field: Number, Type and Description of its header line."""

    number: str
    type: str
    description: str


def header_text(
    contigs: Sequence[tuple[str, int, str]],
    sample: str,
    command: str,
    reference: str,
    information: Mapping[str, Field],
    filters: Mapping[str, str],
) -> str:
    """The whole header; contigs are name, length and MD5 ("" when it is not known)."""
    lines = ["##fileformat=VCFv4.2", f"##source=readwarp {__version__}", f"##readwarpCommand={command}"]
    lines += [f"##reference={reference}", '##FILTER=<ID=PASS,Description="All filters passed">']
    lines += [f'##FILTER=<ID={name},Description="{text}">' for name, text in filters.items()]
    for name, length, md5 in contigs:
        lines.append(f"##contig=<ID={name},length={length}{f',md5={md5}' if md5 else ''}>")
    for name, field in information.items():
        lines.append(f'##INFO=<ID={name},Number={field.number},Type={field.type},Description="{field.description}">')
    columns = "\t".join(("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", sample))
    return "\n".join(lines) + "\n" + FORMAT_LINES + columns + "\n"


def lines_of(calls: Calls, contigs: Sequence[str]) -> bytes:
    """One VCF line per call."""
    positions, qualities = (calls.position + 1).tolist(), calls.quality.tolist()
    numbers = zip(calls.contig.tolist(), calls.genotype_quality.tolist(), calls.depth.tolist(), strict=True)
    lines = []
    for i, (contig, genotype_quality, depth) in enumerate(numbers):
        first, *others = calls.alleles[i]
        sample = ":".join(
            (
                "/".join(map(str, calls.genotype[i])),
                f"{genotype_quality}:{depth}",
                ",".join(map(str, calls.allele_depth[i])),
                ",".join(map(str, calls.likelihoods[i])),
            )
        )
        lines.append(
            f"{contigs[contig]}\t{positions[i]}\t.\t{first}\t{','.join(others)}\t{number_text(qualities[i])}\t"
            f"{';'.join(calls.filters[i]) or 'PASS'}\t{information_text(calls.annotations[i])}\t{FORMAT}\t{sample}\n"
        )
    return "".join(lines).encode()


def information_text(values: Mapping[str, float | int | tuple[float | int, ...]]) -> str:
    return ";".join(
        f"{key}={','.join(map(number_text, value)) if isinstance(value, tuple) else number_text(value)}"
        for key, value in values.items()
    )


def number_text(value: float | int) -> str:
    """At most three decimals, without zeros at the end."""
    return str(value) if isinstance(value, int) else f"{value:.3f}".rstrip("0").rstrip(".")


def kind_of(path: str | None) -> str:
    """vcf, vcf.gz or bcf, by the ending; stdout (None or "-"), pipes and devices are vcf. Raises UsageError."""
    if path in (None, "-"):
        return "vcf"
    for kind in ("vcf.gz", "vcf", "bcf"):
        if str(path).lower().endswith("." + kind):
            return kind
    if Path(str(path)).exists() and not Path(str(path)).is_file():
        return "vcf"
    raise UsageError(f"{path}: the output's name must end in .vcf, .vcf.gz or .bcf")


class VariantWriter:
    """Takes lines in order. `close` completes the file and its index, `abort` leaves none."""

    def __init__(self, path: str | None, header: str, longest_contig: int, threads: int = 1):
        self._kind, self._needs_csi = kind_of(path), longest_contig >= CSI_LENGTH
        self._file = OutputFile(path)
        self._stream = self._file.open()
        self._bgzf = None if self._kind == "vcf" else BgzfWriter(self._stream, threads)
        self.write(header.encode())

    def write(self, lines: bytes) -> None:
        (self._bgzf or self._stream).write(lines)

    def close(self) -> None:
        if self._bgzf:
            self._bgzf.close()
        self._stream.flush()
        if self._file.name == "stdout":
            return
        self._stream.close()
        if self._kind == "bcf":
            _to_bcf(self._file.place)
        if self._kind != "vcf":
            self._index()
        self._file.finish()

    def _index(self) -> None:
        """The index is renamed just before the file that it belongs to."""
        is_csi = self._kind == "bcf" or self._needs_csi
        made = self._file.place.with_name(self._file.place.name + (".csi" if is_csi else ".tbi"))
        pysam.tabix_index(str(self._file.place), preset="vcf", force=True, keep_original=True, csi=is_csi)
        made.replace(self._file.name + made.suffix)

    def abort(self) -> None:
        if self._bgzf:
            self._bgzf.abort()
        if self._file.name != "stdout":
            self._stream.close()
        self._file.remove()


def _to_bcf(path: Path) -> None:
    """VCF.gz -> BCF under the same name."""
    copy = path.with_name(path.name + ".bcf")
    verbosity = pysam.set_verbosity(0)  # htslib looks for an index, and says so when there is none
    with pysam.VariantFile(str(path)) as source, pysam.VariantFile(str(copy), "wb", header=source.header) as out:
        for record in source:
            out.write(record)
    pysam.set_verbosity(verbosity)
    copy.replace(path)
