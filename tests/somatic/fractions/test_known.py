"""Alleles of a population and of a panel of normals: looked up by a file's index, and what they do to calls."""

import gzip
import random
from pathlib import Path

import numpy as np
import pysam
import pytest

from helpers.command_samples import run_main
from helpers.making import Read, random_sequence, write_bam, write_fasta
from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import sites_of
from readwarp.call.places.bases import Bases, Window
from readwarp.call.places.strips import StripBases, strip_of
from readwarp.call.places.targets import stretch_of
from readwarp.errors import InputError
from readwarp.formats.common.regions import Target
from readwarp.index.build import read_reference
from readwarp.ragged import replace
from readwarp.somatic.given import SPARE, open_known

SIZE, LENGTH = 100, 700
SEQUENCE = random_sequence(340, seed=31) + "ACACACACAC" + random_sequence(LENGTH - 350, seed=32)
OTHER = dict(zip("ACGT", "CGTA", strict=True))
INHERITED, MUTATED, SHARED = 200, 450, 520  # substitutions
HEADER = """##fileformat=VCFv4.2
##contig=<ID={name},length={length}>
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
"""


def write_vcf(path, rows, name="c", header=HEADER):
    """rows: 1-based position, REF, ALT, INFO -> the path of the compressed file, with its index."""
    text = header.format(name=name, length=LENGTH)
    path.write_text(text + "".join(f"{name}\t{at}\t.\t{ref}\t{alt}\t.\t.\t{info}\n" for at, ref, alt, info in rows))
    return Path(pysam.tabix_index(str(path), preset="vcf", force=True))


def substitution(place: int, info: str) -> tuple[int, str, str, str]:
    return place + 1, SEQUENCE[place], OTHER[SEQUENCE[place]], info


def made_sites(rows, text: str = SEQUENCE) -> Sites:
    """rows: begin, is_indel, alleles beside the reference's."""
    codes = np.array(["ACGT".index(base) for base in text], np.uint8)
    window = Window(0, 0, codes.size, codes, 0)
    listed = [(at, gap, [(0, b"") if gap else (1, bytes([codes[at]])), *alleles]) for at, gap, alleles in rows]
    return sites_of(listed, window)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    return read_reference(write_fasta(folder / "ref.fa", {"other": SEQUENCE[::-1], "c": SEQUENCE}))


def test_alleles_are_found_as_calls_spell_them(tmp_path, reference):
    """An insertion that the file has on the right of its repeat, one of two ALT, and what the file does not have."""
    place = next(i for i in range(300, 400) if SEQUENCE[i] not in "AC")
    rows = [
        (place + 1, SEQUENCE[place], f"{OTHER[SEQUENCE[place]]},<DEL>", "AF=0.25,0.5"),
        (350, "C", "CAC", "AF=0.01"),
    ]
    rows.sort()
    path = write_vcf(tmp_path / "known.vcf", rows)
    known = open_known(path, reference, with_frequencies=True)
    base = bytes(["ACGT".index(OTHER[SEQUENCE[place]])])
    sites = made_sites([(340, True, [(0, b"\x00\x01")]), (place, False, [(1, base)]), (500, False, [(1, b"\x00")])])
    sites = replace(sites, contig=1)
    found = known.among(sites, Bases(reference, 1))
    start = {at: row for row, at in zip(sites.allele_offsets[:-1].tolist(), sites.begin.tolist(), strict=True)}
    assert found[start[place] + 1] == pytest.approx(0.25)
    assert np.isnan(found[start[500] + 1]) and np.isnan(found[list(start.values())]).all()
    leftmost = found[start[340] + 1]
    assert leftmost == pytest.approx(0.01) or SEQUENCE[339] in "AC"


@pytest.mark.parametrize("gap", [(0, b"\x02\x03"), (1, b""), (3, b"")], ids=["GT", "1", "3"])
def test_an_insertion_or_deletion_before_all_other_sites(gap, tmp_path, reference):
    """Its record begins at the base before it."""
    deleted, inserted = gap
    new = "".join("ACGT"[base] for base in inserted)
    place = next(at for at in range(500, 600) if SEQUENCE[at - 1] != (new or SEQUENCE[at : at + deleted])[-1])
    anchor = SEQUENCE[place - 1]
    row = place, anchor + SEQUENCE[place : place + deleted], anchor + new, "AF=0.2"
    known = open_known(write_vcf(tmp_path / "known.vcf", [row]), reference, with_frequencies=True)
    for more in ([], [(place + 100, False, [(1, b"\x00")])]):
        sites = replace(made_sites([(place, True, [gap]), *more]), contig=1)
        assert known.among(sites, Bases(reference, 1))[1] == pytest.approx(0.2)


