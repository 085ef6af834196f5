"""SAM header text (@HD, @SQ, @RG, @PG, @CO), and BAM's binary header."""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError, UsageError
from readwarp.formats.common.names import text_problem
from readwarp.version import __version__
from readwarp.wording import printable

ORDER = {"none": "SO:unsorted\tGO:query", "coordinate": "SO:coordinate", "name": "SO:queryname\tSS:queryname:natural"}
MAGIC = b"BAM\x01"
MAX_HEADER = 1 << 28  # bytes; a header that claims more is damaged
TOO_LONG = "damaged: its header says that it has more than 256 MiB"
NAMELESS = "damaged: its header has a contig without a proper name and length"
NAME = re.compile(rb"[!-~]+")  # contig name
LINE = re.compile(r"@CO\t.*|@CO|@[A-Za-z]{2}(\t[A-Za-z][A-Za-z0-9]:[^\t]*)+")


class Contig(NamedTuple):
    name: str
    length: int
    md5: str = ""
    is_alternate: bool = False  # an ALT contig, marked AH:* as by bwa mem

    @property
    def line(self) -> str:
        more = (f"\tM5:{self.md5}" if self.md5 else "") + ("\tAH:*" if self.is_alternate else "")
        return f"@SQ\tSN:{self.name}\tLN:{self.length}{more}"


def header_text(
    contigs: Iterable[Contig],
    sort: str = "none",
    read_groups: Sequence[str] = (),
    programs: Sequence[str] = (),
    comments: Sequence[str] = (),
) -> str:
    """Build header text. Read groups, programs and comments are whole lines; `sort` is none, coordinate or name."""
    lines = [f"@HD\tVN:1.6\t{ORDER[sort]}"]
    lines += [contig.line for contig in contigs]
    return "".join(line + "\n" for line in (*lines, *read_groups, *programs, *comments))


def field(line: str, tag: str) -> str | None:
    """Return the value of `tag` in a header line."""
    return next((part[3:] for part in line.split("\t")[1:] if part.startswith(tag + ":")), None)


def contig_in(line: str) -> Contig:
    """Parse the contig of an @SQ line written by readwarp."""
    name, length, md5 = (field(line, tag) or "" for tag in ("SN", "LN", "M5"))
    return Contig(name, int(length or 0), md5, field(line, "AH") is not None)


def lines_of(text: str, kind: str) -> list[str]:
    """Return the header lines that begin with @`kind`."""
    return [line.rstrip("\r") for line in text.split("\n") if line.startswith(f"@{kind}\t")]


def read_group_line(option: str) -> str:
    r"""Turn the text of -R ('@RG\tID:..\tSM:..', with backslash t or tabs) into a header line. Raises UsageError."""
    line = option.replace("\\t", "\t")
    parts = line.split("\t")
    if (
        parts[0] != "@RG"
        or not field(line, "ID")
        or any(not re.fullmatch(r"[A-Za-z][A-Za-z0-9]:.+", p) for p in parts[1:])
    ):
        raise UsageError(f"--read-group {option}: must be '@RG\\tID:name', then TAG:value fields separated by \\t")
    if problem := text_problem(line.replace("\t", " ")):
        raise UsageError(f"--read-group {option}: {problem}")
    return line


def program_lines(carried: Sequence[str], command: str, description: str = "") -> list[str]:
    """Return the inputs' @PG lines, then ours: its PP is the end of their chain, and its ID differs from theirs."""
    ids = [field(line, "ID") for line in carried]
    followed = {field(line, "PP") for line in carried}
    ends = [name for name in ids if name not in followed]
    names = chain(["readwarp"], (f"readwarp.{number}" for number in count(1)))
    ours = next(name for name in names if name not in ids)
    line = f"@PG\tID:{ours}\tPN:readwarp\tVN:{__version__}\tCL:{printable(' '.join(command.split()))}"
    line += f"\tDS:{printable(description)}" if description else ""
    return [*carried, line + (f"\tPP:{ends[-1]}" if ends else "")]


PART = "@CO\treadwarp part "


def part_line(part: object, run: str) -> str:
    """Return the comment that marks a file as a part of `align --part I/N`; `run` is the same in all N."""
    return f"{PART}{part} of run {run}"


def part_in(header: str) -> tuple[str, str] | None:
    """Return (I/N, the run) of a part, None for a whole file."""
    line = next((line for line in lines_of(header, "CO") if line.startswith(PART)), None)
    if line is None:
        return None
    part, _, run = line.removeprefix(PART).partition(" of run ")
    return part, run


