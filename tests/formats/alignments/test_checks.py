"""BAM records that SAM cannot hold, or that say what is not so, are found before anything is indexed by them."""

import copy
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.alignment_bytes import (
    CONTIG,
    FLAG,
    LENGTH,
    MATE,
    MATE_POSITION,
    NAME_LENGTH,
    OPERATIONS,
    POSITION,
    Record,
    array,
    tag,
)
from readwarp.errors import InputError
from readwarp.formats.alignments.checks import ANY, HeaderLimits, check_size, find_bad

HEADER = HeaderLimits.of("@RG\tID:a\tSM:x\n", (1000, 50))
RUN = struct.Struct("<I")
SOUND = Record([0, 900, 5, 60, 0, 1, 0, 10, 1, 20, 0], b"name\0", RUN.pack(10 << 4), b"\x12" * 5, b"\x28" * 10, b"")


def changed(numbers=(), **parts):
    record = copy.deepcopy(SOUND)
    for number, value in dict(numbers).items():
        record.numbers[number] = value
    for part, value in parts.items():
        setattr(record, part, value)
    if "name" in parts and NAME_LENGTH not in dict(numbers):
        record.numbers[NAME_LENGTH] = len(record.name)
    return record


def runs(*numbers):
    """Lengths and operations in turn, as BAM codes them."""
    return b"".join(RUN.pack(length << 4 | kind) for length, kind in zip(numbers[::2], numbers[1::2], strict=True))


