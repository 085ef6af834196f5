"""Commands on an emulated card, with the counts of their launches.

    python -m modelled.workloads CAPABILITY NAME FOLDER      runs one and writes FOLDER/NAME.CAPABILITY.launches

runs in a process of its own: a process has one set of cards.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from emulated_card.counted import Launched

BENCHMARKS = Path(__file__).parent.parent
TEST_DATA = BENCHMARKS.parent / "test_data" / "na12878_chr21"
CHR20 = BENCHMARKS / "data" / "sim_chr20" / "grch38.chr20_10M.fa.gz"
CHR20_TRUTH = BENCHMARKS / "data" / "sim_chr20" / "truth.vcf.gz"
CHR20_READS = BENCHMARKS / "data" / "na12878_chr20"
PAIRS = 12_000  # of reads: a batch
LONG_DEPTH = 0.4  # of long reads: a batch
MEMORY = "16G"  # of the emulated card


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of a workload."""

    name: str
    capability: int
    items: int
    unit: str  # what the items are
    launches: list[Launched]


def counted(name: str, capability: int, folder: Path) -> Counted:
    """Run the workload, unless the folder has its counts. Ends the program if it fails."""
    path = folder / f"{name}.{capability}.launches"
    if not path.exists():
        folders = (str(BENCHMARKS), str(BENCHMARKS.parent / "tests"), os.environ.get("PYTHONPATH"))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
        command = [sys.executable, "-m", "modelled.workloads", str(capability), name, str(folder)]
        if subprocess.run(command, env=environment, stdout=sys.stderr).returncode:
            sys.exit(f"failed: {' '.join(command[1:])}")
    return pickle.loads(path.read_bytes())


def align_real(folder: Path) -> tuple[int, str]:
    """Align a batch of real reads to the region that they come from."""
    reference = linked(TEST_DATA / "ref.fa", folder)
    reads = [some_of(TEST_DATA / f"reads_{mate}.fq.gz", folder / f"reads_{mate}.fq", PAIRS) for mate in (1, 2)]
    aligned(reference, reads, folder / "out.bam")
    return 2 * PAIRS, "reads"


def align_simulated(folder: Path) -> tuple[int, str]:
    """Align a batch of simulated reads to 10 Mb of chromosome 20."""
    from oncard.reads import write_reads

    reference = linked(CHR20, folder)
    aligned(reference, list(write_reads(reference, PAIRS, folder)), folder / "out.bam")
    return 2 * PAIRS, "reads"


def align_hifi(folder: Path) -> tuple[int, str]:
    """Align a batch of simulated HiFi reads to 10 Mb of chromosome 20."""
    return aligned_long("hifi", folder)


def align_ont(folder: Path) -> tuple[int, str]:
    """The same with nanopore reads."""
    return aligned_long("ont", folder)


def aligned_long(kind: str, folder: Path) -> tuple[int, str]:
    """Items are kilobases of reads."""
    import pysam

    reference = linked(CHR20, folder)
    with pysam.FastaFile(str(reference)) as file:
        contig = file.references[0]
    simulator = BENCHMARKS / "tools" / "simulate_long.py"
    given = ("--contig", contig, "--depth", str(LONG_DEPTH), "--kind", kind)
    subprocess.run([sys.executable, simulator, reference, CHR20_TRUTH, folder / "reads", *given], check=True)
    with pysam.FastxFile(str(folder / "reads.fq")) as file:
        bases = sum(len(read.sequence) for read in file)
    aligned(reference, [folder / "reads.fq"], folder / "out.bam", "--preset", kind, "--batch-bases", str(2 * bases))
    return bases // 1000, "kb"


def call_real(folder: Path) -> tuple[int, str]:
    """Call all windows of 200 kb at 36x, reads of 150 bases."""
    return called(TEST_DATA / "ref.fa", TEST_DATA, folder)


def call_other(folder: Path) -> tuple[int, str]:
    """Call the window of another 100 kb at 52x, reads of 101 bases, to see whether the same changes help."""
    return called(CHR20_READS / "ref.fa.gz", CHR20_READS, folder)


def called(genome: Path, reads_in: Path, folder: Path) -> tuple[int, str]:
    from emulated_card.counted import take_launches
    from readwarp.call.likelihoods.pairhmm import cuda as pairhmm

    reference, alignments = linked(genome, folder), folder / "all.bam"
    reads = [reads_in / f"reads_{mate}.fq.gz" for mate in (1, 2)]
    aligned(reference, reads, alignments, "--sort", "coordinate", "--write-index")
    take_launches()
    pairhmm.warm_up = not_counted(pairhmm.warm_up)
    completed("call", reference, alignments, "-o", folder / "out.vcf", "--device", "cuda:0")
    return 0, "windows"


WORKLOADS = {
    "align-real": align_real,
    "align-simulated": align_simulated,
    "align-hifi": align_hifi,
    "align-ont": align_ont,
    "call-real": call_real,
    "call-other": call_other,
}


def aligned(reference: Path, reads: list[Path], out: Path, *options: str) -> None:
    """Only batches are counted, not the warm-up or the training of insert sizes."""
    from readwarp.align import steps

    steps.warm_up, steps.train = not_counted(steps.warm_up), not_counted(steps.train)
    completed("align", reference, *reads, "-o", out, "--device", "cuda:0", *options)


def not_counted(work: Callable) -> Callable:
    """Do not count the launches inside; wait for their results, so that all have ended at its end."""

    def done(*arguments):
        from emulated_card.counted import take_launches

        result = work(*arguments)
        take_launches()
        return result

    return done


def completed(*arguments: object) -> None:
    from readwarp.cli import main

    if code := main([*map(str, arguments), "-q", "--force"]):
        sys.exit(code)


def linked(path: Path, folder: Path) -> Path:
    """A link to the file in the folder, so that files made beside it go there."""
    there = folder / path.name
    there.symlink_to(path)
    return there


def some_of(path: Path, out: Path, records: int) -> Path:
    import gzip

    with gzip.open(path, "rb") as source, out.open("wb") as target:
        target.writelines(islice(source, 4 * records))
    return out


def _main(capability: int, name: str, folder: Path) -> None:
    import tempfile

    import emulated_card

    emulated_card.activate(f"{capability // 10}.{capability % 10}:{MEMORY}", checks="accesses")
    from emulated_card.counted import take_launches
    from modelled.kernels import short

    with tempfile.TemporaryDirectory() as scratch:
        items, unit = WORKLOADS[name](Path(scratch))
    launches = take_launches()
    items = items or sum(short(each.kernel) == "count_bases" for each in launches)  # one in each window
    folder.mkdir(parents=True, exist_ok=True)
    made = Counted(name, capability, items, unit, launches)
    (folder / f"{name}.{capability}.launches").write_bytes(pickle.dumps(made))


if __name__ == "__main__":
    from modelled.workloads import _main as main  # so that what is pickled has this module's name

    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