def merge_lines(lines: Iterable[str]) -> list[str]:
    """Merge header lines of several inputs, each once. Raises UsageError if two with the same ID differ."""
    merged: dict[str, str] = {}
    for line in lines:
        name = field(line, "ID") or line
        if merged.setdefault(name, line) != line:
            raise UsageError(f"two header lines share the ID {name}: {merged[name]!r} and {line!r}")
    return list(merged.values())


def check_ids(path: object, lines: Iterable[str]) -> None:
    """Raise InputError if two lines of a file's header with the same ID differ."""
    try:
        merge_lines(lines)
    except UsageError as error:
        raise InputError(path, str(error)) from error


def binary_header(text: str) -> bytes:
    """Convert SAM header text to the header of a BAM file."""
    encoded, contigs = text.encode(), lines_of(text, "SQ")
    parts = [struct.pack("<4si", MAGIC, len(encoded)), encoded, struct.pack("<i", len(contigs))]
    for line in contigs:
        name = (field(line, "SN") or "").encode() + b"\0"
        parts.append(struct.pack(f"<i{len(name)}si", len(name), name, int(field(line, "LN") or 0)))
    return b"".join(parts)


class BamHeader(NamedTuple):
    """A BAM header."""

    text: str  # includes the lines of the contigs
    names: list[str]
    lengths: list[int]

    @classmethod
    def of(cls, raw: bytes, contigs: Sequence[tuple[bytes, int]], path: object) -> "BamHeader":
        """Build it from its text and contigs (names with their NUL, lengths). Raises InputError."""
        names, lengths = [name[:-1].decode("latin-1") for name, _ in contigs], [length for _, length in contigs]
        try:
            text = raw.partition(b"\0")[0].decode()
        except UnicodeDecodeError as error:
            raise InputError(path, "damaged: its header is not text") from error
        if not all(name[-1:] == b"\0" and NAME.fullmatch(name[:-1]) and length >= 0 for name, length in contigs):
            raise InputError(path, NAMELESS)
        if len(set(names)) < len(names):
            raise InputError(path, "its header names a contig twice")
        for line in text.removesuffix("\n").split("\n") if text else ():
            if not LINE.fullmatch(line):
                raise InputError(path, f"its header has a line that is not SAM: {line[:80]!a}")
        if not all(field(line, "ID") for kind in ("RG", "PG") for line in lines_of(text, kind)):
            raise InputError(path, "its header has a read group or program without an ID")
        lines = [f"@SQ\tSN:{name}\tLN:{length}" for name, length in zip(names, lengths, strict=True)]
        stated = [f"@SQ\tSN:{field(line, 'SN')}\tLN:{field(line, 'LN')}" for line in lines_of(text, "SQ")]
        if not stated and lines:
            text = "\n".join([*text.splitlines(), *lines, ""])
        elif stated != lines:
            raise InputError(path, "damaged: the text of its header names other contigs than its records are placed on")
        return cls(text, names, lengths)


def parse_header(data: bytes, path: object) -> tuple[int, BamHeader] | None:
    """Return size and contents of a BAM header; None if `data` ends within it. Raises InputError."""
    if data[:4] != MAGIC[: len(data)]:
        raise InputError(path, "is neither BAM nor CRAM")
    place, contigs = 8, list[tuple[bytes, int]]()
    try:
        (text,) = struct.unpack_from("<I", data, 4)
        place += text + 4
        (count,) = struct.unpack_from("<I", data, place - 4)
        for _ in range(count):
            (size,) = struct.unpack_from("<I", data, place)
            if size < 2:
                raise InputError(path, NAMELESS)
            place += 8 + size
            contigs.append((data[place - 4 - size : place - 4], struct.unpack_from("<i", data, place - 4)[0]))
    except struct.error:
        if place > MAX_HEADER:
            raise InputError(path, TOO_LONG) from None
        return None
    return place, BamHeader.of(data[8 : 8 + text], contigs, path)


def read_binary_header(read_into: Callable[[ndarray], int], path: object) -> BamHeader:
    """Read a BAM header; `read_into` fills a buffer, or as much of it as the file has. Raises InputError."""

    def read(size: int) -> bytes:
        if size > MAX_HEADER:
            raise InputError(path, TOO_LONG)
        data = np.empty(size, np.uint8)
        if read_into(data) < size:
            raise InputError(path, "truncated: ends within its header")
        return data.tobytes()

    def number() -> int:
        return int.from_bytes(read(4), "little")

    def name() -> bytes:
        if (size := number()) < 2:
            raise InputError(path, NAMELESS)
        return read(size)

    read(4)
    text = read(number())
    contigs = [(name(), int.from_bytes(read(4), "little", signed=True)) for _ in range(number())]
    return BamHeader.of(text, contigs, path)
