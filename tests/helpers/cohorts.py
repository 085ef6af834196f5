"""gVCFs written line by line, and what they are read into."""

from collections.abc import Sequence
from math import comb
from pathlib import Path

import numpy as np
import pysam

from readwarp.cohort.cells import gather
from readwarp.cohort.genotype import genotype_sites
from readwarp.cohort.sites import alleles_of, find_sites, records_of
from readwarp.formats.common.regions import Contigs
from readwarp.formats.variants.genomic import GenomicFile

NON_REF = "<NON_REF>"
EVERYWHERE = np.array([-1 << 20]), np.array([1 << 20])
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"
Line = tuple[int, str, str, str, str]  # 0-based position, REF, ALT, INFO, FORMAT and column with a blank between


def variant(position: int, ref: str, alts: str, genotype: str, phred: Sequence[int], **more: object) -> Line:
    """A line with the alleles `alts` (commas between) and <NON_REF>."""
    count = alts.count(",") + 3
    depths = more.get("depths", [10] * (count - 1) + [0])
    rest = f":{more['phase']}" if "phase" in more else ""
    names = "GT:GQ:DP:AD:PL" + (":PS" if rest else "")
    values = f"{genotype}:{more.get('quality', 50)}:{sum(depths)}:{text(depths)}:{text(phred)}{rest}"
    return position, ref, f"{alts},{NON_REF}", str(more.get("info", "MQ=60")), f"{names} {values}"


def block(start: int, stop: int, base: str, phred: Sequence[int], depth: int = 20, genotype: str = "0/0") -> Line:
    values = f"{genotype}:{depth}:{min(99, min(phred[1:]))}:{depth}:{text(phred)}"
    return start, base, NON_REF, f"END={stop}", f"GT:DP:GQ:MIN_DP:PL {values}"


def text(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def written(lines: Sequence[Line], sample: str, contigs: dict[str, int], contig: str = "one") -> str:
    head = ["##fileformat=VCFv4.2", *(f"##contig=<ID={name},length={n}>" for name, n in contigs.items())]
    head += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="g">', '##ALT=<ID=NON_REF,Description="a">']
    for name, number in (("GQ", "1"), ("DP", "1"), ("MIN_DP", "1"), ("AD", "R"), ("PL", "G"), ("PS", "1"), ("SB", "4")):
        head.append(f'##FORMAT=<ID={name},Number={number},Type=Integer,Description="x">')
    head += [f'##INFO=<ID={n},Number=1,Type={t},Description="x">' for n, t in (("END", "Integer"), ("MQ", "Float"))]
    head.append(f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{sample}")
    body = (
        f"{contig}\t{position + 1}\t.\t{ref}\t{alt}\t.\t.\t{info}\t" + "\t".join(columns.split(" "))
        for position, ref, alt, info, columns in lines
    )
    return "\n".join((*head, *body)) + "\n"


def indexed(path: Path, content: str) -> Path:
    """path.g.vcf.gz with its .tbi."""
    plain = path.with_suffix(".tmp.vcf")
    plain.write_text(content)
    target = path.with_suffix(".g.vcf.gz")
    pysam.tabix_compress(str(plain), str(target), force=True)
    pysam.tabix_index(str(target), preset="vcf", force=True)
    plain.unlink()
    return target


def found_in(paths: Sequence[Path], contigs: dict[str, int], max_alts: int = 8, ploidy: int = 2):
    """Sites, evidence and genotypes of the first contig."""
    files = [GenomicFile(path, Contigs(list(contigs), list(contigs.values())), None) for path in paths]
    try:
        lines = [file.lines(0, 0, 1 << 20) for file in files]
        records = [record for i, own in enumerate(lines) for record in records_of(i, own, EVERYWHERE)]
        sites = find_sites(records, EVERYWHERE, max_alts, ploidy)
        evidence = gather(sites, files, lines)
    finally:
        for file in files:
            file.close()
    return sites, evidence, genotype_sites(alleles_of(sites), evidence, np.full(len(sites), 1e-3))


def lines_of_text(text: str) -> str:
    """Lines with blanks between their columns as VCF has them."""
    return "".join("\t".join(line.split(" ")) + "\n" for line in text.splitlines() if line)


def genotypes(alleles: int, ploidy: int) -> int:
    return comb(alleles + ploidy - 1, ploidy)
