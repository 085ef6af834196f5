"""Random templates of all kinds, mapped to few places: encoded records, and files of them."""

import random
import re

from helpers.batch_samples import Read, Row, alignments_of, batch_of, random_read
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.sam import Encoder

CONTIGS = [Contig("one", 5000), Contig("two", 3000)]
GROUPS = ["@RG\tID:a\tSM:s\tLB:x", "@RG\tID:b\tSM:s\tLB:y", "@RG\tID:c\tSM:s\tLB:x"]


def mates(rng, number, group, places, tags):
    """The reads of a template and their rows: mapped, single-end, half-mapped or unmapped, clipped at random."""
    name = f"{rng.choice('qt')}{number:0{rng.randint(1, 6)}}:{rng.randrange(12)}"
    kind = rng.choices(("pair", "single", "half", "none"), (8, 2, 1, 1))[0]
    size = rng.choice((30, 40))
    if kind == "single":
        reads = [Read(name, 0, *random_read(rng, size), tags, group)]
        return reads, [placed(rng, 0, size, 0, places)]
    reads = [Read(name, segment, *random_read(rng, size), tags, group) for segment in (1, 2)]
    if kind == "none":
        return reads, [Row(0, 77, -1, -1, 0, "*"), Row(1, 141, -1, -1, 0, "*")]
    first, last = (placed(rng, i, size, 1 | 64 << i, places) for i in (0, 1))
    if kind == "half":
        last = Row(1, 133 | (first.flag & 16) * 2, first.contig, first.position, 0, "*", first.contig, first.position)
        first = first._replace(flag=first.flag | 8, mate_contig=first.contig, mate_position=first.position)
        return reads, [first, last]
    return reads, [linked(first, last), linked(last, first)]


def placed(rng, index, size, flag, places):
    left, right = rng.choice((0, 0, 3, 7)), rng.choice((0, 0, 5))
    contig, place = rng.choice(places)
    middle = size - left - right
    inner = rng.choice((f"{middle}M", f"5M2D{middle - 5}M", f"5M3I{middle - 8}M"))
    cigar = f"{left}S" * (left > 0) + inner + f"{right}S" * (right > 0)
    position = place + (left if rng.random() < 0.8 else 0)
    return Row(index, flag | rng.choice((0, 16)), contig, position, 60, cigar)


def linked(row, mate):
    tags = b"MCZ" + mate.cigar.encode() + b"\0MQC\x3c"
    flag = row.flag | (mate.flag & 16) * 2
    return row._replace(flag=flag, mate_contig=mate.contig, mate_position=mate.position, tags=tags)


def with_supplementary(rng, rows, places):
    """Some first rows get a second, hard-clipped alignment."""
    out = []
    for row in rows:
        out.append(row)
        if rng.random() < 0.1 and not row.flag & 4:
            length = sum(op for op in lengths(row.cigar, "MIS"))
            contig, place = rng.choice(places)
            cigar = f"10H{length - 10}M"
            out.append(row._replace(flag=row.flag | 0x800, contig=contig, position=place, cigar=cigar))
    return out


def lengths(cigar, letters):
    return [int(number) for number, letter in re.findall(r"(\d+)(\D)", cigar) if letter in letters]


def templates(seed, count=1500, spread=12, groups=(0,), tags_of=None):
    """Encoded batches of templates at few positions, so that many are duplicates.

    tags_of: makes the fields of a template, of a random generator.
    """
    rng = random.Random(seed)
    places = [(rng.randrange(2), rng.randrange(100, 2000)) for _ in range(spread)]
    encoder = Encoder(("one", "two"), ("a", "b", "c"))
    for first in range(0, count, 100):
        reads, rows = [], []
        for number in range(first, first + 100):
            tags = tags_of(rng) if tags_of else b""
            new, placed_rows = mates(rng, number, rng.choice(groups), places, tags)
            rows += [row._replace(read=row.read + len(reads)) for row in with_supplementary(rng, placed_rows, places)]
            reads += new
        yield encoder.encode(batch_of(reads), alignments_of(rows))


def written(path, batches, order, **options):
    with AlignmentWriter(str(path), header_text(CONTIGS, order, GROUPS), Finish(order, **options)) as writer:
        for batch in batches:
            writer.write(batch)
    return path
