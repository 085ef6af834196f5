"""Each command with its options, on small data, and which kernels it calls: what compiler/kernels.tsv is made of."""

import gc
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import dnaio
import pysam

import readwarp
from helpers.command_samples import run_main
from readwarp.align import budget
from readwarp.align.results import Records
from readwarp.compiler import jit, manifest
from readwarp.compiler.prepare import prepare_once
from readwarp.compiler.signature import signature_of
from readwarp.finish import sort

PAIRS = 3000  # of the real data, where few are enough

ALIGN = "align {ref} {few} -t 2 -f -o"
SORT = "align {ref} {all} -t 2 -f --sort coordinate --mark-duplicates --write-index -o"
MERGE = "merge {folder}/part1.bam {folder}/part2.bam -f -o"
CALL = "call {ref} {folder}/sorted.bam -t 2 -f -r {contig}:1-50000 -o"
RUN = "run {ref} {few} -t 2 -f --no-report -o {folder}/run"
TRIM = "--trim --correct-overlap --trim-quality 20 --trim-bases"
ALIGNERS = "align", "call", "run"
LONG = "align.long {ref} {folder}/long.fq -t 2 -f"
UMI = "{few} --umi 8M+T,+T"  # the reads' own bases
PLACES = "-r {contig}:1-20000 --interval-padding 10 --exclude-regions {contig}:1-900"
FILTERS = (
    "--heterozygosity 0.001 --indel-heterozygosity 0.0001 --min-qual 10 --max-strand-bias 30.5 "
    "--max-indel-strand-bias 60.5 --min-end-distance 2 --min-allele-fraction 0.1 --min-haploid-fraction 0.5 "
    "--max-fraction-misfit 30.5 --min-alt-mapping-quality 10 --min-expected-fraction 0.1"
)
CALLING = (
    f"{PLACES} {FILTERS} --platform short --min-base-quality 8 --min-mapping-quality 15 --min-alternate-count 3 "
    "--min-alternate-fraction 0.2 --min-indel-fraction 0.2 --min-alternate-quality 20"
)
FRACTIONS = "--contamination 0.01 --mutation-prior 0.00001 --min-probability 0.8 --min-fraction 0.01 --max-events 3"
KNOWN = "--population {folder}/population.vcf.gz --panel-of-normals {folder}/panel.vcf.gz"
GENOME = "--mixture --consensus {folder}/x.fa --consensus-min-depth 3 --consensus-share 0.2 --min-fraction 0.02"
STRUCTURAL = "--min-sv-length 40 --max-sv-length 50000 --min-sv-support 2"
PLACING = "-I 400,50 --min-score 20 --no-alt --clip 4 --index {ref}.rwx --cs short --bgzf cpu --resume"
COSTS = "--match 2 --mismatch 8 --gap-open 12 --gap-extend 2"
ADAPTERS = "--trim --adapter ACGTACGT --adapter2 ACGTACGT --trim-poly-g always --trim-min-length 20"
MORE = {
    "pairwise": ("--device", "cpu"),
    **dict.fromkeys(ALIGNERS, ("--device", "cpu", "--memory", "2G")),
}
COMMANDS = (
    "index {ref} -f",
    "index {ref} -f --preset short -o {folder}/short.rwx",
    "index {ref} -f -k 21 -s 17 -o {folder}/x.rwx",
    f"{ALIGN} {{folder}}/x.sam",
    f"{ALIGN} {{folder}}/x.bam",
    f"{ALIGN} {{folder}}/x.cram",
    f"{SORT} {{folder}}/sorted.bam",
    f"{SORT} {{folder}}/sorted.cram",
    f"{SORT} {{folder}}/other.bam --sample other",
    f"{SORT.replace('{all}', '{folder}/umi_names.fq -p')} {{folder}}/normal.bam --sample normal",
    f"{ALIGN} {{folder}}/names.bam --sort name --bgzf cpu",
    f"{ALIGN} {{folder}}/x.sam {TRIM} clip",
    f"{ALIGN} {{folder}}/x.bam {TRIM} drop --trim-poly-g always",
    f"{ALIGN} {{folder}}/x.sam -Y --eqx",
    f"{ALIGN} {{folder}}/x.bam --eqx -A 2 -B 8 -O 12 -E 2",
    f"{ALIGN} {{folder}}/x.sam -a -M",
    f"{ALIGN} {{folder}}/x.bam --secondary 3 -5SP",
    f"{ALIGN} {{folder}}/x.paf",
    f"{ALIGN} {{folder}}/x.paf {PLACING} --paf --cs long {ADAPTERS}",
    f"{ALIGN} {{folder}}/x.bam {PLACING} --single",
    f"{ALIGN} {{folder}}/part1.bam --part 1/2",
    f"{ALIGN} {{folder}}/part2.bam --part 2/2",
    "align {ref} {folder}/plain_1.fq -t 2 -f -o {folder}/x.sam",
    "align {ref} {folder}/interleaved.fq -p -C -t 2 -f -o {folder}/x.sam",
    "align {ref} {folder}/interleaved.fq -p -C -t 2 -f -o {folder}/x.bam",
    "align {ref} {folder}/names.bam -t 2 -f -o {folder}/x.sam",
    "align {ref} {folder}/names.bam -t 2 -f -o {folder}/x.bam",
    "align {ref} {folder}/x.cram -t 2 -f -o {folder}/x.bam",
    "align {ref} {folder}/reads.fa -t 2 -f -o {folder}/x.sam",
    "align {ref} {folder}/phred64.fq --phred64 -t 2 -f -o {folder}/x.sam",
    "align.alt {ref} {few} --alt {folder}/contig.alt -t 2 -f -o {folder}/x.sam",
    "align.long {ref} {folder}/long.fq --preset hifi -t 2 -f -o {folder}/x.sam",
    "align.long {ref} {folder}/long.fq --preset ont --secondary 2 -Y --eqx -t 2 -f -o {folder}/x.bam",
    "align.long {ref} {folder}/long.fq --preset hifi --sort coordinate --write-index -t 2 -f -o {folder}/long.bam"
    " --batch-bases 40000",
    f"{LONG} --preset hifi --sort coordinate --write-index -o {{folder}}/long.cram",
    f"{LONG} --preset hifi --sort name -o {{folder}}/x.bam",
    f"{LONG} --preset ont -o {{folder}}/x.paf --cs long",
    f"{LONG} --preset asm -o {{folder}}/x.sam -a -M --cs short --alt {{folder}}/contig.alt",
    f"align.long {{ref}} {{few}} --preset auto {TRIM} clip -t 2 -f -o {{folder}}/x.sam",
    f"align.long {{ref}} {{few}} --preset auto {TRIM} drop -t 2 -f -o {{folder}}/x.bam --secondary 2 -5SP",
    f"align.umi {{ref}} {UMI} -t 2 -f -o {{folder}}/x.sam",
    f"align.umi {{ref}} {UMI} --mark-duplicates -t 2 -f -o {{folder}}/x.bam",
    f"align.umi {{ref}} {UMI} -t 2 -f -o {{folder}}/umi.bam",
    "align.umi {ref} {folder}/umi.bam --umi tag --mark-duplicates -t 2 -f -o {folder}/x.bam",
    "align.umi {ref} {folder}/umi_names.fq -p --umi name --umi-duplex --mark-duplicates -t 2 -f -o {folder}/x.bam",
    "align.umi {ref} {folder}/umi_names.fq -p --umi comment -t 2 -f -o {folder}/x.bam",
    "align.umi {ref} {folder}/umi_names.fq -p --umi name -t 2 -f -o {folder}/duplex.bam",
    "align.umi {ref} {folder}/long.fq --umi 8M+T --preset hifi --mark-duplicates -t 2 -f -o {folder}/x.bam",
    "merge.umi {folder}/umi.bam --umi tag --mark-duplicates -f -o {folder}/x.bam",
    "merge.umi {folder}/duplex.bam --umi tag --umi-duplex --mark-duplicates -f -o {folder}/x.bam",
    f"{MERGE} {{folder}}/x.bam",
    f"{MERGE} {{folder}}/x.bam --sort name",
    f"{MERGE} {{folder}}/x.cram --reference {{ref}} --sort coordinate --mark-duplicates",
    f"{MERGE} {{folder}}/x.bam --sort coordinate --mark-duplicates --write-index",
    "consensus {folder}/molecules.bam -t 2 -f -o {folder}/x.bam",
    "consensus {folder}/grouped.bam --duplex -t 2 -f -o {folder}/x.bam",
    "consensus {folder}/molecules.bam --duplex -t 2 -f -o {folder}/x.fq",
    "consensus {folder}/molecules.bam -f -o {folder}/x.bam --min-reads 1 --max-reads 2 --min-input-base-quality 11 "
    "--error-rate-pre-umi 40 --error-rate-post-umi 35 --no-consensus-call-overlapping-bases "
    "--min-consensus-base-quality 3 --max-read-error-rate 0.5 --max-base-error-rate 0.5 --max-no-calls 0.5 "
    "--no-output-per-base-tags --read-name-prefix x --reference {ref}",
    "consensus {folder}/grouped.bam --duplex --require-single-strand-agreement -f -o {folder}/x.sam",
    f"{CALL} {{folder}}/x.vcf",
    f"{CALL} {{folder}}/x.vcf.gz",
    "call {ref} {folder}/sorted.bam -t 2 -f -o {folder}/x.bcf",
    f"{CALL} {{folder}}/1.g.vcf.gz --gvcf",
    "call {ref} {folder}/other.bam -t 2 -f -r {contig}:1-50000 -o {folder}/other.g.vcf.gz --gvcf",
    f"{CALL} {{folder}}/x.vcf --alleles {{folder}}/truth.vcf.gz",
    f"{CALL} {{folder}}/x.vcf --bam-output {{folder}}/shown.bam",
    f"{CALL} {{folder}}/x.vcf --max-mnp-distance 2 --ignore-soft-clips",
    f"{CALL} {{folder}}/x.vcf --ploidy 1",
    f"{CALL} {{folder}}/x.vcf --ploidy 6",
    f"{CALL} {{folder}}/x.vcf --circular {{contig}}",
    f"{CALL} {{folder}}/x.vcf --ploidy-bed {{folder}}/ploidy.bed --primers {{folder}}/primers.bed",
    "call {ref} {folder}/sorted.bam -f -o {folder}/x.vcf --max-depth 20 -L {folder}/targets.bed --interval-padding 50",
    "call {ref} {folder}/sorted.bam {folder}/other.bam -t 2 -f -r {contig}:1-50000 -o {folder}/x.vcf",
    "call {ref} {folder}/sorted.cram -f -o {folder}/x.vcf -r {contig}:1-20000",
    "call.fractions {ref} {folder}/sorted.bam --mixture -t 2 -f -o {folder}/x.vcf",
    "call.fractions {ref} {folder}/sorted.bam {folder}/other.bam --mixture -f -r {contig}:1-50000 -o {folder}/x.vcf",
    "call.long {ref} {folder}/long.bam --haplotag {folder}/tagged.bam -t 2 -f -o {folder}/x.vcf",
    "call.long {ref} {folder}/long.bam --gvcf -t 2 -f -o {folder}/long.g.vcf.gz",
    "call.long {ref} {folder}/long.cram --haplotag {folder}/tagged.bam -t 2 -f -o {folder}/x.vcf",
    "call.long {ref} {folder}/long.bam --alleles {folder}/truth.vcf.gz --ploidy-bed {folder}/ploidy.bed"
    " --bam-output {folder}/shown.bam --primers {folder}/primers.bed -r {contig}:1-4000 -f -o {folder}/x.vcf",
    "call.long {ref} {folder}/long.bam --ploidy 1 -f -o {folder}/x.vcf",
    f"call.long {{ref}} {{folder}}/long.bam --platform ont --sv {{folder}}/sv.vcf {STRUCTURAL} -f -o {{folder}}/x.vcf",
    "call.long {ref} {folder}/long.bam --platform hifi --sv-only -t 2 -f -o {folder}/x.vcf",
    f"{CALL} {{folder}}/x.vcf {CALLING}",
    "align {ref} {folder}/phred64.fq --phred33 --sort coordinate --write-index -t 2 -f -o {folder}/phred64.bam",
    "call {ref} {folder}/phred64.bam --phred64 -f -o {folder}/x.vcf",
    "genotype {ref} {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz -t 2 -f -o {folder}/x.vcf.gz",
    "genotype {ref} {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz -t 2 -f -o {folder}/x.bcf --max-mnp-distance 2",
    "panel {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz --min-samples 1 -f -o {folder}/panel.vcf.gz",
    f"genotype {{ref}} {{folder}}/1.g.vcf.gz {PLACES} -L {{folder}}/targets.bed {FILTERS} --ploidy 2 --max-alleles 6 -f"
    " -o {folder}/x.vcf",
    f"call.fractions {{ref}} {{folder}}/sorted.bam {GENOME} --primers {{folder}}/primers.bed"
    " --ignore-soft-clips -f -o {folder}/x.vcf",
    f"call.fractions {{ref}} {{folder}}/sorted.bam {{folder}}/normal.bam --somatic --normal normal {KNOWN} {FRACTIONS}"
    " -f -o {folder}/x.vcf",
    f"{RUN}",
    f"{RUN} --gvcf --eqx -Y --bgzf cpu",
    f"{RUN} {TRIM} clip --primers {{folder}}/primers.bed --max-mnp-distance 2",
    f"{RUN} --trim --trim-bases drop --alleles {{folder}}/truth.vcf.gz --ploidy-bed {{folder}}/ploidy.bed",
    f"{RUN} --bam-output {{folder}}/shown.bam --ploidy 1",
    f"{RUN} --ploidy 6 --max-depth 20",
    "run {ref} {few} -t 2 -f -o {folder}/run",
    f"{RUN} --mixture --circular {{contig}}",
    f"{RUN} {GENOME} --no-mark-duplicates",
    f"{RUN} --somatic {KNOWN} {FRACTIONS}",
    f"{RUN} {PLACING} {ADAPTERS} {COSTS} {CALLING}",
    f"{RUN} --single --preset short --index {{folder}}/short.rwx -L {{folder}}/targets.bed --ignore-soft-clips",
    f"{RUN} --alt {{folder}}/contig.alt -a -M",
    f"{RUN} --secondary 2 -5SP --umi 8M+T,8M+T --umi-duplex --sample other",
    "run {ref} {folder}/phred64.fq --phred64 -t 2 -f -o {folder}/run",
    "run.long {ref} {folder}/long.fq --preset hifi -t 2 -f -o {folder}/run",
    f"run.long {{ref}} {{folder}}/long.fq --preset ont --haplotag {{folder}}/tagged.bam --sv {{folder}}/sv.vcf --gvcf"
    f" {STRUCTURAL} -t 2 -f -o {{folder}}/run",
    "report --bam {folder}/sorted.bam --reference {ref} --vcf {folder}/x.vcf.gz -t 2 -f -o {folder}/x.html",
    "report --bam {folder}/sorted.cram --reference {ref} -L {folder}/targets.bed -t 2 -f -o {folder}/x.html",
    "report --bam {folder}/long.bam -t 2 -f -o {folder}/x.html",
    "run.long {ref} {folder}/long.fq --preset hifi --primers {folder}/primers.bed --bam-output {folder}/shown.bam"
    " --alleles {folder}/truth.vcf.gz -r {contig}:1-4000 --no-report -t 2 -f -o {folder}/run",
    "run {ref} {folder}/interleaved.fq -p -C -t 2 -f --no-report -o {folder}/run --batch-bases 200000",
    "run {ref} {folder}/names.bam -t 2 -f --no-report -o {folder}/run",
    "pairwise {folder}/reads.fa {folder}/window.fa -o {folder}/x.tsv -f",
    "pairwise {folder}/reads.fa {folder}/window.fa -o {folder}/x.sam -f --format sam --mode semiglobal",
    "pairwise {folder}/reads.fa {folder}/reads.fa -o {folder}/x.tsv -f --mode global",
    f"pairwise {{folder}}/reads.fa {{folder}}/window.fa -o {{folder}}/x.tsv -f --no-traceback {COSTS}",
    "pairwise {folder}/window.fa {folder}/contig.fa -o {folder}/x.tsv -f --mode semiglobal",
)

