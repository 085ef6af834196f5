"""Odd long reads are errors or handled: qualities, letters, one letter only, chimeras, MM that does not fit, mates."""

import random
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from helpers.align_oracle import random_bases, reverse_complement
from helpers.seeding import write_fasta
from readwarp.cli import main

ONE = random_bases(60_000, 81)
TWO = random_bases(30_000, 82) + "A" * 3000 + random_bases(20_000, 83)
UNIT = random_bases(171, 84)
PRESETS = "hifi", "ont", "asm", "auto"


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> Path:
    return write_fasta(tmp_path_factory.mktemp("odd") / "ref.fa", [ONE, TWO, UNIT * 300])


def aligned(reference: Path, tmp_path: Path, text: str, *options: str) -> list[pysam.AlignedSegment]:
    (tmp_path / "r.fq").write_text(text)
    command = ["align", str(reference), str(tmp_path / "r.fq"), "-o", str(tmp_path / "o.sam"), "-f", "-q"]
    assert main([*command, *options]) == 0
    with pysam.AlignmentFile(str(tmp_path / "o.sam")) as file:
        return list(file)


def fastq(name: str, bases: str, quality: str = "I") -> str:
    return f"@{name}\n{bases}\n+\n{quality * len(bases)}\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_qualities_letters_and_no_bases(reference, tmp_path, preset):
    """The lowest quality, U and small letters align as ever, IUPAC letters are mismatches; each read comes out once."""
    bases, holes = ONE[1000:9000], list(ONE[1000:9000])
    for place in range(400, 8000, 800):
        holes[place] = "RYSWKMBDHVN"[place // 800]
    reads = {
        "lowest": fastq("lowest", bases, "!"),
        "empty": fastq("empty", ""),
        "small": fastq("small", bases.lower()),
        "rna": fastq("rna", bases.replace("T", "U")),
        "holes": fastq("holes", "".join(holes)),
        "unknown": fastq("unknown", "N" * 8000),
        "last": fastq("last", bases, "~"),
    }
    records = aligned(reference, tmp_path, "".join(reads.values()), "--preset", preset)
    assert [record.query_name for record in records] == list(reads)
    for record in records:
        if record.query_name in ("empty", "unknown"):
            assert record.flag == 4 and record.mapping_quality == 0
            continue
        assert (record.flag, record.reference_name, record.reference_start) == (0, "c0", 1000)
        assert (record.cigarstring, record.mapping_quality) == ("8000M", 60)
        assert record.get_tag("NM") == (10 if record.query_name == "holes" else 0)
        if record.query_name in ("lowest", "small", "rna", "last"):
            assert record.query_sequence == bases
    assert set(records[0].query_qualities) == {0} and set(records[-1].query_qualities) == {93}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_chimera_of_two_contigs(reference, tmp_path, preset):
    read = ONE[20_000:27_000] + reverse_complement(TWO[1000:5000])
    whole, part = aligned(reference, tmp_path, fastq("r", read), "--preset", preset)
    assert (whole.flag, whole.reference_name, whole.reference_start) == (0, "c0", 20_000)
    assert (part.flag, part.reference_name) == (2064, "c1") and abs(part.reference_start - 1000) < 8
    for record, length in ((whole, 7000), (part, 4000)):  # bases at the break may be alike by chance
        assert abs(record.query_alignment_length - length) < 8 and record.infer_read_length() == 11_000
    assert whole.mapping_quality == part.mapping_quality == 60
    assert whole.get_tag("SA").startswith(f"c1,{part.reference_start + 1},-")
    assert part.get_tag("SA").startswith("c0,20001,+")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("@r\nACGT*ACGT\n+\nIIIIIIIII\n", "record 1: "),
        (f"@r\n{ONE[:6000]}\n+\n{'I' * 5999}\n", "record 1: quality has 5,999 letters, sequence 6,000"),
        (f"@r\n{ONE[:6000]}\n+\n{'I' * 5999}\x1f\n", "record 1: "),
        (f"@r\n{ONE[:6000]}\n", "record 1: "),
    ],
)
def test_bad_records_are_named(reference, tmp_path, capfd, record, reason):
    (tmp_path / "r.fq").write_text(record)
    out = tmp_path / "o.bam"
    assert main(["align", str(reference), str(tmp_path / "r.fq"), "-o", str(out), "-q", "--preset", "hifi"]) == 3
    said = capfd.readouterr().err.strip()
    assert said.startswith(f"readwarp: error: {tmp_path / 'r.fq'}: {reason}") and "\n" not in said
    assert not out.exists()


