"""--umi of align, merge and run: UMIs from each source, and the same molecules however the work is cut."""

import json
import random
from itertools import product

import pysam
import pytest

from helpers.command_samples import CONTIGS, record, run_main
from helpers.umi_oracle import expect
from helpers.umi_samples import copies_of, fastq_of
from readwarp.stream import parts

SORTED = ("--mark-duplicates", "--no-pg", "-q")


def write(folder, pairs, form):
    paths = []
    for mate, text in enumerate(fastq_of(pairs, form), 1):
        paths.append(folder / f"s_{mate}.fq")
        paths[-1].write_text(text)
    return paths


def molecules_in(path):
    """MI by the name without what is added to it; mates agree."""
    found = {}
    with pysam.AlignmentFile(str(path)) as file:
        for each in file:
            if each.has_tag("MI"):
                name = each.query_name.partition(":")[0]
                assert found.setdefault(name, each.get_tag("MI")) == each.get_tag("MI")
    return found


@pytest.fixture(scope="module")
def copies():
    return copies_of(12, 5, 3, unknown=0.02)


@pytest.fixture(scope="module")
def molecules(copies, reference, tmp_path_factory):
    """As the names of the reads tell them; checked."""
    folder = tmp_path_factory.mktemp("copies")
    reads = write(folder, copies, "name")
    assert run_main(["align", reference, *reads, "--umi", "name", "-o", folder / "x.bam", *SORTED]) == 0
    found = expect(folder / "x.bam", {"s": 0})
    assert molecules_in(folder / "x.bam") == {name.partition(":")[0]: mi for name, mi in found.molecules.items()}
    with pysam.AlignmentFile(folder / "x.bam") as file:
        assert {each.query_name for each in file if each.is_duplicate} == found.duplicates
    return molecules_in(folder / "x.bam")


@pytest.mark.parametrize(
    ("form", "umi"),
    [("underscore", "name"), ("comment", "comment"), ("bases", "8M10S+T,+T"), ("bases", "8M10S+T +T")],
)
def test_each_source_gives_the_same_molecules(form, umi, copies, molecules, reference, tmp_path):
    reads = write(tmp_path, copies, form)
    assert run_main(["align", reference, *reads, "--umi", umi, "-o", tmp_path / "x.bam", *SORTED]) == 0
    assert molecules_in(tmp_path / "x.bam") == molecules
    known = {pair.name: pair.umi for pair in copies}
    with pysam.AlignmentFile(tmp_path / "x.bam") as file:
        for each in file:
            assert each.get_tag("RX") == known[each.query_name.partition(":")[0]]
            assert form != "bases" or len(each.query_sequence) == 80
            assert each.has_tag("QX") == (form != "underscore")


def test_tags_of_unaligned_bam(copies, molecules, reference, tmp_path):
    reads = write(tmp_path, copies, "comment")
    assert run_main(["align", reference, *reads, "-C", "-o", tmp_path / "plain.bam", "--no-pg", "-q"]) == 0
    command = ["align", reference, tmp_path / "plain.bam", "--umi", "tag", "-o", tmp_path / "x.bam", *SORTED]
    assert run_main(command) == 0
    assert molecules_in(tmp_path / "x.bam") == molecules


def test_a_duplex_has_two_strands(reference, tmp_path):
    copies = copies_of(12, 5, 4, size=4, duplex=True)
    reads = write(tmp_path, copies, "bases")
    options = ("--umi", "4M10S+T,4M10S+T", "--umi-duplex", "--metrics", tmp_path / "m.json")
    assert run_main(["align", reference, *reads, *options, "-o", tmp_path / "x.bam", *SORTED]) == 0
    found = expect(tmp_path / "x.bam", {"s": 0}, duplex=True)
    assert molecules_in(tmp_path / "x.bam") == found.molecules
    both = {mi[:-1] for mi in found.molecules.values() if mi.endswith("/A")}
    assert len(both & {mi[:-1] for mi in found.molecules.values() if mi.endswith("/B")}) > 15
    metrics = json.loads((tmp_path / "m.json").read_text())
    assert metrics["family_sizes"] == {str(size): n for size, n in sorted(found.families.items())}
    counts = metrics["counts"]
    assert (counts["umis"], counts["umis_with_n"]) == (len(copies), 0)
    assert counts["molecules"] == found.families.total()


