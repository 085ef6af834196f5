"""Compare variant callers on the same alignments, in the same run.

    call.py sets FOLDER [SET ...]                     the sets of call_sets.py, made in FOLDER if they are missing
    call.py file NAME REF.fa ALIGNMENTS.bam TRUTH.vcf --bed CONFIDENT.bed [--ploidy N]

readwarp call with one and with two threads, then freebayes and bcftools, which use one: wall time, peak memory of all
processes and accuracy (tools/call_accuracy.py), printed and added to results/call.csv. For readwarp, the calls that
pass the default filters count; for the peers, those of QUAL >= 20, without which they would be worse. best_f1 is over
all cut-offs of QUAL. readwarp runs once before it is timed, so that compiling is not counted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from call_sets import CallSet, add_ways, chosen
from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "call.csv"
TOOLS = ("readwarp", "freebayes", "bcftools")
THREADS = {"readwarp": (1, 2)}  # of the others: one
COUNTS = ("truth", "tp", "fp", "fn")
SCORES = (*COUNTS, "precision", "recall", "f1", "best_f1")
COLUMNS = (
    *(*CIRCUMSTANCES, "set", "tool", "version", "threads", "seconds", "cpu_seconds", "peak_mb"),
    *(f"{kind}_{score}" for kind in ("snv", "indel") for score in SCORES),
)


def command(tool: str, given: CallSet, threads: int, output: Path) -> str:
    """The command from alignments to VCF."""
    reference, alignments, ploidy = given.reference, given.alignments, given.ploidy
    if tool == "readwarp":
        program = Path(sys.executable).with_name("readwarp")
        return f"{program} call {reference} {alignments} --ploidy {ploidy} -t {threads} --device cpu -q -f -o {output}"
    if tool == "freebayes":
        return f"freebayes -f {reference} -p {ploidy} {alignments} > {output}"
    pileup = f"bcftools mpileup -Ou -a AD,DP -f {reference} {alignments} 2> /dev/null"
    return f"{pileup} | bcftools call -mv --ploidy {ploidy} -Ov -o {output} 2> /dev/null"


def accuracy(given: CallSet, calls: Path) -> dict[str, dict[str, float]]:
    tool = HERE / "tools" / "call_accuracy.py"
    arguments = [tool, given.truth, calls, given.reference, "--bed", given.bed]
    scored = subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(scored.stdout)


def usual(tool: str, calls: Path) -> Path:
    """The calls as they are usually taken: readwarp's by their filters, others from QUAL 20 on."""
    if tool == "readwarp":
        return calls
    good = calls.with_suffix(".good.vcf")
    subprocess.run(["bcftools", "view", "-i", "QUAL>=20", "-o", good, calls], check=True)
    return good


def scores(tool: str, given: CallSet, calls: Path) -> dict[str, float]:
    """Scores by default, and the best F1 of all cut-offs; no shares if the truth has no variant of a kind."""
    everything, taken = accuracy(given, calls), accuracy(given, usual(tool, calls))
    out = {}
    for kind in ("snv", "indel"):
        of_kind = taken[kind] | {"best_f1": everything[kind]["best_f1"]}
        known = SCORES if of_kind["truth"] else COUNTS
        out |= {f"{kind}_{key}": of_kind[key] for key in known}
    return out


def compared(given: CallSet, tools: list[str]) -> list[Row]:
    """A row of the table for each tool and number of threads."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for tool in tools:
            calls = Path(scratch) / f"{tool}.vcf"
            if tool == "readwarp":
                measured(command(tool, given, 2, calls))
            for threads in THREADS.get(tool, (1,)):
                used = measured(command(tool, given, threads, calls))
                what = (given.name, tool, version(tool), threads, used.seconds, used.cpu_seconds, used.peak_mb)
                rows.append(dict(zip(COLUMNS, (*circumstances(), *what), strict=False)) | scores(tool, given, calls))
                show(rows[-1])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=",".join(TOOLS), help="[%(default)s]")
    add_ways(parser)
    options = parser.parse_args()
    for given in chosen(options):
        append(compared(given, options.tools.split(",")), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
