"""Records out: SAM text and BAM records agree with each other and with a plain Python writer."""

import math
import random
import struct

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import COMPLEMENT, Read, Row, alignments_of, batch_of, sam_lines
from readwarp.finish.writer import AlignmentWriter
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.sam import Encoder

CONTIGS = (Contig("chr1", 1 << 20), Contig("HLA-A*01:01", 3000, "0" * 32))
NAMES = tuple(contig.name for contig in CONTIGS)
HEADER = header_text(CONTIGS, read_groups=["@RG\tID:a\tSM:s", "@RG\tID:lane two\tSM:s"])
GROUPS = ("a", "lane two")
COUNTED = {"MM:Z:C+m,1;": b"MMZC+m,1;\0", "Mm:Z:": b"MmZ\0", "ML:B:C,7": b"MLBC\1\0\0\0\7", "MN:i:3": b"MNC\3"}
COUNTED["Ml:B:C,1,2"] = b"MlBC\2\0\0\0\1\2"  # they tell of bases by number, so they need all of them
INTEGERS = {b"c": "b", b"C": "B", b"s": "h", b"S": "H", b"i": "i", b"I": "I"}

TURNED = {"OQ": b"!5I~", "cd": bytes([0, 1, 200]), "ac": b"ACGTNacgt"}  # they have a value for each base


def per_base(name, values):
    """The bytes of a field; of cd with elements of two bytes."""
    if name != "cd":
        return name.encode() + b"Z" + values + b"\0"
    return b"cdBS" + struct.pack(f"<I{len(values)}H", len(values), *values)


def per_base_text(name, values, is_complement):
    if name == "cd":
        return f"cd:B:S,{','.join(map(str, values))}"
    complement = str.maketrans("ACGTacgt", "TGCAtgca" if is_complement and name == "ac" else "ACGTacgt")
    return f"{name}:Z:{values.decode().translate(complement)}"


@st.composite
def tags(draw):
    """(BAM bytes, SAM text) of a few fields."""
    binary, text = b"", []
    for number in range(draw(st.integers(0, 4))):
        name = f"z{number}"
        kind = draw(st.sampled_from("AZHBi"))
        if kind in "AZH":
            value = draw(st.sampled_from({"A": "x!", "Z": ["", "a b:c", "~"], "H": ["", "1AE3"]}[kind]))
            binary += name.encode() + kind.encode() + value.encode() + (b"" if kind == "A" else b"\0")
            text.append(f"{name}:{kind}:{value}")
            continue
        letter = draw(st.sampled_from(sorted(INTEGERS)))
        low = struct.calcsize(INTEGERS[letter]) * 8
        limits = (-(1 << low - 1), (1 << low - 1) - 1) if letter.islower() else (0, (1 << low) - 1)
        values = draw(st.lists(st.integers(*limits), min_size=1, max_size=1 if kind == "i" else 5))
        packed = struct.pack(f"<{len(values)}{INTEGERS[letter]}", *values)
        if kind == "i":
            binary += name.encode() + letter + packed
            text.append(f"{name}:i:{values[0]}")
        else:
            binary += name.encode() + b"B" + letter + struct.pack("<I", len(values)) + packed
            text.append(f"{name}:B:{letter.decode()},{','.join(map(str, values))}")
    return binary, text


