"""Damaged BAM given to commands: exit code 3, one line with file and record, and no output file."""

import pysam
import pytest

from helpers.alignment_bytes import MATE, MATE_POSITION, Bam, bgzf, tag
from helpers.command_samples import pairs, record, run_main

OUTPUTS = {"call": "o.vcf", "report": "o.html"}


@pytest.fixture(scope="module")
def aligned(tmp_path_factory, reference):
    """A BAM file as align writes it, and the same sorted and indexed."""
    folder = tmp_path_factory.mktemp("aligned")
    (folder / "i.fq").write_text("".join(record(name, bases) for name, *mates in pairs(30) for bases in mates))
    for name, *sorting in (("part.bam",), ("sorted.bam", "--sort", "coordinate", "--write-index")):
        assert run_main(["align", reference, "-p", folder / "i.fq", "-o", folder / name, *sorting, "-q"]) == 0
    return folder


@pytest.fixture
def refused(tmp_path, capfd):
    """Run a command, expect it to refuse, and return the message: nothing else is said, by no library either."""

    def refused(path, *arguments):
        before = set(tmp_path.iterdir())
        output = tmp_path / OUTPUTS.get(arguments[0], "o.cram" if "--reference" in arguments else "o.bam")
        assert run_main([*arguments, "-o", output, "-q"]) == 3
        said = capfd.readouterr().err
        assert said.startswith(f"readwarp: error: {path}: ") and said.count("\n") == 1, said
        assert set(tmp_path.iterdir()) == before
        return said.removeprefix(f"readwarp: error: {path}: ").strip()

    return refused


CHANGES = {
    "size": (lambda record: setattr(record, "size", 0x80000000), "damaged: its size is -2147483648 bytes"),
    "negative size": (lambda record: setattr(record, "size", -4), "damaged: its size is -4 bytes"),
    "quality": (lambda record: setattr(record, "qualities", b"\x5e" * 100), "a base quality is above 93"),
    "tag": (lambda record: setattr(record, "tags", record.tags + tag(b"XX", b"Z", b"a\tb")), "the text of a tag"),
}


@pytest.mark.parametrize("command", ["merge", "align"])
@pytest.mark.parametrize(("change", "says"), CHANGES.values(), ids=CHANGES)
def test_records(change, says, command, aligned, reference, refused, tmp_path):
    path, bam = tmp_path / "x.bam", Bam.read(aligned / "part.bam")
    change(bam.records[8])
    path.write_bytes(bgzf(bam.bytes()))
    said = refused(path, *(("merge", path) if command == "merge" else ("align", reference, path)))
    name = bam.records[8].name[:-1].decode()
    assert said.startswith((f"record 9: {says}", f"record {name}: {says}")), said


PLACE = "lies on a contig that the header does not have"
NO_INDEX = {  # samtools makes none of such a file
    **{f"mate {place}": ({"numbers": {MATE: place}}, PLACE) for place in (77, -5, (1 << 31) - 1, -(1 << 31))},
    "cigar": ({"cigar": (100 << 4 | 9).to_bytes(4, "little")}, "its CIGAR has an unknown operation"),
}
UNSOUND = {
    "mate position": ({"numbers": {MATE_POSITION: -77}}, PLACE),
    "quality": ({"qualities": b"\x7f" * 100}, "a base quality is above 93"),
    "name": ({"name": b"@CO\0"}, "its name"),
    "tag": ({"tags": tag(b"XX", b"Z", b"a\tb")}, "the text of a tag"),
}
CALLS = {
    "call": (),
    "bam-output": ("--bam-output", "realigned.bam"),
    "haplotag": ("--platform", "hifi", "--haplotag", "tagged.bam"),
}


