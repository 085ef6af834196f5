"""BCF as text: what htslib makes of it in a child process, and what happens when that crashes."""

import struct

import pysam
import pytest

from helpers.fuzz_variants import as_bcf, bgzf, genomic
from readwarp.errors import InputError
from readwarp.formats.variants.bcf_text import CHILDREN, BcfText


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return as_bcf(tmp_path_factory.mktemp("made"), genomic("a", 3))


@pytest.fixture
def opened(tmp_path):
    made = []

    def opened(data, name="a.bcf"):
        (tmp_path / name).write_bytes(bgzf(data))
        made.append(BcfText(tmp_path / name, 9 + struct.unpack_from("<I", data, 5)[0]))
        return made[-1]

    yield opened
    for text in made:
        text.close()
    assert CHILDREN._child is None


def whole(text):
    return b"".join(iter(lambda: text.lines(1), b"")).decode()


def test_all_lines(opened, data, tmp_path):
    texts = [opened(data, name) for name in ("a.bcf", "b.bcf")]
    with pysam.VariantFile(str(tmp_path / "a.bcf")) as file:
        expected = "".join(map(str, file))
    assert [whole(text) for text in texts] == [expected] * 2
    assert texts[0].header()[-1].endswith("FORMAT\ta") and texts[0].contigs == ["one", "two"]


def test_damaged_records(opened, data, tmp_path):
    place = 9 + struct.unpack_from("<I", data, 5)[0]
    for change in (b"\xff" * 4, bytes(4), struct.pack("<i", -4)):
        text = opened(data[:place] + change + data[place + 4 :])
        with pytest.raises(InputError, match=rf"{tmp_path / 'a.bcf'}: damaged, or truncated"):
            whole(text)


def test_the_child_crashes(opened, data, tmp_path):
    """The file that it read is named; files that are opened later have another child."""
    text = opened(data)
    text._child._process.kill()
    text._child._process.wait()
    with pytest.raises(InputError, match=rf"{tmp_path / 'a.bcf'}: damaged, or truncated"):
        text.lines(1)
    assert len(whole(opened(data, "b.bcf"))) > 10_000
