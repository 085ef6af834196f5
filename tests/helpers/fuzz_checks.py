"""What an output must satisfy whatever the input was, as far as it can be said without the input: others can read it.

Run in a process of its own (`Case.checks`): a library that crashes on a file of ours is a fault of ours.
"""

import math
import re
from pathlib import Path

import pysam
from isal import igzip

NAME = re.compile(r"[!-?A-~]{1,254}")
TAGS = re.compile(
    r"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?[0-9]+|f:[-+]?([0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|inf|nan)|Z:[ !-~]*"
    r"|H:([0-9A-F][0-9A-F])*|B:([cCsSiI](,[-+]?[0-9]+)*|f(,[-+]?([0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|inf|nan))*))"
)
GZIP = b"\x1f\x8b"
MAPPED, UNMAPPED = "MIDNSHP=X", 4


def alignments(path: str, reference: str | None = None) -> None:
    """Each record of a SAM, BAM or CRAM file obeys the SAM specification, sections 1.4 and 1.5."""
    pysam.quickcheck(path)
    _check_records(path, reference)


def unaligned(path: str) -> None:
    """Likewise, of a file whose header may name no contig."""
    pysam.quickcheck("-u", path)
    _check_records(path, None)


def _check_records(path: str, reference: str | None) -> None:
    with pysam.AlignmentFile(path, check_sq=False, reference_filename=reference) as file:
        lengths, before = dict(zip(file.references, file.lengths, strict=True)), (-1, -1)
        is_sorted = file.header.to_dict().get("HD", {}).get("SO") == "coordinate"
        groups = {group["ID"] for group in file.header.to_dict().get("RG", [])}
        for record in file.fetch(until_eof=True):
            line = record.to_string()
            check_line(line, lengths, groups)
            place = (record.reference_id % (1 << 32), record.reference_start)
            assert not is_sorted or place >= before, f"not in order: {line}"
            before = place
    if Path(f"{path}.bai").exists():
        with pysam.AlignmentFile(path) as file:
            assert file.count(until_eof=True) == file.mapped + file.unmapped, "the index counts other reads"


def check_line(line: str, lengths: dict[str, int], groups: set[str]) -> None:
    name, flag, contig, position, _, cigar, mate, mate_position, _, bases, qualities, *tags = line.split("\t")
    assert NAME.fullmatch(name), line
    for own, place in ((contig, position), (contig if mate == "=" else mate, mate_position)):
        assert own == "*" or own in lengths, line
        assert own == "*" or 0 <= int(place) <= lengths[own], line  # CRAM makes some mates' contigs *
    assert re.fullmatch(r"\*|[A-Za-z=.]+", bases) and re.fullmatch(r"\*|[!-~]+", qualities), line
    assert qualities == "*" or bases == "*" or len(qualities) == len(bases), line
    steps = [(int(count), kind) for count, kind in re.findall(r"([0-9]+)([MIDNSHP=X])", cigar)]
    assert cigar == "*" or "".join(f"{count}{kind}" for count, kind in steps) == cigar, line
    if steps and bases != "*":
        assert sum(count for count, kind in steps if kind in "MIS=X") == len(bases), line
    if steps and not int(flag) & UNMAPPED:
        span = sum(count for count, kind in steps if kind in "MDN=X")
        assert int(position) - 1 + span <= lengths[contig], line
    assert all(TAGS.fullmatch(tag) for tag in tags), line
    assert len({tag[:2] for tag in tags}) == len(tags), line
    group = next((tag[5:] for tag in tags if tag.startswith("RG:Z:")), None)
    assert group is None or group in groups, line


def variants(path: str) -> None:
    """htslib reads each record; PL has as many values as there are genotypes; numbers are finite."""
    with pysam.VariantFile(path) as file:
        lengths, before = {name: contig.length for name, contig in file.header.contigs.items()}, (-1, -1)
        for record in file:
            line = str(record)
            place = (record.rid, record.pos)
            assert place >= before, f"not in order: {line}"
            before = place
            assert lengths[record.contig] is None or 0 <= record.start < lengths[record.contig], line
            assert record.qual is None or math.isfinite(record.qual), line
            for sample in record.samples.values():
                check_sample(sample, len(record.alleles), line)


def same_body(path: str, expected: str) -> None:
    """The lines of a VCF after its header are those of another file."""
    body = [line for line in Path(path).read_text().splitlines() if not line.startswith("#")]
    assert body == Path(expected).read_text().splitlines(), "other lines"


def same_records(path: str, expected: str) -> None:
    """The records of a SAM file are those of another one."""
    one, two = ([line for line in Path(name).read_text().splitlines() if line[:1] != "@"] for name in (path, expected))
    assert one == two, "other records"


def same_contents(path: str, expected: str) -> None:
    """The bytes of a file are those of another one, decompressed if it is BAM."""
    one, two = (Path(name).read_bytes() for name in (path, expected))
    if one.startswith(GZIP):
        one, two = igzip.decompress(one), igzip.decompress(two)
    assert one == two, "other contents"


def check_sample(sample: pysam.VariantRecordSample, alleles: int, line: str) -> None:
    genotype = [allele for allele in sample.get("GT") or () if allele is not None]
    assert all(0 <= allele < alleles for allele in genotype), line
    likelihoods = sample.get("PL")
    if likelihoods and likelihoods[0] is not None:
        ploidy = len(sample["GT"])
        assert len(likelihoods) == math.comb(alleles + ploidy - 1, ploidy), line
        assert min(likelihoods) >= 0, line


def same_variants(path: str, expected: str) -> None:
    """The records of two VCF files are the same."""
    own, other = ([line for line in Path(p).read_text().splitlines() if line[0] != "#"] for p in (path, expected))
    lost, new = sorted({*other} - {*own}), sorted({*own} - {*other})
    assert own == other, f"{len(lost)} lost: {lost[:2]}, {len(new)} new: {new[:2]}"
