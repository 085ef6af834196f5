"""Collect the alleles that several normals show, reading their calls in step. See the package's text."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.call.records.genotypes.spell import trim_end
from readwarp.errors import InputError
from readwarp.formats.common.contig_names import explain_absent
from readwarp.formats.common.names import sample_problem
from readwarp.formats.variants.records import RecordFile, explaining
from readwarp.formats.variants.vcf import HeaderField
from readwarp.somatic.panel import CLOSE, LEAST

INFORMATION = (
    HeaderField("NORMALS", "1", "Integer", "Normals that show the allele"),
    HeaderField("FRACTION", "1", "Float", "Fraction of the normals that show the allele"),
    HeaderField("MEANAF", "1", "Float", "Mean share of the allele's reads in the normals that show it"),
    HeaderField("BETA", "2", "Float", "alpha and beta of the Beta distribution of that share"),
)
Reads = tuple[int, int]  # reads that show the allele; these plus those of REF


class ShownAllele(NamedTuple):
    """Allele shown by a sample."""

    contig: int
    position: int  # POS, but 0-based
    reference: str
    other: str
    sample: int
    reads: Reads


class PanelAllele(NamedTuple):
    contig: int
    position: int
    reference: str
    other: str
    reads: list[Reads]  # reads of each normal that shows it


class NormalFile(NamedTuple):
    records: RecordFile
    samples: tuple[str, ...]
    contigs: dict[str, int]  # name -> length, in the order of the records
    sums: dict[str, str]  # name -> MD5, where the header has it
    reference: str  # its name, as the header has it

    @property
    def path(self) -> Path:
        return self.records.path


def open_normals(paths: Sequence[Path], stack: ExitStack) -> list[NormalFile]:
    """Open the files, which the stack closes. Raises InputError for files that cannot be combined."""
    files, owner = list[NormalFile](), dict[str, Path]()
    for path in paths:
        records = RecordFile(path, stack, with_samples=True)
        with explaining(path):
            file = NormalFile(records, *check_header(path, records.header))
        if files and file.contigs != files[0].contigs:
            raise InputError(path, f"its contigs are not those of {files[0].path}: calls must be of one reference")
        for name in file.samples:
            if name in owner:
                raise InputError(path, f"its sample {name!r} is in {owner[name]} too")
            owner[name] = path
        files.append(file)
    return files


def check_header(path: Path, header: Any) -> tuple[tuple[str, ...], dict[str, int], dict[str, str], str]:
    """Return a NormalFile's samples, contigs, sums and reference. Raises InputError."""
    samples = tuple(header.samples)
    if not samples:
        raise InputError(path, "has no sample: a panel is made from genotypes")
    for name in samples:
        if problem := sample_problem(name):
            raise InputError(path, f"the name of its sample {name} {problem}")
    for field, kind in (("GT", "String"), ("AD", "Integer")):
        if field not in header.formats:
            raise InputError(path, f"has no FORMAT field {field}")
        if header.formats[field].type != kind:
            raise InputError(path, f"its header says that FORMAT field {field} is not of type {kind}")
    contigs = {contig.name: contig.length for contig in header.contigs.values()}
    if not all(contigs.values()):
        raise InputError(path, "its header does not say how long contigs are")
    rows = list(header.records)
    sums = {row["ID"]: row.get("md5", "") for row in rows if row.key == "contig"}
    references = [row.value for row in rows if row.key == "reference"]
    return samples, contigs, sums, references[-1] if references else "unknown"


def read_shown(file: NormalFile, first: int) -> Iterator[ShownAllele]:
    """Yield the alleles that samples show, in order. first: number of the file's first sample. Raises InputError."""
    numbers, last = {name: number for number, name in enumerate(file.contigs)}, (0, 0)
    for row, record in file.records:
        if record.chrom not in numbers:
            raise InputError(file.path, explain_absent(record.chrom, numbers, "variants"), row)
        place = numbers[record.chrom], record.start
        if place < last:
            raise InputError(file.path, "records are not sorted by contig and position", row)
        last = place
        with explaining(file.path, row):
            shown = list(shown_in(record, place, first, file.path, row))
        yield from shown


def shown_in(record: Any, place: tuple[int, int], first: int, path: Path, row: int) -> Iterator[ShownAllele]:
    alleles: Sequence[str] = record.alleles or ()
    for sample, own in enumerate(record.samples.values(), first):
        for allele in sorted({allele for allele in own.allele_indices or () if allele}):
            reference, other = trim_end((alleles[0].upper(), alleles[allele].upper()))
            if set(reference + other) <= set("ACGTN"):
                yield ShownAllele(*place, reference, other, sample, reads_of(own, allele, len(alleles), path, row))


def reads_of(sample: Any, allele: int, alleles: int, path: Path, row: int) -> Reads:
    depths = sample.get("AD")
    if not isinstance(depths, tuple) or len(depths) != alleles or None in depths:
        raise InputError(path, "AD lacks a number for each allele, although GT names one", row)
    return depths[allele], depths[0] + depths[allele]


def collect(files: Sequence[NormalFile], least: int) -> Iterator[PanelAllele]:
    """Yield the alleles that `least` or more samples show, sorted by contig, position and alleles."""
    streams, first = list[Iterable[ShownAllele]](), 0
    for file in files:
        streams.append(read_shown(file, first))
        first += len(file.samples)
    place_of = attrgetter("contig", "position")
    for place, shown in groupby(merge(*streams, key=place_of), key=place_of):
        found: dict[tuple[str, str], dict[int, Reads]] = {}
        for one in shown:
            found.setdefault((one.reference, one.other), {}).setdefault(one.sample, one.reads)
        for pair in sorted(found):
            if len(found[pair]) >= least:
                yield PanelAllele(*place, *pair, list(found[pair].values()))


def fit_beta(reads: Sequence[Reads]) -> tuple[float, float]:
    """Estimate alpha and beta by moments."""
    reads = [(own, all_) for own, all_ in reads if all_]
    total = sum(all_ for _, all_ in reads)
    mean = min(1 - LEAST, max(LEAST, sum(own for own, _ in reads) / max(1, total)))
    spread = sum(all_ * (own / all_ - mean) ** 2 for own, all_ in reads)
    apart = total - sum(all_ * all_ for _, all_ in reads) / max(1, total)
    free = len(reads) - 1
    rho = (spread / (mean * (1 - mean)) - free) / (apart - free) if apart > free else CLOSE
    number = 1 / min(1 - CLOSE, max(CLOSE, rho)) - 1
    return mean * number, (1 - mean) * number


def format_allele(allele: PanelAllele, contigs: Sequence[str], samples: int) -> bytes:
    """Format a line of VCF without genotypes. samples: number over all files."""
    number = len(allele.reads)
    share = sum(own / max(1, all_) for own, all_ in allele.reads) / number
    information = f"NORMALS={number};FRACTION={number / samples:.4g};MEANAF={share:.4g};"
    information += "BETA={:.4g},{:.4g}".format(*fit_beta(allele.reads))
    columns = (contigs[allele.contig], allele.position + 1, ".", allele.reference, allele.other, ".", ".", information)
    return ("\t".join(map(str, columns)) + "\n").encode()
