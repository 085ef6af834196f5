"""Simulate a panel that was sequenced with UMIs: molecules of a sample with rare variants, and their copies.

    python benchmarks/tools/molecule_reads.py REF.fa PREFIX --region chr20:1,000,001-1,020,000 --molecules 20000

Each molecule is double-stranded, and both of its ends get a UMI. A strand may be damaged (G to T by oxidation, C to T
by deamination), its copies inherit errors of early PCR cycles, and each read has errors by its base qualities. Of
strand A, the first mate is the left end; of strand B, the right one, and its UMIs are the other way round.

Writes PREFIX.bam (true alignments, sorted, with RX and the true MI), PREFIX_1.fq.gz and PREFIX_2.fq.gz (UMIs at the
end of the names), and PREFIX.truth.vcf (SHARE: the share of molecules). The same seed writes the same reads.
"""

import argparse
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from numpy import ndarray
from numpy.random import Generator

LETTERS = np.frombuffer(b"ACGTN", np.uint8)
A, C, G, T, NONE = range(5)
SHARES = (0.001, 0.005, 0.01, 0.05)
BINS = np.array([2, 12, 23, 37])
PROFILE = np.array([[0.002, 0.008, 0.03, 0.96], [0.01, 0.04, 0.12, 0.83]])  # of BINS at the first and the last base
PCR_SHARES = np.array([0.5, 0.25, 0.125])  # copies that inherit an error of cycle 1, 2, 3
DAMAGE = ((G, T), (C, T))  # on the strand that is damaged


class Molecules(NamedTuple):
    start: ndarray  # int64, in the region
    length: ndarray  # int64
    strands: ndarray  # uint8 [molecules, 2, bases]: what PCR copies of each strand say, on the forward strand
    true: ndarray  # uint8 [molecules, bases]
    umis: ndarray  # uint8 [molecules, 2, letters]: of the left and the right end


class Templates(NamedTuple):
    """Pairs that are sequenced."""

    molecule: ndarray  # int64
    strand: ndarray  # 0 A, 1 B
    bases: ndarray  # uint8 [templates, bases], on the forward strand, with errors of PCR


def main() -> None:
    options = parse()
    rng = np.random.default_rng(options.seed)
    with pysam.FastaFile(options.reference) as fasta:
        contig, start, stop = region_of(options, fasta)
        letters = fasta.fetch(contig, start, stop).upper()
        contigs = list(zip(fasta.references, fasta.lengths, strict=True))
    region = np.searchsorted(LETTERS[:4], np.frombuffer(letters.encode(), np.uint8)) % 4
    variants = draw_variants(rng, region, options.variants)
    molecules = draw_molecules(rng, region, variants, options)
    templates = copy(rng, molecules, options)
    write_truth(options.prefix, contigs, contig, start, region, variants)
    if options.truth_fasta:
        write_molecules(options.prefix, molecules)
    write_reads(rng, options, contigs, contig, start, molecules, templates)
    print(f"{options.molecules:,} molecules, {templates.molecule.size:,} pairs, {len(variants[0])} variants")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("prefix")
    parser.add_argument("--region", help="NAME:FROM-TO [the first 20,000 bases of the first contig]")
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--family", type=float, default=5.0, help="mean reads of a strand")
    parser.add_argument("--lost", type=float, default=0.15, help="share of strands without reads")
    parser.add_argument("--read-length", type=int, default=150)
    parser.add_argument("--insert", type=float, default=220.0)
    parser.add_argument("--umi", type=int, default=8, help="letters at each end")
    parser.add_argument("--umi-error", type=float, default=0.01)
    parser.add_argument("--damage", type=float, default=1e-4, help="of each kind, by base of a strand that it can hit")
    parser.add_argument("--pcr-error", type=float, default=1e-5, help="by base and early cycle")
    parser.add_argument("--inline", action="store_true", help="UMIs begin the reads of the FASTQ files, too")
    parser.add_argument("--truth-fasta", action="store_true", help="write the molecules, too: PREFIX.molecules.fa")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def region_of(options: argparse.Namespace, fasta: pysam.FastaFile) -> tuple[str, int, int]:
    if options.region is None:
        return fasta.references[0], 0, min(20_000, fasta.lengths[0])
    contig, _, place = options.region.rpartition(":")
    first, last = (int(number) for number in place.replace(",", "").split("-"))
    return contig, first - 1, last