@pytest.mark.parametrize("preset", ["hifi", "standard"])
@pytest.mark.parametrize("paired", [False, True])
def test_a_long_mate_of_a_short_one(reference, tmp_path, paired, preset):
    """Each is placed by itself, whichever comes first."""
    long, short = ONE[3000:9000], reverse_complement(ONE[9500:9700])
    text = "".join(map(fastq, "rrss", (long, short, short, long)))
    records = aligned(reference, tmp_path, text, "--preset", preset, "--interleaved" if paired else "--single")
    flags = [0x61, 0x91, 0x51, 0xA1] if paired else [0, 16, 16, 0]
    assert [(r.flag, r.reference_start, r.cigarstring) for r in records] == [
        (flags[0], 3000, "6000M"),
        (flags[1], 9500, "200M"),
        (flags[2], 9500, "200M"),
        (flags[3], 3000, "6000M"),
    ]
    assert [r.template_length for r in records] == ([6700, -6700, -6700, 6700] if paired else [0] * 4)
    assert all(r.mapping_quality == 60 for r in records)


MODIFICATIONS = {  # MM and ML of the read CCACGT..., and whether they fit
    "fits": ("C+m,0,1;", [200, 100]),
    "beyond": ("C+m,999999;", [200]),
    "ML short": ("C+m,0,1;", [200]),
    "no end": ("C+m,0,1", [200, 100]),
    "words": ("what is this", [1]),
    "empty": ("", []),
}


@pytest.mark.parametrize("kind", MODIFICATIONS)
@pytest.mark.parametrize("output", ["o.sam", "o.bam", "o.cram"])
def test_modifications_that_do_not_fit(reference, tmp_path, capfd, kind, output):
    """They are passed on as they are: readwarp does not know better; or one line says what is wrong."""
    bases, (text, likelihoods) = ONE[500:6500], MODIFICATIONS[kind]
    with pysam.AlignmentFile(str(tmp_path / "r.bam"), "wb", header={"HD": {"VN": "1.6"}}) as file:
        for name, letters in (("plus", bases), ("minus", reverse_complement(bases))):
            read = pysam.AlignedSegment(file.header)
            read.query_name, read.flag, read.query_sequence = name, 4, letters
            read.query_qualities = pysam.qualitystring_to_array("I" * len(letters))
            read.set_tag("MM", text, "Z")
            if likelihoods:
                read.set_tag("ML", likelihoods)
            file.write(read)
    files = [str(reference), str(tmp_path / "r.bam"), "-o", str(tmp_path / output), "-q", "--preset", "hifi"]
    assert main(["align", *files]) == 0
    assert capfd.readouterr().err == ""
    with pysam.AlignmentFile(str(tmp_path / output), reference_filename=str(reference)) as file:
        records = list(file)
    assert [(r.query_name, r.flag, r.cigarstring) for r in records] == [("plus", 0, "6000M"), ("minus", 16, "6000M")]
    assert [r.get_tag("MM") for r in records] == [text, text]
    assert [list(r.get_tag("ML")) if r.has_tag("ML") else [] for r in records] == [likelihoods] * 2


MEASURED = """
import resource, sys
from readwarp.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.parametrize("preset", ["hifi", "ont"])
def test_memory_of_repeats_and_of_large_contigs_is_bounded(reference, tmp_path, preset):
    """A read of 2 Mb of one letter, one of a tandem repeat that the reference has too, and 3 Mb that are new."""
    rng = random.Random(2)
    tandem = "".join(rng.choice("ACGT") if rng.random() < 0.02 else base for base in UNIT * 1000)
    (tmp_path / "r.fa").write_text(
        f">a\n{'A' * 2_000_000}\n>b\n{tandem}\n>c\n{random_bases(3_000_000, 8)}\n>d\n{ONE}\n"
    )
    (tmp_path / "none.fa").write_text(">e\n\n")

    def peak(name: str) -> int:
        """KiB of one worker."""
        files = [str(reference), str(tmp_path / name), "-o", str(tmp_path / "o.sam"), "-f", "-q"]
        command = [sys.executable, "-c", MEASURED, "align", *files, "--preset", preset, "-t", "1", "--device", "cpu"]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])

    least, most = peak("none.fa"), peak("r.fa")
    with pysam.AlignmentFile(str(tmp_path / "o.sam")) as file:
        places = {record.query_name: record.reference_start for record in file if not record.flag & 0x904}
    assert places["d"] == 0 and "c" not in places
    assert most - least < 300 << 10
