"""run: from reads to alignments, variants and a summary."""

import json
import shutil
import subprocess
import sys

import pysam
import pytest

from helpers.command_samples import CONTIGS, pairs, record, reverse_complement, run_main

RESULTS = ["metrics.json", "x.bam", "x.bam.bai", "x.vcf.gz", "x.vcf.gz.tbi"]
REPORTED = [
    *("igv_session.xml", "report.html", "x.depth.bedgraph"),
    *(f"x.{name}.txt" for name in ("depth", "flagstat", "idxstats", "stats", "vcf.stats")),
    "x.readwarp_mqc.json",
    "x.readwarp_phases_mqc.json",
]
ALLELES = """##fileformat=VCFv4.2
##contig=<ID=three,length=9>
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO
three	5	.	A	C	.	.	.
"""


OF_PAIRS = "properly paired", "heterozygous", "genotype", "0/1", "1/1"  # and of genotypes


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Pairs at 40x from contig `one` with a homozygous SNV at 3000 (0-based) and a heterozygous deletion at 4000."""
    folder = tmp_path_factory.mktemp("sample")
    letters = CONTIGS["one"]
    changed = letters[:3000] + {"A": "G", "C": "T", "G": "A", "T": "C"}[letters[3000]] + letters[3001:]
    haplotypes = (changed, changed[:4001] + changed[4004:])
    texts: list[list[str]] = [[], []]
    for number in range(1200):
        haplotype = haplotypes[number % 2]
        start = number * 7919 % (len(haplotype) - 300)
        fragment = haplotype[start : start + 300]
        texts[0].append(record(f"f{number}", fragment[:100]))
        texts[1].append(record(f"f{number}", reverse_complement(fragment)[:100]))
    paths = [folder / f"x_{mate}.fq" for mate in (1, 2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text("".join(text))
    return paths


def test_run(reference, sample, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "new" / "results"
    assert run_main(["run", reference, *sample, "-o", folder, "-t", "2"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted([*RESULTS, *REPORTED])
    with pysam.AlignmentFile(str(folder / "x.bam")) as file:
        assert file.count(until_eof=True) == 2400
    with pysam.VariantFile(str(folder / "x.vcf.gz")) as file:
        calls = [(c.pos - 1, len(c.ref), len(c.alts[0]), c.samples[0]["GT"]) for c in file]
    assert calls[0] == (3000, 1, 1, (1, 1))
    assert [(ref, alt, genotype) for _, ref, alt, genotype in calls[1:]] == [(4, 1, (0, 1))]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["counts"]["reads"] == 2400 and metrics["counts"]["snvs"] == metrics["counts"]["indels"] == 1
    assert list(metrics["phase_seconds"]) == ["start", "align", "sort", "call", "statistics"]
    assert sum(metrics["phase_seconds"].values()) <= metrics["wall_seconds"]
    assert metrics["counts"]["dp_cells"] > 0 and metrics["peak_memory_bytes"] > 1 << 20
    assert metrics["versions"]["pysam"] == pysam.__version__ and metrics["command"].startswith("readwarp run")
    out = capfd.readouterr().out
    for part in ("2,400", "100.00 %", "one:3,001", "1/1", "0/1", str(folder / "x.vcf.gz")):
        assert part in out


def test_run_refuses_results_that_exist(reference, sample, tmp_path, capsys):
    (tmp_path / "x.vcf.gz").write_text("precious")
    assert run_main(["run", reference, *sample, "-o", tmp_path]) == 2
    assert "x.vcf.gz: already exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["x.vcf.gz"]


@pytest.mark.parametrize("name", ["out.bam", "out.vcf.gz"])
def test_run_writes_no_folder_called_like_a_file(name, reference, sample, tmp_path, capsys):
    assert run_main(["run", reference, *sample, "-o", tmp_path / name]) == 2
    assert f"{tmp_path / name}: -o names the folder for the results" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_summary_of_targets_and_of_haploid_genomes(reference, sample, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def said(name: str, *options: str) -> str:
        assert run_main(["run", reference, *sample, "-o", tmp_path / name, "--no-report", *options]) == 0
        return capfd.readouterr().out

    whole, part = said("whole"), said("part", "-r", "one:2,500-4,500", "--ploidy", "1")
    assert "per base of the reference" in whole and "heterozygous" in whole
    assert "per base of the targets" in part and "heterozygous" not in part


def test_the_summary_of_mixtures_and_of_single_reads(reference, sample, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    options = ["-o", tmp_path / "mixed", "--no-report", "--mixture"]
    assert run_main(["run", reference, sample[0], *options]) == 0
    out = capfd.readouterr().out
    assert "fraction" in out and "100.00 %" in out
    assert not [text for text in OF_PAIRS if text in out]


def test_insert_sizes_name_their_input_where_there_are_several(reference, sample, tmp_path, capfd):
    options = ["--sample", "s", "-o", tmp_path / "o.sam", "-f"]
    assert run_main(["align", reference, *sample, *options]) == 0
    assert "insert size 300 ±" in capfd.readouterr().err
    again = [path.with_name(f"y_{path.name}") for path in sample]
    for path, copy in zip(sample, again, strict=True):
        copy.write_bytes(path.read_bytes())
    assert run_main(["align", reference, *sample, *again, *options]) == 0
    err = capfd.readouterr().err
    assert "insert size of x_1.fq 300 ±" in err and "insert size of y_x_1.fq 300 ±" in err


def test_a_read_group_without_a_sample_is_warned_of(reference, sample, tmp_path, capfd):
    def warned(*options: str) -> bool:
        command = ["align", reference, *sample, "-R", r"@RG\tID:a", "-o", tmp_path / "o.sam", "-f", *options]
        assert run_main(command) == 0
        return "--read-group has no SM" in capfd.readouterr().err

    assert warned() and not warned("--sample", "s")


def test_run_leaves_nothing_after_bad_input(reference, tmp_path, capsys):
    reads = tmp_path / "bad.fq"
    reads.write_text("".join(record(n, a) for n, a, _ in pairs(10)) + "@b\nACGT\n+\nIII\n")
    assert run_main(["run", reference, reads, "-o", tmp_path / "out", "-q"]) == 3
    assert "record 11: quality has 3 letters" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_run_takes_one_sample(reference, sample, tmp_path, capsys):
    again = [shutil.copy(path, tmp_path / f"again_{mate}.fq") for mate, path in enumerate(sample, 1)]
    groups = [r"@RG\tID:a\tSM:s", r"@RG\tID:b\tSM:t"]
    options = [word for group in groups for word in ("-R", group)]
    assert run_main(["run", reference, *sample, *again, *options, "-o", tmp_path / "out"]) == 2
    assert "not of s, t (if these are one, give --sample NAME)" in capsys.readouterr().err


def test_unknown_region_is_refused_before_any_work(reference, sample, tmp_path, capsys):
    assert run_main(["run", reference, *sample, "-o", tmp_path / "out", "-r", "three", "-q"]) == 3
    assert "three" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_statistics_are_those_of_samtools(reference, sample, tmp_path):
    """The reads include an unmapped one, one with an unmapped mate, mates on two contigs, and a pair twice."""
    one, two = CONTIGS["one"], CONTIGS["two"]
    strange = [
        ("nowhere", "GTCA" * 25, "AACCGTTT" * 12),
        ("alone", one[500:600], "AACCGTTT" * 12),
        ("apart", one[900:1000], reverse_complement(two[200:300])),
        *((f"twice{n}", one[1500:1600], reverse_complement(one[1700:1800])) for n in (1, 2)),
    ]
    reads = [tmp_path / f"s_{mate}.fq" for mate in (1, 2)]
    for mate, path in enumerate(reads):
        usual = sample[mate].read_text()
        path.write_text(usual + "".join(record(mates[0], mates[1 + mate]) for mates in strange))
    assert run_main(["run", reference, *reads, "-o", tmp_path / "out", "-q"]) == 0
    ask = "import sys, pysam; print(pysam.flagstat('-O', 'json', sys.argv[1]))"  # in a process of its own
    bam = str(tmp_path / "out" / "s.bam")
    said = subprocess.run([sys.executable, "-c", ask, bam], check=True, capture_output=True).stdout
    theirs = {key: value for key, value in json.loads(said)["QC-passed reads"].items() if "%" not in key}
    ours = json.loads((tmp_path / "out" / "metrics.json").read_text())["flagstat"]
    assert ours == theirs
    assert all(ours[key] for key in ("duplicates", "singletons", "with mate mapped to a different chr"))
    assert ours["total"] > ours["mapped"]


def test_nothing_of_an_earlier_run_stays_beside_new_alignments(reference, sample, tmp_path, monkeypatch):
    """Variants of other alignments would be taken for those of the new ones."""
    for name in ("x.vcf.gz", "x.vcf.gz.tbi", "metrics.json", "other.txt"):
        (tmp_path / name).write_text("old")

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("readwarp.caller.job.call_variants", fail)
    assert run_main(["run", reference, *sample, "-o", tmp_path, "-q", "--force"]) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt", "x.bam", "x.bam.bai"]


def test_targets_and_ploidy(reference, sample, tmp_path):
    """Only the deletion is in the targets; of four copies, two have it."""
    bed = tmp_path / "targets.bed"
    bed.write_text("one\t3500\t4500\n")
    options = ["-L", bed, "--ploidy", "4", "-o", tmp_path / "out", "-q"]
    assert run_main(["run", reference, *sample, *options]) == 0
    with pysam.VariantFile(str(tmp_path / "out" / "x.vcf.gz")) as file:
        assert [(c.pos, c.samples[0]["GT"]) for c in file] == [(4001, (0, 0, 1, 1))]


@pytest.mark.parametrize(
    ("option", "text", "reason"),
    [
        ("--ploidy-bed", "one\t0\t100\tmany\n", "record 1"),
        ("--ploidy-bed", "one\t0\t100\t1\tx\none\t0\t100\t1\ty\n", "record 2: no sample 'y' in the alignments"),
        ("--targets", "three\t0\t100\n", "three"),
        ("--alleles", ALLELES, "three"),
        ("--somatic --population", ALLELES, "bgzip did not compress it"),
        ("--somatic --panel-of-normals", ALLELES, "bgzip did not compress it"),
    ],
)
def test_bad_files_are_refused_before_any_work(reference, sample, tmp_path, capsys, option, text, reason):
    given = tmp_path / "given"
    given.write_text(text)
    assert run_main(["run", reference, *sample, *option.split(), given, "-o", tmp_path / "out", "-q"]) == 3
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_gvcf(reference, sample, tmp_path, capfd):
    """The file has a gVCF's name and reference blocks, which are not counted as variants."""
    assert run_main(["run", reference, *sample, "--gvcf", "-o", tmp_path / "out"]) == 0
    with pysam.VariantFile(str(tmp_path / "out" / "x.g.vcf.gz")) as file:
        alleles = [call.alts for call in file]
    assert ("<NON_REF>",) in alleles and len([alts for alts in alleles if len(alts) > 1]) >= 2
    counts = json.loads((tmp_path / "out" / "metrics.json").read_text())["counts"]
    assert counts["snvs"] == counts["indels"] == 1
    shown = capfd.readouterr().out
    assert "one:3,001" in shown and "NON_REF" not in shown
