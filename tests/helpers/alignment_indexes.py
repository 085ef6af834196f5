"""BAI and CSI taken apart and put together again, and mutations that keep their form."""

import gzip
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pysam

from helpers.alignment_bytes import bgzf
from helpers.command_samples import fasta, letters
from helpers.fuzzing import Mutator

CONTIGS = {"one": letters(90_000, 11), "none": letters(20_000, 12), "two": letters(50_000, 13)}
STEP, DEPTH, LENGTH = 2100, 12, 100


@dataclass
class Contig:
    """Bins by number: the offset of CSI, and chunks as pairs of virtual offsets; the windows of BAI."""

    bins: list[tuple[int, int, list[tuple[int, int]]]]
    windows: list[int] = field(default_factory=list)


@dataclass
class Index:
    """An index of BAM."""

    contigs: list[Contig]
    depths: tuple[int, int] | None  # of CSI: bits of the smallest bin, levels
    unplaced: int | None  # reads

    @classmethod
    def read(cls, path: Path) -> "Index":
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        is_csi, at = data[:3] == b"CSI", 4
        depths = struct.unpack_from("<ii", data, 4) if is_csi else None
        at = 16 if is_csi else 4
        (count,), at, contigs = struct.unpack_from("<i", data, at), at + 4, []
        for _ in range(count):
            (bins,), at, contig = struct.unpack_from("<i", data, at), at + 4, Contig([])
            for _ in range(bins):
                number, offset, chunks = struct.unpack_from("<IQi", data, at) if is_csi else (0, 0, 0)
                if not is_csi:
                    number, chunks = struct.unpack_from("<Ii", data, at)
                at += 16 if is_csi else 8
                words = struct.unpack_from(f"<{2 * chunks}Q", data, at)
                contig.bins.append((number, offset, list(zip(words[::2], words[1::2], strict=True))))
                at += 16 * chunks
            if not is_csi:
                (windows,) = struct.unpack_from("<i", data, at)
                contig.windows = list(struct.unpack_from(f"<{windows}Q", data, at + 4))
                at += 4 + 8 * windows
            contigs.append(contig)
        return cls(contigs, depths, *struct.unpack_from("<Q", data, at))

    def bytes(self) -> bytes:
        out = [struct.pack("<4siii", b"CSI\x01", *self.depths, 0) if self.depths else b"BAI\x01"]
        out.append(struct.pack("<i", len(self.contigs)))
        for contig in self.contigs:
            out.append(struct.pack("<i", len(contig.bins)))
            for number, offset, chunks in contig.bins:
                out.append(struct.pack("<I", number % (1 << 32)))
                out.append(struct.pack("<Q", offset % (1 << 64)) if self.depths else b"")
                out.append(struct.pack("<i", len(chunks)))
                out += [struct.pack("<QQ", begin % (1 << 64), end % (1 << 64)) for begin, end in chunks]
            if not self.depths:
                words = [window % (1 << 64) for window in contig.windows]
                out.append(struct.pack(f"<i{len(words)}Q", len(words), *words))
        out.append(b"" if self.unplaced is None else struct.pack("<Q", self.unplaced))
        return bgzf(b"".join(out)) if self.depths else b"".join(out)