QUICK = (  # with much of what a job may need besides
    f"{RUN} --gvcf --umi 8M+T,8M+T --alt {{folder}}/contig.alt -r {{contig}}:1-20000",
    "run.long {ref} {folder}/long.fq --preset hifi --haplotag {folder}/tagged.bam --sv {folder}/sv.vcf -f"
    " -o {folder}/run",
    "call.long {ref} {folder}/run/long.bam --sv-only -f -o {folder}/x.vcf",
    f"{RUN} {GENOME} -r {{contig}}:1-20000",
)


def call_aligner(folder: Path, contig: str, **options: Any) -> Records:
    with dnaio.open(folder / "plain_1.fq") as first, dnaio.open(folder / "plain_2.fq") as last:
        reads, mates = list(first), list(last)
    for more in ({}, {"eqx": True}, {"all_hits": True}, {"secondary": 3, "split_secondary": True}):
        aligner = readwarp.Aligner(folder / "ref.fa", **options, **more)
        aligner.align([read.sequence for read in reads])
        records = aligner.align(reads, mates)
    return records


def call_trimming_aligner(folder: Path, contig: str) -> None:
    call_aligner(folder, contig, trim=True)
    call_aligner(folder, contig, trim=True, correct_overlap=True, trim_quality=20, trim_bases="drop")


