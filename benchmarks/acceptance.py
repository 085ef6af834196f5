"""Accuracy compared with other tools, as a gate: acceptance.py FOLDER

Real reads: bcftools and freebayes find no fewer true variants on readwarp's BAM of NA12878 chr21 than on bwa mem's;
`readwarp run` misses at most 2 of its 423 confident variants and adds at most 1; on NA12878 chr20 `readwarp call` has
a recall no lower than freebayes and bcftools, and no more false places; it calls nothing in a SARS-CoV-2 control, and
in a mitochondrion the 35 SNVs and no other. Simulated reads (chrX of prepare.py): correct, wrong at MAPQ >= 20 and
proper pairs are no worse than with minimap2 -ax sr. Exits with 1 if a condition does not hold. Needs readwarp, bwa,
minimap2, samtools, bcftools, freebayes and what prepare.py needs.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import pysam

import call
import prepare
from call_sets import SETS, CallSet, known

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
import call_accuracy  # noqa: E402
from call_accuracy import GAPS  # noqa: E402

REAL = HERE.parent / "test_data" / "na12878_chr21"
THREADS = "2"
NEAR = 50  # bases


def shell(command: str) -> None:
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True)


def timed(command: str) -> float:
    started = time.perf_counter()
    shell(command)
    return time.perf_counter() - started


def tool(script: str, *arguments: object) -> dict:
    command = [sys.executable, HERE / "tools" / script, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Gate:
    """The conditions that were checked, and whether all held."""

    def __init__(self) -> None:
        self.passed = True

    def check(self, what: str, holds: bool) -> None:
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
        self.passed &= holds


def found(calls: Path, reference: Path) -> tuple[int, int]:
    """True variants that were found, and false calls, in the confident regions (call_sets.known)."""
    bed = known(REAL / "confident.bed", REAL / "truth.vcf", calls.with_suffix(".bed"))
    score = tool("call_accuracy.py", REAL / "truth.vcf", calls, reference, "--bed", bed)
    kinds = [score[k] for k in ("snv", "indel")]
    return sum(k["truth"] - k["fn"] for k in kinds), sum(k["fp"] for k in kinds)


def real_reads(folder: Path, gate: Gate) -> None:
    reference = folder / "ref.fa"
    shell(f"cp {REAL}/ref.fa {reference} && samtools faidx {reference} && bwa index {reference} 2>/dev/null")
    reads = f"{REAL}/reads_1.fq.gz {REAL}/reads_2.fq.gz"
    group = "@RG\\tID:1\\tSM:NA12878"
    shell(
        f"bwa mem -t {THREADS} -R '{group}' {reference} {reads} 2>/dev/null | samtools fixmate -m - -"
        f" | samtools sort - 2>/dev/null | samtools markdup - {folder}/bwa.bam && samtools index {folder}/bwa.bam"
    )
    shell(f"readwarp run {reference} {reads} -R '{group}' -t {THREADS} --no-progress -q -o {folder}/run")
    shell(f"samtools quickcheck -v {folder}/run/NA12878.bam && ln -sf run/NA12878.bam {folder}/readwarp.bam")
    shell(f"ln -sf run/NA12878.bam.bai {folder}/readwarp.bam.bai")
    counts = {}
    for mapper in ("bwa", "readwarp"):
        bam, prefix = folder / f"{mapper}.bam", folder / mapper
        shell(
            f"bcftools mpileup -q 20 -f {reference} {bam} 2>/dev/null | bcftools call -mv -Ov -o {prefix}.bcftools.vcf"
        )
        shell(f"freebayes -f {reference} {bam} | bcftools view -i 'QUAL>=20' > {prefix}.freebayes.vcf")
        for caller in ("bcftools", "freebayes"):
            counts[caller, mapper] = found(Path(f"{prefix}.{caller}.vcf"), reference)
    for caller in ("bcftools", "freebayes"):
        ours, theirs = counts[caller, "readwarp"], counts[caller, "bwa"]
        gate.check(f"{caller}: (true, false) on readwarp's BAM {ours}, on bwa mem's {theirs}", ours[0] >= theirs[0])
    calls = folder / "run" / "NA12878.vcf.gz"
    shell(f"bcftools norm --check-ref e -f {reference} {calls} -Ou 2>/dev/null | bcftools view -H - > /dev/null")
    true, false = found(calls, reference)
    gate.check(f"readwarp run: {423 - true} of 423 missed, {false} false", true >= 421 and false <= 1)


def real_variants(folder: Path, gate: Gate) -> None:
    """Real reads that measure `readwarp call` itself."""
    given = SETS["na12878_chr20"](folder)
    ours, *peers = (recall_and_false_places(given, tool, folder) for tool in ("readwarp", "freebayes", "bcftools"))
    for name, theirs in zip(("freebayes", "bcftools"), peers, strict=True):
        what = f"NA12878 chr20: (recall, false places) {ours}, {name}'s {theirs}"
        gate.check(what, ours[0] >= theirs[0] and ours[1] <= theirs[1])
    control = scored(SETS["sarscov2"](folder), "readwarp", folder)
    false = sum(kind["fp"] for kind in control.values())
    gate.check(f"SARS-CoV-2 control: {false} calls", false == 0)
    snv = scored(SETS["mito"](folder), "readwarp", folder)["snv"]
    what = f"mitochondrion: {snv['truth'] - snv['fn']} of {snv['truth']} SNVs, {snv['fp']} others"
    gate.check(what, snv["truth"] == 35 and snv["fn"] == snv["fp"] == 0)


def taken(given: CallSet, tool: str, folder: Path) -> Path:
    """The tool's calls, as they are usually filtered."""
    calls = folder / f"{given.name}.{tool}.vcf"
    shell(call.command(tool, given, int(THREADS), calls))
    return call.usual(tool, calls)


