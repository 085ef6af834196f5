"""Mutations of BAM that keep its form: the file, its blocks and checksums are right, what its records say is not."""

from helpers.alignment_bytes import FIXED, LENGTH, NAME_LENGTH, OPERATIONS, Bam, Record, array, bgzf, fields_of, tag
from helpers.fuzzing import Mutator

LIMITS = {"i": (4, True), "B": (1, False), "H": (2, False)}
KINDS = [LIMITS[letter] for letter in FIXED.format[1:]]
TAG_NAMES = (b"XX", b"NM", b"RG", b"x1", b"1X", b"X ", b"\0\0", b"MC", b"SA", b"CG", b"BC", b"MI", b"RX")
TEXTS = (
    b"",
    b"text",
    b"a\tb",
    b"a\nb",
    b"\xff",
    b"1A",
    b"1AF",
    b"G1",
    b"0" * 300,
    b"100M",
    b"99999999999999999999M",
    b"7/A",
    b"ACGT-",
)


def mutate(chance: Mutator, bam: Bam) -> tuple[str, bytes]:
    """What was done, and the bytes of the file; `bam` is changed."""
    kinds = (*MUTATIONS, "number", "tags", "records", "header")
    kind = chance.choice((*kinds, "decompressed", "compressed"))
    if kind == "decompressed":
        return kind, bgzf(chance.bytes(bam.bytes()))
    if kind == "compressed":
        return kind, chance.bytes(bgzf(bam.bytes()))
    if kind == "header":
        return kind, bgzf(mutate_header(chance, bam))
    if kind == "records" or not bam.records:
        mutate_order(chance, bam)
    else:
        for record in chance.sample(bam.records, min(len(bam.records), chance.choice((1, 1, 3)))):
            MUTATIONS[kind](chance, record)
    return kind, bgzf(bam.bytes(), chance.choice((500, 20000, 65000)))


def mutate_number(chance: Mutator, record: Record) -> None:
    number = chance.randrange(len(record.numbers))
    width, is_signed = KINDS[number]
    value = chance.integer()
    if chance.random() < 0.5:
        value = record.numbers[number] + chance.choice((-1, 1, 2, 16, 256, -256))
    raw = (value % (1 << 8 * width)).to_bytes(width, "little")
    record.numbers[number] = int.from_bytes(raw, "little", signed=is_signed)


def mutate_size(chance: Mutator, record: Record) -> None:
    sizes = (0x80000000, -4, -1, 0, 31, 32, 33, len(record.bytes()) - 3, len(record.bytes()) - 5, 0x7FFFFFFF)
    record.size = chance.choice((*sizes, chance.integer()))


def mutate_name(chance: Mutator, record: Record) -> None:
    names = (b"", b"\0", b"*\0", b"a b\0", b"a\tb\0", b"a\0b\0", b"@a\0", b"x" * 254 + b"\0", b"\xff\0", b"no-end")
    record.name = chance.choice((*names, chance.bytes(record.name)))[:255]
    if chance.random() < 0.8:
        record.numbers[NAME_LENGTH] = len(record.name)


def mutate_cigar(chance: Mutator, record: Record) -> None:
    runs = [chance.choice((0, 1, 50, 100, 101, (1 << 28) - 1)) << 4 | chance.randrange(16) for _ in range(3)]
    whole = b"".join(run.to_bytes(4, "little") for run in runs[: chance.randrange(4)])
    record.cigar = chance.choice((whole, record.cigar * 2, chance.bytes(record.cigar)))
    if chance.random() < 0.8:
        record.numbers[OPERATIONS] = len(record.cigar) // 4 % (1 << 16)


def mutate_moved(chance: Mutator, record: Record) -> None:
    """The CIGAR, or another, is in CG, as if it were too long for its place."""
    runs = [int.from_bytes(record.cigar[at : at + 4], "little") for at in range(0, len(record.cigar), 4)]
    bases = record.numbers[LENGTH]
    runs = chance.choice(
        (runs, [1 << 4, max(bases - 1, 0) << 4], [run for each in runs for run in (each, 6)], runs * 3)
    )
    covered = sum(run >> 4 for run in runs if run & 15 in (0, 2, 3, 7, 8))
    held = [bases << 4 | 4, chance.choice((covered, covered, covered + 1, 0, 1 << 27)) << 4 | 3]
    record.cigar, moved = (b"".join(run.to_bytes(4, "little") for run in each) for each in (held, runs))
    record.numbers[OPERATIONS] = 2
    count = chance.choice((len(runs), len(runs), 0, -1, len(runs) + 1, chance.integer()))
    record.tags += array(b"CG", chance.choice((b"I", b"I", b"i", b"f", b"C")), moved, count)


