"""Compare the outputs of two commits: baseline.py BEFORE [AFTER] [--only TEXT] [--data FOLDER] [--folder FOLDER]

Each commit (by default AFTER is the working tree) is checked out beside this one and run by this Python on the CPU.
Outputs, counts of metrics.json and lines on standard error become checksums, kept in --folder by commit. If outputs
differ, they are listed, and the exit code is 1.

The sets are those of test_data/ and benchmarks/data/, and the folders of --data that have ref.fa or ref.fa.gz, and
reads_1.fq.gz and reads_2.fq.gz (prepare.py makes its own sets with all their reads). On reads that are made, each
command runs with all of its options: the cases of tests/helpers/windowed_cases.py.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pysam
from pysam import bcftools, samtools

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path.append(str(TESTS))
from helpers.windowed_cases import CASES, Case  # noqa: E402
from helpers.windowed_samples import make_samples  # noqa: E402

TREE = "working tree"
OF_THE_RUN = re.compile(r"^##(command|readwarp|fileDate|source|reference)|^@PG")  # who made a file, and how
PLACE_AND_DATE = re.compile(r"\tUR:\S+|\d+ [A-Z][a-z]+ 20\d\d, \d\d:\d\d")  # in headers of CRAM; on pages of reports
INDEXES = ".bai", ".crai", ".csi", ".tbi"  # of bytes that are not compared
PAIR_HMM = """
import random, readwarp
bases = "".join(random.Random(1).choices("ACGT", k=800))
for quality in 2, 30:
    reads = [bases[20 : 20 + size][::step] for size in (20, 60, 150, 250, 640) for step in (1, -1)]
    print(readwarp.pair_hmm(reads, quality, [bases, bases[5:90] + bases[97:]]).tolist())
