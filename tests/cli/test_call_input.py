"""Bad and odd input to call: exit code 3, a line with file, position and reason, no output, inputs unchanged."""

import shutil
import sys
from contextlib import closing
from pathlib import Path

import pysam
import pytest

from helpers.blocks import compress_block
from helpers.command_samples import CONTIGS, fasta, letters, run_main
from readwarp.formats.alignments import samtools
from readwarp.formats.common.bgzf import EOF_BLOCK
from readwarp.formats.common.qualities import TOO_LOW

LENGTHS = {name: len(sequence) for name, sequence in CONTIGS.items()}
SNV = 3000  # 0-based, homozygous in contig `one`


def other(base: str) -> str:
    return {"A": "G", "C": "T", "G": "A", "T": "C"}[base]


def write_bam(path: Path, *, mode: str = "wb", reference: Path | None = None, order=sorted, **header: object) -> Path:
    """Reads of 100 bases, every 10 bases of contig `one`, indexed if possible; `header` replaces the usual lines."""
    lines = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": k} for n, k in LENGTHS.items()]}
    bases = CONTIGS["one"][:SNV] + other(CONTIGS["one"][SNV]) + CONTIGS["one"][SNV + 1 :]
    starts = list(range(0, len(bases) - 100, 10))
    fasta_name = str(reference) if reference else None
    with pysam.AlignmentFile(str(path), mode, header=lines | header, reference_filename=fasta_name) as out:
        for start in order(starts):
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.flag, read.mapping_quality = f"r{start}", 16 * (start // 10 % 2), 60
            read.reference_id, read.reference_start, read.cigarstring = 0, start, "100M"
            read.query_sequence = bases[start : start + 100]
            read.query_qualities = pysam.qualitystring_to_array("I" * 100)
            out.write(read)
    if order is sorted and mode != "w":
        pysam.index(str(path))
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> tuple[Path, Path]:
    """A reference, and alignments that fit it."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    return folder / "ref.fa", write_bam(folder / "made.bam")


@pytest.fixture
def refused(plain, tmp_path, capsys):
    """Run call, expect it to refuse, and return the message."""

    def refused(alignments: object, *options: object, ref: object = plain[0], code: int = 3) -> str:
        output = tmp_path / "out.vcf.gz"
        before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        asked = () if "-o" in options else ("-o", output)
        assert run_main(["call", ref, alignments, *asked, "-q", "-t", "2", "--device", "cpu", *options]) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("readwarp: error: ") and said.err.count("\n") == 1, said.err
        assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
        return said.err.removeprefix("readwarp: error: ").strip()

    return refused


@pytest.fixture
def called(plain, tmp_path, capsys):
    """Run call, expect success, and return the header's samples, the positions (0-based) and stderr."""

    def called(alignments: object, *options: object, ref: object = plain[0]) -> tuple[list[str], list[int], str]:
        output = tmp_path / "out.vcf.gz"
        assert run_main(["call", ref, alignments, "-o", output, "-f", "-q", "--device", "cpu", *options]) == 0
        with pysam.VariantFile(str(output)) as file:
            return list(file.header.samples), [record.start for record in file], capsys.readouterr().err

    return called


def copied(bam: Path, folder: Path, change=lambda data: data) -> Path:
    """A changed copy of the file, with its index, under another name."""
    path = folder / "x.bam"
    path.write_bytes(change(bam.read_bytes()))
    shutil.copy(f"{bam}.bai", f"{path}.bai")
    return path


# files that are broken


@pytest.mark.parametrize("keep", [-28, -29, 0.5, 100])
def test_truncated(keep, plain, refused, tmp_path):
    path = copied(plain[1], tmp_path, lambda data: data[: int(keep * len(data)) if keep == 0.5 else keep])
    said = refused(path)
    assert said.startswith(f"{path}: ") and "truncated" in said


def test_damaged_block(plain, refused, tmp_path):
    def change(data: bytes) -> bytes:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]

    path = copied(plain[1], tmp_path, change)
    assert refused(path).startswith(f"{path}: damaged block at byte ")


@pytest.mark.parametrize("content", [b"", b"\n", b"@r\nACGT\n+\nIIII\n", bytes(1000), b"BAM\x01" + bytes(100)])
def test_no_alignments(content, refused, write):
    path = write("x.bam", content)
    assert refused(path).startswith(f"{path}: is neither BAM nor CRAM")


def test_sam_file(refused, tmp_path):
    path = write_bam(tmp_path / "x.sam", mode="w")
    assert refused(path) == f"{path}: is neither BAM nor CRAM (SAM is read from stdin only: `-`)"