def mutate_bases(chance: Mutator, record: Record) -> None:
    record.bases = chance.choice((b"", b"\xff" * len(record.bases), record.bases * 2, chance.bytes(record.bases)))
    if chance.random() < 0.8:
        record.numbers[LENGTH] = chance.choice((0, 1, 2 * len(record.bases), max(0, 2 * len(record.bases) - 1)))
        record.qualities = record.qualities[:1] * record.numbers[LENGTH]


def mutate_qualities(chance: Mutator, record: Record) -> None:
    values = bytearray(record.qualities)
    if values:
        values[chance.randrange(len(values))] = chance.choice((93, 94, 127, 222, 254, 255))
    record.qualities = chance.choice((bytes(values), *(bytes([value]) * len(values) for value in (255, 254, 94))))


def mutate_tags(chance: Mutator, record: Record) -> None:
    fields = list(fields_of(record.tags))
    place = chance.randrange(len(fields) + 1)
    how = chance.choice(("new", "new", "array", "twice", "bytes", "cut"))
    if how == "new":
        kind = bytes([chance.choice(b"AcCsSiIfZHBdq\0\xff")])
        value = chance.choice(TEXTS) if kind in b"ZH" else chance.randbytes(chance.choice((1, 2, 4, 4, 8)))
        fields.insert(place, tag(chance.choice(TAG_NAMES), kind, value))
    elif how == "array":
        kind, count = bytes([chance.choice(b"cCsSiIfZA\0")]), chance.choice((0, 1, 3, -1, chance.integer()))
        fields.insert(place, array(b"XB", kind, chance.randbytes(chance.choice((0, 3, 4, 12))), count))
    elif fields and how == "twice":
        fields.append(chance.choice(fields))
    elif fields:
        place = chance.randrange(len(fields))
        fields[place] = chance.bytes(fields[place]) if how == "bytes" else fields[place][: chance.randrange(9)]
    record.tags = b"".join(fields)


def mutate_order(chance: Mutator, bam: Bam) -> None:
    """Records lost, doubled, moved, or all but a few gone."""
    if not bam.records:
        return
    place, other = chance.randrange(len(bam.records)), chance.randrange(len(bam.records))
    how = chance.randrange(4)
    if how == 0:
        del bam.records[place]
    elif how == 1:
        bam.records.insert(other, bam.records[place])
    elif how == 2:
        bam.records.insert(other, bam.records.pop(place))
    else:
        del bam.records[chance.randrange(3) :]


def mutate_header(chance: Mutator, bam: Bam) -> bytes:
    """The decompressed bytes."""
    how = chance.choice(("text", "lines", "lines", "contigs", "sizes", "bytes"))
    if how == "text":
        bam.text = chance.bytes(bam.text)
    elif how == "lines":
        lines = bam.text.splitlines(keepends=True)
        place = chance.randrange(len(lines) + 1)
        strange = (b"\n", b"@\n", b"@SQ\tSN:one\tLN:6000\n", b"@RG\n", b"@RG\tID:\n", b"@PG\tID:a\tPP:a\n", b"x\n")
        new = (
            *strange,
            b"@SQ\tSN:new\tLN:x\n",
            b"@CO\t\xff\0\n",
            b"@RG\tID:a\tSM:../x\n",
            b"@RG\tSM:x\n",
            b"@PG\tPN:x\n",
            *lines,
        )
        lines[place : place + chance.randrange(2)] = [chance.choice((b"", *new))]
        bam.text = b"".join(lines)
    elif how == "contigs" and bam.contigs:
        place = chance.randrange(len(bam.contigs))
        name, length = bam.contigs[place]
        length = chance.choice((length, length + 1, 0, -1, chance.integer() - (1 << 31)))
        new = (chance.bytes(name), length), (name, length), (b"\0", length), (b"", length), (name[:-1], length)
        bam.contigs[place : place + chance.randrange(2)] = [chance.choice(new)]
    elif how == "sizes":
        data = bytearray(bam.bytes())
        place = chance.choice((4, 8 + len(bam.text), 12 + len(bam.text)))
        data[place : place + 4] = chance.integer().to_bytes(4, "little")
        return bytes(data)
    elif how == "bytes":
        header = bam.header()
        return chance.bytes(header) + bam.bytes()[len(header) :]
    return bam.bytes()


MUTATIONS = {
    "number": mutate_number,
    "size": mutate_size,
    "name": mutate_name,
    "cigar": mutate_cigar,
    "moved": mutate_moved,
    "bases": mutate_bases,
    "qualities": mutate_qualities,
    "tags": mutate_tags,
}
