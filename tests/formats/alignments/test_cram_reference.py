"""CRAM files are decoded with the sequences that their M5s name, wherever these are."""

import gzip
import hashlib
import random
from contextlib import closing
from pathlib import Path

import pysam
import pytest

from helpers.batch_samples import samtools
from readwarp.errors import InputError
from readwarp.formats.alignments.cram import header_of
from readwarp.formats.alignments.cram_reference import find_reference
from readwarp.formats.alignments.regions import AlignedReader
from readwarp.formats.alignments.samtools import ToolProcess
from readwarp.formats.reads.bam import read_records

LENGTH, READ = 600, 50
NAMES = "one", "two", "three"


def sequence(seed):
    return "".join(random.Random(seed).choices("ACGT", k=LENGTH))


OLD = {name: sequence(name) for name in NAMES}
NEW = {name: sequence(name[::-1]) for name in NAMES}  # of the same names and lengths


def write_fasta(path, contigs, opener=open):
    with opener(path, "wt") as file:
        file.writelines(f">{name}\n{letters}\n" for name, letters in contigs.items())
    return str(path)


@pytest.fixture(autouse=True)
def no_folders(monkeypatch):
    for name in ("REF_CACHE", "REF_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Reads as CRAM of several forms, written with the file away.fa, which is gone afterwards, and new.fa."""
    folder, rng = tmp_path_factory.mktemp("cram"), random.Random(5)
    away = write_fasta(folder / "away.fa", OLD)
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": name, "LN": LENGTH} for name in NAMES]}
    with pysam.AlignmentFile(str(folder / "a.bam"), "wb", header=header) as out:
        for contig, name in enumerate(NAMES):
            for number, place in enumerate(sorted(rng.choices(range(LENGTH - READ), k=20))):
                read = pysam.AlignedSegment(out.header)
                read.query_name, read.reference_id, read.reference_start = f"{name}{number}", contig, place
                read.cigarstring, read.query_sequence = f"{READ}M", OLD[name][place : place + READ]
                read.query_qualities = [30] * READ
                out.write(read)
    forms = {
        "sorted": [],
        "several": ["--output-fmt-option", "multi_seq_per_slice=1"],  # contigs in a slice, which has no M5
        "embedded": ["--output-fmt-option", "embed_ref=1"],
        "consensus": ["--output-fmt-option", "embed_ref=2"],
        "without": ["--output-fmt-option", "no_ref=1"],
    }
    for name, options in forms.items():
        samtools("view", "-C", "-T", away, *options, "-o", folder / f"{name}.cram", folder / "a.bam")
    Path(away).unlink()
    Path(f"{away}.fai").unlink()
    write_fasta(folder / "new.fa", NEW)
    return folder


@pytest.fixture(scope="module")
def wanted(made):
    with pysam.AlignmentFile(str(made / "a.bam")) as file:
        return [(read.query_name, read.query_sequence) for read in file]


def decoded(path, *references):
    """Names and bases of all records."""
    out = []
    for piece in read_records(Path(path), references):
        for start, stop in zip(piece.offsets[:-1], piece.offsets[1:], strict=True):
            data = piece.data[start:stop].tobytes()
            size, count = data[12], int.from_bytes(data[16:18], "little")
            at = 36 + size + 4 * count
            packed = data[at : at + READ // 2]
            bases = "".join("=ACMGRSVTWYHKDBN"[codes >> shift & 15] for codes in packed for shift in (4, 0))
            out.append((data[36 : 35 + size].decode(), bases))
    return out


def keep_sums(folder, contigs, pattern="%s"):
    """A folder as REF_CACHE has it."""
    for letters in contigs.values():
        sums = hashlib.md5(letters.encode()).hexdigest()
        path = folder / sums if pattern == "%s" else folder / sums[:2] / sums[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(letters)
    return f"{folder}/{pattern}"


def with_origin(source, path, origin):
    """The CRAM file with this UR."""
    lines = [line.split("\tUR:")[0] for line in header_of(source).splitlines()]
    text = path.with_suffix(".sam")
    text.write_text("".join(f"{line}\tUR:{origin}\n" if line[:3] == "@SQ" else f"{line}\n" for line in lines))
    with (
        path.open("wb") as out,
        closing(ToolProcess("samtools", "reheader", "-P", str(text), str(source), stdout=out)) as child,
    ):
        assert child.wait() == 0
    return path


@pytest.mark.parametrize("form", ["sorted", "several"])
def test_another_build_gives_no_bases(made, form):
    """Of slices with several contigs, htslib would make bases of the other build."""
    with pytest.raises(InputError) as caught:
        decoded(made / f"{form}.cram", str(made / "new.fa"))
    sums = hashlib.md5(OLD["one"].encode()).hexdigest()
    assert caught.value.path == str(made / f"{form}.cram")
    assert caught.value.reason == (
        f"the sequence of its contig one (M5 {sums}) is not in {made}/new.fa, {made}/away.fa (UR: no such file), "
        "REF_CACHE (not set), REF_PATH (not set): give the FASTA file that it was written with (--input-reference or "
        "--reference)"
    )


@pytest.mark.parametrize("form", ["embedded", "consensus", "without"])
def test_files_that_need_no_reference(made, wanted, form):
    path = made / f"{form}.cram"
    assert decoded(path) == decoded(path, str(made / "new.fa")) == wanted


@pytest.mark.parametrize("form", ["sorted", "several"])
@pytest.mark.parametrize("variable", ["REF_CACHE", "REF_PATH"])
@pytest.mark.parametrize("pattern", ["%s", "%2s/%s"])
def test_folders_of_sums(made, wanted, form, variable, pattern, tmp_path, monkeypatch):
    monkeypatch.setenv(variable, keep_sums(tmp_path, OLD, pattern))
    assert decoded(made / f"{form}.cram", str(made / "new.fa")) == wanted


def test_a_plain_folder_of_sums_after_others(made, wanted, tmp_path, monkeypatch):
    keep_sums(tmp_path, OLD)
    monkeypatch.setenv("REF_PATH", f"/nowhere/%2s:{tmp_path}")
    assert decoded(made / "several.cram") == wanted


@pytest.mark.parametrize("form", ["sorted", "several"])
@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize("name", ["old.fa", "old.fa.gz"])
def test_the_file_that_ur_names(made, wanted, form, scheme, name, tmp_path):
    write_fasta(tmp_path / name, OLD, gzip.open if name.endswith(".gz") else open)
    path = with_origin(made / f"{form}.cram", tmp_path / "x.cram", f"{scheme}{tmp_path / name}")
    here = sorted(tmp_path.iterdir())
    assert decoded(path, str(made / "new.fa")) == wanted
    assert sorted(tmp_path.iterdir()) == here


def test_ur_that_is_another_build_by_now(made, tmp_path):
    write_fasta(tmp_path / "old.fa", NEW)
    path = with_origin(made / "several.cram", tmp_path / "x.cram", tmp_path / "old.fa")
    with pytest.raises(InputError, match=r"its contig one .* is not in .*old\.fa \(UR\), REF_CACHE"):
        decoded(path)


def bgzipped(path, contigs):
    """With .fai and .gzi."""
    pysam.tabix_compress(write_fasta(path, contigs), f"{path}.gz")
    pysam.faidx(f"{path}.gz")
    return f"{path}.gz"


@pytest.mark.parametrize("pack", [gzip.open, pysam.BGZFile, open])
def test_a_reference_whose_contigs_have_other_names(made, wanted, pack, tmp_path):
    contigs = {f"chr{name}": letters.lower() for name, letters in reversed(OLD.items())}
    contigs["one"] = NEW["one"]  # htslib would take it
    path = tmp_path / "old.fa"
    path = Path(bgzipped(path, contigs) if pack is pysam.BGZFile else write_fasta(path, contigs, pack))
    for form in ("sorted", "several"):
        assert decoded(made / f"{form}.cram", str(path)) == wanted


@pytest.mark.parametrize("form", ["sorted", "several"])
def test_a_compressed_reference_that_lacks_a_contig(made, form, tmp_path):
    path = bgzipped(tmp_path / "old.fa", OLD | {"three": NEW["three"]})
    with pytest.raises(InputError, match="the sequence of its contig three "):
        decoded(made / f"{form}.cram", path)


def test_contigs_in_several_places(made, wanted, tmp_path, monkeypatch):
    parts = [write_fasta(tmp_path / f"{name}.fa", {"x": OLD[name]}) for name in NAMES[:2]]
    monkeypatch.setenv("REF_CACHE", keep_sums(tmp_path / "sums", {"three": OLD["three"]}))
    assert decoded(made / "several.cram", *parts) == wanted


def test_no_m5(made, tmp_path):
    """Then the contig of the same name and length is taken."""
    header = "".join(f"@SQ\tSN:{name}\tLN:{LENGTH}\n" for name in NAMES)
    same, longer = write_fasta(tmp_path / "same.fa", NEW), write_fasta(tmp_path / "longer.fa", NEW | {"one": "A" * 900})
    assert find_reference(header, [same], tmp_path).missing == ()
    folder = tmp_path / "2"
    folder.mkdir()
    found = find_reference(header, [longer], folder)
    assert [contig.name for contig in found.missing] == ["one"]
    said = f"the sequence of its contig one ({LENGTH} bases, without M5) is not in "
    assert found.explain("Unable to fetch reference one:2-9").startswith(said)
    assert found.explain("CRC32 failure") == "cannot be decoded (CRC32 failure)"


def test_an_index_beside_that_is_of_another_file(made, tmp_path):
    path = write_fasta(tmp_path / "old.fa", OLD)
    Path(f"{path}.fai").write_text("one\t77\t5\t77\t78\n")
    with pytest.raises(InputError, match=r"old\.fa\.fai: is not the index of .*old\.fa, by its contig one"):
        decoded(made / "sorted.cram", path)


def test_regions(made, wanted, tmp_path):
    """Of a contig that is in the reference; and of one that is not, the reason."""
    path = tmp_path / "x.cram"
    path.write_bytes((made / "several.cram").read_bytes())
    pysam.index(str(path))
    with closing(AlignedReader(path, Path(write_fasta(tmp_path / "part.fa", {"two": OLD["two"]})))) as reader:
        found = [(read.query_name, read.query_sequence) for read in reader.fetch("two", 0, LENGTH)]
        assert found == [pair for pair in wanted if pair[0].startswith("two")]
        with pytest.raises(InputError, match="the sequence of its contig one "):
            list(reader.fetch("one", 0, LENGTH))


@pytest.mark.parametrize("form", ["embedded", "consensus", "without"])
def test_regions_of_files_that_need_no_reference(made, wanted, form, tmp_path):
    path = tmp_path / "x.cram"
    path.write_bytes((made / f"{form}.cram").read_bytes())
    pysam.index(str(path))
    with closing(AlignedReader(path, made / "new.fa")) as reader:
        found = [(read.query_name, read.query_sequence) for read in reader.fetch("two", 0, LENGTH)]
    assert found == [pair for pair in wanted if pair[0].startswith("two")]


@pytest.mark.parametrize("form", ["sorted", "without"])
def test_damage_is_not_taken_for_a_missing_sequence(made, form, tmp_path, monkeypatch):
    monkeypatch.setenv("REF_CACHE", keep_sums(tmp_path / "sums", {"one": OLD["one"]}))
    data, path = bytearray((made / f"{form}.cram").read_bytes()), tmp_path / "x.cram"
    path.write_bytes(data)
    pysam.index(str(path))
    index = path.with_suffix(".cram.crai")
    container, slice_start, size = map(int, gzip.decompress(index.read_bytes()).split()[3:6])
    index.unlink()
    data[container + slice_start + size // 2] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.cram: cannot be decoded \((.*CRC|Unimplemented codec)"):
        decoded(path)