def test_unaligned_bam(refused, test_data):
    path = test_data / "odd" / "sarscov2_unaligned.bam"
    assert refused(path).startswith(f"{path}: ")


def test_duplicate_contigs_in_the_header(refused, write):
    text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:6000\n@SQ\tSN:one\tLN:6000\n"
    binary = b"".join(len(b"one\0").to_bytes(4, "little") + b"one\0" + (6000).to_bytes(4, "little") for _ in range(2))
    header = b"BAM\x01" + len(text).to_bytes(4, "little") + text.encode() + (2).to_bytes(4, "little") + binary
    path = write("x.bam", compress_block(header) + EOF_BLOCK)
    assert refused(path).startswith(f"{path}: ")


def test_duplicate_contigs_in_the_reference(plain, refused, write):
    ref = write("x.fa", ">one\nACGT\n>one\nACGT\n")
    assert refused(plain[1], ref=ref) == f"{ref}: record one: this name occurs twice"


# index and order


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--circular", "ones"), "--circular ones: no contig 'ones' in the reference, which has 'one'"),
        (("--circular", "one", "--ignore-soft-clips"), "--circular and --ignore-soft-clips cannot be combined: "),
        (("--circular", "one", "--bam-output", "x.bam"), "--circular and --bam-output cannot be combined"),
        (("--circular", "one", "--sv", "x.vcf"), "--circular and --sv cannot be combined"),
        (("--circular", "one", "--sv-only"), "--circular and --sv-only cannot be combined"),
        (("--circular", "one", "--platform", "hifi"), "--circular supports short reads only ("),
    ],
)
def test_circles_that_cannot_be(plain, refused, options, reason):
    assert refused(plain[1], *options, code=2).startswith(reason)


def test_a_circle_that_is_too_short(refused, tmp_path):
    contigs = {"one": CONTIGS["one"], "tiny": CONTIGS["one"][:499]}
    (tmp_path / "ref.fa").write_text(fasta(contigs))
    bam = write_bam(tmp_path / "x.bam", SQ=[{"SN": name, "LN": len(text)} for name, text in contigs.items()])
    said = refused(bam, "--circular", "tiny", ref=tmp_path / "ref.fa", code=2)
    assert said.startswith("--circular tiny: the contig has 499 bases, fewer than the minimum of 500")


def test_no_index(plain, refused, tmp_path):
    path = copied(plain[1], tmp_path)
    Path(f"{path}.bai").unlink()
    assert refused(path, "-r", "one") == f"{path}: has no index (make one with `samtools index`)"


def test_bam_without_an_index_is_read_through_if_no_region_is_asked_for(plain, tmp_path, capsys):
    path = copied(plain[1], tmp_path)
    Path(f"{path}.bai").unlink()
    for file, name in ((plain[1], "with.vcf"), (path, "without.vcf")):
        assert run_main(["call", plain[0], file, "-o", tmp_path / name, "--device", "cpu"]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "has no index" in line]
    assert said == [f"readwarp: {path} has no index: scanning the whole file first (samtools index avoids this)"]
    ours, others = ((tmp_path / name).read_text().splitlines() for name in ("with.vcf", "without.vcf"))
    calls = [line for line in ours if line[0] != "#"]
    assert calls and calls == [line for line in others if line[0] != "#"]


def test_bam_without_an_index_that_is_not_sorted_or_damaged(plain, refused, tmp_path):
    path = write_bam(tmp_path / "x.bam", order=lambda starts: [*starts[:9], starts[10], starts[9], *starts[11:]])
    assert refused(path) == f"{path}: record near one:101: reads are not sorted by position"
    data = plain[1].read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :])
    assert refused(path).startswith(f"{path}: damaged block ")


def test_broken_index(plain, refused, tmp_path):
    path = copied(plain[1], tmp_path)
    Path(f"{path}.bai").write_bytes(Path(f"{path}.bai").read_bytes()[:50])
    assert refused(path).startswith(f"{path}.bai: damaged index (")


def test_index_of_another_file(refused, tmp_path):
    path = write_bam(tmp_path / "x.bam")
    old = Path(f"{path}.bai").read_bytes()
    write_bam(path, RG=[{"ID": "longer", "SM": "header"}])
    Path(f"{path}.bai").write_bytes(old)
    says = f"{path}.bai: does not belong to {path}, or is outdated or damaged: make it again"
    assert refused(path) == f"{says} (`samtools index {path}`)"