def draw_variants(rng: Generator, region: ndarray, number: int) -> tuple[ndarray, ndarray, ndarray]:
    """(place, alternate base, share), spread over the region."""
    place = np.sort(rng.choice(np.arange(100, region.size - 100), number, replace=False))
    return place, (region[place] + rng.integers(1, 4, number)) % 4, np.resize(SHARES, number)


def draw_molecules(
    rng: Generator, region: ndarray, variants: tuple[ndarray, ndarray, ndarray], options: argparse.Namespace
) -> Molecules:
    number = options.molecules
    length = np.clip(rng.normal(options.insert, options.insert / 5, number), 60, 2 * options.insert).astype(int)
    length = np.minimum(length, region.size)
    start = rng.integers(0, region.size - length + 1)
    haplotypes = np.concatenate([region, np.zeros(int(2 * options.insert) + 1, region.dtype)])
    true = haplotypes[start[:, None] + np.arange(length.max())].astype(np.uint8)
    for place, base, share in zip(*variants, strict=True):
        has = (start <= place) & (place < start + length) & (rng.random(number) < share)
        true[has, place - start[has]] = base
    strands = np.stack([damage(rng, true, options.damage), 3 - damage(rng, 3 - true, options.damage)], axis=1)
    return Molecules(start, length, strands, true, rng.integers(0, 4, (number, 2, options.umi)).astype(np.uint8))


def damage(rng: Generator, strand: ndarray, rate: float) -> ndarray:
    """The strand, each base as it is read on it."""
    damaged = strand.copy()
    for base, becomes in DAMAGE:
        damaged[(strand == base) & (rng.random(strand.shape, np.float32) < rate)] = becomes
    return damaged