def test_an_allele_that_moves_far(tmp_path):
    """Whether it is found does not depend on the sites that are asked for with it."""
    text = SEQUENCE[:200] + "ACT" * (SPARE // 3 + 100) + "G" + SEQUENCE[200:]
    reference = read_reference(write_fasta(tmp_path / "far.fa", {"c": text}))
    first = next(at for at in range(195, 205) if text[at : at + 30] == text[at + 3 : at + 33])
    inserted = bytes(map("ACGT".index, text[first : first + 3]))
    for start, is_found in ((first + SPARE, True), (first + SPARE + 1, False), (first + SPARE + 200, False)):
        row = start + 1, text[start], text[start] + text[start + 1 : start + 4], "AF=0.2"
        known = open_known(write_vcf(tmp_path / f"{start}.vcf", [row]), reference, with_frequencies=True)
        for more in ([], [(start + 50, False, [(1, b"\x00")])]):
            found = known.among(made_sites([(first, True, [(0, inserted)]), *more], text), Bases(reference, 0))[1]
            assert found == pytest.approx(0.2) if is_found else np.isnan(found)


def test_along_a_strip(tmp_path, reference):
    path = write_vcf(tmp_path / "known.vcf", [substitution(200, "AF=0.5")])
    strip = strip_of([stretch_of([Target(c, 0, LENGTH)]) for c in (0, 1)], (LENGTH, LENGTH))
    origin = int(strip.origins[1])
    base = bytes(["ACGT".index(OTHER[SEQUENCE[200]])])
    sites = made_sites([(200, False, [(1, base)])])
    sites = replace(sites, begin=sites.begin + origin)
    found = open_known(path, reference, with_frequencies=True).among(sites, StripBases(reference, strip))
    assert found[1] == pytest.approx(0.5)


def test_common_substitutions(tmp_path, reference):
    """Neither rare nor frequent ones, indels, nor positions with two; in a span, and along a strip."""
    rows = [
        substitution(200, "AF=0.5"),
        substitution(210, "AF=0.005"),
        substitution(211, "AF=0.9"),
        (216, SEQUENCE[215], f"{OTHER[SEQUENCE[215]]},{OTHER[OTHER[SEQUENCE[215]]]}", "AF=0.1,0.2"),
        (221, SEQUENCE[220], SEQUENCE[220] + "GATTACA", "AF=0.3"),
        substitution(225, "AF=0.02"),
        substitution(400, "AF=0.5"),
    ]
    known = open_known(write_vcf(tmp_path / "known.vcf", rows), reference, with_frequencies=True)
    found = known.common(150, 300, Bases(reference, 1))
    assert found.position.tolist() == [200, 225] and found.frequency == pytest.approx([0.5, 0.02])
    assert found.base.tolist() == ["ACGT".index(OTHER[SEQUENCE[at]]) for at in (200, 225)]
    strip = strip_of([stretch_of([Target(c, 0, LENGTH)]) for c in (0, 1)], (LENGTH, LENGTH))
    along = known.common(0, strip.stop, StripBases(reference, strip))
    assert (along.position - strip.origins[1]).tolist() == [200, 225, 400]
    assert known.common(0, LENGTH, Bases(reference, 0)).position.tolist() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "has no index"),
        ("no AF", "no INFO field AF"),
        ("elsewhere", "none of its contigs"),
        ("broken", "bgzip did not compress it"),
    ],
)
def test_files_that_do_not_fit(tmp_path, reference, text, said):
    rows = [substitution(200, "AF=0.5")]
    if text == "elsewhere":
        path = write_vcf(tmp_path / "known.vcf", rows, "chrUn")
    elif text == "no AF":
        header = "\n".join(line for line in HEADER.split("\n") if "INFO=" not in line)
        path = write_vcf(tmp_path / "known.vcf", [substitution(200, ".")], header=header)
    elif text == "plain":
        path = tmp_path / "known.vcf"
        path.write_text(HEADER.format(name="c", length=LENGTH))
    else:
        path = tmp_path / "known.vcf.gz"
        path.write_bytes(b"nothing\n")
    with pytest.raises(InputError, match=said):
        open_known(path, reference, with_frequencies=True)


def test_frequencies_that_are_no_numbers(tmp_path, reference):
    header = HEADER.replace("Type=Float", "Type=String")
    path = write_vcf(tmp_path / "known.vcf", [substitution(200, "AF=often")], header=header)
    with pytest.raises(InputError, match="INFO field AF is of type String"):
        open_known(path, reference, with_frequencies=True)


