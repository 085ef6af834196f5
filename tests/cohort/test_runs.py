"""Whole runs of genotype, from a trio's reads through gVCFs to one VCF, and what must not change it."""

import gzip
import random
import sys
from itertools import product

import numpy as np
import pysam
import pytest

from helpers.blocks import compress_block
from helpers.cohorts import block, variant, written
from helpers.jobs import call_variants, genotype_cohort
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from helpers.memory import watch
from helpers.vcf_checks import bcftools, check_vcf
from readwarp.cohort.reading import WindowPlan, plan_windows
from readwarp.config import Resources
from readwarp.errors import InputError, MemoryBudgetError
from readwarp.formats.common.bgzf import EOF_BLOCK
from readwarp.formats.common.files import allow_files
from readwarp.formats.variants.genomic_text import LineText
from readwarp.index.reference import Reference
from readwarp.stream.plan import PROCESS, PROGRAM

READWARP = sys.executable, "-m", "readwarp"
SEQUENCE = random_sequence(4000, seed=41)
CONTIGS = {"one": SEQUENCE, "bare": random_sequence(300, seed=12)}

LENGTHS = {name: len(sequence) for name, sequence in CONTIGS.items()}


def bgzip(text: bytes) -> bytes:
    return b"".join(compress_block(text[i : i + 9999]) for i in range(0, len(text), 9999)) + EOF_BLOCK


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], other(SEQUENCE[position])


def deletion(position: int, size: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position : position + size + 1], SEQUENCE[position]


def insertion(position: int, bases: str) -> tuple[int, str, str]:
    return position, SEQUENCE[position], SEQUENCE[position] + bases


# two haplotypes of each parent; the child has the first of either
FATHER = ([snv(300), deletion(900, 4), snv(1700), snv(2500)], [snv(300), snv(1200)])
MOTHER = ([snv(600), snv(902), insertion(2000, "GATTAC"), snv(3000)], [snv(600), snv(1200), deletion(2000, 1)])
CHILD = (FATHER[0], MOTHER[0])
SAMPLES = {"father": FATHER, "mother": MOTHER, "child": CHILD}


@pytest.fixture(scope="module")
def trio(tmp_path_factory):
    """The reference, and alignments, gVCF and VCF of each sample of the trio."""
    folder = tmp_path_factory.mktemp("trio")
    write_fasta(folder / "ref.fa", CONTIGS)
    reference, made = folder / "ref.fa", {}
    for seed, (name, haplotypes) in enumerate(SAMPLES.items()):
        rng, reads = random.Random(seed), []
        for read in tiled([sorted(own) for own in haplotypes], SEQUENCE, step=7):
            qualities = tuple(rng.choice((25, 30, 37)) for _ in read.bases)
            reads.append(Read(read.position, read.cigar, read.bases, qualities, read.flag, 60, read.name))
        bam = folder / f"{name}.bam"
        write_bam(bam, LENGTHS, [("one", read) for read in reads], {"RG": [{"ID": "x", "SM": name}]})
        for gvcf, ending in ((True, "g.vcf.gz"), (False, "vcf.gz")):
            call_variants(reference, bam, folder / f"{name}.{ending}", resources=Resources(2), gvcf=gvcf)
        made[name] = folder / f"{name}.g.vcf.gz"
    return folder, reference, made


def genotype(trio, output, *names, threads=2, **options):
    _, reference, made = trio
    inputs = [made[name] for name in names or made]
    resources = Resources(threads, **options.pop("resources", {}))
    return output, genotype_cohort(reference, inputs, output, resources, **options)


def records(path, sample: int = 0):
    with pysam.VariantFile(str(path)) as file:
        return [
            (r.pos - 1, r.ref, r.alts, r.samples[sample]["GT"], r.samples[sample].phased, tuple(r.filter)) for r in file
        ]


def body(path) -> list[str]:
    with pysam.VariantFile(str(path)) as file:
        return list(map(str, file))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_alone_has_the_calls_of_its_vcf(trio, tmp_path, name):
    """The exception is a substitution opposite a deletion: what the VCF calls REF there is `*`."""
    output, _ = genotype(trio, tmp_path / "out.vcf", name)
    assert check_vcf(output, trio[0] / "ref.fa") == len(body(output))
    starred = [(902, SEQUENCE[902], (other(SEQUENCE[902]), "*"), (2, 1), True, ("PASS",))] * (name == "child")
    alone = records(trio[0] / f"{name}.vcf.gz")
    assert records(output) == [
        *(r for r in alone if r[0] < 902),
        *(starred or (r for r in alone if r[0] == 902)),
        *(r for r in alone if r[0] > 902),
    ]
    for mine, own in zip(body(output), body(trio[0] / f"{name}.vcf.gz"), strict=True):
        mine, own = mine.split("\t"), own.split("\t")
        if "*" in mine[4]:
            continue
        assert mine[8:] == own[8:]
        assert float(mine[5]) == pytest.approx(float(own[5]), abs=1)  # PLs are rounded
        facts = [[x for x in columns[7].split(";") if "QD=" not in x] for columns in (mine, own)]
        assert facts[0] == facts[1]