def moved(kind, values):
    """The record with 10S99N instead of its CIGAR, which is in CG."""
    width = {b"C": 1}.get(kind, 4)
    tags = array(b"CG", kind, values, len(values) // width)
    return changed({OPERATIONS: 2}, cigar=runs(10, 4, 99, 3), tags=tags)


def find(*records, header=HEADER):
    data = np.frombuffer(b"".join(record.bytes() for record in records), np.uint8)
    sizes = [len(record.bytes()) for record in records]
    return find_bad(data, np.cumsum([0, *sizes[:-1]]), header)


TAGS = (
    tag(b"ab", b"Z", b""),
    tag(b"A1", b"Z", b"all of ! to ~ and blanks"),
    tag(b"RG", b"Z", b"a"),
    tag(b"ha", b"H", b"1AE301"),
    tag(b"he", b"H", b""),
    tag(b"XA", b"A", b"!"),
    *(
        tag(b"i" + bytes([kind]), bytes([kind]), b"\xff" * width)
        for kind, width in zip(b"cCsSiIf", (1, 1, 2, 2, 4, 4, 4), strict=True)
    ),
    *(
        array(b"b" + bytes([kind]), bytes([kind]), b"\xff" * width * 3, 3)
        for kind, width in zip(b"csf", (1, 2, 4), strict=True)
    ),
    array(b"CG", b"I", b"", 0),
)


def test_sound_records():
    records = [
        SOUND,
        changed(tags=b"".join(TAGS)),
        changed(name=b"*\0"),
        changed(name=b"x" * 254 + b"\0"),
        changed(name=b"a@b\0"),
        changed(qualities=b"\xff" * 10),
        changed(qualities=b"\x5d" * 10),
        changed({LENGTH: 0}, bases=b"", qualities=b""),  # SEQ *
        changed({OPERATIONS: 0, FLAG: 5}, cigar=b""),  # CIGAR *
        changed({LENGTH: 9}, bases=b"\x12" * 5, qualities=b"\x01" * 9, cigar=RUN.pack(9 << 4 | 4)),
        moved(b"I", runs(4, 0, 92, 2, 3, 0, 3, 4)),  # 4M92D3M3S in CG
        moved(b"i", runs(4, 0, 92, 2, 3, 0, 3, 4)),
        moved(b"I", runs(10, 0, 89, 2)),
        changed({OPERATIONS: 2}, cigar=runs(8, 0, 2, 4), tags=array(b"CG", b"I", b"", 0)),  # CG of something else
        changed({OPERATIONS: 3}, cigar=runs(5, 4, 9, 3, 5, 0)),  # only two runs stand for CG ...
        changed({OPERATIONS: 2}, cigar=runs(10, 4, 99, 3)),  # ... and only with it
        changed({FLAG: 4}),  # unmapped, with a place and a CIGAR
        changed({CONTIG: -1, POSITION: -1, FLAG: 4, OPERATIONS: 0, MATE: -1, MATE_POSITION: -1}, cigar=b""),
        changed({MATE: -1, MATE_POSITION: -1}),
        changed({CONTIG: -1, FLAG: 4, OPERATIONS: 0}, cigar=b""),  # POS without RNAME
        changed({MATE: -1, MATE_POSITION: 5000}),
        changed({POSITION: 990}),
    ]
    assert find(*records) == (-1, "")
    assert find(*records, header=ANY) == (-1, "")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (changed(name=b"\0"), "its name is empty"),
        (changed(name=b"a b\0"), "its name"),
        (changed(name=b"a\tb\0"), "its name"),
        (changed(name=b"@ab\0"), "its name"),
        (changed(name=b"a\xff\0"), "its name"),
        (changed(name=b"a\0b\0"), "its name"),
        (changed(name=b"abcde"), "its name"),
        (changed({NAME_LENGTH: 0}), "its parts"),
        (changed({LENGTH: -1}), "its parts"),
        (changed({LENGTH: 11}), "its parts"),
        (changed({OPERATIONS: 60000}), "its parts"),
        (changed(cigar=RUN.pack(9 << 4)), "its CIGAR"),
        (changed(cigar=RUN.pack(10 << 4 | 9)), "its CIGAR"),
        (changed({FLAG: 4}, cigar=RUN.pack(11 << 4)), "its CIGAR"),
        (changed({OPERATIONS: 2}, cigar=runs(10, 4, 99, 3), tags=tag(b"CG", b"Z", b"10M89N")), "the tag CG"),
        (changed({OPERATIONS: 2}, cigar=runs(10, 4, 99, 3), tags=tag(b"CG", b"I", b"1234")), "the tag CG"),
        (moved(b"f", runs(4, 0, 92, 2, 6, 0)), "the tag CG"),
        (moved(b"C", runs(4, 0, 92, 2, 6, 0)), "the tag CG"),
        (moved(b"I", b""), "the tag CG"),
        (moved(b"I", runs(10, 0)), "the tag CG"),  # shorter than what stands for it
        (moved(b"I", runs(4, 0, 93, 2, 3, 0, 3, 4)), "the tag CG"),  # covers 100 bases of the reference, not 99
        (moved(b"I", runs(4, 0, 92, 2, 3, 0, 4, 4)), "its CIGAR"),
        (moved(b"I", runs(4, 0, 92, 9, 3, 0, 3, 4)), "its CIGAR"),
        (changed(qualities=b"\x28" * 9 + b"\x5e"), "a base quality"),
        (changed(qualities=b"\xff" + b"\x28" * 9), "a base quality"),
        (changed(qualities=b"\xfe" * 10), "a base quality"),
        (changed(tags=b"X"), "a tag is cut off"),
        (changed(tags=b"XXZ"), "a tag is cut off"),
        (changed(tags=b"XXZtext"), "a tag is cut off"),
        (changed(tags=b"XXi\1\2\3"), "a tag is cut off"),
        (changed(tags=b"XXBi\1\0"), "a tag is cut off"),
        (changed(tags=array(b"XX", b"s", b"1234567", 4)), "a tag is cut off"),
        (changed(tags=array(b"XX", b"i", b"1234", -1)), "a tag is cut off"),
        (changed(tags=tag(b"1X", b"Z", b"")), "the name of a tag"),
        (changed(tags=tag(b"X:", b"Z", b"")), "the name of a tag"),
        (changed(tags=tag(b"\0\0", b"Z", b"")), "the name of a tag"),
        (changed(tags=TAGS[0] + TAGS[1] + tag(b"ab", b"A", b"x")), "has a tag twice"),
        (changed(tags=tag(b"XX", b"d", b"12345678")), "the type of a tag"),
        (changed(tags=array(b"XX", b"Z", b"", 0)), "the type of a tag"),
        (changed(tags=tag(b"XX", b"Z", b"a\tb")), "the text of a tag"),
        (changed(tags=tag(b"XX", b"Z", b"a\nb")), "the text of a tag"),
        (changed(tags=tag(b"XX", b"Z", b"\xc3\x28")), "the text of a tag"),
        (changed(tags=tag(b"XX", b"A", b"\xe4")), "the text of a tag"),
        (changed(tags=tag(b"XX", b"A", b" ")), "the text of a tag"),
        (changed(tags=tag(b"XX", b"H", b"1AE")), "a tag of type H"),
        (changed(tags=tag(b"XX", b"H", b"1G")), "a tag of type H"),
    ],
)
def test_bad_records(record, says):
    for header in (HEADER, ANY):
        row, reason = find(SOUND, SOUND, record, SOUND, header=header)
        assert row == 2 and says in reason


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (changed({CONTIG: 2}), "lies on a contig"),
        (changed({CONTIG: -2}), "lies on a contig"),
        (changed({CONTIG: -1, POSITION: -1}), "lies on a contig"),  # mapped
        (changed({POSITION: 991}), "lies on a contig"),
        (changed({POSITION: -1}), "lies on a contig"),
        (changed({FLAG: 4, POSITION: 1000}), "lies on a contig"),
        (changed({OPERATIONS: 0}, cigar=b""), "its CIGAR"),  # mapped
        (changed({MATE: 2}), "lies on a contig"),
        (changed({MATE_POSITION: 50}), "lies on a contig"),
        (changed(tags=tag(b"RG", b"Z", b"b")), "its read group"),
    ],
)
def test_what_the_header_does_not_have(record, says):
    row, reason = find(SOUND, record)
    assert row == 1 and says in reason
    assert find(SOUND, record, header=ANY) == (-1, "")


@pytest.mark.parametrize("size", [-(1 << 31), -4, 0, 31, (1 << 31) - 1])
def test_impossible_sizes(size):
    with pytest.raises(InputError, match=f"x.bam: record 7: damaged: its size is {size} bytes"):
        check_size("x.bam", np.frombuffer(struct.pack("<i", size), np.uint8), 7)
    check_size("x.bam", np.frombuffer(struct.pack("<i", 32), np.uint8), 7)
    check_size("x.bam", np.frombuffer(struct.pack("<i", size)[:3], np.uint8), 7)


LETTERS = st.characters(min_codepoint=0x80, exclude_categories=["Cs"])


@given(st.one_of(st.text(LETTERS, max_size=4).map(str.encode), st.lists(st.integers(128, 255), max_size=5).map(bytes)))
@example("\u0800\ud7ff\ue000\U00010000\U0010ffff".encode())
@example(b"\xc0\x80")  # a longer form than needed
@example(b"\xed\xa0\x80")  # a surrogate
@example(b"\xf4\x90\x80\x80")  # beyond the last character
def test_texts_are_utf8(value):
    """As Python decodes them."""
    try:
        value.decode()
        says = ""
    except UnicodeDecodeError:
        says = "the text of a tag has characters that SAM does not allow"
    assert find(changed(tags=tag(b"XX", b"Z", value)))[1] == says
