"""Each command with its options, on small data, and which kernels it calls: what device/kernels.tsv is made of."""

import gc
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dnaio
import pysam

import readwarp
from helpers.command_samples import run_main
from readwarp.align import budget
from readwarp.align.results import Records
from readwarp.device import jit
from readwarp.device.signature import signature_of
from readwarp.formats.alignments import sort

PAIRS = 3000  # of the real data, where few are enough

ALIGN = "align {ref} {few} -t 2 -f -o"
SORT = "align {ref} {all} -t 2 -f --sort coordinate --mark-duplicates --write-index -o"
MERGE = "merge {folder}/part1.bam {folder}/part2.bam -f -o"
CALL = "call {ref} {folder}/sorted.bam -t 2 -f -r {contig}:1-50000 -o"
RUN = "run {ref} {few} -t 2 -f --no-report -o {folder}/run"
TRIM = "--trim --correct-overlap --trim-quality 20 --trim-bases"
ALIGNERS = "align", "align.alt", "align.long", "align.umi", "call", "call.long", "run"
UMI = "{few} --umi 8M+T,+T"  # the reads' own bases
MORE = {
    "pairwise": ("--device", "cpu"),
    **dict.fromkeys(ALIGNERS, ("--device", "cpu", "--memory", "2G")),
}
COMMANDS = (
    "index {ref} -f",
    f"{ALIGN} {{folder}}/x.sam",
    f"{ALIGN} {{folder}}/x.bam",
    f"{ALIGN} {{folder}}/x.cram",
    f"{SORT} {{folder}}/sorted.bam",
    f"{SORT} {{folder}}/sorted.cram",
    f"{SORT} {{folder}}/other.bam --sample other",
    f"{ALIGN} {{folder}}/names.bam --sort name",
    f"{ALIGN} {{folder}}/x.sam {TRIM} clip",
    f"{ALIGN} {{folder}}/x.bam {TRIM} drop --trim-poly-g always",
    f"{ALIGN} {{folder}}/x.sam -Y --eqx",
    f"{ALIGN} {{folder}}/x.bam --eqx -A 2 -B 8 -O 12 -E 2",
    f"{ALIGN} {{folder}}/x.sam -a -M",
    f"{ALIGN} {{folder}}/x.bam --secondary 3 -5SP",
    f"{ALIGN} {{folder}}/x.paf",
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
    f"align.umi {{ref}} {UMI} -t 2 -f -o {{folder}}/x.sam",
    f"align.umi {{ref}} {UMI} --mark-duplicates -t 2 -f -o {{folder}}/x.bam",
    f"align.umi {{ref}} {UMI} -t 2 -f -o {{folder}}/umi.bam",
    "align.umi {ref} {folder}/umi.bam --umi tag --mark-duplicates -t 2 -f -o {folder}/x.bam",
    "align.umi {ref} {folder}/umi_names.fq -p --umi name --umi-duplex --mark-duplicates -t 2 -f -o {folder}/x.bam",
    "align.umi {ref} {folder}/umi_names.fq -p --umi comment -t 2 -f -o {folder}/x.bam",
    "merge.umi {folder}/umi.bam --umi tag --mark-duplicates -f -o {folder}/x.bam",
    f"{MERGE} {{folder}}/x.bam",
    f"{MERGE} {{folder}}/x.bam --sort name",
    f"{MERGE} {{folder}}/x.cram --reference {{ref}} --sort coordinate --mark-duplicates",
    f"{MERGE} {{folder}}/x.bam --sort coordinate --mark-duplicates --write-index",
    "consensus {folder}/molecules.bam -t 2 -f -o {folder}/x.bam",
    "consensus {folder}/grouped.bam --duplex -t 2 -f -o {folder}/x.bam",
    "consensus {folder}/molecules.bam --duplex -t 2 -f -o {folder}/x.fq",
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
    "genotype {ref} {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz -t 2 -f -o {folder}/x.vcf.gz",
    "genotype {ref} {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz -t 2 -f -o {folder}/x.bcf --max-mnp-distance 2",
    "panel {folder}/1.g.vcf.gz {folder}/other.g.vcf.gz --min-samples 1 -f -o {folder}/x.vcf.gz",
    f"{RUN}",
    f"{RUN} --gvcf --eqx -Y",
    f"{RUN} {TRIM} clip --primers {{folder}}/primers.bed --max-mnp-distance 2",
    f"{RUN} --trim --trim-bases drop --alleles {{folder}}/truth.vcf.gz --ploidy-bed {{folder}}/ploidy.bed",
    f"{RUN} --bam-output {{folder}}/shown.bam --ploidy 1",
    f"{RUN} --ploidy 6 --max-depth 20",
    "run {ref} {few} -t 2 -f -o {folder}/run",
    "report --bam {folder}/sorted.bam --reference {ref} -t 2 -f -o {folder}/x.html",
    "report --bam {folder}/sorted.cram --reference {ref} -L {folder}/targets.bed -t 2 -f -o {folder}/x.html",
    "report --bam {folder}/long.bam -t 2 -f -o {folder}/x.html",
    "run {ref} {folder}/interleaved.fq -p -C -t 2 -f --no-report -o {folder}/run --batch-bases 200000",
    "run {ref} {folder}/names.bam -t 2 -f --no-report -o {folder}/run",
    "pairwise {folder}/reads.fa {folder}/window.fa -o {folder}/x.tsv -f",
    "pairwise {folder}/reads.fa {folder}/window.fa -o {folder}/x.sam -f --format sam --mode semiglobal",
    "pairwise {folder}/reads.fa {folder}/reads.fa -o {folder}/x.tsv -f --mode global",
    "pairwise {folder}/reads.fa {folder}/window.fa -o {folder}/x.tsv -f --no-traceback",
    "pairwise {folder}/window.fa {folder}/contig.fa -o {folder}/x.tsv -f --mode semiglobal",
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
    """In one file, whose reads have read groups."""
    both = folder / "both.bam"
    pysam.samtools.merge("-f", str(both), str(folder / "sorted.bam"), str(folder / "other.bam"))
    pysam.index(str(both))
    given = ("-t", "2", "-f", "-o", folder / "x.vcf", *MORE["call"], *options)
    assert run_main(["call", folder / "ref.fa", both, *given]) == 0


def call_tumour(folder: Path, contig: str) -> None:
    call_two_samples(folder, contig, "--somatic")


FUNCTIONS: dict[str, Callable[[Path, str], object]] = {
    "Aligner": call_aligner,
    "Aligner.long": call_long_aligner,
    "Aligner.trim": call_trimming_aligner,
    "call": call_two_samples,
    "call.fractions": call_tumour,
    "pair_hmm": call_pair_hmm,
}


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
    few, whole = ("{0}_1.{1} {0}_2.{1}".format(*of) for of in ((folder / "plain", "fq"), (real / "reads", "fq.gz")))
    return {"ref": str(folder / "ref.fa"), "few": few, "all": whole, "folder": str(folder), "contig": contig}


def first_records(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt") as file:
        lines = [line.rstrip("\n") for _, line in zip(range(4 * PAIRS), file, strict=False)]
    return [lines[k : k + 4] for k in range(0, len(lines), 4)]


def long_records(sequence: str) -> Iterator[list[str]]:
    """Long reads of two haplotypes and both strands, with a gap, a foreign stretch and an inverted one; short ones."""
    turn = str.maketrans("ACGTN", "TGCAN")
    other = "".join(base.translate(turn) if at % 700 == 350 else base for at, base in enumerate(sequence))
    for number, start in enumerate(range(0, min(len(sequence), 20_000) - 6000, 400)):
        read = (other if number % 4 > 1 else sequence)[start : start + 6000]
        inverted = read[2000:3000].translate(turn)[::-1]
        read = "ACGTTGCA" * 20 + read[:1000] + read[1010:2000] + inverted + read[3000:4500] + "TTGACA" + read[4500:]
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


def write_fastq(path: Path, records: Iterable[list[str]]) -> None:
    path.write_text("".join("\n".join(record) + "\n" for record in records))


@contextmanager
def little_memory_to_sort() -> Iterator[None]:
    """So that sorted runs go to files, and are merged."""
    with patch.object(budget, "MIN_SORT", 1 << 16), patch.object(sort, "MIN_PIECE", 1 << 16):
        yield


Called = dict[tuple[str, str], set[str]]  # kernel and signature -> commands


def call_all(folder: Path, real: Path) -> Called:
    """What each command calls."""
    meaning, called, failed = make_inputs(folder, real), defaultdict[tuple[str, str], set[str]](set), []
    for text in COMMANDS:
        words = text.format(**meaning).split()
        with calls(called, words[0]), little_memory_to_sort():
            if run_main([words[0].split(".")[0], *words[1:], *MORE.get(words[0], ())]) != 0:
                failed.append(text)
    contig = "".join((folder / "ref.fa").read_text().splitlines()[1:])
    for name, function in FUNCTIONS.items():
        with calls(called, name):
            function(folder, contig)
    records = call_aligner(folder, contig)
    with calls(called, "Records"):
        call_records(records, folder)
    for names in called.values():
        if "align" in names:
            names -= {"align.alt", "align.umi"}  # which is what align and run need beyond their own
        if "merge" in names:
            names.discard("merge.umi")
        if "index" in names:
            names |= {
                "Aligner",
                "Aligner.long",
                "Aligner.trim",
                "align",
                "align.long",
                "run",
            }  # which build one where there is none
    assert not failed, failed
    return called


@contextmanager
def calls(called: Called, command: str) -> Iterator[None]:
    """While the block runs, note what is called, also what has been called before."""
    prepare = jit.Kernel._prepare

    def note(kernel: jit.Kernel, arguments: tuple[object, ...]) -> object:
        called[kernel.name, signature_of(arguments)].add(command)
        return prepare(kernel, arguments)

    for kernel in (each for each in gc.get_objects() if isinstance(each, jit.Kernel)):
        kernel._by_key.clear()
    jit.Kernel._prepare = note
    try:
        yield
    finally:
        jit.Kernel._prepare = prepare
