"""Commands that get signals at random moments and then run again: the bytes of an undisturbed run, nothing else."""

import random
import shutil
import signal

import pytest

from helpers.command_samples import CONTIGS, fasta, letters, pairs, record, run_main
from helpers.kills import Command, moment, show, try_kill, undisturbed

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
KINDS = ("align", "resume", "files", "variants", "run")
MOST = 10  # faults until a test ends


def mutated(contigs: dict[str, str]) -> dict[str, str]:
    """Contigs with SNVs and deletions, so that there is something to call."""
    found = {}
    for name, sequence in contigs.items():
        pieces = [sequence[at : at + 400] for at in range(0, len(sequence), 400)]
        swapped = [("G" if piece[200] == "A" else "A").join((piece[:200], piece[201:])) for piece in pieces[:-1]]
        found[name] = "".join(piece[:300] + piece[302:] for piece in swapped) + pieces[-1]
    return found


@pytest.fixture(scope="session")
def commands(tmp_path_factory) -> dict[str, list[Command]]:
    folder = tmp_path_factory.mktemp("kills")
    reference, reads = folder / "ref.fa", [folder / "s_1.fq", folder / "s_2.fq"]
    reference.write_text(fasta(mutated(CONTIGS)))
    for mate in (1, 2):
        reads[mate - 1].write_text("".join(record(pair[0], pair[mate]) for pair in pairs(600)))
    long = folder / "long.fa"
    long.write_text(fasta({"long": letters(400_000, 5)}))
    bam, gvcfs, normals, parts = folder / "s.bam", [], [], []
    sorting = ("--sort", "coordinate", "--mark-duplicates", "--write-index")
    assert run_main(["index", reference, "-q"]) == 0
    assert run_main(["align", reference, *reads, "-o", bam, *sorting, "-q"]) == 0
    for sample in ("a", "b"):
        group = f"@RG\\tID:{sample}\\tSM:{sample}"
        own, gvcfs = folder / f"{sample}.bam", [*gvcfs, folder / f"{sample}.g.vcf.gz"]
        assert run_main(["align", reference, *reads, "-o", own, *sorting, "-R", group, "-q"]) == 0
        assert run_main(["call", reference, own, "-o", gvcfs[-1], "--gvcf", "-q"]) == 0
        normals.append(folder / f"{sample}.vcf.gz")
        assert run_main(["call", reference, own, "-o", normals[-1], "--mixture", "-q"]) == 0
    molecules, tagged = folder / "molecules.bam", [folder / "u_1.fq", folder / "u_2.fq"]
    for mate in (1, 2):
        tagged[mate - 1].write_text("".join(record(f"{pair[0]}:ACGTAC", pair[mate]) for pair in pairs(600)))
    assert run_main(["align", reference, *tagged, "-o", molecules, *sorting, "--umi", "name", "-q"]) == 0
    for number in (1, 2):
        parts.append(folder / f"{number}.bam")
        assert run_main(["align", reference, *reads, "-o", parts[-1], "--part", f"{number}/2", "-q"]) == 0

    align = ("align", reference, *reads, "--batch-bases", "10000", "-t", "2")
    whole = ("run", reference, *reads, "-o", "out", "--batch-bases", "10000", "-t", "2")
    made = {"out/s.bam", "out/s.bam.bai", "out/s.vcf.gz", "out/s.vcf.gz.tbi", "out/s.bam.aligned.json"}
    endings = ("stats.txt", "flagstat.txt", "idxstats.txt", "depth.txt", "depth.bedgraph", "vcf.stats.txt")
    made |= {f"out/s.{ending}" for ending in endings}
    return {
        "align": [
            Command("bam", (*align, "-o", "o.bam", *sorting)),
            Command("sam", (*align, "-o", "o.sam")),
            Command("cram", (*align, "-o", "o.cram", *sorting)),
            Command("replaced", (*align, "-o", "o.bam", *sorting, "--force")),
        ],
        "resume": [
            Command("bam", (*align, "-o", "o.bam", *sorting, "--resume")),
            Command("sam", (*align, "-o", "o.sam", "--resume")),
            Command("cram", (*align, "-o", "o.cram", *sorting, "--resume")),
        ],
        "files": [
            Command("index", ("index", long, "-o", "o.rwx")),
            Command("its own index", (*align, "-o", "o.bam", "--index", "own.rwx"), frozenset(["own.rwx"])),
            Command("consensus", ("consensus", molecules, "-o", "o.bam", "-t", "2")),
            Command("panel", ("panel", *normals, "-o", "o.vcf.gz")),
            Command("merge", ("merge", *parts, "-o", "o.bam", "--mark-duplicates", "--write-index")),
        ],
        "variants": [
            Command("vcf", ("call", reference, bam, "-o", "o.vcf.gz", "-t", "2")),
            Command("processes", ("call", reference, bam, "-o", "o.vcf.gz", "-t", "5", "--batch-bases", "6400")),
            Command("gvcf", ("call", reference, bam, "-o", "o.g.vcf.gz", "--gvcf", "-t", "2")),
            Command("bcf", ("call", reference, bam, "-o", "o.bcf", "-t", "2")),
            Command(
                "fractions", ("call", reference, bam, "-o", "o.vcf.gz", "--mixture", "--consensus", "o.fa", "-t", "2")
            ),
            Command("bam", ("call", reference, bam, "-o", "o.vcf.gz", "--bam-output", "o.bam", "-t", "2")),
            Command("genotype", ("genotype", reference, *gvcfs, "-o", "o.vcf.gz", "-t", "2")),
            Command("genotype in processes", ("genotype", reference, *gvcfs, "-o", "o.vcf.gz", "-t", "5")),
        ],
        "run": [
            Command("run", (*whole, "--force"), frozenset(made)),
            Command("resumed", (*whole, "--resume"), frozenset(made)),
        ],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_kills(kind, commands, pytestconfig, tmp_path):
    seed, count, bad, known = pytestconfig.option.fuzz_seed, -(-pytestconfig.option.kills // len(KINDS)), [], {}
    for number in range(count):
        chance = random.Random(f"{seed} {kind} {number}")
        command, is_slowed = chance.choice(commands[kind]), chance.random() < 0.5
        numbers = chance.choice(((chance.choice(STOPS),), (chance.choice(STOPS),) * 2, (signal.SIGKILL,)))
        if (command.name, is_slowed) not in known:
            known[command.name, is_slowed] = undisturbed(command, tmp_path / "undisturbed", is_slowed)
        expected, own = known[command.name, is_slowed], tmp_path / str(number)
        at = moment(chance, expected.seconds)
        if faults := try_kill(command, expected, own, at, numbers, is_slowed):
            how = f"{show(numbers)} after {at:.3f} of {expected.seconds:.3f} s{' (slowed)' if is_slowed else ''}"
            bad.append("\n    ".join([f"{own}: {kind} {command.name}: {how}", *faults]))
            (tmp_path / "faults.txt").write_text("\n".join(bad))  # to be read while others are tried
        else:
            shutil.rmtree(own)
        if len(bad) == MOST:
            break
    assert not bad, f"--fuzz-seed {seed}: {len(bad)} of {number + 1}\n" + "\n".join(bad)
