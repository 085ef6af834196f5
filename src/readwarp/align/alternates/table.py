"""The ALT contigs of a reference and their alignments: bwa's .alt file, a SAM file beside the reference."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.places import Genome
from readwarp.errors import InputError
from readwarp.formats.alignments.header import Contig
from readwarp.formats.common.files import check_inputs
from readwarp.index.reference import Reference
from readwarp.rules.cigar import HARD_CLIP, LETTERS, ON_QUERY, ON_REFERENCE
from readwarp.rules.flags import REVERSE, SECONDARY, UNMAPPED
from readwarp.wording import counted

BESIDE = (".alt", ".64.alt")  # file name endings; the second is that of the GATK bundle
ENDINGS = (".rwx", ".gz", ".bgz", ".fa", ".fasta", ".fna")  # endings of a reference, which the .alt file may omit
CIGAR = re.compile(r"(?:\d{1,9}[MIDNSH=X])+")
RUN = re.compile(r"(\d+)(\D)")
NUMBER = re.compile(r"\d{1,10}")
FIELDS = 6  # in an aligned record, up to its CIGAR


class Alternates(NamedTuple):
    """ALT contigs, and runs of their bases aligned to bases of the primary assembly."""

    contig_offsets: Annotated[ndarray, "int64 [contigs + 1]"]  # contigs of the reference
    is_alternate: Annotated[ndarray, "bool [contigs]"]
    start: Annotated[ndarray, "int64 [runs]"]  # reference position on the ALT contig, ascending
    stop: Annotated[ndarray, "int64 [runs]"]  # runs do not overlap
    image: Annotated[ndarray, "int64 [runs]"]  # reference position that the base at `start` is aligned to
    strand: Annotated[ndarray, "uint8 [runs]"]  # 1: bases after it are aligned to those before the image


def are_alternate(table: Alternates, positions: ndarray) -> ndarray:
    """Tell which reference positions are on ALT contigs: bool [positions]."""
    return table.is_alternate[np.searchsorted(table.contig_offsets, positions, side="right") - 1]


def primary_stop(table: Alternates) -> int:
    """Return the reference position of the first ALT contig, or the end of the reference if there is none."""
    return int(table.contig_offsets[np.append(table.is_alternate, True).argmax()])


def cut_alternates(genome: Genome, table: Alternates) -> Genome:
    """Cut the genome at the first ALT contig; later contigs are empty."""
    return genome._replace(contig_offsets=np.minimum(table.contig_offsets, primary_stop(table)))


class Aligned(NamedTuple):
    """An aligned contig of the .alt file."""

    record: int
    contig: int
    target: int  # contig
    position: int  # 0-based, in the target
    is_reverse: bool
    cigar: str


def find_alternates(reference: Path) -> Path | None:
    """Find the file beside a reference or its index: REF.alt or REF.64.alt, where REF may lack .rwx, .gz and .fa."""
    names = [str(reference)]
    while (shorter := Path(names[-1])).suffix in ENDINGS:
        names.append(str(shorter.with_suffix("")))
    found = (Path(name + ending) for name in names for ending in BESIDE)
    return next((path for path in found if path.is_file()), None)


def read_alternates(path: Path, reference: Reference) -> Alternates:
    """Read the ALT contigs of a .alt file. Raises InputError for a damaged file or one of another reference.

    A contig is ALT if a record bears its name. Unmapped and secondary records add nothing more, nor do alignments to
    ALT contigs: such contigs have no place on the primary assembly unless other records give them one.
    """
    numbers = {name: number for number, name in enumerate(reference.names)}
    is_alternate, aligned = np.zeros(len(numbers), bool), list[Aligned]()
    for record, fields in enumerate(_records(path), 1):
        if fields[0] not in numbers:
            raise _error(path, f"{fields[0]} is not a contig of the reference", record)
        contig = numbers[fields[0]]
        is_alternate[contig] = True
        if len(fields) > 1 and (found := _parse(path, record, contig, fields, numbers)):
            aligned.append(found)
    runs = [(each, _runs_of(path, each, reference)) for each in aligned]
    lifting = (columns for each, columns in runs if not is_alternate[each.target])
    columns = np.concatenate([np.empty((4, 0), np.int64), *lifting], axis=1)
    start, stop, image, strand = _without_overlaps(columns)
    return Alternates(reference.contig_offsets, is_alternate, start, stop, image, strand.astype(np.uint8))


def count_alternates(table: Alternates) -> dict[str, int]:
    """Count the ALT contigs, and those without a base aligned to the primary assembly."""
    is_lifted = np.diff(np.searchsorted(table.start, table.contig_offsets)) > 0
    number = int(table.is_alternate.sum())
    return {"contigs": number, "without_lift_over": number - int(is_lifted.sum())}


def describe_alternates(path: Path, table: Alternates) -> str:
    number, others = count_alternates(table).values()
    return f"ALT-aware by {path}: {counted(number, 'ALT contig')}, {others:,} of them without a lift-over"


def contigs_of(reference: Reference, table: Alternates | None) -> list[Contig]:
    """List the contigs of a header."""
    lengths = np.diff(reference.contig_offsets).tolist()
    marks = [False] * len(lengths) if table is None else table.is_alternate.tolist()
    return list(map(Contig, reference.names, lengths, reference.md5, marks))


def _error(path: Path, reason: str, record: int | None = None) -> InputError:
    return InputError(path, f"{reason} (--no-alt aligns without this file)", record)


def _records(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each record."""
    check_inputs([path])
    try:
        text = path.read_bytes().decode("ascii")
    except UnicodeDecodeError:
        raise _error(path, "is not a SAM file") from None
    for line in text.splitlines():
        if line and not line.startswith("@"):
            yield line.split("\t")