"""
OF_TIME = re.compile(r"[\d.,]+ ?(s|/s)\b|0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Set:
    """Reads with their reference, and options of align and call."""

    name: str
    reference: Path
    reads: tuple[Path, ...]
    align: str = ""
    call: str = ""


def sets(more: Path | None) -> Iterator[Set]:
    """All sets that exist."""
    odd, data = ROOT / "test_data" / "odd", ROOT / "benchmarks" / "data"
    yield of_folder(ROOT / "test_data" / "na12878_chr21")
    yield Set("unaligned BAM", odd / "sarscov2_genome.fa.gz", (odd / "sarscov2_unaligned.bam",), call="--ploidy 1")
    yield Set("interleaved", odd / "sarscov2_genome.fa.gz", (odd / "sarscov2_interleaved.fastq.gz",), "-p")
    short = tuple(odd / f"portiera_36bp_{mate}.fastq.gz" for mate in (1, 2))
    yield Set("36 bases", odd / "portiera_genome.fa.gz", short, "--preset short", "--ploidy 1")
    yield Set("phiX", odd / "phix.fasta", (odd / "phix.1.fastq", odd / "phix.2.fastq"))
    yield Set("comments", odd / "phix.fasta", (odd / "phix.tags.fastq",), "-C --eqx -Y")
    yield Set("GenBank", odd / "mitochondrion.gb", (ROOT / "test_data" / "mito" / "HG03478.bam",), call="--ploidy 1")
    for bad in ("test_corrupted_30reads_R1.fastq.gz", "test_quality_mismatch.fastq", "test_truncated_halfway.fastq"):
        yield Set(bad, odd / "phix.fasta", (odd / bad,))
    for folder in (data / "na12878_chr20", data / "sarscov2", *sorted(more.iterdir() if more else ())):
        if found := of_folder(folder):
            yield found


def of_folder(folder: Path) -> Set | None:
    references = [folder / name for name in ("ref.fa", "ref.fa.gz") if (folder / name).exists()]
    reads = tuple(folder / f"reads_{mate}.fq.gz" for mate in (1, 2))
    return Set(folder.name, references[0], reads) if references and all(path.exists() for path in reads) else None


class Program:
    """readwarp of one commit."""

    def __init__(self, source: Path, scratch: Path, cache: Path) -> None:
        self.scratch = scratch
        self.environment = os.environ | {"PYTHONPATH": str(source / "src"), "READWARP_CACHE": str(cache)}

    def __call__(self, command: str, *paths: object, options: str = "") -> tuple[int, bytes, str]:
        """(exit code, standard output, standard error without times and places)"""
        return self.python("-m", "readwarp", command, *map(str, paths), *shlex.split(options), "--no-progress")

    def python(self, *words: str) -> tuple[int, bytes, str]:
        """The same, of any Python."""
        done = subprocess.run([sys.executable, *words], capture_output=True, env=self.environment, cwd=self.scratch)
        said = done.stderr.decode().replace(str(self.scratch), "")
        by_chance = re.compile(r"\bkernels?\b|% of the input")  # they depend on the cache and on the speed of the run
        lines = [line for line in said.splitlines() if not by_chance.search(line)]
        return done.returncode, done.stdout, OF_TIME.sub("", "\n".join(lines))

    def must(self, folder: Path, words: Sequence[str]) -> None:
        """Run a command on which others depend."""
        code, _, said = self(*words)
        if code:
            sys.exit(f"{shlex.join(words)}: exit code {code}\n{said}")


def digest(content: bytes | str) -> str:
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:16]


def text_of(path: Path) -> str:
    """Lines of a file, except for how, where and when it was made; the counts of metrics."""
    if not path.exists():
        return "none"
    if path.suffix in (".bam", ".cram"):
        text = samtools.view("-h", str(path))
    elif path.suffix == ".bcf":
        text = bcftools.view("--no-version", str(path))
    elif path.suffix == ".json":
        text = json.dumps(json.loads(path.read_text()).get("counts"), sort_keys=True)
    else:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("latin-1")
    return PLACE_AND_DATE.sub("", "\n".join(line for line in text.split("\n") if not OF_THE_RUN.match(line)))


def outputs_of(some: Set, program: Program, folder: Path) -> dict[str, str]:
    """The checksum of each output of the set."""
    folder.mkdir()
    reference = folder / some.reference.name
    reference.symlink_to(some.reference)
    made: dict[str, str] = {}

    def keep(name: str, said: tuple[int, bytes, str], *files: Path) -> None:
        made[f"{some.name}: {name}"] = digest("\n".join((str(said[0]), *map(text_of, files))))
        made[f"{some.name}: {name}, messages"] = digest(said[2])

    sam, bam, part = folder / "all.sam", folder / "all.bam", folder / "part.bam"
    counts = folder / "align.json"
    group = "-R '@RG\\tID:{0}\\tSM:{0}'"
    options = f"{some.align} --no-pg"
    keep("align", program("align", reference, *some.reads, options=f"{options} -o {sam} --metrics {counts}"), sam)
    if not sam.exists():
        return made
    made[f"{some.name}: align, counts"] = digest(text_of(counts))
    ordered = f"{options} --sort coordinate --write-index"
    for out, more in ((bam, f"{group.format('one')} --mark-duplicates"), (part, f"{group.format('two')} --part 1/2")):
        keep(out.stem, program("align", reference, *some.reads, options=f"{ordered} {more} -o {out}"), out)
    gvcfs = [folder / f"{name}.g.vcf" for name in ("one", "two")]
    vcf, joint, counts = folder / "all.vcf", folder / "joint.vcf", folder / "call.json"
    keep("call", program("call", reference, bam, options=f"{some.call} -o {vcf} --metrics {counts}"), vcf)
    made[f"{some.name}: call, counts"] = digest(text_of(counts))
    for source, gvcf in zip((bam, part), gvcfs, strict=True):
        keep(gvcf.name, program("call", reference, source, options=f"{some.call} --gvcf -o {gvcf}"), gvcf)
    keep("genotype", program("genotype", reference, *gvcfs, options=f"-o {joint}"), joint)
    results = folder / "results"
    keep("run", program("run", reference, *some.reads, options=f"{options} --no-report -o {results}"))
    for path in sorted(results.glob("*.bam")) + sorted(results.glob("*.vcf.gz")):
        made[f"{some.name}: run, {path.suffix}"] = digest(text_of(path))
    return made


def pairs(program: Program, folder: Path) -> dict[str, str]:
    """Outputs of `readwarp pairwise` in each mode."""
    folder.mkdir()
    bases, made = pysam.FastaFile(str(ROOT / "test_data" / "na12878_chr21" / "ref.fa")).fetch("chr21part"), {}
    queries, targets = folder / "queries.fa", folder / "targets.fa"
    starts = range(1000, 190_000, 1500)
    queries.write_text("".join(f">q{k}\n{bases[k : k + 100]}{bases[k + 107 : k + 230]}\n" for k in starts))
    targets.write_text("".join(f">t{k}\n{bases[k - 30 : k + 150]}AC{bases[k + 151 : k + 260]}\n" for k in starts))
    for mode in ("local", "global", "semiglobal"):
        code, out, said = program("pairwise", queries, targets, options=f"--mode {mode}")
        made[f"pairwise: {mode}"] = digest(f"{code}\n".encode() + out)
        made[f"pairwise: {mode}, messages"] = digest(said)
    return made


def outputs_of_case(name: str, case: Case, program: Program) -> dict[str, str]:
    """The checksum of each file that the case makes in a folder of samples."""
    out = program.scratch / name.replace(" ", "_")  # it stands in command lines
    out.mkdir()
    code, _, said = program(*case.words(out.name))
    made = {"": digest(f"{code}"), ", messages": digest(said)}
    files = (path for path in sorted(out.rglob("*")) if path.is_file() and path.suffix not in INDEXES)
    made |= {f", {path.relative_to(out)}": digest(text_of(path)) for path in files}
    return {f"{case.command}, {name}{what}": checksum for what, checksum in made.items()}


def pair_hmm(program: Program) -> dict[str, str]:
    """What Python gets."""
    code, out, said = program.python("-c", PAIR_HMM)
    return {"pair_hmm": digest(f"{code}\n".encode() + out), "pair_hmm, messages": digest(said)}


def outputs(source: Path, only: str, more: Path | None, cache: Path) -> dict[str, str]:
    """Checksums of all outputs of the sources in a folder."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        program = Program(source, Path(scratch), cache)
        chosen = [some for some in sets(more) if only in some.name]
        if names := [name for name, number in Counter(some.name for some in chosen).items() if number > 1]:
            sys.exit(f"two sets of one name: {', '.join(names)}")
        folders = [Path(scratch) / some.name.replace(" ", "_") for some in chosen]  # they stand in command lines
        works = [pool.submit(outputs_of, some, program, folder) for some, folder in zip(chosen, folders, strict=True)]
        if only in "pairwise":
            works.append(pool.submit(pairs, program, Path(scratch) / "pairwise"))
        if only in "pair_hmm":
            works.append(pool.submit(pair_hmm, program))
        if cases := {name: case for name, case in CASES.items() if only in f"{case.command}, {name}"}:
            made = Program(source, Path(scratch) / "made", cache)
            made.scratch.mkdir()
            make_samples(made.scratch, made.must)
            works += [pool.submit(outputs_of_case, name, case, made) for name, case in cases.items()]
        for work in works:
            found |= work.result()
    return found


