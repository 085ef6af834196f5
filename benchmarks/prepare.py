"""Make the benchmarks' read sets: prepare.py FOLDER [SET ...]   (default: all sets of short reads)

Needs Debian's packages apt, dpkg and art-nextgen-simulation-tools. The names of reads contain their true place
(tools/simulate_diploid.py, simulate_long.py), so that tools/map_accuracy.py and tools/call_accuracy.py can score the
results.

    chrX    70 Mb of human chromosome X (smalt-examples), variants at 0.1 %, 662k pairs 2x150, 3x, insert 400 +- 90
    chr20   10 Mb of human chromosome 20, the variants of HG002, 30x 2x150, insert 350 +- 50
    chr20x15, chr20x60   the same at 15x and at 60x
    chrX2   the same chromosome with other variants and reads: 2x
    families, families2, families3   segments of chr20 of 5 to 300 kb, each copied once to many times with 0 to 3 % of
                                     its bases changed, in random order (15 to 19 Mb), variants at 0.1 %, 10x 2x150,
                                     insert 400 +- 60

Each set is FOLDER/SET_1.fq, SET_2.fq and SET.truth.vcf; the references are chrX.fa, chr20.fa and, of families,
SET.fa. Long reads, each set FOLDER/SET.fq and SET.truth.vcf, of the kinds hifi (mean 15 kb, errors 0.1 %) and ont
(mean 20 kb, 1.2 %):

    chrX-hifi, chrX-ont                0.5x, variants as above
    chr20-hifi, chr20-ont              5x, the variants of HG002
    duplicated-hifi, duplicated-ont    5x of chr20 with copies of its stretches behind it, which are as long and as
                                       alike as segmental duplications (duplicated.fa); variants at 0.1 %
"""

import argparse
import gzip
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pysam

HERE = Path(__file__).resolve().parent
SIMULATE = HERE / "tools" / "simulate_diploid.py"
SIMULATE_LONG = HERE / "tools" / "simulate_long.py"
VARIANT_RATE, INDEL_SHARE, LONGEST_INDEL = 0.001, 0.15, 40
CHR_X_SEED, CHR_X_INSERTS = 2027, ("--insert", "400", "--insert-sd", "90")
LONG_SEED = 6151
COPIES, SHORTEST_COPY, LONGEST_COPY = 60, 5_000, 200_000
LEAST_CHANGED, MOST_CHANGED = 0.00003, 0.03  # share of a copy's bases
FAMILIES, LONGEST_SEGMENT, FAMILY_CHANGES = 60, 300_000, (0, 0.0005, 0.002, 0.005, 0.01, 0.02, 0.03)
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def human_x(folder: Path) -> Path:
    """Unpack the chromosome from Debian's package."""
    target = folder / "chrX.fa"
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["apt-get", "-q", "download", "smalt-examples"], cwd=scratch, check=True)
        package = next(Path(scratch).glob("smalt-examples_*.deb"))
        subprocess.run(["dpkg", "-x", package.name, "files"], cwd=scratch, check=True)
        packed = next(Path(scratch).rglob("hs37chrXtrunc.fa.gz"))
        with gzip.open(packed, "rb") as source, open(target, "wb") as sink:
            shutil.copyfileobj(source, sink)
    return target


def random_variants(reference: Path, contig: str, target: Path, seed: int = 7) -> Path:
    """Heterozygous and homozygous SNVs and indels at VARIANT_RATE; bgzipped and indexed."""
    bases = pysam.FastaFile(str(reference)).fetch(contig).upper()
    rng = random.Random(seed)
    lines = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID={contig},length={len(bases)}>",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS",
    ]
    position = 0
    while True:
        position += 1 + int(rng.expovariate(VARIANT_RATE))
        if position >= len(bases) - 100:
            break
        alleles = random_alleles(bases, position, rng)
        if alleles is None:
            continue
        genotype = rng.choice(("0|1", "1|0", "1|1"))
        lines.append(f"{contig}\t{position + 1}\t.\t{alleles[0]}\t{alleles[1]}\t.\t.\t.\tGT\t{genotype}")
    target.write_text("\n".join(lines) + "\n")
    return Path(pysam.tabix_index(str(target), preset="vcf", force=True))


def random_alleles(bases: str, position: int, rng: random.Random) -> tuple[str, str] | None:
    """Reference and alternate allele at a position, or None if the reference has letters other than ACGT."""
    here = bases[position]
    if here not in "ACGT":
        return None
    if rng.random() >= INDEL_SHARE:
        return here, rng.choice([b for b in "ACGT" if b != here])
    length = min(1 + int(rng.expovariate(0.35)), LONGEST_INDEL)
    if rng.random() < 0.5:
        deleted = bases[position : position + length + 1]
        return None if set(deleted) - set("ACGT") else (deleted, here)
    return here, here + "".join(rng.choice("ACGT") for _ in range(length))


def simulate(reference: Path, variants: Path, prefix: Path, *options: str) -> None:
    subprocess.run([sys.executable, SIMULATE, reference, variants, prefix, *options], check=True)


def with_variants(reference: Path, seed: int = 7) -> tuple[Path, str, Path]:
    """A reference of one contig, the contig, and random variants on it."""
    contig = pysam.FastaFile(str(reference)).references[0]
    return reference, contig, random_variants(reference, contig, reference.with_suffix(".vcf"), seed)


