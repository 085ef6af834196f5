"""The examples of the README and the docs: fenced blocks, and small real data under the names that they use."""

import gzip
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pysam

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "test_data"
PAIRS = 2000
FENCE = re.compile(r"^(?:<!-- needs ([^>]+) -->\n)?```(sh|python)( setup)?\n(.*?)^```$", re.M | re.S)
NAMES = (  # of the reads, by what the examples call them; {} is the mate
    *("reads_{}.fq.gz", "reads_{}.fq", "sample_{}.fq.gz", "sample_{}.fq", "r{}.fq", "lane_{}.fq.gz"),
    *("l1_{}.fq", "l2_{}.fq", "NA12878_S1_L001_R{}_001.fastq.gz", "NA12878_S1_L002_R{}_001.fastq.gz"),
)
SAMPLES = (
    "sample",
    "father",
    "mother",
    "child",
    "a",
    "b",
    "c",
    "panel",
    "tumour",
    "patient",
    "wheat",
    "family",
    "s",
    "t",
)


BESIDE = (".bai", ".tbi", ".amb", ".ann", ".bwt", ".pac", ".sa")  # indexes


class Block(NamedTuple):
    language: str  # sh | python
    needs: str | None  # what is not here, such as SLURM; it is not run then
    text: str


def blocks_of(page: Path) -> list[Block]:
    """Those to try: not the set-up commands, which .ci/run takes, and not dialogues (>>>), which doctest does."""
    found = FENCE.findall(page.read_text())
    return [Block(kind, needs or None, text) for needs, kind, setup, text in found if not setup and ">>> " not in text]


def make_store(folder: Path) -> Path:
    """Files that examples name: 2,000 pairs of NA12878 and what is made of them."""
    text = (DATA / "na12878_chr21" / "ref.fa").read_text().partition("\n")[2]
    for name in ("ref.fa", "virus.fa", "hg19.fa", "GRCh38.fa"):
        (folder / name).write_text(f">chr20\n{text}")
    shutil.copy(DATA / "odd" / "mitochondrion.gb", folder)
    for mate in (1, 2):
        with gzip.open(DATA / "na12878_chr21" / f"reads_{mate}.fq.gz", "rt") as file:
            reads = "".join(itertools.islice(file, 4 * PAIRS))
        for name in (pattern.format(mate) for pattern in NAMES):
            (folder / name).write_bytes(gzip.compress(reads.encode(), 1) if name.endswith(".gz") else reads.encode())
    shutil.copy(folder / "reads_1.fq.gz", folder / "reads.fq.gz")
    for name, rows in {
        "scheme.bed": "chr20\t1000\t1020\tp1_LEFT\t1\t+\nchr20\t1300\t1320\tp1_RIGHT\t1\t-\n",
        "sex.bed": "chr20\t0\t1000\t1\n",
        "sexes.bed": "chr20\t0\t1000\t1\tfamily\n",
        "known.bed": "chr20\t8000\t9000\n",
        "targets.bed": "chr20\t8000\t9000\n",
        "panel.bed": "chr20\t8000\t9000\n",
        "bams.txt": "father.bam\nmother.bam\nchild.bam\n",
    }.items():
        (folder / name).write_text(rows)
    make_molecules(folder)
    make_long_reads(folder, text.replace("\n", ""))
    make_results(folder)
    return folder


def make_long_reads(folder: Path, sequence: str) -> None:
    reads = [sequence[start : start + 5000] for start in range(0, 50_000, 2500)]
    records = "".join(f"@hifi{k}\n{read}\n+\n{'I' * len(read)}\n" for k, read in enumerate(reads))
    (folder / "hifi.fq.gz").write_bytes(gzip.compress(records.encode(), 1))
    (folder / "contigs.fa").write_text(f">contig\n{sequence[1000:40_000]}\n")
    with pysam.AlignmentFile(str(folder / "nanopore.bam"), "wb", text="@HD\tVN:1.6\n") as file:
        for number, read in enumerate(reads):
            record = pysam.AlignedSegment(file.header)
            record.query_name, record.flag, record.query_sequence = f"ont{number}", 4, read
            file.write(record)


def make_molecules(folder: Path) -> None:
    """Each pair twice with one UMI, and once as the other strand of its molecule, in FASTQ and aligned."""
    import readwarp

    left, right = (gzip.decompress((folder / f"reads_{mate}.fq.gz").read_bytes()).decode() for mate in (1, 2))
    (first, last), both = (left.splitlines(), right.splitlines()), (list[str](), list[str]())
    for at in range(0, len(first), 4):
        for copy, umi, pair in (
            ("1", "ACGTAC+GGTCAT", (first, last)),
            ("2", "ACGTAC+GGTCAT", (first, last)),
            ("3", "GGTCAT+ACGTAC", (last, first)),
        ):
            for out, reads in zip(both, pair, strict=True):
                out += f"@{at}.{copy}:{umi}", *reads[at + 1 : at + 4]
    paths = [folder / f"umi_{mate}.fq.gz" for mate in (1, 2)]
    for path, lines in zip(paths, both, strict=True):
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 1))
    for name, is_duplex in (("umi.bam", False), ("duplexes.bam", True)):
        molecules = {"umi": "name", "umi_duplex": is_duplex, "mark_duplicates": True, "write_index": True}
        readwarp.align(folder / "ref.fa", *paths, output=folder / name, sample="sample", **molecules)