def test_a_trio(trio, tmp_path):
    output, metrics = genotype(trio, tmp_path / "trio.vcf.gz")
    bcftools("norm", "--check-ref", "e", "-f", str(trio[0] / "ref.fa"), str(output))
    assert len(body(output)) == metrics.counts["variants"]
    assert (tmp_path / "trio.vcf.gz.tbi").exists()
    with pysam.VariantFile(str(output)) as file:
        found = {(r.pos - 1, r.ref): r for r in file}
        assert list(file.header.samples) == list(SAMPLES)
    assert {(p, old) for haplotypes in SAMPLES.values() for own in haplotypes for p, old, _ in own} - set(found) <= {
        (2000, SEQUENCE[2000])  # REF is that of the deletion there
    }
    for (position, _), record in found.items():
        assert not set(record.filter.keys()) - {"PASS"}
        shown = [spelled(record, name) for name in SAMPLES]
        assert shown == [carried(name, position, record) for name in SAMPLES]
        father, mother, child = shown
        assert any(sorted((a, b)) == child for a in father for b in mother)
    assert found[902, SEQUENCE[902]].alts[-1] == "*"
    assert found[902, SEQUENCE[902]].info["AC"] == (2, 2)


def spelled(record, sample: str) -> list[str]:
    return sorted(record.alleles[a] for a in record.samples[sample]["GT"])


def carried(sample: str, position: int, record) -> list[str]:
    """The alleles that the sample was made with, in the record's spelling."""
    out = []
    for haplotype in SAMPLES[sample]:
        allele = record.ref
        for at, old, new in haplotype:
            if at == position and (len(old) == len(new)) == (max(map(len, record.alleles)) == 1):
                allele = new + record.ref[len(old) :]
            elif at < position < at + len(old):
                allele = "*"
        out.append(allele)
    return sorted(out)


def test_threads_windows_parts_and_kinds_of_files_do_not_matter(trio, tmp_path, monkeypatch):
    whole = body(genotype(trio, tmp_path / "whole.vcf", threads=3)[0])
    assert len(whole) > 8
    tight = WindowPlan(processes=0, in_flight=3, chunk=1 << 9, raw=2000, held=3000, work=1 << 20)
    for name, plan in (("reading", tight), ("genotyping", tight._replace(held=1 << 20, work=9000))):
        with monkeypatch.context() as patch:
            patch.setattr("readwarp.cohort.job.plan_windows", lambda *_, plan=plan: plan)
            genotype(trio, tmp_path / f"{name}.vcf", threads=1)
        assert (tmp_path / "whole.vcf").read_bytes() == (tmp_path / f"{name}.vcf").read_bytes()
    parts = []
    for i, (start, stop) in enumerate(((0, 901), (901, 903), (903, 2001), (2001, 4000))):
        part, _ = genotype(trio, tmp_path / f"{i}.vcf", regions=[("one", start, stop)])
        parts += body(part)
    assert parts == whole
    both = genotype(trio, tmp_path / "two.bcf", regions=[("one", 2500, 4000), ("one", 0, 1000)])[0]
    assert body(both) == [line for line in whole if not 1000 < int(line.split("\t")[1]) <= 2500]
    folder, reference, made = trio
    for name, path in made.items():
        (tmp_path / f"{name}.vcf").write_bytes(pysam.BGZFile(str(path)).read())
        bcftools("view", "-Ob", "-o", str(tmp_path / f"{name}.bcf"), str(path))
    for ending in ("vcf", "bcf"):
        inputs = [tmp_path / f"{name}.{ending}" for name in made]
        genotype_cohort(reference, inputs, tmp_path / "again.vcf", Resources(2))
        assert body(tmp_path / "again.vcf") == whole
    pysam.tabix_index(str(tmp_path / "child.bcf"), preset="bcf")
    indexed = (folder / "child.g.vcf.gz", tmp_path / "child.bcf")
    alone = []
    for path in indexed:
        genotype_cohort(reference, [path], tmp_path / "part.vcf", regions=[("one", 500, 2100)])
        alone.append(body(tmp_path / "part.vcf"))
    assert alone[0] == alone[1] and alone[0]