@pytest.fixture(scope="module")
def bytes_of_a_run(copies, reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    reads = write(folder, copies, "bases")
    command = ["align", reference, *reads, "--umi", "8M10S+T,+T", "-o", folder / "x.bam", *SORTED]
    assert run_main(command) == 0
    return (folder / "x.bam").read_bytes()


@pytest.mark.parametrize(("threads", "batch"), [(1, 1000), (3, 20_000)])
def test_threads_and_batches_change_nothing(threads, batch, bytes_of_a_run, copies, reference, tmp_path):
    reads = write(tmp_path, copies, "bases")
    command = ["align", reference, *reads, "--umi", "8M10S+T,+T", "-o", tmp_path / "x.bam", *SORTED]
    assert run_main([*command, "-t", threads, "--batch-bases", batch, "--resume"]) == 0
    assert (tmp_path / "x.bam").read_bytes() == bytes_of_a_run


def test_parts_merge_to_one_run(bytes_of_a_run, copies, reference, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 16)
    reads = write(tmp_path, copies, "bases")
    made = [tmp_path / f"part{i}.bam" for i in (1, 2)]
    for i, part in enumerate(made, 1):
        options = ("--umi", "8M10S+T,+T", "--part", f"{i}/2", "-o", part, "--no-pg", "-q", "--batch-bases", "5000")
        assert run_main(["align", reference, *reads, *options]) == 0
    assert run_main(["merge", *made, "--umi", "tag", "-o", tmp_path / "x.bam", *SORTED]) == 0
    assert (tmp_path / "x.bam").read_bytes() == bytes_of_a_run


def test_merge_refuses_records_without_umis(copies, reference, tmp_path, capsys):
    reads = write(tmp_path, copies, "underscore")
    assert run_main(["align", reference, *reads, "-o", tmp_path / "plain.bam", "-q"]) == 0
    assert run_main(["merge", tmp_path / "plain.bam", "--umi", "tag", "-o", tmp_path / "x.bam", *SORTED]) == 3
    assert "plain.bam: record 1: has no UMI in RX: was it aligned with --umi?" in capsys.readouterr().err
    assert not (tmp_path / "x.bam").exists()


def test_single_reads_and_lost_mates(reference, tmp_path):
    """Reads without a mapped mate have molecules too, and unmapped mates the same."""
    chance, texts = random.Random(77), ["", ""]
    strange = "".join(chance.choices("ACGT", k=60))
    for number, (start, umi) in enumerate(product((100, 900), ("ACGT", "ACGT", "ACGA", "TTTT"))):
        texts[0] += record(f"r{number}:1:{umi}", CONTIGS["one"][start : start + 60])
        texts[1] += record(f"r{number}:1:{umi}", strange)
    for mate, text in enumerate(texts, 1):
        (tmp_path / f"s_{mate}.fq").write_text(text)
    both = [tmp_path / "s_1.fq", tmp_path / "s_2.fq"]
    assert run_main(["align", reference, *both, "--umi", "name", "-o", tmp_path / "x.bam", *SORTED]) == 0
    names = [f"0:0:{start}:F1:{umi}" for start in (101, 901) for umi in ("ACGT", "ACGT", "ACGT", "TTTT")]
    assert molecules_in(tmp_path / "x.bam") == {f"r{number}": name for number, name in enumerate(names)}
    with pysam.AlignmentFile(tmp_path / "x.bam") as file:
        records = list(file)
    assert sum(each.is_duplicate for each in records) == 4
    assert all(each.has_tag("MI") for each in records) and len(records) == 16


def test_run_takes_umis(copies, reference, tmp_path, capsys):
    """Copies of amplicons are marked by molecule, where they would not be by their places."""
    reads = write(tmp_path, copies, "name")
    (tmp_path / "primers.bed").write_text("one\t0\t20\tp\t1\t+\n")
    command = ["run", reference, *reads, "--umi", "name", "-o", tmp_path / "out", "--no-report", "--device", "cpu"]
    assert run_main([*command, "--primers", tmp_path / "primers.bed"]) == 0
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["counts"]["molecules"] == len(set(molecules_in(tmp_path / "out" / "s.bam").values()))
    assert "molecules" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--umi", "nmae"), "not name, comment, tag or a read structure such as 8M12S+T (did you mean name?)"),
        (("--umi", "8M+T"), "--umi: pairs need two read structures, one for each mate, such as 8M+T,+T"),
        (("--umi", "tag"), "is not BAM or CRAM; for RX:Z: in the comments of FASTQ: --umi comment"),
        (("--umi-duplex",), "--umi-duplex needs --umi"),
        (("--umi", "name", "--umi-duplex"), "--umi-duplex needs --mark-duplicates"),
        (("--umi", "8M+T,+T", "--single"), "--umi: unpaired reads need one read structure"),
    ],
)
def test_options_that_do_not_go_together(options, reason, copies, reference, tmp_path, capsys):
    reads = write(tmp_path, copies[:2], "name")
    assert run_main(["align", reference, *reads, *options, "-o", tmp_path / "x.bam", "-q"]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x.bam").exists()


@pytest.mark.parametrize(
    ("umis", "options", "reason"),
    [
        (["AC", "AC", "ACG"], (), "s.fq: record 3: its UMI ACG has other lengths than the input's first, AC"),
        (["AC", "12"], (), "s.fq: record 2: its name does not end in a UMI (A, C, G, T or N after the last ':'"),
        (["AC"], ("--umi-duplex", "--mark-duplicates"), "s.fq: record 1: its UMI is AC, but --umi-duplex needs two"),
    ],
)
def test_bad_umis(umis, options, reason, reference, tmp_path, capsys):
    text = "".join(record(f"r{n}:{umi}", CONTIGS["one"][:80]) for n, umi in enumerate(umis))
    (tmp_path / "s.fq").write_text(text)
    command = ["align", reference, tmp_path / "s.fq", "--umi", "name", *options, "-o", tmp_path / "x.bam", "-q"]
    assert run_main(command) == 3
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x.bam").exists()


def test_files_of_bam_need_tags(reference, tmp_path, capsys):
    header = {"HD": {"VN": "1.6"}, "SQ": [{"SN": name, "LN": len(s)} for name, s in CONTIGS.items()]}
    with pysam.AlignmentFile(tmp_path / "u.bam", "wb", header=header) as file:
        for name, umi in (("a", "ACG"), ("b", None)):
            made = pysam.AlignedSegment(file.header)
            made.query_name, made.flag, made.query_sequence = name, 4, CONTIGS["one"][:60]
            made.set_tag("RX", umi)
            file.write(made)
    for umi, code, reason in (
        ("tag", 3, "u.bam: record b: has no UMI: no tag RX:Z:"),
        ("comment", 2, "u.bam is BAM, which has tags: --umi tag"),
        ("3M+T,+T", 3, "u.bam: record a: has no mate, but there are two read structures"),
    ):
        command = ["align", reference, tmp_path / "u.bam", "--umi", umi, "-o", tmp_path / "x.bam", "-q", "-f"]
        assert run_main(command) == code
        assert reason in capsys.readouterr().err