@pytest.mark.parametrize("order", ["unsorted", "queryname"])
def test_header_says_unsorted(order, refused, tmp_path):
    path = write_bam(tmp_path / "x.bam", HD={"VN": "1.6", "SO": order})
    assert refused(path) == f"{path}: is not sorted by coordinate; run `samtools sort` first"


def test_header_lies(refused, plain, tmp_path):
    def swapped(starts: list[int]) -> list[int]:
        return [*starts[:100], starts[101], starts[100], *starts[102:]]

    path = write_bam(tmp_path / "x.bam", order=swapped, mode="wb0")
    sorted_one = write_bam(tmp_path / "y.bam", mode="wb0")
    shutil.copy(f"{sorted_one}.bai", f"{path}.bai")
    assert refused(path) == f"{path}: record near one:1011: reads are not sorted by position"
    assert refused_stream(path, refused) == "stdin: record near one:1011: reads are not sorted by position"


# qualities


def raised(bam: Path, folder: Path, by: int) -> Path:
    """A copy whose base qualities are higher, each 2, 12 or 40 before."""
    path = folder / str(by) / "raised.bam"
    path.parent.mkdir(exist_ok=True)
    with pysam.AlignmentFile(str(bam)) as file, pysam.AlignmentFile(str(path), "wb", template=file) as out:
        for number, read in enumerate(file):
            read.query_qualities = [(2, 12, 40)[(number + i) % 17 % 3] + by for i in range(read.query_length)]
            out.write(read)
    pysam.index(str(path))
    return path


def test_phred_64_is_an_error_that_names_the_option(plain, refused, called, tmp_path):
    path = raised(plain[1], tmp_path, 31)
    said = refused(path)
    assert said.startswith(f"{path}: its base qualities are 33 to 71 as Phred+33, so they are Phred+64: give --phred64")
    meant = called(raised(plain[1], tmp_path, 0))
    body = (tmp_path / "out.vcf.gz").read_bytes()
    assert called(path, "--phred64") == meant and meant[1] == [SNV]
    assert len((tmp_path / "out.vcf.gz").read_bytes()) == pytest.approx(len(body), abs=40)  # command lines differ
    assert called(path, "--phred33")[1] == [SNV]
    (tmp_path / "out.vcf.gz").unlink()
    (tmp_path / "out.vcf.gz.tbi").unlink()
    low = raised(plain[1], tmp_path, 0)
    assert refused(low, "--phred64") == f"{low}: record near one:1: {TOO_LOW}"
    assert refused(low, "--phred64", "--phred33", code=2) == "--phred33 and --phred64 cannot be combined"


# reference


def test_other_names(plain, refused, tmp_path):
    ref = tmp_path / "other.fa"
    ref.write_text(fasta({"chrone": CONTIGS["one"]}))
    said = refused(plain[1], ref=ref)
    assert said.startswith(f"{plain[1]}: none of its contigs ('one', ") and "which has 'chrone'" in said
    assert """or rename: `samtools reheader -c "sed 's/SN:/SN:chr/'"`""" in said
    ref.write_text(fasta({"chrone": CONTIGS["one"], "two": CONTIGS["two"]}))
    assert refused(plain[1], ref=ref) == f"{plain[1]}: has reads on contig 'one', which the reference calls 'chrone'"


def test_other_length(plain, refused, tmp_path):
    ref = tmp_path / "other.fa"
    ref.write_text(fasta({**CONTIGS, "two": letters(2999, 1)}))
    assert refused(plain[1], ref=ref) == f"{plain[1]}: its contig 'two' has 3000 bases, in the reference 2999"


def test_other_sequence(refused, tmp_path):
    path = write_bam(tmp_path / "x.bam", SQ=[{"SN": "one", "LN": 6000, "M5": "0" * 32}])
    assert refused(path) == f"{path}: its contig 'one' has another sequence (M5) than in the reference"


@pytest.mark.parametrize("has_md5", [True, False])
def test_cram_of_another_reference(has_md5, plain, refused, tmp_path):
    path, ref = tmp_path / "x.cram", tmp_path / "other.fa"
    write_bam(path, mode="wc", reference=plain[0])
    ref.write_text(fasta({name: letters(k, 77) for name, k in LENGTHS.items()}))
    if not has_md5:
        header = tmp_path / "header.sam"
        header.write_text("".join(f"@SQ\tSN:{name}\tLN:{k}\n" for name, k in LENGTHS.items()))
        command = ("reheader", "-P", str(header), str(path))
        with open(f"{path}.new", "wb") as out, closing(samtools.ToolProcess("samtools", *command, stdout=out)) as child:
            assert child.wait() == 0
        Path(f"{path}.new").replace(path)
        pysam.index(str(path))
    said = refused(path, ref=ref)
    reason = "its contig 'one' has another sequence (M5)" if has_md5 else "record near one:1: cannot be decoded"
    assert said.startswith(f"{path}: {reason}")