def test_memory_is_shared_out(tmp_path):
    """Between reading, windows in flight, and the sites of each worker; processes have memory of their own."""
    reference = Reference(("one",), np.array([0, 1 << 20]), ("",), np.zeros(1 << 19, np.uint8))
    for memory, files, threads in product((300 << 20, 1 << 30, 8 << 30), (1, 50, 300), (1, 4, 32)):
        plan = plan_windows(memory, reference, files, threads, most=threads)
        workers = plan.processes or threads
        planned = plan.raw + plan.work * workers + plan.processes * PROCESS + 3 * files * plan.chunk
        planned += plan.held * (plan.in_flight + 3 + plan.processes)
        assert min(plan.raw, plan.work, plan.held) > 1 << 16 and planned < memory - PROGRAM
    with pytest.raises(MemoryBudgetError, match=r"^--memory 200M is too small: 1,000 gVCFs and the reference need 4"):
        plan_windows(200 << 20, reference, 1000, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "threads"), [(".vcf", 1), (".vcf.gz", 5)])
def test_peaks_stay_within_memory(tmp_path, ending, threads):
    """Of gVCFs with a line for each base, of which a window of 131 kb would take half a gigabyte."""
    rng = random.Random(5)
    sequence = random_sequence(30_000, seed=8)
    write_fasta(tmp_path / "ref.fa", {"one": sequence})
    lines = []
    for at, base in enumerate(sequence):
        if at % 200:
            depth = rng.randint(20, 50)
            lines.append(block(at, at + 1, base, [0, 3 * depth, 30 * depth], depth))
        else:
            lines.append(variant(at, base, other(base), "0/1", [300, 0, 300, 330, 330, 600]))
    text = written(lines, "SAMPLE", {"one": len(sequence)})
    for number in range(80):
        path = tmp_path / f"{number}.g{ending}"
        content = text.replace("SAMPLE", f"s{number}").encode()
        path.write_bytes(bgzip(content) if ending.endswith("gz") else content)
    (tmp_path / "all.txt").write_text("".join(f"{tmp_path}/{number}.g{ending}\n" for number in range(80)))
    command = [*READWARP, "genotype", tmp_path / "ref.fa", f"@{tmp_path}/all.txt", "-o", tmp_path / "out.vcf"]
    code, peak, _ = watch([*command, "-q", "-t", threads, "--memory", "200M"])
    assert code == 0 and len(body(tmp_path / "out.vcf")) == 150 and peak < 200 << 20
    code, _, errors = watch([*command, "-f", "-t", threads, "--memory", "90M"])
    assert code == 5 and "80 gVCFs and the reference need" in errors


def test_open_files(monkeypatch):
    limits = []
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 128))
    monkeypatch.setattr("resource.setrlimit", lambda _, given: limits.append(given))
    allow_files(10, "join them")
    assert limits == []
    allow_files(50, "join them")
    assert limits == [(82, 128)]
    with pytest.raises(InputError, match="200 files need 232 to be open at once, but this system allows 128"):
        allow_files(200, "join them")


def test_many_targets_have_the_calls_of_a_whole_run(trio, tmp_path, monkeypatch):
    """Near targets are read together, far ones by jumps; the files may be opened for each read."""
    whole = body(genotype(trio, tmp_path / "whole.vcf")[0])
    rng, targets, at = random.Random(8), [], 0
    while at < 3900:
        at += rng.randint(1, 250)
        targets.append(("one", at, min(4000, at := at + rng.randint(1, 120))))
    targets += [("one", 902, 903), ("one", 2500, 2501)]
    wanted = [x for x in whole if any(a < int(x.split("\t")[1]) <= b for _, a, b in targets)]
    assert 1 < len(wanted) < len(whole)
    assert body(genotype(trio, tmp_path / "near.vcf", regions=targets)[0]) == wanted
    monkeypatch.setattr("readwarp.cohort.reading.GAP", 0)
    assert body(genotype(trio, tmp_path / "far.vcf", regions=targets)[0]) == wanted
    monkeypatch.setattr("resource.getrlimit", lambda _: (16, 16))
    assert body(genotype(trio, tmp_path / "closed.vcf", regions=targets)[0]) == wanted
    assert body(genotype(trio, tmp_path / "closed.vcf")[0]) == whole


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress, bgzip], ids=["plain", "gzip", "bgzf"])
def test_text_comes_in_whole_lines(tmp_path, size, pack):
    """However the file is packed, and with or without an end of its last line."""
    rng = random.Random(3)
    rows = [f"one\t{i}\t{'x' * rng.randint(0, 400)}" for i in range(2000)]
    for ending in ("\n", ""):
        (tmp_path / "a").write_bytes(pack(("##a\n#b\r\n" + "\n".join(rows) + ending).encode()))
        for stays_open in (True, False):
            text = LineText(tmp_path / "a", stays_open)
            assert text.begin(5) == b"##a\n#" and text.header() == ["##a", "#b"]
            parts = iter(lambda text=text: text.lines(size), b"")
            got = [part.decode() for part in parts]
            assert "".join(got) == "\n".join(rows) + ending
            assert all(part.endswith("\n") for part in got[:-1])
            text.close()
    (tmp_path / "a").write_bytes(pack(b"#only"))
    text = LineText(tmp_path / "a", True)
    assert text.header() == ["#only"]
    text.close()