def of_commit(commit: str, folder: Path, only: str, more: Path | None) -> dict[str, str]:
    """Checksums of the working tree, or of a commit, for which they are kept."""
    cache = folder / "cache"
    if commit == TREE:
        return outputs(ROOT, only, more, cache)
    name = git("rev-parse", "--short=12", commit)
    scripts = Path(__file__), *sorted((TESTS / "helpers").glob("windowed_*.py"))
    script = digest(b"".join(path.read_bytes() for path in scripts))
    kept = folder / f"{name}-{script}{f'-{only}' if only else ''}{f'-{more.name}' if more else ''}.json"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / name
            git("worktree", "add", "--detach", str(tree), commit)
            try:
                kept.write_text(json.dumps(outputs(tree, only, more, cache), indent=1))
            finally:
                git("worktree", "remove", "--force", str(tree))
    return json.loads(kept.read_text())


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after", nargs="?", default=TREE)
    parser.add_argument("--only", default="", help="only sets whose name contains this")
    parser.add_argument("--data", type=Path, help="a folder with more sets")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "readwarp-baseline")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    given = options.folder, options.only, options.data
    before, after = (of_commit(commit, *given) for commit in (options.before, options.after))
    unlike = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in unlike:
        print(f"{name}: {before.get(name, 'none')} before, {after.get(name, 'none')} after")
    print(f"{len(before)} outputs of {options.before}, {len(unlike)} of {options.after} differ")
    sys.exit(bool(unlike))


if __name__ == "__main__":
    main()