def chr_x(folder: Path) -> None:
    reference, contig, variants = with_variants(human_x(folder))
    simulate(reference, variants, folder / "chrX", "--contig", contig, "--depth", "3", *CHR_X_INSERTS)


def chr_x_again(folder: Path) -> None:
    reference = human_x(folder)
    contig = pysam.FastaFile(str(reference)).references[0]
    variants = random_variants(reference, contig, folder / "chrX2.vcf", CHR_X_SEED)
    options = "--contig", contig, "--depth", "2", "--seed", str(CHR_X_SEED)
    simulate(reference, variants, folder / "chrX2", *options, *CHR_X_INSERTS)


def unpacked(source: Path, target: Path) -> Path:
    with gzip.open(source, "rb") as packed, open(target, "wb") as sink:
        shutil.copyfileobj(packed, sink)
    return target


def chr_20(folder: Path, name: str = "chr20", depth: int = 30) -> None:
    reference = unpacked(HERE / "data/sim_chr20/grch38.chr20_10M.fa.gz", folder / "chr20.fa")
    variants = HERE / "data/sim_chr20/truth.vcf.gz"
    simulate(reference, variants, folder / name, "--contig", "chr20", "--depth", str(depth))


def duplicated(folder: Path) -> Path:
    """chr20 and copies of its stretches, half of them reversed, each changed to an extent of its own."""
    source = unpacked(HERE / "data/sim_chr20/grch38.chr20_10M.fa.gz", folder / "chr20.fa")
    bases, rng = pysam.FastaFile(str(source)).fetch("chr20").upper(), random.Random(LONG_SEED)
    parts = [bases]
    for _ in range(COPIES):
        length = int(SHORTEST_COPY * (LONGEST_COPY / SHORTEST_COPY) ** rng.random())
        share = LEAST_CHANGED * (MOST_CHANGED / LEAST_CHANGED) ** rng.random()
        start = rng.randrange(len(bases) - length)
        copy = changed(bases[start : start + length], share, rng)
        parts.append(copy.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else copy)
    return written(folder / "duplicated.fa", parts)


def written(target: Path, parts: list[str]) -> Path:
    target.write_text(f">{target.stem}\n{''.join(parts)}\n")
    return target


def families(folder: Path, name: str, seed: int) -> None:
    source = unpacked(HERE / "data/sim_chr20/grch38.chr20_10M.fa.gz", folder / "chr20.fa")
    bases, rng, parts = pysam.FastaFile(str(source)).fetch("chr20").upper(), random.Random(seed), list[str]()
    for _ in range(FAMILIES):
        length = int(SHORTEST_COPY * (LONGEST_SEGMENT / SHORTEST_COPY) ** rng.random())
        start = rng.randrange(len(bases) - length)
        segment = bases[start : start + length]
        parts.append(segment)
        for _ in range(1 + int(rng.expovariate(0.35))):
            share = rng.choice(FAMILY_CHANGES)
            copy = changed(segment, share, rng) if share else segment
            parts.append(copy.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else copy)
    rng.shuffle(parts)
    reference, contig, variants = with_variants(written(folder / f"{name}.fa", parts), seed)
    options = "--contig", contig, "--depth", "10", "--insert", "400", "--insert-sd", "60"
    simulate(reference, variants, folder / name, *options)


def changed(bases: str, share: float, rng: random.Random) -> str:
    """Bases with substitutions, insertions and deletions at this share of them."""
    parts, cursor, position = list[str](), 0, int(rng.expovariate(share))
    while position < len(bases) - LONGEST_INDEL:
        alleles = random_alleles(bases, position, rng)
        if alleles is not None:
            parts += bases[cursor:position], alleles[1]
            cursor = position + len(alleles[0])
        position = max(position + 1 + int(rng.expovariate(share)), cursor)
    return "".join([*parts, bases[cursor:]])


def long_reads(folder: Path, name: str, depth: float) -> None:
    genome, kind = name.split("-")
    if genome == "chr20":
        reference = unpacked(HERE / "data/sim_chr20/grch38.chr20_10M.fa.gz", folder / "chr20.fa")
        contig, variants = "chr20", HERE / "data/sim_chr20/truth.vcf.gz"
    else:
        reference, contig, variants = with_variants({"chrX": human_x, "duplicated": duplicated}[genome](folder))
    options = "--contig", contig, "--depth", str(depth), "--kind", kind, "--seed", str(LONG_SEED)
    subprocess.run([sys.executable, SIMULATE_LONG, reference, variants, folder / name, *options], check=True)


LONG_DEPTHS = {"chrX": 0.5, "chr20": 5, "duplicated": 5}
SHORT = {
    "chrX": chr_x,
    "chrX2": chr_x_again,
    "chr20": chr_20,
    "chr20x15": partial(chr_20, name="chr20x15", depth=15),
    "chr20x60": partial(chr_20, name="chr20x60", depth=60),
    "families": partial(families, name="families", seed=11),
    "families2": partial(families, name="families2", seed=12),
    "families3": partial(families, name="families3", seed=13),
}
LONG = {
    f"{genome}-{kind}": partial(long_reads, name=f"{genome}-{kind}", depth=depth)
    for genome, depth in LONG_DEPTHS.items()
    for kind in ("hifi", "ont")
}
SETS: dict[str, Callable[[Path], None]] = SHORT | LONG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=list(SHORT), choices=list(SETS))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets:
        SETS[name](arguments.folder)


if __name__ == "__main__":
    main()
