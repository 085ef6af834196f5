"""A small cohort in every format of variants, and mutations that know VCF, BCF and their indexes."""

import gzip
import random
import struct
from pathlib import Path

import pysam.bcftools

from helpers.blocks import compress_block
from helpers.cohorts import Line, block, variant, written
from helpers.command_samples import letters
from helpers.fuzzing import Mutator
from readwarp.formats.common.bgzf import EOF_BLOCK

CONTIGS = {"one": letters(90_000, 5), "two": letters(40_000, 6)}
LENGTHS = {name: len(bases) for name, bases in CONTIGS.items()}
SMALL = 6000  # bytes of data in a BGZF block, so that a small file has many
STEP = 400  # bases from one variant to the next


def bgzf(data: bytes, size: int = SMALL) -> bytes:
    return b"".join(compress_block(data[i : i + size]) for i in range(0, len(data), size)) + EOF_BLOCK


def genomic(name: str, seed: int) -> bytes:
    """A gVCF with blocks of reference, and a substitution, insertion or deletion now and then."""
    chance, out = random.Random(seed), b""
    for contig, bases in CONTIGS.items():
        lines, place = list[Line](), 0
        while place + 2 * STEP < len(bases):
            site = place + chance.randrange(STEP // 2, STEP)
            lines.append(block(place, site, bases[place], [0, 60, 700]))
            lines.append(_variant(chance, bases, site))
            place = site + len(lines[-1][1])
        lines.append(block(place, len(bases), bases[place], [0, 45, 500]))
        text = written(lines, name, LENGTHS, contig).encode()
        out += text if not out else text[text.index(b"FORMAT\t" + name.encode()) :].split(b"\n", 1)[1]
    return out


def _variant(chance: random.Random, bases: str, site: int) -> Line:
    ref = bases[site : site + chance.choice((1, 1, 1, 5))]
    alt = ref[0] if len(ref) > 1 else chance.choice([b for b in "ACGT" if b != ref] + [ref + "TG"])
    genotype, phred = chance.choice((("0/1", [200, 0, 300, 260, 310, 500]), ("1/1", [500, 60, 0, 510, 70, 550])))
    return variant(site, ref, alt, genotype, phred, depths=[12, 8, 0], info="MQ=50.5")


def as_bcf(folder: Path, text: bytes) -> bytes:
    """The decompressed BCF of a VCF."""
    (folder / "as_bcf.vcf").write_bytes(text)
    pysam.bcftools.view("-Ob", "-o", str(folder / "as_bcf.bcf"), str(folder / "as_bcf.vcf"), catch_stdout=False)
    return gzip.decompress((folder / "as_bcf.bcf").read_bytes())


def index_of(folder: Path, content: bytes, kind: str) -> bytes:
    """The decompressed index (tbi or csi) of a compressed VCF or BCF."""
    path = folder / ("indexed.bcf" if gzip.decompress(content)[:3] == b"BCF" else "indexed.vcf.gz")
    path.write_bytes(content)
    options = {"preset": "bcf" if path.suffix == ".bcf" else "vcf", "csi": kind == "csi", "force": True}
    pysam.tabix_index(str(path), **options)
    return gzip.decompress(Path(f"{path}.{kind}").read_bytes())


CELLS = (
    *(".", "", "-1", "0", "1", "99999999999", "2147483648", "-2147483648", "1e400", "nan", "inf", "x", "é", "\0", " "),
    *("1,2", ",", ".,.", "0,0,0,0,0,0,0,0,0", "30,0,40", "0,-5,10", "0.5,1", "1" * 400, "A" * 300, "PASS;q10"),
    *("<DEL>", "<NON_REF>", "<*>", "*", "ACGT", "N", "R", "A,A", "G]two:5]", "]x:1]A", "two", "three"),
    *("0/1", "0|1", "./.", "5/9", "127/128", "0/0/0/0/0/0/0/0", "/", "0/", "0/1:5:3:1,2"),
    *("END=1", "END=-5", "END=99999999999", "END=x", "END=", "END=3000000000;END=5", ";"),
    *("GT", "PL:GT", "GT:GT", "PL:PL:PL", ":", "GT:GQ:DP:AD:PL:PS:PGT:PID:SB:GL"),
)


def change_cells(chance: Mutator, text: bytes) -> bytes:
    """A line or two lost, doubled, moved or with other cells; now and then one of the header."""
    lines = text.split(b"\n")[:-1]
    first = next(i for i, line in enumerate(lines) if line[:1] not in (b"#", b"@"))
    for _ in range(chance.choice((1, 1, 2))):
        is_header = chance.random() < 0.15
        place = chance.randrange(first) if is_header else chance.randrange(first, len(lines))
        how = chance.randrange(10)
        if how == 0:
            del lines[place]
            lines.append(lines[-1])
        elif how == 1:
            lines.insert(place, lines[place])
        elif how == 2:
            other = chance.randrange(0 if is_header else first, len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif how == 3 or is_header:
            lines[place] = chance.bytes(lines[place])
        else:
            lines[place] = _change_cell(chance, lines[place])
    return b"\n".join(lines) + b"\n"


def _change_cell(chance: Mutator, line: bytes) -> bytes:
    cells = line.split(b"\t")
    place = chance.randrange(len(cells))
    value = chance.choice((*CELLS, str(chance.integer()))).encode()
    how = chance.randrange(5)
    if how == 0:
        del cells[place]
    elif how == 1:
        cells.insert(place, value)
    elif how == 2 or place < 7:
        cells[place] = value
    else:
        mark = b";" if place == 7 else b":"
        parts = cells[place].split(mark)
        parts[chance.randrange(len(parts))] = value
        cells[place] = mark.join(parts)
    return b"\t".join(cells)


def change_records(chance: Mutator, data: bytes) -> bytes:
    """Numbers of a BCF's records, or of its header, changed; lengths may lie."""
    out, (size,) = bytearray(data), struct.unpack_from("<I", data, 5)
    starts, place = [], 9 + size
    while place < len(data):
        starts.append(place)
        shared, own = struct.unpack_from("<II", data, place)
        place += 8 + shared + own
    for _ in range(chance.choice((1, 1, 2))):
        how, record = chance.randrange(6), chance.choice(starts)
        shared, own = struct.unpack_from("<II", data, record)
        if how == 0:  # lengths, contig, position, span, quality, numbers of alleles, fields and samples
            struct.pack_into("<I", out, record + 4 * chance.randrange(8), chance.integer())
        elif how == 1:
            out[record + chance.randrange(32)] = chance.randrange(256)
        elif how == 2:
            place = record + 32 + chance.randrange(max(1, shared - 24))
            out[place] = chance.choice(
                (0, 1, 0x10, 0x11, 0x15, 0x17, 0x51, 0xF1, 0xF7, 0xFF, 0x7F, 0x80, out[place] ^ 1)
            )
        elif how == 3:  # fields of samples, or where there are none, the length
            out[record + 8 + chance.randrange(shared, shared + own) if own else record] = chance.randrange(256)
        elif how == 4:
            out[9 + chance.randrange(size)] = chance.choice((0, 9, 10, 34, 44, 60, 61, 62, 255, chance.randrange(256)))
        else:
            struct.pack_into("<I", out, 5, chance.choice((size + 1, size - 1, chance.integer())))
    return bytes(out)


def change_numbers(chance: Mutator, data: bytes) -> bytes:
    """Words of an index changed: little ones, which are counts and numbers of bins, and offsets."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2))):
        if (how := chance.randrange(5)) == 0:
            out = bytearray(chance.bytes(bytes(out)))
            continue
        if len(out) < 8:
            break
        place = 4 * chance.randrange(1, len(out) // 4)
        (old,) = struct.unpack_from("<I", out, place)
        near = (old + chance.choice((-1, 1, 2, 8, 256, 65536))) % (1 << 32)
        struct.pack_into("<I", out, place, near if how < 3 else chance.choice((0, chance.integer())))
    return bytes(out)