def scored(given: CallSet, tool: str, folder: Path) -> dict[str, dict[str, float]]:
    return call.accuracy(given, taken(given, tool, folder))


def recall_and_false_places(given: CallSet, tool: str, folder: Path) -> tuple[float, int]:
    """Recall and false places of SNVs and indels together."""
    calls = taken(given, tool, folder)
    kinds = call.accuracy(given, calls).values()
    truth, missed = (sum(kind[key] for kind in kinds) for key in ("truth", "fn"))
    return round((truth - missed) / truth, 4), false_places(given, calls)


def false_places(given: CallSet, calls: Path) -> int:
    """False calls; those within NEAR bases count once, because callers split neighbouring variants differently."""
    contig, start, stop = given.bed.read_text().split()[:3]

    def is_counted(name: str, first: int, last: int) -> bool:
        return name == contig and int(start) <= first and last <= int(stop)

    with pysam.FastaFile(str(given.reference)) as fasta:
        records = [
            record
            for path, source in ((given.truth, "truth"), (calls, "calls"))
            for record in call_accuracy.read(str(path), source, False, fasta, is_counted).get(contig, [])
        ]
        places = []
        for cluster in call_accuracy.clusters(sorted(records, key=lambda r: (r["start"], r["stop"])), GAPS):
            first, last = max(0, min(r["start"] for r in cluster) - 5), max(r["stop"] for r in cluster) + 5
            letters = fasta.fetch(contig, first, last).upper()
            wrong = [cluster[i] for i in call_accuracy.errors(cluster, letters, first, True)]
            places += [record["start"] for record in wrong if record["source"] == "calls" and record["inside"]]
    places.sort()
    return sum(at - before > NEAR for before, at in zip([-NEAR - 1, *places], places, strict=False))


def simulated_reads(folder: Path, gate: Gate) -> None:
    prepare.chr_x(folder)
    reads = f"{folder}/chrX_1.fq {folder}/chrX_2.fq"
    commands = {
        "minimap2": f"minimap2 -ax sr -t {THREADS} {folder}/chrX.fa {reads} 2>/dev/null",
        "readwarp": f"readwarp align {folder}/chrX.fa {reads} -t {THREADS} --no-progress -q",
    }
    shell(f"readwarp index -t {THREADS} {folder}/chrX.fa")
    scores, seconds = {}, {}
    for mapper, command in commands.items():
        out = folder / f"{mapper}.sam"
        seconds[mapper] = timed(f"{command} > {out}")
        scores[mapper] = tool("map_accuracy.py", out)
        out.unlink()
        print(f"{mapper}: {seconds[mapper]:.1f} s {scores[mapper]}", flush=True)
    ours, theirs = scores["readwarp"], scores["minimap2"]
    for key in ("correct", "proper"):
        bar = theirs[key] if key == "correct" else 99.95
        gate.check(f"{key} {ours[key]} % (bar {bar})", ours[key] >= bar)
    gate.check(
        f"wrong at MAPQ >= 20: {ours['wrong_q20']} % (bar {theirs['wrong_q20']})",
        ours["wrong_q20"] <= theirs["wrong_q20"],
    )
    print(f"wall time readwarp / minimap2: {seconds['readwarp'] / seconds['minimap2']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    gate = Gate()
    real_reads(folder, gate)
    real_variants(folder, gate)
    simulated_reads(folder, gate)
    sys.exit(0 if gate.passed else 1)


if __name__ == "__main__":
    main()