def test_an_index_of_another_file(tmp_path, reference):
    """It would hide records, and htslib looks at nothing but its form."""
    path = write_vcf(tmp_path / "known.vcf", [substitution(200, "AF=0.5")])
    rows = [(at + 1, SEQUENCE[at], OTHER[SEQUENCE[at]], "AF=0.1") for at in range(LENGTH)]
    other = write_vcf(tmp_path / "other.vcf", rows)
    Path(f"{other}.tbi").replace(f"{path}.tbi")
    with pytest.raises(InputError, match=r"known\.vcf\.gz\.tbi: .*not its index"):
        open_known(path, reference, with_frequencies=True)


@pytest.mark.parametrize("index", [b"", b"nothing", b"CSI\x01" + b"\xff" * 40])
def test_a_damaged_index(tmp_path, reference, index):
    path = write_vcf(tmp_path / "known.vcf", [substitution(200, "AF=0.5")])
    Path(f"{path}.tbi").unlink()
    Path(f"{path}.csi").write_bytes(index)
    with pytest.raises(InputError, match=r"known\.vcf\.gz\.csi: not a whole index"):
        open_known(path, reference, with_frequencies=False)


def test_alleles_that_are_not_text(tmp_path, reference):
    path = write_vcf(tmp_path / "known.vcf", [substitution(200, "AF=0.5")])
    text = gzip.decompress(path.read_bytes()).replace(b"\t.\t.\tAF=", b"\xff\t.\t.\tAF=")
    with pysam.BGZFile(str(path), "wb") as file:
        file.write(text)
    pysam.tabix_index(str(path), preset="vcf", force=True)
    known = open_known(path, reference, with_frequencies=True)
    sites = replace(made_sites([(200, False, [(1, b"\x00")])]), contig=1)
    with pytest.raises(InputError, match=r"known\.vcf\.gz: record c:\d+-\d+: cannot be read"):
        known.among(sites, Bases(reference, 1))


def test_an_alt_that_is_ref(tmp_path, reference):
    equal = (201, SEQUENCE[200], SEQUENCE[200], "AF=0.5")
    known = open_known(write_vcf(tmp_path / "known.vcf", [equal]), reference, with_frequencies=True)
    sites = replace(made_sites([(200, False, [(1, b"\x00")])]), contig=1)
    with pytest.raises(InputError, match=rf"known\.vcf\.gz: record c:201: REF is an ALT too: {SEQUENCE[200]}"):
        known.among(sites, Bases(reference, 1))


def test_another_reference(tmp_path, reference):
    wrong = (201, OTHER[SEQUENCE[200]], SEQUENCE[200], "AF=0.5")
    known = open_known(write_vcf(tmp_path / "known.vcf", [wrong]), reference, with_frequencies=True)
    sites = replace(made_sites([(200, False, [(1, b"\x00")])]), contig=1)
    with pytest.raises(InputError, match="unlike the reference"):
        known.among(sites, Bases(reference, 1))