def test_cram_without_index_or_reference(plain, refused, tmp_path):
    path = write_bam(tmp_path / "x.cram", mode="wc", reference=plain[0])
    assert refused(path, ref=tmp_path / "no.fa") == f"{tmp_path / 'no.fa'}: no such file or directory"
    Path(f"{path}.crai").unlink()
    assert refused(path) == f"{path}: has no index (make one with `samtools index`)"


def test_truncated_cram(plain, refused, tmp_path):
    path = write_bam(tmp_path / "x.cram", mode="wc", reference=plain[0])
    path.write_bytes(path.read_bytes()[:-60])
    assert refused(path).startswith(f"{path}: ")


# what is asked for


@pytest.mark.parametrize(
    ("region", "says"),
    [
        ("three", "three: no contig 'three' in the reference, which has 'one', 'two'"),
        ("three:1-5", "three:1-5: no contig 'three' in the reference, which has 'one', 'two'"),
        ("one:x", "one:x: a region is NAME, NAME:FROM or NAME:FROM-TO"),
        ("one:9,000", "one:9,000: empty or outside the contig, which has 6000 bases"),
        ("one:20-10", "one:20-10: empty or outside the contig, which has 6000 bases"),
    ],
)
def test_unknown_region(region, says, plain, refused):
    assert refused(plain[1], "-r", region) == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("three\t1\t2", "record 2: no contig 'three' in the reference, which has 'one', 'two'"),
        ("one\t1", "record 2: expected columns contig, start and end"),
        ("one\t9\t5", "record 2: ends before it starts, or lies outside 'one'"),
    ],
)
def test_broken_targets(line, says, plain, refused, write):
    path = write("x.bed", f"one\t1\t50\n{line}\n")
    assert refused(plain[1], "-L", path) == f"{path}: {says}"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("-L", "no such file, and no contig"),
        ("--exclude-regions", "no such file, and no contig"),
        ("--alleles", "no such file or directory"),
        ("--ploidy-bed", "no such file or directory"),
    ],
)
def test_files_that_are_not_there(option, says, plain, refused, tmp_path):
    assert refused(plain[1], option, tmp_path / "no").startswith(f"{tmp_path / 'no'}: {says}")


VCF = "##fileformat=VCFv4.2\n##contig=<ID={name}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{name}\t{line}\n"


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("one", f"101\t.\t{other(CONTIGS['one'][100])}\t{CONTIGS['one'][100]}\t.\t.\t.", "record 1: "),
        ("one", "9000\t.\tA\tC\t.\t.\t.", "record 1: "),
        ("three", "5\t.\tA\tC\t.\t.\t.", "record 1: no contig 'three' in the reference, which has 'one', 'two'"),
        ("one", "x\ty", ""),
    ],
)
def test_alleles_that_do_not_fit(name, line, says, plain, refused, write):
    path = write("x.vcf", VCF.format(name=name, line=line))
    assert refused(plain[1], "--alleles", path).startswith(f"{path}: {says}")


@pytest.mark.parametrize("line", ["one\t1\t5", "one\t1\t5\t101", "one\t1\t5\tX", "three\t1\t5\t1", "one\t1\t5\t1\tx"])
def test_broken_ploidies(line, plain, refused, write):
    path = write("x.bed", f"one\t10\t20\t1\n{line}\n")
    assert refused(plain[1], "--ploidy-bed", path).startswith(f"{path}: record 2: ")


def test_unknown_sample(plain, refused, tmp_path):
    assert refused(plain[1], "--sample", "s") == f"{plain[1]}: no read group of sample 's' (there are: made)"
    path = write_bam(tmp_path / "x.bam", RG=[{"ID": "1", "SM": "s"}, {"ID": "2", "SM": "t"}])
    assert refused(path, "--sample", "S") == f"{path}: no read group of sample 'S' (there are: s, t)"


def test_options_that_do_not_go_together(plain, refused, tmp_path, write):
    vcf = write("x.vcf", "")
    assert refused(plain[1], "--gvcf", "--alleles", vcf, code=2).startswith("--gvcf and --alleles cannot be combined")
    path = write_bam(tmp_path / "x.bam", RG=[{"ID": "1", "SM": "s"}, {"ID": "2", "SM": "t"}])
    assert refused(path, "--gvcf", code=2) == "--gvcf takes one sample; choose it with --sample: s, t"