def make_results(folder: Path) -> None:
    import readwarp

    reference, reads = folder / "ref.fa", (folder / "reads_1.fq.gz", folder / "reads_2.fq.gz")
    with gzip.open(DATA / "na12878_chr21" / "reads_1.fq.gz", "rt") as file:  # other reads than the tumour's
        (folder / "normal.fq").write_text("".join(itertools.islice(file, 4 * PAIRS, 8 * PAIRS)))
    normal = {"sample": "NORMAL", "mark_duplicates": True, "write_index": True}
    readwarp.align(reference, folder / "normal.fq", output=folder / "normal.bam", **normal)
    for name in SAMPLES:
        bam = folder / f"{name}.bam"
        readwarp.align(reference, *reads, output=bam, sample=name, mark_duplicates=True, write_index=True)
    readwarp.align(
        folder / "mitochondrion.gb", DATA / "mito" / "HG03478.bam", output=folder / "mt.bam", write_index=True
    )
    readwarp.align(reference, *reads, output=folder / "s.L2.bam", sample="s", library="a")
    readwarp.align(folder / "hg19.fa", *reads, output=folder / "hg19.cram", sort="none")
    if shutil.which("bwa"):  # a page pipes from it
        subprocess.run(["bwa", "index", reference], check=True, capture_output=True)
    for name in "abst":
        bam = folder / f"{name}.bam"
        readwarp.call(reference, bam, output=folder / f"{name}.g.vcf.gz", gvcf=True)
        readwarp.call(reference, bam, output=folder / f"{name}.vcf.gz")
    for name in ("known", "panel", "sample"):
        readwarp.call(reference, folder / "a.bam", output=folder / f"{name}.vcf.gz")
    for name in ("results", "sample1", "sample2", "sample3"):
        readwarp.run(reference, *reads, output=folder / name, sample=name, no_report=True)


def run_page(page: Path, store: Path, folder: Path) -> str:
    """Run the blocks of a page, in order; all of its Python as one script. What they say is returned.

    A block goes on in the folder of the one before it, unless that has a file already that the block writes.
    """
    program = folder / "bin" / "readwarp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m readwarp "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PLACE": str(folder / "place")}
    blocks = [block for block in blocks_of(page) if not block.needs]
    script = "\n".join(block.text for block in blocks if block.language == "python")
    commands = [block.text for block in blocks if block.language == "sh"]
    here, said = folder, ""
    for number, text in enumerate([*commands, *([script] if script else [])]):
        if here == folder or any((here / name).exists() for name in outputs(text)):
            home = here = folder / f"block_{number}"
            home.mkdir()
        bring(text, store, home, here)
        if text is script:
            return said + attempt([sys.executable, "-c", script], here, environment | {"HOME": str(home)})
        command = ["bash", "-euo", "pipefail", "-c", f'{text}\npwd > "$PLACE"']
        said += attempt(command, here, environment | {"HOME": str(home)})
        here = Path((folder / "place").read_text().strip())
    return said


def attempt(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    pipe = subprocess.PIPE
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )
    assert done.returncode == 0, f"{command[-1]}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def outputs(text: str) -> set[str]:
    """What a block writes."""
    return set(re.findall(r"""(?:-o |--output |output=["'])([^\s"')]+)""", text))


def bring(text: str, store: Path, home: Path, here: Path) -> None:
    """Put what the text names as inputs in the folder `here`, where it is not there yet; test_data in `home`."""
    made = outputs(text)
    for name in sorted(set(re.findall(r"[\w./+-]+", re.sub(r"#.*", "", text)))):
        if name.startswith("test_data/"):
            shutil.copytree(ROOT / Path(name).parent, (home / name).parent, dirs_exist_ok=True)
            continue
        if name in made or (here / name).exists():
            continue
        for source in (store / name, *(store / f"{name}{ending}" for ending in BESIDE)):
            if source.is_dir():
                shutil.copytree(source, here / source.name)
            elif source.exists():
                shutil.copy(source, here)
    if "bams.txt" in text:
        bring((store / "bams.txt").read_text(), store, home, here)
    for lane in store.glob("NA12878_S1*") if "_R?_" in text else ():
        shutil.copy(lane, here)