@st.composite
def rows(draw, index):
    """A read, its row and the SAM line that must come out."""
    length = draw(st.integers(0, 12))
    bases = draw(st.text("ACGTN", min_size=length, max_size=length))
    qualities = draw(st.none() | st.text("!5I~", min_size=length, max_size=length))
    name = draw(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=9))
    group = draw(st.integers(-1, 1))
    (carried, carried_text), (own, own_text) = draw(tags()), draw(tags())
    counted = draw(st.lists(st.sampled_from(sorted(COUNTED)), unique=True))
    turned = draw(st.lists(st.sampled_from(sorted(TURNED)), unique=True)) if length else []
    values = {
        field: draw(st.lists(st.sampled_from(TURNED[field]), min_size=length, max_size=length)) for field in turned
    }
    carried += b"".join(per_base(field, bytes(values[field])) for field in turned)
    read = Read(
        name, 0, bases, qualities if length else "", carried + b"".join(COUNTED[text] for text in counted), group
    )
    strand, supplementary = draw(st.booleans()), draw(st.booleans())
    left, right = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    mapped = length > left + right + 1
    clip = "H" if supplementary else "S"
    middle = length - left - right
    cigar = f"{left}{clip}" * (left > 0) + f"1M2D{middle - 1}M" + f"{right}{clip}" * (right > 0) if mapped else "*"
    flag = 16 * strand | (2048 * supplementary if mapped else 4)
    contig, mate = draw(st.integers(0, 1)) if mapped else -1, draw(st.integers(-1, 1))
    place, mate_place = draw(st.integers(0, 2000)) if mapped else -1, draw(st.integers(0, 2000)) if mate >= 0 else -1
    size, quality = draw(st.integers(-(10**6), 10**6)), draw(st.integers(0, 60))
    has_bases = draw(st.integers(0, 3)) > 0
    row = Row(index, flag, contig, place, quality, cigar, mate, mate_place, size, own, has_bases)
    shown = bases[::-1].translate(COMPLEMENT) if strand else bases
    shown_qualities = read.qualities[::-1] if strand and read.qualities else read.qualities
    if mapped and supplementary:
        shown = shown[left : length - right]
        shown_qualities = shown_qualities and shown_qualities[left : length - right]
    for field in turned:
        seen = bytes(values[field][::-1] if strand else values[field])
        seen = seen[left : length - right] if mapped and supplementary else seen
        if seen and has_bases:
            carried_text.append(per_base_text(field, seen, strand))
    if not has_bases:
        shown = shown_qualities = ""
    line = [
        name or "*",
        str(flag),
        NAMES[contig] if mapped else "*",
        str(place + 1),
        str(quality),
        cigar,
        "*" if mate < 0 else "=" if mate == contig else NAMES[mate],
        str(mate_place + 1),
        str(size),
        shown or "*",
        shown_qualities or "*",
    ]
    group_text = [f"RG:Z:{GROUPS[group]}"] if group >= 0 else []
    counted = counted if len(shown) == length else []
    return read, row, "\t".join(line + own_text + group_text + carried_text + counted)


@settings(max_examples=100)
@given(st.data())
def test_sam_text_is_what_plain_python_writes(data):
    made = [data.draw(rows(i)) for i in range(data.draw(st.integers(0, 5)))]
    reads, alignments = batch_of([m[0] for m in made]), alignments_of([m[1] for m in made])
    encoded = Encoder(NAMES, GROUPS, text=True).encode(reads, alignments)
    assert encoded.data.tobytes().decode() == "".join(m[2] + "\n" for m in made)
    starts = [encoded.data[a:b].tobytes().decode() for a, b in zip(encoded.offsets, encoded.offsets[1:], strict=False)]
    assert starts == [m[2] + "\n" for m in made]


@settings(max_examples=40)
@given(st.data())
def test_bam_records_read_back_as_the_same_text(tmp_path_factory, data):
    made = [data.draw(rows(i)) for i in range(data.draw(st.integers(0, 5)))]
    reads, alignments = batch_of([m[0] for m in made]), alignments_of([m[1] for m in made])
    path = tmp_path_factory.getbasetemp() / "records.bam"
    with AlignmentWriter(str(path), HEADER) as writer:
        writer.write(Encoder(NAMES, GROUPS).encode(reads, alignments))
    assert sam_lines(path) == [m[2] for m in made]
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        assert str(file.header) == HEADER
        for record in file:
            start = record.reference_start
            stop = (record.reference_end or start + 1) if record.cigartuples else start + 1
            assert record.bin == expected_bin(start, stop)


def expected_bin(start, stop):
    """The binning code of the SAM specification, literally."""
    stop -= 1
    for shift, offset in ((14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)):
        if start >> shift == stop >> shift:
            return (offset + (start >> shift)) & 0xFFFF
    return 0


@pytest.mark.parametrize("seed", range(3))
def test_floats_have_six_digits_as_printf_writes_them(seed):
    rng = random.Random(seed)
    values = [0.0, -0.0, 1.0, 0.5, 1e-5, 1e-4, 123456.0, 1234567.0, 1e20, 3.4e38, 1e-38, -2.5e-7, math.inf, -math.inf]
    values += [rng.uniform(-1, 1) * 10 ** rng.randint(-30, 30) for _ in range(300)]
    singles = np.array(values, np.float32)
    reads = [Read("r", 0, "A", "I", b"zff" + value.tobytes()) for value in singles]
    encoded = Encoder((), (), text=True).encode(
        batch_of(reads), alignments_of([Row(i, 4, -1, -1, 0, "*") for i in range(len(reads))])
    )
    got = [line.rsplit(":", 1)[1] for line in encoded.data.tobytes().decode().splitlines()]
    assert got == [f"{float(value):g}" for value in singles]