@pytest.fixture(scope="module")
def tumour(tmp_path_factory):
    """60x of a tumour without its normal: alleles on half, on a fifth, and on a quarter of the molecules."""
    folder, chance, reads = tmp_path_factory.mktemp("tumour"), random.Random(1), []
    for i in range(60 * (LENGTH - SIZE) // SIZE):
        start = i * (LENGTH - SIZE) * SIZE // (60 * (LENGTH - SIZE))
        bases = list(SEQUENCE[start : start + SIZE])
        for place, share in ((INHERITED, 0.5), (MUTATED, 0.2), (SHARED, 0.25)):
            if start <= place < start + SIZE and chance.random() < share:
                bases[place - start] = OTHER[SEQUENCE[place]]
        reads.append(Read(start, f"{SIZE}M", "".join(bases), (37,) * SIZE, 16 * (i % 2), 60, f"r{i}"))
    write_bam(folder / "a.bam", {"c": LENGTH}, [("c", read) for read in reads])
    return write_fasta(folder / "ref.fa", {"c": SEQUENCE}), folder / "a.bam"


def filters_of(tumour, folder, *options) -> dict[int, tuple[str, ...]]:
    output = folder / "out.vcf"
    assert run_main(("call", *tumour, "--somatic", "-o", output, "-q", "-f", *options)) == 0
    with pysam.VariantFile(str(output)) as file:
        return {record.start: tuple(record.filter) for record in file}


def test_what_is_common_is_inherited(tumour, tmp_path):
    known = write_vcf(tmp_path / "gnomad.vcf", [substitution(INHERITED, "AF=0.3")])
    assert filters_of(tumour, tmp_path)[INHERITED] == ("PASS",)
    found = filters_of(tumour, tmp_path, "--population", known)
    assert found == {INHERITED: ("germline",), MUTATED: ("PASS",), SHARED: ("PASS",)}


@pytest.mark.parametrize("info", ["AF=.", "."])
def test_frequencies_that_are_missing_are_not_known(tumour, tmp_path, info):
    """gnomAD has records without AF where nobody could be genotyped."""
    known = write_vcf(tmp_path / "gnomad.vcf", [substitution(INHERITED, info)])
    assert filters_of(tumour, tmp_path, "--population", known)[INHERITED] == ("PASS",)


def test_popaf_and_pon(tumour, tmp_path):
    """A frequency of 0 is shown as the least one; PON is a flag."""
    known = write_vcf(tmp_path / "gnomad.vcf", [substitution(MUTATED, "AF=0"), substitution(SHARED, "AF=0.01")])
    panel = write_vcf(tmp_path / "pon.vcf", [substitution(SHARED, ".")])
    filters_of(tumour, tmp_path, "--population", known, "--panel-of-normals", panel)
    with pysam.VariantFile(str(tmp_path / "out.vcf")) as file:
        info = {record.start: dict(record.info) for record in file}
    assert "POPAF" not in info[INHERITED] and "PON" not in info[INHERITED]
    assert info[MUTATED]["POPAF"] == 6 and "PON" not in info[MUTATED]
    assert info[SHARED]["POPAF"] == 2 and info[SHARED]["PON"] is True


def test_a_panel_of_normals_from_their_reads_to_a_filter(tumour, tmp_path):
    """Normals are called like tumours, the panel is made of their calls, and the tumour is held against it."""
    called = []
    for name, seed in (("n1", 5), ("n2", 6), ("n3", 7)):
        chance, reads = random.Random(seed), []
        for i in range(60 * (LENGTH - SIZE) // SIZE):
            start = chance.randrange(LENGTH - SIZE)
            bases = list(SEQUENCE[start : start + SIZE])
            if start <= SHARED < start + SIZE and chance.random() < 0.2:
                bases[SHARED - start] = OTHER[SEQUENCE[SHARED]]
            reads.append(("c", Read(start, f"{SIZE}M", "".join(bases), (37,) * SIZE, 16 * (i % 2), 60, f"r{i}")))
        bam = write_bam(tmp_path / f"{name}.bam", {"c": LENGTH}, reads)
        called.append(tmp_path / f"{name}.vcf.gz")
        assert run_main(("call", tumour[0], bam, "--somatic", "-o", called[-1], "-q")) == 0
    panel = tmp_path / "pon.vcf.gz"
    assert run_main(("panel", *called, "-o", panel, "-q")) == 0
    with pysam.VariantFile(str(panel)) as file:
        ((place, number, share),) = [(r.start, r.info["NORMALS"], r.info["MEANAF"]) for r in file]
    assert (place, number) == (SHARED, 3) and share == pytest.approx(0.2, abs=0.06)
    found = filters_of(tumour, tmp_path, "--panel-of-normals", panel)
    assert found == {INHERITED: ("PASS",), MUTATED: ("PASS",), SHARED: ("panel_of_normals",)}


def test_what_normals_show(tumour, tmp_path):
    known = write_vcf(tmp_path / "pon.vcf", [substitution(SHARED, ".")])
    found = filters_of(tumour, tmp_path, "--panel-of-normals", known)
    assert found == {INHERITED: ("PASS",), MUTATED: ("PASS",), SHARED: ("panel_of_normals",)}


def test_calls_of_the_tumour_are_no_panel(tumour, tmp_path, capsys):
    own = tmp_path / "own.vcf.gz"
    assert run_main(("call", *tumour, "--somatic", "-o", own, "-q")) == 0
    assert run_main(("call", *tumour, "--somatic", "--panel-of-normals", own, "-o", tmp_path / "x.vcf", "-q")) == 3
    assert "own.vcf.gz: holds calls of the sample a itself: a panel is made of normals" in capsys.readouterr().err


def test_only_of_tumours(tumour, tmp_path, capsys):
    for option in ("--population", "--panel-of-normals"):
        assert run_main(("call", *tumour, "--mixture", option, tmp_path / "x.vcf.gz", "-o", tmp_path / "x.vcf")) == 2
        assert f"{option} needs --somatic" in capsys.readouterr().err
