"""References in FASTA, GenBank or EMBL, plain or compressed, as contigs of upper-case letters."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from readwarp.errors import InputError
from readwarp.formats.common.bgzf import EOF_BLOCK, tail_of
from readwarp.formats.common.compressed import decompress, is_bgzf
from readwarp.formats.common.index_file import MAX_CONTIG, is_index, read_index
from readwarp.formats.common.names import contig_problem
from readwarp.formats.common.source import reading

OTHER_FILES = {
    b"BAM\1": "is a BAM file",
    b"CRAM": "is CRAM",
    b"##fileformat=VCF": "is VCF",
    b"BCF\2": "is BCF",
    b"@HD\t": "is SAM",
}
FAI = re.compile(rb"[^\t\n]+(\t[0-9]+){4,5}\r?\n?")
BLOCK = 1 << 20  # bytes read at a time, which stay in the cache
MAX_HEADER = 1 << 24  # bytes
MAX_ANNOTATED = 1 << 30  # bytes of a GenBank or EMBL file
IUPAC = b"ACGTUNRYSWKMBDHV"
UPPER = bytes(range(256)).upper()


class FastaContig(NamedTuple):
    name: str  # first word of the header, or accession
    letters: bytes  # upper-case IUPAC, without line ends


class FastaPiece(NamedTuple):
    """The next letters of a contig: its first ones, or those after the previous piece."""

    name: str
    letters: bytes
    is_first: bool


def read_contigs(path: str | Path) -> Iterator[FastaContig]:
    """Yield the contigs of a reference file, one at a time, in file order. Raises the errors of `read_pieces`."""
    name, parts = "", list[bytes]()
    for piece in read_pieces(path):
        if piece.is_first and parts:
            yield FastaContig(name, b"".join(parts))
            parts = []
        name = piece.name
        parts.append(piece.letters)
    yield FastaContig(name, b"".join(parts))


def read_pieces(path: str | Path) -> Iterator[FastaPiece]:
    """Yield the contigs of a reference file piece by piece, in file order, so that a long contig takes no memory.

    The first bytes of a file tell its format, not its name; an index (.rwx) is read too. Raises InputError for a file
    that is unreadable, truncated, corrupt or of another format, and for a repeated name or one that SAM cannot hold, a
    contig without sequence or longer than BAM can hold, and letters outside IUPAC.
    """
    path = Path(path)
    if is_index(path):
        yield from (FastaPiece(*contig, True) for contig in read_index(path))
        return
    lengths: dict[str, int] = {}
    with reading(path), _open(path) as stream:
        for piece in _parse(stream, path):
            if piece.is_first:
                _check_last(lengths, path)
                if problem := contig_problem(piece.name):
                    raise InputError(path, problem, len(lengths) + 1)
                if piece.name in lengths:
                    raise InputError(path, "this name occurs twice", piece.name)
                lengths[piece.name] = 0
            lengths[piece.name] += len(piece.letters)
            if strange := piece.letters.translate(None, IUPAC):
                raise InputError(path, f"{chr(strange[0])!r} is not an IUPAC letter", piece.name)
            if lengths[piece.name] > MAX_CONTIG:
                raise InputError(path, f"longer than {MAX_CONTIG:,} bases, the limit of BAM", piece.name)
            yield piece
    _check_last(lengths, path)
    if not lengths:
        raise InputError(path, "holds no sequence")


def check_format(path: Path) -> None:
    """Raise InputError for a file whose first line does not begin a reference."""
    with reading(path), _open(path) as stream:
        _parse(stream, path)


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as raw:
        if is_bgzf(raw.peek(14)) and tail_of(raw) != EOF_BLOCK:
            raise InputError(path, "truncated bgzip: its last block is missing")
        raw.seek(0)
        with decompress(raw) as stream:
            yield stream


def _parse(stream: BinaryIO, path: Path) -> Iterator[FastaPiece]:
    """Yield the pieces of a stream, whose first line shows the format."""
    line = stream.readline(1 << 16)
    while line and not line.strip():
        line = stream.readline(1 << 16)
    if not line:
        return iter(())
    if line.startswith(b">"):
        return _read_fasta(stream, line, path)
    for start, kind in ((b"LOCUS ", "genbank"), (b"ID   ", "embl")):
        if line.startswith(start):
            return _read_annotated(stream, line, kind, path)
    for start, reason in OTHER_FILES.items():
        if line.startswith(start):
            raise InputError(path, f"{reason}; the first argument must be the reference (FASTA, GenBank or EMBL)")
    if line.startswith(b"@"):
        raise InputError(path, "is FASTQ; the first argument must be the reference (FASTA, GenBank or EMBL)")
    if FAI.fullmatch(line):
        raise InputError(path, "is the index of a FASTA file (.fai): give the FASTA file itself")
    raise InputError(path, "is not FASTA, GenBank or EMBL: it does not start with '>', 'LOCUS' or 'ID'")


def _read_fasta(stream: BinaryIO, first: bytes, path: Path) -> Iterator[FastaPiece]:
    """Parse FASTA. Memory holds one block, however long the lines are."""
    name, begins_line = _name_of(_whole_line(stream, first, path)[1:]), True
    yield FastaPiece(name, b"", True)
    while block := stream.read(BLOCK):
        last = block.rfind(b"\n") + 1
        if block[last : last + 1] == b">" and (last or begins_line):
            block = block[:last] + _whole_line(stream, block[last:], path)
        body, *records = (b"\n" * begins_line + block).split(b"\n>") if b">" in block else (block,)
        begins_line = block.endswith(b"\n")
        yield FastaPiece(name, _letters_of(body), False)
        for record in records:
            header, _, body = record.partition(b"\n")
            name = _name_of(header)
            yield FastaPiece(name, _letters_of(body), True)


def _whole_line(stream: BinaryIO, start: bytes, path: Path) -> bytes:
    """Read the rest of a header that begins with `start`."""
    line = start if start.endswith(b"\n") else start + stream.readline(MAX_HEADER)
    if len(line) >= MAX_HEADER and not line.endswith(b"\n"):
        raise InputError(path, f"a header is longer than {MAX_HEADER >> 20} MiB")
    return line


def _letters_of(text: bytes) -> bytes:
    return text.translate(UPPER, b"\r\n \t")


def _name_of(header: bytes) -> str:
    words = header.split(maxsplit=1)
    name = words[0] if words and not header[:1].isspace() else b""
    return name.decode("ascii", "replace")


def _read_annotated(stream: BinaryIO, first: bytes, kind: str, path: Path) -> Iterator[FastaPiece]:
    """Parse GenBank or EMBL with Biopython, whose warnings concern annotations that we do not use."""
    from Bio import SeqIO
    from Bio.Seq import UndefinedSequenceError

    data = first + stream.read(MAX_ANNOTATED)
    if len(data) > MAX_ANNOTATED:
        raise InputError(path, f"more than {MAX_ANNOTATED >> 30} GiB of text: give FASTA")
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for record in SeqIO.parse(text, kind):
                name = record.id if record.id not in ("", ".", "<unknown id>") else record.name
                yield FastaPiece(name, bytes(record.seq).upper(), True)
        except UndefinedSequenceError as error:
            raise InputError(path, "has no sequence", record.id) from error
        except (ValueError, AssertionError, IndexError) as error:
            raise InputError(path, f"is not a complete {kind} file ({error})") from error


def _check_last(lengths: dict[str, int], path: Path) -> None:
    """Check that the contig that ends has a sequence."""
    name = next(reversed(lengths), "")
    if name and not lengths[name]:
        raise InputError(path, "has no sequence", name)
