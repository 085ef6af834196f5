"""Variant callers on one set of alignments: call.py NAME REF.fa ALIGNMENTS.bam TRUTH.vcf --bed CONFIDENT.bed

readwarp call, freebayes and bcftools run one after the other on the same file; time, peak memory and accuracy
(tools/call_accuracy.py, calls of QUAL >= 20) are printed and added to results/call.csv. readwarp runs once before it is
timed, so that compiling is not counted. freebayes and bcftools use one thread, as they do; --threads is for readwarp.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "call.csv"
COLUMNS = ["set", "tool", "version", "threads", "seconds", "peak_mb"]
SCORES = ["truth", "tp", "fp", "fn", "f1"]


def commands(reference: Path, alignments: Path, region: str | None, threads: int, folder: Path) -> dict[str, str]:
    ours = f"-r {region}" if region else ""
    theirs = f"-r {region.replace(',', '')}" if region else ""
    good = "bcftools view -i 'QUAL>=20'"
    return {
        "readwarp": f"readwarp call {reference} {alignments} {ours} -t {threads} --device cpu --no-progress -q"
        f" -o {folder}/readwarp.vcf -f",
        "freebayes": f"freebayes -f {reference} {theirs} {alignments} | {good} -o {folder}/freebayes.vcf",
        "bcftools": f"bcftools mpileup -f {reference} {theirs} {alignments} 2>/dev/null | bcftools call -mv 2>/dev/null"
        f" | {good} -o {folder}/bcftools.vcf",
    }


def run(command: str) -> tuple[float, int]:
    """Seconds, and peak memory in MB of the largest process."""
    started = time.perf_counter()
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {command}")
    return time.perf_counter() - started, usage.ru_maxrss // 1024


def version(tool: str) -> str:
    said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    return said.split("\n")[0].split()[-1]


def confident(bed: Path, region: str | None, folder: Path) -> Path:
    """The confident regions within the region that was called."""
    if region is None or ":" not in region:
        return bed
    contig, span = region.rsplit(":", 1)
    first, last = (int(x.replace(",", "")) for x in span.split("-"))
    out = folder / "confident.bed"
    with bed.open() as lines, out.open("w") as kept:
        for line in lines:
            name, start, stop = line.split()[:3]
            low, high = max(int(start), first - 1), min(int(stop), last)
            if name == contig and low < high:
                kept.write(f"{name}\t{low}\t{high}\n")
    return out


def accuracy(truth: Path, calls: Path, reference: Path, bed: Path) -> dict[str, dict]:
    tool = HERE / "tools" / "call_accuracy.py"
    command = [sys.executable, tool, truth, calls, reference, "--bed", bed]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the set, for the table")
    for path in ("reference", "alignments", "truth"):
        parser.add_argument(path, type=Path)
    parser.add_argument("--bed", type=Path, required=True)
    parser.add_argument("--region")
    parser.add_argument("-t", "--threads", type=int, default=2)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        bed = confident(given.bed, given.region, folder)
        for tool, command in commands(given.reference, given.alignments, given.region, given.threads, folder).items():
            threads = given.threads if tool == "readwarp" else 1
            if tool == "readwarp":
                run(command)
            seconds, peak = run(command)
            score = accuracy(given.truth, folder / f"{tool}.vcf", given.reference, bed)
            row = dict(zip(COLUMNS, [given.name, tool, version(tool), threads, round(seconds, 2), peak], strict=True))
            row |= {f"{kind}_{key}": score[kind][key] for kind in ("snv", "indel") for key in SCORES}
            print(row, flush=True)
            rows.append(row)
    is_new = not RESULTS.exists()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
