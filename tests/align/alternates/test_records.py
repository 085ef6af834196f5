"""Records of reads from both sides of ALT contigs: where they are, what they say, and what bwa mem makes of them."""

import pickle
import shutil
import subprocess

import pysam
import pytest

from helpers.align_oracle import READ, cut_pair, random_bases, reverse_complement
from helpers.made_alternates import (
    COPY,
    DUPLICATE,
    GENE,
    INSERTED,
    STRETCH,
    make_alternates,
    primary_assembly,
    write_reference,
)
from helpers.record_checks import checked
from readwarp.align import Aligner
from readwarp.align.pair import given
from readwarp.align.results import Record
from readwarp.errors import InputError, UsageError

STEP = 37
ONE = primary_assembly()
ALTERNATES = {each.name: each for each in make_alternates(ONE)}
FIRST, OTHER, TURNED, HLA, DECOY = ALTERNATES.values()
CONTIGS = {"one": ONE} | {name: each.bases for name, each in ALTERNATES.items()}
START, STOP = STRETCH


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    return write_reference(tmp_path_factory.mktemp("alternates"))


@pytest.fixture(scope="module")
def aware(fasta) -> Aligner:
    return Aligner(fasta, insert_sizes=given(350, 40))


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Aligner:
    """With a reference of the primary assembly."""
    path = tmp_path_factory.mktemp("alone") / "ref.fa"
    path.write_text(f">one\n{ONE}\n")
    return Aligner(path, insert_sizes=given(350, 40))