def call_long_aligner(folder: Path, contig: str) -> None:
    with dnaio.open(folder / "long.fq") as file:
        reads = list(file)
    for preset in ("hifi", "ont", "auto"):
        readwarp.Aligner(folder / "ref.fa", preset=preset).align(reads)


def call_records(records: Records, folder: Path) -> None:
    for name in ("x.sam", "x.bam", "x.cram", "x.paf"):
        records.write(folder / name, force=True)
    records.write(folder / "x.bam", sort="name", force=True)
    for name in ("x.bam", "x.cram"):
        records.write(folder / name, sort="coordinate", mark_duplicates=True, write_index=True, force=True)
    records.to_pysam()


def call_pair_hmm(folder: Path, contig: str) -> None:
    lengths = (20, 60, 100, 150, 250, 400, 640)
    for quality in (2, 30):  # a sum of float32 is too small where all bases are wrong
        readwarp.pair_hmm([contig[:n][:: -1 if quality > 2 else 1] for n in lengths], quality, [contig[:800]])


def call_two_samples(folder: Path, contig: str, *options: str) -> None:
    """In one file, whose reads have read groups; each is named, as several tumours must be."""
    both = folder / "both.bam"
    pysam.samtools.merge("-f", str(both), str(folder / "sorted.bam"), str(folder / "other.bam"))
    pysam.index(str(both))
    with pysam.AlignmentFile(str(both)) as file:
        names = sorted({group["SM"] for group in file.header.to_dict()["RG"]})
    given = ("-t", "2", "-f", "-o", folder / "x.vcf", *MORE["call"], *options)
    named = [part for name in names for part in ("--sample", name)]
    assert run_main(["call", folder / "ref.fa", both, *given, *named]) == 0