def copy(rng: Generator, molecules: Molecules, options: argparse.Namespace) -> Templates:
    """The pairs of each strand: their number is skewed, and some strands are lost."""
    families = 2 * molecules.start.size
    sizes = 1 + rng.negative_binomial(1.5, 1.5 / (1.5 + max(0.01, options.family - 1)), families)
    sizes[rng.random(families) < options.lost] = 0
    family = np.repeat(np.arange(families), sizes)
    bases = molecules.strands[family // 2, family % 2]
    first = np.cumsum(sizes) - sizes
    for share in PCR_SHARES:
        events = rng.poisson(options.pcr_error * bases.shape[1], families)
        for each in np.repeat(np.arange(families), events):
            rows = np.arange(first[each], first[each] + sizes[each])
            place, shift = rng.integers(0, bases.shape[1]), rng.integers(1, 4)
            rows = rows[rng.random(rows.size) < share]
            bases[rows, place] = (bases[rows, place] + shift) % 4
    return Templates(family // 2, family % 2, bases)


def sequence(rng: Generator, bases: ndarray) -> tuple[ndarray, ndarray]:
    """Bases as they are read, with errors, and their qualities."""
    size = bases.shape[1]
    weights = PROFILE[0] + (PROFILE[1] - PROFILE[0]) * np.linspace(0, 1, size)[:, None] ** 2
    drawn = rng.random(bases.shape, np.float32)
    quality = BINS[(drawn[:, :, None] > np.cumsum(weights, axis=1)[None, :, :3].astype(np.float32)).sum(axis=2)]
    is_wrong = rng.random(bases.shape) < 10 ** (-quality / 10)
    read = np.where(is_wrong, (bases + rng.integers(1, 4, bases.shape)) % 4, bases)
    return read.astype(np.uint8), quality.astype(np.uint8)


def read_ends(rng: Generator, molecules: Molecules, templates: Templates, length: int) -> dict[str, tuple[ndarray, ...]]:
    """Of the left and the right ends: bases as they are sequenced, qualities, numbers of bases."""
    number = np.minimum(length, molecules.length[templates.molecule])
    columns = np.arange(min(length, templates.bases.shape[1]))
    last = molecules.length[templates.molecule] - 1
    rows = np.arange(number.size)[:, None]
    left = templates.bases[:, columns]
    right = 3 - templates.bases[rows, np.maximum(0, last[:, None] - columns)]
    return {"left": (*sequence(rng, left), number), "right": (*sequence(rng, right), number)}


def read_umis(rng: Generator, molecules: Molecules, templates: Templates, error: float) -> list[tuple[str, str]]:
    """(first, last mate's UMI) of each pair."""
    umis = molecules.umis[templates.molecule]
    umis = np.where(rng.random(umis.shape) < error, (umis + rng.integers(1, 4, umis.shape)) % 4, umis)
    umis[templates.strand == 1] = umis[templates.strand == 1][:, ::-1]
    text = LETTERS[umis]
    return [(pair[0].tobytes().decode(), pair[1].tobytes().decode()) for pair in text]


def write_truth(prefix: str, contigs: list, contig: str, start: int, region: ndarray, variants: tuple) -> None:
    lines = ["##fileformat=VCFv4.3", '##INFO=<ID=SHARE,Number=1,Type=Float,Description="Share of the molecules">']
    lines += [f"##contig=<ID={name},length={length}>" for name, length in contigs]
    lines.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    for place, base, share in zip(*variants, strict=True):
        ref, alt = chr(LETTERS[region[place]]), chr(LETTERS[base])
        lines.append(f"{contig}\t{start + place + 1}\t.\t{ref}\t{alt}\t.\tPASS\tSHARE={share}")
    Path(f"{prefix}.truth.vcf").write_text("\n".join(lines) + "\n")


def write_molecules(prefix: str, molecules: Molecules) -> None:
    """By MI, on the forward strand."""
    with Path(f"{prefix}.molecules.fa").open("w") as file:
        for number, (bases, length) in enumerate(zip(molecules.true, molecules.length, strict=True)):
            file.write(f">{number}\n{LETTERS[bases[:length]].tobytes().decode()}\n")


def write_reads(
    rng: Generator,
    options: argparse.Namespace,
    contigs: list[tuple[str, int]],
    contig: str,
    start: int,
    molecules: Molecules,
    templates: Templates,
) -> None:
    ends = read_ends(rng, molecules, templates, options.read_length)
    umis = read_umis(rng, molecules, templates, options.umi_error)
    left = start + molecules.start[templates.molecule]
    size = molecules.length[templates.molecule]
    write_fastq(options, ends, umis, templates)
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": name, "LN": length} for name, length in contigs],
        "RG": [{"ID": "panel", "SM": "panel", "LB": "panel", "PL": "ILLUMINA"}],
    }
    place = np.concatenate([left, left + size - ends["right"][2]])
    with pysam.AlignmentFile(f"{options.prefix}.bam", "wb", header=header, threads=2) as file:
        number, template = contigs.index((contig, dict(contigs)[contig])), file.header
        for row in np.argsort(place, kind="stable"):
            pair, is_right = int(row) % left.size, row >= left.size
            bases, qualities, lengths = ends["right" if is_right else "left"]
            count, span = int(lengths[pair]), int(size[pair])
            is_first = bool(is_right) == bool(templates.strand[pair])
            record = pysam.AlignedSegment(template)
            record.query_name = f"p{pair}"
            record.flag = 3 | (16 if is_right else 32) | (64 if is_first else 128)
            record.reference_id = record.next_reference_id = number
            record.reference_start, record.mapping_quality = int(place[row]), 60
            record.next_reference_start = int(place[(row + left.size) % place.size])
            record.cigartuples = [(0, count)]
            shown = (3 - bases[pair, :count])[::-1] if is_right else bases[pair, :count]
            record.query_sequence = LETTERS[shown].tobytes().decode()
            record.query_qualities = (qualities[pair, :count][::-1] if is_right else qualities[pair, :count]).tolist()
            record.template_length = -span if is_right else span
            record.set_tags(
                [
                    ("MC", f"{count}M", "Z"),
                    ("RG", "panel", "Z"),
                    ("RX", "-".join(umis[pair]), "Z"),
                    ("MI", f"{templates.molecule[pair]}/{'AB'[templates.strand[pair]]}", "Z"),
                ]
            )
            file.write(record)
    pysam.index(f"{options.prefix}.bam")


def write_fastq(options: argparse.Namespace, ends: dict, umis: list[tuple[str, str]], templates: Templates) -> None:
    for mate in (0, 1):
        with gzip.open(f"{options.prefix}_{mate + 1}.fq.gz", "wt", compresslevel=1) as file:
            for pair, strand in enumerate(templates.strand):
                bases, qualities, lengths = ends["right" if mate != strand else "left"]
                count = lengths[pair]
                letters = LETTERS[bases[pair, :count]].tobytes().decode()
                text = (qualities[pair, :count] + 33).tobytes().decode()
                if options.inline:
                    letters, text = umis[pair][mate] + letters, "F" * options.umi + text
                file.write(f"@p{pair}:{umis[pair][0]}+{umis[pair][1]}\n{letters}\n+\n{text}\n")


if __name__ == "__main__":
    main()