def mutate(chance: Mutator, index: Index) -> tuple[str, bytes]:
    """What was done, and the bytes; `index` is changed."""
    if chance.random() < 0.2:
        data = index.bytes()
        if index.depths and chance.random() < 0.7:
            return "decompressed", bgzf(chance.bytes(gzip.decompress(data)))
        return "bytes", chance.bytes(data)
    offsets = sorted({place for contig in index.contigs for _, _, chunks in contig.bins for c in chunks for place in c})
    offsets += [window for contig in index.contigs for window in contig.windows]
    contig = chance.choice([contig for contig in index.contigs if contig.bins] or index.contigs)
    kind = chance.choice(("bin", "bin", "chunk", "chunk", "windows", "windows", "windows", "contigs", "other"))
    if kind == "bin" and contig.bins:
        _mutate_bin(chance, contig, offsets)
    elif kind == "chunk" and contig.bins:
        chunks = chance.choice(contig.bins)[2]
        place = chance.randrange(len(chunks) + 1)
        new = _offset(chance, offsets), _offset(chance, offsets)
        old = chunks[place] if place < len(chunks) else new
        choices = ([], [new], [(new[0], old[1])], [(old[0], new[1])], [old, old])
        chunks[place : place + 1] = chance.choice(choices)
    elif kind == "windows" and contig.windows:
        _mutate_windows(chance, contig, offsets)
    elif kind == "contigs":
        place, other = chance.randrange(len(index.contigs)), chance.randrange(len(index.contigs))
        new = chance.choice(([], [Contig([])], [index.contigs[other]], [index.contigs[place]] * 2))
        index.contigs[place : place + 1] = new
    else:
        index.unplaced = chance.choice((None, 0, chance.integer()))
        if index.depths:
            depths = list(index.depths)
            depths[chance.randrange(2)] += chance.choice((-1, 1, 3, -6, 20, chance.integer() - (1 << 31)))
            index.depths = tuple((value + (1 << 31)) % (1 << 32) - (1 << 31) for value in depths)
    return kind, index.bytes()


def _offset(chance: Mutator, offsets: list[int]) -> int:
    known = chance.choice(offsets or [0])
    near = known + chance.choice((-1, 1, 40, 1 << 16, -(1 << 16), 5 << 16))
    return chance.choice((known, known, near, known ^ 1 << chance.randrange(40), 0, chance.integer() << 16))


def _mutate_bin(chance: Mutator, contig: Contig, offsets: list[int]) -> None:
    place = chance.randrange(len(contig.bins))
    number, offset, chunks = contig.bins[place]
    other = chance.choice((number + 1, number - 1, 0, 4681, 37450, 37449, chance.integer()))
    new = [(other, offset, chunks)], [], [(number, offset, [])], [(number, _offset(chance, offsets), chunks)]
    contig.bins[place : place + 1] = chance.choice((*new, new[3], [contig.bins[place]] * 2))


def _mutate_windows(chance: Mutator, contig: Contig, offsets: list[int]) -> None:
    windows = contig.windows
    place = chance.randrange(len(windows))
    how = chance.randrange(8)
    if how < 3:
        windows[place] = _offset(chance, offsets)
    elif how == 3:
        windows[place:] = []
    elif how == 4:
        del windows[place]
    elif how == 5:
        windows.insert(place, windows[place])
    elif how == 6:
        windows[:] = [0] * len(windows) if place % 2 else []
    else:
        windows[: place + 1] = [windows[place]] * (place + 1)


def write_piles(folder: Path) -> Path:
    """A reference, and reads.bam: piles of reads with a variant each, two contigs of three, and unplaced reads.

    Blocks are small, so that an index has many places to choose from.
    """
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    chance, path = random.Random(4), folder / "reads.bam"
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": len(s)} for n, s in CONTIGS.items()]}
    with pysam.AlignmentFile(path, "wb", header=header) as out:
        for contig in ("one", "two"):
            for place in range(500, len(CONTIGS[contig]) - 500, STEP):
                starts = sorted(place - chance.randrange(20, 80) for _ in range(DEPTH))
                for number, start in enumerate(starts):
                    bases = CONTIGS[contig][start : start + LENGTH]
                    at = place - start
                    bases = bases[:at] + "ACGT"["ACGT".index(bases[at]) - 1] + bases[at + 1 :]
                    out.write(_read(out.header, f"{contig}:{place}:{number}", contig, start, bases))
        for number in range(5):
            out.write(_read(out.header, f"unplaced:{number}", None, -1, letters(LENGTH, number)))
    with pysam.BGZFile(str(path)) as file:
        data = file.read()
    path.write_bytes(bgzf(data, 3000))
    return path


def _read(header: pysam.AlignmentHeader, name: str, contig: str | None, start: int, bases: str) -> pysam.AlignedSegment:
    read = pysam.AlignedSegment(header)
    read.query_name, read.query_sequence = name, bases
    read.query_qualities = pysam.qualitystring_to_array("I" * len(bases))
    if contig is None:
        read.flag = 4
    else:
        read.flag, read.reference_name, read.reference_start = 16 * (start % 2), contig, start
        read.mapping_quality, read.cigarstring = 60, f"{len(bases)}M"
    return read