def call_tumour(folder: Path, contig: str) -> None:
    call_two_samples(folder, contig, "--somatic")


def call_caller(folder: Path, contig: str, **options: Any) -> None:
    caller, region = readwarp.Caller(folder / "ref.fa", **options), ("chr21part", 0, 50_000)
    caller.call(folder / "sorted.bam", region).to_pandas()
    caller.write(folder / "sorted.bam", folder / "x.vcf", region, gvcf=not options, force=True)


def call_long_caller(folder: Path, contig: str) -> None:
    readwarp.Caller(folder / "ref.fa").call(folder / "long.bam").to_pandas()


def call_mixture(folder: Path, contig: str) -> None:
    call_caller(folder, contig, mixture=True)


def call_pairwise(folder: Path, contig: str) -> None:
    for mode in ("local", "global", "semiglobal"):
        readwarp.pairwise([contig[:100]], [contig[20:220]], mode=mode)


FUNCTIONS: tuple[tuple[str, Callable[[Path, str], object]], ...] = (
    ("Aligner", call_aligner),
    ("Aligner.long", call_long_aligner),
    ("Aligner.trim", call_trimming_aligner),
    ("call", call_two_samples),
    ("call", call_caller),
    ("call.long", call_long_caller),
    ("call.fractions", call_tumour),
    ("call.fractions", call_mixture),
    ("pair_hmm", call_pair_hmm),
    ("pairwise", call_pairwise),
)


