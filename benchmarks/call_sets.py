"""Sets on which callers are compared: a reference, our alignments, the truth, and its confident regions.

Each function makes one in a folder, or takes it if it exists. readwarp aligns, sorts and marks the reads.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pysam

import prepare

HERE = Path(__file__).resolve().parent
DATA, TEST_DATA = HERE / "data", HERE.parent / "test_data"
HEADER = (
    "##fileformat=VCFv4.2\n##contig=<ID={name},length={length}>\n"
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tTRUTH\n"
)


@dataclass(frozen=True, slots=True)
class CallSet:
    name: str
    reference: Path
    alignments: Path
    truth: Path
    bed: Path  # where the truth is known
    ploidy: int = 2


def simulated(folder: Path, name: str) -> CallSet:
    """10 Mb of chr20 with the variants of HG002 (prepare.py)."""
    reads = [folder / f"{name}_{mate}.fq" for mate in (1, 2)]
    if not reads[0].exists():
        prepare.SETS[name](folder)
    reference = folder / "chr20.fa"
    bam = aligned(folder, name, reference, reads)
    return CallSet(name, reference, bam, folder / f"{name}.truth.vcf", DATA / "sim_chr20" / "confident.bed")


def na12878_chr21(folder: Path) -> CallSet:
    source, name = TEST_DATA / "na12878_chr21", "na12878_chr21"
    reference = Path(shutil.copy(source / "ref.fa", folder / f"{name}.fa"))
    bed = known(source / "confident.bed", source / "truth.vcf", folder / f"{name}.bed")
    bam = aligned(folder, name, reference, mates(source))
    return CallSet(name, reference, bam, source / "truth.vcf", bed)


def known(bed: Path, truth: Path, target: Path) -> Path:
    """The confident regions without the places where the truth has a variant but no genotype (./.)."""
    with pysam.VariantFile(str(truth)) as file:
        unknown = [(r.chrom, r.start, r.stop) for r in file if None in r.samples[0]["GT"]]
    with target.open("w") as out:
        for line in bed.read_text().splitlines():
            contig, start, stop = line.split()[:3]
            cuts = [cut for cut in unknown if cut[0] == contig and int(start) < cut[2] and cut[1] < int(stop)]
            places = [int(start), *(place for cut in cuts for place in cut[1:]), int(stop)]
            for low, high in zip(places[::2], places[1::2], strict=True):
                if low < high:
                    out.write(f"{contig}\t{low}\t{high}\n")
    return target


def na12878_chr20(folder: Path) -> CallSet:
    source, name = DATA / "na12878_chr20", "na12878_chr20"
    reference = prepare.unpacked(source / "ref.fa.gz", folder / f"{name}.fa")
    bed = folder / f"{name}.bed"
    bed.write_text("chr20part\t5000\t105000\n")  # where the truth has variants at all
    return CallSet(name, reference, aligned(folder, name, reference, mates(source)), source / "truth.vcf", bed)


def sarscov2(folder: Path) -> CallSet:
    """A control without any true variant."""
    source, name = DATA / "sarscov2", "sarscov2"
    reference = Path(shutil.copy(source / "ref.fa", folder / f"{name}.fa"))
    contig, letters = only_contig(reference)
    truth, bed = folder / f"{name}.truth.vcf", folder / f"{name}.bed"
    truth.write_text(HEADER.format(name=contig, length=len(letters)))
    bed.write_text(f"{contig}\t0\t{len(letters)}\n")
    bam = aligned(folder, name, reference, mates(source), mark=False)  # amplicons begin at the same places
    return CallSet(name, reference, bam, truth, bed, ploidy=1)


def mito(folder: Path) -> CallSet:
    """The SNVs between the expected mitochondrion and the reference, without positions 300-316."""
    source, name = TEST_DATA / "mito", "mito"
    reference = Path(shutil.copy(source / "ref.fa", folder / f"{name}.fa"))
    contig, letters = only_contig(reference)
    expected = (source / "HG03478.expected.fa").read_text().split()[-1]
    truth, bed = folder / f"{name}.truth.vcf", folder / f"{name}.bed"
    lines = [
        f"{contig}\t{at}\t.\t{old}\t{new}\t.\tPASS\t.\tGT\t1\n"
        for at, (old, new) in enumerate(zip(letters, expected, strict=True), 1)
        if old != new
    ]
    truth.write_text(HEADER.format(name=contig, length=len(letters)) + "".join(lines))
    bed.write_text(f"{contig}\t0\t299\n{contig}\t316\t{len(letters)}\n")
    bam = aligned(folder, name, reference, [source / "HG03478.bam"])
    return CallSet(name, reference, bam, truth, bed, ploidy=1)


SETS: dict[str, Callable[[Path], CallSet]] = {
    "na12878_chr21": na12878_chr21,
    "na12878_chr20": na12878_chr20,
    "sarscov2": sarscov2,
    "mito": mito,
    "chr20x15": partial(simulated, name="chr20x15"),
    "chr20": partial(simulated, name="chr20"),
    "chr20x60": partial(simulated, name="chr20x60"),
}


def add_ways(parser: argparse.ArgumentParser, usual: Iterable[str] = tuple(SETS)) -> "argparse._SubParsersAction":
    """Ways to name sets, which `chosen` then makes: `sets FOLDER [SET ...]`, by default the usual ones, and `file`."""
    ways = parser.add_subparsers(dest="way", required=True)
    sets = ways.add_parser("sets")
    sets.add_argument("folder", type=Path)
    sets.add_argument("names", nargs="*", metavar="SET", default=list(usual), help=" ".join(SETS))
    file = ways.add_parser("file")
    file.add_argument("name", help="name of the set, for the table")
    for path in ("reference", "alignments", "truth"):
        file.add_argument(path, type=Path)
    file.add_argument("--bed", type=Path, required=True)
    file.add_argument("--ploidy", type=int, default=2)
    return ways


def chosen(options: argparse.Namespace) -> Iterator[CallSet]:
    """The sets that `add_ways` has read, one after the other."""
    if options.way == "file":
        paths = options.reference, options.alignments, options.truth, options.bed
        yield CallSet(options.name, *paths, options.ploidy)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        yield SETS[name](options.folder)


def mates(folder: Path) -> list[Path]:
    return [folder / f"reads_{mate}.fq.gz" for mate in (1, 2)]


def only_contig(reference: Path) -> tuple[str, str]:
    """The name and the letters of the only contig."""
    with pysam.FastaFile(str(reference)) as file:
        return file.references[0], file.fetch(file.references[0]).upper()


def aligned(folder: Path, name: str, reference: Path, reads: list[Path], mark: bool = True) -> Path:
    """FOLDER/NAME.bam with its index, sorted, and duplicates marked unless `mark` is false."""
    bam = folder / f"{name}.bam"
    if not bam.exists():
        command = [Path(sys.executable).with_name("readwarp"), "align", reference, *reads, "-o", bam, "-q"]
        options = ["--sort", "coordinate", "--write-index", *(["--mark-duplicates"] if mark else [])]
        group = [] if reads[0].suffix == ".bam" else ["-R", rf"@RG\tID:{name}\tSM:{name}"]
        subprocess.run([*map(str, command), *options, *group], check=True)
    return bam
