"""`readwarp consensus` on the command line, and its reads through `readwarp align`."""

import random

import pysam
import pytest

from helpers.alignment_bytes import Bam, bgzf
from helpers.command_samples import run_main

LENGTH = 1200


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """A reference, and pairs of both strands of one molecule, the last with an error, in BAM and CRAM."""
    folder = tmp_path_factory.mktemp("panel")
    sequence = "".join(random.Random(4).choices("ACGT", k=LENGTH))
    (folder / "ref.fa").write_text(f">c\n{sequence}\n")
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": "c", "LN": LENGTH}],
        "RG": [{"ID": "l", "SM": "s"}],
    }
    with pysam.AlignmentFile(str(folder / "in.bam"), "wb", header=header) as file:
        for is_right in (False, True):
            for number, strand in enumerate("AAABBB"):
                at = 600 if is_right else 400
                record = pysam.AlignedSegment(file.header)
                record.query_name, record.reference_id, record.reference_start = f"p{number}", 0, at
                record.flag = (16 if is_right else 32) | 1 | (64 if is_right == (strand == "B") else 128)
                record.next_reference_id, record.next_reference_start = 0, 1000 - at
                record.cigarstring, bases = "100M", sequence[at : at + 100]
                record.query_sequence = ("A" if bases[0] != "A" else "C") + bases[1:] if number == 5 else bases
                record.query_qualities = [30] * 100
                record.set_tags([("MI", f"7/{strand}", "Z"), ("RX", "AC-GT" if strand == "A" else "GT-AC", "Z")])
                file.write(record)
    pysam.samtools.view(
        "-C", "-T", str(folder / "ref.fa"), "-o", str(folder / "in.cram"), str(folder / "in.bam"), catch_stdout=False
    )
    return folder, sequence


def test_lines(panel, capfdbinary):
    """Golden: two reads of six, whose first column has 6 reads, one of them with another base."""
    folder, sequence = panel
    command = ["consensus", folder / "in.bam", "--duplex", "--no-output-per-base-tags", "--no-pg", "-q", "-o", "-"]
    assert run_main(command) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[:2] == ["@HD\tVN:1.6\tSO:unsorted\tGO:query", "@RG\tID:A\tSM:s"]
    name, flag, *_, bases, qualities = lines[2].split("\t")[:11]
    assert (name, flag, bases, qualities) == ("l:7", "77", sequence[400:500], "o" + "{" * 99)  # 45 + 33
    tags = dict(tag.rsplit(":", 1) for tag in lines[2].split("\t")[11:])
    assert {key: tags[key] for key in ("MI:Z", "RX:Z", "cD:i", "aD:i", "bM:i", "aE:f")} == {
        "MI:Z": "7",
        "RX:Z": "AC-GT",
        "cD:i": "6",
        "aD:i": "3",
        "bM:i": "3",
        "aE:f": "0",
    }
    assert float(tags["cE:f"]) == pytest.approx(1 / 600, rel=1e-5) and float(tags["bE:f"]) == pytest.approx(
        1 / 300, rel=1e-5
    )


def test_cram_gives_the_same(panel, tmp_path):
    folder, _ = panel
    for kind in ("bam", "cram"):
        given = ["--reference", folder / "ref.fa", "--no-pg", "-q"]
        assert run_main(["consensus", folder / f"in.{kind}", "-o", tmp_path / f"{kind}.bam", *given]) == 0
    told = []
    for kind in ("bam", "cram"):  # whose headers differ in the @PG of what has written the CRAM file
        with pysam.AlignmentFile(str(tmp_path / f"{kind}.bam"), check_sq=False) as file:
            told.append([record.to_string() for record in file])
    assert told[0] == told[1] and len(told[0]) == 4


@pytest.mark.parametrize(("name", "options"), [("c.bam", ()), ("c.fq.gz", ("-p", "-C")), ("c.fq", ("-p", "-C"))])
def test_align_takes_them_with_their_tags(panel, tmp_path, name, options):
    folder, _ = panel
    assert run_main(["consensus", folder / "in.bam", "--duplex", "-o", tmp_path / name, "-q"]) == 0
    out = tmp_path / "out.bam"
    assert run_main(["align", folder / "ref.fa", tmp_path / name, *options, "-o", out, "-q", "--device", "cpu"]) == 0
    with pysam.AlignmentFile(str(out), check_sq=False) as file:
        records = list(file)
    assert [record.reference_start for record in records] == [400, 600]
    assert all(
        (r.get_tag("MI"), r.get_tag("RX"), r.get_tag("cD"), r.cigarstring) == ("7", "AC-GT", 6, "100M") for r in records
    )
    assert all(record.is_proper_pair for record in records)


def test_a_library_whose_name_reads_cannot_have(panel, tmp_path):
    """A name that begins with @ would make a line of SAM one of the header."""
    bam = Bam.read(panel[0] / "in.bam")
    bam.text = bam.text.replace(b"ID:l", "ID:l\tLB:@C O\u00e9@".encode())
    (tmp_path / "x.bam").write_bytes(bgzf(bam.bytes()))
    assert run_main(["consensus", tmp_path / "x.bam", "--duplex", "-o", tmp_path / "o.bam", "-q"]) == 0
    with pysam.AlignmentFile(str(tmp_path / "o.bam"), check_sq=False) as file:
        assert {record.query_name for record in file} == {"_C_O__.l:7"}


def test_bad_input(panel, tmp_path, capfd):
    folder, _ = panel
    out = tmp_path / "out.bam"

    def refused(code, said, *arguments):
        assert run_main(["consensus", *arguments]) == code
        assert said in capfd.readouterr().err and not out.exists()

    (tmp_path / "x.fq").write_text("@r\nACGT\n+\nIIII\n")
    refused(3, "x.fq: is neither BAM nor CRAM", tmp_path / "x.fq", "-o", out)
    refused(2, "needs an output file: name it with -o", folder / "in.bam")
    refused(2, "--max-no-calls must be 0 to 1", folder / "in.bam", "-o", out, "--max-no-calls", "2")
    refused(2, "in.bam: is an input too", folder / "in.bam", "-f", "-o", folder / "in.bam")
    whole = (folder / "in.bam").read_bytes()
    (tmp_path / "cut.bam").write_bytes(whole[: len(whole) // 2])
    refused(3, "cut.bam: truncated", tmp_path / "cut.bam", "-o", out)
    out.write_bytes(b"")
    assert run_main(["consensus", folder / "in.bam", "-o", out]) == 2


def test_counts_are_said(panel, tmp_path, capfd):
    assert run_main(["consensus", panel[0] / "in.bam", "-o", tmp_path / "o.bam", "--duplex", "-t", "1"]) == 0
    assert "2 consensus reads from 12 reads of 1 molecule; 0 molecules yielded no consensus" in capfd.readouterr().err