def test_outputs_that_cannot_be(plain, refused, tmp_path, write):
    there = write("there.vcf", "precious")
    assert refused(plain[1], "-o", there, code=2) == f"{there}: already exists (use --force to replace it)"
    assert refused(plain[1], "-o", plain[1], "-f", code=2) == f"{plain[1]}: is an input too"
    assert refused(plain[1], "--alleles", there, "-o", there, "-f", code=2) == f"{there}: is an input too"
    no = tmp_path / "no" / "x.vcf"
    assert refused(plain[1], "-o", no, code=2) == f"{no}: there is no folder {no.parent}"
    assert refused("-", "-o", tmp_path / "x.txt", code=2).endswith("must end in .vcf, .vcf.gz or .bcf")


# streams


def refused_stream(path: object, refused, *options: object, **others: object) -> str:
    """The message about a file that comes through stdin."""
    before = sys.stdin
    with open(str(path), "rb") as sys.stdin:
        said = refused("-", *options, **others)
    sys.stdin = before
    return said


def test_broken_streams(plain, refused, tmp_path, write):
    assert refused_stream(write("empty", b""), refused) == "stdin: is empty"
    assert refused_stream(write("text", b"text\n"), refused).startswith("stdin: cannot be read as BAM, CRAM or SAM")
    cut = write("cut.bam", plain[1].read_bytes()[:-1000])
    assert refused_stream(cut, refused) == "stdin: truncated: no BGZF EOF marker"


def test_a_cram_stream_of_another_build(plain, refused, tmp_path, write):
    cram = write_bam(tmp_path / "x.cram", mode="wc", reference=plain[0])
    ref = tmp_path / "longer.fa"
    ref.write_text(fasta({**CONTIGS, "one": CONTIGS["one"] + "ACGT"}))
    assert refused_stream(cram, refused, ref=ref) == "stdin: its contig 'one' has 6000 bases, in the reference 6004"
    assert refused_stream(write("cut.cram", cram.read_bytes()[:60]), refused) == "stdin: cannot be read as CRAM"


def test_no_stdin(refused, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("-") == "stdin: is closed"


# odd, and fine


def test_no_read_group(plain, called):
    assert called(plain[1]) == (["made"], [SNV], "")


def test_stream(plain, called, monkeypatch):
    with plain[1].open("rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert called("-") == (["stdin"], [SNV], "")


def test_reads_without_a_sample_are_said(called, tmp_path):
    path = write_bam(tmp_path / "x.bam", RG=[{"ID": "1", "SM": "s"}, {"ID": "2", "SM": "t"}])
    samples, positions, said = called(path)
    assert (samples, positions) == (["s", "t"], [])
    assert said == "readwarp: 590 reads left out: no read group in the header names their sample\n"


def test_ploidy_of_a_part(plain, called, write, tmp_path):
    path = write("x.bed", f"one\t{SNV}\t{SNV + 1}\t3\n")
    called(plain[1], "--ploidy-bed", path)
    with pysam.VariantFile(str(tmp_path / "out.vcf.gz")) as file:
        assert [record.samples[0]["GT"] for record in file] == [(1, 1, 1)]


def test_zero_coverage(called, tmp_path):
    path = tmp_path / "none.bam"
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": k} for n, k in LENGTHS.items()]}
    pysam.AlignmentFile(str(path), "wb", header=header).close()
    pysam.index(str(path))
    assert called(path) == (["none"], [], "")


def test_empty_targets(plain, called, write):
    path = write("x.bed", "# nothing\n")
    assert called(plain[1], "-L", path) == (["made"], [], f"readwarp: {path} has no intervals: nothing is called\n")


def test_all_is_excluded(plain, called, write):
    path = write("x.bed", "one\t10\t20\n")
    said = "readwarp: --exclude-regions covers all targets: nothing is called\n"
    assert called(plain[1], "-L", path, "--exclude-regions", "one") == (["made"], [], said)


def test_targets_and_regions_together(plain, called, write):
    path = write("x.bed", "one\t2990\t3010\n")
    assert called(plain[1], "-L", path, "-r", "two:5-")[1] == [SNV]
    assert called(plain[1], "-r", f"one:{SNV + 2:,}-")[1] == []
    assert called(plain[1], "-r", f"one:{SNV + 1:,}")[1] == [SNV]
