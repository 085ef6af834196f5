"""References in FASTA, GenBank or EMBL, plain or compressed -> contigs of upper-case letters."""

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
from readwarp.formats.common.index_file import is_index, read_index
from readwarp.formats.common.names import contig_problem
from readwarp.formats.common.source import reading

OTHER_FILES = {
    b"BAM\1": "is BAM",
    b"CRAM": "is CRAM",
    b"##fileformat=VCF": "is VCF",
    b"BCF\2": "is BCF",
    b"@HD\t": "is SAM",
}
FAI = re.compile(rb"[^\t\n]+(\t[0-9]+){4,5}\r?\n?")
BLOCK = 1 << 24  # bytes read at a time
MAX_CONTIG = (1 << 31) - 1  # bases
MAX_HEADER = 1 << 24  # bytes
MAX_ANNOTATED = 1 << 30  # bytes of a GenBank or EMBL file
IUPAC = b"ACGTUNRYSWKMBDHV"
UPPER = bytes(range(256)).upper()


class Contig(NamedTuple):
    name: str  # first word of the header, or the accession
    letters: bytes  # upper-case IUPAC, without line ends


def read_contigs(path: str | Path) -> Iterator[Contig]:
    """The contigs of a reference file, one at a time, in file order.

    The first bytes of a file tell its format, not its name; an index (.rwx) is read too. Raises InputError for a file
    that cannot be read, is truncated, corrupt or of another format, and for a repeated name or one that SAM cannot
    hold, a contig without sequence, and letters outside IUPAC.
    """
    path = Path(path)
    if is_index(path):
        yield from (Contig(*contig) for contig in read_index(path))
        return
    seen: set[str] = set()
    with reading(path), _open(path) as stream:
        for contig in _parse(stream, path):
            _check(contig, path, seen)
            yield contig
    if not seen:
        raise InputError(path, "holds no sequence")


def check_format(path: Path) -> None:
    """Raises InputError for a file whose first line is not that of a reference."""
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


def _parse(stream: BinaryIO, path: Path) -> Iterator[Contig]:
    """The contigs of a stream. Its first line shows the format."""
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
            raise InputError(path, f"{reason}; a reference is FASTA, GenBank or EMBL, and is given first")
    if line.startswith(b"@"):
        raise InputError(path, "is FASTQ; a reference is FASTA, GenBank or EMBL, and is given before the reads")
    if FAI.fullmatch(line):
        raise InputError(path, "is the index of a FASTA file (.fai): give the FASTA file itself")
    raise InputError(path, "is not FASTA, GenBank or EMBL: it does not start with '>', 'LOCUS' or 'ID'")


def _read_fasta(stream: BinaryIO, first: bytes, path: Path) -> Iterator[Contig]:
    """Memory holds one contig, however long its lines are."""
    header, parts, size = _whole_line(stream, first, path)[1:], list[bytes](), 0
    begins_line = True
    while block := stream.read(BLOCK):
        last = block.rfind(b"\n") + 1
        if block[last : last + 1] == b">" and (last or begins_line):
            block = block[:last] + _whole_line(stream, block[last:], path)
        body, *records = (b"\n" * begins_line + block).split(b"\n>")
        begins_line = block.endswith(b"\n")
        parts.append(_letters_of(body))
        size += len(parts[-1])
        if size > MAX_CONTIG:
            raise InputError(path, f"longer than {MAX_CONTIG:,} bases, the limit of BAM", _name_of(header))
        for record in records:
            yield Contig(_name_of(header), b"".join(parts))
            header, _, body = record.partition(b"\n")
            parts = [_letters_of(body)]
            size = len(parts[0])
    yield Contig(_name_of(header), b"".join(parts))


def _whole_line(stream: BinaryIO, start: bytes, path: Path) -> bytes:
    """The header that begins so."""
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


def _read_annotated(stream: BinaryIO, first: bytes, kind: str, path: Path) -> Iterator[Contig]:
    """GenBank or EMBL, by Biopython. Its warnings are about annotations, which we do not use."""
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
                yield Contig(name, bytes(record.seq).upper())
        except UndefinedSequenceError as error:
            raise InputError(path, "has no sequence", record.id) from error
        except (ValueError, AssertionError, IndexError) as error:
            raise InputError(path, f"is not a complete {kind} file ({error})") from error


def _check(contig: Contig, path: Path, seen: set[str]) -> None:
    name, letters = contig
    if problem := contig_problem(name):
        raise InputError(path, problem, len(seen) + 1)
    if name in seen:
        raise InputError(path, "this name occurs twice", name)
    if not letters:
        raise InputError(path, "has no sequence", name)
    strange = letters.translate(None, IUPAC)
    if strange:
        raise InputError(path, f"{chr(strange[0])!r} is not an IUPAC letter", name)
    seen.add(name)