def _parse(path: Path, record: int, contig: int, fields: list[str], numbers: dict[str, int]) -> Aligned | None:
    """Parse where a record aligns its contig; None: nowhere."""
    name = fields[0]
    if len(fields) < FIELDS or not NUMBER.fullmatch(fields[1]):
        raise _error(path, f"{name}: is not a SAM record", record)
    flag, target = int(fields[1]), fields[2]
    position, cigar = fields[3], fields[5]
    if flag & (UNMAPPED | SECONDARY) or target == "*":
        return None
    if target not in numbers:
        raise _error(path, f"{name}: is aligned to {target}, which is not a contig of the reference", record)
    if not NUMBER.fullmatch(position) or int(position) < 1 or not CIGAR.fullmatch(cigar):
        raise _error(path, f"{name}: has a position or a CIGAR that SAM does not allow", record)
    return Aligned(record, contig, numbers[target], int(position) - 1, bool(flag & REVERSE), cigar)


def _runs_of(path: Path, aligned: Aligned, reference: Reference) -> ndarray:
    """Return start, stop, image and strand of the runs of one record: int64 [4, runs]."""
    name, length = reference.names[aligned.contig], _length(reference, aligned.contig)
    counts, letters = zip(*RUN.findall(aligned.cigar), strict=True)
    count = np.array(counts, np.int64)
    operation = np.array([LETTERS.index(letter) for letter in letters])
    on_query = count * ((ON_QUERY >> operation) & 1 | (operation == HARD_CLIP))
    on_target = count * ((ON_REFERENCE >> operation) & 1)
    if on_query.sum() != length:
        covered = counted(int(on_query.sum()), "base")
        raise _error(path, f"{name}: its CIGAR covers {covered}, the contig has {length:,}", aligned.record)
    room = _length(reference, aligned.target) - aligned.position
    if on_target.sum() > room:
        end = f"its CIGAR goes {counted(int(on_target.sum()) - room, 'base')} beyond {reference.names[aligned.target]}"
        raise _error(path, f"{name}: {end}", aligned.record)
    is_run = (on_query > 0) & (on_target > 0)
    query = (np.cumsum(on_query) - on_query)[is_run]
    target, count = np.cumsum(on_target)[is_run], count[is_run]
    first, onto = (int(reference.contig_offsets[contig]) for contig in (aligned.contig, aligned.target))
    if aligned.is_reverse:  # the CIGAR goes along the reverse complement of the ALT contig
        start, image = first + length - query - count, target - 1
    else:
        start, image = first + query, target - count
    return np.array([start, start + count, onto + aligned.position + image, np.full(count.size, aligned.is_reverse)])


def _without_overlaps(runs: ndarray) -> ndarray:
    """Sort runs by start; an overlap belongs to the first run, so that each base has one image."""
    start, stop, image, strand = runs[:, np.argsort(runs[0], kind="stable")]
    cut = np.maximum(start, np.maximum.accumulate(np.concatenate((start[:1], stop)))[:-1])
    image += np.where(strand == 1, start - cut, cut - start)
    return np.array([cut, stop, image, strand])[:, cut < stop]


def _length(reference: Reference, contig: int) -> int:
    return int(reference.contig_offsets[contig + 1] - reference.contig_offsets[contig])
