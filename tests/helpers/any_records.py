"""Records of all kinds that samtools accepts, at random, and the texts of samtools about them."""

import random
import subprocess
import sys
from pathlib import Path

import pysam

ON_READ, ON_REFERENCE = "MIS=X", "MDN=X"
LETTERS = "ACGT" * 8 + "N" * 2 + "MRSVWYHKDB="
TAGS = {"NM": range(300), "AS": range(-5, 70_000, 999), "RG": "ab", "XX": [0.5], "MD": ["10A5"], "BQ": "ab"}


def make_contigs(rng: random.Random) -> dict[str, str]:
    """Letters of contigs: some lower-case, some not ACGT; of different GC content."""
    contigs = {}
    for name, length, weights in (
        ("one", 90_000, "AAAACGT"),
        ("none", 300, "A"),
        ("two", 500, "acgtNnRCCGG"),
        ("HLA*1:1", 2_500, "GCT"),
    ):
        contigs[name] = "".join(rng.choices(weights, k=length))
    return contigs


def write_contigs(path: Path, contigs: dict[str, str]) -> Path:
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in contigs.items()))
    pysam.faidx(str(path))
    return path


def make_cigar(rng: random.Random, longest: int) -> list[tuple[int, str]]:
    """Clips at the ends, and runs of any kind between them; some of no length."""
    inner = [
        (rng.choice((0, 1, 2, 5, rng.randrange(longest))), rng.choice("MMMMM=XIDNP"))
        for _ in range(rng.randrange(1, 7))
    ]
    if not any(length for length, operation in inner if operation in "M=X"):
        inner.append((rng.randrange(1, longest), "M"))
    clips = [[(rng.randrange(1, 9), letter)] if rng.random() < 0.2 else [] for letter in "HSSH"]
    return [*clips[0], *clips[1], *inner, *clips[2], *clips[3]]


def make_record(rng: random.Random, header: pysam.AlignmentHeader, longest: int) -> pysam.AlignedSegment:
    """One of any kind; runs of its CIGAR are up to `longest`, and it fits its contig."""
    lengths, read = header.lengths, pysam.AlignedSegment(header)
    read.query_name = rng.choice(("a", "b/1", "name:with:colons", "x" * 200)) + str(rng.randrange(30))
    read.flag = rng.randrange(1 << 12) & rng.choice((0xFFF, 0x8F3, 0x4F3, 0xF3, 0x63))
    read.mapping_quality = rng.choice((0, 4, 5, 60, rng.randrange(256)))
    cigar = make_cigar(rng, longest)
    span = sum(length for length, operation in cigar if operation in ON_REFERENCE)
    fitting = [
        contig for contig, length in enumerate(lengths) if length >= span and header.references[contig] != "none"
    ]
    is_placed = bool(fitting) and rng.random() < 0.95
    if is_placed:
        read.reference_id = rng.choice(fitting)
        read.reference_start = min(rng.randrange(lengths[read.reference_id] - span + 1), lengths[read.reference_id] - 1)
        read.cigarstring = None if read.is_unmapped else "".join(f"{length}{operation}" for length, operation in cigar)
    else:
        read.flag |= 0x4
    size = sum(length for length, operation in cigar if operation in ON_READ)
    if read.is_unmapped or rng.random() < 0.95:
        read.query_sequence = "".join(rng.choices(LETTERS, k=size)) or None
        if rng.random() < 0.9:
            read.query_qualities = [rng.choice((0, 2, 37, rng.randrange(94))) for _ in range(size)]
    if rng.random() < 0.9:
        read.next_reference_id = rng.choice((read.reference_id, rng.randrange(len(lengths)), -1))
        near = max(0, read.reference_start + rng.choice((0, -50, 70)))
        read.next_reference_start = (
            near if 0 <= near < lengths[read.next_reference_id] and read.next_reference_id >= 0 else -1
        )
        read.template_length = rng.choice((0, 1, -1, 350, -350, rng.randrange(-9000, 9000), 10**9))
    for name, values in TAGS.items():
        if rng.random() < 0.6:
            read.set_tag(name, rng.choice(values))
    return read


def write_records(path: Path, header: pysam.AlignmentHeader, records: list[pysam.AlignedSegment]) -> Path:
    """As a sorted and indexed BAM file."""
    records = sorted(records, key=lambda read: (read.reference_id & 0xFFFF, read.reference_start))
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for record in records:
            out.write(record)
    pysam.index(str(path))
    return path


def header_of(contigs: dict[str, str]) -> pysam.AlignmentHeader:
    lines = [{"SN": name, "LN": len(letters)} for name, letters in contigs.items()]
    groups = [{"ID": name, "SM": "sample"} for name in "ab"]
    return pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": lines, "RG": groups})


def text_of_samtools(path: Path, command: str, *options: str) -> list[str]:
    """The lines of `samtools COMMAND OPTIONS FILE`."""
    if command == "stats":  # it would keep the text to itself
        options = (*options, "-@", "0")
    code = f"import pysam, sys; sys.stdout.write(pysam.{command}(*sys.argv[1:]))"
    program = [sys.executable, "-c", code]
    done = subprocess.run([*program, *options, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")