@pytest.fixture
def unsound(aligned, tmp_path):
    """Write the sorted file with a record that is changed -> its path, and the name of the record."""

    def unsound(change):
        path, bam = tmp_path / "x.bam", Bam.read(aligned / "sorted.bam")
        record, parts = bam.records[8], dict(change)
        for number, value in parts.pop("numbers", {}).items():
            record.numbers[number] = value
        for part, value in parts.items():
            setattr(record, part, value)
        record.numbers[2] = len(record.name)
        path.write_bytes(bgzf(bam.bytes()))
        return path, record.name[:-1].decode()

    return unsound


@pytest.mark.parametrize("options", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("change", "says"), (NO_INDEX | UNSOUND).values(), ids=NO_INDEX | UNSOUND)
def test_call_refuses_what_merge_refuses(change, says, options, unsound, reference, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, name = unsound(change)
    said = refused(path, "call", reference, path, *options, "--device", "cpu")
    assert said.startswith(f"record {name} near one:") and says in said, said


@pytest.mark.parametrize(("change", "says"), UNSOUND.values(), ids=UNSOUND)
def test_haplotag_refuses_records_that_are_not_called(change, says, unsound, reference, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, _ = unsound(change)
    pysam.samtools.index(str(path))
    said = refused(path, "call", reference, path, *CALLS["haplotag"], "-r", "two", "--device", "cpu")
    assert said.startswith("record 9: ") and says in said, said


@pytest.mark.parametrize(("change", "says"), UNSOUND.values(), ids=UNSOUND)
def test_report_refuses_what_merge_refuses(change, says, unsound, refused):
    path, name = unsound(change)
    pysam.samtools.index(str(path))
    said = refused(path, "report", "--bam", path)
    assert said.startswith(f"record {name} near one:") and says in said, said


@pytest.mark.parametrize("command", ["merge", "align", "call"])
def test_headers(command, aligned, reference, refused, tmp_path):
    """htslib prints a traceback of its own where the first block is damaged."""
    path, data = tmp_path / "x.bam", bytearray((aligned / "sorted.bam").read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    refused(path, command, *(() if command == "merge" else (reference,)), path)


@pytest.mark.parametrize(
    "line", [b"@HD\tVN:1.6\n", b"@RG\tSM:x\n", b"@PG\tPN:x\n", b"@RG\tID:a\tCL:x\n", b"\n", b"\n@CO\tx\n"]
)
def test_header_lines(line, aligned, reference, refused, tmp_path):
    """Two @HD lines, lines without an ID, a command line of a read group, and blank lines, which htslib refuses."""
    path, bam = tmp_path / "x.bam", Bam.read(aligned / "sorted.bam")
    bam.text += line
    path.write_bytes(bgzf(bam.bytes()))
    refused(path, "call", reference, path)


def test_a_text_of_other_contigs(aligned, refused, tmp_path):
    path, bam = tmp_path / "x.bam", Bam.read(aligned / "part.bam")
    bam.contigs.reverse()
    path.write_bytes(bgzf(bam.bytes()))
    assert refused(path, "merge", path).startswith("damaged: the text of its header names other contigs")


def test_an_index_on_which_htslib_crashes(aligned, reference, refused, tmp_path):
    path = tmp_path / "x.bam"
    path.write_bytes((aligned / "sorted.bam").read_bytes())
    pysam.samtools.index(str(path))
    index = tmp_path / "x.bam.bai"
    data = bytearray(index.read_bytes())
    data[8:12] = b"\xff\xff\xff\x7f"  # bins of the first contig
    index.write_bytes(data)
    assert refused(index, "call", reference, path).startswith("damaged index")


def test_cram_of_another_reference(aligned, reference, refused, tmp_path):
    path, bam = tmp_path / "x.bam", Bam.read(aligned / "part.bam")
    place = bam.text.index(b"\tM5:") + 4
    bam.text = bam.text[:place] + b"0" * 32 + bam.text[place + 32 :]
    path.write_bytes(bgzf(bam.bytes()))
    assert refused(reference, "merge", path, "--reference", reference).startswith("is not the reference")
