"""An index that lies is refused, or does no harm: reads are never missing without a word."""

import shutil

import pysam
import pytest

from helpers.alignment_indexes import CONTIGS, Contig, Index, write_piles
from readwarp.errors import InputError
from readwarp.formats.alignments.regions import AlignedReader, FileForm, ReadFilter

WINDOW = 20_000
COUNTS = 37450


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = write_piles(tmp_path_factory.mktemp("piles"))
    for option, ending in (("-b", "bai"), ("-c", "csi")):
        pysam.samtools.index(option, "-o", f"{path}.{ending}", str(path))
    return path


@pytest.fixture
def refused(made, tmp_path):
    """Whether an index is refused; if it is not, all reads are found."""

    def read(path, whole):
        reader = AlignedReader(path, form=FileForm(scan=whole))
        try:
            names = []
            for contig, bases in enumerate(CONTIGS.values()):
                for start in range(0, len(bases), WINDOW):
                    stop = min(start + WINDOW, len(bases))
                    names += [(contig, start, *reader.read(contig, start, stop, ReadFilter()).name_hash.tolist())]
            return names
        finally:
            reader.close()

    def refused(change, ending="bai", whole=True):
        path = tmp_path / "x.bam"
        shutil.copy(made, path)
        index = Index.read(made.with_name(f"{made.name}.{ending}"))
        change(index)
        path.with_name(f"x.bam.{ending}").write_bytes(index.bytes())
        shutil.copy(f"{made}.bai", tmp_path / "sound.bam.bai")
        shutil.copy(made, tmp_path / "sound.bam")
        try:
            found = read(path, whole)
        except InputError as error:
            assert str(error).startswith(f"{path}.{ending}: ") and f"`samtools index {path}`" in str(error)
            return True
        assert found == read(tmp_path / "sound.bam", whole)
        return False

    return refused


def windows(index, contig=0):
    return index.contigs[contig].windows


def counts(index, contig=0):
    return next(own for number, _, own in index.contigs[contig].bins if number == COUNTS)


def later(values, place, by=3):
    values[place] = values[min(place + by, len(values) - 1)]


def swap(index):
    index.contigs[1:] = reversed(index.contigs[1:])


def forget(index, contig):
    index.contigs[contig] = Contig([])


BAD = {
    "a window too late": lambda index: later(windows(index), 2),
    "many windows too late": lambda index: windows(index).__setitem__(slice(0, 5), windows(index)[4:5] * 5),
    "a window before the contig": lambda index: windows(index).__setitem__(0, 20),
    "offsets not in order": lambda index: windows(index).__setitem__(3, windows(index)[1] - 1),
    "no windows beyond the third": lambda index: windows(index).__delitem__(slice(3, None)),
    "a window lost": lambda index: windows(index).__delitem__(1),
    "contigs exchanged": swap,
    "the first contig forgotten": lambda index: forget(index, 0),
    "the last contig forgotten": lambda index: forget(index, 2),
    "a contig lost": lambda index: index.contigs.pop(1),
    "a contig more": lambda index: index.contigs.append(Contig([])),
    "no bin of the last contig": lambda index: index.contigs[2].bins.clear(),
    "an unknown bin": lambda index: index.contigs[0].bins.append((COUNTS - 1, 0, [])),
    "a bin of large number": lambda index: index.contigs[0].bins.append((1 << 31, 0, [])),
    "a chunk that ends before it begins": lambda index: index.contigs[0].bins.append((0, 0, [(9 << 16, 8 << 16)])),
    "a chunk beyond the file": lambda index: index.contigs[2].bins.append((0, 0, [(1 << 50, 1 << 51)])),
    "counts of three chunks": lambda index: counts(index).append((1, 2)),
    "another end": lambda index: counts(index, 2).__setitem__(0, (counts(index, 2)[0][0], 1 << 45)),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_indexes_that_lie(refused, change, whole):
    assert refused(change, whole=whole)


GOOD = {
    "as it is": lambda index: None,
    "too early": lambda index: windows(index).__setitem__(3, windows(index)[2]),
    "not filled": lambda index: windows(index).__setitem__(3, 0),
    "without unplaced reads": lambda index: setattr(index, "unplaced", None),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("change", GOOD.values(), ids=GOOD)
def test_indexes_that_do_no_harm(refused, change, whole):
    assert not refused(change, whole=whole)


def drop_counts(index):
    for contig in index.contigs:
        contig.bins = [own for own in contig.bins if own[0] != COUNTS]


def test_indexes_of_old_tools(refused):
    assert not refused(drop_counts)
    assert refused(lambda index: (drop_counts(index), forget(index, 2)))


@pytest.mark.parametrize("depths", [(14, 1 << 30), (0, 5), (31, -1), (4, 1), (14, 20)])
def test_csi_of_impossible_depths(refused, depths):
    assert refused(lambda index: setattr(index, "depths", depths), "csi")


def bin_of(index, **parts):
    number, offset, chunks = index.contigs[0].bins[0]
    index.contigs[0].bins[0] = parts.get("number", number), parts.get("offset", offset), chunks


@pytest.mark.parametrize(
    "change",
    [
        lambda index: bin_of(index, number=9),
        lambda index: bin_of(index, number=8),
        lambda index: bin_of(index, offset=20),
        lambda index: forget(index, 2),
        lambda index: index.contigs.append(Contig([])),
        lambda index: index.contigs[0].bins.append((3, 0, [(9 << 16, 8 << 16)])),
    ],
)
def test_csi_that_lies(refused, change):
    assert refused(change, "csi")


@pytest.mark.parametrize("whole", [True, False])
def test_csi(refused, whole):
    assert not refused(lambda index: None, "csi", whole)
