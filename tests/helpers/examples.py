"""The examples of the README and the docs: fenced blocks, and small real data under the names that they use."""

import gzip
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "test_data"
PAIRS = 2000
FENCE = re.compile(r"^```(sh|python)(?: (setup)| title=\"needs ([^\"]+)\")?\n(.*?)^```$", re.M | re.S)
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


class Block(NamedTuple):
    language: str  # sh | python
    needs: str | None  # what is not here, such as SLURM; it is not run then
    text: str


def blocks_of(page: Path) -> list[Block]:
    """Those to try: not the set-up commands, which .ci/run takes, and not dialogues (>>>), which doctest does."""
    found = FENCE.findall(page.read_text())
    return [Block(kind, needs or None, text) for kind, setup, needs, text in found if not setup and ">>> " not in text]


def make_store(folder: Path) -> Path:
    """Files that examples name: 2,000 pairs of NA12878 and what is made of them."""
    text = (DATA / "na12878_chr21" / "ref.fa").read_text().partition("\n")[2]
    for name in ("ref.fa", "virus.fa"):
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
    make_results(folder)
    return folder


def make_results(folder: Path) -> None:
    import readwarp

    reference, reads = folder / "ref.fa", (folder / "reads_1.fq.gz", folder / "reads_2.fq.gz")
    for name in SAMPLES:
        bam = folder / f"{name}.bam"
        readwarp.align(reference, *reads, output=bam, sample=name, mark_duplicates=True, write_index=True)
    readwarp.align(
        folder / "mitochondrion.gb", DATA / "mito" / "HG03478.bam", output=folder / "mt.bam", write_index=True
    )
    for name in "abst":
        bam = folder / f"{name}.bam"
        readwarp.call(reference, bam, output=folder / f"{name}.g.vcf.gz", gvcf=True)
        readwarp.call(reference, bam, output=folder / f"{name}.vcf.gz")
    for name in ("known", "panel", "sample"):
        readwarp.call(reference, folder / "a.bam", output=folder / f"{name}.vcf.gz")
    for name in ("results", "sample1", "sample2", "sample3"):
        readwarp.run(reference, *reads, output=folder / name, sample=name, no_report=True)


def run_page(page: Path, store: Path, folder: Path) -> str:
    """Run the blocks of a page in a folder, in order; all of its Python as one script. What they say is returned."""
    program = folder / "bin" / "readwarp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m readwarp "$@"\n')
    program.chmod(0o755)
    place = folder / "work"
    place.mkdir()
    path = f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "HOME": str(place), "PLACE": str(folder / "place")}
    blocks = [block for block in blocks_of(page) if not block.needs]
    script = "\n".join(block.text for block in blocks if block.language == "python")
    here, said = place, ""
    for block in [block for block in blocks if block.language == "sh"]:
        bring(block.text, store, here)
        said += attempt(["bash", "-euo", "pipefail", "-c", f'{block.text}\npwd > "$PLACE"'], here, environment)
        here = Path((folder / "place").read_text().strip())
    if script:
        bring(script, store, here)
        said += attempt([sys.executable, "-c", script], here, environment)
    return said


def attempt(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{command[-1]}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def bring(text: str, store: Path, folder: Path) -> None:
    """Put what the text names as inputs in the folder, where it is not there yet."""
    made = set(re.findall(r"""(?:-o |--output |output=["'])([^\s"')]+)""", text))
    for name in named(text):
        target = folder / name
        if name in made or target.exists():
            continue
        if name.startswith("test_data/"):
            shutil.copytree(ROOT / Path(name).parent, target.parent, dirs_exist_ok=True)
            continue
        for source in (store / name, *(store / f"{name}{ending}" for ending in (".bai", ".tbi"))):
            if source.is_dir():
                shutil.copytree(source, folder / source.name)
            elif source.exists():
                shutil.copy(source, folder)
    if "bams.txt" in text:
        bring((store / "bams.txt").read_text(), store, folder)
    for name in sorted(path.name for path in store.glob("NA12878_S1*")) if "_R?_" in text else ():
        shutil.copy(store / name, folder)


def named(text: str) -> Iterator[str]:
    for word in re.findall(r"[\w./+-]+", text):
        yield word.removeprefix("./")