def make_inputs(folder: Path, real: Path) -> dict[str, str]:
    """Files made from the real data -> what the braces of COMMANDS mean."""
    text = (real / "ref.fa").read_text()
    contig, sequence = text[1:].split("\n", 1)[0].split()[0], "".join(text.splitlines()[1:])
    (folder / "ref.fa").write_text(text)
    (folder / "contig.fa").write_text(f">{contig}\n{sequence[:5000]}\n")
    (folder / "contig.alt").write_text(f"{contig}\n")
    (folder / "window.fa").write_text(f">window\n{sequence[1000:3000]}\n")
    mates = [first_records(real / f"reads_{k}.fq.gz") for k in (1, 2)]
    for k, records in enumerate(mates, 1):
        records.append(["@run", "A" * 100, "+", "?" * 100])
        write_fastq(folder / f"plain_{k}.fq", records)
    pairs = zip(*mates, strict=True)
    write_fastq(folder / "interleaved.fq", ([f"{r[0].split()[0]} BC:Z:ACGT", *r[1:]] for pair in pairs for r in pair))
    named = ([f"{r[0].split()[0]}:AC+GT RX:Z:AC-GT", *r[1:]] for pair in zip(*mates, strict=True) for r in pair)
    write_fastq(folder / "umi_names.fq", named)
    raised = ([*record[:3], "".join(chr(ord(q) + 31) for q in record[3])] for record in mates[0])
    write_fastq(folder / "phred64.fq", raised)
    write_fastq(folder / "long.fq", long_records(sequence))
    (folder / "reads.fa").write_text("".join(f">r{k}\n{record[1]}\n" for k, record in enumerate(mates[0][:100])))
    (folder / "ploidy.bed").write_text(f"{contig}\t0\t9000\t1\n{contig}\t9000\t20000\t3\n")
    (folder / "primers.bed").write_text(
        "".join(f"{contig}\t{at}\t{at + 30}\tp\t1\t{strand}\n" for at, strand in ((100, "+"), (400, "-")))
    )
    (folder / "targets.bed").write_text(f"{contig}\t5000\t9000\n{contig}\t12000\t30000\n")
    for name, order in (("molecules", {"SO": "coordinate"}), ("grouped", {"SO": "unsorted", "GO": "query"})):
        write_molecules(folder / f"{name}.bam", contig, sequence, order)
    pysam.tabix_compress(str(real / "truth.vcf"), str(folder / "truth.vcf.gz"), force=True)
    pysam.tabix_index(str(folder / "truth.vcf.gz"), preset="vcf", force=True)
    write_population(folder / "population.vcf.gz", contig, sequence)
    few, whole = ("{0}_1.{1} {0}_2.{1}".format(*of) for of in ((folder / "plain", "fq"), (real / "reads", "fq.gz")))
    return {"ref": str(folder / "ref.fa"), "few": few, "all": whole, "folder": str(folder), "contig": contig}