def pairs_of(name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    bases = CONTIGS[name]
    made = [(f"{name}:{at}", cut_pair(bases, at)) for at in range(0, len(bases) - 350, STEP)]
    return [(name, first) for name, (first, _) in made], [(name, last) for name, (_, last) in made]


def split(records: list[Record]) -> dict[tuple[str, int], list[Record]]:
    """By read: the primary record first."""
    found: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        found.setdefault((record.name, record.flag & 0xC0), []).append(record)
    return found


def lifted(alternate, start: int) -> tuple[int, int] | None:
    """Where a read of READ bases is on the primary assembly: its first base there, and whether it is reversed."""
    images = [alternate.images.get(at) for at in range(start, start + READ)]
    if None in images or abs(images[-1][0] - images[0][0]) != READ - 1:
        return None
    return min(images[0][0], images[-1][0]), images[0][1]


def one(record: Record) -> tuple:
    return record.contig, record.position, record.mapping_quality, record.cigar


def test_reads_of_the_primary_assembly_are_as_without_alt_contigs(aware, alone):
    firsts, lasts = pairs_of("one")
    found, expected = split(aware.align(firsts, lasts)), split(alone.align(firsts, lasts))
    assert found.keys() == expected.keys()
    same = {"NM", "MD", "AS", "MC", "MQ", "ms"}
    for key, (record, *others) in found.items():
        (plain, *_) = expected[key]
        if DUPLICATE - 350 < int(key[0].split(":")[1]) < DUPLICATE + 600:  # as on an ALT contig of another place
            assert one(record)[:2] == one(plain)[:2]
            continue
        assert record._replace(tags={}) == plain._replace(tags={}) and not others
        assert {tag: record.tags[tag] for tag in same} == {tag: plain.tags[tag] for tag in same}
        hits = {hit.split(",")[0] for hit in record.tags.get("XA", "").split(";")} - {"", "one"}
        assert hits <= ALTERNATES.keys() and "SA" not in record.tags and "pa" not in record.tags


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", ["one_alt", "other_alt", "turned_alt"])
def test_reads_of_alt_contigs_are_at_their_lifted_places(name, paired, aware):
    alternate, (firsts, lasts) = ALTERNATES[name], pairs_of(name)
    records = split(aware.align(firsts, lasts)) if paired else split(aware.align(firsts))
    followed = placed = 0
    for (read, side), (record, *others) in records.items():
        at = int(read.split(":")[1]) + (350 - READ) * (side == 0x80)
        place, own = lifted(alternate, at), alternate.bases[at : at + READ]
        assert [other.flag & 0x900 for other in others] in ([], [0x800], [0x800, 0x800])
        if place is None:
            continue
        assert one(record)[:2] == ("one", place[0])
        assert record.mapping_quality >= (5 if COPY - READ < place[0] < COPY + 600 else 60)
        assert record.is_reverse == ((side == 0x80) ^ place[1])
        placed += 1
        is_same = ONE[place[0] : place[0] + READ] in (own, reverse_complement(own))
        assert bool(others) == (not is_same)
        for other in others:
            assert (
                one(other) == (name, at, other.mapping_quality, f"{READ}M")
                and other.mapping_quality >= record.mapping_quality
            )
            assert (other.tags["NM"], other.tags["AS"]) == (0, READ) and len(other.sequence) == READ
            assert record.tags["pa"] == round(record.tags["AS"] / READ, 4) and "pa" not in other.tags
            assert f"{name},{at + 1}," in record.tags["SA"] and f"one,{place[0] + 1}," in other.tags["SA"]
            assert other.flag & 0xC2 == record.flag & 0xC2
            assert (other.mate_contig, other.mate_position) == (record.mate_contig, record.mate_position)
            assert (other.template_length == 0) == (record.mate_contig != name)
        followed += len(others)
    assert placed >= 40 and followed > placed // 2


def test_without_the_file_they_are_ambiguous(fasta):
    """The read is between two differences of each ALT contig."""
    at = START + 52
    (record,) = Aligner(fasta).align(ONE[at : at + 90])
    assert one(record)[:3] == ("one", at, 60)
    (record,) = Aligner(fasta, no_alt=True).align(ONE[at : at + 90])
    assert record.mapping_quality == 0


def test_the_better_locus_wins(aware, alone):
    """The read is from the ALT contig that has what sets DUPLICATE apart from COPY."""
    at = COPY + 200 - START
    read = OTHER.bases[at : at + READ]
    assert alone.align(read)[0].position == DUPLICATE + 200
    record, hit, *_ = aware.align(read)
    assert one(record)[:2] == ("one", COPY + 200) and one(hit)[:2] == ("other_alt", at)
    assert hit.mapping_quality >= record.mapping_quality > 20 and "one,+8201" in record.tags["XA"]


def test_loose_and_inserted_bases(aware):
    """A read within them is placed on the ALT contig, one across their border on the primary assembly."""
    shifted = INSERTED + 100
    (record,) = aware.align(FIRST.bases[shifted : shifted + READ])
    assert one(record) == ("one_alt", shifted, 60, f"{READ}M") and record.flag == 0
    record, hit = aware.align(FIRST.bases[INSERTED - 70 : INSERTED + 50])
    assert one(record) == ("one", START + INSERTED - 70, 60, "71M49S") and record.tags["pa"] == round(71 / 120, 4)
    assert one(hit) == ("one_alt", INSERTED - 70, 60, "120M")
    (record,) = aware.align(TURNED.bases[20 : 20 + READ])
    assert one(record)[:2] == ("turned_alt", 20)


def test_a_gene_without_a_lift_over(aware):
    """The place on the primary assembly stays, with its MAPQ; the better hit follows with one of its own."""
    at = 400
    record, hit = aware.align(HLA.bases[at : at + READ])
    assert one(record)[:3] == ("one", GENE[0] + at, 60) and one(hit)[:2] == ("HLA-A*01:01:01:01", at)
    assert 0 < hit.mapping_quality < 60 and hit.flag == 0x800
    records = split(aware.align(*pairs_of(HLA.name)))
    assert all(one(first)[:1] == ("one",) and first.mapping_quality == 60 for first, *_ in records.values())
    (record,) = aware.align(DECOY.bases[100:220])
    assert one(record) == ("decoy", 100, 60, "120M")


def test_mates_on_different_sides(aware):
    """One mate has no place on the primary assembly: the other's stays there, and they are no proper pair."""
    inserted, beside = INSERTED + 150, INSERTED - 100
    first, last = FIRST.bases[beside : beside + READ], reverse_complement(FIRST.bases[inserted : inserted + READ])
    records = aware.align([("r", first)], [("r", last)])
    (record, *_), (mate, *more) = split(records).values()
    assert (record.contig, mate.contig, more) == ("one", "one_alt", [])
    assert record.position == START + beside and mate.position == inserted
    assert not (record.flag | mate.flag) & 0x2 and record.template_length == mate.template_length == 0
    assert (record.mate_contig, record.mate_position) == ("one_alt", inserted)


def changed_pair() -> tuple[str, str]:
    """Of the first ALT contig: a mate with a split, whose second part is elsewhere, and one that differs."""
    first, last = cut_pair(FIRST.bases, 600)
    return first[:70] + ONE[11_000:11_050], last


def test_options_that_choose_records(fasta):
    first, last = changed_pair()

    def flags(**options) -> list[list[tuple[int, str, str]]]:
        aligner = Aligner(fasta, insert_sizes=given(350, 40), **options)
        records = split(aligner.align([("r", first)], [("r", last)]))
        return [[(record.flag & 0x900, record.contig, record.cigar) for record in each] for each in records.values()]

    (split_read, mate) = flags()
    assert mate == [(0, "one", "120M"), (0x800, "one_alt", "120M")]
    assert split_read == [(0, "one", "70M50S"), (0x800, "one", "70H50M"), (0x800, "one_alt", "70M50S")]
    assert flags(soft_clip=True)[0][1:] == [(0x800, "one", "70S50M"), (0x800, "one_alt", "70M50S")]
    assert flags(split_secondary=True)[0][1:] == [(0x100, "one", "70H50M"), (0x800, "one_alt", "70M50S")]
    assert flags(five_prime=True) == flags()
    turned = Aligner(fasta, five_prime=True).align(ONE[11_000:11_050] + first[:70])
    assert [(record.contig, record.cigar) for record in turned] == [
        ("one", "50M70S"),
        ("one", "50H70M"),
        ("one_alt", "50S70M"),
    ]
    assert flags(all_hits=True)[1] == [*mate, (0x100, "other_alt", "120M")]
    assert flags(secondary=0)[1] == mate


def test_headers_and_processes(aware, fasta, tmp_path):
    header = aware.align([ONE[:120]]).header.to_dict()
    assert [line.get("AH") for line in header["SQ"]] == [None, *["*"] * 5]
    copy = pickle.loads(pickle.dumps(aware))
    reads = [FIRST.bases[600:720]]
    assert copy.align(reads) == aware.align(reads) and len(aware.align(reads)) == 2
    assert copy.align(reads).header.to_dict() == header
    assert len(Aligner(aware.index).align(reads)) == 1  # an index alone has no ALT contigs
    again = Aligner(aware.index, aware.parameters, alt=f"{fasta}.alt")
    assert again.align(reads) == aware.align(reads)
    with pytest.raises(UsageError, match="--alt and --no-alt cannot be combined"):
        Aligner(fasta, alt=f"{fasta}.alt", no_alt=True)
    (tmp_path / "x.alt").write_text("three\n")
    with pytest.raises(InputError, match="three is not a contig of the reference"):
        Aligner(fasta, alt=tmp_path / "x.alt")


def all_reads() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    made = [pairs_of(name) for name in CONTIGS]
    return [read for firsts, _ in made for read in firsts], [read for _, lasts in made for read in lasts]


def test_every_record_holds(aware, tmp_path):
    """Each read is there once, and every CIGAR tells AS, NM and MD; also those of hits on ALT contigs."""
    firsts, lasts = all_reads()
    noisy = [(f"{name}:n", bases[:50] + random_bases(20, 7) + bases[50:]) for name, bases in firsts[::5]]
    records = aware.align(firsts + noisy, lasts + [(f"{name}:n", bases) for name, bases in lasts[::5]])
    path = records.write(tmp_path / "x.bam")
    reads = {(name, 0x40): bases for name, bases in firsts + noisy} | {(name, 0x80): bases for name, bases in lasts}
    reads |= {(f"{name}:n", 0x80): bases for name, bases in lasts[::5]}
    found = checked(path, reads, CONTIGS)
    assert sum(record.is_supplementary for record in found) > 200
    for record in found:
        if record.has_tag("SA"):
            named = {tuple(part.split(",")[:2]) for part in record.get_tag("SA").strip(";").split(";")}
            mine = {(r.reference_name, str(r.reference_start + 1)) for r in found if of(r) == of(record)}
            assert named < mine


def of(record: pysam.AlignedSegment) -> tuple[str, int]:
    return record.query_name, record.flag & 0xC0


@pytest.mark.skipif(not shutil.which("bwa"), reason="needs bwa")
def test_bwa_places_them_alike(aware, fasta, tmp_path):
    """Primary records of all reads but those of COPY, and hits on ALT contigs that follow them."""
    firsts, lasts = all_reads()
    for number, reads in enumerate((firsts, lasts), 1):
        text = "".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in reads)
        (tmp_path / f"{number}.fq").write_text(text)
    prefix = tmp_path / "ref"
    (tmp_path / "ref.alt").write_text("\n".join(each.line for each in ALTERNATES.values()) + "\n")
    subprocess.run(["bwa", "index", "-p", prefix, fasta], check=True, capture_output=True)
    command = ["bwa", "mem", "-I", "350,40", prefix, tmp_path / "1.fq", tmp_path / "2.fq"]
    (tmp_path / "bwa.sam").write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    with pysam.AlignmentFile(str(tmp_path / "bwa.sam")) as file:
        theirs = split([FromPysam(segment) for segment in file])
        heads = [line.get("AH") for line in file.header.to_dict()["SQ"]]
    mine = split(aware.align(firsts, lasts))
    assert heads == [line.get("AH") for line in aware.align(firsts[:1]).header.to_dict()["SQ"]]
    assert theirs.keys() == mine.keys()
    same_place = same_hit = total = 0
    for key, (record, *others) in mine.items():
        other, *more = theirs[key]
        if COPY - 100 <= other.position < COPY + 700 or DUPLICATE - 100 <= other.position < DUPLICATE + 700:
            continue
        total += 1
        same_place += (record.contig, record.position, record.cigar) == (other.contig, other.position, other.cigar)
        same_hit += [one(hit)[:2] for hit in others] == [(hit.contig, hit.position) for hit in more]
        if "pa" in record.tags and "pa" in other.tags:
            assert abs(record.tags["pa"] - other.tags["pa"]) < 0.05  # bwa adds what its ends are worth
    assert total > 800 and same_place > 0.99 * total and same_hit > 0.98 * total, (total, same_place, same_hit)


class FromPysam:
    """What `split` and the comparison need of a record of bwa's."""

    def __init__(self, segment: pysam.AlignedSegment) -> None:
        self.name, self.flag = segment.query_name, segment.flag
        self.contig, self.position, self.cigar = segment.reference_name, segment.reference_start, segment.cigarstring
        self.tags = dict(segment.get_tags())


def test_long_reads(aware, alone):
    """Those of ALT contigs are placed as if there were none, with the same MAPQ."""
    reads = [ONE[1000:6000], FIRST.bases[100:1100], TURNED.bases[300:2100], OTHER.bases[1500:2500] + ONE[4000:5000]]
    mine, plain = (Aligner(aligner.index, preset="hifi") for aligner in (aware, alone))
    mine = Aligner(aware.index, mine.parameters, alt=f"{aware._fasta}.alt")
    for read in reads:
        found, expected = mine.align(read), plain.align(read)
        assert [one(record) for record in found] == [one(record) for record in expected]
        assert one(found[0])[0] == "one" and found[0].mapping_quality == 60
