"""Each command ends with what it wrote and with the next step, on stderr; nothing of it with --quiet or on stdout."""

import shlex

import pysam
import pytest

from helpers.command_samples import CONTIGS, letters, record, reverse_complement, run_main


@pytest.fixture
def ended(capfd):
    """Run a command -> the lines about what it wrote and what comes next."""

    def ended(*arguments: object) -> list[str]:
        assert run_main(arguments) == 0
        said = capfd.readouterr().err.splitlines()
        return [
            line.removeprefix("readwarp: ") for line in said if line.startswith(("readwarp: wrote", "readwarp: next"))
        ]

    return ended


def test_align(reference, mates, tmp_path, ended):
    path = tmp_path / "two words.bam"
    wrote, step = ended("align", reference, *mates, "-o", path, "--write-index")
    assert wrote == f"wrote {path} (and .bai)"
    assert step == "next: " + shlex.join(
        ["readwarp", "call", str(reference), str(path), "-o", f"{path.with_suffix('.vcf.gz')}"]
    )
    assert ended(*shlex.split(step)[2:])[0] == f"wrote {path.with_suffix('.vcf.gz')} (and .tbi)"


def test_names_that_look_like_options(reference, mates, tmp_path, ended, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options, name in ((["--write-index"], "-s.vcf.gz"), ([], "-s.sorted.bam")):
        _, step = ended("align", reference, *mates, "--output=-s.bam", *options, "-f")
        words = shlex.split(step.removesuffix(" sorts it"))
        assert "./-s.bam" in words
        assert ended(*words[2:])[0].startswith(f"wrote {name} ")


def test_align_without_sorting(reference, mates, tmp_path, ended):
    """The step that is named sorts."""
    path = tmp_path / "o.bam"
    wrote, step = ended("align", reference, *mates, "-o", path)
    assert wrote == f"wrote {path}" and step.endswith(" sorts it")
    wrote, _ = ended(*shlex.split(step)[2:-2])
    assert wrote == f"wrote {tmp_path / 'o.sorted.bam'} (and .bai)"
    with pysam.AlignmentFile(str(tmp_path / "o.sorted.bam")) as file:
        assert file.header["HD"]["SO"] == "coordinate"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--umi name --mark-duplicates", "readwarp consensus o.bam -o o.consensus.bam"),
        ("--umi name --umi-duplex --mark-duplicates", "readwarp consensus o.bam --duplex -o o.consensus.bam"),
        ("--umi name", "readwarp merge o.bam -o o.sorted.bam --mark-duplicates --umi tag --write-index sorts it"),
    ],
)
def test_molecules_become_consensus_reads(options, words, reference, tmp_path, ended, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mate in (1, 2):
        (tmp_path / f"{mate}.fq").write_text(record("r:ACGT-ACGT", letters(100, mate)))
    assert ended("align", reference, "1.fq", "2.fq", "-o", "o.bam", *options.split())[1] == f"next: {words}"


def test_consensus_reads_are_not_marked_as_duplicates(reference, tmp_path, ended, monkeypatch):
    """Each is of a molecule of its own; the step for their alignments works, and looks for low fractions."""
    monkeypatch.chdir(tmp_path)
    for mate, sequence in ((1, CONTIGS["one"][:100]), (2, reverse_complement(CONTIGS["one"][200:300]))):
        names = "r1:ACGT", "r2:ACGT", "r3:GGTT"
        (tmp_path / f"{mate}.fq").write_text("".join(record(name, sequence) for name in names))
    ended("align", reference, "1.fq", "2.fq", "-o", "o.bam", "--umi", "name", "--mark-duplicates")
    ended("consensus", "o.bam", "-o", "c.bam")
    step = ended("align", reference, "c.bam", "-o", "u.bam")[1]
    assert step == "next: readwarp merge u.bam -o u.sorted.bam --write-index sorts it"
    step = ended(*shlex.split(step)[2:-2])[1]
    assert step.startswith("next: readwarp call REF u.sorted.bam -o u.sorted.vcf.gz (low allele fractions: ")
    step = ended("align", reference, "c.bam", "-o", "p.bam", "--part", "1/2")[1]
    assert step == "next: when all parts are there: readwarp merge PARTS -o sample.bam --write-index"


def test_reads_with_umis_in_tags(reference, tmp_path, ended, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.fq").write_text(record("r RX:Z:ACGT", CONTIGS["one"][:100]))
    assert "--mark-duplicates --umi tag " in ended("align", "-C", reference, "u.fq", "-o", "o.bam")[1]


def test_long_reads_are_not_marked_as_duplicates(reference, tmp_path, ended, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "l.fq").write_text(record("r", CONTIGS["one"][:3000]))
    step = ended("align", reference, "l.fq", "-o", "o.bam", "-x", "map-ont")[1]
    assert step == "next: readwarp merge o.bam -o o.sorted.bam --write-index sorts it"
    assert "--mark" not in ended("align", reference, "l.fq", "-o", "p.bam", "-x", "asm", "--part", "1/2")[1]
    assert "--mark" not in ended("merge", "o.bam", "-o", "m.bam")[1]


def test_a_header_that_pysam_cannot_take_apart(tmp_path, ended):
    """The output is complete by then."""
    header = pysam.AlignmentHeader.from_text("@HD\tVN:1.6\tGO:query\n@SQ\tSN:c\tLN:9\n@RG\tID:r\tSM:s\tPL:ONT\tCL:x\n")
    pysam.AlignmentFile(tmp_path / "x.bam", "wb", header=header).close()
    step = ended("merge", tmp_path / "x.bam", "-o", tmp_path / "o.bam")[1]
    assert step.endswith("o.sorted.bam --write-index sorts it")


def test_a_part(reference, mates, tmp_path, ended):
    assert "readwarp merge PARTS" in ended("align", reference, *mates, "-o", tmp_path / "p.bam", "--part", "1/2")[1]


def test_nothing_is_said_of_a_stream_or_with_quiet(reference, mates, tmp_path, ended):
    assert ended("align", reference, *mates) == []
    assert ended("align", reference, *mates, "-o", tmp_path / "o.bam", "-q") == []


def test_run_and_report(reference, mates, tmp_path, ended):
    folder = tmp_path / "out"
    wrote, step = ended("run", reference, *mates, "-o", folder)
    assert f"{folder / 's.bam'}, {folder / 's.vcf.gz'}, " in wrote and wrote.endswith("(and .bai, .tbi)")
    assert step == f"next: open {folder / 'report.html'} in a browser"
    assert ended("report", folder, "-f") == [f"wrote {folder / 'report.html'}", "next: open it in a browser"]


def test_genomes_of_a_cohort(reference, mates, tmp_path, ended):
    folder = tmp_path / "out"
    _, step = ended("run", reference, *mates, "-o", folder, "--gvcf", "--no-report")
    assert step.startswith(f"next: readwarp genotype {reference} {folder / 's.g.vcf.gz'} ")
    cohort = tmp_path / "cohort.vcf.gz"
    wrote, step = ended("genotype", reference, folder / "s.g.vcf.gz", "-o", cohort)
    assert wrote == f"wrote {cohort} (and .tbi)" and step.startswith(f"next: bcftools view -f PASS {cohort} ")


def test_index_and_pairwise(reference, tmp_path, ended):
    path = tmp_path / "x.rwx"
    assert ended("index", reference, "-o", path)[0] == f"wrote {path}"
    queries = tmp_path / "q.fa"
    queries.write_text(">q\nACGT\n")
    assert ended("pairwise", queries, queries, "-o", tmp_path / "o.tsv") == [f"wrote {tmp_path / 'o.tsv'}"]
    assert ended("pairwise", queries, queries, "-o", tmp_path / "o.tsv", "-f", "-q") == []


def test_reads_of_another_species(reference, tmp_path, capfd):
    path = tmp_path / "x.fq"
    path.write_text("".join(record(f"r{i}", letters(100, 1000 + i)) for i in range(50)))
    assert run_main(["align", reference, path, "-o", tmp_path / "o.bam", "-q"]) == 0
    said = capfd.readouterr().err
    assert said.startswith(
        "readwarp: only 0.00 % of the reads are mapped to the reference, which has 2 contigs and 9,000 bases"
    )
    assert said.count("\n") == 1


def test_duplicates_of_amplicons(reference, mates, tmp_path, capfd):
    """Fragments that begin alike: said by run, and by call of the file that it made."""
    pairs = [[*path.read_text().splitlines()[:4]] for path in mates]
    reads = []
    for number, (_, bases, plus, qualities) in enumerate(pairs, 1):
        path = tmp_path / f"a_{number}.fq"
        path.write_text("".join(f"@r{i}\n{bases}\n{plus}\n{qualities}\n" for i in range(800)))
        reads.append(path)
    assert run_main(["run", reference, *reads, "-o", tmp_path / "out", "-q", "--no-report"]) == 0
    said = capfd.readouterr().err
    assert (
        "99.88 % of the mapped reads are marked as duplicates" in said
        and "--primers BED or --no-mark-duplicates" in said
    )
    assert run_main(["call", reference, tmp_path / "out" / "a.bam", "-o", tmp_path / "o.vcf", "-q"]) == 0
    assert "a.bam: 998 of its first 1,000 reads are marked as duplicates" in capfd.readouterr().err
    assert (
        run_main(["run", reference, *reads, "-o", tmp_path / "not", "-q", "--no-report", "--no-mark-duplicates"]) == 0
    )
    assert "duplicates" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("header", "options", "advice"),
    [
        ("A:1:C:1:11:{i}:5:GGATTTGT+CGTGACGT", [], "read names end in what look like UMIs: add --umi name"),
        ("r{i}_ACGTAC", [], "read names end in what look like UMIs: add --umi name"),
        ("r{i} RX:Z:ACGT-AAAA", ["-C"], "reads have RX tags: add --umi tag"),
        ("r{i} RX:Z:ACGT\tcD:i:3", ["-C"], "these are consensus reads, each of one molecule: do not mark them"),
        ("r{i}:ACG", [], "for amplicons, whose reads start alike, do not mark them"),
    ],
)
def test_duplicates_that_umis_would_tell_apart(header, options, advice, reference, mates, tmp_path, capfd):
    reads = []
    for number, path in enumerate(mates, 1):
        _, bases, plus, qualities = path.read_text().splitlines()[:4]
        reads.append(tmp_path / f"a_{number}.fq")
        reads[-1].write_text("".join(f"@{header.format(i=i)}\n{bases}\n{plus}\n{qualities}\n" for i in range(800)))
    command = ["align", reference, *reads, *options, "--mark-duplicates", "-o", tmp_path / "a.bam", "-q"]
    assert run_main(command) == 0
    assert f"marked as duplicates, which are not used for calling: {advice}" in capfd.readouterr().err


def test_duplicates_of_molecules_are_no_surprise(reference, mates, tmp_path, capfd):
    """Copies of molecules, which have MI, are as many as there are: nobody is told to unmark them."""
    reads = []
    for number, path in enumerate(mates, 1):
        _, bases, plus, qualities = path.read_text().splitlines()[:4]
        reads.append(tmp_path / f"a_{number}.fq")
        reads[-1].write_text("".join(f"@r{i}:ACGTAC\n{bases}\n{plus}\n{qualities}\n" for i in range(800)))
    bam = tmp_path / "a.bam"
    command = [
        "align",
        reference,
        *reads,
        "--umi",
        "name",
        "--sort",
        "coordinate",
        "--mark-duplicates",
        "-o",
        bam,
        "-q",
    ]
    assert run_main([*command, "--write-index"]) == 0
    capfd.readouterr()
    assert run_main(["call", reference, bam, "-o", tmp_path / "o.vcf", "-q"]) == 0
    assert capfd.readouterr().err == ""
    consensus = tmp_path / "c.bam"
    assert run_main(["consensus", bam, "-o", consensus, "-q"]) == 0
    again = [reference, consensus, "-o", tmp_path / "d.bam", "-q", "--write-index"]
    assert run_main(["align", *again]) == 0
    capfd.readouterr()
    for path, warns in ((bam, True), (tmp_path / "d.bam", False)):
        assert run_main(["call", reference, path, "--mixture", "-o", tmp_path / "m.vcf", "-q", "-f"]) == 0
        said = f"{path}: its reads have molecules (MI) but are not consensus reads" in capfd.readouterr().err
        assert said == warns