def first_records(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt") as file:
        lines = [line.rstrip("\n") for _, line in zip(range(4 * PAIRS), file, strict=False)]
    return [lines[k : k + 4] for k in range(0, len(lines), 4)]


def long_records(sequence: str) -> Iterator[list[str]]:
    """Long reads of two haplotypes and both strands, with a gap, a foreign stretch and an inverted one; short ones.

    The haplotypes differ in single bases, in a deletion and in an insertion.
    """
    turn = str.maketrans("ACGTN", "TGCAN")
    other = "".join(base.translate(turn) if at % 700 == 350 else base for at, base in enumerate(sequence))
    other = other[:9000] + other[9300:12_000] + other[12_000:12_200].translate(turn) + other[12_000:]
    for number, start in enumerate(range(0, min(len(sequence), 20_000) - 6000, 300)):
        read = (other if number % 4 > 1 else sequence)[start : start + 6000]
        if number % 8 < 4:
            inverted = read[2000:3000].translate(turn)[::-1]
            read = read[:1000] + read[1010:2000] + inverted + read[3000:4500] + "TTGACA" + read[4500:]
        read = "ACGTTGCA" * 20 + read
        read = read if number % 2 else read.translate(turn)[::-1]
        yield [f"@long{number}", read, "+", "I" * len(read)]
        yield [f"@short{number}", read[-150:], "+", "I" * 150]


def write_molecules(path: Path, contig: str, sequence: str, order: dict[str, str]) -> None:
    """Pairs of both strands of two molecules."""
    header = {"HD": {"VN": "1.6", **order}, "SQ": [{"SN": contig, "LN": len(sequence)}]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for molecule, is_right in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for number, strand in enumerate("AABB"):
                record = pysam.AlignedSegment(file.header)
                record.query_name, record.reference_id = f"m{molecule}{number}", 0
                record.reference_start = at = 1000 + 1000 * molecule + 50 * is_right
                record.flag = (16 if is_right else 32) | 1 | (64 if is_right == (strand == "B") else 128)
                record.next_reference_id, record.next_reference_start = 0, at + (-50 if is_right else 50)
                record.cigarstring, record.query_sequence = "100M", sequence[at : at + 100]
                record.query_qualities = [30] * 100
                record.set_tags([("MI", f"{molecule}/{strand}", "Z"), ("RX", "ACGT-TTTT", "Z"), ("MC", "100M", "Z")])
                file.write(record)


def write_population(path: Path, contig: str, sequence: str) -> None:
    """Allele frequencies at some bases."""
    lines = ["##fileformat=VCFv4.2", f"##contig=<ID={contig},length={len(sequence)}>"]
    lines += [
        '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">',
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    for at in range(1000, len(sequence), 1000):
        if (base := sequence[at].upper()) in "ACGT":
            lines.append(f"{contig}\t{at + 1}\t.\t{base}\t{'A' if base != 'A' else 'C'}\t.\t.\tAF=0.1")
    path.with_suffix("").write_text("\n".join(lines) + "\n")
    pysam.tabix_compress(str(path.with_suffix("")), str(path), force=True)
    pysam.tabix_index(str(path), preset="vcf", force=True)


def write_fastq(path: Path, records: Iterable[list[str]]) -> None:
    path.write_text("".join("\n".join(record) + "\n" for record in records))


@contextmanager
def little_memory_to_sort() -> Iterator[None]:
    """So that sorted runs go to files, and are merged."""
    limits = {"MIN_SORT": 1 << 16, "SORT_SHARE": 1 << 60}
    with patch.multiple(budget, **limits), patch.object(sort, "MIN_PIECE", 1 << 16):
        yield


Called = dict[tuple[str, str], set[str]]  # kernel and signature -> commands


class Scene(NamedTuple):
    """What ran, and what it asked for."""

    text: str
    name: str  # in the table
    prepared: set[str]  # names in the table
    called: set[tuple[str, str]]  # kernels and signatures


def run_all(folder: Path, real: Path) -> list[Scene]:
    """The commands, and what Python calls, in turn."""
    scenes = run_commands(folder, real, COMMANDS)
    contig = "".join((folder / "ref.fa").read_text().splitlines()[1:])
    for name, function in FUNCTIONS:
        with watch(scenes, function.__name__, name):
            function(folder, contig)
    records = call_aligner(folder, contig)
    with watch(scenes, "call_records", "Records"):
        call_records(records, folder)
    return scenes


def run_commands(folder: Path, real: Path, texts: Iterable[str]) -> list[Scene]:
    meaning, scenes, failed = make_inputs(folder, real), list[Scene](), []
    for text in texts:
        name, *words = text.format(**meaning).split()
        command = name.split(".")[0]
        with watch(scenes, text, name), little_memory_to_sort():
            if run_main([command, *words, *MORE.get(command, ())]) != 0:
                failed.append(text)
    assert not failed, failed
    return scenes


def names_of(scenes: Iterable[Scene]) -> Called:
    """What the table should say. What a command needs with some options only, is of these alone (`align.umi`)."""
    called = defaultdict[tuple[str, str], set[str]](set)
    for scene in sorted(scenes, key=lambda scene: "." not in scene.name):
        special = set() if "." in scene.name else {name for name in scene.prepared if "." in name}
        for key in scene.called:
            if not called[key] & special:
                called[key].add(scene.name)
    for (kernel, _), names in called.items():
        if kernel == "readwarp.pairwise.groups:trace_single":  # of --bam-output, for pairs that are long
            names |= {"call", "call.long"}
        if names >= {"align", "align.long", "run", "run.long"}:
            names -= {"align.alt", "align.umi"}  # which is what these need beyond their own
        if "pair_hmm" in names:  # some of which only few reads need
            names |= {"call", "call.long", "call.fractions"}
        if "call" in names:
            names |= {"run", "run.long"}
        if "merge" in names:
            names.discard("merge.umi")
        if "index" in names:  # which these build where there is none
            names |= {"Aligner", "Aligner.long", "Aligner.trim", "align", "align.long", "run", "run.long"}
    return called


@contextmanager
def watch(scenes: list[Scene], text: str, name: str) -> Iterator[None]:
    """While the block runs, note what is prepared and called, also what has been called before."""
    scene, call, needed_by = Scene(text, name, set(), set()), jit.Kernel._prepare, manifest.needed_by

    def note_call(kernel: jit.Kernel, arguments: tuple[object, ...]) -> object:
        scene.called.add((kernel.name, signature_of(arguments)))
        return call(kernel, arguments)

    def note_prepared(command: str) -> list[manifest.ManifestEntry]:
        scene.prepared.add(command)
        return needed_by(command)

    for kernel in (each for each in gc.get_objects() if type(each) is jit.Kernel):
        kernel._by_key.clear()
    prepare_once.cache_clear()
    with patch.object(jit.Kernel, "_prepare", note_call), patch.object(manifest, "needed_by", note_prepared):
        yield
    scenes.append(scene)
