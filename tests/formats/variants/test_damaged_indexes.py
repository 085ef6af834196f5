"""Indexes of gVCFs that lie: the same lines as with the right one, or an error that names the index."""

import struct

import numpy as np
import pytest

from helpers.fuzz_variants import CONTIGS, LENGTHS, as_bcf, bgzf, genomic, index_of
from readwarp.errors import InputError
from readwarp.formats.common.regions import Contigs
from readwarp.formats.variants.genomic import GenomicFile

REGIONS = ((0, 500, 600), (0, 20_000, 20_500), (0, 70_000, 90_000), (1, 0, 300), (1, 39_000, 40_000))
NAMES = ("a.vcf.gz.tbi", "a.vcf.gz.csi", "a.bcf.csi")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Content and index by the index's name."""
    folder, text, out = tmp_path_factory.mktemp("made"), genomic("a", 3), {}
    for name in NAMES:
        content = bgzf(text if "vcf" in name else as_bcf(folder, text))
        out[name] = content, index_of(folder, content, name[-3:])
    return out


def lines_of(path, region):
    contig, start, stop = region
    file = GenomicFile(path, Contigs(list(LENGTHS), list(LENGTHS.values())), {contig})
    try:
        file.go_to(contig, start)
        lines = file.lines(contig, start, stop)
    finally:
        file.close()
    return [lines.fields(line)[:5] for line in range(len(lines)) if lines.end[line] > start]


@pytest.fixture
def read(files, tmp_path):
    def read(name, index):
        """The lines of all regions, None where the index is refused."""
        (tmp_path / name[:-4]).write_bytes(files[name][0])
        (tmp_path / name).write_bytes(bgzf(index))
        out = []
        for region in REGIONS:
            try:
                out.append(lines_of(tmp_path / name[:-4], region))
            except InputError as error:
                assert str(error).startswith(f"{tmp_path / name}: ") and "make it again" in str(error)
                out.append(None)
        return out

    return read


@pytest.mark.parametrize("ending", ["tbi", "csi"])
def test_a_file_without_lines(ending, tmp_path):
    content = bgzf(b"".join(line for line in genomic("a", 3).splitlines(True) if line.startswith(b"#")))
    (tmp_path / "a.vcf.gz").write_bytes(content)
    (tmp_path / f"a.vcf.gz.{ending}").write_bytes(bgzf(index_of(tmp_path, content, ending)))
    assert lines_of(tmp_path / "a.vcf.gz", REGIONS[0]) == []


def find_linear(index):
    """Of a .tbi: places of the number of entries of each contig's linear index."""
    (contigs,), out = struct.unpack_from("<i", index, 4), []
    place = 36 + struct.unpack_from("<i", index, 32)[0]
    for _ in range(contigs):
        (bins,), place = struct.unpack_from("<i", index, place), place + 4
        for _ in range(bins):
            place += 8 + 16 * struct.unpack_from("<i", index, place + 4)[0]
        out.append(place)
        place += 4 + 8 * struct.unpack_from("<i", index, place)[0]
    return out


@pytest.mark.parametrize("name", NAMES)
def test_regions_of_whole_indexes(files, read, name):
    found = read(name, files[name][1])
    assert all(found) and found == read("a.vcf.gz.tbi", files["a.vcf.gz.tbi"][1])
    for (contig, start, stop), lines in zip(REGIONS, found, strict=True):
        assert {line[0] for line in lines} == {list(CONTIGS)[contig].encode()}
        assert int(lines[0][1]) <= start + 1 and int(lines[-1][1]) <= stop


@pytest.mark.parametrize("name", NAMES)
def test_every_word_changed(files, read, name):
    """By little, which makes other counts, bins and offsets, and to the largest numbers."""
    index = files[name][1]
    right, refused = read(name, index), 0
    number = 2 if "bcf" in name else 25  # each needs processes
    for place in np.linspace(4, len(index) - 40, number).astype(int).tolist():
        for change in (1, 1 << 12, 1 << 31):
            words = bytearray(index)
            old = int.from_bytes(words[place : place + 4], "little")
            words[place : place + 4] = ((old + change) % (1 << 32)).to_bytes(4, "little")
            for got, lines in zip(read(name, bytes(words)), right, strict=True):
                assert got is None or got == lines
                refused += got is None
    assert refused


def test_linear_indexes_that_were_cut_off_hide_nothing(files, read):
    name = "a.vcf.gz.tbi"
    index = files[name][1]
    right, place = read(name, index), find_linear(index)[0]
    (entries,) = struct.unpack_from("<i", index, place)
    entry = place + 4
    for kept in (0, 1, entries - 1):
        cut = index[:place] + struct.pack("<i", kept) + index[entry : entry + 8 * kept] + index[entry + 8 * entries :]
        for got, lines in zip(read(name, cut), right, strict=True):
            assert got in (None, lines)
    without_first = index[: place + 4] + bytes(16) + index[place + 20 :]
    assert read(name, without_first) == right


def test_entries_that_are_too_late(files, read):
    """Of the window asked for: another line of the same block, and the next window's."""
    name = "a.vcf.gz.tbi"
    index = files[name][1]
    place = find_linear(index)[0] + 4 + 8  # of the second window
    begin, following = struct.unpack_from("<QQ", index, place)
    for late in (begin + 60, following, following - 1):
        changed = read(name, index[:place] + struct.pack("<Q", late) + index[place + 8 :])
        for got, lines in zip(changed, read(name, index), strict=True):
            assert got in (None, lines)


def test_names_of_other_contigs(files, read):
    name = "a.vcf.gz.tbi"
    index = files[name][1]
    for other in (b"two\0one\0", b"one\0thr\0", b"one\0one\0"):
        assert read(name, index.replace(b"one\0two\0", other)) == [None] * len(REGIONS)


@pytest.mark.parametrize("name", NAMES)
def test_indexes_of_other_files(files, read, name, tmp_path):
    content = bgzf(genomic("a", 4) if "vcf" in name else as_bcf(tmp_path, genomic("a", 4)))
    assert read(name, index_of(tmp_path, content, name[-3:])) == [None] * len(REGIONS)


def test_counts_without_end(files, read):
    """A number of chunks below zero once made a loop without an end; a depth of 30, windows without number."""
    name = "a.vcf.gz.csi"
    index = files[name][1]
    contigs = 16 + struct.unpack_from("<i", index, 12)[0]
    lies = {contigs + 20: (-1, 1 << 30), 8: (30, -1), 4: (-5, 0), 12: (-4,), contigs: (-1, 1 << 30), contigs + 4: (-1,)}
    for place, values in lies.items():
        for value in values:
            changed = index[:place] + struct.pack("<i", value) + index[place + 4 :]
            assert read(name, changed) == [None] * len(REGIONS)
