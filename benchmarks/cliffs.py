"""Inputs of unusual shape, which must not cost more than their bases: many contigs, many targets.

    cliffs.py REF.fa ALIGNMENTS.bam CONTIG:FROM-TO [--contigs 100000] [--targets 200000] [--only WHAT ...]

contigs   a reference of so many contigs of 400 bases cut from REF, each with 10 reads and a heterozygous substitution:
          index, align, merge, run, report, pairwise, call, call --gvcf and genotype
targets   as many targets as asked for, evenly spread over the stretch but at least 10 bases apart, of 100 bases or
          less, given to call -L; next to it, call -r of the stretch: -L may take twice its processor time at most

Rows go to results/cliffs.csv. Processor times are comparable on a busy machine, wall times are not.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

import pysam

from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "cliffs.csv"
READWARP = f"{sys.executable} -m readwarp"
COLUMNS = (*CIRCUMSTANCES, "shape", "number", "what", "version", "threads", "seconds", "cpu_seconds", "peak_mb")
LENGTH, READS, READ_LENGTH, TARGET = 400, 10, 100, 100
OTHER = str.maketrans("ACGT", "CTAG")


def make_contigs(reference: str, number: int, folder: Path) -> None:
    """contigs.fa, .bam with its index, and .fq."""
    chance = random.Random(1)
    with pysam.FastaFile(reference) as file:
        whole = file.fetch(file.references[0]).upper().replace("N", "A")
    starts = [chance.randrange(len(whole) - LENGTH) for _ in range(number)]
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": f"contig_{i}", "LN": LENGTH} for i in range(number)],
        "RG": [{"ID": "a", "SM": "a"}],
    }
    quality = "F" * READ_LENGTH
    names = [folder / f"contigs.{ending}" for ending in ("fa", "bam", "fq")]
    with (
        names[0].open("w") as fasta,
        names[2].open("w") as fastq,
        pysam.AlignmentFile(str(names[1]), "wb", header=header) as out,
    ):
        for i, start in enumerate(starts):
            bases = whole[start : start + LENGTH]
            other = bases[: LENGTH // 2] + bases[LENGTH // 2].translate(OTHER) + bases[LENGTH // 2 + 1 :]
            fasta.write(f">contig_{i}\n{bases}\n")
            for k, place in enumerate(sorted(chance.randrange(LENGTH - READ_LENGTH + 1) for _ in range(READS))):
                sequence = (bases, other)[k % 2][place : place + READ_LENGTH]
                fastq.write(f"@r{i}_{k}\n{sequence}\n+\n{quality}\n")
                record = pysam.AlignedSegment(out.header)
                record.query_name, record.flag, record.mapping_quality = f"r{i}_{k}", 16 * (k // 2 % 2), 60
                record.reference_id, record.reference_start, record.cigarstring = i, place, f"{READ_LENGTH}M"
                record.query_sequence, record.query_qualities = sequence, pysam.qualitystring_to_array(quality)
                record.set_tag("RG", "a")
                out.write(record)
    pysam.index(str(names[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("alignments")
    parser.add_argument("stretch", help="CONTIG:FROM-TO, 1-based")
    parser.add_argument("--contigs", type=int, default=100_000)
    parser.add_argument("--targets", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", metavar="WHAT", help='such as "call --gvcf"; by default everything')
    options = parser.parse_args()
    rows: list[Row] = []

    def measure(shape: str, number: int, what: str, command: str) -> None:
        if options.only and what not in options.only:
            return
        usage = measured(f"{READWARP} {command} -q -f -t {options.threads}")
        values = (shape, number, what, version("readwarp"), options.threads)
        rows.append(dict(zip(COLUMNS, (*circumstances(), *values, *usage_of(usage)), strict=True)))
        show(rows[-1])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.contigs:
            make_contigs(options.reference, options.contigs, folder)
            base = f"{folder}/contigs"
            measure("contigs", options.contigs, "index", f"index {base}.fa")
            measure("contigs", options.contigs, "align", f"align {base}.fa {base}.fq -o {base}.out.bam")
            measure("contigs", options.contigs, "merge", f"merge {base}.out.bam -o {base}.merged.bam --write-index")
            run = f"run {base}.fa {base}.fq -o {folder}/run --device cpu"
            measure("contigs", options.contigs, "run", run)
            measure("contigs", options.contigs, "report", f"report {folder}/run -o {folder}/report.html")
            measure("contigs", options.contigs, "pairwise", f"pairwise {base}.fa {base}.fa -o {base}.tsv")
            call = f"call {base}.fa {base}.bam --device cpu"
            measure("contigs", options.contigs, "call", f"{call} -o {base}.vcf")
            measure("contigs", options.contigs, "call --gvcf", f"{call} --gvcf -o {base}.g.vcf.gz")
            measure("contigs", options.contigs, "genotype", f"genotype {base}.fa {base}.g.vcf.gz -o {base}.vcf.gz")
        if options.targets:
            contig, _, span = options.stretch.replace(",", "").rpartition(":")
            start, stop = map(int, span.split("-"))
            step = max(10, (stop - start) // options.targets)
            bed = folder / "targets.bed"
            lines = (f"{contig}\t{at}\t{at + min(TARGET, step - 5)}\n" for at in range(start - 1, stop - step, step))
            bed.write_text("".join(lines))
            call = f"call {options.reference} {options.alignments} --device cpu -o {folder}/x.vcf"
            number = bed.read_text().count("\n")
            measure("targets", number, "-L", f"{call} -L {bed}")
            measure("targets", number, "-r of the stretch", f"{call} -r {options.stretch}")
    append(rows, RESULTS, COLUMNS)


def usage_of(usage: object) -> tuple[object, ...]:
    return tuple(getattr(usage, name) for name in COLUMNS[-3:])


if __name__ == "__main__":
    main()
